/* SPDX-License-Identifier: BSD-3-Clause */
/* last_calls.c - the rings of a host, compared. */
#include "runtime/recorder/last_calls.h"
#include "base/clock.h"
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/recorder/lines.h"
#include "runtime/recorder/recorder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMMS = 256 }; /* those beyond are not looked at */

/* A process of the host. */
struct process {
    const struct jd_ring *ring;
    struct jd_ring_call last; /* number 0: none */
    char *doing;              /* in words; NULL: not looked for yet */
};

/* A communicator, by the one of its members that has made the most calls. */
struct comm {
    const struct jd_ring_comm *most;
    uint64_t id, calls, least;
    int inside, members; /* of this host */
};

struct calls_view {
    struct process *processes;
    int count;
    struct comm comms[MAX_COMMS];
    int num_comms;
    double until;
};

/* ---- what there is ------------------------------------------------------ */

/* What a call has failed of is what its process ends of. */
static bool is_inside(const struct process *process, uint64_t comm)
{
    const struct jd_ring_call *last = &process->last;
    return last->number && last->comm == comm &&
           (last->state != JD_CALL_DONE || last->status != JD_OK);
}

static struct comm *find_comm(struct calls_view *view, uint64_t id)
{
    int i = 0;
    while (i < view->num_comms && view->comms[i].id != id)
        i++;
    if (i == MAX_COMMS)
        return NULL;
    if (i == view->num_comms)
        view->comms[view->num_comms++] =
            (struct comm){ .id = id, .least = UINT64_MAX };
    return &view->comms[i];
}

/* Those that all members make: of more than two, sends and receives are some's
 * alone. */
static uint64_t shared_calls(const struct jd_ring_comm *member)
{
    return member->size > 2 ? jd__ring_collectives(member)
                            : atomic_load(&member->calls);
}

static void add_member(struct calls_view *view, const struct process *process,
                       const struct jd_ring_comm *member)
{
    uint64_t id = atomic_load(&member->id);
    uint64_t calls = shared_calls(member);
    struct comm *comm = id ? find_comm(view, id) : NULL;
    if (!comm)
        return;
    if (!comm->most || calls > comm->calls) {
        comm->most = member;
        comm->calls = calls;
    }
    if (calls < comm->least)
        comm->least = calls;
    comm->members++;
    comm->inside += is_inside(process, id);
}

static void add_process(struct calls_view *view, const struct jd_ring *ring)
{
    struct process *process = &view->processes[view->count];
    if (!jd__ring_is_valid(ring) || atomic_load(&ring->process) < 0)
        return;
    process->ring = ring;
    jd__ring_read(ring, jd__ring_last(ring), &process->last);
    for (int i = 0; i < JD_RING_COMMS; i++)
        add_member(view, process, &ring->comms[i]);
    view->count++;
}

/* False where there is nothing to read, or no memory. */
static bool read_rings(struct calls_view *view)
{
    struct jd_host_rings rings = jd__recorder_host_rings();
    view->until = jd__clock_now() + jd__lines_timeout() / 2;
    view->processes = rings.count > 0
                          ? calloc((size_t)rings.count, sizeof *view->processes)
                          : NULL;
    for (int i = 0; view->processes && i < rings.count; i++)
        add_process(view, &rings.rings[i]);
    return view->processes;
}

/* ---- a line ------------------------------------------------------------- */

/* It has made no call there: as a member that is late, or no member. */
#define NO_CALL UINT64_MAX

/* A process as a member of the communicator in hand. */
struct comm_member {
    int process;
    uint64_t behind; /* calls, or NO_CALL */
    const char *doing;
};

static const char *doing_of(const struct calls_view *view,
                            struct process *process)
{
    int index = atomic_load(&process->ring->process);
    if (!process->doing && jd__clock_now() < view->until)
        process->doing = jd__recorder_last_call(index);
    return process->doing ? process->doing : "was not looked at in time";
}

/* Those who do the same stand together, those who are ahead first. */
static int compare_members(const void *a, const void *b)
{
    const struct comm_member *left = a, *right = b;
    if (left->behind != right->behind)
        return left->behind < right->behind ? -1 : 1;
    int order = strcmp(left->doing, right->doing);
    return order ? order
                 : (left->process > right->process) -
                       (left->process < right->process);
}

static bool lacks_members(const struct comm *comm)
{
    return comm->members < comm->most->size;
}

/* Adds the process as each of the members that it is; where some have made no
 * call that is seen here, and it is none, as one who has not. Returns how many
 * were added, at most room. */
