/* SPDX-License-Identifier: BSD-3-Clause */
/* test_join_search.c - a process that knows only hosts looks for its service:
 * the hosts are ports of this one. */
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/server/speakers.h"
#include "runtime/coordination/session/session_private.h"
#include "tests/unit/agent.h"
#include "tests/unit/set_clock.h"

enum { MAX_CANDIDATES = 12, VAIN_SECONDS = 5 };

/* ---- services, each of a job of its own --------------------------------- */

struct place {
    struct jd_loop *loop;
    struct jd_server *server;
    int port;
};

static struct jd_env *env;
static struct jd_settings *settings;
static struct jd_auth auth;

static void set_up(void)
{
    env = unit_env("JD_SECRET=sesame\nSLURM_JOB_ID=7\nSLURM_STEP_ID=3\n");
    UNIT_OK(jd__auth_start());
    UNIT_OK(jd__options_resolve(env, NULL, 0, &settings));
    UNIT_OK(jd__secret_find(env, settings, NULL, &auth));
}

static void tear_down(void)
{
    jd__options_destroy(settings);
    jd__env_destroy(env);
}

/* Port 0: any. */
static void open_place(struct place *place, const char *job, int port)
{
    struct jd_listen listen = { .port = port,
                                .loopback = true,
                                .variable = "the test" };
    struct jd_server_spec spec = {
        .service = { .auth = &auth,
                     .job = job,
                     .count = 2,
                     .heartbeat_timeout = 60,
                     .max_message = MAX_MESSAGE,
                     .speakers = JD_SPEAK_NONE,
                     .host = "h0",
                     .program = "train",
                     .pid = 77 },
    };
    UNIT_OK(jd__loop_create("jd-service", &place->loop));
    UNIT_OK(jd__listen_open(&listen, &spec.listeners));
    place->port = spec.listeners.port;
    spec.loop = place->loop;
    UNIT_OK(jd__sockets_create(&spec, &place->server));
    UNIT_OK(jd__loop_start(place->loop));
}

static void close_place(struct place *place)
{
    jd__sockets_destroy(place->server);
    jd__loop_destroy(place->loop);
}

/* Process 0 has come, and waits for the other. */
static void enter_first(struct process *p, const struct place *place)
{
    struct jd_agent_spec spec = make_spec(0, 2);
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Join body = JD__JOIN__INIT;
    spec.job = "slurm-7.3";
    spec.attempt = 0;
    spec.auth = &auth;
    add_endpoint(p, place->port);
    open_agent(p, &spec);
    UNIT_OK(meet_for(p, 30));
    message.body_case = JD__MESSAGE__BODY_JOIN;
    message.timeout_ms = -1;
    message.join = &body;
    ck_assert(jd__agent_tell(p->agent, &message));
}

/* ---- process 1 looks for it --------------------------------------------- */

struct seeker {
    char texts[MAX_CANDIDATES][32];
    char *candidates[MAX_CANDIDATES];
    struct jd_cluster cluster;
    struct jd_session *session; /* once it is in */
    bool is_vain; /* by a clock that stands still it has VAIN_SECONDS */
    int count;    /* of processes, as it believes */
    jd_status status;
    char error[1024];
};

static void add_candidate(struct seeker *seeker, int port)
{
    size_t i = seeker->cluster.num_coordinator_candidates++;
    snprintf(seeker->texts[i], sizeof seeker->texts[i], "127.0.0.1:%d", port);
    seeker->candidates[i] = seeker->texts[i];
    seeker->cluster.coordinator_candidates = seeker->candidates;
    strcpy(seeker->cluster.coordinator_address.source, "only Slurm knows");
}

static void *seek(void *arg)
{
    struct seeker *seeker = arg;
    static const struct jd_local_facts facts = {
        .host = "h1", .boot_id = "b1", .program = "train", .pid = 99
    };
    struct jd_session_spec spec = {
        .env = env,
        .settings = settings,
        .cluster = &seeker->cluster,
        .facts = &facts,
        .index = 1,
        .count = seeker->count ? seeker->count : 2,
        .deadline = jd__clock_now() + 60,
    };
    if (seeker->is_vain) {
        spec.clock = &set_clock;
        spec.deadline = SET_CLOCK_BEGIN + VAIN_SECONDS;
    }
    seeker->status = jd__session_create(&spec, &seeker->session);
    if (seeker->status != JD_OK)
        snprintf(seeker->error, sizeof seeker->error, "%s", jd_error_message());
    return NULL;
}

static void expect_found(struct seeker *seeker, const struct place *place)
{
    ck_assert_msg(seeker->status == JD_OK, "%s", seeker->error);
    const struct jd_job_key *key =
        jd__client_key(jd__session_client(seeker->session));
    ck_assert_int_eq(key->endpoints.count, 1);
    ck_assert_int_eq(key->endpoints.items[0].port, place->port);
    jd__session_destroy(seeker->session);
}

