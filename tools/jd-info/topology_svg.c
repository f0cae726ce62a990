/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_svg.c - hosts, processes and devices as boxes. */
#include "tools/jd-info/topology_svg.h"
#include "base/svg.h"
#include "tools/jd-info/host_processes.h"
#include "tools/jd-info/topology_tree.h"

#include <stdlib.h>
#include <string.h>

#define OPERATION "jd-info --topology --svg"

enum {
    IN_A_ROW = 4, /* processes */
    HEAD_LINES = 2,
    MOST_DEVICES = 8, /* that are named in a box */
};

/* The boxes of one host at a time. */
struct hosts {
    const struct jd_topology *topology;
    struct host_processes processes;
    int host;
};

static void choose_host(void *of, int number)
{
    ((struct hosts *)of)->host = number;
}

static void describe_host(const void *of, FILE *out)
{
    const struct hosts *hosts = of;
    fprintf(out,
            "host %s: ", jd__topology_host_name(hosts->topology, hosts->host));
    topology_tree_machine(out, hosts->topology, hosts->host);
    putc('\n', out);
}

/* -1: none is there. */
static int process_at(const struct hosts *hosts, int row, int column)
{
    int local = row * IN_A_ROW + column;
    return local < host_processes_count(&hosts->processes, hosts->host)
               ? host_processes_of(&hosts->processes, hosts->host)[local]
               : -1;
}

static void leave_unlabelled(const void *of, int number, char *text,
                             size_t size)
{
    (void)of, (void)number, (void)size;
    *text = '\0';
}

/* The k-th of the process's, of all platforms. */
static const jd_device *device_at(const struct hosts *hosts, int process, int k)
{
    const struct jd_topology *t = hosts->topology;
    for (int i = 0, first; i < t->num_platforms; i++) {
        int count = jd__topology_devices_of(t, i, process, &first);
        if (k < count)
            return t->platforms[i].devices[first + k];
        k -= count;
    }
    return NULL;
}

static int count_box_lines(const void *of, int row, int column)
{
    const struct hosts *hosts = of;
    int process = process_at(hosts, row, column), devices;
    if (process < 0)
        return 0;
    devices = hosts->topology->processes[process].num_devices;
    return HEAD_LINES + (devices > MOST_DEVICES ? MOST_DEVICES + 1 : devices);
}

static void print_device_line(const struct hosts *hosts, int process, int k,
                              char *text, size_t size)
{
    const jd_device *device = device_at(hosts, process, k);
    int devices = hosts->topology->processes[process].num_devices;
    if (k == MOST_DEVICES)
        snprintf(text, size, "and %d more", devices - MOST_DEVICES);
    else if (device)
        snprintf(text, size, "%s %d: %s", device->platform,
                 device->local_ordinal, device->kind);
}

static void print_box_line(const void *of, int row, int column, int line,
                           char *text, size_t size)
{
    const struct hosts *hosts = of;
    const struct jd_topology *t = hosts->topology;
    int process = process_at(hosts, row, column);
    const struct jd_process_info *p = &t->processes[process];
    if (line == 0)
        snprintf(text, size, "process %d, %s", p->index,
                 jd__topology_text(t, p->program));
    else if (line == 1)
        snprintf(text, size, "cores %s", jd__topology_text(t, p->cores));
    else
        print_device_line(hosts, process, line - HEAD_LINES, text, size);
}

static int colour_process(const void *of, int row, int column)
{
    (void)row, (void)column;
    return ((const struct hosts *)of)->host;
}

/* Of all boxes' lines the longest. */
static int count_letters(struct hosts *hosts, int rows)
{
    char text[JD_SVG_TEXT];
    size_t most = 0;
    for (hosts->host = 0; hosts->host < hosts->topology->num_hosts;
         hosts->host++)
        for (int i = 0; i < rows * IN_A_ROW; i++)
            for (int k = 0; k < count_box_lines(hosts, 0, i); k++) {
                print_box_line(hosts, 0, i, k, text, sizeof text);
                most = strlen(text) > most ? strlen(text) : most;
            }
    return (int)most;
}

static int count_most(const struct hosts *hosts)
{
    int most = 0;
    for (int i = 0; i < hosts->topology->num_hosts; i++) {
        int count = host_processes_count(&hosts->processes, i);
        most = count > most ? count : most;
    }
    return most;
}

static jd_status draw_job(struct hosts *hosts, FILE *out)
{
    struct jd_svg svg;
    struct jd_text words;
    jd_status status = jd__svg_begin(&svg, OPERATION);
    if (status != JD_OK)
        return status;
    if (jd__text_begin(&words))
        topology_tree_job(words.out, hosts->topology);
    int most = count_most(hosts), rows = (most + IN_A_ROW - 1) / IN_A_ROW;
    jd__svg_tables(&svg, jd__svg_end_lines(&svg, JD_SVG_MARGIN, &words),
                   &(struct jd_svg_tables){
                       .count = hosts->topology->num_hosts,
                       .num_rows = rows,
                       .num_columns = most < IN_A_ROW ? most : IN_A_ROW,
                       .letters = count_letters(hosts, rows),
                       .of = hosts,
                       .choose = choose_host,
                       .words = describe_host,
                       .row_label = leave_unlabelled,
                       .column_label = leave_unlabelled,
                       .lines = count_box_lines,
                       .line = print_box_line,
                       .colour = colour_process });
    return jd__svg_write(&svg, "a job", out, OPERATION);
}

jd_status topology_svg_print(FILE *out, struct jd_topology *topology)
{
    struct hosts hosts = { .topology = topology };
    jd__topology_list(topology);
    jd_status status =
        host_processes_make(&hosts.processes, topology)
            ? draw_job(&hosts, out)
            : jd__fail_no_memory(OPERATION,
                                 (size_t)topology->num_processes * sizeof(int));
    host_processes_free(&hosts.processes);
    return status;
}
