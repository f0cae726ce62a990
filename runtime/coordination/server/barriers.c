/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * barriers.c - named meetings of all processes or of some. A barrier exists
 * while somebody waits at it; the next that comes after it has passed, or
 * after all have given up, begins a new one of that name.
 */
#include "base/key_text.h"
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MISMATCHES 64 /* that are kept for those who have not come */

struct barrier {
    ProtobufCBinaryData name, label; /* behind the struct, as the list */
    int *participants;               /* sorted; NULL: all */
    int count;
    struct jd_queue queue;
    bool *gave_up; /* for each process: its time was up; NULL: none's */
};

/* A barrier that failed because its participants came with different things:
 * those who had not come yet hear it when they do. */
struct jd_barrier_mismatch {
    struct jd_barrier_mismatch *next;
    ProtobufCBinaryData name; /* behind the struct, before the text */
    char *text;
    bool *owes; /* for each process: it has not heard it yet */
    int left;   /* how many that are */
};

/* What a request asks for, looked at. */
struct arrival {
    ProtobufCBinaryData name, label;
    int *participants;
    int count;
};

/* ---- the tree of barriers ----------------------------------------------- */

static int compare_barriers(const void *a, const void *b)
{
    const struct barrier *left = a, *right = b;
    return jd__wire_compare(left->name, right->name);
}

static struct barrier *find_barrier(struct jd_service *service,
                                    ProtobufCBinaryData name)
{
    struct barrier key = { .name = name };
    struct barrier **node = tfind(&key, &service->barriers, compare_barriers);
    return node ? *node : NULL;
}

static struct barrier *create_barrier(struct jd_service *service,
                                      const struct arrival *arrival)
{
    size_t list =
        arrival->participants ? (size_t)arrival->count * sizeof(int) : 0;
    struct barrier *barrier = calloc(
        1, sizeof *barrier + list + arrival->name.len + arrival->label.len + 1);
    if (!barrier)
        return NULL;
    int *participants = (int *)(barrier + 1);
    uint8_t *name = (uint8_t *)participants + list;
    if (list)
        memcpy(participants, arrival->participants, list);
    if (arrival->name.len)
        memcpy(name, arrival->name.data, arrival->name.len);
    if (arrival->label.len)
        memcpy(name + arrival->name.len, arrival->label.data,
               arrival->label.len);
    barrier->participants = list ? participants : NULL;
    barrier->count = arrival->count;
    barrier->name = jd__wire_bytes(name, arrival->name.len);
    barrier->label =
        jd__wire_bytes(name + arrival->name.len, arrival->label.len);
    if (tsearch(barrier, &service->barriers, compare_barriers))
        return barrier;
    free(barrier);
    return NULL;
}

void jd__barriers_forget(struct jd_service *service,
                         struct jd_pending_request *waiter)
{
    struct barrier *barrier = waiter->owner;
    if (!barrier || barrier->queue.count)
        return;
    tdelete(barrier, &service->barriers, compare_barriers);
    free(barrier->gave_up);
    free(barrier);
}

void jd__barriers_finish(struct jd_service *service)
{
    while (service->barriers) {
        struct barrier *barrier = *(struct barrier **)service->barriers;
        tdelete(barrier, &service->barriers, compare_barriers);
        free(barrier->gave_up);
        free(barrier);
    }
    while (service->mismatches) {
        struct jd_barrier_mismatch *mismatch = service->mismatches;
        service->mismatches = mismatch->next;
        free(mismatch);
    }
}

/* ---- in words ----------------------------------------------------------- */

static bool takes_part(const struct barrier *barrier, int index)
{
    return !barrier->participants ||
           bsearch(&index, barrier->participants, (size_t)barrier->count,
                   sizeof(int), jd__ranges_compare);
}

static bool has_arrived(const struct barrier *barrier,
                        const struct jd_service_process *member)
{
    const struct jd_pending_request *w =
        member->connection ? member->connection->waiters : NULL;
    while (w && w->owner != barrier)
        w = w->next_of_connection;
    return w != NULL;
}

