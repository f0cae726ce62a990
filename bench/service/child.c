/* SPDX-License-Identifier: BSD-3-Clause */
/* child.c - the processes that it starts, looks at and ends. */
#include "base/clock.h"
#include "bench/service/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool bench_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench-service: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

/* ---- cores -------------------------------------------------------------- */

static cpu_set_t allowed; /* as this process was started */

/* The n-th core of those allowed; -1 where there is none. */
static int find_core(int n)
{
    if (!CPU_COUNT(&allowed))
        sched_getaffinity(0, sizeof allowed, &allowed);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && n-- == 0)
            return core;
    return -1;
}

static void pin(int n)
{
    int core = find_core(n);
    if (core < 0 || find_core(1) < 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

void bench_pin_client(bool is_pinned)
{
    if (is_pinned)
        pin(1);
    else if (find_core(0) >= 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
}

void bench_pin_beside_server(void)
{
    pin(0);
}

/* ---- servers ------------------------------------------------------------ */

/* In a new child: it ends with its parent. */
static void end_with(pid_t parent, int signal_number)
{
    prctl(PR_SET_PDEATHSIG, signal_number);
    if (getppid() != parent)
        _exit(1);
}

static bool read_port(struct bench_server *server)
{
    struct pollfd wait = { .fd = server->pipe, .events = POLLIN };
    int ready = poll(&wait, 1, (int)(1e3 * BENCH_DEADLINE));
    if (ready == 1 && read(server->pipe, &server->port, sizeof server->port) ==
                          (ssize_t)sizeof server->port)
        return true;
    bench_server_end(server);
    return bench_complain("the %s server did not start%s", server->name,
                          ready ? "" : " within its deadline");
}

bool bench_server_fork(struct bench_server *server,
                       int (*serve)(int report_fd, void *arg), void *arg)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return bench_complain("a pipe cannot be made: %s", strerror(errno));
    fflush(NULL);
    server->pid = fork();
    if (server->pid == 0) {
        end_with(parent, SIGKILL);
        pin(0);
        close(ends[0]);
        _exit(serve(ends[1], arg));
    }
    close(ends[1]);
    server->pipe = ends[0];
    if (server->pid < 0) {
        server->pid = 0;
        bench_server_end(server);
        return bench_complain("a process cannot be made: %s", strerror(errno));
    }
    return read_port(server);
}

void bench_server_freeze(const struct bench_server *server)
{
    if (server->pid > 0 && kill(server->pid, SIGSTOP) == 0)
        waitpid(server->pid, NULL, WUNTRACED);
}

void bench_server_end(struct bench_server *server)
{
    if (server->pid > 0) {
        kill(server->pid, SIGKILL);
        waitpid(server->pid, NULL, 0);
    }
    if (server->pipe >= 0)
        close(server->pipe);
    server->pid = 0;
    server->pipe = -1;
}

double bench_server_cpu(const struct bench_server *server)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(server->pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return -1;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static double memory_of(pid_t pid)
{
    char path[64], line[256];
    double bytes = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            bytes = 1024 * strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return bytes;
}

double bench_server_memory(const struct bench_server *server)
{
    return memory_of(server->pid);
}

double bench_own_memory(void)
{
    return memory_of(getpid());
}

/* ---- programs ----------------------------------------------------------- */

static void exec_program(const char *const *command, const int *out,
                         const int *err)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvp(command[0], (char *const *)command);
    fprintf(stderr, "%s cannot be started: %s\n", command[0], strerror(errno));
    _exit(BENCH_NO_PROGRAM);
}

bool bench_program_start(const char *const *command, int child_signal,
                         struct bench_program *program)
{
    int out[2], err[2];
    pid_t parent = getpid();
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
        return bench_complain("a pipe cannot be made: %s", strerror(errno));
    fflush(NULL);
    *program = (struct bench_program){ fork(), out[0], err[0] };
    if (program->pid == 0) {
        end_with(parent, child_signal);
        exec_program(command, out, err);
    }
    close(out[1]);
    close(err[1]);
    if (program->pid > 0)
        return true;
    close(out[0]);
    close(err[0]);
    return bench_complain("a process cannot be made: %s", strerror(errno));
}

/* Reads some more; false at the end. */
static bool read_some(int fd, struct jd_bytes *text)
{
    uint8_t *at = jd__wire_bytes_reserve(text, 4096);
    ssize_t got = at ? read(fd, at, 4096) : -1;
    text->end += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static bool end_text(struct jd_bytes *text)
{
    uint8_t *at = jd__wire_bytes_reserve(text, 1);
    if (at)
        *at = '\0';
    return at != NULL;
}

bool bench_program_collect(struct bench_program *program, double deadline,
                           struct jd_bytes *out, struct jd_bytes *err)
{
    struct pollfd waits[] = { { .fd = program->out, .events = POLLIN },
                              { .fd = program->err, .events = POLLIN } };
    double left;
    while ((waits[0].fd >= 0 || waits[1].fd >= 0) &&
           (left = deadline - jd__clock_now()) > 0) {
        if (poll(waits, 2, (int)(1e3 * left) + 1) <= 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (waits[i].fd >= 0 && waits[i].revents &&
                !read_some(waits[i].fd, i ? err : out))
                waits[i].fd = -1;
    }
    return end_text(out) && end_text(err);
}

/* True when the child has ended, false at the deadline. */
static bool await(pid_t pid, double deadline)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    double left = deadline - jd__clock_now();
    int ready = poll(&wait, 1, left > 0 ? (int)(1e3 * left) + 1 : 0);
    close(fd);
    return ready == 1;
}

int bench_program_end(struct bench_program *program, double deadline)
{
    int status = -1;
    bool has_ended = await(program->pid, deadline);
    if (!has_ended) { /* a launcher takes its processes along */
        kill(program->pid, SIGTERM);
        if (!await(program->pid, jd__clock_now() + 10))
            kill(program->pid, SIGKILL);
    }
    waitpid(program->pid, &status, 0);
    close(program->out);
    if (program->err >= 0)
        close(program->err);
    return has_ended ? status : -1;
}

enum { SPARE_FILES = 64 };

int bench_most_connections(int count)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)count + SPARE_FILES;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < wanted) {
        struct rlimit more = { wanted, wanted };
        limit.rlim_max =
            setrlimit(RLIMIT_NOFILE, &more) == 0 ? wanted : limit.rlim_max;
    }
    return limit.rlim_max < wanted ? (int)limit.rlim_max - SPARE_FILES : count;
}

bool bench_allow_files(int count)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t wanted = (rlim_t)count + SPARE_FILES;
    if (limit.rlim_cur >= wanted)
        return true;
    if (limit.rlim_max < wanted)
        return bench_complain("%d connections need %llu open files, but the "
                              "hard limit (ulimit -Hn) is %llu",
                              count, (unsigned long long)wanted,
                              (unsigned long long)limit.rlim_max);
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ||
           bench_complain("the limit of open files cannot be raised: %s",
                          strerror(errno));
}
