/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proc_peers.c - the job's other processes on this host, as /proc shows them.
 */
#include "runtime/process/proc_peers.h"
#include "base/parse.h"
#include "base/proc.h"
#include "base/ranges.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NAMED 16 /* processes that a sentence names one by one */

/* One process of the job on this host. */
struct proc_peer {
    int index; /* its process index */
    int pid;
    int step; /* of jd_initialize; -1: it is not inside */
    char program[64];
};

struct peers {
    struct proc_peer *items;
    int count;
    int capacity;
};

/* ---- finding them ------------------------------------------------------- */

/* Of one job are those that agree with us in each of these that we have; where
 * a launcher tells none of them (Hydra), those that it has started itself. */
static bool is_same_job(const struct jd_env *ours, const struct jd_env *theirs,
                        int pid)
{
    static const char *const names[] = {
        "PMIX_NAMESPACE",      "SLURM_JOB_ID",
        "SLURM_STEP_ID",       "FLUX_JOB_ID",
        "PMI_JOBID",           "PALS_APID",
        "TORCHELASTIC_RUN_ID", "JD_COORDINATOR_ADDRESS",
        "MASTER_ADDR",         "MASTER_PORT",
    };
    bool any = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *our = jd__env_get(ours, names[i]);
        const char *their = jd__env_get(theirs, names[i]);
        if (!our)
            continue;
        if (!their || strcmp(our, their) != 0)
            return false;
        any = true;
    }
    return any || (getppid() > 1 && jd__proc_parent(pid) == getppid());
}

/* The step in which a thread of pid says that it is, -1 where none does. */
static int step_of(int pid, const char *thread_name)
{
    char path[64];
    int step = -1;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        char name[330], text[32];
        size_t prefix = strlen(thread_name);
        snprintf(name, sizeof name, "%s/%s/comm", path, d->d_name);
        if (isdigit((unsigned char)d->d_name[0]) &&
            jd__proc_read(name, text, sizeof text) > 0 &&
            strncmp(text, thread_name, prefix) == 0)
            step = atoi(text + prefix);
    }
    if (tasks)
        closedir(tasks);
    return step;
}

static struct proc_peer *find_peer(struct peers *peers, int index)
{
    for (int i = 0; i < peers->count; i++)
        if (peers->items[i].index == index)
            return &peers->items[i];
    return NULL;
}

/* A wrapper and its program carry the same index: the one inside
 * jd_initialize counts, else the younger. */
static void add_peer(struct peers *peers, const struct proc_peer *peer)
{
    struct proc_peer *known = find_peer(peers, peer->index);
    if (known) {
        if (peer->step >= known->step)
            *known = *peer;
        return;
    }
    if (peers->count == peers->capacity) {
        int capacity = peers->capacity ? 2 * peers->capacity : 64;
        struct proc_peer *items =
            realloc(peers->items, (size_t)capacity * sizeof *items);
        if (!items)
            return;
        peers->items = items;
        peers->capacity = capacity;
    }
    peers->items[peers->count++] = *peer;
}

/* What makes a process one of ours, and come to the meeting. */
struct proc_search {
    const struct jd_env *env;
    const char *index_variable;
    const char *thread_name;
};

static void look_at(struct peers *peers, int pid,
                    const struct proc_search *search)
{
    struct jd_env *theirs = jd__proc_environment(pid);
    if (!theirs)
        return;
    const char *text = jd__env_get(theirs, search->index_variable);
    long long index;
    if (text && jd__parse_integer(text, &index) &&
        is_same_job(search->env, theirs, pid)) {
        struct proc_peer peer = { (int)index, pid,
                                  step_of(pid, search->thread_name), "" };
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        if (jd__proc_read(path, peer.program, sizeof peer.program) > 0)
            peer.program[strcspn(peer.program, "\n")] = '\0';
        add_peer(peers, &peer);
    }
    jd__env_destroy(theirs);
}

static int compare_peers(const void *a, const void *b)
{
    const struct proc_peer *left = a, *right = b;
    return (left->index > right->index) - (left->index < right->index);
}

