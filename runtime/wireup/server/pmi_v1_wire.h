/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_v1_wire.h - the lines of PMI-1, as the simple client of MPICH and its
 * descendants writes and reads them:
 *
 *     cmd=put kvsname=jd key=bc-0 value=#ip$10.0.0.1$
 *     cmd=put_result rc=0 msg=success
 *
 *     struct pmi_request request;
 *     pmi_v1_wire_read(line, &request);
 *     if (request.command == PMI_PUT) ... request.key, request.value ...
 *
 * Nothing here waits or remembers. Threads: any.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_V1_WIRE_H
#define RUNTIME_WIREUP_SERVER_PMI_V1_WIRE_H

#include "runtime/wireup/server/pmi_kvs.h"

enum { PMI_LINE_MOST = PMI_NAME_MOST + PMI_KEY_MOST + PMI_VALUE_MOST + 64 };

enum pmi_command {
    PMI_INIT,
    PMI_GET_MAXES,
    PMI_GET_APPNUM,
    PMI_GET_UNIVERSE_SIZE,
    PMI_GET_MY_KVSNAME,
    PMI_PUT,
    PMI_GET,
    PMI_BARRIER_IN,
    PMI_FINALIZE,
    PMI_ABORT,
    PMI_REFUSED, /* known, and not served here: publishing, spawning */
    PMI_UNKNOWN,
};

struct pmi_request {
    enum pmi_command command;
    const char *name; /* the command's, for sentences; what a refusal answers */
    const char *key;  /* "" where there is none, as the rest */
    const char *value;   /* up to the end of the line */
    const char *code;    /* exitcode */
    const char *version; /* pmi_version */
};

/* Cuts the line, which has no newline, into pieces; the request points into
 * it. */
void pmi_v1_wire_read(char *line, struct pmi_request *ret_request);

#endif
