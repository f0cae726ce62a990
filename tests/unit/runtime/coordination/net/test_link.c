/* SPDX-License-Identifier: BSD-3-Clause */
/* test_link.c - the background thread, and connected sockets on it. */
#include "base/clock.h"
#include "runtime/coordination/net/child.h"
#include "runtime/coordination/net/link.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void do_nothing(void *arg)
{
    (void)arg;
}

/* ---- the loop ----------------------------------------------------------- */

enum { THREADS = 4, JOBS = 500 };

static struct jd_loop *loop;

/* What one thread has the loop do, in order. */
struct jobs {
    int next;
    bool is_out_of_order, is_elsewhere;
};

struct job {
    struct jobs *jobs;
    int number;
};

static void run_job(void *arg)
{
    struct job *job = arg;
    job->jobs->is_out_of_order |= job->number != job->jobs->next++;
    job->jobs->is_elsewhere |= !jd__loop_is_current(loop);
    free(job);
}

static void *send_jobs(void *arg)
{
    for (int i = 0; i < JOBS; i++) {
        struct job *job = malloc(sizeof *job);
        *job = (struct job){ arg, i };
        if (!jd__loop_call(loop, run_job, job))
            free(job);
    }
    return NULL;
}

START_TEST(functions_run_in_order_on_the_loops_thread)
{
    struct jobs jobs[THREADS] = { 0 };
    pthread_t threads[THREADS];
    UNIT_OK(jd__loop_create("jd-test", &loop));
    UNIT_OK(jd__loop_start(loop));
    ck_assert(!jd__loop_is_current(loop));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, send_jobs, &jobs[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert(jd__loop_run(loop, do_nothing, NULL));
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(jobs[i].next, JOBS);
        ck_assert(!jobs[i].is_out_of_order);
        ck_assert(!jobs[i].is_elsewhere);
    }
    jd__loop_destroy(loop);
}
END_TEST

static void count_one(void *arg)
{
    ++*(int *)arg;
}

START_TEST(what_was_sent_runs_before_it_goes)
{
    int count = 0;
    UNIT_OK(jd__loop_create("jd-test", &loop));
    jd__loop_call(loop, count_one, &count);
    jd__loop_destroy(loop); /* it never ran */
    ck_assert_int_eq(count, 1);
    for (int round = 0; round < 200; round++) {
        count = 0;
        UNIT_OK(jd__loop_create("jd-test", &loop));
        UNIT_OK(jd__loop_start(loop));
        for (int i = 0; i < 10; i++)
            jd__loop_call(loop, count_one, &count);
        jd__loop_destroy(loop);
        ck_assert_int_eq(count, 10);
    }
    jd__loop_destroy(NULL);
}
END_TEST

static void read_mask(void *mask)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask);
}

static int find_eventfd(void)
{
    char path[32], link[64];
    for (int fd = 3; fd < 256; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length > 0 && strstr((link[length] = '\0', link), "[eventfd]"))
            return fd;
    }
    return -1;
}

/* In a process of its own, whose exit code it gives; what it says goes into
 * text. With a replacement the number is another file's. */
static int take_eventfd(const char *replacement, char text[512])
{
    int out[2], how;
    ck_assert_int_eq(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDERR_FILENO);
        if (jd__loop_create("jd-test", &loop) != JD_OK)
            _exit(90);
        int fd = find_eventfd();
        close(fd);
        if (replacement && open(replacement, O_RDWR) != fd)
            _exit(91);
        if (replacement)
            jd__loop_check(loop);
        else
            jd__loop_call(loop, do_nothing, NULL);
        _exit(92);
    }
    close(out[1]);
    ssize_t length = read(out[0], text, 511);
    text[length > 0 ? length : 0] = '\0';
    close(out[0]);
    ck_assert_int_eq(waitpid(pid, &how, 0), pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

START_TEST(who_takes_its_descriptor_ends_the_process)
{
    char text[512];
    ck_assert_int_eq(take_eventfd(NULL, text), 1);
    ck_assert_ptr_nonnull(
        strstr(text, "the background thread jd-test cannot go on: it cannot be "
                     "woken; has something in this process closed file "
                     "descriptors that it had not opened"));
    ck_assert_int_eq(take_eventfd("/dev/null", text), 1);
    ck_assert_ptr_nonnull(strstr(text, "its eventfd is closed, and another "
                                       "file has its number; has something"));
}
END_TEST

START_TEST(it_blocks_all_signals)
{
    sigset_t mask, before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    UNIT_OK(jd__loop_create("jd-test", &loop));
    UNIT_OK(jd__loop_start(loop));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    ck_assert(jd__loop_run(loop, read_mask, &mask));
    ck_assert(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGPIPE));
    ck_assert_int_eq(sigismember(&after, SIGTERM),
                     sigismember(&before, SIGTERM));
    jd__loop_destroy(loop);
}
END_TEST

/* ---- links -------------------------------------------------------------- */

