/* SPDX-License-Identifier: BSD-3-Clause */
/* failure_report.c - reports to the service, from a process that has failed. */
#include "runtime/coordination/failure/failure_report.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/net/loop.h"
#include "runtime/coordination/net/process_lists.h"
#include "runtime/coordination/server/speakers.h"
#include "runtime/mpi/message_count.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The service holds a JD_CHECK for 0.1 s, for others with the same words. The
 * rest is for a process 0 that is kept from running: who is not answered ends
 * the job by MPI_Abort, perhaps before the others have heard why. */
#define TELL_SECONDS 2.0
#define GRACE_SECONDS 2.5 /* for the service's own word about that */

/* For word of another process's failure, which the service holds for 0.03 s;
 * and where the status says that there must be some. */
#define NOTIFICATION_SECONDS 0.1
#define SURE_NOTIFICATION_SECONDS 1.0

/* With this one libpmix ends a process whose server has gone, which jd sees by
 * a connection of its own, perhaps a little later: the kernel closes those of
 * a dead process one after the other. */
#define LOST_SERVER_CODE 195

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    struct jd_client *client; /* NULL: nobody to tell */
    int tellers;              /* threads that use it now */
    atomic_int pid;           /* whose connection it is */
} reporting = { .lock = PTHREAD_MUTEX_INITIALIZER,
                .done = PTHREAD_COND_INITIALIZER };

void jd__failure_report_open(struct jd_client *client)
{
    pthread_mutex_lock(&reporting.lock);
    reporting.client = client;
    reporting.pid = getpid();
    pthread_mutex_unlock(&reporting.lock);
}

/* Their calls have deadlines. */
void jd__failure_report_close(void)
{
    pthread_mutex_lock(&reporting.lock);
    reporting.client = NULL;
    while (reporting.tellers > 0)
        pthread_cond_wait(&reporting.done, &reporting.lock);
    pthread_mutex_unlock(&reporting.lock);
}

/* To be given back by end_telling; NULL where there is nobody to tell. The
 * pid comes first: in a forked child the lock may be held for ever. */
static struct jd_client *begin_reporting(void)
{
    if (reporting.pid != getpid())
        return NULL;
    pthread_mutex_lock(&reporting.lock);
    struct jd_client *client = reporting.client;
    struct jd_loop *loop = client ? jd__client_loop(client) : NULL;
    if (!loop || jd__loop_is_current(loop))
        client = NULL;
    reporting.tellers += client != NULL;
    pthread_mutex_unlock(&reporting.lock);
    return client;
}

static void end_reporting(void)
{
    pthread_mutex_lock(&reporting.lock);
    if (--reporting.tellers == 0)
        pthread_cond_signal(&reporting.done);
    pthread_mutex_unlock(&reporting.lock);
}

/* ---- the process's own end ---------------------------------------------- */

/* Each is noted first: the service's own report of it comes to this process
 * too, and does not end it before it has said what it has to say. */

static void keep_processes(const struct jd_client *client,
                           const Jd__Reply *reply,
                           struct jd_report_answer *told)
{
    size_t count;
    told->processes = jd__process_lists_unpack(reply->ranges, reply->n_ranges,
                                               (size_t)client->count, &count);
    told->num_processes = told->processes ? count : 0;
}

/* Until the others have been told, which takes its time where they are many.
 * ret_told may be NULL. */
static jd_status report_failure(struct jd_client *client, const char *operation,
                                Jd__Report *body,
                                struct jd_report_answer *ret_told)
{
    double told = client->count * JD_SAYING_SECONDS / JD_SAID_AT_ONCE;
    struct jd_call call = {
        .operation = operation,
        .timeout = TELL_SECONDS + told,
        .grace = GRACE_SECONDS + told,
        .variable = "it cannot be changed",
    };
    jd__call_init(&call, JD__MESSAGE__BODY_REPORT, body);
    jd_status status = jd__client_call(client, &call);
    if (status == JD_OK && ret_told) {
        ret_told->prints = call.reply->number == 1;
        keep_processes(client, call.reply, ret_told);
    }
    jd__call_finish(&call);
    return status;
}

