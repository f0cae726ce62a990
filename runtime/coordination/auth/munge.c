/* SPDX-License-Identifier: BSD-3-Clause */
/* munge.c - credentials of munged, asked for on threads of their own. */
#include "runtime/coordination/auth/munge.h"
#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <munge.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_SIZE 1024
#define WORDS_SIZE 512
#define WHAT_ELSE                                                              \
    "start munged on this host, or give the job a secret with JD_SECRET_FILE"

/*
 * Belongs to whoever waits, to the thread that asks munged, and to an answer
 * on its way to the loop; the last of them frees it.
 */
struct jd_munge_question {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    /* guarded by lock: */
    int owners;
    bool is_answered;
    bool is_over; /* nobody waits */
    /* constant: */
    const char *socket;
    double timeout;
    enum jd_munge_user user;
    char *credential; /* to be looked at; NULL: none */
    void *payload;
    size_t size;
    void *answer; /* to be made a credential of; NULL: none */
    size_t answer_size;
    struct jd_loop *loop; /* whom done is called on; NULL: somebody waits */
    jd_munge_done_f done;
    void *arg;
    struct event *timer; /* of the loop's thread */
    /* the answer; of the asking thread until is_answered: */
    jd_status status;
    char text[TEXT_SIZE];
    char *made; /* the new credential */
};

static const char *test_socket;

void jd__munge_set_socket(const char *path)
{
    test_socket = path;
}

/* ---- what munge says, as sentences -------------------------------------- */

__attribute__((format(printf, 3, 4))) static void
answer_question(struct jd_munge_question *question, jd_status status,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    question->status = status;
    vsnprintf(question->text, sizeof question->text, format, args);
    va_end(args);
}

/* Copied, since munge_ctx_get frees what munge_ctx_strerror gives. */
static void copy_words(munge_ctx_t context, munge_err_t error, char *words,
                       size_t size)
{
    const char *detail = munge_ctx_strerror(context);
    snprintf(words, size, "%s", detail ? detail : munge_strerror(error));
}

static const char *socket_of(munge_ctx_t context)
{
    const char *path = NULL;
    munge_ctx_get(context, MUNGE_OPT_SOCKET, &path);
    return path ? path : "unknown";
}

/* munged is at fault, or its absence; not what it was asked. */
static bool is_unavailable(munge_err_t error)
{
    return error == EMUNGE_SOCKET || error == EMUNGE_TIMEOUT ||
           error == EMUNGE_SNAFU || error == EMUNGE_NO_MEMORY;
}

static void answer_unavailable(struct jd_munge_question *question,
                               munge_ctx_t context, const char *words)
{
    answer_question(
        question, JD_UNAVAILABLE,
        "munge does not serve this process (socket %s): %s; " WHAT_ELSE,
        socket_of(context), words);
}

/* The credential's age is what is wrong with it. */
static void answer_age(struct jd_munge_question *question, munge_ctx_t context,
                       const char *words)
{
    time_t made = 0, seen = 0;
    int seconds = 0;
    munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &made);
    munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &seen);
    munge_ctx_get(context, MUNGE_OPT_TTL, &seconds);
    answer_question(
        question, JD_UNAUTHENTICATED,
        "munge does not vouch for the credential: %s: by the two hosts' "
        "clocks its age is %lld s, but it must be from 0 to %d s; set the "
        "clocks of the hosts",
        words, (long long)(seen - made), seconds);
}