enum { LIMIT = 65536, NUM_SENDERS = 8 };

/* One end, and what came there. */
static struct end {
    struct jd_link_pool *pool;
    struct jd_link *link;
    int num_messages;
    uint64_t last_id[NUM_SENDERS]; /* of each sender */
    bool is_wrong;
    int num_closed, error;
    char why[160];
    sem_t closed;
} near_end, far_end;

/* Sender s sends 8 * 1, 8 * 2, ... + s, each with that many bytes. */
static void check_message(struct end *end, const Jd__Message *message)
{
    unsigned sender = message->id % NUM_SENDERS;
    uint64_t number = message->id / NUM_SENDERS;
    end->num_messages++;
    if (message->body_case != JD__MESSAGE__BODY_REPORT)
        return;
    end->is_wrong |= number != ++end->last_id[sender];
    const char *text = message->report->text;
    end->is_wrong |= strlen(text) != number;
    for (const char *c = text; *c; c++)
        end->is_wrong |= *c != (char)('a' + sender);
}

static void on_message(void *arg, Jd__Message *message)
{
    check_message(arg, message);
}

static void on_closed(void *arg, int error, const char *why)
{
    struct end *end = arg;
    end->num_closed++;
    end->error = error;
    snprintf(end->why, sizeof end->why, "%s", why ? why : "");
    sem_post(&end->closed);
}

static const struct jd_link_hooks hooks = { .on_message = on_message,
                                            .on_closed = on_closed };

static void open_end(struct end *end, int fd)
{
    memset(end, 0, sizeof *end);
    sem_init(&end->closed, 0, 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    UNIT_OK(jd__link_pool_create(loop, &end->pool));
    end->link = jd__link_create(end->pool, fd, LIMIT, &hooks, end);
    ck_assert_ptr_nonnull(end->link);
    ck_assert(jd__link_start(end->link));
}

/* A link and the bare other end of its connection. */
static int open_one(void)
{
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
                     0);
    UNIT_OK(jd__loop_create("jd-test", &loop));
    open_end(&near_end, fds[0]);
    UNIT_OK(jd__loop_start(loop));
    return fds[1];
}

static void close_end(void *arg)
{
    struct end *end = arg;
    jd__link_destroy(end->link);
    jd__link_pool_destroy(end->pool);
}

static void close_one(void)
{
    jd__loop_run(loop, close_end, &near_end);
    jd__loop_destroy(loop);
}

static void await_closed(struct end *end)
{
    while (sem_wait(&end->closed) != 0)
        ;
}

static bool send_report(struct jd_link *link, uint64_t id, const char *text)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Report report = JD__REPORT__INIT;
    report.text = (char *)text;
    message.id = id;
    message.body_case = JD__MESSAGE__BODY_REPORT;
    message.report = &report;
    return jd__link_send(link, &message);
}

/* ---- closing ------------------------------------------------------------ */

START_TEST(an_end_of_file_is_heard)
{
    int fd = open_one();
    close(fd);
    await_closed(&near_end);
    ck_assert_int_eq(near_end.error, 0);
    ck_assert(!send_report(near_end.link, 1, "x"));
    close_one();
    ck_assert_int_eq(near_end.num_closed, 1);
}
END_TEST

START_TEST(a_frame_that_is_none_is_heard)
{
    int fd = open_one();
    ck_assert_int_eq(write(fd, "\0\0\2\0", 4), 4);
    await_closed(&near_end);
    ck_assert_int_eq(near_end.error, EPROTO);
    ck_assert_str_eq(near_end.why,
                     "a frame of 131072 bytes, where 65536 are allowed "
                     "(JD_MAX_MESSAGE, which must be the same everywhere)");
    close(fd);
    close_one();
    ck_assert_int_eq(near_end.num_closed, 1);
}
END_TEST

START_TEST(one_who_does_not_read_is_closed)
{
    char text[4096];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    int fd = open_one();
    while (send_report(near_end.link, 1, text))
        ;
    await_closed(&near_end);
    ck_assert_int_eq(near_end.error, ENOBUFS);
    ck_assert_ptr_nonnull(strstr(near_end.why, "it does not read: "));
    close(fd);
    close_one();
}
END_TEST

static void end_it(void *arg)
{
    char *text = malloc(60000);
    memset(text, 'a', 59999);
    text[59999] = '\0';
    send_report(near_end.link, 8, text);
    send_report(near_end.link, 16, text);
    jd__link_end(near_end.link);
    *(bool *)arg = send_report(near_end.link, 24, "x"); /* too late */
    free(text);
}

