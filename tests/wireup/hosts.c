/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts.c - the service, the servers and the members of a test's job. */
#include "tests/wireup/hosts.h"
#include "base/clock.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/server/speakers.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds. A machine may stand still for one minute of them: where more MPI
 * processes than cores yield to each other, Linux 6.18 was seen to run nothing
 * else for 40 to 57 s (its log says "workqueue lockup"). */
enum { MAX_MESSAGE = 1 << 20, PLENTY = 180 };

extern char **environ;

/* ---- the service -------------------------------------------------------- */

static void read_hosts(struct job *job, const char *hosts)
{
    struct host *host = &job->hosts[0];
    const char *at = hosts;
    job->num_hosts = 1;
    while (*at) {
        char *end;
        host->processes[host->count++] = (uint32_t)strtoul(at, &end, 10);
        if (*end == ';')
            host = &job->hosts[job->num_hosts++];
        at = *end ? end + 1 : end;
    }
    for (size_t h = 0; h < job->num_hosts; h++)
        snprintf(job->hosts[h].name, sizeof job->hosts[h].name, "node-%zu", h);
}

static void start_service(struct job *job)
{
    struct jd_listeners listeners;
    struct jd_listen listen = { .loopback = true, .variable = "the test" };
    UNIT_OK(jd__auth_start());
    jd__auth_make(&job->auth);
    UNIT_OK(jd__loop_create("test", &job->loop));
    UNIT_OK(jd__listen_open(&listen, &listeners));
    UNIT_OK(jd__interfaces_list(NULL, true, listeners.port, &job->endpoints));
    struct jd_server_spec spec = {
        .loop = job->loop,
        .listeners = listeners,
        .service = { .auth = &job->auth,
                     .job = "test",
                     .attempt = 3,
                     .count = job->count,
                     .heartbeat_timeout = -1,
                     .max_message = MAX_MESSAGE,
                     .speakers = JD_SPEAK_NONE,
                     .host = "here",
                     .program = "test",
                     .pid = (uint32_t)getpid() },
    };
    UNIT_OK(jd__sockets_create(&spec, &job->service));
    UNIT_OK(jd__loop_start(job->loop));
}

static void start_agent(struct job *job, int process)
{
    struct jd_agent_spec spec = {
        .loop = job->loop,
        .auth = &job->auth,
        .role = JD__ROLE__PROCESS,
        .job = "test",
        .attempt = 3,
        .process = process,
        .count = job->count,
        .host = "here",
        .boot_id = "",
        .program = "test",
        .pid = (uint32_t)getpid(),
        .fd = -1,
        .endpoints = &job->endpoints,
        .heartbeat_timeout = -1,
        .notice = -1,
        .max_message = MAX_MESSAGE,
    };
    UNIT_OK(jd__agent_create(&spec, &job->agents[process]));
    UNIT_OK(jd__agent_meet(job->agents[process], jd__clock_now() + PLENTY));
}

/* Asked without waiting: the replies come when the last has asked. */
static void join(struct job *job, int process, double timeout)
{
    Jd__Join body = JD__JOIN__INIT;
    if (process + 1 < job->count) {
        Jd__Message message = JD__MESSAGE__INIT;
        message.body_case = JD__MESSAGE__BODY_JOIN;
        message.timeout_ms = -1;
        message.join = &body;
        ck_assert(jd__agent_tell(job->agents[process], &message));
        return;
    }
    struct jd_call call = { .operation = "join", .timeout = timeout };
    jd__call_init(&call, JD__MESSAGE__BODY_JOIN, &body);
    call.request.timeout_ms = (int64_t)(1e3 * timeout);
    UNIT_OK(jd__agent_call(job->agents[process], &call));
    jd__call_finish(&call);
}

/* ---- what is there before, and after ------------------------------------ */

