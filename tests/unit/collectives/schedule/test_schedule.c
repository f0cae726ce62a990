/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_schedule.c - every kind of schedule, with data, for all parties at
 * once: what is sent is received in the same round, and the results are right.
 *
 * A block of data is a cell: what it is, how long it is, and whose
 * contributions are folded into it. That says more of a result than a number
 * would: contributions that are folded twice, or in the wrong order, show.
 *
 * TEST_SCHEDULE_SEED=N repeats the random cases of a seed that was printed.
 */
#include "collectives/schedule/schedule.h"
#include "tests/unit/unit.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum {
    MOST_PARTIES = 64, /* bits of a set */
    LONGEST = 1000,
    MERGED = MOST_PARTIES * MOST_PARTIES, /* what a merge moves */
    RANDOM_CASES = 3000,
};

struct cell {
    uint64_t who; /* whose contributions; 0: the cell is empty */
    int what;
    int length;
};

/* One collective: each party's cells, before and after. */
struct trial {
    struct jd_schedule schedule;
    unsigned seed;
    int lengths[MOST_PARTIES][MOST_PARTIES];
    struct cell has[MOST_PARTIES][MOST_PARTIES];
    struct cell got[MOST_PARTIES][MOST_PARTIES];      /* of PAIRS */
    int messages[MOST_PARTIES], blocks[MOST_PARTIES]; /* sent */
    int received[MOST_PARTIES];                       /* blocks */
};

/* The cells of a message. */
struct letter {
    int count, bytes;
    struct cell cells[MOST_PARTIES];
};

static const uint64_t one = 1;
static struct trial trial; /* too large for a stack */

#define REQUIRE(condition, k, party, ...)                                      \
    do {                                                                       \
        if (!(condition))                                                      \
            complain(#condition, k, party, __VA_ARGS__);                       \
    } while (0)

/* The case, and what is wrong with it. */
__attribute__((format(printf, 4, 5))) static void
complain(const char *condition, int k, int party, const char *format, ...)
{
    const struct jd_schedule *s = &trial.schedule;
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ck_abort_msg("%s of %d parties, root %d, seed %u: round %d, party %d: %s "
                 "(%s)",
                 jd__schedule_name(s->kind), s->parties, s->root, trial.seed, k,
                 party, text, condition);
}

static uint64_t random_state;

static int draw(int below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (unsigned)below);
}

static bool is_tree(enum jd_schedule_kind kind)
{
    return kind == JD_SCHEDULE_SCATTER || kind == JD_SCHEDULE_BROADCAST;
}

static bool is_merge(enum jd_schedule_kind kind)
{
    return kind == JD_SCHEDULE_MERGE || kind == JD_SCHEDULE_MERGE_BY_FOURS;
}

/* Of those the caller knows where blocks lie. */
static bool is_turning(enum jd_schedule_kind kind)
{
    return kind == JD_SCHEDULE_PAIRS || kind == JD_SCHEDULE_BRUCK;
}

static struct jd_round round_of(int party, int k)
{
    struct jd_schedule s = trial.schedule;
    s.self = party;
    return jd__schedule_round(&s, k);
}

/* ---- what everybody has ---------------------------------------------------
 */

/* All blocks of one length where they have to be (short all_to_all), or each
 * its own. */
static void draw_lengths(bool is_random)
{
    int n = trial.schedule.parties, same = is_random ? draw(LONGEST) : 8;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            trial.lengths[i][j] =
                is_random && trial.schedule.kind != JD_SCHEDULE_BRUCK
                    ? draw(2) * draw(LONGEST)
                    : same;
}

