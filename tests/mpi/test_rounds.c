/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_rounds WAY [ROUNDS] - jd is initialised and shut down again and again,
 * within one MPI_Init, and nothing is left of any round: no descriptor, no
 * thread, no memory. What malloc has in use is exact only where it caches
 * nothing: GLIBC_TUNABLES=glibc.malloc.tcache_count=0.
 */
#include "../lib/sanitized.h"
#include "expect.h"
#include "jd.h"
#include "jd_mpi.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    WARM_UP = 10, /* rounds in which MPI and libc make what they keep */
    MAX_RSS = 2 << 20,
    THREAD_SECONDS = 20,
};

/* More in use after all rounds. MPICH has its requests in blocks, and makes one
 * more in a process that comes late: seen were 24672 and 147552 bytes in one of
 * the processes, and 0 in the others. */
#ifdef OPEN_MPI
enum { MAX_BYTES = 8 << 10 };
#else
enum { MAX_BYTES = 400 << 10 };
#endif

/* AddressSanitizer keeps what was freed; LeakSanitizer looks instead. */
#define COUNTS_MEMORY (!HAS_ASAN)

/* ---- what a process has ------------------------------------------------- */

struct possessions {
    int fds;
    int threads;
    size_t bytes; /* of malloc, in use */
    size_t rss;
};

static int count_entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    EXPECT(directory, "%s", path);
    for (struct dirent *d; (d = readdir(directory));)
        count += d->d_name[0] != '.';
    closedir(directory);
    return count;
}

static size_t find_rss(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    EXPECT(file && fscanf(file, "%*d %ld", &pages) == 1, "no statm");
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static struct possessions look(void)
{
    return (struct possessions){
        .fds = count_entries("/proc/self/fd"),
        .threads = count_entries("/proc/self/task"),
        .bytes = mallinfo2().uordblks,
        .rss = find_rss(),
    };
}

/* The kernel shows a thread a moment longer than pthread_join. */
static int count_threads(int wanted)
{
    time_t end = time(NULL) + THREAD_SECONDS;
    int threads = count_entries("/proc/self/task");
    while (threads > wanted && time(NULL) < end) {
        sched_yield();
        threads = count_entries("/proc/self/task");
    }
    return threads;
}

static void print_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    for (struct dirent *d; directory && (d = readdir(directory));) {
        char path[300], target[200];
        snprintf(path, sizeof path, "/proc/self/fd/%s", d->d_name);
        ssize_t length = readlink(path, target, sizeof target);
        if (length > 0)
            fprintf(stderr, "%s: %.*s\n", d->d_name, (int)length, target);
    }
    if (directory)
        closedir(directory);
}

static void expect_nothing_new(const struct possessions *before, int round)
{
    int fds = count_entries("/proc/self/fd");
    int threads = count_threads(before->threads);
    if (fds != before->fds)
        print_fds();
    EXPECT(fds == before->fds, "round %d: %d descriptors, %d before", round,
           fds, before->fds);
    /* Fewer: one that had ended was still shown at the beginning. */
    EXPECT(threads <= before->threads, "round %d: %d threads, %d before", round,
           threads, before->threads);
}

static void expect_no_memory(const struct possessions *before, int rounds)
{
    struct possessions now = look();
    long grown = (long)now.bytes - (long)before->bytes;
    long rss = (long)now.rss - (long)before->rss;
    bool is_exact = COUNTS_MEMORY && getenv("GLIBC_TUNABLES");
    printf("%d rounds: %+ld bytes in use, RSS %+ld KiB, %d descriptors, %d "
           "threads\n",
           rounds, grown, rss / 1024, now.fds, now.threads);
    EXPECT(!is_exact || grown <= MAX_BYTES, "%d rounds: %ld bytes more", rounds,
           grown);
    EXPECT(!COUNTS_MEMORY || rss <= MAX_RSS, "%d rounds: RSS %ld KiB more",
           rounds, rss / 1024);
}

/* ---- rounds ------------------------------------------------------------- */

/* What a job does: keys, a barrier, collectives. */
static void use(int round)
{
    char key[64];
    void *value;
    size_t size;
    int next = (jd_process_index() + 1) % jd_process_count();
    snprintf(key, sizeof key, "round/%d", jd_process_index());
    JD_CHECK(jd_kv_set(key, &round, sizeof round, 0));
    snprintf(key, sizeof key, "round/%d", next);
    JD_CHECK(jd_kv_get(key, 30, &value, &size));
    EXPECT(size == sizeof round && memcmp(value, &round, size) == 0,
           "round %d: another value", round);
    free(value);
    JD_CHECK(jd_wait_at_barrier("used", 30, NULL, 0));
    JD_CHECK(jd_sync_global_devices("round"));
}

static void run_round(int round)
{
    JD_CHECK(jd_initialize());
    use(round);
    JD_CHECK(jd_shutdown());
    EXPECT(!jd_is_initialized(), "round %d", round);
}

static void repeat(void (*run)(int round), int rounds)
{
    struct possessions before;
    for (int i = 0; i < WARM_UP; i++)
        run(i);
    before = look();
    for (int i = 0; i < rounds; i++) {
        run(i);
        expect_nothing_new(&before, i);
    }
    expect_no_memory(&before, rounds);
}

/* ---- rounds that fail --------------------------------------------------- */

/* A listener of the program's on the port that it would be. */
static int take_port(char *address, size_t size)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    socklen_t length = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(fd >= 0 && bind(fd, (struct sockaddr *)&in, sizeof in) == 0 &&
               listen(fd, 1) == 0 &&
               getsockname(fd, (struct sockaddr *)&in, &length) == 0,
           "no port");
    snprintf(address, size, "127.0.0.1:%d", ntohs(in.sin_port));
    return fd;
}

/* Process 0 cannot have its port: all hear it; with another it works. */
static void fail_to_start(int round)
{
    char address[64] = "";
    int fd = -1, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fd = take_port(address, sizeof address);
    MPI_Bcast(address, sizeof address, MPI_CHAR, 0, MPI_COMM_WORLD);
    jd_status status = jd_initialize(.coordinator_address = address);
    EXPECT(status != JD_OK && !jd_is_initialized(), "it began at %s", address);
    EXPECT(strstr(jd_error_message(), address + sizeof "127.0.0.1:" - 1), "%s",
           jd_error_message());
    if (fd >= 0)
        close(fd);
    run_round(round);
}

/* The others give up the wait for process 0, which comes later. */
static void fail_to_end(int round)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    JD_CHECK(jd_initialize(.shutdown_timeout = rank ? 0.05 : 60));
    use(round);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    jd_status status = jd_shutdown();
    EXPECT(status == (rank ? JD_DEADLINE_EXCEEDED : JD_OK), "%s: %s",
           jd_status_name(status), jd_error_message());
    EXPECT(!jd_is_initialized(), "round %d", round);
    if (rank != 0)
        MPI_Barrier(MPI_COMM_WORLD);
    run_round(round);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int round);
    } ways[] = {
        { "right", run_round },
        { "fail_to_start", fail_to_start },
        { "fail_to_end", fail_to_end },
    };
    int rounds = argc > 2 ? atoi(argv[2]) : 100;
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[1], ways[i].name) != 0)
            continue;
        run_round(0); /* MPI is jd's, which ends it in the end */
        repeat(ways[i].run, rounds);
        return 0;
    }
    fprintf(stderr, "test_rounds: no such way\n");
    return 2;
}
