/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.h - what the bytes of an input of fuzz_service mean. A header:
 *
 *     processes (1 + it % 5), way of authentication (% 3), speakers (% 4),
 *     flags (enum fuzz_flag)
 *
 * and then steps, each a byte (enum fuzz_step, % FUZZ_NUM_STEPS; from 128 on
 * no tick follows it) and its arguments, a byte each. Every string of bytes is
 * an input: numbers are taken modulo what is there, and 0 stands behind the
 * end. The clock is the input's own.
 */
#ifndef TESTS_FUZZ_STEPS_H
#define TESTS_FUZZ_STEPS_H

enum { FUZZ_MAX_PROCESSES = 5, FUZZ_SLOTS = 8, FUZZ_NO_TICK = 128 };

enum fuzz_flag {
    FUZZ_ALONE = 1,     /* of one process: it needs no meeting */
    FUZZ_HEARTBEAT = 2, /* silence is looked for */
    FUZZ_SMALL = 4,     /* the largest message has 600 bytes */
    FUZZ_OPEN_END = 8,  /* the service ends with connections open */
};

enum fuzz_step {
    FUZZ_MEET,    /* slot, process: Hello and Join of a right one */
    FUZZ_ALL,     /* all processes meet, each in the slot of its number */
    FUZZ_ACCEPT,  /* slot */
    FUZZ_HELLO,   /* slot, process, enum fuzz_hello, host */
    FUZZ_REQUEST, /* slot, body (% 18), id, timeout, and what the body takes */
    FUZZ_MESSAGE, /* slot, length, the bytes of a Message */
    FUZZ_BYTES,   /* slot, length, bytes of the stream */
    FUZZ_LOSE,    /* slot, error */
    FUZZ_TIME,    /* how much */
    FUZZ_VOUCH,   /* slot, status: munge's answer */
    FUZZ_NUM_STEPS,
};

/* How a Hello differs from a right one. */
enum fuzz_hello {
    FUZZ_WRONG_MAC = 1,
    FUZZ_IS_BACK = 2,
    FUZZ_ROLE = 4 + 8, /* four of them, of which one is unknown */
    FUZZ_WRONG_JOB = 16,
    FUZZ_WRONG_ATTEMPT = 32,
    FUZZ_OTHER_INCARNATION = 64,
    FUZZ_NO_CREDENTIAL = 128,
};

/* The id of a request: below, the next one of the connection; from there on
 * one that may have been used, it % 16 (0: no reply is wanted). */
enum { FUZZ_OLD_ID = 192 };

#endif