/* The names in a directory, sorted, one a line. */
static void list(const char *path, char *text, size_t room)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && used < room)
            used += (size_t)snprintf(text + used, room - used, "%s\n",
                                     entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static bool is_ours(const struct job *job, int pid)
{
    char path[64], block[16384], mark[128];
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    snprintf(mark, sizeof mark, "TEST_JOB=%s", job->tmpdir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, block, sizeof block);
    if (fd >= 0)
        close(fd);
    return size > 0 && memmem(block, (size_t)size, mark, strlen(mark) + 1);
}

static bool is_called(int pid, const char *name)
{
    char path[64], comm[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *in = fopen(path, "re");
    bool is_read = in && fgets(comm, sizeof comm, in);
    if (in)
        fclose(in);
    comm[strcspn(comm, "\n")] = '\0';
    return is_read && (!name || strcmp(comm, name) == 0);
}

int job_find_processes(const struct job *job, const char *name, pid_t *pids,
                       int room)
{
    struct dirent *entry;
    DIR *dir = opendir("/proc");
    int count = 0;
    while (dir && (entry = readdir(dir))) {
        int pid = atoi(entry->d_name);
        if (pid > 0 && pid != getpid() && is_called(pid, name) &&
            is_ours(job, pid) && count < room)
            pids[count++] = pid;
    }
    if (dir)
        closedir(dir);
    return count;
}

bool job_shares(const struct job *job, int process, const char *word)
{
    char path[64], line[1024];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%d/maps",
             (int)job->members[process].pid);
    FILE *in = fopen(path, "re");
    while (in && !is_found && fgets(line, sizeof line, in))
        is_found = strstr(line, "/dev/shm/") && strstr(line, word);
    if (in)
        fclose(in);
    return is_found;
}

bool shm_has(const char *end)
{
    struct dirent *entry;
    DIR *dir = opendir("/dev/shm");
    bool is_found = false;
    while (dir && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), wanted = strlen(end);
        is_found |= length >= wanted &&
                    strcmp(entry->d_name + length - wanted, end) == 0;
    }
    if (dir)
        closedir(dir);
    return is_found;
}

/* ---- the servers -------------------------------------------------------- */

static void fill_plan_hosts(const struct job *job, Jd__PlanHost *items,
                            Jd__PlanHost **pointers)
{
    for (size_t h = 0; h < job->num_hosts; h++) {
        jd__plan_host__init(&items[h]);
        items[h].name = (char *)job->hosts[h].name;
        items[h].processes = (uint32_t *)job->hosts[h].processes;
        items[h].n_processes = job->hosts[h].count;
        pointers[h] = &items[h];
    }
}

size_t job_plan_frame(const struct job *job, size_t host, uint8_t *frame,
                      size_t room)
{
    Jd__Plan plan = JD__PLAN__INIT;
    Jd__PlanHost items[MAX_HOSTS], *pointers[MAX_HOSTS];
    char address[JD_ENDPOINT_TEXT], *addresses = address;
    jd__addresses_format(&job->endpoints.items[0], address);
    fill_plan_hosts(job, items, pointers);
    plan.addresses = &addresses;
    plan.n_addresses = 1;
    plan.auth_way = JD_AUTH_SECRET;
    plan.auth_key = jd__wire_bytes(job->auth.key, sizeof job->auth.key);
    plan.job = (char *)"test";
    plan.attempt = 3;
    plan.count = (uint32_t)job->count;
    plan.process = job->hosts[host].processes[0];
    plan.hosts = pointers;
    plan.n_hosts = job->num_hosts;
    plan.host = (uint32_t)host;
    plan.tmpdir = (char *)job->tmpdir;
    plan.heartbeat_timeout = 10;
    plan.timeout = job->timeout;
    plan.is_held = job->is_held;
    plan.asks_by_pmi = job->asks_by_pmi;
    plan.program = (char *)"test";
    size_t size = jd__plan__get_packed_size(&plan);
    ck_assert_uint_le(size + 4, room);
    for (int i = 0; i < 4; i++)
        frame[i] = (uint8_t)(size >> 8 * i);
    jd__plan__pack(&plan, frame + 4);
    return size + 4;
}

