/* SPDX-License-Identifier: BSD-3-Clause */
/* schedule.c - algorithms of collectives as data. */
#include "collectives/schedule/schedule.h"

static const struct jd_round idle = { .to = -1, .from = -1 };

int jd__schedule_log2(int n)
{
    return n > 1 ? 32 - __builtin_clz((unsigned)n - 1) : 0;
}

/* The highest power of two that is no more than n. */
static int power_below(int n)
{
    return n > 1 ? 1 << (31 - __builtin_clz((unsigned)n)) : 1;
}

static int modulo(int i, int n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

/* ---- merge --------------------------------------------------------------- */

/*
 * Of the first 2 * extra parties each even one gives what it has to the next,
 * and gets the result of it at the end; the power of two that is left are
 * the core.
 */
struct core {
    int extra, size, log;
};

static struct core core_of(int parties)
{
    int size = power_below(parties);
    return (struct core){ parties - size, size, jd__schedule_log2(size) };
}

/* The party that is the core's i-th, and the first whose block it has then. */
static int core_party(const struct core *c, int i)
{
    return i < c->extra ? 2 * i + 1 : i + c->extra;
}

static int core_begin(const struct core *c, int i)
{
    return i < c->extra ? 2 * i : i + c->extra;
}

static struct jd_blocks core_blocks(const struct core *c, int first, int count)
{
    int begin = core_begin(c, first);
    return (struct jd_blocks){ begin, core_begin(c, first + count) - begin, 0 };
}

/* Doubling: those who differ in one bit exchange what they have. */
static struct jd_round exchange_round(const struct core *c, int self, int step)
{
    int i = self < 2 * c->extra ? self / 2 : self - c->extra;
    int distance = 1 << step, other = i ^ distance;
    int ours = i & ~(distance - 1), theirs = other & ~(distance - 1);
    if (self < 2 * c->extra && self % 2 == 0)
        return idle;
    return (struct jd_round){
        .to = core_party(c, other),
        .from = core_party(c, other),
        .out = core_blocks(c, ours, distance),
        .in = core_blocks(c, theirs, distance),
        .then = other < i ? JD_THEN_FOLD_BELOW : JD_THEN_FOLD_ABOVE,
    };
}

static int merge_rounds(const struct jd_schedule *s)
{
    struct core c = core_of(s->parties);
    return c.extra ? c.log + 2 : c.log;
}

static struct jd_round merge_round(const struct jd_schedule *s, int k)
{
    struct core c = core_of(s->parties);
    int self = s->self, last = c.log + 1;
    bool is_paired = self < 2 * c.extra, gives = self % 2 == 0;
    struct jd_round round = idle;
    if (!c.extra)
        return exchange_round(&c, self, k);
    if (k > 0 && k < last)
        return exchange_round(&c, self, k - 1);
    if (!is_paired)
        return idle;
    round.then = k == 0 ? JD_THEN_FOLD_BELOW : JD_THEN_STORE;
    round.in = round.out = (struct jd_blocks){ self - !gives, 1, 0 };
    if (k == last)
        round.in = round.out = (struct jd_blocks){ 0, s->parties, 0 };
    if (gives == (k == 0))
        round.to = gives ? self + 1 : self - 1;
    else
        round.from = gives ? self + 1 : self - 1;
    return round;
}

/* ---- merge by fours ------------------------------------------------------ */

#define FOUR 4

/* The merge among the first of each four. */
static struct jd_schedule firsts_of(const struct jd_schedule *s)
{
    return (struct jd_schedule){ .kind = JD_SCHEDULE_MERGE,
                                 .parties = (s->parties - 1) / FOUR + 1,
                                 .self = s->self / FOUR };
}

/* The blocks of whole fours, of which the last may have less. */
static struct jd_blocks blocks_of_fours(const struct jd_schedule *s,
                                        struct jd_blocks fours)
{
    int first = fours.first * FOUR, end = s->parties;
    if (fours.first + fours.count < (s->parties - 1) / FOUR + 1)
        end = (fours.first + fours.count) * FOUR;
    return (struct jd_blocks){ first, end - first, 0 };
}

static struct jd_round firsts_round(const struct jd_schedule *s, int k)
{
    struct jd_schedule firsts = firsts_of(s);
    struct jd_round round = idle;
    if (s->self % FOUR == 0)
        round = merge_round(&firsts, k);
    if (round.to >= 0)
        round.to *= FOUR;
    if (round.from >= 0)
        round.from *= FOUR;
    round.out = blocks_of_fours(s, round.out);
    round.in = blocks_of_fours(s, round.in);
    return round;
}

/* The i-th of each four gives its first what it has. */
static struct jd_round give_round(const struct jd_schedule *s, int i)
{
    int place = s->self % FOUR, first = s->self - place;
    struct jd_round round = idle;
    round.in = round.out = (struct jd_blocks){ first + i, 1, 0 };
    round.then = JD_THEN_FOLD_ABOVE;
    if (place == i)
        round.to = first;
    else if (place == 0 && i < s->parties - first)
        round.from = first + i;
    return round;
}

/* It gets all. */
static struct jd_round get_round(const struct jd_schedule *s, int i)
{
    struct jd_round given = give_round(s, i), round = idle;
    round.in = round.out = (struct jd_blocks){ 0, s->parties, 0 };
    round.to = given.from;
    round.from = given.to;
    return round;
}

static int rounds_by_fours(const struct jd_schedule *s)
{
    struct jd_schedule firsts = firsts_of(s);
    return FOUR - 1 + merge_rounds(&firsts) + FOUR - 1;
}

static struct jd_round fours_round(const struct jd_schedule *s, int k)
{
    struct jd_schedule firsts = firsts_of(s);
    int rounds = merge_rounds(&firsts);
    if (k < FOUR - 1)
        return give_round(s, k + 1);
    k -= FOUR - 1;
    return k < rounds ? firsts_round(s, k) : get_round(s, k - rounds + 1);
}

/* ---- reduce_scatter and all_gather --------------------------------------- */

/* How many blocks are still open after k halvings of all, each rounded up. */
static int open_blocks(int parties, int k)
{
    while (k-- > 0)
        parties = (parties + 1) / 2;
    return parties;
}

bool jd__schedule_is_power(int parties)
{
    return (parties & (parties - 1)) == 0;
}

/* Each of two that differ in one bit gets the half that it is in. */
static struct jd_round halves_round(const struct jd_schedule *s, int k)
{
    int half = s->parties >> (k + 1), other = s->self ^ half;
    return (struct jd_round){
        .to = other,
        .from = other,
        .out = { other & ~(half - 1), half, 0 },
        .in = { s->self & ~(half - 1), half, 0 },
        .then = JD_THEN_FOLD_ABOVE,
    };
}

/* The blocks from half on go to the party so far ahead, whose first ones they
 * are. */
static struct jd_round ahead_round(const struct jd_schedule *s, int k)
{
    int open = open_blocks(s->parties, k), half = (open + 1) / 2;
    int ahead = modulo(s->self + half, s->parties);
    return (struct jd_round){
        .to = ahead,
        .from = modulo(s->self - half, s->parties),
        .out = { ahead, open - half, 0 },
        .in = { s->self, open - half, 0 },
        .then = JD_THEN_FOLD_ABOVE,
    };
}

static struct jd_round halving_round(const struct jd_schedule *s, int k)
{
    return jd__schedule_is_power(s->parties) ? halves_round(s, k)
                                             : ahead_round(s, k);
}

/* The same backwards: each message goes the other way. */
static struct jd_round double_up(const struct jd_schedule *s, int k)
{
    struct jd_round there =
        halving_round(s, jd__schedule_log2(s->parties) - 1 - k);
    return (struct jd_round){
        .to = there.from,
        .from = there.to,
        .out = there.in,
        .in = there.out,
        .then = JD_THEN_STORE,
    };
}

/* ---- trees ----------------------------------------------------------------
 */

/* Round k of a binomial tree over relative numbers: those whose lowest bit is
 * `distance` get from the one below, and hand on to those above. */
static struct jd_round tree_round(const struct jd_schedule *s, int k,
                                  bool scatters)
{
    int n = s->parties, at = modulo(s->self - s->root, n);
    int distance = 1 << (jd__schedule_log2(n) - 1 - k);
    bool gives = at % (2 * distance) == 0 && at + distance < n;
    bool gets = at % (2 * distance) == distance;
    int first = gives ? at + distance : at;
    int count = n - first < distance ? n - first : distance;
    struct jd_round round = idle;
    round.out = round.in =
        (struct jd_blocks){ modulo(first + s->root, n), count, 0 };
    if (!scatters)
        round.out = round.in = (struct jd_blocks){ 0, n, 0 };
    if (gives)
        round.to = modulo(s->self + distance, n);
    if (gets)
        round.from = modulo(s->self - distance, n);
    return round;
}

/* ---- each with each -------------------------------------------------------
 */

/* Those whose numbers add up to the round's are a pair. */
static struct jd_round pair_round(const struct jd_schedule *s, int k)
{
    int other = modulo(k - s->self, s->parties);
    if (other == s->self)
        return idle;
    return (struct jd_round){ .to = other,
                              .from = other,
                              .out = { other, 1, 0 },
                              .in = { other, 1, 0 } };
}

static struct jd_round bruck_round(const struct jd_schedule *s, int k)
{
    struct jd_blocks blocks = { 0, s->parties, 1 << k };
    return (struct jd_round){
        .to = modulo(s->self + (1 << k), s->parties),
        .from = modulo(s->self - (1 << k), s->parties),
        .out = blocks,
        .in = blocks,
    };
}

/* ---- all of them ----------------------------------------------------------
 */

int jd__schedule_rounds(const struct jd_schedule *s)
{
    switch (s->kind) {
    case JD_SCHEDULE_MERGE:
        return merge_rounds(s);
    case JD_SCHEDULE_MERGE_BY_FOURS:
        return rounds_by_fours(s);
    case JD_SCHEDULE_PAIRS:
        return s->parties;
    default:
        return jd__schedule_log2(s->parties);
    }
}

struct jd_round jd__schedule_round(const struct jd_schedule *s, int k)
{
    switch (s->kind) {
    case JD_SCHEDULE_MERGE:
        return merge_round(s, k);
    case JD_SCHEDULE_MERGE_BY_FOURS:
        return fours_round(s, k);
    case JD_SCHEDULE_REDUCE_SCATTER:
        return halving_round(s, k);
    case JD_SCHEDULE_ALL_GATHER:
        return double_up(s, k);
    case JD_SCHEDULE_SCATTER:
    case JD_SCHEDULE_BROADCAST:
        return tree_round(s, k, s->kind == JD_SCHEDULE_SCATTER);
    case JD_SCHEDULE_PAIRS:
        return pair_round(s, k);
    default:
        return bruck_round(s, k);
    }
}

int jd__schedule_origin(const struct jd_schedule *s)
{
    switch (s->kind) {
    case JD_SCHEDULE_REDUCE_SCATTER:
    case JD_SCHEDULE_ALL_GATHER:
        return jd__schedule_is_power(s->parties) ? 0 : s->self;
    case JD_SCHEDULE_SCATTER:
        return s->root;
    default:
        return 0;
    }
}

int jd__schedule_count(const struct jd_blocks *blocks)
{
    int bit = blocks->bit, count = blocks->count;
    if (!bit)
        return count;
    int rest = count % (2 * bit) - bit;
    return count / (2 * bit) * bit + (rest > 0 ? rest : 0);
}

const char *jd__schedule_name(enum jd_schedule_kind kind)
{
    static const char *const names[JD_SCHEDULE_KINDS] = {
        [JD_SCHEDULE_MERGE] = "merge",
        [JD_SCHEDULE_MERGE_BY_FOURS] = "merge by fours",
        [JD_SCHEDULE_REDUCE_SCATTER] = "reduce_scatter",
        [JD_SCHEDULE_ALL_GATHER] = "all_gather",
        [JD_SCHEDULE_SCATTER] = "scatter",
        [JD_SCHEDULE_BROADCAST] = "broadcast",
        [JD_SCHEDULE_PAIRS] = "pairs",
        [JD_SCHEDULE_BRUCK] = "bruck",
    };
    return names[kind];
}