/* The cell of party i that is numbered j, before the first round. */
static struct cell cell_before(int i, int j)
{
    int n = trial.schedule.parties, peer;
    bool is_root = i == trial.schedule.root;
    struct cell cell = { one << i, j, trial.lengths[0][j] };
    switch (trial.schedule.kind) {
    case JD_SCHEDULE_MERGE:
    case JD_SCHEDULE_MERGE_BY_FOURS:
        cell.length = trial.lengths[0][0];
        cell.what = MERGED;
        cell.who = j == 0 ? one << i : 0;
        break;
    case JD_SCHEDULE_REDUCE_SCATTER:
        break;
    case JD_SCHEDULE_ALL_GATHER:
        cell.who = i == j ? one << i : 0;
        break;
    case JD_SCHEDULE_SCATTER:
    case JD_SCHEDULE_BROADCAST:
        cell.who = is_root ? one << i : 0;
        break;
    default:
        peer = trial.schedule.kind == JD_SCHEDULE_PAIRS ? j : (i + j) % n;
        cell.what = i * n + peer;
        cell.length = trial.lengths[i][peer];
    }
    return cell;
}

static void begin(enum jd_schedule_kind kind, int parties, int root)
{
    int random = trial.seed != 0;
    memset(&trial.has, 0, sizeof trial.has);
    memset(&trial.got, 0, sizeof trial.got);
    memset(&trial.messages, 0, sizeof trial.messages);
    memset(&trial.blocks, 0, sizeof trial.blocks);
    memset(&trial.received, 0, sizeof trial.received);
    trial.schedule =
        (struct jd_schedule){ .kind = kind, .parties = parties, .root = root };
    draw_lengths(random);
    for (int i = 0; i < parties; i++)
        for (int j = 0; j < parties; j++)
            trial.has[i][j] = cell_before(i, j);
}

/* ---- messages -------------------------------------------------------------
 */

/* The numbers of the blocks, one by one, as the header defines them. */
static int list_blocks(const struct jd_blocks *blocks, int list[])
{
    int n = 0;
    for (int i = 0; i < blocks->count; i++)
        if (!blocks->bit || (i & blocks->bit))
            list[n++] = (blocks->first + i) % trial.schedule.parties;
    return n;
}

static int listed_blocks(int k, int party, const struct jd_blocks *blocks,
                         int list[])
{
    int n = trial.schedule.parties;
    REQUIRE(blocks->first >= 0 && blocks->first < n && blocks->count > 0 &&
                blocks->count <= n,
            k, party, "blocks %d and %d more", blocks->first,
            blocks->count - 1);
    int count = list_blocks(blocks, list);
    REQUIRE(count == jd__schedule_count(blocks), k, party, "%d blocks, not %d",
            count, jd__schedule_count(blocks));
    struct jd_schedule s = trial.schedule;
    s.self = party;
    int at = (blocks->first - jd__schedule_origin(&s) + n) % n;
    REQUIRE(is_turning(s.kind) || at + blocks->count <= n, k, party,
            "blocks %d and %d more wrap in memory that begins with %d",
            blocks->first, blocks->count - 1, jd__schedule_origin(&s));
    return count;
}

/* Whose contributions are in blocks: of a merge. */
static uint64_t set_of(const int list[], int count)
{
    uint64_t set = 0;
    for (int i = 0; i < count; i++)
        set |= one << list[i];
    return set;
}

static void pack(int k, int party, const struct jd_blocks *out,
                 struct letter *letter)
{
    int list[MOST_PARTIES], count = listed_blocks(k, party, out, list);
    bool merges = is_merge(trial.schedule.kind);
    trial.messages[party]++;
    trial.blocks[party] += count;
    *letter = (struct letter){ .count = merges ? 1 : count };
    for (int i = 0; i < letter->count; i++) {
        letter->cells[i] = trial.has[party][merges ? 0 : list[i]];
        letter->bytes += letter->cells[i].length;
        REQUIRE(letter->cells[i].who, k, party,
                "sends block %d, which it does not have", list[i]);
    }
    if (merges)
        REQUIRE(letter->cells[0].who == set_of(list, count), k, party,
                "sends what others contributed than its blocks say");
}

