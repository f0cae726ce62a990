/* SPDX-License-Identifier: BSD-3-Clause */
/* strided_on_host.h - the kernel that copies boxes, run on the host. */
#ifndef TESTS_UNIT_STRIDED_ON_HOST_H
#define TESTS_UNIT_STRIDED_ON_HOST_H

#include "collectives/kernels/nest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies the box word by word, the last first, by numbers of so many bits (32,
 * 64). Gives the words' bytes back; 0 where one is not aligned to them. */
unsigned strided_on_host(const struct jd_nest *nest, int bits);

#ifdef __cplusplus
}
#endif

#endif