static void answer_refused(struct jd_munge_question *question,
                           munge_ctx_t context, munge_err_t error)
{
    char words[WORDS_SIZE];
    copy_words(context, error, words, sizeof words);
    if (is_unavailable(error))
        answer_unavailable(question, context, words);
    else if (error == EMUNGE_CRED_EXPIRED || error == EMUNGE_CRED_REWOUND)
        answer_age(question, context, words);
    else if (error == EMUNGE_CRED_UNAUTHORIZED)
        answer_question(
            question, JD_UNAUTHENTICATED,
            "munge does not vouch for the credential: %s: it is for another "
            "user; start all processes as the same user",
            words);
    else if (error == EMUNGE_CRED_REPLAYED)
        answer_question(
            question, JD_UNAUTHENTICATED,
            "munge does not vouch for the credential: %s: it has been "
            "shown on this host before, but each connection must have one "
            "of its own",
            words);
    else
        answer_question(
            question, JD_UNAUTHENTICATED,
            "munge does not vouch for the credential: %s; all hosts of the "
            "job need the same munge key",
            words);
}

static bool is_taken(enum jd_munge_user user, uid_t uid)
{
    return user == JD_MUNGE_ANY || uid == geteuid() ||
           (user == JD_MUNGE_ROOT && uid == 0);
}

/* munge vouches for a credential; is it the one that is wanted? */
static void answer_vouched(struct jd_munge_question *question,
                           const void *payload, int size, uid_t uid)
{
    if (size < 0 || (size_t)size != question->size ||
        (size && memcmp(payload, question->payload, (size_t)size) != 0))
        answer_question(
            question, JD_UNAUTHENTICATED,
            "munge vouches for the credential, but it is for something "
            "else: its payload of %d bytes is not the %zu bytes that this "
            "connection must have",
            size, question->size);
    else if (!is_taken(question->user, uid))
        answer_question(
            question, JD_UNAUTHENTICATED,
            "munge vouches for the credential, but as user id %u's, and it "
            "must be %u's%s; start all processes as the same user",
            (unsigned)uid, (unsigned)geteuid(),
            question->user == JD_MUNGE_ROOT ? " or root's" : "");
    else
        answer_question(question, JD_OK, "%s", "");
}

/* ---- on the thread that asks -------------------------------------------- */

static void encode_credential(struct jd_munge_question *question,
                              munge_ctx_t context)
{
    char words[WORDS_SIZE];
    if (question->user == JD_MUNGE_OWN)
        munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, (int)geteuid());
    munge_err_t error = munge_encode(&question->made, context, question->answer,
                                     (int)question->answer_size);
    if (error == EMUNGE_SUCCESS) {
        answer_question(question, JD_OK, "%s", "");
        return;
    }
    copy_words(context, error, words, sizeof words);
    answer_unavailable(question, context, words);
}

static void decode_credential(struct jd_munge_question *question,
                              munge_ctx_t context)
{
    void *payload = NULL;
    int size = 0;
    uid_t uid = 0;
    munge_err_t error = munge_decode(question->credential, context, &payload,
                                     &size, &uid, NULL);
    if (error == EMUNGE_SUCCESS)
        answer_vouched(question, payload, size, uid);
    else
        answer_refused(question, context, error);
    free(payload);
}

static void disown_question(struct jd_munge_question *question)
{
    pthread_mutex_lock(&question->lock);
    bool is_last = --question->owners == 0;
    pthread_mutex_unlock(&question->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&question->answered);
    pthread_mutex_destroy(&question->lock);
    free(question->credential);
    free(question->payload);
    free(question->answer);
    free(question->made);
    free(question);
}

static void give_answer(void *arg);

/* Under the lock, so that who gives up does it before or after, and the loop
 * is there. Where the call fails, the timer comes instead. */
static void tell_asker(struct jd_munge_question *question)
{
    question->is_answered = true;
    pthread_cond_signal(&question->answered);
    if (!question->is_over && question->loop &&
        jd__loop_call(question->loop, give_answer, question))
        question->owners++;
}

/* Each with a context of its own: munge_decode leaves in it what the credential
 * says, its cipher for example. */
static void with_context(struct jd_munge_question *question,
                         void (*f)(struct jd_munge_question *, munge_ctx_t))
{
    munge_ctx_t context = munge_ctx_create();
    if (context && question->socket)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, question->socket);
    if (context)
        f(question, context);
    else
        answer_question(question, JD_UNAVAILABLE, "munge: there is no memory");
    if (context)
        munge_ctx_destroy(context);
}

