/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_model.c - what a member does in each protocol, and where a defect is
 * planted. */
#include "shm_model.h"
#include "tests/unit/unit.h"

static void add(struct program *p, enum kind kind, int member, int word,
                int value, int round)
{
    ck_assert_int_lt(p->count, MOST_INSTRUCTIONS);
    p->list[p->count++] =
        (struct instruction){ (uint8_t)kind, (uint8_t)member, (uint8_t)word,
                              (uint8_t)value, (uint8_t)round };
}

int shm_model_slot(const struct model *m, int round)
{
    return m->defect == ONE_SLOT ? 0 : round % NUM_SLOTS;
}

static int early(const struct model *m, int round)
{
    return EARLY + (m->defect == ONE_EARLY ? 0 : round % NUM_EARLY);
}

static int half(const struct model *m, int stage)
{
    return HALF + (m->defect == ONE_HALF ? 0 : stage % NUM_HALVES);
}

/* What a member has to say in a round and a stage: never 0. */
static int datum(int member, int round, int stage)
{
    return 1 + member + 4 * (stage + 4 * round);
}

static void add_all(const struct model *m, struct program *p, int own,
                    enum kind kind, int word, int value, int round)
{
    for (int i = 0; i < m->size; i++)
        if (i != own)
            add(p, kind, i, word, value, round);
}

static void add_expect(const struct model *m, struct program *p, int own,
                       int word, int round, int stage)
{
    for (int i = 0; i < m->size; i++)
        if (i != own)
            add(p, EXPECT, i, word, datum(i, round, stage), round);
}

/* What a member calls in a round; the same in rounds 3 and 5. */
static int signature(int member, int round)
{
    return 100 + 8 * member + (round < 3 ? round : 3 + round % 2);
}

static int signature_word(const struct model *m, int round)
{
    return SIGNATURE +
           (m->defect == ONE_SIGNATURE ? 0 : round % NUM_SIGNATURES);
}

static void add_signature(const struct model *m, struct program *p, int own,
                          int round)
{
    int word = signature_word(m, round);
    if (round < 3 || signature(own, round) != signature(own, round - 2))
        add(p, SET, own, word, signature(own, round), round);
}

static void add_comparison(const struct model *m, struct program *p, int own,
                           int round)
{
    int word = signature_word(m, round);
    for (int i = 0; i < m->size; i++)
        if (i != own)
            add(p, EXPECT, i, word, signature(i, round), round);
}

static int leader_of(int member)
{
    return member / 2 * 2;
}

static int part(const struct model *m, int round)
{
    return PART + (m->defect == ONE_PART ? 0 : round % NUM_HANDOVERS);
}

/* shm_levels.c's leaders: those of the own subgroup, then of the others. */
static void add_leading(const struct model *m, struct program *p, int own,
                        int round)
{
    int turn = round % NUM_HANDOVERS;
    if (own + 1 < m->size && m->defect != GATHERS_EARLY)
        add(p, AWAIT, own + 1, ROUND + turn, round, round);
    add(p, SET, own, part(m, round), datum(own, round, 2), round);
    add(p, SET, own, GATHERED + turn, round, round);
    for (int i = 0; i < m->size; i += 2) {
        if (i == own)
            continue;
        add(p, AWAIT, i, GATHERED + turn, round, round);
        add(p, EXPECT, i, part(m, round), datum(i, round, 2), round);
    }
    add(p, SET, own, RESULT + turn, datum(own, round, 3), round);
    add(p, SET, own, RELEASED + turn, round, round);
}

static void add_levels(const struct model *m, struct program *p, int own,
                       int round)
{
    int leader = leader_of(own), turn = round % NUM_HANDOVERS;
    if (leader == own)
        add_leading(m, p, own, round);
    else
        add(p, AWAIT, leader, RELEASED + turn, round, round);
    if (m->defect != HEEDS_FIRST)
        add(p, HEED, own, TOLD, 0, round);
    add(p, EXPECT, leader, RESULT + turn, datum(leader, round, 3), round);
}

