/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draw_job.c - pictures for the manual, of a job that there is not: four
 * processes on two hosts, with a device each.
 * usage: draw_job mesh|sharding|topology >FILE.svg
 */
#include "arrays/sharding/sharding.h"
#include "collectives/mesh/mesh.h"
#include "jd_array.h"
#include "jd_mesh.h"
#include "runtime/process/runtime.h"
#include "runtime/topology/records.h"
#include "runtime/topology/topology.h"
#include "tools/jd-info/topology_svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 4, ON_A_HOST = 2 };

#define MEMORY (UINT64_C(64) << 30)

static char data_axis[] = "data", model_axis[] = "model";
static char all_axes[] = "data or model";

static void fill_facts(struct jd_local_facts *facts, int process)
{
    int local = process % ON_A_HOST;
    *facts = (struct jd_local_facts){ .program = "train",
                                      .cpu_model = "CPU",
                                      .memory_bytes = MEMORY,
                                      .pid = 4000 + local,
                                      .num_packages = 1,
                                      .num_numa_nodes = 1,
                                      .num_cores = 16,
                                      .num_threads = 16,
                                      .cores_allowed = 8,
                                      .host_cores_allowed = 16 };
    snprintf(facts->host, sizeof facts->host, "n%d", process / ON_A_HOST);
    strcpy(facts->boot_id, facts->host);
    strcpy(facts->cores, local ? "8-15" : "0-7");
}

static void fill_record(struct jd_record *record, int process)
{
    record->rank = record->process_id = process;
    record->num_processes = PROCESSES;
    record->slice_index = -1;
    record->num_devices = 1;
    fill_facts(&record->facts, process);
    strcpy(record->devices[0].platform, "cpu");
    strcpy(record->devices[0].device.kind, "CPU");
    record->devices[0].device.memory_bytes = MEMORY;
}

/* NULL: that failed. */
static struct jd_topology *make_topology(void)
{
    enum { BYTES = sizeof(struct jd_record) + sizeof(struct jd_device_record) };
    struct jd_record *items[PROCESSES] = { NULL };
    struct jd_records records = { .count = PROCESSES, .items = items };
    struct jd_topology *topology = NULL;
    bool has_memory = true;
    for (int i = 0; i < PROCESSES && has_memory; i++) {
        items[i] = calloc(1, BYTES);
        has_memory = items[i];
        if (has_memory)
            fill_record(items[i], i);
    }
    if (has_memory && jd__topology_build(&records, NULL, &topology) != JD_OK)
        topology = NULL;
    for (int i = 0; i < PROCESSES; i++)
        free(items[i]);
    return topology;
}

/* The runtime's number is that of this program, which may look at the mesh. */
static jd_status make_runtime(struct jd_topology *topology,
                              struct jd_runtime *made)
{
    const struct jd_runtime *own;
    jd_status status = jd__runtime_get(&own, "draw_job");
    if (status == JD_OK)
        *made =
            (struct jd_runtime){ .topology = topology, .number = own->number };
    return status;
}

static jd_status draw_mesh(struct jd_mesh *mesh)
{
    mesh->ndim = 2;
    mesh->axis_names[1] = model_axis;
    mesh->shape[0] = mesh->shape[1] = 2;
    return jd_mesh_visualize_svg(mesh, stdout);
}

static jd_status draw_sharding(struct jd_mesh *mesh)
{
    jd_sharding *sharding;
    jd_status status = jd_sharding_create(&sharding, mesh, "-,data");
    if (status != JD_OK)
        return status;
    status =
        jd_visualize_sharding_svg(sharding, 2, (int64_t[]){ 1200, 10 }, stdout);
    jd_sharding_release(sharding);
    return status;
}

/* Of one axis, which draw_mesh() cuts. */
static struct jd_mesh make_mesh(const struct jd_runtime *runtime)
{
    return (struct jd_mesh){
        .runtime = runtime,
        .world = runtime->number,
        .ndim = 1,
        .shape = { PROCESSES },
        .axis_names = { data_axis },
        .axes = all_axes,
        .size = PROCESSES,
        .devices = runtime->topology->platforms[0].devices,
    };
}

static jd_status draw(const char *what, struct jd_topology *topology)
{
    struct jd_runtime runtime;
    jd_status status = make_runtime(topology, &runtime);
    if (status != JD_OK || strcmp(what, "topology") == 0)
        return status == JD_OK ? topology_svg_print(stdout, topology) : status;
    jd__topology_list(topology);
    struct jd_mesh mesh = make_mesh(&runtime);
    return strcmp(what, "mesh") == 0 ? draw_mesh(&mesh) : draw_sharding(&mesh);
}

int main(int argc, char **argv)
{
    struct jd_topology *topology = argc == 2 ? make_topology() : NULL;
    jd_status status = topology ? draw(argv[1], topology) : JD_INVALID_ARGUMENT;
    if (status != JD_OK)
        fprintf(stderr, "draw_job: %s\n", jd_error_message());
    jd__topology_destroy(topology);
    return status != JD_OK;
}