/* Theirs and ours become one; in a merge, of parties in their order. */
static void fold(int k, int party, struct cell *ours, const struct cell *theirs,
                 enum jd_then then)
{
    const struct cell *below = then == JD_THEN_FOLD_BELOW ? theirs : ours;
    const struct cell *above = then == JD_THEN_FOLD_BELOW ? ours : theirs;
    REQUIRE(ours->who && ours->what == theirs->what, k, party,
            "folds %d into %d", theirs->what, ours->what);
    REQUIRE(!(ours->who & theirs->who), k, party, "folds somebody's twice");
    if (is_merge(trial.schedule.kind))
        REQUIRE(63 - __builtin_clzll(below->who) < __builtin_ctzll(above->who),
                k, party, "folds in the wrong order");
    ours->who |= theirs->who;
}

/* Where block j goes, and what was there before. */
static struct cell *place_of(int k, int party, int j)
{
    enum jd_schedule_kind kind = trial.schedule.kind;
    struct cell *cell =
        kind == JD_SCHEDULE_PAIRS ? &trial.got[party][j] : &trial.has[party][j];
    bool replaces = is_merge(kind) || kind == JD_SCHEDULE_BRUCK;
    REQUIRE(replaces || !cell->who, k, party, "gets block %d again", j);
    return cell;
}

static void unpack(int k, int party, const struct jd_round *round,
                   const struct letter *letter)
{
    int list[MOST_PARTIES];
    int count = listed_blocks(k, party, &round->in, list), bytes = 0;
    bool merges = is_merge(trial.schedule.kind);
    trial.received[party] += count;
    if (merges)
        REQUIRE(letter->cells[0].who == set_of(list, count), k, party,
                "is sent what others contributed than its blocks say");
    REQUIRE(merges || count == letter->count, k, party, "is sent %d blocks",
            letter->count);
    for (int i = 0; i < letter->count; i++) {
        int j = merges ? 0 : list[i];
        const struct cell *cell = &letter->cells[i];
        bytes += cell->length;
        if (round->then == JD_THEN_STORE)
            *place_of(k, party, j) = *cell;
        else
            fold(k, party, &trial.has[party][j], cell, round->then);
    }
    REQUIRE(bytes == letter->bytes, k, party, "is sent %d bytes",
            letter->bytes);
}

/* What the receiver reckons with, by its own blocks. */
static int expected_bytes(int party, const struct jd_round *round)
{
    int list[MOST_PARTIES], count = list_blocks(&round->in, list), bytes = 0;
    switch (trial.schedule.kind) {
    case JD_SCHEDULE_MERGE:
    case JD_SCHEDULE_MERGE_BY_FOURS:
        return trial.lengths[0][0];
    case JD_SCHEDULE_PAIRS:
        return trial.lengths[round->from][party];
    case JD_SCHEDULE_BRUCK:
        return count * trial.lengths[0][0];
    default:
        for (int i = 0; i < count; i++)
            bytes += trial.lengths[0][list[i]];
        return bytes;
    }
}

/* ---- rounds ---------------------------------------------------------------
 */

/* All send before anybody receives. */
static void play_round(int k)
{
    static struct letter letters[MOST_PARTIES];
    struct jd_round rounds[MOST_PARTIES];
    int n = trial.schedule.parties;
    for (int i = 0; i < n; i++) {
        struct jd_round r = rounds[i] = round_of(i, k);
        REQUIRE(r.to >= -1 && r.to < n && r.from >= -1 && r.from < n, k, i,
                "to %d, from %d", r.to, r.from);
        REQUIRE(r.to != i && r.from != i, k, i, "sends to itself");
        if (r.to >= 0)
            pack(k, i, &r.out, &letters[i]);
    }
    for (int i = 0; i < n; i++) {
        int to = rounds[i].to, from = rounds[i].from;
        REQUIRE(to < 0 || rounds[to].from == i, k, i,
                "sends to %d, which does not wait for it", to);
        REQUIRE(from < 0 || rounds[from].to == i, k, i,
                "waits for %d, which sends it nothing", from);
        if (from < 0)
            continue;
        REQUIRE(letters[from].bytes == expected_bytes(i, &rounds[i]), k, i,
                "%d bytes from %d", letters[from].bytes, from);
        unpack(k, i, &rounds[i], &letters[from]);
    }
}