static void add_meeting(const struct model *m, struct program *p, int own,
                        int round)
{
    int payload = PAYLOAD + shm_model_slot(m, round),
        flag = ROUND + shm_model_slot(m, round);
    if (m->defect == HEEDS_FIRST)
        add(p, HEED, own, TOLD, 0, round);
    if (m->defect == FLAG_FIRST)
        add(p, SET, own, flag, round, round);
    add_signature(m, p, own, round);
    add(p, SET, own, payload, datum(own, round, 0), round);
    if (m->defect != FLAG_FIRST)
        add(p, SET, own, flag, round, round);
    if (m->has_levels)
        add_levels(m, p, own, round);
    else
        add_all(m, p, own, AWAIT, flag, round, round);
    add_expect(m, p, own, payload, round, 0);
    add_comparison(m, p, own, round);
}

/* The others read IN where it is, and a step lets it go. */
static void add_straight(const struct model *m, struct program *p, int own,
                         int round)
{
    add(p, SET, own, IN, datum(own, round, 1), round);
    add_meeting(m, p, own, round);
    add_expect(m, p, own, IN, round, 1);
    if (m->defect == NO_LAST_STEP)
        return;
    add(p, SET, own, STEP, round, round);
    add_all(m, p, own, AWAIT, STEP, round, round);
}

/* Members whose data own reads. */
static void add_producers(const struct model *m, struct program *p, int own,
                          enum kind kind, int word, int value, int round)
{
    if (m->protocol != BROADCAST)
        add_all(m, p, own, kind, word, value, round);
    else if (own != 0)
        add(p, kind, 0, word, value, round);
}

static bool produces(const struct model *m, int own)
{
    return m->protocol != BROADCAST || own == 0;
}

static void add_reading(const struct model *m, struct program *p, int own,
                        int word, int round, int stage)
{
    if (m->protocol != BROADCAST)
        add_expect(m, p, own, word, round, stage);
    else if (own != 0)
        add(p, EXPECT, 0, word, datum(0, round, stage), round);
}

/* shm_flow.c's stages: the first piece is there before the meeting. */
static void add_pieces(const struct model *m, struct program *p, int own,
                       int round, int stages)
{
    int base = (round - 1) * stages;
    if (produces(m, own))
        add(p, SET, own, early(m, round), datum(own, round, 0), round);
    add_meeting(m, p, own, round);
    add_reading(m, p, own, early(m, round), round, 0);
    for (int i = 1; i < stages; i++) {
        if (produces(m, own) && i >= 2 && m->defect != NO_ROOM)
            add_all(m, p, own, AWAIT, STEP, base + i - 1, round);
        if (produces(m, own))
            add(p, SET, own, half(m, i), datum(own, round, i), round);
        add(p, SET, own, STEP, base + i, round);
        add_producers(m, p, own, AWAIT, STEP, base + i, round);
        add_reading(m, p, own, half(m, i), round, i);
    }
    if (stages > 1) {
        add(p, SET, own, STEP, base + stages, round);
        add_all(m, p, own, AWAIT, STEP, base + stages, round);
    }
}

/* shm_p2p.c: both ends' descriptions are in ROUND, what is done in LEFT. */
static void add_send(const struct model *m, struct program *p, int own,
                     int number)
{
    int flag = ROUND + shm_model_slot(m, number),
        desc = PAYLOAD + shm_model_slot(m, number);
    if (own == 0) {
        add(p, SET, 0, IN, datum(0, number, 1), number);
        add(p, SET, 0, desc, datum(0, number, 0), number);
        add(p, SET, 0, flag, number, number);
        add(p, AWAIT, 1, flag, number, number);
        if (m->protocol == SEND && m->defect != NO_DONE)
            add(p, AWAIT, 1, LEFT, number, number);
        return;
    }
    add(p, SET, 1, flag, number, number);
    add(p, AWAIT, 0, flag, number, number);
    add(p, EXPECT, 0, desc, datum(0, number, 0), number);
    if (m->protocol == SEND) {
        add(p, EXPECT, 0, IN, datum(0, number, 1), number);
        add(p, SET, 1, LEFT, number, number);
    }
}

