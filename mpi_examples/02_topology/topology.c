/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology.c - who is in the job: hosts, processes, devices.
 *
 * Objective: show that every process knows the whole job after
 * jd_initialize(), without sending a message of its own.
 *
 * Steps:
 *   1. Join the job.
 *   2. jd_devices() gives the global table: all devices of all processes, in
 *      the same order everywhere.
 *   3. jd_assert_equal() proves that last point.
 *   4. Process 0 prints hosts, then devices.
 */
#include <jd.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether an earlier device of the table is in the same host. */
static int host_was_seen(const jd_device *const *devices, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(devices[j]->host, devices[i]->host) == 0)
            return 1;
    return 0;
}

/* Whether an earlier device of the table is in the same process. */
static int process_was_seen(const jd_device *const *devices, int i)
{
    return i > 0 && devices[i - 1]->process_index == devices[i]->process_index;
}

static int count_hosts(const jd_device *const *devices, int n)
{
    int hosts = 0;
    for (int i = 0; i < n; i++)
        hosts += !host_was_seen(devices, i);
    return hosts;
}

/* One line: the host of devices[first], what is in it, its model. */
static void print_host(const jd_device *const *devices, int n, int first)
{
    int processes = 0, here = 0;
    for (int i = first; i < n; i++) {
        if (strcmp(devices[i]->host, devices[first]->host) != 0)
            continue;
        here++;
        processes += !process_was_seen(devices, i);
    }
    printf("%-20s %9d %7d  %s\n", devices[first]->host, processes, here,
           devices[first]->kind);
}

static void print_hosts(const jd_device *const *devices, int n)
{
    printf("%-20s %9s %7s  %s\n", "host", "processes", "devices", "kind");
    for (int i = 0; i < n; i++)
        if (!host_was_seen(devices, i))
            print_host(devices, n, i);
}

static const char *memory_text(uint64_t bytes, char *text, size_t size)
{
    if (bytes == 0)
        return "-";
    snprintf(text, size, "%.1f GiB", (double)bytes / (1 << 30));
    return text;
}

static const char *number_text(int number, char *text, size_t size)
{
    if (number < 0)
        return "-";
    snprintf(text, size, "%d", number);
    return text;
}

static void print_device(const jd_device *d)
{
    char memory[32], numa[16];
    printf("%10" PRId64 " %8s %7d %5d %5d %4s %11s  %s\n", d->id, d->platform,
           d->process_index, d->local_ordinal, d->slice_index,
           number_text(d->numa_node, numa, sizeof numa),
           memory_text(d->memory_bytes, memory, sizeof memory), d->host);
}

static void print_devices(const jd_device *const *devices, int n)
{
    printf("%10s %8s %7s %5s %5s %4s %11s  %s\n", "device", "platform",
           "process", "local", "slice", "numa", "memory", "host");
    for (int i = 0; i < n; i++)
        print_device(devices[i]);
}

/* Fails where a process sees another table than process 0. */
static void check_same_everywhere(const jd_device *const *devices, int n)
{
    int64_t *ids = malloc((size_t)n * sizeof *ids);
    if (!ids)
        jd_abort(1, "no memory for the device ids");
    for (int i = 0; i < n; i++)
        ids[i] = devices[i]->id;
    jd_leaf leaf = { ids, JD_S64, 1, (int64_t[]){ n } };
    JD_CHECK(jd_assert_equal(&leaf, 1, "the device table"));
    free(ids);
}

int main(void)
{
    JD_CHECK(jd_initialize());

    int n;
    const jd_device *const *devices = jd_devices(&n);
    check_same_everywhere(devices, n);

    if (jd_process_index() == 0) {
        printf("processes: %d, hosts: %d, devices: %d\n\n", jd_process_count(),
               count_hosts(devices, n), n);
        print_hosts(devices, n);
        printf("\n");
        print_devices(devices, n);
    }
    return jd_shutdown();
}
