/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_misstart WAY - starts that fail, each with its status and sentence.
 * Where the library itself ends the process, testlist has the sentence.
 */
#include "expect.h"
#include "jd.h"
#include "jd_mpi.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static int launcher_rank(void)
{
    const char *text = launcher_rank_text();
    return text ? atoi(text) : 0;
}

static int twice(void)
{
    JD_CHECK(jd_initialize());
    EXPECT_STATUS(jd_initialize(), JD_FAILED_PRECONDITION,
                  "jd is initialised already (process ");
    EXPECT(jd_is_initialized(), "the first one stands");
    JD_CHECK(jd_sync_global_devices("still works"));
    return 0;
}

/* No jd_initialize() where the launcher started several processes. */
static int forgotten(void)
{
    jd_mesh *mesh;
    EXPECT(jd_device_count() == -1, "%d", jd_device_count());
    EXPECT(strstr(jd_error_message(),
                  "jd_device_count: jd_initialize() was not called, but "
                  "the job has 2 processes (") &&
               strstr(jd_error_message(), "_SIZE); call jd_initialize() first"),
           "%s", jd_error_message());
    EXPECT(jd_process_index() == -1 && jd_process_count() == -1, "-1");
    EXPECT(strstr(jd_error_message(), "jd_device_count: "), "%s",
           jd_error_message()); /* a sentence that is there stays */
    EXPECT(jd_mpi_comm() == MPI_COMM_NULL, "no communicator");
    EXPECT_STATUS(jd_mesh_create(&mesh, 1, (int[]){ -1 },
                                 (const char *[]){ "data" }, NULL),
                  JD_FAILED_PRECONDITION, "jd_initialize() was not called");
    return 0;
}

static int same_id(void)
{
    EXPECT_STATUS(jd_initialize(.num_processes = 2, .process_id = 1),
                  JD_INVALID_ARGUMENT,
                  "two processes have the index 1: MPI rank 0 (pid ");
    EXPECT(strstr(jd_error_message(), ", from option process_id) and MPI "
                                      "rank 1 (pid "),
           "%s", jd_error_message());
    EXPECT(!jd_is_initialized(), "nothing is left");
    return 0;
}

/* Correct it and try again: MPI, once up, stays. */
static int same_id_then_right(void)
{
    same_id();
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_sync_global_devices("mended"));
    return 0;
}

static int wrong_count(void)
{
    EXPECT_STATUS(
        jd_initialize(.num_processes = 3, .process_id = launcher_rank()),
        JD_FAILED_PRECONDITION,
        "was told that the job has 3 processes (option "
        "num_processes), but the MPI world has 2;");
    return 0;
}

/* One process was told otherwise: all say so. */
static int one_wrong_count(void)
{
    if (launcher_rank() == 1)
        setenv("JD_NUM_PROCESSES", "5", 1);
    EXPECT_STATUS(jd_initialize(), JD_FAILED_PRECONDITION,
                  "jd_initialize: MPI rank 1 (pid ");
    EXPECT(strstr(jd_error_message(),
                  "5 processes (JD_NUM_PROCESSES), but the MPI world has 2"),
           "%s", jd_error_message());
    return 0;
}

static int some_slices(void)
{
    if (launcher_rank() == 1) {
        setenv("JD_NUM_SLICES", "2", 1);
        setenv("JD_SLICE_INDEX", "1", 1);
    }
    EXPECT_STATUS(jd_initialize(), JD_INVALID_ARGUMENT,
                  "process 0 says slice -1 of 0 and process 1 says slice 1 "
                  "of 2");
    return 0;
}

/* Both say how many slices there are, and nobody in which one it is. */
static int half_a_slice(void)
{
    setenv("JD_NUM_SLICES", "2", 1);
    EXPECT_STATUS(jd_initialize(), JD_INVALID_ARGUMENT,
                  "process 0 says slice -1 of 2 (-1 and 0 stand for nothing "
                  "said); say both, or neither (JD_NUM_SLICES, "
                  "JD_SLICE_INDEX)");
    return 0;
}

static int option_alone(void)
{
    EXPECT_STATUS(jd_initialize(.process_id = 1), JD_INVALID_ARGUMENT,
                  "option process_id is 1, but option num_processes is not "
                  "given");
    EXPECT_STATUS(jd_initialize(.num_processes = 2, .process_id = 2),
                  JD_INVALID_ARGUMENT, "process_id");
    EXPECT_STATUS(jd_initialize(.initialization_timeout = -1),
                  JD_INVALID_ARGUMENT,
                  "option initialization_timeout is \"-1.000000000\", but it "
                  "must be a duration up to 1000000000 seconds");
    EXPECT_STATUS(jd_initialize(.coordinator_address = "nowhere"),
                  JD_INVALID_ARGUMENT,
                  "option coordinator_address is \"nowhere\", but it must be "
                  "host:port");
    JD_CHECK(jd_initialize());
    return 0;
}

/* Communicators that cannot be a world. */
static int bad_communicators(void)
{
    MPI_Comm half, inter;
    EXPECT_STATUS(jd_initialize_on(MPI_COMM_NULL, NULL, 0), JD_INVALID_ARGUMENT,
                  "comm is MPI_COMM_NULL");
    EXPECT_STATUS(jd_initialize_on(MPI_COMM_WORLD, NULL, 0),
                  JD_FAILED_PRECONDITION, "MPI is not initialised");
    MPI_Init(NULL, NULL);
    MPI_Comm_split(MPI_COMM_WORLD, launcher_rank(), 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - launcher_rank(), 7,
                         &inter);
    EXPECT_STATUS(jd_initialize_on(inter, NULL, 0), JD_INVALID_ARGUMENT,
                  "comm is an inter-communicator");
    jd_options options = { .num_processes = 2, .process_id = -1 };
    EXPECT_STATUS(jd_initialize_on(half, &options, sizeof options),
                  JD_FAILED_PRECONDITION,
                  "2 processes (option num_processes), but the world of");
    return MPI_Finalize();
}