static bool has_given_up(const struct barrier *barrier, int index)
{
    return barrier->gave_up && barrier->gave_up[index];
}

/* One who came and gave up is not to blame. */
static bool is_missing(const struct jd_service_process *member, const void *arg)
{
    const struct barrier *barrier = arg;
    return takes_part(barrier, member->index) &&
           !has_arrived(barrier, member) &&
           !has_given_up(barrier, member->index);
}

int jd__barriers_list_missing(const struct jd_service *service,
                              const struct jd_pending_request *waiter,
                              int *processes, int most)
{
    int count = 0;
    for (int i = 0; i < service->count && count < most; i++)
        if (is_missing(&service->members[i], waiter->owner))
            processes[count++] = i;
    return count;
}

void jd__barriers_give_up(struct jd_service *service,
                          struct jd_pending_request *waiter)
{
    struct barrier *barrier = waiter->owner;
    if (!barrier->gave_up)
        barrier->gave_up = calloc((size_t)service->count, sizeof(bool));
    if (barrier->gave_up)
        barrier->gave_up[waiter->connection->member->index] = true;
}

static void print_given_up(FILE *out, const struct jd_service *service,
                           const struct barrier *barrier)
{
    int *numbers = malloc((size_t)service->count * sizeof(int)), count = 0;
    for (int i = 0; numbers && i < service->count; i++)
        if (has_given_up(barrier, i))
            numbers[count++] = i;
    if (count) {
        fputs("; ", out);
        jd__ranges_print_processes(out, numbers, count);
        fputs(" came and gave up", out);
    }
    free(numbers);
}

void jd__barriers_describe(FILE *out, const struct jd_service *service,
                           const struct jd_pending_request *waiter)
{
    jd__processes_describe(out, service, is_missing, waiter->owner);
    print_given_up(out, service, waiter->owner);
}

void jd__barriers_describe_doing(FILE *out,
                                 const struct jd_pending_request *waiter)
{
    const struct barrier *barrier = waiter->owner;
    ProtobufCBinaryData name = barrier->name;
    if (name.len && !name.data[0]) { /* jd's own: behind the NUL is a call */
        fprintf(out, "waits in %.*s", (int)name.len - 1, name.data + 1);
    } else {
        fputs("waits at barrier ", out);
        jd__key_text_print(out, name);
    }
    if (barrier->label.len) {
        fputs(" ", out);
        jd__key_text_print(out, barrier->label);
    }
}

static void print_list(FILE *out, const int *participants, int count)
{
    if (participants) {
        fputs("processes ", out);
        jd__ranges_print(out, participants, count);
    } else {
        fputs("all processes", out);
    }
}

/* ---- arriving ----------------------------------------------------------- */

/* Sorts the list and looks for what cannot be; false where it has replied. */
static bool read_participants(struct jd_service *service,
                              struct jd_connection *connection,
                              const Jd__Message *message,
                              struct arrival *arrival)
{
    const Jd__Arrive *arrive = message->arrive;
    int self = connection->member->index;
    bool is_there = false;
    arrival->count = (int)arrive->n_processes;
    for (int i = 0; i < arrival->count; i++) {
        arrival->participants[i] = (int)arrive->processes[i];
        is_there |= arrival->participants[i] == self;
        if (arrive->processes[i] >= (uint32_t)service->count) {
            jd__service_reply(
                service, connection, message->id, JD_INVALID_ARGUMENT,
                "there is no process %u; the processes are 0 to "
                "%d",
                (unsigned)arrive->processes[i], service->count - 1);
            return false;
        }
    }
    qsort(arrival->participants, arrive->n_processes, sizeof(int),
          jd__ranges_compare);
    for (int i = 1; i < arrival->count; i++) {
        if (arrival->participants[i] == arrival->participants[i - 1]) {
            jd__service_reply(service, connection, message->id,
                              JD_INVALID_ARGUMENT,
                              "process %d is there twice in the list",
                              arrival->participants[i]);
            return false;
        }
    }
    if (!is_there) {
        jd__service_reply(service, connection, message->id, JD_INVALID_ARGUMENT,
                          "process %d calls, but is not in the list of those "
                          "who wait",
                          self);
        return false;
    }
    return true;
}

