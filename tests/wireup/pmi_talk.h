/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_talk.h - what members that play a PMI's client have in common: they come
 * to the server's sockets, say lines, and end with exit code 1 at the first
 * answer that is not as it should be.
 */
#ifndef TESTS_WIREUP_PMI_TALK_H
#define TESTS_WIREUP_PMI_TALK_H

/* The variable's number; -1: it is not set. */
int talk_number(const char *name);

/* Prints both on standard output, and ends. */
_Noreturn void talk_fail(const char *what, const char *got);

/* To the socket that the variable names; the index is said. */
int talk_come(const char *name);

__attribute__((format(printf, 2, 3))) void talk_say(int fd, const char *format,
                                                    ...);
/* The next line, without its newline; "" at the end. */
const char *talk_hear(int fd);
void talk_expect(int fd, const char *wanted);

/* "WORD RANK SIZE MAPPING" on standard output. */
void talk_word(const char *word, const char *mapping);

/* Until standard input ends. */
void talk_wait(void);

#endif