static void *ask_munged(void *arg)
{
    struct jd_munge_question *question = arg;
    pthread_setname_np(pthread_self(), "jd-munge");
    answer_question(question, JD_OK, "%s", "");
    if (question->credential)
        with_context(question, decode_credential);
    if (question->status == JD_OK && question->answer)
        with_context(question, encode_credential);
    pthread_mutex_lock(&question->lock);
    tell_asker(question);
    pthread_mutex_unlock(&question->lock);
    disown_question(question);
    return NULL;
}

/* ---- on the threads that want to know ----------------------------------- */

static struct jd_munge_question *fail_thread(struct jd_munge_question *question,
                                             int error)
{
    question->owners--;
    disown_question(question);
    jd_fail(JD_RESOURCE_EXHAUSTED,
            "munge: no thread can be made: %s; raise the limit of processes "
            "(ulimit -u)",
            strerror(error));
    return NULL;
}

/* Starts the thread; it and the caller own the question. */
static struct jd_munge_question *
start_thread(struct jd_munge_question *question)
{
    pthread_t thread;
    int error = jd__thread_start_detached(NULL, ask_munged, question, &thread);
    return error ? fail_thread(question, error) : question;
}

/* At least one byte, so that NULL is no memory. */
static void *copy_bytes(const void *bytes, size_t size)
{
    void *result = malloc(size ? size : 1);
    if (result && size)
        memcpy(result, bytes, size);
    return result;
}

static bool copy_spec(struct jd_munge_question *question,
                      const struct jd_munge_spec *spec)
{
    question->socket = test_socket;
    question->timeout = spec->timeout;
    question->user = spec->user;
    question->size = spec->size;
    question->answer_size = spec->answer_size;
    if (spec->credential) {
        question->credential = strdup(spec->credential);
        question->payload = copy_bytes(spec->payload, spec->size);
    }
    if (spec->answer)
        question->answer = copy_bytes(spec->answer, spec->answer_size);
    return (!spec->credential || (question->credential && question->payload)) &&
           (!spec->answer || question->answer);
}

/* A question of two owners; NULL with a sentence. */
static struct jd_munge_question *
create_question(const struct jd_munge_spec *spec)
{
    struct jd_munge_question *question = calloc(1, sizeof *question);
    if (!question) {
        jd__fail_no_memory("munge", sizeof *question);
        return NULL;
    }
    pthread_mutex_init(&question->lock, NULL);
    jd__clock_init_condition(&question->answered);
    question->owners = 2;
    if (copy_spec(question, spec))
        return question;
    jd__fail_no_memory("munge", spec->size + spec->answer_size);
    question->owners = 1;
    disown_question(question);
    return NULL;
}

static void describe_silence(const struct jd_munge_question *question,
                             char *text, size_t size)
{
    snprintf(text, size,
             "munged has not answered within %.3g s; look whether it runs and "
             "is not stopped; " WHAT_ELSE,
             question->timeout);
}

/* ---- and wait ----------------------------------------------------------- */

/* Waits at most until the deadline. Returns whether there is an answer. */
static bool wait_for_answer(struct jd_munge_question *question,
                            const struct jd_clock *clock, double deadline)
{
    pthread_mutex_lock(&question->lock);
    while (!question->is_answered &&
           jd__clock_wait(clock, &question->answered, &question->lock,
                          deadline) == 0) {
    }
    question->is_over = true;
    bool is_answered = question->is_answered;
    pthread_mutex_unlock(&question->lock);
    return is_answered;
}

