/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shm_model.c - the protocol of a group's flags, slots, steps and pieces,
 * run through every order in which its members' loads and stores can happen.
 *
 * No sanitizer sees a race between processes. Here each member is a short list
 * of instructions on words that all members see, one load or store each, in an
 * order that all agree on, as shm.c asks for with sequentially consistent
 * atomics where the order of different words matters. The words, and how many
 * of each there are, are those of struct jd_segment. All states that can be
 * reached are visited: in none may a member read what is not meant for it, or
 * touch what its owner has taken back, and from each all members come to their
 * end. Whether that shows anything is shown by defects that are planted.
 */
#include "collectives/cpu/shm/shm_private.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

static const struct {
    const char *name;
    size_t begin, bytes;
} places[IN] = {
#define PLACE(word, field)                                                     \
    [word] = { #field, offsetof(struct jd_segment, field),                     \
               sizeof((struct jd_segment *)NULL)->field },
    WORDS(PLACE)
#undef PLACE
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

static void add(struct program *p, enum kind kind, int member, int word,
                int value, int round)
{
    ck_assert_int_lt(p->count, MOST_INSTRUCTIONS);
    p->list[p->count++] =
        (struct instruction){ (uint8_t)kind, (uint8_t)member, (uint8_t)word,
                              (uint8_t)value, (uint8_t)round };
}

static int slot(const struct model *m, int round)
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
    int payload = PAYLOAD + slot(m, round), flag = ROUND + slot(m, round);
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
    int flag = ROUND + slot(m, number), desc = PAYLOAD + slot(m, number);
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

static bool is_send(const struct model *m)
{
    return m->protocol == SEND || m->protocol == SHORT;
}

/* Whether others may touch own's buffers, which it has to guard. */
static bool has_buffers(const struct model *m, int own)
{
    return m->defect != NO_LETTING_GO &&
           (m->protocol == SEND ? own == 0 : m->protocol != SHORT);
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

static void write_program(struct model *m, int own)
{
    struct program *p = &m->programs[own];
    p->count = 0;
    for (int round = 1; round <= m->rounds; round++) {
        if (is_send(m))
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

/* ---- one step of a member ----------------------------------------------- */

static const struct instruction *next_of(const struct model *m,
                                         const struct state *s, int member)
{
    static const struct instruction end = { .kind = END };
    return s->at[member] == DEAD ? &end
                                 : &m->programs[member].list[s->at[member]];
}

static bool holds_nothing(const struct model *m, const struct state *s,
                          const struct instruction *i, int own)
{
    const uint8_t *words = s->words[i->member];
    int round = s->round[own];
    if (s->at[i->member] == DEAD)
        return true;
    switch (i->kind) {
    case GONE:
        return words[STEP] == REVOKED;
    case GONE_ROUND:
        return words[ROUND + slot(m, round)] < round;
    default:
        return words[LEFT] >= round;
    }
}

static void give_up(const struct model *m, struct state *s, int own)
{
    s->round[own] = next_of(m, s, own)->round;
    s->at[own] = (uint8_t)m->programs[own].giving_up;
}

/* The three loads of a look, and again if none of them says so. */
static void look(const struct model *m, struct state *s, int own)
{
    const struct instruction *i = next_of(m, s, own);
    int place = i->kind - GONE;
    if (holds_nothing(m, s, i, own))
        s->at[own] = (uint8_t)(s->at[own] + 3 - place);
    else if (i->kind == GONE_LEFT)
        s->at[own] = (uint8_t)(s->at[own] - 2);
    else
        s->at[own]++;
}

/* Whether the member can go on; false where it waits or has ended. */
static bool go_on(const struct model *m, struct state *s, int own)
{
    const struct instruction *i = next_of(m, s, own);
    uint8_t word = s->words[i->member][i->word];
    switch (i->kind) {
    case END:
        return false;
    case SET:
        s->words[own][i->word] = i->value;
        break;
    case AWAIT:
        if (word == REVOKED) {
            give_up(m, s, own);
            return true;
        }
        if (word < i->value)
            return false;
        break;
    case EXPECT:
        break;
    case TELL:
        s->words[i->member][i->word] = i->value;
        break;
    case HEED:
        if (word) {
            give_up(m, s, own);
            return true;
        }
        break;
    default:
        look(m, s, own);
        return true;
    }
    s->at[own]++;
    return true;
}

/* Whether a member that looks for others who hold on finds them for ever,
 * unless something changes. */
static bool looks_in_vain(const struct model *m, const struct state *s, int own)
{
    struct instruction i = *next_of(m, s, own);
    if (i.kind != GONE && i.kind != GONE_ROUND && i.kind != GONE_LEFT)
        return false;
    for (int kind = GONE; kind <= GONE_LEFT; kind++) {
        i.kind = (uint8_t)kind;
        if (holds_nothing(m, s, &i, own))
            return false;
    }
    return true;
}

/* ---- all states --------------------------------------------------------- */

enum { TABLE = 1 << 22 };

struct search {
    const struct model *model;
    struct state *states; /* in the order in which they were found */
    uint32_t *table;      /* number of a state + 1, by digest */
    uint32_t count;
    char fault[120];
};

static uint32_t digest(const struct state *s)
{
    const uint8_t *bytes = (const void *)s;
    uint64_t d = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof *s; i++)
        d = (d ^ bytes[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(d >> 32 ^ d);
}

static void visit(struct search *search, const struct state *s)
{
    uint32_t at = digest(s) % TABLE;
    while (search->table[at]) {
        if (memcmp(&search->states[search->table[at] - 1], s, sizeof *s) == 0)
            return;
        at = (at + 1) % TABLE;
    }
    ck_assert_msg(search->count < TABLE / 2, "more states than expected");
    search->states[search->count++] = *s;
    search->table[at] = search->count;
}

static bool is_wrong(struct search *search, const struct state *s, int own)
{
    const struct instruction *i = next_of(search->model, s, own);
    int value = s->words[i->member][i->word];
    if (i->kind != EXPECT || value == i->value)
        return false;
    snprintf(search->fault, sizeof search->fault,
             "member %d reads %d in %s of member %d, not %d", own, value,
             i->word == IN ? "its buffer" : places[i->word].name, i->member,
             i->value);
    return true;
}

/* All that can happen next. False where something is wrong. */
static bool expand(struct search *search, struct state s)
{
    const struct model *m = search->model;
    bool moves = false, has_ended = true;
    for (int i = 0; i < m->size; i++) {
        struct state next = s;
        const struct instruction *instruction = next_of(m, &s, i);
        has_ended = has_ended && instruction->kind == END;
        if (is_wrong(search, &s, i))
            return false;
        if (go_on(m, &next, i)) {
            moves = moves || !looks_in_vain(m, &s, i);
            visit(search, &next);
        }
        next = s;
        if (instruction->kind == AWAIT && (m->impatient >> i & 1)) {
            moves = true;
            give_up(m, &next, i);
            visit(search, &next);
        }
        next = s;
        if (instruction->kind != END && (m->mortal >> i & 1)) {
            next.at[i] = DEAD;
            visit(search, &next);
        }
    }
    if (!moves && !has_ended)
        snprintf(search->fault, sizeof search->fault,
                 "nobody can go on: members are at %d, %d, %d", s.at[0],
                 s.at[1], s.at[2]);
    return moves || has_ended;
}

/* The number of states; 0 where a fault was found. */
static uint32_t explore(struct model *m, char *fault, size_t size)
{
    struct search search = { .model = m };
    struct state begin = { .at = { 0 } };
    uint32_t done = 0;
    for (int i = 0; i < m->size; i++)
        write_program(m, i);
    search.states = malloc(TABLE / 2 * sizeof *search.states);
    search.table = calloc(TABLE, sizeof *search.table);
    ck_assert(search.states && search.table);
    visit(&search, &begin);
    while (done < search.count && expand(&search, search.states[done]))
        done++;
    snprintf(fault, size, "%s", search.fault);
    free(search.states);
    free(search.table);
    return done == search.count ? done : 0;
}

/* ---- what must hold ----------------------------------------------------- */

/* No two of a member's words share a byte. */
START_TEST(words_are_apart)
{
    for (int a = 0; a < IN; a++)
        for (int b = 0; b < IN; b++)
            ck_assert_msg(a == b || places[a].begin != places[b].begin,
                          "%s and %s are one", places[a].name, places[b].name);
    for (int a = 0; a < IN; a++)
        for (int b = 0; b < IN; b++)
            ck_assert_msg(places[a].begin >= places[b].begin ||
                              places[a].begin + places[a].bytes <=
                                  places[b].begin,
                          "%s reaches into %s", places[a].name, places[b].name);
}
END_TEST

static const struct model models[] = {
    { .size = 2, .rounds = 5, .protocol = STRAIGHT },
    { .size = 2, .rounds = 5, .protocol = STRAIGHT, .impatient = 1 },
    { .size = 2, .rounds = 5, .protocol = STRAIGHT, .impatient = 3 },
    { .size = 3, .rounds = 4, .protocol = STRAIGHT },
    { .size = 3, .rounds = 3, .protocol = STRAIGHT, .impatient = 1 },
    { .size = 3, .rounds = 3, .protocol = STRAIGHT, .impatient = 7 },
    { .size = 2, .rounds = 3, .protocol = PIECES },
    { .size = 2, .rounds = 3, .protocol = PIECES, .impatient = 3 },
    { .size = 3, .rounds = 3, .protocol = PIECES },
    { .size = 3, .rounds = 2, .protocol = PIECES, .impatient = 2 },
    { .size = 3, .rounds = 2, .protocol = PIECES, .impatient = 7 },
    { .size = 2, .rounds = 5, .protocol = ONE_PIECE, .impatient = 3 },
    { .size = 3, .rounds = 4, .protocol = ONE_PIECE },
    { .size = 3, .rounds = 3, .protocol = ONE_PIECE, .impatient = 7 },
    { .size = 2, .rounds = 3, .protocol = BROADCAST, .impatient = 3 },
    { .size = 3, .rounds = 3, .protocol = BROADCAST },
    { .size = 3, .rounds = 2, .protocol = BROADCAST, .impatient = 7 },
    { .size = 2, .rounds = 5, .protocol = SEND },
    { .size = 2, .rounds = 5, .protocol = SEND, .impatient = 1 },
    { .size = 2, .rounds = 5, .protocol = SEND, .impatient = 3 },
    { .size = 2, .rounds = 5, .protocol = SHORT, .impatient = 3 },
    { .size = 3, .rounds = 4, .protocol = STRAIGHT, .has_levels = true },
    { .size = 3,
      .rounds = 2,
      .protocol = STRAIGHT,
      .has_levels = true,
      .impatient = 1 },
    { .size = 3,
      .rounds = 2,
      .protocol = STRAIGHT,
      .has_levels = true,
      .impatient = 2 },
    { .size = 3,
      .rounds = 2,
      .protocol = STRAIGHT,
      .has_levels = true,
      .impatient = 7 },
    { .size = 3,
      .rounds = 1,
      .protocol = STRAIGHT,
      .has_levels = true,
      .impatient = 7,
      .mortal = 5 },
    { .size = 3, .rounds = 3, .protocol = ONE_PIECE, .has_levels = true },
    { .size = 4, .rounds = 1, .protocol = STRAIGHT, .has_levels = true },
    { .size = 4,
      .rounds = 1,
      .protocol = ONE_PIECE,
      .has_levels = true,
      .impatient = 8 },
};
enum { NUM_MODELS = sizeof models / sizeof *models };

START_TEST(nothing_goes_wrong_in_any_order)
{
    struct model m = models[_i];
    char fault[120];
    uint32_t states = explore(&m, fault, sizeof fault);
    ck_assert_msg(states > 0, "model %d: %s", _i, fault);
    ck_assert_uint_gt(states, 50);
}
END_TEST

static const struct planted {
    struct model model;
    const char *fault; /* how what is found begins */
} planted[] = {
    { { .size = 2, .rounds = 3, .protocol = ONE_PIECE, .defect = ONE_SLOT },
      "member 1 reads 33 in slots[0].payload of member 0, not 17" },
    { { .size = 2,
        .rounds = 3,
        .protocol = ONE_PIECE,
        .defect = ONE_SIGNATURE },
      "member 1 reads 102 in signatures[0] of member 0, not 101" },
    { { .size = 2, .rounds = 3, .protocol = SHORT, .defect = ONE_SLOT },
      "member 1 reads 33 in slots[0].payload of member 0, not 17" },
    { { .size = 2, .rounds = 1, .protocol = STRAIGHT, .defect = FLAG_FIRST },
      "member 0 reads 0 in slots[1].payload of member 1, not 18" },
    { { .size = 2, .rounds = 2, .protocol = STRAIGHT, .defect = NO_LAST_STEP },
      "member 1 reads 37 in its buffer of member 0, not 21" },
    { { .size = 2, .rounds = 1, .protocol = STRAIGHT, .defect = NO_LAST_STEP },
      "member 1 reads 254 in its buffer of member 0, not 21" },
    { { .size = 2, .rounds = 2, .protocol = ONE_PIECE, .defect = ONE_EARLY },
      "member 1 reads 33 in early[0] of member 0, not 17" },
    { { .size = 2, .rounds = 1, .protocol = PIECES, .defect = ONE_HALF },
      "member 1 reads 25 in bounce[0] of member 0, not 21" },
    { { .size = 2, .rounds = 1, .protocol = BROADCAST, .defect = NO_ROOM },
      "member 1 reads 29 in bounce[JD_SHM_HALF] of member 0, not 21" },
    { { .size = 2,
        .rounds = 1,
        .protocol = STRAIGHT,
        .impatient = 1,
        .defect = NO_LETTING_GO },
      "member 1 reads 254 in its buffer of member 0, not 21" },
    { { .size = 2,
        .rounds = 1,
        .protocol = SEND,
        .impatient = 1,
        .defect = NO_LETTING_GO },
      "member 1 reads 254 in its buffer of member 0, not 21" },
    { { .size = 2,
        .rounds = 1,
        .protocol = STRAIGHT,
        .impatient = 1,
        .defect = QUIET_GIVING_UP },
      "nobody can go on" },
    { { .size = 2,
        .rounds = 1,
        .protocol = STRAIGHT,
        .impatient = 1,
        .defect = LOOKS_FIRST },
      "nobody can go on" },
    { { .size = 2,
        .rounds = 1,
        .protocol = SEND,
        .impatient = 1,
        .defect = LOOKS_FIRST },
      "member 1 reads 254 in its buffer of member 0, not 21" },
    { { .size = 3,
        .rounds = 1,
        .protocol = STRAIGHT,
        .impatient = 1,
        .defect = NEVER_LEFT },
      "nobody can go on" },
    { { .size = 3,
        .rounds = 2,
        .protocol = ONE_PIECE,
        .has_levels = true,
        .defect = ONE_PART },
      "member 0 reads 43 in gathered[0].data of member 2, not 27" },
    { { .size = 3,
        .rounds = 1,
        .protocol = STRAIGHT,
        .has_levels = true,
        .defect = GATHERS_EARLY },
      "member 0 reads 0 in slots[1].payload of member 1, not 18" },
    { { .size = 3,
        .rounds = 1,
        .protocol = STRAIGHT,
        .has_levels = true,
        .impatient = 7,
        .mortal = 1,
        .defect = NOT_TOLD },
      "member 2 reads 254 in its buffer of member 1, not 22" },
    { { .size = 3,
        .rounds = 1,
        .protocol = STRAIGHT,
        .has_levels = true,
        .impatient = 7,
        .mortal = 1,
        .defect = HEEDS_FIRST },
      "member 2 reads 254 in its buffer of member 1, not 22" },
    { { .size = 2, .rounds = 2, .protocol = SEND, .defect = NO_DONE },
      "member 1 reads 37 in its buffer of member 0, not 21" },
};
enum { NUM_PLANTED = sizeof planted / sizeof *planted };

START_TEST(planted_defects_are_found)
{
    struct model m = planted[_i].model;
    char fault[120];
    ck_assert_uint_eq(explore(&m, fault, sizeof fault), 0);
    ck_assert_msg(
        strncmp(fault, planted[_i].fault, strlen(planted[_i].fault)) == 0, "%s",
        fault);
    m.defect = NONE;
    ck_assert_uint_gt(explore(&m, fault, sizeof fault), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_model");
    tcase_add_test(unit_case(suite, "words"), words_are_apart);
    TCase *orders = unit_case(suite, "orders");
    tcase_set_timeout(orders, 100);
    tcase_add_loop_test(orders, nothing_goes_wrong_in_any_order, 0, NUM_MODELS);
    TCase *defects = unit_case(suite, "defects");
    tcase_set_timeout(defects, 100);
    tcase_add_loop_test(defects, planted_defects_are_found, 0, NUM_PLANTED);
    return unit_main(suite);
}
