/* SPDX-License-Identifier: BSD-3-Clause */
/* stack_tool.c - eu-stack or gdb, on this process. */
#include "runtime/coordination/client/stack_tool.h"
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_FILE 3     /* the shell's alone: closed when it has ended */
#define ABOVE_FILES 10 /* none of the shell's */
#define NO_TOOL "no gdb and no eu-stack"
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* The shell is not stopped. A tool that is killed may leave behind a process
 * that stays stopped: it is told to go on. gdb shows the first thread last if
 * not told otherwise. */
static const char script[] =
    "if command -v eu-stack >/dev/null; then\n"
    "    set -- \"$1\" eu-stack -p $PPID\n"
    "elif command -v gdb >/dev/null; then\n"
    "    set -- \"$1\" gdb -nx -batch -p $PPID \\\n"
    "        -ex 'thread apply all -ascending bt 256'\n"
    "else\n"
    "    echo '" NO_TOOL "'\n"
    "    exit 1\n"
    "fi\n"
    "timeout -k 1 \"$@\" 3>&-\n"
    "case $? in 124 | 137)\n"
    "    kill -CONT $PPID\n"
    "    echo \"$2 had not ended after $1 s and was killed\"\n"
    "esac\n";

/* ---- start -------------------------------------------------------------- */

static jd_status fail_system(const char *what, int error)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "no tool can be started that reads its stack: %s: %s", what,
                   strerror(error));
}

static void add_files(posix_spawn_file_actions_t *actions, int output, int end)
{
    posix_spawn_file_actions_init(actions);
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(actions, end, END_FILE);
}

/* In a group of its own: a Ctrl-C is not for it. */
static void set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
                                             POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETPGROUP);
}

/* Nothing of this process's environment is a tool's but where it is: what is
 * preloaded here is not meant for it, no debug files are fetched from the
 * network, and its words are English. Returns 0, or an errno. */
static int spawn_shell(pid_t *ret_pid, const char *path, int seconds,
                       int output, int end)
{
    char *variable, *environment[] = { NULL, (char *)"LC_ALL=C", NULL };
    char limit[16];
    char *words[] = { (char *)"sh",       (char *)"-c", (char *)script,
                      (char *)"jd-stack", limit,        NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (asprintf(&variable, "PATH=%s", path) < 0)
        return ENOMEM;
    environment[0] = variable;
    snprintf(limit, sizeof limit, "%d", seconds);
    add_files(&actions, output, end);
    set_attributes(&attributes);
    int error = posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, words,
                            environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(variable);
    return error;
}

/* Moves it above those of the shell; -1: errno says why. */
static int move_above(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_FILES);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return moved;
}

/* end: the reading side, and the shell's. */
static jd_status open_files(struct jd_stack_tool *tool, int *ret_end)
{
    int ends[2];
    if (!jd__memfd_is_allowed(2 * JD_STACK_MOST))
        return fail_system("the limit of a file's size (ulimit -f)", errno);
    tool->output = move_above(jd__memfd_create("jd-stack"));
    if (tool->output < 0)
        return fail_system("memfd_create", errno);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(tool->output);
        return fail_system("pipe2", errno);
    }
    tool->end = ends[0];
    *ret_end = move_above(ends[1]);
    if (*ret_end >= 0)
        return JD_OK;
    close(tool->end);
    close(tool->output);
    return fail_system("fcntl", errno);
}

static void close_files(struct jd_stack_tool *tool)
{
    if (tool->is_let)
        prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    close(tool->output);
    close(tool->end);
    *tool = (struct jd_stack_tool){ .pid = 0 };
}

jd_status jd__stack_tool_start(struct jd_stack_tool *tool, const char *path,
                               int seconds, bool lets)
{
    int end = -1;
    *tool = (struct jd_stack_tool){ .pid = 0 };
    jd_status status = open_files(tool, &end);
    if (status != JD_OK)
        return status;
    int error = spawn_shell(&tool->pid, path, seconds, tool->output, end);
    close(end);
    if (error) {
        close_files(tool);
        return fail_system("/bin/sh", error);
    }
    tool->is_let = lets;
    if (lets)
        prctl(PR_SET_PTRACER, (unsigned long)tool->pid, 0, 0, 0);
    return JD_OK;
}

