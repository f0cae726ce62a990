/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_check.c - the members of a communicator-to-be find each other. */
#include "collectives/cpu/comm_check.h"
#include "collectives/cpu/reach.h"
#include "runtime/mpi/lock.h"

#include <string.h>

/* To the lowest. From it, where beliefs differ: two processes and what they
 * believe; processes, as members who disagree may be numbered differently. */
struct hello {
    int32_t odd, other; /* or a negative number of those below */
    struct jd_comm_desc desc;
    struct jd_comm_desc other_belief;
};

enum {
    ALL_AGREE = -1,
    NOT_YET = -2, /* a row follows: the processes that have not come */
};

struct comparison {
    struct jd_channel *channel;
    int num_processes;    /* of the job */
    struct hello *hellos; /* of each member */
    struct hello *answer;
    struct hello *news; /* while the lowest waits */
    size_t news_bytes;  /* with the row */
    MPI_Request *sends; /* of the news, to each member */
    int *processes;     /* of each member */
    int *told;    /* to each member: how many had not come; 0: nothing yet */
    int *missing; /* by the lowest's news */
};

static unsigned char *row_of(struct hello *news)
{
    return (unsigned char *)(news + 1);
}

static int lowest_member(const struct jd_channel *channel)
{
    int lowest = 0;
    for (int i = 1; i < jd__channel_size(channel); i++)
        if (jd__channel_process(channel, i) <
            jd__channel_process(channel, lowest))
            lowest = i;
    return lowest;
}

static bool differs(const struct hello *a, const struct hello *b)
{
    return a->desc.digest != b->desc.digest;
}

/* Writes two that differ into the answer: who agrees with the lowest is right
 * unless nobody does. */
static void compare(const struct jd_channel *channel,
                    const struct hello *hellos, struct hello *answer)
{
    int size = jd__channel_size(channel), lowest = jd__channel_index(channel);
    int differing = 0, odd = -1, other = lowest;
    for (int i = 0; i < size; i++)
        if (differs(&hellos[i], &hellos[lowest]) && differing++ == 0)
            odd = i;
    if (differing == size - 1 && size > 2) {
        other = odd;
        odd = lowest;
    }
    answer->odd = ALL_AGREE;
    if (differing) {
        answer->odd = jd__channel_process(channel, odd);
        answer->other = jd__channel_process(channel, other);
        answer->desc = hellos[odd].desc;
        answer->other_belief = hellos[other].desc;
    }
}

/* ---- who has not come ---------------------------------------------------- */

/*
 * Only the lowest knows who has not come. Where it waits for long, it tells
 * those who wait for its answer, so that they name the same processes: one
 * message to each whenever somebody has come since the last. None where all
 * come soon.
 */
static bool are_sent(struct comparison *c)
{
    int done = 0;
    jd__mpi_lock();
    int code = MPI_Testall(jd__channel_size(c->channel), c->sends, &done,
                           MPI_STATUSES_IGNORE);
    jd__mpi_unlock();
    return code == MPI_SUCCESS && done;
}

static void tell_missing(void *arg, const int *missing, int count)
{
    struct comparison *c = arg;
    if (!are_sent(c)) /* MPI may still read the last */
        return;
    c->news->odd = NOT_YET;
    c->news->desc = c->hellos[jd__channel_index(c->channel)].desc;
    memset(row_of(c->news), 0, jd__reach_bytes(c->num_processes));
    for (int i = 0; i < count; i++)
        jd__reach_add(row_of(c->news), missing[i]);
    for (int i = 0; i < jd__channel_size(c->channel); i++) {
        bool waits = !jd__reach_has(row_of(c->news), c->num_processes, 0,
                                    c->processes[i]);
        if (i == jd__channel_index(c->channel) || !waits || c->told[i] == count)
            continue;
        if (jd__channel_start_send(c->channel, i, c->news, c->news_bytes,
                                   &c->sends[i]) == JD_OK)
            c->told[i] = count;
    }
}

/* One left over from the handshake of another mesh is none of this one's. */
static void read_missing(struct comparison *c)
{
    struct jd_wait *wait = jd__channel_next_wait(c->channel);
    const struct jd_comm_desc *own =
        &c->hellos[jd__channel_index(c->channel)].desc;
    if (c->news->desc.digest != own->digest)
        return;
    wait->behind = c->missing;
    wait->num_behind = 0;
    for (int i = 0; i < c->num_processes; i++)
        if (i != wait->self &&
            wait->num_behind < jd__channel_size(c->channel) &&
            jd__reach_has(row_of(c->news), c->num_processes, 0, i))
            c->missing[wait->num_behind++] = i;
}

