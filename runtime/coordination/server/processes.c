/* SPDX-License-Identifier: BSD-3-Clause */
/* processes.c - the job's processes as the service sees them. */
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/coordination/net/process_lists.h"
#include "runtime/coordination/server/service_private.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Processes that a sentence names one by one. */
#define MAX_NAMED 8

/* Seconds; processes say once a second what is new. */
#define WORTH_SAYING 1.5
#define MAX_CALL 320 /* bytes of what a process says of its call */

/* ---- who ---------------------------------------------------------------- */

static int compare_hosts(const void *a, const void *b)
{
    const struct jd_known_host *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->boot_id, right->boot_id);
}

static int find_host(struct jd_service *service, const Jd__Hello *hello)
{
    struct jd_known_host host = { .name = "" };
    snprintf(host.name, sizeof host.name, "%s", hello->host);
    snprintf(host.boot_id, sizeof host.boot_id, "%s", hello->boot_id);
    struct jd_known_host **node =
        tfind(&host, &service->hosts_by_name, compare_hosts);
    if (node)
        return (int)(*node - service->hosts);
    if (service->num_hosts == service->count)
        return 0; /* a process that came again, from elsewhere each time */
    struct jd_known_host *new = &service->hosts[service->num_hosts];
    *new = host;
    tsearch(new, &service->hosts_by_name, compare_hosts);
    return service->num_hosts++;
}

void jd__processes_hosts_finish(struct jd_service *service)
{
    while (service->hosts_by_name)
        tdelete(*(struct jd_known_host **)service->hosts_by_name,
                &service->hosts_by_name, compare_hosts);
}

jd_status jd__processes_fill(struct jd_service *service,
                             struct jd_service_process *member,
                             const Jd__Hello *hello)
{
    jd__processes_set_state(service, member, JD_PROCESS_STATE_CONNECTED);
    member->incarnation = hello->incarnation;
    if (member->pid) /* it came before, and went */
        service->hosts[member->host].count--;
    member->pid = hello->pid;
    member->host = find_host(service, hello);
    service->hosts[member->host].count += member->pid != 0;
    member->heard = service->now;
    member->shows_traces = hello->shows_traces;
    snprintf(member->program, sizeof member->program, "%s", hello->program);
    return JD_OK;
}

const char *jd__processes_host(const struct jd_service *service,
                               const struct jd_service_process *member)
{
    return service->hosts[member->host].name;
}

bool jd__processes_is_alive(const struct jd_service_process *member)
{
    return member->state == JD_PROCESS_STATE_CONNECTED ||
           member->state == JD_PROCESS_STATE_LEAVING;
}

void jd__processes_leave(struct jd_service *service,
                         struct jd_service_process *member)
{
    if (!jd__processes_is_alive(member))
        return;
    jd__processes_set_state(service, member, JD_PROCESS_STATE_LEFT);
    jd__admission_unjoin(service, member);
}

/* ---- what it is asked --------------------------------------------------- */

void jd__processes_reply(struct jd_service *service,
                         struct jd_connection *connection, uint64_t id,
                         const struct jd_service_process *member,
                         jd_status status, const char *format, ...)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out) {
        va_list args;
        va_start(args, format);
        jd__processes_print(out, service, member);
        vfprintf(out, format, args);
        va_end(args);
    }
    char *text = jd__text_end(&written);
    if (text)
        jd__service_reply(service, connection, id, status, "%s", text);
    else
        jd__service_reply(service, connection, id, JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
    free(text);
}

/* NULL: it can be asked. */
static const char *why_silent(const struct jd_service_process *member)
{
    switch (member->state) {
    case JD_PROCESS_STATE_ABSENT:
        return "it is not in the job yet";
    case JD_PROCESS_STATE_LEFT:
        return "it has left in order";
    case JD_PROCESS_STATE_FAILED:
        return member->failure ? member->failure : "it has failed";
    case JD_PROCESS_STATE_CONNECTED:
    case JD_PROCESS_STATE_LEAVING:
        break;
    }
    return member->connection ? NULL
                              : "its connection is lost; ask again when it "
                                "is back";
}