START_TEST(an_end_delivers_the_last_message)
{
    bool was_sent = true;
    size_t got = 0;
    char bytes[997];
    int fd = open_one(), small = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ck_assert_int_eq(write(fd, "hal", 3), 3); /* is not read */
    double begin = jd__clock_now();
    jd__loop_run(loop, end_it, &was_sent);
    ck_assert(!was_sent);
    for (ssize_t more; (more = read(fd, bytes, sizeof bytes)) > 0;)
        got += (size_t)more;
    /* It waits a second for who reads. */
    ck_assert(got >= 2 * 60000 || jd__clock_now() - begin >= 1);
    close(fd);
    await_closed(&near_end);
    ck_assert_int_eq(near_end.error, 0);
    ck_assert_int_eq(near_end.num_messages, 0);
    close_one();
}
END_TEST

/* It closes neither its end nor its mouth. */
START_TEST(an_end_comes_though_the_other_goes_on)
{
    bool was_sent;
    int fd = open_one();
    fcntl(fd, F_SETFL, O_NONBLOCK);
    jd__loop_run(loop, end_it, &was_sent);
    while (sem_trywait(&near_end.closed) != 0) {
        send(fd, "x", 1, MSG_NOSIGNAL);
        jd__loop_run(loop, do_nothing, NULL);
    }
    ck_assert_int_eq(near_end.error, 0);
    close(fd);
    close_one();
}
END_TEST

static void set_small(void *arg)
{
    jd__link_set_limit(arg, 10);
}

START_TEST(the_limit_may_change)
{
    int fd = open_one();
    jd__loop_run(loop, set_small, near_end.link);
    ck_assert_int_eq(write(fd, "\x0b\0\0\0", 4), 4);
    await_closed(&near_end);
    ck_assert_str_eq(near_end.why,
                     "a frame of 11 bytes, where 10 are allowed "
                     "(JD_MAX_MESSAGE, which must be the same everywhere)");
    close(fd);
    close_one();
}
END_TEST

/* ---- many senders ------------------------------------------------------- */

static void *send_many(void *arg)
{
    unsigned sender = (unsigned)(intptr_t)arg;
    char text[301] = "";
    for (uint64_t n = 1; n <= 300; n++) {
        text[n - 1] = (char)('a' + sender);
        while (jd__link_backlog(near_end.link) > LIMIT)
            sched_yield(); /* it is not to be closed */
        if (!send_report(near_end.link, NUM_SENDERS * n + sender, text))
            return arg;
    }
    return NULL;
}

static void end_link(void *link)
{
    jd__link_end(link);
}

START_TEST(what_many_threads_send_arrives_whole)
{
    pthread_t threads[NUM_SENDERS];
    int fds[2];
    void *result;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
                     0);
    UNIT_OK(jd__loop_create("jd-test", &loop));
    open_end(&near_end, fds[0]);
    open_end(&far_end, fds[1]);
    UNIT_OK(jd__loop_start(loop));
    for (int i = 0; i < NUM_SENDERS; i++)
        pthread_create(&threads[i], NULL, send_many, (void *)(intptr_t)i);
    for (int i = 0; i < NUM_SENDERS; i++) {
        pthread_join(threads[i], &result);
        ck_assert_ptr_null(result);
    }
    /* The link's end waits for its reader, but not for ever. */
    while (jd__link_backlog(near_end.link))
        sched_yield();
    jd__loop_run(loop, end_link, near_end.link);
    await_closed(&far_end); /* behind all that was sent */
    ck_assert_int_eq(far_end.num_messages, NUM_SENDERS * 300);
    ck_assert(!far_end.is_wrong);
    ck_assert_int_eq(far_end.error, 0);
    jd__loop_run(loop, close_end, &far_end);
    await_closed(&near_end);
    close_one();
}
END_TEST

/* ---- a forked child ----------------------------------------------------- */

START_TEST(a_child_closes_the_sockets_of_all_links)
{
    char byte;
    int fd = open_one(), status, hold[2];
    ck_assert_int_eq(pipe(hold), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        jd__child_close_all();
        close(fd);
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    close_one(); /* the parent's end goes: the child has no copy */
    ck_assert_int_eq(read(fd, &byte, 1), 0);
    close(fd);
    close(hold[0]);
    close(hold[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link");
    TCase *tcase = unit_case(suite, "the loop");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, functions_run_in_order_on_the_loops_thread);
    tcase_add_test(tcase, what_was_sent_runs_before_it_goes);
    tcase_add_test(tcase, it_blocks_all_signals);
    tcase_add_test(tcase, who_takes_its_descriptor_ends_the_process);
    tcase = unit_case(suite, "closing");
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, an_end_of_file_is_heard);
    tcase_add_test(tcase, a_frame_that_is_none_is_heard);
    tcase_add_test(tcase, one_who_does_not_read_is_closed);
    tcase_add_test(tcase, an_end_delivers_the_last_message);
    tcase_add_test(tcase, an_end_comes_though_the_other_goes_on);
    tcase_add_test(tcase, the_limit_may_change);
    tcase = unit_case(suite, "sharing");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, what_many_threads_send_arrives_whole);
    tcase_add_test(tcase, a_child_closes_the_sockets_of_all_links);
    return unit_main(suite);
}
