/* SPDX-License-Identifier: BSD-3-Clause */
/* simulator.c - what a collective would do among many parties. */
#include "bench/scale/simulator.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- turns ----------------------------------------------------------------
 */

/* A task's place among those under way. */
struct slot {
    int task, round; /* task -1: none */
};

/* One turn: the wait for what the turn `depth` before it has posted, and the
 * next post of the place. round -1: there is none. */
struct turn {
    int place; /* among those under way */
    struct slot wait, post;
    bool begins, ends; /* a task */
};

struct turns {
    const struct scale_pass *pass;
    struct slot *slots;
    int next_task, next_slot, open;
};

static const struct slot nothing = { -1, -1 };

static bool begin_turns(const struct scale_pass *pass, struct turns *turns)
{
    *turns = (struct turns){ .pass = pass };
    turns->slots = malloc((size_t)pass->depth * sizeof *turns->slots);
    for (int i = 0; turns->slots && i < pass->depth; i++)
        turns->slots[i] = nothing;
    return turns->slots;
}

/* What stands in the slot after its wait: the task's next round, or the next
 * task. */
static void move_on(struct turns *turns, struct slot *slot, struct turn *turn)
{
    if (slot->task >= 0 && ++slot->round < turns->pass->rounds)
        return;
    turn->ends = slot->task >= 0;
    turns->open -= turn->ends;
    *slot = nothing;
    if (turns->next_task == turns->pass->tasks)
        return;
    *slot = (struct slot){ turns->next_task++, 0 };
    turn->begins = true;
    turns->open++;
}

/* False when all is over. */
static bool next_turn(struct turns *turns, struct turn *turn)
{
    const struct scale_pass *pass = turns->pass;
    struct slot *slot = &turns->slots[turns->next_slot];
    if ((turns->open == 0 && turns->next_task == pass->tasks) ||
        pass->rounds == 0)
        return false;
    *turn = (struct turn){ .place = turns->next_slot, .wait = *slot };
    move_on(turns, slot, turn);
    turn->post = *slot;
    turns->next_slot = (turns->next_slot + 1) % pass->depth;
    return true;
}

/* ---- who waits for whom ---------------------------------------------------
 */

struct matching {
    const struct scale_pass *pass;
    struct turn *turns;
    long long count;
    long long *done; /* turns, of each party */
};

static struct scale_step step_of(const struct scale_pass *pass,
                                 const struct slot *slot, int party)
{
    return pass->step(pass->arg, slot->task, slot->round, party);
}

/* Whether the other has come to the post that a wait is for. */
static bool has_posted(const struct matching *m, long long wait, int other)
{
    return m->done[other] > wait - m->pass->depth;
}

static bool is_party(const struct matching *m, int party, int other)
{
    return other >= 0 && other < m->pass->parties && other != party;
}

/* Whom a party waits for in vain; -1: nobody. */
static int missing(const struct matching *m, int party, long long wait)
{
    const struct slot *slot = &m->turns[wait].wait;
    struct scale_step ours = step_of(m->pass, slot, party), theirs;
    if (ours.from != -1) {
        if (!is_party(m, party, ours.from) || !has_posted(m, wait, ours.from))
            return ours.from;
        theirs = step_of(m->pass, slot, ours.from);
        if (theirs.to != party || theirs.out != ours.in)
            return ours.from;
    }
    if (ours.to != -1) {
        if (!is_party(m, party, ours.to) || !has_posted(m, wait, ours.to))
            return ours.to;
        theirs = step_of(m->pass, slot, ours.to);
        if (theirs.from != party || theirs.in != ours.out)
            return ours.to;
    }
    return -1;
}

/* As far as the party comes; whether it came on. */
static bool advance(struct matching *m, int party)
{
    long long begin = m->done[party], *done = &m->done[party];
    while (*done < m->count &&
           (m->turns[*done].wait.task < 0 || missing(m, party, *done) == -1))
        ++*done;
    return *done > begin;
}

static bool complain(const struct matching *m, char *complaint)
{
    for (int i = 0; i < m->pass->parties; i++) {
        if (m->done[i] == m->count)
            continue;
        const struct slot *slot = &m->turns[m->done[i]].wait;
        struct scale_step step = step_of(m->pass, slot, i);
        snprintf(complaint, SCALE_COMPLAINT,
                 "party %d of %d waits in task %d, round %d: to %d (%.0f "
                 "bytes), from %d (%.0f bytes); for %d in vain",
                 i, m->pass->parties, slot->task, slot->round, step.to,
                 step.out, step.from, step.in, missing(m, i, m->done[i]));
        return false;
    }
    return true;
}