static Jd__Report make_report(Jd__Report__Kind kind, int code, const char *text)
{
    Jd__Report body = JD__REPORT__INIT;
    body.kind = kind;
    body.code = code;
    body.text = (char *)text; /* only read */
    return body;
}

/* For so many seconds, and then what has come and was not handled yet, because
 * this process did not run. Where it is being ended, it stays here. */
static void await_notification(double grace)
{
    jd__failure_exit_await_notification(grace);
    struct jd_client *client = begin_reporting();
    if (!client)
        return;
    jd__loop_catch_up(jd__client_loop(client));
    end_reporting();
    jd__failure_exit_await();
}

static bool tell_service(const char *operation, double grace, Jd__Report *body,
                         struct jd_report_answer *ret_told)
{
    struct jd_client *client = begin_reporting();
    if (client && grace > 0) {
        end_reporting(); /* where this process is being ended, it stays there */
        await_notification(grace);
        client = begin_reporting();
    }
    if (!client)
        return false;
    jd__failure_exit_note(body->text);
    jd_status status = report_failure(client, operation, body, ret_told);
    /* Where this is process 0, the replies and reports that others get are sent
     * then: the loop has come out of what it was in. */
    jd__loop_catch_up(jd__client_loop(client));
    end_reporting();
    return status == JD_OK;
}

static double grace_with(jd_status status)
{
    return status == JD_ABORTED || status == JD_UNAVAILABLE
               ? SURE_NOTIFICATION_SECONDS
               : NOTIFICATION_SECONDS;
}

bool jd__failure_report_start(jd_status status, const char *text)
{
    Jd__Report body = make_report(JD__REPORT__KIND__ERROR, (int)status, text);
    return tell_service("jd_initialize", grace_with(status), &body, NULL);
}

bool jd__failure_report_check(jd_status status, const char *text,
                              struct jd_report_answer *ret_told)
{
    Jd__Report body = make_report(JD__REPORT__KIND__CHECK, 1, text);
    *ret_told = (struct jd_report_answer){ .prints = true };
    return tell_service("JD_CHECK", grace_with(status), &body, ret_told);
}

bool jd__failure_report_abort(int code, const char *why)
{
    Jd__Report body = make_report(JD__REPORT__KIND__ABORT, code, why);
    return tell_service("jd_abort", 0, &body, NULL);
}

void jd__failure_report_exit(int code)
{
    char text[64];
    snprintf(text, sizeof text, "this process exits with code %d", code);
    Jd__Report body = make_report(JD__REPORT__KIND__EXIT, code, text);
    tell_service("exit",
                 code == LOST_SERVER_CODE ? SURE_NOTIFICATION_SECONDS
                                          : NOTIFICATION_SECONDS,
                 &body, NULL);
}

jd_status jd__failure_report_error(jd_status error, const char *text)
{
    struct jd_client *client = begin_reporting();
    Jd__Report body = make_report(JD__REPORT__KIND__ERROR, (int)error, text);
    if (!client)
        return JD_OK; /* alone */
    jd_status status = report_failure(client, "jd_report_error", &body, NULL);
    end_reporting();
    return status;
}

void jd__failure_report_armed(void)
{
    struct jd_client *client = begin_reporting();
    Jd__Armed body = JD__ARMED__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    if (!client)
        return;
    message.body_case = JD__MESSAGE__BODY_ARMED;
    message.armed = &body;
    jd__client_tell(client, &message);
    end_reporting();
}

/* ---- waits that last ---------------------------------------------------- */

#define ASK_SECONDS 0.2 /* for all that are asked to say what they do */
#define ASK_GRACE 1.0

static _Atomic uint64_t num_waits, last_look;

uint64_t jd__failure_report_number(void)
{
    return atomic_fetch_add(&num_waits, 1) + 1;
}

uint64_t jd__failure_report_looks(void)
{
    return atomic_load_explicit(&last_look, memory_order_acquire);
}