/* ---- the cases ---------------------------------------------------------- */

START_TEST(closed_ports_and_other_jobs_are_passed_over)
{
    struct place own, other;
    struct process zero = { .num_lost = 0 };
    struct seeker seeker = { .count = 2 };
    open_place(&own, "slurm-7.3", 0);
    open_place(&other, "slurm-8.3", 0);
    enter_first(&zero, &own);
    add_candidate(&seeker, unused_port());
    add_candidate(&seeker, other.port);
    add_candidate(&seeker, own.port);
    add_candidate(&seeker, unused_port());
    seek(&seeker);
    expect_found(&seeker, &own);
    close_agent(&zero);
    close_place(&other);
    close_place(&own);
}
END_TEST

/* Each round comes by the listener in front of it. */
static void await_round(int listener)
{
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

START_TEST(it_may_come_up_late)
{
    struct place own;
    struct process zero = { .num_lost = 0 };
    struct seeker seeker = { .count = 2 };
    pthread_t thread;
    int front, listener = listen_bare(&front), port = unused_port();
    add_candidate(&seeker, front);
    add_candidate(&seeker, port);
    pthread_create(&thread, NULL, seek, &seeker);
    await_round(listener);
    await_round(listener);
    open_place(&own, "slurm-7.3", port);
    close(listener);
    enter_first(&zero, &own);
    pthread_join(thread, NULL);
    expect_found(&seeker, &own);
    close_agent(&zero);
    close_place(&own);
}
END_TEST

/* The last one's answer stands, though time is up before it answers again. */
START_TEST(all_that_was_tried_is_named)
{
    struct place other;
    struct seeker seeker = { .is_vain = true };
    char wanted[1024];
    pthread_t thread;
    int ports[9], last, listener = listen_bare(&last);
    open_place(&other, "slurm-8.3", 0);
    for (int i = 0; i < 9; i++)
        ports[i] = unused_port();
    add_candidate(&seeker, ports[0]);
    add_candidate(&seeker, other.port);
    for (int i = 1; i < 9; i++)
        add_candidate(&seeker, ports[i]);
    add_candidate(&seeker, last);
    pthread_create(&thread, NULL, seek, &seeker);
    await_round(listener);
    ck_assert_int_ge(accept(listener, NULL, NULL), 0);
    set_clock_to(SET_CLOCK_BEGIN + VAIN_SECONDS);
    pthread_join(thread, NULL);
    ck_assert_int_eq(seeker.status, JD_DEADLINE_EXCEEDED);
    snprintf(
        wanted, sizeof wanted,
        "jd_initialize: process 1 has not found the coordination service "
        "in 5 s; only Slurm knows, which were tried in turn: 127.0.0.1:%d, "
        "127.0.0.1:%d, 127.0.0.1:%d, 127.0.0.1:%d, 127.0.0.1:%d, "
        "127.0.0.1:%d, 127.0.0.1:%d, 127.0.0.1:%d and 1 more (Connection "
        "refused), 127.0.0.1:%d (it belongs to another job "
        "(\"slurm-7.3\"; this one is \"slurm-8.3\"); two jobs need two "
        "ports), 127.0.0.1:%d (it closed the connection, as the job's "
        "service does where strangers flood it); see whether process 0 has "
        "started, or set "
        "JD_COORDINATOR_ADDRESS to its host (JD_INITIALIZATION_TIMEOUT "
        "changes the deadline)",
        ports[0], ports[1], ports[2], ports[3], ports[4], ports[5], ports[6],
        ports[7], other.port, last);
    ck_assert_str_eq(seeker.error, wanted);
    close(listener);
    close_place(&other);
}
END_TEST

START_TEST(what_the_own_service_says_is_final)
{
    struct place own;
    struct seeker seeker = { .count = 3 };
    open_place(&own, "slurm-7.3", 0);
    add_candidate(&seeker, own.port);
    add_candidate(&seeker, unused_port());
    seek(&seeker);
    ck_assert_int_eq(seeker.status, JD_INVALID_ARGUMENT);
    ck_assert_str_eq(
        seeker.error,
        "jd_initialize: process 1 is not let in by the coordination service: "
        "it believes that the job has 3 processes, but it has 2");
    close_place(&own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("search");
    TCase *tcase = unit_case(suite, "search");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, closed_ports_and_other_jobs_are_passed_over);
    tcase_add_test(tcase, it_may_come_up_late);
    tcase_add_test(tcase, all_that_was_tried_is_named);
    tcase_add_test(tcase, what_the_own_service_says_is_final);
    return unit_main(suite);
}