/* MPI makes a world of one although the variables say two. */
static int worlds_of_one(void)
{
    MPI_Init(NULL, NULL);
    setenv("JD_NUM_PROCESSES", "2", 1);
    setenv("JD_PROCESS_ID", "0", 1);
    EXPECT_STATUS(jd_initialize(), JD_FAILED_PRECONDITION,
                  "jd_initialize: the job has 2 processes "
                  "(JD_NUM_PROCESSES), but the world of Open MPI");
    EXPECT(strstr(jd_error_message(), "each process has a world of its own; "
                                      "start the program with the mpirun of "
                                      "this MPI"),
           "%s", jd_error_message());
    return MPI_Finalize();
}

/* The launcher says two, and this MPI knows nothing of it. */
static int unserved(void)
{
    static const char *const sentence =
        "jd_initialize: the launcher (method tpu) says 2 processes "
        "(TPU_WORKER_HOSTNAMES), but MPI_COMM_WORLD of Open MPI";
    MPI_Init(NULL, NULL);
    EXPECT_STATUS(jd_initialize(), JD_FAILED_PRECONDITION, sentence);
    EXPECT_STATUS(jd_initialize_on(MPI_COMM_WORLD, NULL, 0),
                  JD_FAILED_PRECONDITION, sentence);
    EXPECT_STATUS(jd_initialize_on(MPI_COMM_SELF, NULL, 0),
                  JD_FAILED_PRECONDITION,
                  "has this process alone: each would be a world of one; ");
    jd_options options = { .num_processes = 1 };
    JD_CHECK(jd_initialize_on(MPI_COMM_WORLD, &options, sizeof options));
    EXPECT(jd_process_count() == 1, "%d", jd_process_count());
    JD_CHECK(jd_shutdown());
    return MPI_Finalize();
}

/* ---- the library ends the process: see testlist ------------------------- */

/* Process 1 runs, but never calls jd_initialize(). */
static int never(void)
{
    if (launcher_rank() == 1)
        for (;;)
            pause();
    JD_CHECK(jd_initialize());
    return 0;
}

static int stopped(void)
{
    if (launcher_rank() == 1)
        raise(SIGSTOP);
    JD_CHECK(jd_initialize());
    return 0;
}

/* Process 1 stops after MPI_Init: the gathering waits for it. */
static int stopped_later(void)
{
    MPI_Init(NULL, NULL);
    if (launcher_rank() == 1)
        raise(SIGSTOP);
    JD_CHECK(jd_initialize());
    return 0;
}

static int check(void)
{
    JD_CHECK(jd_initialize());
    if (jd_process_index() == 1)
        JD_CHECK(jd_sync_global_devices(NULL));
    for (;;)
        pause();
}

/* The others of a job that fails end by themselves, a moment after the first.
 * Here they wait for the launcher, so that the first's exit code is the job's.
 */
static void await_launcher(const jd_peer_failure *failure, void *arg)
{
    (void)failure, (void)arg;
    for (;;)
        pause();
}

/* Process 1 ends by `end`; is_served: where a launcher ends the others. */
static int one_ends(void (*end)(void), bool is_served)
{
    JD_CHECK(jd_initialize());
    if (is_served)
        JD_CHECK(jd_on_peer_failure(await_launcher, NULL));
    JD_CHECK(jd_sync_global_devices("ready"));
    if (jd_process_index() == 1)
        end();
    for (;;)
        pause();
}

static void end_by_abort(void)
{
    jd_abort(7, "the disk is full");
}

/* With an error: it waits for nobody in MPI_Finalize, so that the launcher sees
 * the error and ends the others. */
static void end_by_exit(void)
{
    exit(3);
}

static int abort_job(void)
{
    return one_ends(end_by_abort, true);
}

static int abort_alone(void)
{
    return one_ends(end_by_abort, false);
}

static int exit_early(void)
{
    return one_ends(end_by_exit, true);
}

static int exit_early_alone(void)
{
    return one_ends(end_by_exit, false);
}

/* Process 1 never comes to jd_shutdown. */
static int never_shuts_down(void)
{
    JD_CHECK(jd_initialize());
    if (jd_process_index() == 1)
        for (;;)
            pause();
    return 0;
}

/* Process 1 leaves jd, but never comes to the end. */
static int never_ends(void)
{
    JD_CHECK(jd_initialize());
    int index = jd_process_index();
    JD_CHECK(jd_shutdown());
    if (index == 1)
        for (;;)
            pause();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {
        { "twice", twice },
        { "forgotten", forgotten },
        { "same_id", same_id },
        { "same_id_then_right", same_id_then_right },
        { "wrong_count", wrong_count },
        { "one_wrong_count", one_wrong_count },
        { "some_slices", some_slices },
        { "half_a_slice", half_a_slice },
        { "option_alone", option_alone },
        { "bad_communicators", bad_communicators },
        { "worlds_of_one", worlds_of_one },
        { "unserved", unserved },
        { "never", never },
        { "stopped", stopped },
        { "stopped_later", stopped_later },
        { "check", check },
        { "abort", abort_job },
        { "abort_alone", abort_alone },
        { "exit_early", exit_early },
        { "exit_early_alone", exit_early_alone },
        { "never_shuts_down", never_shuts_down },
        { "never_ends", never_ends },
    };
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].run();
    fprintf(stderr, "test_misstart: no such way\n");
    return 2;
}