static int add_members(const struct calls_view *view, struct process *process,
                       const struct comm *comm, struct comm_member *members,
                       int room)
{
    int count = 0;
    struct comm_member member = {
        .process = atomic_load(&process->ring->process),
        .behind = NO_CALL,
    };
    for (int i = 0; i < JD_RING_COMMS && count < room; i++)
        if (atomic_load(&process->ring->comms[i].id) == comm->id) {
            member.behind =
                comm->calls - shared_calls(&process->ring->comms[i]);
            members[count++] = member;
        }
    if (!count && room && lacks_members(comm))
        members[count++] = member;
    for (int i = 0; i < count; i++)
        members[i].doing = doing_of(view, process);
    return count;
}

/* Sorted. */
static int list_members(const struct calls_view *view, const struct comm *comm,
                        struct comm_member *members, int room)
{
    int count = 0;
    for (int i = 0; i < view->count; i++)
        count += add_members(view, &view->processes[i], comm, members + count,
                             room - count);
    qsort(members, (size_t)count, sizeof *members, compare_members);
    return count;
}

/* Prints the members that are alike the first; returns how many. */
static int print_alike(FILE *out, const struct comm_member *members, int count,
                       int *processes)
{
    int alike = 0;
    while (alike < count && members[alike].behind == members->behind &&
           strcmp(members[alike].doing, members->doing) == 0) {
        processes[alike] = members[alike].process;
        alike++;
    }
    int num_processes = jd__ranges_sort(processes, alike);
    jd__ranges_print_processes(out, processes, num_processes);
    if (members->behind == NO_CALL)
        fputs(", no call there", out);
    else if (members->behind)
        fprintf(out, ", %" PRIu64 " call%s behind", members->behind,
                jd__text_s((int64_t)members->behind));
    fprintf(out, ": %s%s", num_processes > 1 ? "each " : "", members->doing);
    return alike;
}

static void print_members(FILE *out, struct calls_view *view,
                          const struct comm *comm)
{
    int room = comm->members + view->count;
    struct comm_member *members = calloc((size_t)room, sizeof *members);
    int *processes = calloc((size_t)room, sizeof *processes);
    int count =
        members && processes ? list_members(view, comm, members, room) : 0;
    for (int i = 0; i < count;) {
        fputs(i ? "; " : "", out);
        i += print_alike(out, &members[i], count - i, processes);
    }
    free(members);
    free(processes);
}

static char *describe_comm(struct calls_view *view, const struct comm *comm)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    fprintf(out, "%.99s", comm->most->text);
    if (lacks_members(comm))
        fprintf(out, " (calls of %d of its %d members are seen on this host)",
                comm->members, (int)comm->most->size);
    fputs(": ", out);
    print_members(out, view, comm);
    return jd__text_end(&text);
}

static char *describe_rest(int count)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (out)
        fprintf(out,
                "and %d more communicators; JD_TRACE_DIR and jd-trace show all",
                count);
    return jd__text_end(&text);
}

/* ---- all of them -------------------------------------------------------- */

static int compare_comms(const void *a, const void *b)
{
    const struct comm *left = a, *right = b;
    return right->inside - left->inside;
}

/* Those of which there is nothing to say go. */
static void keep_uneven(struct calls_view *view)
{
    int kept = 0;
    for (int i = 0; i < view->num_comms; i++) {
        const struct comm *comm = &view->comms[i];
        if (comm->inside || comm->calls != comm->least)
            view->comms[kept++] = *comm;
    }
    view->num_comms = kept;
    qsort(view->comms, (size_t)kept, sizeof *view->comms, compare_comms);
}

static void add_line(struct jd_last_calls *calls, char *line)
{
    if (line)
        calls->lines[calls->count++] = line;
}

static void describe_all(struct calls_view *view, struct jd_last_calls *calls)
{
    int all = view->num_comms;
    int lines = all > JD_LAST_CALLS_LINES ? JD_LAST_CALLS_LINES - 1 : all;
    for (int i = 0; i < lines; i++)
        add_line(calls, describe_comm(view, &view->comms[i]));
    if (lines < all)
        add_line(calls, describe_rest(all - lines));
}

static void free_view(struct calls_view *view)
{
    for (int i = 0; i < view->count; i++)
        free(view->processes[i].doing);
    free(view->processes);
    free(view);
}

void jd__last_calls_look(struct jd_last_calls *ret_calls)
{
    struct calls_view *view = calloc(1, sizeof *view);
    *ret_calls = (struct jd_last_calls){ .count = 0 };
    if (view && read_rings(view)) {
        keep_uneven(view);
        describe_all(view, ret_calls);
    }
    if (view)
        free_view(view);
}

void jd__last_calls_free(struct jd_last_calls *calls)
{
    for (int i = 0; i < calls->count; i++)
        free(calls->lines[i]);
    calls->count = 0;
}