struct jd_service_process *jd__processes_find_shown(
    struct jd_service *service, struct jd_connection *connection, uint64_t id,
    uint32_t process, const struct jd_processes_shown *what)
{
    if (process >= (uint32_t)service->count) {
        jd__service_reply(service, connection, id, JD_INVALID_ARGUMENT,
                          "there is no process %u: the job's last is %d",
                          (unsigned)process, service->count - 1);
        return NULL;
    }
    struct jd_service_process *member = &service->members[process];
    const char *why = why_silent(member);
    if (connection->is_anybody)
        jd__processes_reply(
            service, connection, id, member, JD_PERMISSION_DENIED,
            ": %s is shown only to who shows whose it is, and this job has no "
            "way to know that of another host: set JD_SECRET_FILE, the same "
            "for the job and %s, or ask on the host of process 0",
            what->whole, what->tool);
    else if (why)
        jd__processes_reply(service, connection, id, member,
                            JD_FAILED_PRECONDITION, ": it shows no %s: %s",
                            what->word, why);
    else
        return member;
    return NULL;
}

/* ---- how many ----------------------------------------------------------- */

bool jd__processes_is_in(const struct jd_service_process *member)
{
    return member->state == JD_PROCESS_STATE_CONNECTED && member->has_joined;
}

/* Whether the others wait for it in jd_live_processes. Process 0 stays for
 * others after a failure: it counts then if it has something to do itself. */
static bool is_counted_live(const struct jd_service *service,
                            const struct jd_service_process *member)
{
    bool only_stays = service->has_failed && member->index == 0 &&
                      !member->is_armed && !member->has_asked_live;
    return jd__processes_is_in(member) && !only_stays;
}

static bool is_late_for_live(const struct jd_service *service,
                             const struct jd_service_process *member)
{
    return is_counted_live(service, member) && !member->asks_live;
}

static void count_member(const struct jd_service *service,
                         const struct jd_service_process *member, int by,
                         struct jd_tally *tally)
{
    bool is_in = jd__processes_is_in(member);
    bool is_staying = member->state != JD_PROCESS_STATE_LEAVING &&
                      member->state != JD_PROCESS_STATE_LEFT;
    tally->staying += is_staying ? by : 0;
    tally->connected += member->connection ? by : 0;
    tally->late_live += is_late_for_live(service, member) ? by : 0;
    tally->to_step += is_in && !member->has_stepped ? by : 0;
    tally->to_acknowledge += is_in && !member->has_acknowledged ? by : 0;
    bool may_use = member->connection && jd__processes_is_alive(member);
    tally->armed += may_use && member->is_armed && member->index ? by : 0;
}

struct jd_tally jd__processes_count(const struct jd_service *service)
{
    struct jd_tally tally = { .staying = 0 };
    for (int i = 0; i < service->count; i++)
        count_member(service, &service->members[i], 1, &tally);
    return tally;
}

void jd__processes_set_state(struct jd_service *service,
                             struct jd_service_process *member,
                             enum jd_process_state state)
{
    count_member(service, member, -1, &service->tally);
    member->state = state;
    count_member(service, member, 1, &service->tally);
    if (state != JD_PROCESS_STATE_CONNECTED &&
        member->index < service->lowest_gone)
        service->lowest_gone = member->index;
}

/* Below it all are connected; it may have come (back) meanwhile. */
int jd__processes_lowest_gone(struct jd_service *service)
{
    while (service->lowest_gone < service->count &&
           service->members[service->lowest_gone].state ==
               JD_PROCESS_STATE_CONNECTED)
        service->lowest_gone++;
    return service->lowest_gone;
}

void jd__processes_set_connection(struct jd_service *service,
                                  struct jd_service_process *member,
                                  struct jd_connection *connection)
{
    count_member(service, member, -1, &service->tally);
    member->connection = connection;
    count_member(service, member, 1, &service->tally);
}

void jd__processes_set(struct jd_service *service,
                       struct jd_service_process *member, bool *flag,
                       bool value)
{
    count_member(service, member, -1, &service->tally);
    *flag = value;
    count_member(service, member, 1, &service->tally);
}

/* ---- in words ----------------------------------------------------------- */

void jd__processes_print(FILE *out, const struct jd_service *service,
                         const struct jd_service_process *member)
{
    fprintf(out, "process %d", member->index);
    if (member->pid)
        fprintf(out, " (%s, pid %u on %s)", member->program,
                (unsigned)member->pid, jd__processes_host(service, member));
}