/* The same of a send that is left: it needs a place of which the receiver is
 * done with what was there, and no more. */
static void add_left_send(const struct model *m, struct program *p, int own,
                          int number)
{
    int flag = ROUND + shm_model_slot(m, number),
        desc = PAYLOAD + shm_model_slot(m, number);
    if (own == 0) {
        if (number > NUM_SLOTS && m->defect != NO_PLACE)
            add(p, AWAIT, 1, LEFT, number - NUM_SLOTS, number);
        add(p, SET, 0, desc, datum(0, number, 0), number);
        add(p, SET, 0, flag, number, number);
        return;
    }
    add(p, AWAIT, 0, flag, number, number);
    add(p, EXPECT, 0, desc, datum(0, number, 0), number);
    add(p, SET, 1, LEFT, number, number);
}

static bool is_send(const struct model *m)
{
    return m->protocol == SEND || m->protocol == SHORT ||
           m->protocol == LEFT_SEND;
}

/* Whether others may touch own's buffers, which it has to guard. */
static bool has_buffers(const struct model *m, int own)
{
    return m->defect != NO_LETTING_GO &&
           (m->protocol == SEND ? own == 0 : !is_send(m));
}

static void add_revocation(const struct model *m, struct program *p, int own)
{
    if (m->defect == QUIET_GIVING_UP)
        return;
    add(p, SET, own, ROUND, REVOKED, 0);
    add(p, SET, own, ROUND_2, REVOKED, 0);
    for (int word = GATHERED; word <= RELEASED_2 && m->has_levels; word++)
        add(p, SET, own, word, REVOKED, 0);
    if (m->has_levels && m->defect != NOT_TOLD)
        add_all(m, p, own, TELL, TOLD, 1, 0);
    if (is_send(m))
        add(p, SET, own, LEFT, REVOKED, 0);
    add(p, SET, own, STEP, REVOKED, 0);
}

/* shm_wait.c: revokes, and leaves when nobody holds on. */
static void add_giving_up(const struct model *m, struct program *p, int own)
{
    p->giving_up = p->count;
    if (m->defect != LOOKS_FIRST)
        add_revocation(m, p, own);
    for (int i = 0; i < m->size && has_buffers(m, own); i++) {
        if (i == own)
            continue;
        add(p, GONE, i, STEP, 0, 0);
        add(p, GONE_ROUND, i, ROUND, 0, 0);
        add(p, GONE_LEFT, i, LEFT, 0, 0);
    }
    if (m->defect == LOOKS_FIRST)
        add_revocation(m, p, own);
    add(p, SET, own, IN, TAKEN_BACK, 0);
    add(p, END, 0, 0, 0, 0);
}

void shm_model_write(struct model *m, int own)
{
    struct program *p = &m->programs[own];
    p->count = 0;
    for (int round = 1; round <= m->rounds; round++) {
        if (m->protocol == LEFT_SEND)
            add_left_send(m, p, own, round);
        else if (is_send(m))
            add_send(m, p, own, round);
        else if (m->protocol == STRAIGHT)
            add_straight(m, p, own, round);
        else
            add_pieces(m, p, own, round, m->protocol == ONE_PIECE ? 1 : 4);
        if (!is_send(m) && m->defect != NEVER_LEFT)
            add(p, SET, own, LEFT, round, round);
    }
    add(p, SET, own, IN, TAKEN_BACK, 0);
    add(p, END, 0, 0, 0, 0);
    add_giving_up(m, p, own);
}