/* ---- results --------------------------------------------------------------
 */

static uint64_t everybody(void)
{
    return ~(uint64_t)0 >> (64 - trial.schedule.parties);
}

/* The cell of party i that is numbered j, when all is over; without who where
 * it does not matter. */
static struct cell cell_after(int i, int j)
{
    const struct jd_schedule *s = &trial.schedule;
    int n = s->parties, from = (i - j + n) % n;
    struct cell cell = { 0, j, trial.lengths[0][j] };
    switch (s->kind) {
    case JD_SCHEDULE_MERGE:
    case JD_SCHEDULE_MERGE_BY_FOURS:
        return (struct cell){ j == 0 ? everybody() : 0, MERGED,
                              trial.lengths[0][0] };
    case JD_SCHEDULE_REDUCE_SCATTER:
        cell.who = i == j ? everybody() : 0;
        return cell;
    case JD_SCHEDULE_ALL_GATHER:
        cell.who = one << j;
        return cell;
    case JD_SCHEDULE_SCATTER:
        cell.who = i == j ? one << s->root : 0;
        return cell;
    case JD_SCHEDULE_BROADCAST:
        cell.who = one << s->root;
        return cell;
    case JD_SCHEDULE_PAIRS:
        return (struct cell){ i == j ? 0 : one << j, j * n + i,
                              trial.lengths[j][i] };
    default:
        return (struct cell){ one << from, from * n + i,
                              trial.lengths[from][i] };
    }
}

static void check_results(void)
{
    int n = trial.schedule.parties, k = jd__schedule_rounds(&trial.schedule);
    bool is_apart = trial.schedule.kind == JD_SCHEDULE_PAIRS;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            struct cell wanted = cell_after(i, j);
            struct cell *has = is_apart ? &trial.got[i][j] : &trial.has[i][j];
            if (wanted.who)
                REQUIRE(has->who == wanted.who && has->what == wanted.what &&
                            has->length == wanted.length,
                        k, i, "has the wrong block %d at the end", j);
        }
}

/* So many messages of a party at most. */
static int most_messages(void)
{
    const struct jd_schedule *s = &trial.schedule;
    int log = jd__schedule_log2(s->parties);
    if (s->kind == JD_SCHEDULE_PAIRS)
        return s->parties - 1;
    return is_merge(s->kind) ? log + 1 : log;
}

/* Each party has a part in fewer, where they are more than its messages. */
static int most_rounds(void)
{
    const struct jd_schedule *s = &trial.schedule;
    if (s->kind == JD_SCHEDULE_MERGE_BY_FOURS)
        return most_messages() + 5;
    return most_messages() + (s->kind == JD_SCHEDULE_PAIRS); /* with nobody */
}

/* How many blocks a party has to send; -1: it does not matter. */
static int exact_blocks(int party)
{
    const struct jd_schedule *s = &trial.schedule;
    switch (s->kind) {
    case JD_SCHEDULE_REDUCE_SCATTER:
    case JD_SCHEDULE_ALL_GATHER:
        return s->parties - 1;
    case JD_SCHEDULE_SCATTER: /* all but its own */
        return (party == s->root ? s->parties : trial.received[party]) - 1;
    default:
        return -1;
    }
}

static void check_counts(void)
{
    const struct jd_schedule *s = &trial.schedule;
    int most = most_messages(), rounds = jd__schedule_rounds(s);
    REQUIRE(rounds <= most_rounds(), rounds, -1, "too many rounds");
    for (int i = 0; i < s->parties; i++) {
        int exact = exact_blocks(i);
        REQUIRE(trial.messages[i] <= most, rounds, i, "sends %d messages",
                trial.messages[i]);
        REQUIRE(exact < 0 || trial.blocks[i] == exact, rounds, i,
                "sends %d blocks, not %d", trial.blocks[i], exact);
    }
}