/* Where it has said it since then: before, it may have been another one. */
static void print_call(FILE *out, const struct jd_service_process *member,
                       double since)
{
    if (member->call && member->told >= since)
        fprintf(out, ": %s", member->call);
}

/* It is the last that a call's words have. */
void jd__processes_print_place_of(FILE *out, const char *call)
{
    static const char before[] = ", called at ";
    const char *place = NULL;
    for (const char *at = call; (at = strstr(at, before)); place = at)
        at += sizeof before - 1;
    if (place)
        fprintf(out, " at %s", place);
}

void jd__processes_print_place(FILE *out,
                               const struct jd_service_process *member,
                               double since)
{
    if (member->call && member->told >= since)
        jd__processes_print_place_of(out, member->call);
}

static void print_operation(FILE *out, const struct jd_service_process *member)
{
    fprintf(out, "%s, its operation %llu", member->operation,
            (unsigned long long)member->number);
}

/* What it has said itself is as old as its last word about it. */
static void print_progress(FILE *out, const struct jd_service *service,
                           const struct jd_service_process *member)
{
    double lasted = member->told - member->since;
    fprintf(out, "; %.2g s ago it was in ", service->now - member->told);
    if (member->inside)
        print_operation(out, member);
    else
        fputs("the program's own code", out);
    if (lasted >= WORTH_SAYING)
        fprintf(out, ", for %.3g s already", lasted);
    if (!member->inside) {
        fputs(", after ", out);
        print_operation(out, member);
    }
    print_call(out, member, 0);
}

void jd__processes_print_doing(FILE *out, const struct jd_service *service,
                               const struct jd_service_process *member)
{
    const struct jd_blocked *blocked = jd__blocked_now(service, member);
    const struct jd_pending_request *waiter = jd__pending_of(member);
    if (waiter) {
        fputs("; it ", out);
        jd__pending_describe_doing(out, service, waiter);
        print_call(out, member, waiter->since);
    } else if (blocked) {
        fputs("; it ", out);
        jd__blocked_describe(out, service, blocked);
        print_call(out, member, blocked->since);
    } else if (member->number) {
        print_progress(out, service, member);
    }
}

static void print_state(FILE *out, const struct jd_service *service,
                        const struct jd_service_process *member)
{
    jd__processes_print(out, service, member);
    switch (member->state) {
    case JD_PROCESS_STATE_ABSENT:
        fputs(member->pid ? ", which came and went again"
                          : ", which has not come",
              out);
        return;
    case JD_PROCESS_STATE_LEFT:
        fputs(", which has left", out);
        return;
    case JD_PROCESS_STATE_FAILED:
        fprintf(out, ", which failed: %s", member->failure);
        return;
    case JD_PROCESS_STATE_CONNECTED:
    case JD_PROCESS_STATE_LEAVING:
        fprintf(out, ", last heard %.3g s ago", service->now - member->heard);
        jd__processes_print_doing(out, service, member);
    }
}

/* The picked ones' numbers, malloc'ed; NULL without memory. */
static int *pick_numbers(const struct jd_service *service, jd_pick_f *pick,
                         const void *arg, int *ret_count)
{
    int *numbers = malloc((size_t)service->count * sizeof *numbers);
    *ret_count = 0;
    for (int i = 0; numbers && i < service->count; i++)
        if (pick(&service->members[i], arg))
            numbers[(*ret_count)++] = i;
    return numbers;
}

uint32_t *jd__processes_ranges(const int *numbers, int count, size_t *ret_n)
{
    size_t most = 2 * (size_t)count;
    uint32_t *ranges =
        numbers ? malloc((most ? most : 1) * sizeof *ranges) : NULL;
    if (ranges)
        *ret_n = jd__process_lists_pack(numbers, (size_t)count, ranges);
    return ranges;
}

static struct jd_known_host *host_of(const struct jd_service *service,
                                     int number)
{
    return &service->hosts[service->members[number].host];
}

/* Some hosts of which all processes are among these, in their order. Only what
 * these numbers name is looked at: each process may ask about a few. */
