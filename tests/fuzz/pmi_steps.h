/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_steps.h - what the bytes of an input of fuzz_pmi mean: how long a start
 * may take, and then steps, each a byte (enum fuzz_pmi_step, % their number), a
 * client (% FUZZ_PMI_CLIENTS) and its arguments. How a thing is said: in pieces
 * of (it / 2) bytes, 0: at once; odd: and the answer is heard.
 */
#ifndef TESTS_FUZZ_PMI_STEPS_H
#define TESTS_FUZZ_PMI_STEPS_H

enum { FUZZ_PMI_CLIENTS = 4 };

enum fuzz_pmi_step {
    FUZZ_PMI_CONNECT, /* process: says its index; in place of who is there */
    FUZZ_PMI_BYTES,   /* how, length, bytes */
    FUZZ_PMI_LINE,    /* how, length, bytes, which get a newline */
    FUZZ_PMI_FRAME,   /* how, length, bytes, which get a header */
    FUZZ_PMI_AGAIN, /* how, times, length, bytes: a line or a frame, at once */
    FUZZ_PMI_HEAR,  /* reads what has come */
    FUZZ_PMI_LEAVE, /* odd: it says no more, and hears */
    FUZZ_PMI_NUM_STEPS,
};

#endif