/* The environment of all that is started: this one's, and the job's mark. */
static char **make_environment(const char *const *more, size_t num_more)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **all = malloc((count + num_more + 1) * sizeof *all);
    ck_assert_ptr_nonnull(all);
    memcpy(all, environ, count * sizeof *all);
    memcpy(all + count, more, num_more * sizeof *all);
    all[count + num_more] = NULL;
    return all;
}

/* errors: a file that standard error is appended to, or NULL. */
static struct child spawn(const char *path, char **argv, char **env,
                          const char *errors)
{
    struct child child = { 0, -1, -1 };
    int in[2], out[2];
    posix_spawn_file_actions_t actions;
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    if (errors)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors,
                                         O_WRONLY | O_APPEND, 0);
    int error = posix_spawn(&child.pid, path, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    ck_assert_msg(error == 0, "%s: %s", path, strerror(error));
    close(in[0]);
    close(out[1]);
    child.in = in[1];
    child.out = out[0];
    return child;
}

/* Reads until the newline (whole: until the end of file), within PATIENCE. */
static void read_text(int fd, char *text, size_t room, bool whole)
{
    double end = jd__clock_now() + PLENTY;
    size_t used = 0;
    while (used + 1 < room) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int left = (int)(1e3 * (end - jd__clock_now()));
        ck_assert_msg(poll(&wait, 1, left > 0 ? left : 0) > 0,
                      "nothing was said in time");
        ssize_t n = read(fd, text + used, whole ? room - used - 1 : 1);
        if (n <= 0 || (!whole && text[used] == '\n')) {
            used += n > 0;
            break;
        }
        used += (size_t)n;
    }
    text[used] = '\0';
}

void job_run_server(const struct job *job, const void *input, size_t size,
                    char *answer, size_t room, int *ret_code)
{
    char mark[128], *argv[] = { (char *)"jd-pmix-server", NULL };
    const char *more[] = { mark };
    int status;
    snprintf(mark, sizeof mark, "TEST_JOB=%s", job->tmpdir);
    char **env = make_environment(more, 1);
    struct child child =
        spawn(getenv("TEST_PMIX_SERVER"), argv, env, job->errors);
    free(env);
    ck_assert_int_eq(write(child.in, input, size), (ssize_t)size);
    close(child.in);
    read_text(child.out, answer, room, true);
    close(child.out);
    ck_assert_int_eq(waitpid(child.pid, &status, 0), child.pid);
    ck_assert(WIFEXITED(status));
    *ret_code = WEXITSTATUS(status);
}

static void start_server(struct job *job, size_t host)
{
    uint8_t frame[2048];
    char answer[1024];
    int code;
    size_t size = job_plan_frame(job, host, frame, sizeof frame);
    job_run_server(job, frame, size, answer, sizeof answer, &code);
    ck_assert_str_eq(answer, "ready\n");
    ck_assert_int_eq(code, 0);
}

void job_start_servers(struct job *job)
{
    for (size_t h = 0; h < job->num_hosts; h++)
        start_server(job, h);
}

/* ---- members ------------------------------------------------------------ */

static struct host *host_of(struct job *job, int process)
{
    for (size_t h = 0; h < job->num_hosts; h++)
        for (size_t i = 0; i < job->hosts[h].count; i++)
            if (job->hosts[h].processes[i] == (uint32_t)process)
                return &job->hosts[h];
    return &job->hosts[0];
}

static void note_shared(struct host *host, const Jd__Environment *environment)
{
    static const char name[] = "OMPI_MCA_btl_vader_backing_directory=";
    for (size_t i = 0; i < environment->n_variables; i++)
        if (strncmp(environment->variables[i], name, sizeof name - 1) == 0)
            snprintf(host->shared, sizeof host->shared, "%s",
                     environment->variables[i] + sizeof name - 1);
}

