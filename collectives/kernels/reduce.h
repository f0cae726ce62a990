/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce.h - the operations of reductions. */
#ifndef COLLECTIVES_KERNELS_REDUCE_H
#define COLLECTIVES_KERNELS_REDUCE_H

/* MEAN is a sum that is divided by the number of members before it is
 * rounded. */
enum jd_reduce {
    JD_REDUCE_SUM,
    JD_REDUCE_MEAN,
    JD_REDUCE_MAX,
    JD_REDUCE_MIN,
    JD_REDUCE_PROD,
    JD_REDUCE_AND, /* bit by bit; of PRED the logical ones */
    JD_REDUCE_OR,
    JD_REDUCE_XOR,
    JD_REDUCE_COUNT, /* of those that take elements as they are */
    JD_REDUCE_LOCATED = JD_REDUCE_COUNT, /* the greater pair (located.h), of
                                          * C128 alone */
    JD_REDUCE_ALL
};

#endif
