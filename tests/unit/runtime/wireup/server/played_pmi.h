/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * played_pmi.h - the PMI of a host with three processes, 0 to 2, the whole job,
 * and no more of the server: clients come over sockets, and what would be
 * printed is kept.
 *
 *     played_pmi_begin(60);
 *     int fd = played_pmi_connect();
 *     ... write(fd) ...
 *     played_pmi_run();
 *     ... read(fd) ...
 *     played_pmi_end();
 *
 * One thread.
 */
#ifndef TESTS_UNIT_RUNTIME_WIREUP_SERVER_PLAYED_PMI_H
#define TESTS_UNIT_RUNTIME_WIREUP_SERVER_PLAYED_PMI_H

#include "runtime/wireup/server/pmi_client.h"

enum { PLAYED_PMI_PROCESSES = 3 };

/* What came out of it so far. */
struct played_pmi_told {
    unsigned sentences; /* errors and warnings */
    char last[512];     /* the last of them */
    char note[512];     /* the last that is for debugging */
    unsigned ends;      /* times that the job was ended */
    unsigned finalized; /* times that a process was */
};

/* seconds: how long a start may take. */
void played_pmi_begin(double seconds);

/* Gives all of it back; clients are gone. */
void played_pmi_end(void);

/* A client's own end of its connection, which does not block. */
int played_pmi_connect(void);

/* Until nothing is left to do just now. */
void played_pmi_run(void);

/* The next 2 s for one who has gone are over, as no clock has it; false where
 * there are none. */
bool played_pmi_pass_grace(void);

const struct pmi_host *played_pmi_host(void);
const struct played_pmi_told *played_pmi_told(void);

#endif