static void print_whole_hosts(FILE *out, const struct jd_service *service,
                              const int *numbers, int count)
{
    int printed = 0;
    for (int i = 0; i < count; i++)
        host_of(service, numbers[i])->picked +=
            service->members[numbers[i]].pid != 0;
    for (int i = 0; i < count; i++) {
        struct jd_known_host *host = host_of(service, numbers[i]);
        if (host->picked > 1 && host->picked == host->count &&
            printed < MAX_NAMED)
            fprintf(out, "%s%s", printed++ ? ", " : " (all of ", host->name);
        host->picked = 0;
    }
    if (printed)
        fputc(')', out);
}

static void describe_processes(FILE *out, const struct jd_service *service,
                               const int *numbers, int count)
{
    if (count > 1) {
        jd__ranges_print_processes(out, numbers, count);
        print_whole_hosts(out, service, numbers, count);
        fputs(": ", out);
    }
    for (int i = 0; i < count && i < MAX_NAMED; i++) {
        fputs(i ? "; " : "", out);
        print_state(out, service, &service->members[numbers[i]]);
    }
    if (count > MAX_NAMED)
        fprintf(out, "; and %d more", count - MAX_NAMED);
}

void jd__processes_describe(FILE *out, const struct jd_service *service,
                            jd_pick_f *pick, const void *arg)
{
    int count;
    int *numbers = pick_numbers(service, pick, arg, &count);
    describe_processes(out, service, numbers, count);
    free(numbers);
}

/* ---- signs of life ------------------------------------------------------ */

/* What a sentence can have. */
void jd__processes_take_call(char **words, const char *call)
{
    free(*words);
    *words = call[0] ? strndup(call, MAX_CALL) : NULL;
    if (*words)
        jd__text_make_plain(*words, false);
}

static void take_progress(struct jd_service *service,
                          struct jd_service_process *member,
                          const Jd__Progress *progress)
{
    if (!progress)
        return;
    snprintf(member->operation, sizeof member->operation, "%s",
             progress->operation);
    jd__processes_take_call(&member->call, progress->call);
    member->number = progress->number;
    member->inside = progress->inside;
    member->told = service->now;
    member->since = service->now - (double)progress->since_ms / 1000;
}

void jd__processes_on_heartbeat(struct jd_service *service,
                                struct jd_connection *connection,
                                const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    if (connection->member) {
        take_progress(service, connection->member,
                      message->heartbeat->progress);
        jd__stragglers_on_heartbeat(service, connection->member,
                                    message->heartbeat);
        jd__queues_on_heartbeat(connection->member, message->heartbeat);
        jd__blocked_on_heartbeat(connection->member, message->heartbeat);
    }
    if (message->heartbeat->clock_ns) {
        reply.asked_ns = message->heartbeat->clock_ns;
        reply.clock_ns = (int64_t)(1e9 * service->now);
    }
    jd__service_answer(service, connection, message->id, &reply);
}

void jd__processes_on_armed(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    jd__processes_set(service, connection->member,
                      &connection->member->is_armed, true);
    jd__service_answer(service, connection, message->id, &reply);
}

/* ---- the living --------------------------------------------------------- */

/* Who it is that is late; arg is the service. */
static bool pick_late(const struct jd_service_process *member, const void *arg)
{
    return is_late_for_live(arg, member);
}

void jd__processes_describe_not_live(FILE *out,
                                     const struct jd_service *service)
{
    jd__processes_describe(out, service, pick_late, service);
}

/* Who counts as living; arg is the service. */
static bool pick_living(const struct jd_service_process *member,
                        const void *arg)
{
    return is_counted_live(arg, member);
}

static void answer_live(struct jd_service *service)
{
    Jd__Reply reply = JD__REPLY__INIT;
    int count;
    int *numbers = pick_numbers(service, pick_living, service, &count);
    reply.ranges = jd__processes_ranges(numbers, count, &reply.n_ranges);
    free(numbers);
    if (!reply.ranges)
        reply.status = JD_RESOURCE_EXHAUSTED;
    while (service->live.first) {
        struct jd_pending_request *waiter = service->live.first;
        jd__service_answer(service, waiter->connection, waiter->id, &reply);
        jd__pending_end(service, waiter);
    }
    free(reply.ranges);
}