/* ---- messages ------------------------------------------------------------ */

static jd_status hear_all(struct comparison *c)
{
    struct jd_wait *wait = jd__channel_next_wait(c->channel);
    int size = jd__channel_size(c->channel),
        index = jd__channel_index(c->channel);
    jd_status status = JD_OK;
    for (int i = 0; i < size && status == JD_OK; i++)
        if (i != index)
            status = jd__channel_receive(c->channel, i, &c->hellos[i],
                                         sizeof *c->hellos);
    wait->on_missing = tell_missing;
    wait->arg = c;
    if (status == JD_OK)
        status = jd__channel_wait(c->channel);
    wait->on_missing = NULL;
    return status;
}

static jd_status answer_all(struct comparison *c)
{
    int size = jd__channel_size(c->channel),
        index = jd__channel_index(c->channel);
    jd_status status = hear_all(c);
    if (status != JD_OK)
        return status;
    compare(c->channel, c->hellos, c->answer);
    for (int i = 0; i < size && status == JD_OK; i++)
        if (i != index)
            status =
                jd__channel_send(c->channel, i, c->answer, sizeof *c->answer);
    if (status == JD_OK)
        status = jd__channel_wait(c->channel);
    return status == JD_OK && !are_sent(c)
               ? jd__channel_wait_for(c->channel, c->sends, c->processes, size)
               : status;
}

static jd_status ask(struct comparison *c, int lowest)
{
    const struct hello *hello = &c->hellos[jd__channel_index(c->channel)];
    jd_status status =
        jd__channel_send(c->channel, lowest, hello, sizeof *hello);
    while (status == JD_OK) {
        status =
            jd__channel_receive(c->channel, lowest, c->news, c->news_bytes);
        if (status == JD_OK)
            status = jd__channel_wait(c->channel);
        if (status != JD_OK || c->news->odd != NOT_YET)
            break;
        read_missing(c);
    }
    jd__channel_next_wait(c->channel)->num_behind = 0;
    *c->answer = *c->news;
    return status;
}

static jd_status read_answer(struct jd_channel *channel,
                             const struct hello *answer)
{
    int most = (int)sizeof answer->desc.text; /* it came by MPI */
    if (answer->odd < 0)
        return JD_OK;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s: process %d comes with a mesh %.*s, process %d with a mesh %.*s; "
        "all processes of a mesh must make it of the same devices in the same "
        "order, with the same axes, and use their meshes in the same order",
        jd__channel_operation(channel), answer->odd, most, answer->desc.text,
        answer->other, most, answer->other_belief.text);
}

/* The memory, all of it the group's, as messages may outlive a failure. */
static jd_status lay_out(struct comparison *c, struct jd_channel *channel)
{
    size_t size = (size_t)jd__channel_size(channel),
           numbers = size * sizeof(int);
    int processes = jd__channel_runtime(channel)->topology->num_processes;
    size_t row = (jd__reach_bytes(processes) + 7) / 8 * 8;
    size_t hellos = size * sizeof *c->hellos, sends = size * sizeof *c->sends;
    size_t bytes = hellos + 2 * sizeof *c->answer + row + sends + 3 * numbers;
    char *at = jd__channel_scratch(channel, bytes);
    if (!at)
        return jd__fail_no_memory(jd__channel_operation(channel), bytes);
    memset(at, 0, bytes);
    c->channel = channel;
    c->num_processes = processes;
    c->news_bytes = sizeof *c->news + row;
    c->hellos = (void *)at;
    c->answer = (void *)(at += hellos);
    c->news = (void *)(at += sizeof *c->answer);
    c->sends = (void *)(at += c->news_bytes);
    c->processes = (void *)(at += sends);
    c->told = (void *)(at += numbers);
    c->missing = (void *)(at + numbers);
    for (size_t i = 0; i < size; i++) {
        c->sends[i] = MPI_REQUEST_NULL;
        c->processes[i] = jd__channel_process(channel, (int)i);
    }
    return JD_OK;
}

jd_status jd__comm_check_compare(struct jd_channel *channel,
                                 const struct jd_comm_desc *desc)
{
    struct comparison c;
    int index = jd__channel_index(channel), lowest = lowest_member(channel);
    if (jd__channel_size(channel) == 1)
        return JD_OK;
    jd_status status = lay_out(&c, channel);
    if (status != JD_OK)
        return status;
    c.hellos[index].desc = *desc;
    status = index == lowest ? answer_all(&c) : ask(&c, lowest);
    return status == JD_OK ? read_answer(channel, c.answer) : status;
}