static void play(enum jd_schedule_kind kind, int parties, int root)
{
    begin(kind, parties, root);
    int rounds = jd__schedule_rounds(&trial.schedule);
    for (int k = 0; k < rounds; k++)
        play_round(k);
    check_results();
    check_counts();
}

/* ---- the tests ------------------------------------------------------------
 */

/* Of each kind, at each T, from each root. */
START_TEST(every_party_gets_what_it_should)
{
    enum jd_schedule_kind kind = (enum jd_schedule_kind)_i;
    trial.seed = 0;
    for (int parties = 1; parties <= MOST_PARTIES; parties++)
        for (int root = 0; root < (is_tree(kind) ? parties : 1); root++)
            play(kind, parties, root);
}
END_TEST

START_TEST(blocks_of_random_lengths)
{
    const char *text = getenv("TEST_SCHEDULE_SEED");
    unsigned seed =
        text ? (unsigned)strtoul(text, NULL, 10) : (unsigned)time(NULL) | 1;
    printf("# TEST_SCHEDULE_SEED=%u\n", seed);
    fflush(stdout);
    trial.seed = seed;
    random_state = seed;
    for (int i = 0; i < RANDOM_CASES; i++) {
        int kind = draw(JD_SCHEDULE_KINDS), parties = 1 + draw(MOST_PARTIES);
        play((enum jd_schedule_kind)kind, parties, draw(parties));
    }
}
END_TEST

static int all_messages(enum jd_schedule_kind kind, int parties)
{
    int all = 0;
    play(kind, parties, 0);
    for (int i = 0; i < parties; i++)
        all += trial.messages[i];
    return all;
}

START_TEST(fours_need_about_half_the_messages)
{
    trial.seed = 0;
    for (int parties = 8; parties <= MOST_PARTIES; parties++)
        ck_assert_int_le(all_messages(JD_SCHEDULE_MERGE_BY_FOURS, parties) * 5,
                         all_messages(JD_SCHEDULE_MERGE, parties) * 4);
    ck_assert_int_eq(all_messages(JD_SCHEDULE_MERGE, 16), 64);
    ck_assert_int_eq(all_messages(JD_SCHEDULE_MERGE_BY_FOURS, 16), 32);
    ck_assert_int_eq(all_messages(JD_SCHEDULE_MERGE, 64), 384);
    ck_assert_int_eq(all_messages(JD_SCHEDULE_MERGE_BY_FOURS, 64), 160);
}
END_TEST

START_TEST(logarithms)
{
    ck_assert_int_eq(jd__schedule_log2(1), 0);
    for (int log = 1; log < 31; log++) {
        ck_assert_int_eq(jd__schedule_log2(1 << log), log);
        ck_assert_int_eq(jd__schedule_log2((1 << log) - 1), log == 1 ? 0 : log);
        ck_assert_int_eq(jd__schedule_log2((1 << (log - 1)) + 1), log);
    }
    ck_assert_int_eq(jd__schedule_log2(INT32_MAX), 31);
}
END_TEST

START_TEST(every_kind_has_a_name)
{
    for (int i = 0; i < JD_SCHEDULE_KINDS; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(jd__schedule_name((enum jd_schedule_kind)i),
                             jd__schedule_name((enum jd_schedule_kind)j));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *cases = unit_case(suite, "schedule");
    tcase_add_loop_test(cases, every_party_gets_what_it_should, 0,
                        JD_SCHEDULE_KINDS);
    tcase_add_test(cases, blocks_of_random_lengths);
    tcase_add_test(cases, fours_need_about_half_the_messages);
    tcase_add_test(cases, logarithms);
    tcase_add_test(cases, every_kind_has_a_name);
    tcase_set_timeout(cases, 120);
    return unit_main(suite);
}