static Jd__Environment *get_environment(struct job *job, int process)
{
    char key[32] = "?jd/wireup/env/";
    Jd__Get body = JD__GET__INIT;
    struct jd_call call = { .operation = "get" };
    snprintf(key, sizeof key, "?jd/wireup/env/%d", process);
    ProtobufCBinaryData bytes = jd__wire_bytes(key, strlen(key));
    key[0] = '\0';
    body.keys = &bytes;
    body.n_keys = 1;
    jd__call_init(&call, JD__MESSAGE__BODY_GET, &body);
    UNIT_OK(jd__agent_call(job->agents[process], &call));
    ProtobufCBinaryData value = call.reply->entries[0]->value;
    Jd__Environment *environment =
        jd__environment__unpack(NULL, value.len, value.data);
    ck_assert_ptr_nonnull(environment);
    jd__call_finish(&call);
    note_shared(host_of(job, process), environment);
    return environment;
}

void job_start_member(struct job *job, int process, const char *mode)
{
    enum { OWN = 6, MAX_VARIABLES = 64 };
    const char *more[MAX_VARIABLES];
    char liveness[256], pmi[256], index[32], mark[128];
    char *argv[] = { (char *)"member", (char *)mode, NULL };
    Jd__Environment *environment = get_environment(job, process);
    ck_assert_uint_lt(environment->n_variables, MAX_VARIABLES - OWN);
    snprintf(liveness, sizeof liveness, "TEST_LIFE=%s",
             environment->liveness_path);
    snprintf(index, sizeof index, "TEST_PROCESS=%d", process);
    snprintf(mark, sizeof mark, "TEST_JOB=%s", job->tmpdir);
    more[0] = liveness;
    more[1] = index;
    more[2] = mark;
    snprintf(pmi, sizeof pmi, "TEST_PMI=%s", environment->pmi_path);
    more[5] = pmi;
    for (int i = 0; i < 2; i++)
        more[3 + i] = job->variables[i] ? job->variables[i] : "TEST_NOTHING=";
    for (size_t i = 0; i < environment->n_variables; i++)
        more[OWN + i] = environment->variables[i];
    char **env = make_environment(more, OWN + environment->n_variables);
    job->members[process] = spawn(getenv("TEST_MEMBER"), argv, env, NULL);
    free(env);
    jd__environment__free_unpacked(environment, NULL);
}

void job_start_members(struct job *job, const char *mode)
{
    for (int i = 0; i < job->count; i++)
        job_start_member(job, i, mode);
}

void job_expect_word(struct job *job, int process, const char *word)
{
    char line[256];
    read_text(job->members[process].out, line, sizeof line, false);
    ck_assert_str_eq(line, word);
}

static int await_exit(pid_t pid)
{
    double end = jd__clock_now() + PLENTY;
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        ck_assert_msg(jd__clock_now() < end, "process %d does not end",
                      (int)pid);
        poll(NULL, 0, 5);
    }
    return status;
}