static bool is_same(const struct barrier *barrier,
                    const struct arrival *arrival)
{
    if (!barrier->participants || !arrival->participants)
        return !barrier->participants && !arrival->participants;
    return barrier->count == arrival->count &&
           memcmp(barrier->participants, arrival->participants,
                  (size_t)barrier->count * sizeof(int)) == 0;
}

static void print_waiting(FILE *out, const struct barrier *barrier)
{
    int *numbers = malloc((size_t)barrier->queue.count * sizeof(int)), n = 0;
    for (const struct jd_pending_request *w = barrier->queue.first;
         numbers && w; w = w->next)
        numbers[n++] = w->connection->member->index;
    qsort(numbers, (size_t)n, sizeof(int), jd__ranges_compare);
    jd__ranges_print_processes(out, numbers, n);
    fprintf(out, " wait%s", n == 1 ? "s" : "");
    free(numbers);
}

static void print_mismatch(FILE *out, const struct jd_service *service,
                           const struct jd_service_process *member,
                           const struct barrier *barrier,
                           const struct arrival *arrival)
{
    jd__processes_print(out, service, member);
    if (!is_same(barrier, arrival)) {
        fputs(" came for ", out);
        print_list(out, arrival->participants, arrival->count);
        fputs(", but ", out);
        print_waiting(out, barrier);
        fputs(" for ", out);
        print_list(out, barrier->participants, barrier->count);
    } else {
        fputs(" came with the name ", out);
        jd__key_text_print(out, arrival->label);
        fputs(", but ", out);
        print_waiting(out, barrier);
        fputs(" with ", out);
        jd__key_text_print(out, barrier->label);
    }
    fputs("; all must come with the same", out);
}

static struct jd_barrier_mismatch *
create_mismatch(const struct jd_service *service, ProtobufCBinaryData name,
                const char *text)
{
    size_t length = strlen(text) + 1, count = (size_t)service->count;
    struct jd_barrier_mismatch *mismatch =
        calloc(1, sizeof *mismatch + name.len + length + count);
    if (!mismatch)
        return NULL;
    uint8_t *key = (uint8_t *)(mismatch + 1);
    if (name.len)
        memcpy(key, name.data, name.len);
    mismatch->name = jd__wire_bytes(key, name.len);
    mismatch->text = memcpy(key + name.len, text, length);
    mismatch->owes = (bool *)(key + name.len + length);
    return mismatch;
}

/* The newest are first. */
static void drop_old_mismatches(struct jd_service *service)
{
    struct jd_barrier_mismatch **link = &service->mismatches;
    for (int kept = 0; *link && kept < MAX_MISMATCHES; kept++)
        link = &(*link)->next;
    while (*link) {
        struct jd_barrier_mismatch *old = *link;
        *link = old->next;
        free(old);
    }
}

/* Those whom either side waited for, and who have not come. */
static void owe_mismatch(struct jd_service *service,
                         const struct jd_service_process *newcomer,
                         const struct barrier *barrier,
                         const struct arrival *arrival, const char *text)
{
    struct jd_barrier_mismatch *mismatch =
        create_mismatch(service, barrier->name, text);
    if (!mismatch)
        return;
    const struct barrier wanted = { .participants = arrival->participants,
                                    .count = arrival->count };
    for (int i = 0; i < service->count; i++) {
        const struct jd_service_process *member = &service->members[i];
        mismatch->owes[i] =
            member != newcomer && member->state == JD_PROCESS_STATE_CONNECTED &&
            (takes_part(barrier, i) || takes_part(&wanted, i)) &&
            !has_arrived(barrier, member);
        mismatch->left += mismatch->owes[i];
    }
    if (!mismatch->left) {
        free(mismatch);
        return;
    }
    mismatch->next = service->mismatches;
    service->mismatches = mismatch;
    drop_old_mismatches(service);
}