/* ---- what it has printed ------------------------------------------------ */

/* At most so much, to the end of a line, and how much more there was. */
static jd_status read_output(int fd, char **ret_text)
{
    struct stat facts;
    size_t size = fstat(fd, &facts) == 0 ? (size_t)facts.st_size : 0;
    char *text = malloc(JD_STACK_MOST + 80);
    if (!text)
        return jd__fail_no_memory("the stack", JD_STACK_MOST);
    ssize_t count = pread(fd, text, JD_STACK_MOST, 0);
    size_t length = count > 0 ? (size_t)count : 0;
    while (length < size && length && text[length - 1] != '\n')
        length--;
    text[length] = '\0';
    if (length < size)
        snprintf(text + length, 80, "(cut: %zu bytes more)\n", size - length);
    *ret_text = text;
    return JD_OK;
}

/* In both tools' words a thread's first frame is #0. */
static bool has_stack(const char *text)
{
    return strncmp(text, "#0", 2) == 0 || strstr(text, "\n#0");
}

/* What gdb says before it shows the first thread. */
static void drop_preface(char *text)
{
    char *first = strstr(text, "\n\nThread ");
    if (first)
        memmove(text, first + 2, strlen(first + 2) + 1);
}

static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *begin = strrchr(text, '\n');
    return length == 0 ? "nothing" : begin ? begin + 1 : text;
}

/* 0 to 3; -1: there is no Yama here. */
static int read_scope(void)
{
    int scope = -1;
    FILE *in = fopen(YAMA, "re");
    if (in && fscanf(in, "%d", &scope) != 1)
        scope = -1;
    if (in)
        fclose(in);
    return scope;
}

bool jd__stack_tool_needs_let(void)
{
    return read_scope() == 1;
}

static jd_status fail_denied(const char *last)
{
    char scope[32] = "there is none";
    int is = read_scope();
    if (is >= 0)
        snprintf(scope, sizeof scope, "it is %d", is);
    return jd_fail(JD_PERMISSION_DENIED,
                   "its stack may not be read there: the tool's last line is "
                   "\"%.200s\"; a child must be let trace it: sysctl "
                   "kernel.yama.ptrace_scope at most 1 (%s), in a container "
                   "the capability SYS_PTRACE and a seccomp profile that lets "
                   "ptrace",
                   last, scope);
}

static jd_status fail_without_stack(char *text)
{
    if (strcmp(text, NO_TOOL "\n") == 0)
        return jd_fail(JD_NOT_FOUND,
                       "there is neither gdb nor eu-stack in the PATH there; "
                       "install gdb or elfutils on that host");
    bool is_denied =
        strstr(text, "not permitted") || strstr(text, "ermission denied");
    const char *last = last_line(text);
    if (is_denied)
        return fail_denied(last);
    return jd_fail(JD_UNAVAILABLE,
                   "the tool that was to read its stack has shown none; its "
                   "last line is \"%.200s\"; run eu-stack or gdb -p there",
                   last);
}

/* Somebody else may have waited for it: then it is gone. */
static void await_shell(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

jd_status jd__stack_tool_finish(struct jd_stack_tool *tool, char **ret_text)
{
    char *text = NULL;
    await_shell(tool->pid);
    jd_status status = read_output(tool->output, &text);
    close_files(tool);
    if (status != JD_OK)
        return status;
    if (has_stack(text)) {
        drop_preface(text);
        *ret_text = text;
        return JD_OK;
    }
    status = fail_without_stack(text);
    free(text);
    return status;
}

void jd__stack_tool_abandon(struct jd_stack_tool *tool)
{
    if (tool->pid)
        close_files(tool);
}
