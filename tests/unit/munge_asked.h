/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * munge_asked.h - two munged of a test's own, a loop, and what munge answers on
 * it.
 *
 *     int main(void) { return munge_asked_main(run_suite); }
 *
 * set_up and tear_down are the fixture of each test, which asks has_munged()
 * first. jd's socket is that of `munged`; `other_munged` has another key.
 */
#ifndef TESTS_UNIT_MUNGE_ASKED_H
#define TESTS_UNIT_MUNGE_ASKED_H

#include "base/clock.h"
#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/auth/munge.h"
#include "tests/unit/munged.h"
#include "tests/unit/threads.h"
#include "tests/unit/unit.h"

#include <pthread.h>

#define PLENTY 60 /* seconds that nothing here takes */

static struct munged munged, other_munged;
static bool is_serving, is_built;

static inline bool has_munged(const char *test)
{
    if (!is_built || !is_serving)
        fprintf(stderr, "# %s: skipped, %s\n", test,
                is_built ? "munged is not installed or does not start"
                         : "this build is without munge");
    return is_built && is_serving;
}

/* ---- a loop, and answers that come on it -------------------------------- */

static struct jd_loop *loop;
static int at_rest; /* threads, with the loop's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int answers; /* guarded by lock, as the next two */
static jd_status answer_status;
static char answer_text[2048];

static inline void set_up(void)
{
    if (munged.pid > 0)
        kill(munged.pid, SIGCONT);
    jd__munge_set_socket(munged.socket);
    jd__clock_init_condition(&changed);
    answers = 0;
    UNIT_OK(jd__auth_start());
    UNIT_OK(jd__loop_create("jd-test", &loop));
    UNIT_OK(jd__loop_start(loop));
    at_rest = count_all_threads();
}

static inline void tear_down(void)
{
    jd__loop_destroy(loop);
    pthread_cond_destroy(&changed);
}

static inline void on_answer(void *arg, jd_status status, const char *text)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    ck_assert(jd__loop_is_current(loop));
    answers++;
    answer_status = status;
    snprintf(answer_text, sizeof answer_text, "%s", text);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static inline void wait_for_answers(int count)
{
    struct timespec until = jd__clock_timespec(jd__clock_now() + PLENTY);
    int error = 0;
    pthread_mutex_lock(&lock);
    while (answers < count && error == 0)
        error = pthread_cond_timedwait(&changed, &lock, &until);
    ck_assert_int_eq(answers, count);
    pthread_mutex_unlock(&lock);
}

struct decoding {
    const char *credential;
    const void *payload;
    size_t size;
    double timeout;
    struct jd_munge_question *question;
};

static inline void begin_decoding(void *arg)
{
    struct decoding *d = arg;
    struct jd_munge_spec spec = { .credential = d->credential,
                                  .payload = d->payload,
                                  .size = d->size,
                                  .user = JD_MUNGE_ROOT,
                                  .timeout = d->timeout };
    d->question = jd__munge_ask(loop, &spec, on_answer, NULL);
    ck_assert_ptr_nonnull(d->question);
}

static inline void decode(const char *credential, const void *payload,
                          size_t size, double timeout)
{
    struct decoding d = { credential, payload, size, timeout, NULL };
    answers = 0;
    ck_assert(jd__loop_run(loop, begin_decoding, &d));
    wait_for_answers(1);
}

static inline void expect_good(const char *credential, const char *payload)
{
    decode(credential, payload, strlen(payload), PLENTY);
    ck_assert_msg(answer_status == JD_OK, "%s", answer_text);
    ck_assert_str_eq(answer_text, "");
}

static inline void expect_bad(const char *credential, const char *payload,
                              const char *sentence)
{
    decode(credential, payload, strlen(payload), PLENTY);
    ck_assert_str_eq(jd_status_name(answer_status), "UNAUTHENTICATED");
    ck_assert_str_eq(answer_text, sentence);
}

static inline char *encode(const char *payload)
{
    char *credential = NULL;
    UNIT_OK(
        jd__munge_encode(payload, strlen(payload), PLENTY, NULL, &credential));
    return credential;
}

static inline void expect_munge(bool is_expected)
{
    bool is_there = !is_expected;
    UNIT_OK(jd__munge_look(PLENTY, NULL, &is_there));
    ck_assert_int_eq(is_there, is_expected);
}
/* ---- a test program ------------------------------------------------------ */

static inline bool find_out_whether_built(void)
{
    char *credential = NULL;
    jd__munge_set_socket("/nonexistent/munge");
    return jd__munge_encode("", 0, PLENTY, NULL, &credential) !=
           JD_UNIMPLEMENTED;
}

/* Runs the suite beside two munged. */
static inline int munge_asked_main(int (*run_suite)(void))
{
    is_built = find_out_whether_built();
    is_serving = munged_start(&munged) && munged_start(&other_munged);
    int code = run_suite();
    munged_end(&munged);
    munged_end(&other_munged);
    return code;
}

#endif
