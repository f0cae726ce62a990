/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_model.h - for test_shm_model.c: what the members of a group see of each
 * other, and what each does, as a program of single loads and stores.
 */
#ifndef TESTS_UNIT_SHM_MODEL_H
#define TESTS_UNIT_SHM_MODEL_H

#include "collectives/cpu/shm/shm_private.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what members see of each other ------------------------------------- */

/* A member's words, and what each is in its segment: what is there once for
 * two meetings, or no more, is missing here too. A signature is written where
 * it is not as the last but one; of two levels there are flags, and what is
 * handed on with them. is_told is written by others: one of them has given
 * up. */
#define WORDS(WORD)                                                            \
    WORD(ROUND, slots[0].round)                                                \
    WORD(ROUND_2, slots[1].round)                                              \
    WORD(PAYLOAD, slots[0].payload)                                            \
    WORD(PAYLOAD_2, slots[1].payload)                                          \
    WORD(EARLY, early[0])                                                      \
    WORD(EARLY_2, early[1])                                                    \
    WORD(HALF, bounce[0])                                                      \
    WORD(HALF_2, bounce[JD_SHM_HALF])                                          \
    WORD(STEP, step)                                                           \
    WORD(LEFT, left)                                                           \
    WORD(SIGNATURE, signatures[0])                                             \
    WORD(SIGNATURE_2, signatures[1])                                           \
    WORD(GATHERED, gathered[0].round)                                          \
    WORD(GATHERED_2, gathered[1].round)                                        \
    WORD(RELEASED, released[0].round)                                          \
    WORD(RELEASED_2, released[1].round)                                        \
    WORD(PART, gathered[0].data)                                               \
    WORD(PART_2, gathered[1].data)                                             \
    WORD(RESULT, released[0].data)                                             \
    WORD(RESULT_2, released[1].data)                                           \
    WORD(TOLD, is_told)

enum word {
#define NAME(word, field) word,
    WORDS(NAME)
#undef NAME
        IN, /* the member's own buffer, which the others read */
    NUM_WORDS
};

#define COUNT_OF(array)                                                        \
    (sizeof((struct jd_segment *)NULL)->array /                                \
     sizeof *((struct jd_segment *)NULL)->array)

enum {
    MOST_MEMBERS = 4,
    REVOKED = (uint8_t)JD_SHM_REVOKED,
    TAKEN_BACK = REVOKED - 1,
    NUM_SLOTS = COUNT_OF(slots),
    NUM_SIGNATURES = COUNT_OF(signatures),
    NUM_HANDOVERS = COUNT_OF(gathered),
    NUM_EARLY = COUNT_OF(early),
    NUM_HALVES = JD_SHM_BOUNCE / JD_SHM_HALF,
};

/* Defects to plant. */
enum defect {
    NONE,
    ONE_SLOT,        /* for all meetings */
    ONE_SIGNATURE,   /* for two meetings */
    FLAG_FIRST,      /* before the payload is there */
    NO_LAST_STEP,    /* leaves while others may still read */
    ONE_EARLY,       /* place for the first piece */
    ONE_HALF,        /* of the bounce memory */
    NO_ROOM,         /* writes a half without looking whether it was taken */
    NO_LETTING_GO,   /* leaves at once where it gives up */
    QUIET_GIVING_UP, /* tells nobody */
    LOOKS_FIRST,     /* for those that hold on, and then revokes */
    NEVER_LEFT,      /* does not say that it has left */
    NO_DONE,         /* a sender does not wait for what is read straight */
    NO_PLACE,        /* nor, where it leaves a send, for a place */
    ONE_PART,        /* place for what a leader hands on */
    GATHERS_EARLY,   /* a leader does not wait for its subgroup */
    NOT_TOLD,        /* who gives up tells only those that read its flags */
    HEEDS_FIRST,     /* looks whether it was told, and then comes */
};

enum protocol {
    STRAIGHT,  /* out of the others' buffers, and a step */
    PIECES,    /* four of them, from each member to each */
    ONE_PIECE, /* and no step */
    BROADCAST, /* four pieces of member 0 */
    SEND,      /* from member 0 to member 1, read straight */
    SHORT,     /* the same, in what says that it is there */
    LEFT_SEND, /* the same, and its sender does not wait for the receive */
};

/* ---- a member's instructions -------------------------------------------- */

enum kind {
    SET,    /* own word := value */
    EXPECT, /* member's word is value */
    AWAIT,  /* until member's word >= value */
    TELL,   /* member's word := value */
    HEED,   /* gives up where it was told */
    GONE,   /* until member holds nothing: three loads in turn */
    GONE_ROUND,
    GONE_LEFT,
    END
};

struct instruction {
    uint8_t kind, member, word, value;
    uint8_t round; /* of an AWAIT: the meeting that it belongs to */
};

enum { MOST_INSTRUCTIONS = 140, DEAD = 255 };

struct program {
    struct instruction list[MOST_INSTRUCTIONS];
    int count;
    int giving_up; /* where that begins */
};

struct model {
    int size;
    int rounds;
    enum protocol protocol;
    enum defect defect;
    bool has_levels;    /* members 0 and 1 meet first, and 2 and 3 */
    unsigned impatient; /* a bit for each member that may give up */
    unsigned mortal;    /* and for each that may die, which all can see */
    struct program programs[MOST_MEMBERS];
};

struct state {
    uint8_t words[MOST_MEMBERS][NUM_WORDS];
    uint8_t at[MOST_MEMBERS];
    uint8_t round[MOST_MEMBERS]; /* in which a member gave up */
};

/* The word that is the flag of a meeting. */
int shm_model_slot(const struct model *m, int round);

/* Writes the program of a member. */
void shm_model_write(struct model *m, int own);

#endif