int job_await_exit(struct job *job, int process)
{
    struct child *child = &job->members[process];
    int status = await_exit(child->pid);
    child->pid = 0;
    close(child->out);
    job_release(job, process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void job_expect_exit(struct job *job, int process, int code)
{
    ck_assert_int_eq(job_await_exit(job, process), code);
}

void job_expect_exits(struct job *job, int code)
{
    for (int i = 0; i < job->count; i++)
        if (job->members[i].pid)
            job_expect_exit(job, i, code);
}

/* The kernel has called them "anon_inode:[pidfd]" and "pidfd:[...]". */
static int count_pidfds(int pid)
{
    char path[64], target[64];
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    int count = 0;
    while (dir && (entry = readdir(dir))) {
        ssize_t n =
            readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        count += strstr(target, "pidfd") != NULL;
    }
    if (dir)
        closedir(dir);
    return count;
}

void job_await_supervisor(const struct job *job, int count)
{
    double end = jd__clock_now() + PLENTY;
    pid_t supervisor;
    ck_assert_int_eq(job_find_processes(job, "jd-pmix-keeper", &supervisor, 1),
                     1);
    while (count_pidfds(supervisor) != count) {
        ck_assert_msg(jd__clock_now() < end,
                      "the supervisor does not know them");
        poll(NULL, 0, 5);
    }
}

void job_release(struct job *job, int process)
{
    if (job->members[process].in >= 0)
        close(job->members[process].in);
    job->members[process].in = -1;
}

/* ---- the job ---------------------------------------------------------------
 */

void job_lose_agent(struct job *job, int process)
{
    jd__agent_destroy(job->agents[process]);
    job->agents[process] = NULL;
}

void job_stop_service(struct job *job)
{
    jd__sockets_destroy(job->service);
    job->service = NULL;
}

void job_open(struct job *job, int count, const char *hosts)
{
    *job = (struct job){ .count = count, .timeout = PLENTY };
    snprintf(job->tmpdir, sizeof job->tmpdir, "/tmp/jd-test-wireup-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(job->tmpdir));
    snprintf(job->errors, sizeof job->errors, "%s.err", job->tmpdir);
    fclose(fopen(job->errors, "we"));
    read_hosts(job, hosts);
    start_service(job);
    for (int i = 0; i < count; i++)
        start_agent(job, i);
    for (int i = 0; i < count; i++)
        join(job, i, PLENTY);
}

static void print_left(const struct job *job, char *text, size_t room)
{
    char files[1024];
    pid_t pids[16];
    int count = job_find_processes(job, NULL, pids, 16), shared = 0;
    list(job->tmpdir, files, sizeof files);
    for (size_t h = 0; h < job->num_hosts; h++)
        shared +=
            job->hosts[h].shared[0] && access(job->hosts[h].shared, F_OK) == 0;
    text[0] = '\0';
    if (count || files[0] || shared)
        snprintf(text, room,
                 "%d processes; %d directories of shared memory; "
                 "in tmpdir: %.500s",
                 count, shared, files);
}

void job_expect_nothing_left(struct job *job)
{
    double end = jd__clock_now() + PLENTY;
    char left[2048];
    print_left(job, left, sizeof left);
    while (left[0] && jd__clock_now() < end) {
        poll(NULL, 0, 10);
        print_left(job, left, sizeof left);
    }
    ck_assert_str_eq(left, "");
}

void job_await_servers_end(struct job *job)
{
    double end = jd__clock_now() + PLENTY;
    pid_t pids[MAX_HOSTS];
    while (job_find_processes(job, "jd-pmix-server", pids, MAX_HOSTS)) {
        ck_assert_msg(jd__clock_now() < end, "a server does not end");
        poll(NULL, 0, 5);
    }
}

size_t job_count_keys(struct job *job, const char *directory)
{
    char key[64];
    Jd__List body = JD__LIST__INIT;
    struct jd_call call = { .operation = "list" };
    snprintf(key, sizeof key, "?jd/wireup/%s", directory);
    body.directory = jd__wire_bytes(key, strlen(key));
    key[0] = '\0';
    jd__call_init(&call, JD__MESSAGE__BODY_LIST, &body);
    UNIT_OK(jd__agent_call(job->agents[0], &call));
    size_t count = call.reply->n_entries;
    jd__call_finish(&call);
    return count;
}

static void read_errors(const struct job *job, char *text, size_t room)
{
    FILE *in = fopen(job->errors, "re");
    size_t size = in ? fread(text, 1, room - 1, in) : 0;
    text[size] = '\0';
    if (in)
        fclose(in);
}

void job_expect_error(const struct job *job, const char *part)
{
    char text[8192];
    read_errors(job, text, sizeof text);
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

void job_expect_no_error(const struct job *job)
{
    char text[8192];
    read_errors(job, text, sizeof text);
    ck_assert_str_eq(text, "");
}

void job_close(struct job *job)
{
    job_expect_nothing_left(job);
    for (int i = 0; i < job->count; i++)
        jd__agent_destroy(job->agents[i]);
    jd__sockets_destroy(job->service);
    jd__loop_destroy(job->loop);
    rmdir(job->tmpdir);
    unlink(job->errors);
}