/* One of these has heard it, or will not come any more. */
static void settle_mismatch(struct jd_barrier_mismatch **link, int index)
{
    struct jd_barrier_mismatch *mismatch = *link;
    mismatch->owes[index] = false;
    if (--mismatch->left > 0)
        return;
    *link = mismatch->next;
    free(mismatch);
}

static void settle_mismatches(struct jd_service *service, int index)
{
    struct jd_barrier_mismatch **link = &service->mismatches;
    while (*link) {
        struct jd_barrier_mismatch *mismatch = *link;
        if (mismatch->owes[index])
            settle_mismatch(link, index);
        if (*link == mismatch)
            link = &mismatch->next;
    }
}

/* True where this arrival was for a barrier that has failed meanwhile. */
static bool hears_mismatch(struct jd_service *service,
                           struct jd_connection *connection,
                           const Jd__Message *message)
{
    int index = connection->member->index;
    struct jd_barrier_mismatch **link = &service->mismatches;
    while (*link &&
           ((*link)->owes[index] == false ||
            jd__wire_compare((*link)->name, message->arrive->barrier) != 0))
        link = &(*link)->next;
    struct jd_barrier_mismatch *mismatch = *link;
    if (!mismatch)
        return false;
    jd__service_reply(service, connection, message->id, JD_INVALID_ARGUMENT,
                      "%s", mismatch->text);
    settle_mismatch(link, index);
    return true;
}

/* Everybody hears it: the newcomer, those who wait, and those to come. */
static void fail_mismatch(struct jd_service *service,
                          struct jd_connection *connection,
                          const Jd__Message *message, struct barrier *barrier,
                          const struct arrival *arrival)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        print_mismatch(out, service, connection->member, barrier, arrival);
    char *text = jd__text_end(&written);
    if (text)
        owe_mismatch(service, connection->member, barrier, arrival, text);
    jd__service_reply(service, connection, message->id, JD_INVALID_ARGUMENT,
                      "%s", text ? text : "its participants differ");
    jd__pending_end_all(service, &barrier->queue, JD_INVALID_ARGUMENT,
                        text ? text : "its participants differ");
    free(text);
}

/* The lowest who can never come, or NULL. */
static const struct jd_service_process *find_gone(struct jd_service *service,
                                                  const struct arrival *arrival)
{
    int lowest =
        service->somebody_went ? jd__processes_lowest_gone(service) : INT_MAX;
    if (lowest >= service->count)
        return NULL;
    if (!arrival->participants)
        return &service->members[lowest];
    for (int i = 0; i < arrival->count; i++) {
        const struct jd_service_process *member =
            &service->members[arrival->participants[i]];
        if (member->state != JD_PROCESS_STATE_CONNECTED)
            return member;
    }
    return NULL;
}

static char *describe_gone(const struct jd_service *service,
                           const struct jd_service_process *member)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    jd__processes_print(out, service, member);
    if (member->state == JD_PROCESS_STATE_FAILED)
        fprintf(out, " has failed: %s", member->failure);
    else
        fputs(" has called jd_shutdown and will not come", out);
    return jd__text_end(&text);
}

static void refuse_gone(struct jd_service *service,
                        struct jd_connection *connection,
                        const Jd__Message *message,
                        const struct jd_service_process *gone)
{
    char *text = describe_gone(service, gone);
    jd__service_reply(service, connection, message->id, JD_ABORTED, "%s",
                      text ? text : "a participant has gone");
    free(text);
}

