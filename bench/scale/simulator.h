/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulator.h - what a collective would do among many parties: nothing is
 * sent, no data is there, but every party makes each of its rounds.
 *
 *     struct scale_pass pass = { .parties = 10240, .tasks = 1, .depth = 1,
 *                                .rounds = rounds, .step = step, .arg = &it };
 *     if (!simulator_match(&pass, complaint))
 *         ... somebody waits for what nobody sends
 *     seconds = simulator_run(&pass, &network, &counts);
 *
 * A pass is one task or several, as many as depth of them under way at a time:
 * messages that do not wait for each other, or, with a lag, the pieces of a
 * long vector. Each party serves them by turns: it waits for a task's message,
 * does with it what is to be done, sends the task's next one, and goes to the
 * next task.
 *
 * A party has three clocks: its processor's, and those of the wire out of it
 * and into it. A message costs its sender and its receiver the overhead, then
 * the wires its length by bandwidth; the latency is between them. Folds and
 * copies are the processor's. (LogGP: Alexandrov et al., SPAA 1995, with a
 * rate for folds. There is no congestion inside the network.)
 *
 * Threads: any.
 */
#ifndef BENCH_SCALE_SIMULATOR_H
#define BENCH_SCALE_SIMULATOR_H

#include <stdbool.h>

/* What a party does in a round: bytes. */
struct scale_step {
    int to, from; /* -1: nobody */
    double out, in;
    double folded, copied; /* when the message has come */
};

struct scale_pass {
    int parties;
    int tasks, depth;
    int rounds; /* of each task */

    /* 0: a task begins as soon as another is over. Otherwise one begins at a
     * time, and takes so many times until it is over, in each of which all that
     * are under way go on by as many rounds (inter_flow.c); depth is one more.
     */
    int lag;

    /* All parties do the same, at the same times, so that party 0 stands for
     * all: where each sends as much as it gets, in each round. */
    bool is_alike;

    double before, after; /* seconds of the processor, of each task */
    struct scale_step (*step)(const void *arg, int task, int round, int party);
    const void *arg;
};

struct scale_network {
    double latency;   /* s */
    double bandwidth; /* bytes/s, of a party, each way */
    double overhead;  /* s, of the sender, and again of the receiver */
    double fold;      /* bytes/s, of a party */
    double copy;
};

/* Of the busiest party. */
struct scale_counts {
    double messages, bytes; /* sent */
};

enum { SCALE_COMPLAINT = 200 };

/*
 * Lets each party go as far as it can with waits that block: a receive until
 * the sender has sent it, a send until the receiver waits for it. is_alike is
 * not believed. Returns whether all come to the end; else a complaint names one
 * that does not, and whom it waits for. Without memory too.
 */
bool simulator_match(const struct scale_pass *pass,
                     char complaint[SCALE_COMPLAINT]);

/* The seconds until the last party is through; negative without memory. Adds to
 * counts. */
double simulator_run(const struct scale_pass *pass,
                     const struct scale_network *network,
                     struct scale_counts *counts);

#endif