/* False where the environment does not tell which process is which. */
static bool find_peers(const struct jd_phases *phases,
                       const struct jd_env *ours,
                       const struct jd_cluster *cluster, struct peers *peers)
{
    *peers = (struct peers){ .items = NULL };
    if (!cluster || !cluster->process_id.known ||
        !jd__env_get(ours, cluster->process_id.source))
        return false;
    struct proc_search search = { ours, cluster->process_id.source,
                                  phases->thread_name };
    DIR *proc = opendir("/proc");
    for (struct dirent *d; proc && (d = readdir(proc));) {
        int pid = isdigit((unsigned char)d->d_name[0]) ? atoi(d->d_name) : 0;
        if (pid > 0)
            look_at(peers, pid, &search);
    }
    if (proc)
        closedir(proc);
    if (peers->count)
        qsort(peers->items, (size_t)peers->count, sizeof *peers->items,
              compare_peers);
    return peers->count > 0;
}

int jd__proc_peers_lowest(const struct jd_phases *phases,
                          const struct jd_env *env,
                          const struct jd_cluster *cluster)
{
    struct peers peers;
    int lowest = -1;
    if (find_peers(phases, env, cluster, &peers))
        for (int i = 0; i < peers.count && lowest < 0; i++)
            if (peers.items[i].step >= 0)
                lowest = peers.items[i].index;
    free(peers.items);
    return lowest;
}

/* ---- saying it ---------------------------------------------------------- */

static bool is_stopped(const struct proc_peer *peer)
{
    char state = jd__proc_state(peer->pid);
    return state == 'T' || state == 't';
}

/* Those that wait like us, by step: "processes 0,2 wait in MPI_Init_thread". */
static void print_waiting(FILE *out, const struct peers *peers,
                          const struct jd_phases *phases)
{
    int *indices = malloc((size_t)peers->count * sizeof *indices);
    for (int step = 0; indices && step < phases->num_steps; step++) {
        int count = 0;
        for (int i = 0; i < peers->count; i++)
            if (peers->items[i].step == step && !is_stopped(&peers->items[i]))
                indices[count++] = peers->items[i].index;
        if (!count)
            continue;
        fputs("; ", out);
        jd__ranges_print_processes(out, indices, count);
        fprintf(out, " wait%s in %s", count > 1 ? "" : "s",
                phases->step_names[step]);
    }
    free(indices);
}

/* Those that keep the others waiting, one by one. */
static void print_late(FILE *out, const struct peers *peers,
                       const struct jd_phases *phases)
{
    int named = 0;
    for (int i = 0; i < peers->count; i++) {
        const struct proc_peer *peer = &peers->items[i];
        bool stopped = is_stopped(peer);
        if ((!stopped && peer->step >= 0) || named++ >= MAX_NAMED)
            continue;
        fprintf(out, "; process %d (%s, pid %d) ", peer->index, peer->program,
                peer->pid);
        jd__proc_print_state(out, peer->pid);
        if (!stopped)
            fprintf(out, " but is not in %s", phases->operation);
    }
    if (named > MAX_NAMED)
        fprintf(out, "; and %d more like these", named - MAX_NAMED);
}

/* Those that are not there at all: known by number only where the whole job
 * is on this host. */
static void print_absent(FILE *out, const struct peers *peers,
                         const struct jd_cluster *cluster)
{
    long long total =
        cluster->num_processes.known ? cluster->num_processes.value : 0;
    long long local = cluster->local_num_processes.known
                          ? cluster->local_num_processes.value
                          : 0;
    if (local == total && total <= 1 << 20) {
        int *indices = malloc((size_t)total * sizeof *indices);
        int count = 0;
        for (int i = 0; indices && i < total; i++)
            if (!find_peer((struct peers *)peers, i))
                indices[count++] = i;
        if (count) {
            fputs("; ", out);
            jd__ranges_print_processes(out, indices, count);
            fprintf(out, " %s not there (never started, ended, or gave up)",
                    count > 1 ? "are" : "is");
        }
        free(indices);
    } else if (local > peers->count) {
        fprintf(out,
                "; %lld more of this host are not there (never started, ended, "
                "or gave up)",
                local - peers->count);
    }
    if (local < total)
        fprintf(out, "; the processes of other hosts cannot be seen from here");
}

void jd__proc_peers_print(FILE *out, const struct jd_phases *phases,
                          const struct jd_env *env,
                          const struct jd_cluster *cluster)
{
    struct peers peers;
    if (!find_peers(phases, env, cluster, &peers)) {
        fprintf(out, "; the other processes cannot be seen from here");
    } else {
        print_waiting(out, &peers, phases);
        print_late(out, &peers, phases);
        print_absent(out, &peers, cluster);
    }
    free(peers.items);
}