void jd__processes_check_live(struct jd_service *service)
{
    if (service->live.count && !service->tally.late_live)
        answer_live(service);
}

void jd__processes_live_forget(struct jd_service *service,
                               struct jd_pending_request *waiter)
{
    struct jd_service_process *member = waiter->owner;
    if (member)
        jd__processes_set(service, member, &member->asks_live, false);
}

void jd__processes_on_live(struct jd_service *service,
                           struct jd_connection *connection,
                           const Jd__Message *message)
{
    struct jd_service_process *member = connection->member;
    if (member->asks_live) {
        jd__service_reply(service, connection, message->id,
                          JD_FAILED_PRECONDITION,
                          "another thread of this process waits there already");
        return;
    }
    struct jd_pending_request *waiter = jd__pending_begin(
        service, &service->live, JD_WAIT_LIVE, connection, message);
    if (!waiter)
        return;
    waiter->owner = member;
    jd__processes_set(service, member, &member->asks_live, true);
    jd__processes_set(service, member, &member->has_asked_live, true);
    jd__processes_check_live(service);
}

/* ---- the table ---------------------------------------------------------- */

static void answer_about_wait(struct jd_service *service,
                              struct jd_connection *connection,
                              const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    const struct jd_pending_request *waiter =
        jd__connection_find_waiter(connection, message->inquiry->wait);
    struct jd_text written = { .out = NULL };
    if (waiter)
        jd__circles_on_notice(service, waiter);
    reply.number = waiter && jd__pending_is_lowest(waiter);
    FILE *out = reply.number ? jd__text_begin(&written) : NULL;
    if (out)
        jd__pending_describe(out, service, waiter);
    char *text = jd__text_end(&written);
    reply.text = text ? text : reply.text;
    jd__service_answer(service, connection, message->id, &reply);
    free(text);
}

static char *describe_waits(const struct jd_service *service,
                            const struct jd_service_process *member)
{
    struct jd_text text;
    const struct jd_blocked *blocked = jd__blocked_now(service, member);
    const struct jd_pending_request *waiter = jd__pending_of(member);
    FILE *out = waiter || blocked ? jd__text_begin(&text) : NULL;
    if (!out)
        return NULL;
    if (waiter)
        jd__pending_describe_doing(out, service, waiter);
    else
        jd__blocked_describe(out, service, blocked);
    return jd__text_end(&text);
}

/* A process may say that it has been anywhere for any time. */
static uint64_t milliseconds_since(const struct jd_service *service, double at)
{
    double milliseconds = 1000 * (service->now - at);
    return milliseconds > 0 ? (uint64_t)fmin(milliseconds, 1e18) : 0;
}

static void fill_minute(const struct jd_service *service,
                        const struct jd_service_process *member, Jd__Row *row)
{
    struct jd_minute_sum sum = jd__stragglers_sum(service, member);
    row->caused_ms = (uint64_t)(1000 * sum.caused);
    row->caused_to = (uint32_t)sum.waiters;
    row->caused_in =
        (char *)(sum.waiters ? jd__sites_words(service, member->waited_in)
                             : "");
    row->waited_ms = (uint64_t)(1000 * sum.waited);
}

static void fill_row(const struct jd_service *service,
                     const struct jd_service_process *member, Jd__Row *row,
                     Jd__Progress *progress)
{
    jd__row__init(row);
    jd__progress__init(progress);
    row->process = (uint32_t)member->index;
    row->state = (Jd__Row__State)member->state;
    if (member->pid)
        row->host = (char *)jd__processes_host(service, member);
    row->pid = member->pid;
    row->program = (char *)member->program;
    if (member->pid)
        row->heard_ms = milliseconds_since(service, member->heard);
    row->incarnation = member->incarnation;
    if (member->failure)
        row->failure = member->failure;
    char *waits = describe_waits(service, member);
    if (waits)
        row->waits = waits;
    progress->operation = (char *)member->operation;
    if (member->call)
        progress->call = member->call;
    progress->number = member->number;
    progress->inside = member->inside;
    if (member->number)
        progress->since_ms = milliseconds_since(service, member->since);
    row->progress = progress;
    fill_minute(service, member, row);
}

static void free_row(Jd__Row *row)
{
    if (row->waits != protobuf_c_empty_string)
        free(row->waits);
}

