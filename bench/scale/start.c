/* SPDX-License-Identifier: BSD-3-Clause */
/* start.c - what a start of so many processes takes. */
#include "bench/scale/start.h"
#include "bench/scale/compositions.h"

/* What is kept, and sent, bytes. */
enum {
    RECORD = 512,         /* of a process with one device */
    OWN_PROCESS = 16,     /* of it in each process, for the table */
    MESH_PROCESS = 16,    /* and for a mesh */
    MESH_HOST = 64,       /* of a host, for a mesh */
    MESH_BYTES = 1 << 20, /* of a mesh, beside */
    ADDRESSES = 200,      /* that a process publishes for MPI */
};

/* The leaders of the hosts gather what their processes say. */
static bool gather_records(int hosts, int per_host,
                           const struct scale_constants *c, double *seconds)
{
    const struct scale_call call = { SCALE_ALL_GATHER, hosts, 1,
                                     (double)RECORD * per_host };
    struct scale_result result;
    bool ok = scale_simulate_mpi(&call, c, &result);
    *seconds = result.seconds +
               (double)RECORD * hosts * per_host / c->value[SCALE_COPY];
    return ok;
}

/* Each host puts its processes' addresses into the store and gets all hosts':
 * by the service's wire, and sealed by it. */
static double publish_addresses(double hosts, double processes,
                                const struct scale_constants *c)
{
    double rate = c->value[SCALE_SEAL] < c->value[SCALE_BANDWIDTH]
                      ? c->value[SCALE_SEAL]
                      : c->value[SCALE_BANDWIDTH];
    return hosts * c->value[SCALE_REGISTER] +
           hosts * hosts * c->value[SCALE_KEY] +
           hosts * processes * ADDRESSES / rate;
}

static void reckon_memory(double hosts, double processes,
                          const struct scale_constants *c,
                          struct scale_start *start)
{
    start->process_bytes = MESH_BYTES + MESH_HOST * hosts +
                           (MESH_PROCESS + OWN_PROCESS) * processes;
    start->host_bytes = RECORD * processes;
    start->service_bytes = c->value[SCALE_AGENT] * processes;
}

bool scale_simulate_start(int hosts, int per_host,
                          const struct scale_constants *constants,
                          struct scale_start *start)
{
    const struct scale_constants *c = constants;
    double processes = (double)hosts * per_host;
    int peers = jd__schedule_log2(hosts) + 1;
    bool ok = gather_records(hosts, per_host, c, &start->records);
    start->registrations = processes * c->value[SCALE_REGISTER];
    start->barrier = processes * c->value[SCALE_LEAVE];
    start->connections = peers * c->value[SCALE_CONNECT];
    start->wireup = publish_addresses(hosts, processes, c);
    start->seconds = start->records + start->registrations + start->barrier +
                     start->connections + start->wireup;
    start->cores =
        processes * c->value[SCALE_HEARTBEAT] / c->value[SCALE_PERIOD];
    reckon_memory(hosts, processes, c, start);
    return ok;
}
