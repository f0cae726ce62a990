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
#include "shm_model.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
        return words[ROUND + shm_model_slot(m, round)] < round;
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
        shm_model_write(m, i);
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
    { .size = 2, .rounds = 7, .protocol = LEFT_SEND, .impatient = 3 },
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
    { { .size = 2, .rounds = 3, .protocol = LEFT_SEND, .defect = NO_PLACE },
      "member 1 reads 49 in slots[1].payload of member 0, not 17" },
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