struct process_table {
    Jd__Row *rows;
    Jd__Row **pointers;
    Jd__Progress *progress;
};

static void answer_table(struct jd_service *service,
                         struct jd_connection *connection, uint64_t id,
                         const struct process_table *table)
{
    Jd__Reply reply = JD__REPLY__INIT;
    size_t count = (size_t)service->count;
    for (size_t i = 0; i < count; i++) {
        fill_row(service, &service->members[i], &table->rows[i],
                 &table->progress[i]);
        table->pointers[i] = &table->rows[i];
    }
    reply.rows = table->pointers;
    reply.n_rows = count;
    reply.count = (uint32_t)service->count;
    jd__service_answer(service, connection, id, &reply);
    for (size_t i = 0; i < count; i++)
        free_row(&table->rows[i]);
}

/* ---- what some of them do ----------------------------------------------- */

/* Those that there are, sorted, each once; malloc'ed. */
static int *list_asked(const struct jd_service *service,
                       const Jd__Inquiry *inquiry, int *ret_count)
{
    int *numbers = malloc(inquiry->n_processes * sizeof *numbers);
    int all = 0;
    for (size_t i = 0; numbers && i < inquiry->n_processes; i++)
        if (inquiry->processes[i] < (uint32_t)service->count)
            numbers[all++] = (int)inquiry->processes[i];
    *ret_count = jd__ranges_sort(numbers, all);
    return numbers;
}

static void ask_about(struct jd_service *service,
                      struct jd_connection *connection,
                      const Jd__Message *message)
{
    const Jd__Inquiry *inquiry = message->inquiry;
    struct jd_pending_request *waiter = jd__pending_begin(
        service, &service->asking, JD_WAIT_DOING, connection, message);
    if (waiter)
        waiter->keys = jd__wire_copy(message);
    for (size_t i = 0; i < inquiry->n_processes; i++)
        if (inquiry->processes[i] < (uint32_t)service->count)
            jd__blocked_look(service, &service->members[inquiry->processes[i]]);
}

void jd__processes_inquiry_answer(struct jd_service *service,
                                  struct jd_pending_request *waiter)
{
    Jd__Reply reply = JD__REPLY__INIT;
    struct jd_text written = { .out = NULL };
    FILE *out = waiter->keys ? jd__text_begin(&written) : NULL;
    if (out) {
        int count;
        int *numbers = list_asked(service, waiter->keys->inquiry, &count);
        describe_processes(out, service, numbers, count);
        free(numbers);
    }
    char *text = jd__text_end(&written);
    reply.text = text ? text : reply.text;
    jd__service_answer(service, waiter->connection, waiter->id, &reply);
    free(text);
}

static void answer_about_queues(struct jd_service *service,
                                struct jd_connection *connection,
                                const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    const struct jd_queues_answer *answer =
        jd__queues_ask(service, message->inquiry);
    reply.status = answer->is_whole ? JD_OK : JD_RESOURCE_EXHAUSTED;
    reply.ranges = answer->ranges;
    reply.n_ranges = answer->n_ranges;
    reply.number = (int64_t)answer->fewest;
    reply.count = (uint32_t)answer->num_unknown;
    jd__service_answer(service, connection, message->id, &reply);
}

void jd__processes_on_inquiry(struct jd_service *service,
                              struct jd_connection *connection,
                              const Jd__Message *message)
{
    size_t count = (size_t)service->count;
    if (message->inquiry->comm) {
        answer_about_queues(service, connection, message);
        return;
    }
    if (message->inquiry->n_processes && *message->inquiry->operation) {
        jd__followed_answer(service, connection, message);
        return;
    }
    if (message->inquiry->n_processes) {
        ask_about(service, connection, message);
        return;
    }
    if (message->inquiry->wait) {
        answer_about_wait(service, connection, message);
        return;
    }
    struct process_table table = { malloc(count * sizeof *table.rows),
                                   malloc(count * sizeof *table.pointers),
                                   malloc(count * sizeof *table.progress) };
    if (table.rows && table.pointers && table.progress)
        answer_table(service, connection, message->id, &table);
    else
        jd__service_reply(service, connection, message->id,
                          JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
    free(table.rows);
    free(table.pointers);
    free(table.progress);
}
