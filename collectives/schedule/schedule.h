/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule.h - algorithms of collectives as data: who sends which blocks to
 * whom, round after round.
 *
 *     for (int k = 0; k < jd__schedule_rounds(&s); k++) {
 *         struct jd_round round = jd__schedule_round(&s, k);
 *         ... send round.out to round.to, get round.in from round.from,
 *         ... and do with it what round.then says
 *     }
 *
 * A schedule is a pure function of its kind, the number of parties and the own
 * one's: nothing here knows MPI, memory, lengths or time. A party is a host, or
 * a process, or whatever the caller has; every party has one block of what is
 * moved (of the vector that is folded, of what is gathered), whose length is
 * the caller's. In a round each party sends at most one message and gets at
 * most one. The message that a party sends in round k to another is the one
 * that the other gets in its round k.
 *
 * Blocks are numbered cyclically: first, first + 1, ... modulo the number of
 * parties, so that a message is one range of a buffer that begins with the
 * block of jd__schedule_origin().
 *
 * Threads: any.
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), for merging, trees,
 *   and halving among powers of two; Traeff, arXiv:2410.14234 (2024), for
 *   reduce_scatter and all_gather of any number of parties in ceil(log2)
 * rounds; Bruck et al., IEEE TPDS 8 (1997), for short all_to_all.
 */
#ifndef COLLECTIVES_SCHEDULE_SCHEDULE_H
#define COLLECTIVES_SCHEDULE_SCHEDULE_H

#include <stdbool.h>

enum jd_schedule_kind {
    /* Everybody's becomes everybody's, merged: recursive doubling. Blocks tell
     * whose is in what is sent. Rounds: ceil(log2 T), and two more where T is
     * no power of two, of which each party has a part in one or two. */
    JD_SCHEDULE_MERGE,

    /* The same with half the messages, for parties that wait for each other's
     * processors: the first of each four merges what they have, those do as
     * above, and give the three what came of it. The way is as long, but that
     * the first's three messages come, and go, one after the other. */
    JD_SCHEDULE_MERGE_BY_FOURS,

    /* Of the vector of T blocks each party gets its own, folded. ceil(log2 T)
     * rounds, T - 1 blocks sent; where T is a power of two, both ways at once
     * between those who differ in one bit. */
    JD_SCHEDULE_REDUCE_SCATTER,

    /* Of a block each, everybody gets all. ceil(log2 T) rounds, T - 1 blocks
     * sent. */
    JD_SCHEDULE_ALL_GATHER,

    /* The root's T blocks, one to each: a binomial tree. Numbers of blocks are
     * those of their parties. */
    JD_SCHEDULE_SCATTER,

    /* All that the root has, to everybody: a binomial tree. */
    JD_SCHEDULE_BROADCAST,

    /* Each party has a block for each other: all pairs, both ways at once.
     * T rounds, in one of which a party may be idle. */
    JD_SCHEDULE_PAIRS,

    /* The same in ceil(log2 T) rounds, each block sent about log2(T) / 2
     * times. Blocks lie by their distance: that for the party self + i in slot
     * i, and when all rounds are over that of the party self - i. */
    JD_SCHEDULE_BRUCK,

    JD_SCHEDULE_KINDS
};

struct jd_schedule {
    enum jd_schedule_kind kind;
    int parties;
    int self;
    int root; /* of SCATTER and BROADCAST */
};

/* Blocks first .. first + count - 1, modulo the number of parties; with bit,
 * only those whose place in the range, counted from 0, has that bit. */
struct jd_blocks {
    int first, count;
    int bit; /* 0: all */
};

/* What is done with the blocks that came. */
enum jd_then {
    JD_THEN_STORE,      /* they are put where they belong */
    JD_THEN_FOLD_BELOW, /* they come before the own ones: theirs op ours */
    JD_THEN_FOLD_ABOVE, /* behind: ours op theirs */
};

struct jd_round {
    int to, from; /* -1: nobody */
    struct jd_blocks out, in;
    enum jd_then then;
};

/* ceil(log2 n); 0 for 1. */
int jd__schedule_log2(int n);

/* The block with which a buffer of all begins in which no range wraps: the
 * root's of SCATTER, the own of REDUCE_SCATTER and ALL_GATHER among a number of
 * parties that is no power of two; else the first. Of BRUCK and PAIRS the
 * caller knows. */
int jd__schedule_origin(const struct jd_schedule *s);

/* Whether a number is a power of two: then those of REDUCE_SCATTER and
 * ALL_GATHER begin with the first block for all parties. */
bool jd__schedule_is_power(int parties);

/* The same number for every party. */
int jd__schedule_rounds(const struct jd_schedule *s);

/* Round k; to and from are -1 where this party has no part in it. */
struct jd_round jd__schedule_round(const struct jd_schedule *s, int k);

/* How many blocks that is. */
int jd__schedule_count(const struct jd_blocks *blocks);

/* "merge", "reduce_scatter", ... */
const char *jd__schedule_name(enum jd_schedule_kind kind);

#endif
