/* SPDX-License-Identifier: BSD-3-Clause */
/* modex.c - questions and answers between two servers, through the store. */
#include "runtime/wireup/server/modex.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/net/wire.h"
#include "runtime/wireup/server/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_BYTES = 4 };

static void question_key(size_t host, int64_t number, struct store_key *key)
{
    store_key(key, "want/%zu/%lld", host, (long long)number);
}

static void answer_key(size_t host, int64_t number, struct store_key *key)
{
    store_key(key, "modex/%zu/%lld", host, (long long)number);
}

static void put_status(uint8_t bytes[STATUS_BYTES], pmix_status_t status)
{
    jd__wire_put_u32(bytes, (uint32_t)status);
}

static pmix_status_t get_status(const uint8_t bytes[STATUS_BYTES])
{
    return (pmix_status_t)jd__wire_get_u32(bytes);
}

/* ---- the owner ---------------------------------------------------------- */

struct modex_answer {
    const struct serving *serving;
    int64_t number;
};

/* On libpmix's thread, which must not wait: the Set is not waited for. */
static void on_published(pmix_status_t status, char *data, size_t size,
                         void *arg)
{
    struct modex_answer *answer = arg;
    const struct serving *serving = answer->serving;
    struct store_key key;
    uint8_t *value = malloc(STATUS_BYTES + size);
    answer_key(serving->plan->host, answer->number, &key);
    if (value) {
        put_status(value, status);
        if (size && status == PMIX_SUCCESS)
            memcpy(value + STATUS_BYTES, data, size);
        else
            size = 0;
        store_tell(serving->agent, &key, value, STATUS_BYTES + size);
    }
    free(value);
    free(answer);
}

static void answer_question(const struct serving *serving, int64_t number,
                            uint32_t process)
{
    pmix_proc_t proc;
    struct modex_answer *answer = malloc(sizeof *answer);
    if (!answer)
        return;
    *answer = (struct modex_answer){ serving, number };
    PMIX_LOAD_PROCID(&proc, serving->nspace, process);
    pmix_status_t status =
        PMIx_server_dmodex_request(&proc, on_published, answer);
    if (status != PMIX_SUCCESS)
        on_published(status, NULL, 0, answer);
}

/* A text, which stands behind the value's other bytes without a NUL. */
static uint32_t read_rank(ProtobufCBinaryData value)
{
    char text[16] = "";
    memcpy(text, value.data,
           value.len < sizeof text ? value.len : sizeof text - 1);
    return (uint32_t)strtoul(text, NULL, 10);
}

static void *serve_questions(void *arg)
{
    const struct serving *serving = arg;
    for (int64_t number = 1;; number++) {
        struct store_key key;
        struct jd_call call;
        question_key(serving->plan->host, number, &key);
        if (store_get(serving->agent, &key, 1, -1, &call) != JD_OK)
            return NULL; /* the service is gone, and the server ends */
        uint32_t process = read_rank(call.reply->entries[0]->value);
        jd__call_finish(&call);
        answer_question(serving, number, process);
    }
}

jd_status modex_start(const struct serving *serving)
{
    pthread_t thread;
    if (serving->plan->n_hosts == 1)
        return JD_OK;
    if (pthread_create(&thread, NULL, serve_questions, (void *)serving) != 0)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "a thread for other hosts' questions cannot start");
    pthread_detach(thread);
    return JD_OK;
}

/* ---- the asker ---------------------------------------------------------- */

struct modex_question {
    const struct serving *serving;
    uint32_t process;
    size_t host;
    double timeout;
    pmix_modex_cbfunc_t done;
    void *arg;
    struct jd_call call; /* with the answer's bytes */
};

static jd_status put_question(const struct modex_question *question,
                              int64_t *ret_number)
{
    struct jd_agent *agent = question->serving->agent;
    struct store_key key;
    char rank[16];
    store_key(&key, "want/%zu/count", question->host);
    jd_status status = store_count(agent, &key, ret_number);
    if (status != JD_OK)
        return status;
    question_key(question->host, *ret_number, &key);
    snprintf(rank, sizeof rank, "%u", (unsigned)question->process);
    return store_set(agent, &key, rank, strlen(rank));
}

static jd_status ask_store(struct modex_question *question)
{
    struct jd_agent *agent = question->serving->agent;
    struct store_key key;
    int64_t number;
    jd_status status = put_question(question, &number);
    if (status != JD_OK)
        return status;
    answer_key(question->host, number, &key);
    status = store_get(agent, &key, 1, question->timeout, &question->call);
    store_forget(agent, &key);
    question_key(question->host, number, &key);
    store_forget(agent, &key);
    return status;
}

static void release_question(void *arg)
{
    struct modex_question *question = arg;
    jd__call_finish(&question->call);
    free(question);
}

static void give_answer(struct modex_question *question, pmix_status_t code,
                        const uint8_t *data, size_t size)
{
    question->done(code, (const char *)data, size, question->arg,
                   release_question, question);
}

static void *run_question(void *arg)
{
    struct modex_question *question = arg;
    jd_status status = ask_store(question);
    if (status != JD_OK) {
        if (status != JD_UNAVAILABLE)
            log_say(JD_LOG_ERROR, "what process %u has published: %s",
                    (unsigned)question->process, jd_error_message());
        give_answer(question,
                    status == JD_DEADLINE_EXCEEDED ? PMIX_ERR_TIMEOUT
                                                   : PMIX_ERROR,
                    NULL, 0);
        return NULL;
    }
    ProtobufCBinaryData value = question->call.reply->entries[0]->value;
    if (value.len < STATUS_BYTES)
        give_answer(question, PMIX_ERROR, NULL, 0);
    else
        give_answer(question, get_status(value.data), value.data + STATUS_BYTES,
                    value.len - STATUS_BYTES);
    return NULL;
}

pmix_status_t modex_ask(const struct serving *serving, const pmix_proc_t *proc,
                        int timeout, pmix_modex_cbfunc_t done, void *arg)
{
    pthread_t thread;
    if (proc->rank >= serving->plan->count)
        return PMIX_ERR_NOT_FOUND;
    struct modex_question *question = calloc(1, sizeof *question);
    if (!question)
        return PMIX_ERR_NOMEM;
    *question = (struct modex_question){
        .serving = serving,
        .process = proc->rank,
        .host = plan_host_of(serving->plan, proc->rank),
        .timeout = timeout,
        .done = done,
        .arg = arg,
    };
    if (pthread_create(&thread, NULL, run_question, question) != 0) {
        free(question);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    pthread_detach(thread);
    return PMIX_SUCCESS;
}