void jd__failure_report_on_look(uint64_t number)
{
    atomic_store_explicit(&last_look, number, memory_order_release);
}

void jd__failure_report_sent(struct jd_client *client, uint64_t look,
                             int receiver)
{
    Jd__Sent body = JD__SENT__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    body.look = look;
    body.messages = jd__message_count_to(receiver);
    message.body_case = JD__MESSAGE__BODY_SENT;
    message.sent = &body;
    jd__client_tell(client, &message);
}

/* As the service knows it. */
static void print_operation(const struct jd_blocked_wait *wait, char *text,
                            size_t size)
{
    snprintf(text, size, "%s%s", wait->operation,
             wait->detail ? wait->detail : "");
}

static size_t at_most(int count)
{
    return (size_t)(count < JD_WAIT_NAMED ? count : JD_WAIT_NAMED);
}

/* By twos. */
static size_t pack_members(const struct jd_blocked_wait *wait,
                           uint32_t members[2 * JD_WAIT_NAMED])
{
    size_t count = at_most(wait->num_members);
    for (size_t i = 0; i < count; i++) {
        members[2 * i] = (uint32_t)wait->members[i].process;
        members[2 * i + 1] = (uint32_t)wait->members[i].member;
    }
    return 2 * count;
}

static void fill_blocked(Jd__Blocked *body, const struct jd_blocked_wait *wait,
                         char *operation, uint32_t members[2 * JD_WAIT_NAMED])
{
    body->wait = wait->number;
    body->operation = operation;
    body->processes = (uint32_t *)wait->processes; /* both have 32 bits */
    body->n_processes = at_most(wait->count);
    body->n_members = pack_members(wait, members);
    body->members = members;
    body->n_messages = wait->messages ? body->n_processes : 0;
    body->messages = (uint64_t *)wait->messages; /* only read */
    body->waited_ms = (uint64_t)(1000 * wait->waited);
    body->is_far = wait->is_far;
    body->is_alone = wait->is_alone;
    body->others = (uint64_t *)wait->others; /* only read */
    body->n_others = (size_t)wait->num_others;
    body->comm = wait->comm;
    body->is_transfer = wait->is_transfer;
    body->look = wait->look;
}

void jd__failure_report_blocked(const struct jd_blocked_wait *wait)
{
    char operation[160];
    uint32_t members[2 * JD_WAIT_NAMED];
    Jd__Blocked body = JD__BLOCKED__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    struct jd_client *client = begin_reporting();
    if (!client)
        return;
    print_operation(wait, operation, sizeof operation);
    fill_blocked(&body, wait, operation, members);
    message.body_case = JD__MESSAGE__BODY_BLOCKED;
    message.blocked = &body;
    jd__client_tell(client, &message);
    end_reporting();
}

static void take_followed(const Jd__Reply *reply, struct jd_followed *followed)
{
    for (size_t i = 0; i + 1 < reply->n_ranges; i += 2)
        for (uint32_t k = 0;
             k < reply->ranges[i + 1] && followed->count < JD_FOLLOWED; k++)
            followed->processes[followed->count++] =
                (int)(reply->ranges[i] + k);
    for (size_t i = 0;
         i + 1 < reply->n_members && followed->num_members < JD_FOLLOWED;
         i += 2)
        followed->members[followed->num_members++] =
            (struct jd_wait_end){ (int)reply->members[i],
                                  (int)reply->members[i + 1], false };
}

static void follow_wait(struct jd_client *client,
                        const struct jd_blocked_wait *wait,
                        struct jd_followed *ret_followed)
{
    char operation[160];
    Jd__Inquiry body = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = "asking for whom others wait",
                            .timeout = ASK_SECONDS,
                            .grace = ASK_GRACE };
    print_operation(wait, operation, sizeof operation);
    body.operation = operation;
    body.waited_ms = (uint64_t)(1000 * wait->waited);
    body.processes = (uint32_t *)wait->processes; /* both have 32 bits */
    body.n_processes = at_most(wait->count);
    jd__call_init(&call, JD__MESSAGE__BODY_INQUIRY, &body);
    if (jd__client_call(client, &call) == JD_OK)
        take_followed(call.reply, ret_followed);
    jd__call_finish(&call);
}