static void wait_there(struct jd_service *service,
                       struct jd_connection *connection,
                       const Jd__Message *message, struct barrier *barrier)
{
    struct jd_pending_request *waiter = jd__pending_begin(
        service, &barrier->queue, JD_WAIT_BARRIER, connection, message);
    if (!waiter) {
        jd__barriers_forget(service,
                            &(struct jd_pending_request){ .owner = barrier });
        return;
    }
    waiter->owner = barrier;
    waiter->is_alone = message->arrive->is_alone;
    if (barrier->gave_up)
        barrier->gave_up[connection->member->index] = false;
    if (barrier->queue.count == barrier->count)
        jd__pending_end_all(service, &barrier->queue, JD_OK, "");
}

static void arrive_at_barrier(struct jd_service *service,
                              struct jd_connection *connection,
                              const Jd__Message *message,
                              const struct arrival *arrival)
{
    struct barrier *barrier = find_barrier(service, arrival->name);
    const struct jd_service_process *gone = find_gone(service, arrival);
    if (gone) {
        refuse_gone(service, connection, message, gone);
    } else if (barrier && has_arrived(barrier, connection->member)) {
        jd__service_reply(service, connection, message->id,
                          JD_FAILED_PRECONDITION,
                          "another thread of process %d waits there already",
                          connection->member->index);
    } else if (barrier &&
               (!is_same(barrier, arrival) ||
                jd__wire_compare(barrier->label, arrival->label) != 0)) {
        fail_mismatch(service, connection, message, barrier, arrival);
    } else if (barrier || (barrier = create_barrier(service, arrival))) {
        wait_there(service, connection, message, barrier);
    } else {
        jd__service_reply(service, connection, message->id,
                          JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
    }
}

void jd__barriers_on_arrive(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    const Jd__Arrive *request = message->arrive;
    const struct arrival all = { request->barrier, request->label, NULL,
                                 service->count };
    struct arrival arrival = all;
    if (hears_mismatch(service, connection, message))
        return;
    if (!request->n_processes) {
        arrive_at_barrier(service, connection, message, &all);
        return;
    }
    if (request->n_processes > (size_t)service->count) {
        jd__service_reply(service, connection, message->id, JD_INVALID_ARGUMENT,
                          "the list has %zu processes, but the job has %d",
                          request->n_processes, service->count);
        return;
    }
    arrival.participants = malloc(request->n_processes * sizeof(int));
    if (!arrival.participants)
        jd__service_reply(service, connection, message->id,
                          JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
    else if (read_participants(service, connection, message, &arrival))
        arrive_at_barrier(service, connection, message,
                          arrival.count == service->count ? &all : &arrival);
    free(arrival.participants);
}

/* ---- endings ------------------------------------------------------------ */

void jd__barriers_on_cancel(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    struct barrier *barrier = find_barrier(service, message->cancel->barrier);
    char text[80];
    if (!barrier) {
        jd__service_reply(service, connection, message->id, JD_NOT_FOUND,
                          "nobody waits there");
        return;
    }
    if (connection->member)
        snprintf(text, sizeof text, "cancelled by process %d",
                 connection->member->index);
    else
        snprintf(text, sizeof text, "cancelled by a helper");
    jd__pending_end_all(service, &barrier->queue, JD_CANCELLED, text);
    jd__service_reply(service, connection, message->id, JD_OK, "%s", "");
}

/* For the walk below, which has no argument for its user. */
struct arrival_search {
    const struct jd_service_process *member;
    struct barrier *found;
};

static void look_at(const void *node, VISIT visit, void *arg)
{
    struct arrival_search *search = arg;
    struct barrier *barrier = *(struct barrier *const *)node;
    if ((visit == postorder || visit == leaf) && !search->found &&
        takes_part(barrier, search->member->index))
        search->found = barrier;
}

void jd__barriers_abort(struct jd_service *service,
                        const struct jd_service_process *member)
{
    settle_mismatches(service, member->index);
    char *text = service->barriers ? describe_gone(service, member) : NULL;
    for (;;) {
        struct arrival_search search = { .member = member };
        twalk_r(service->barriers, look_at, &search);
        if (!search.found)
            break;
        jd__pending_end_all(service, &search.found->queue, JD_ABORTED,
                            text ? text : "a participant has gone");
    }
    free(text);
}
