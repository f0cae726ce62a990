/* SPDX-License-Identifier: BSD-3-Clause */
/* test_start WAY - starts that work, each in its own way. */
#include "expect.h"
#include "jd.h"
#include "jd_mpi.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static int world_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static int world_size(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/* The ranks of jd's communicator are the process indices, and its errors come
 * back. */
static void expect_order(void)
{
    int rank, size;
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(jd_mpi_comm(), &handler);
    EXPECT(handler == MPI_ERRORS_RETURN, "another error handler");
    MPI_Errhandler_free(&handler);
    MPI_Comm_rank(jd_mpi_comm(), &rank);
    MPI_Comm_size(jd_mpi_comm(), &size);
    EXPECT(rank == jd_process_index(), "rank %d, index %d", rank,
           jd_process_index());
    EXPECT(size == jd_process_count(), "size %d, count %d", size,
           jd_process_count());
}

/* What jd sets for MPI_Init is not there for programs started later. */
static int count_settings(void)
{
    int count = 0;
    for (char **item = environ; *item; item++)
        count += strncmp(*item, "OMPI_MCA_", 9) == 0;
    return count;
}

/* The watchdog ends with jd_initialize(). */
static int count_watchdogs(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", d->d_name);
        FILE *file = d->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file && fgets(name, sizeof name, file))
            count += strncmp(name, "jd-start:", 9) == 0;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return count;
}

/* MULTIPLE costs every small call of the program, so it is not asked for
 * without a reason. */
static void expect_level(bool is_multiple)
{
    int level;
    MPI_Query_thread(&level);
    EXPECT(level == (is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED),
           "%d", level);
}

static int plain(void)
{
    const char *asked = getenv("JD_MPI_THREAD_LEVEL");
    int before = count_settings();
    EXPECT(!jd_is_initialized(), "before");
    JD_CHECK(jd_initialize());
    EXPECT(count_settings() == before, "%d, not %d", count_settings(), before);
    expect_level(asked ? strcmp(asked, "multiple") == 0
                       : jd_local_device_count() > 1);
    while (count_watchdogs() > 0) /* the kernel shows it a moment longer */
        sched_yield();
    EXPECT(jd_is_initialized(), "after");
    expect_order();
    EXPECT(jd_process_index() == world_rank(), "the launcher's order");
    EXPECT(jd_process_count() == world_size(), "the launcher's count");
    return (int)jd_shutdown();
}

/* Process ids turn the launcher's order round; device tables follow it. */
static int reversed(void)
{
    MPI_Init(NULL, NULL);
    int size = world_size(), wanted = size - 1 - world_rank(), n;
    JD_CHECK(jd_initialize(.num_processes = size, .process_id = wanted));
    EXPECT(jd_process_index() == wanted, "%d", jd_process_index());
    expect_order();
    EXPECT(jd_local_devices(&n)[0]->process_index == wanted, "own device");
    EXPECT(n == 1, "%d", n);
    JD_CHECK(jd_shutdown());
    jd_options options = { .num_processes = size, .process_id = wanted };
    JD_CHECK(jd_initialize_on(MPI_COMM_WORLD, &options, sizeof options));
    EXPECT(jd_process_index() == wanted, "%d", jd_process_index());
    return MPI_Finalize();
}

/* The program's own MPI: jd leaves it running, and ends before it does. */
static int own_mpi(void)
{
    int initialized;
    MPI_Init(NULL, NULL);
    JD_CHECK(jd_initialize());
    EXPECT(jd_process_index() == world_rank(), "%d", jd_process_index());
    MPI_Finalize();
    EXPECT(!jd_is_initialized(), "MPI_Finalize ends jd");
    MPI_Initialized(&initialized);
    EXPECT_STATUS(jd_initialize(), JD_FAILED_PRECONDITION,
                  "MPI_Finalize was called already");
    return 0;
}

/* jd's MPI, finalised by the program. */
static int finalized_by_program(void)
{
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_sync_global_devices("before MPI_Finalize"));
    MPI_Finalize();
    EXPECT(!jd_is_initialized(), "MPI_Finalize ends jd");
    return 0;
}

/* Whether a file with that in its name is in this process's memory. */
static bool is_mapped(const char *part)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    EXPECT(maps != NULL, "/proc/self/maps");
    while (!found && fgets(line, sizeof line, maps))
        found = strstr(line, part) != NULL;
    fclose(maps);
    return found;
}

/* What Open MPI's own thread may still call stays there. */
static int unloaded(void)
{
    static const char component[] = "/mca_pmix_";
    MPI_Init(NULL, NULL);
    if (!is_mapped(component)) {
        puts("skip: this MPI has no component of PMIx to unload");
        return 77;
    }
    JD_CHECK(jd_initialize());
    EXPECT(jd_shutdown() == JD_OK, "%s", jd_error_message());
    MPI_Finalize();
    EXPECT(is_mapped(component), "MPI_Finalize has unloaded %s", component);
    return 0;
}

