/* SPDX-License-Identifier: BSD-3-Clause */
/* simulator.c - what a collective would do among many parties. */
#include "bench/scale/simulator.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- turns ----------------------------------------------------------------
 */

/* A task, and which of its rounds is under way. */
struct slot {
    int task, round; /* task -1: none */
};

/* One turn: the wait for what was posted in another one, and the next post of
 * the place. */
struct turn {
    int place; /* among those under way */
    struct slot wait, post;
    long long posted;  /* the turn that posted what is waited for */
    bool begins, ends; /* a task */
};

struct place {
    struct slot slot;
    long long posted;
};

struct turns {
    const struct scale_pass *pass;
    struct place *places;
    int next_task, next_place, open;
    long long count;
    int time, step, piece; /* of those with a lag */
};

static const struct slot nothing = { -1, -1 };

static bool begin_turns(const struct scale_pass *pass, struct turns *turns)
{
    *turns = (struct turns){ .pass = pass };
    turns->places = calloc((size_t)pass->depth, sizeof *turns->places);
    for (int i = 0; turns->places && i < pass->depth; i++)
        turns->places[i].slot = nothing;
    return turns->places;
}

/* The task's next round; behind the last, nothing. */
static void go_on(struct turns *turns, struct place *place, struct turn *turn)
{
    turn->wait = place->slot;
    turn->posted = place->posted;
    if (place->slot.task < 0 || ++place->slot.round < turns->pass->rounds)
        return;
    turn->ends = true;
    turns->open--;
    place->slot = nothing;
}

static void begin_task(struct turns *turns, struct place *place,
                       struct turn *turn)
{
    place->slot = (struct slot){ turns->next_task++, 0 };
    turn->begins = true;
    turns->open++;
}

static void end_turn(struct turns *turns, struct place *place,
                     struct turn *turn)
{
    turn->place = (int)(place - turns->places);
    turn->post = place->slot;
    place->posted = turns->count++;
}

/* Round and round among the places, where a task follows another. */
static bool next_in_places(struct turns *turns, struct turn *turn)
{
    const struct scale_pass *pass = turns->pass;
    struct place *place = &turns->places[turns->next_place];
    if (turns->open == 0 && turns->next_task == pass->tasks)
        return false;
    *turn = (struct turn){ .begins = false };
    go_on(turns, place, turn);
    if (place->slot.task < 0 && turns->next_task < pass->tasks)
        begin_task(turns, place, turn);
    end_turn(turns, place, turn);
    turns->next_place = (turns->next_place + 1) % pass->depth;
    return true;
}

/* The next piece of this time and step that has something to do; -1: none. */
static int piece_to_go_on(struct turns *turns)
{
    const struct scale_pass *pass = turns->pass;
    int steps = (pass->rounds + pass->lag - 1) / pass->lag;
    int first = turns->time > pass->lag ? turns->time - pass->lag : 0;
    int end = turns->time < pass->tasks ? turns->time : pass->tasks;
    for (; turns->step <= steps; turns->step++, turns->piece = 0) {
        if (turns->piece < first)
            turns->piece = first;
        while (turns->piece < end) {
            int piece = turns->piece++;
            if (turns->places[piece % pass->depth].slot.task == piece)
                return piece;
        }
    }
    return -1;
}

/* One begins, then all that had begun go on by some rounds. */
static bool next_of_pieces(struct turns *turns, struct turn *turn)
{
    const struct scale_pass *pass = turns->pass;
    *turn = (struct turn){ .wait = nothing };
    for (; turns->time < pass->tasks + pass->lag; turns->time++) {
        struct place *place = &turns->places[turns->time % pass->depth];
        bool begins = turns->step == 0 && turns->time < pass->tasks;
        turns->step += turns->step == 0;
        int piece = begins ? -1 : piece_to_go_on(turns);
        if (begins) {
            begin_task(turns, place, turn);
        } else if (piece >= 0) {
            place = &turns->places[piece % pass->depth];
            go_on(turns, place, turn);
        }
        if (begins || piece >= 0) {
            end_turn(turns, place, turn);
            return true;
        }
        turns->step = turns->piece = 0;
    }
    return false;
}

/* False when all is over. */
static bool next_turn(struct turns *turns, struct turn *turn)
{
    if (turns->pass->rounds == 0)
        return false;
    return turns->pass->lag ? next_of_pieces(turns, turn)
                            : next_in_places(turns, turn);
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
    return m->done[other] > m->turns[wait].posted;
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
    free(turns.places);
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
    free(turns.places);
    free(r.party);
    free(r.posted);
    return last;
}