jd_status jd__munge_encode(const void *payload, size_t size, double timeout,
                           const struct jd_clock *clock, char **ret_credential)
{
    char silence[TEXT_SIZE];
    double deadline = jd__clock_read(clock) + timeout;
    struct jd_munge_spec spec = { .answer = payload,
                                  .answer_size = size,
                                  .user = JD_MUNGE_ANY,
                                  .timeout = timeout };
    struct jd_munge_question *question = create_question(&spec);
    if (question)
        question = start_thread(question);
    if (!question)
        return JD_RESOURCE_EXHAUSTED;
    jd_status status;
    if (!wait_for_answer(question, clock, deadline)) {
        describe_silence(question, silence, sizeof silence);
        status = jd_fail(JD_DEADLINE_EXCEEDED, "%s", silence);
    } else if (question->status != JD_OK) {
        status = jd_fail(question->status, "%s", question->text);
    } else {
        status = JD_OK;
        *ret_credential = question->made;
        question->made = NULL;
    }
    disown_question(question);
    return status;
}

/* Where libmunge looks for munged, nothing is. */
static bool has_no_socket(void)
{
    struct stat file;
    munge_ctx_t context = test_socket ? NULL : munge_ctx_create();
    const char *path = context ? socket_of(context) : test_socket;
    bool is_missing =
        path && stat(path, &file) != 0 && (errno == ENOENT || errno == ENOTDIR);
    if (context)
        munge_ctx_destroy(context);
    return is_missing;
}

jd_status jd__munge_look(double timeout, const struct jd_clock *clock,
                         bool *ret_is_there)
{
    char *credential = NULL;
    if (has_no_socket()) {
        *ret_is_there = false;
        return JD_OK;
    }
    jd_status status = jd__munge_encode("", 0, timeout, clock, &credential);
    if (status != JD_OK)
        return status;
    free(credential);
    *ret_is_there = true;
    return JD_OK;
}

/* ---- or are on the loop's thread ---------------------------------------- */

/* Nobody waits from here on; the loop's share is given up. */
static void finish_question(struct jd_munge_question *question)
{
    pthread_mutex_lock(&question->lock);
    question->is_over = true;
    pthread_mutex_unlock(&question->lock);
    event_free(question->timer);
    disown_question(question);
}

/* The answer's own share keeps the question until its end. */
static void give_answer(void *arg)
{
    struct jd_munge_question *question = arg;
    if (!question->is_over) {
        finish_question(question);
        question->done(question->arg, question->status,
                       question->status == JD_OK && question->made
                           ? question->made
                           : question->text);
    }
    disown_question(question);
}

static void give_up(evutil_socket_t fd, short what, void *arg)
{
    struct jd_munge_question *question = arg;
    jd_munge_done_f done = question->done;
    void *done_arg = question->arg;
    char text[TEXT_SIZE];
    (void)fd, (void)what;
    describe_silence(question, text, sizeof text);
    finish_question(question);
    done(done_arg, JD_DEADLINE_EXCEEDED, text);
}

/* The timer of a new question. */
static bool set_timer(struct jd_munge_question *question)
{
    struct timeval after = { .tv_sec = (time_t)question->timeout };
    after.tv_usec =
        (suseconds_t)(1e6 * (question->timeout - (double)after.tv_sec));
    question->timer =
        evtimer_new(jd__loop_base(question->loop), give_up, question);
    if (question->timer && evtimer_add(question->timer, &after) == 0)
        return true;
    if (question->timer)
        event_free(question->timer);
    jd__fail_no_memory("munge", sizeof *question);
    return false;
}

struct jd_munge_question *jd__munge_ask(struct jd_loop *loop,
                                        const struct jd_munge_spec *spec,
                                        jd_munge_done_f done, void *arg)
{
    struct jd_munge_question *question = create_question(spec);
    if (!question)
        return NULL;
    question->loop = loop;
    question->done = done;
    question->arg = arg;
    if (!set_timer(question)) {
        question->owners = 1;
        disown_question(question);
        return NULL;
    }
    struct event *timer = question->timer;
    question = start_thread(question);
    if (!question)
        event_free(timer);
    return question;
}

void jd__munge_cancel(struct jd_munge_question *question)
{
    if (question)
        finish_question(question);
}