/* All turns of a pass, malloc'ed. */
static bool list_turns(struct matching *m)
{
    const struct scale_pass *pass = m->pass;
    size_t depth = (size_t)pass->depth;
    size_t most = ((size_t)pass->tasks + depth) * (size_t)pass->rounds + depth;
    struct turns turns;
    m->turns = malloc(most * sizeof *m->turns);
    bool ok = begin_turns(pass, &turns) && m->turns;
    while (ok && next_turn(&turns, &m->turns[m->count]))
        m->count++;
    free(turns.slots);
    return ok;
}

bool simulator_match(const struct scale_pass *pass,
                     char complaint[SCALE_COMPLAINT])
{
    struct matching m = { .pass = pass };
    bool moved = true, ok = false;
    m.done = calloc((size_t)pass->parties, sizeof *m.done);
    snprintf(complaint, SCALE_COMPLAINT, "there is no memory");
    if (list_turns(&m) && m.done) {
        while (moved) {
            moved = false;
            for (int i = 0; i < pass->parties; i++)
                moved |= advance(&m, i);
        }
        ok = complain(&m, complaint);
    }
    free(m.turns);
    free(m.done);
    return ok;
}

/* ---- clocks ---------------------------------------------------------------
 */

struct party {
    double processor, out, in; /* when each is free */
    double messages, bytes;
};

/* Of what a party has posted in a slot. */
struct posted {
    double arrival, sent;
};

struct running {
    const struct scale_pass *pass;
    const struct scale_network *network;
    int parties; /* that have clocks: 1 where all are alike */
    struct party *party;
    struct posted *posted; /* slot by slot */
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

static void post(struct running *r, const struct slot *slot, int i,
                 struct posted *posted)
{
    const struct scale_network *network = r->network;
    struct scale_step step = step_of(r->pass, slot, i);
    struct party *party = &r->party[i];
    if (step.to < 0)
        return;
    int to = r->pass->is_alike ? 0 : step.to;
    double seconds = step.out / network->bandwidth;
    party->processor += network->overhead;
    double start = later(party->processor, party->out);
    party->out = start + seconds;
    r->party[to].in =
        later(start + network->latency, r->party[to].in) + seconds;
    posted[i].sent = party->out;
    posted[to].arrival = r->party[to].in;
    party->messages++;
    party->bytes += step.out;
}

static void receive(struct running *r, const struct slot *slot, int i,
                    const struct posted *posted)
{
    const struct scale_network *network = r->network;
    struct scale_step step = step_of(r->pass, slot, i);
    double *clock = &r->party[i].processor;
    if (step.to >= 0)
        *clock = later(*clock, posted[i].sent);
    if (step.from >= 0)
        *clock = later(*clock, posted[i].arrival) + network->overhead +
                 step.folded / network->fold + step.copied / network->copy;
}

/* All parties' turn. */
static void take_turn(struct running *r, const struct turn *turn)
{
    const struct scale_pass *pass = r->pass;
    struct posted *posted =
        r->posted + (size_t)turn->place * (size_t)r->parties;
    for (int i = 0; i < r->parties; i++) {
        if (turn->wait.task >= 0)
            receive(r, &turn->wait, i, posted);
        r->party[i].processor +=
            (turn->ends ? pass->after : 0) + (turn->begins ? pass->before : 0);
    }
    for (int i = 0; i < r->parties && turn->post.task >= 0; i++)
        post(r, &turn->post, i, posted);
}

/* The last party's clock; counts, the busiest one's. */
static double read_clocks(const struct running *r, struct scale_counts *counts)
{
    double last = 0;
    struct scale_counts most = { 0, 0 };
    for (int i = 0; i < r->parties; i++) {
        last = later(last, r->party[i].processor);
        most.messages = later(most.messages, r->party[i].messages);
        most.bytes = later(most.bytes, r->party[i].bytes);
    }
    counts->messages += most.messages;
    counts->bytes += most.bytes;
    return last;
}

double simulator_run(const struct scale_pass *pass,
                     const struct scale_network *network,
                     struct scale_counts *counts)
{
    struct running r = { .pass = pass, .network = network };
    struct turns turns;
    struct turn turn;
    double last = -1;
    r.parties = pass->is_alike ? 1 : pass->parties;
    r.party = calloc((size_t)r.parties, sizeof *r.party);
    r.posted =
        calloc((size_t)r.parties * (size_t)pass->depth, sizeof *r.posted);
    if (begin_turns(pass, &turns) && r.party && r.posted) {
        while (next_turn(&turns, &turn))
            take_turn(&r, &turn);
        last = read_clocks(&r, counts);
    }
    free(turns.slots);
    free(r.party);
    free(r.posted);
    return last;
}
