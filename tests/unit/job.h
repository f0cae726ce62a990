/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - a job made by hand: the records of its processes, as the gathering
 * would give them, and two platforms for their devices.
 */
#ifndef TESTS_UNIT_JOB_H
#define TESTS_UNIT_JOB_H

#include "runtime/topology/records.h"
#include "runtime/topology/topology.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { JOB_MAX_DEVICES = 12 };

/* One process, in the order of its MPI rank. All zero: process 0 of n1. */
struct job_process {
    int id;
    const char *host;    /* NULL: "n1" */
    const char *boot_id; /* NULL: "boot" */
    const char *devices; /* a letter each: c of cpu, g of gpu */
    const char *kind;    /* of its devices; NULL: "model" */
    const char *version; /* NULL: "1.0" */
    int num_processes;   /* 0: as many as there are */
    int num_slices;      /* 0: not said, and then no index either */
    int slice_index;
    int host_cores;
    int host_threads;
};

static inline void job_fill_devices(struct jd_record *r,
                                    const struct job_process *p)
{
    for (const char *c = p->devices ? p->devices : "c"; *c; c++) {
        struct jd_device_record *d = &r->devices[r->num_devices];
        strcpy(d->platform, *c == 'g' ? "gpu" : "cpu");
        snprintf(d->device.kind, sizeof d->device.kind, "%s",
                 p->kind ? p->kind : "model");
        snprintf(d->device.uuid, sizeof d->device.uuid, "%d-%d", p->id,
                 r->num_devices++);
    }
}

static inline void job_fill(struct jd_record *r, const struct job_process *p,
                            int rank, int count)
{
    snprintf(r->version, sizeof r->version, "%s",
             p->version ? p->version : "1.0");
    r->rank = rank;
    r->process_id = p->id;
    r->num_processes = p->num_processes ? p->num_processes : count;
    r->num_slices = p->num_slices;
    r->slice_index = p->num_slices ? p->slice_index : -1;
    strcpy(r->process_id_source, "SLURM_PROCID");
    strcpy(r->num_processes_source, "SLURM_STEP_NUM_TASKS");
    strcpy(r->facts.host, p->host ? p->host : "n1");
    strcpy(r->facts.boot_id, p->boot_id ? p->boot_id : "boot");
    strcpy(r->facts.program, "prog");
    r->facts.pid = 1000 + rank;
    r->facts.host_cores_allowed = p->host_cores;
    r->facts.num_threads = p->host_threads;
    job_fill_devices(r, p);
}

/* Records that jd__records_destroy takes. */
static inline struct jd_records *
job_records(const struct job_process *processes, int count)
{
    size_t each = sizeof(struct jd_record) +
                  JOB_MAX_DEVICES * sizeof(struct jd_device_record);
    struct jd_records *records = calloc(1, sizeof *records);
    records->count = count;
    records->items = calloc((size_t)count, sizeof *records->items);
    records->storage = calloc((size_t)count, each);
    for (int i = 0; i < count; i++) {
        records->items[i] =
            (struct jd_record *)((char *)records->storage + (size_t)i * each);
        job_fill(records->items[i], &processes[i], i, count);
    }
    return records;
}

#define JOB_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define JOB_RECORDS(...)                                                       \
    job_records((struct job_process[]){ __VA_ARGS__ },                         \
                JOB_COUNT(((struct job_process[]){ __VA_ARGS__ })))

/* What process 0 sees of the job; the records are taken. */
static inline struct jd_topology *job_topology(struct jd_records *records)
{
    struct jd_topology *topology;
    UNIT_OK(jd__records_verify(records));
    UNIT_OK(jd__topology_build(records, NULL, &topology));
    jd__records_destroy(records);
    return topology;
}

#endif
