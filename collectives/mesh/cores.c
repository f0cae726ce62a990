/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.c - who may use too few of its host's cores. */
#include "collectives/mesh/cores.h"
#include "base/log.h"
#include "base/text.h"

#include <stdatomic.h>

enum { GPU_CORES = 4 };

static const struct jd_process_info *info_of(const struct jd_mesh *mesh,
                                             int process)
{
    return &mesh->runtime->topology->processes[process];
}

static const struct jd_host *host_of(const struct jd_mesh *mesh, int process)
{
    const struct jd_topology *topology = mesh->runtime->topology;
    return &topology->hosts[info_of(mesh, process)->host];
}

static int devices_of(const struct jd_mesh *mesh, int process)
{
    int count = 0;
    for (int i = 0; i < mesh->size; i++)
        count += mesh->devices[i]->process_index == process;
    return count;
}

bool jd__cores_are_fewer_than_devices(const struct jd_mesh *mesh, int process)
{
    const struct jd_process_info *info = info_of(mesh, process);
    int allowed = info->cores_allowed;
    return allowed > 0 && allowed < host_of(mesh, process)->num_threads &&
           allowed < info->num_devices && allowed < devices_of(mesh, process);
}

bool jd__cores_are_few_for_gpus(const struct jd_mesh *mesh, int process)
{
    const struct jd_host *host = host_of(mesh, process);
    int allowed = info_of(mesh, process)->cores_allowed;
    return allowed > 0 && allowed < GPU_CORES && host->num_processes > 0 &&
           host->num_threads / host->num_processes >= GPU_CORES &&
           devices_of(mesh, process) > 0;
}

/* Whether this process says it: nobody lower does, and not for the second time.
 * warned has the world's number, plus 1. */
static bool is_to_warn(const struct jd_mesh *mesh, _Atomic uint64_t *warned,
                       bool (*is_true)(const struct jd_mesh *mesh, int process))
{
    int self = mesh->runtime->world.index, lowest = 0;
    if (atomic_exchange(warned, mesh->world + 1) == mesh->world + 1)
        return false;
    while (lowest < self && !is_true(mesh, lowest))
        lowest++;
    return lowest == self && is_true(mesh, self);
}

void jd__cores_warn_of_devices(const struct jd_mesh *mesh)
{
    static _Atomic uint64_t warned;
    int self = mesh->runtime->world.index;
    if (is_to_warn(mesh, &warned, jd__cores_are_fewer_than_devices))
        jd__log(JD_LOG_WARNING,
                "process %d has %d devices in the mesh and may use %d of its "
                "host's %d cores: its devices take turns; mpirun --bind-to "
                "none lets it use all",
                self, devices_of(mesh, self),
                info_of(mesh, self)->cores_allowed,
                host_of(mesh, self)->num_threads);
}

void jd__cores_warn_of_gpus(const struct jd_mesh *mesh)
{
    static _Atomic uint64_t warned;
    int self = mesh->runtime->world.index;
    if (!is_to_warn(mesh, &warned, jd__cores_are_few_for_gpus))
        return;
    int allowed = info_of(mesh, self)->cores_allowed;
    jd__log(JD_LOG_WARNING,
            "process %d works on a GPU and may use %d core%s of its host's %d: "
            "NCCL's and CUDA's threads share %s with the program's; mpirun "
            "--bind-to none, or --map-by slot:PE=%d, gives them more",
            self, allowed, jd__text_s(allowed),
            host_of(mesh, self)->num_threads, allowed == 1 ? "it" : "them",
            GPU_CORES);
}
