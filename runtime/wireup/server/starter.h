/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * starter.h - the server and the process that starts it: it reads the server's
 * answer from a pipe, and where it is gone before that, nobody wants the
 * server any more, which then ends at once.
 *
 *     starter_watch();
 *     ... what may take a while ...
 *     starter_answer(&environments, "ready\n");
 */
#ifndef RUNTIME_WIREUP_SERVER_STARTER_H
#define RUNTIME_WIREUP_SERVER_STARTER_H

#include "runtime/coordination/net/wire.h"

/* From here until the answer the end of the starter is the program's, with
 * exit code 1; without memory for a thread it goes unnoticed. Once. */
void starter_watch(void);

/* Writes the answer, behind environments where they are not NULL, and gives up
 * standard input and output. */
void starter_answer(const struct jd_bytes *environments, const char *text);

#endif