/* Two halves are two worlds, and the given communicator may be freed. */
static int halves(void)
{
    MPI_Comm half;
    MPI_Init(NULL, NULL);
    int rank = world_rank(), size = world_size(), own, n;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_rank(half, &own);
    MPI_Comm_size(half, &n);
    JD_CHECK(jd_initialize_on(half, NULL, 0));
    MPI_Comm_free(&half);
    EXPECT(jd_process_count() == n && n <= (size + 1) / 2, "%d",
           jd_process_count());
    EXPECT(jd_process_index() == own, "%d", jd_process_index());
    expect_order();
    JD_CHECK(jd_sync_global_devices(rank % 2 ? "odd" : "even"));
    JD_CHECK(jd_shutdown());
    return MPI_Finalize();
}

/* A forked child that exits neither ends jd nor finalises MPI. */
static int forked(void)
{
    int status;
    JD_CHECK(jd_initialize());
    pid_t child = fork();
    if (child == 0)
        exit(0);
    EXPECT(waitpid(child, &status, 0) == child && status == 0, "%d", status);
    JD_CHECK(jd_sync_global_devices("after the fork"));
    return 0;
}

/* Ids are index << 17 | ordinal, in the order of processes; process 1 has
 * three devices, which the launcher's line sets. */
static int devices(void)
{
    int n, local;
    if (launcher_rank_text()[0] == '1')
        setenv("JD_NUM_CPU_DEVICES", "3", 1);
    JD_CHECK(jd_initialize());
    expect_level(jd_process_index() == 1);
    const jd_device *const *all = jd_devices(&n);
    EXPECT(n == jd_process_count() + 2, "%d", n);
    for (int i = 1; i < n; i++)
        EXPECT(all[i - 1]->id < all[i]->id, "at %d", i);
    EXPECT(all[1]->id == 1 << 17 && all[3]->id == (1 << 17 | 2), "ids");
    EXPECT(all[3]->local_ordinal == 2 && all[3]->process_index == 1, "its");
    const jd_device *const *own = jd_local_devices(&local);
    EXPECT(local == (jd_process_index() == 1 ? 3 : 1), "%d", local);
    EXPECT(own[0]->process_index == jd_process_index(), "own");
    EXPECT(jd_platform_devices("cpu", NULL) == all, "cpu is the default");
    EXPECT(jd_platform_devices("tpu", &n) == NULL && n == 0, "%d", n);
    EXPECT(strstr(jd_error_message(), "platform \"tpu\""), "%s",
           jd_error_message());
    JD_CHECK(jd_sync_global_devices("the end"));
    return 0;
}

/* Explicit slices, two of them, odd and even. */
static int slices(void)
{
    int n;
    MPI_Init(NULL, NULL);
    JD_CHECK(jd_initialize(.num_slices = 2, .slice_index = world_rank() % 2));
    const jd_device *const *all = jd_devices(&n);
    for (int i = 0; i < n; i++)
        EXPECT(all[i]->slice_index == all[i]->process_index % 2, "at %d", i);
    return MPI_Finalize();
}

/* prterun of Open MPI 5 tells the index, and MPI_Init the rest. */
static int untold(void)
{
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    return plain();
}

/* Never initialised and alone: the whole interface works, MPI too. */
static int alone(void)
{
    int initialized;
    EXPECT(jd_process_index() == 0 && jd_process_count() == 1, "one");
    EXPECT(!jd_is_initialized(), "not initialised");
    EXPECT(jd_device_count() == 1 && jd_local_device_count() == 1, "one");
    JD_CHECK(jd_sync_global_devices("alone"));
    MPI_Initialized(&initialized);
    EXPECT(!initialized, "no MPI until it is asked for");
    expect_order();
    MPI_Initialized(&initialized);
    EXPECT(initialized, "jd_mpi_comm() starts MPI");
    EXPECT_STATUS(jd_initialize(), JD_FAILED_PRECONDITION,
                  "first by jd_process_index");
    JD_CHECK(jd_shutdown());
    return 0;
}

/* The children of a program that jd has given an MPI are nobody's processes,
 * and may start a job. TEST_CHILD is their command. */
static int children(void)
{
    EXPECT(jd_mpi_comm() != MPI_COMM_NULL, "%s", jd_error_message());
    EXPECT(!getenv("PMIX_RANK"), "the environment is the program's again");
    EXPECT(system(getenv("TEST_CHILD")) == 0, "%s", getenv("TEST_CHILD"));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {
        { "plain", plain },     { "reversed", reversed },
        { "own_mpi", own_mpi }, { "finalized", finalized_by_program },
        { "halves", halves },   { "forked", forked },
        { "devices", devices }, { "slices", slices },
        { "alone", alone },     { "children", children },
        { "untold", untold },   { "unloaded", unloaded },
    };
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].run();
    fprintf(stderr, "test_start: no such way\n");
    return 2;
}