void jd__failure_report_follow(const struct jd_blocked_wait *wait,
                               struct jd_followed *ret_followed)
{
    struct jd_client *client = begin_reporting();
    ret_followed->count = ret_followed->num_members = 0;
    if (!client)
        return;
    follow_wait(client, wait, ret_followed);
    end_reporting();
}

/* As many numbers as the pairs have. */
static bool take_queued(const Jd__Reply *reply, struct jd_queued_answer *answer)
{
    size_t count = reply->n_ranges & ~(size_t)1;
    answer->ranges = malloc((count + 1) * sizeof *answer->ranges);
    if (!answer->ranges)
        return false;
    if (count)
        memcpy(answer->ranges, reply->ranges, count * sizeof *reply->ranges);
    answer->num_ranges = count;
    answer->num_unknown = (int)reply->count;
    answer->fewest = (uint64_t)reply->number;
    return true;
}

bool jd__failure_report_queued(uint64_t comm, uint64_t calls,
                               struct jd_queued_answer *ret_answer)
{
    struct jd_client *client = begin_reporting();
    Jd__Inquiry body = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = "asking what others have queued",
                            .timeout = ASK_SECONDS,
                            .grace = ASK_GRACE };
    if (!client)
        return false;
    body.comm = comm;
    body.calls = calls;
    jd__call_init(&call, JD__MESSAGE__BODY_INQUIRY, &body);
    bool is_had = jd__client_call(client, &call) == JD_OK &&
                  !call.reply->n_rows && take_queued(call.reply, ret_answer);
    jd__call_finish(&call);
    end_reporting();
    return is_had;
}

static char *ask_about_processes(struct jd_client *client, const int *processes,
                                 int count)
{
    char *text = NULL;
    Jd__Inquiry body = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = "asking what others do",
                            .timeout = ASK_SECONDS,
                            .grace = ASK_GRACE };
    body.processes = (uint32_t *)processes; /* both have 32 bits; only read */
    body.n_processes = at_most(count);
    jd__call_init(&call, JD__MESSAGE__BODY_INQUIRY, &body);
    if (jd__client_call(client, &call) == JD_OK && *call.reply->text)
        text = strdup(call.reply->text);
    jd__call_finish(&call);
    return text;
}

char *jd__failure_report_ask(const int *processes, int count)
{
    struct jd_client *client = begin_reporting();
    if (!client)
        return NULL;
    char *text = ask_about_processes(client, processes, count);
    end_reporting();
    return text;
}

#define STACK_SECONDS 5 /* for a debugger to come, read and go */

static jd_status ask_stack(struct jd_client *client, int process,
                           char **ret_text)
{
    Jd__StackOf body = JD__STACK_OF__INIT;
    struct jd_call call = { .operation = "the stack",
                            .timeout = STACK_SECONDS,
                            .grace = ASK_GRACE };
    body.process = (uint32_t)process;
    body.gives_up = true;
    jd__call_init(&call, JD__MESSAGE__BODY_STACK_OF, &body);
    jd_status status = jd__client_call(client, &call);
    if (status == JD_OK && *call.reply->text)
        *ret_text = strdup(call.reply->text);
    jd__call_finish(&call);
    return status;
}

jd_status jd__failure_report_stack(int process, char **ret_text)
{
    struct jd_client *client = begin_reporting();
    *ret_text = NULL;
    if (!client)
        return JD_OK;
    jd_status status = ask_stack(client, process, ret_text);
    end_reporting();
    return status;
}

void jd__failure_report_stack_shown(int process)
{
    struct jd_client *client = begin_reporting();
    Jd__StackShown body = JD__STACK_SHOWN__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    if (!client)
        return;
    body.process = (uint32_t)process;
    message.body_case = JD__MESSAGE__BODY_STACK_SHOWN;
    message.stack_shown = &body;
    jd__client_tell(client, &message);
    end_reporting();
}
