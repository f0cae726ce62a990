/* SPDX-License-Identifier: BSD-3-Clause */
/* scale.c - jd-bench scale: a model of jd on many hosts; the flags. */
#include "bench/scale/scale.h"
#include "bench/engine/flags.h"
#include "bench/jd_bench.h"

#include <stdlib.h>

static const char usage[] =
    "Usage: jd-bench scale [options]\n"
    "\n"
    "Prints what jd's collectives, the first use of a mesh and "
    "jd_initialize()\n"
    "would take on hosts that are not there: messages and bytes that the\n"
    "busiest process sends, and a time. The library's own schedules are gone\n"
    "through for all hosts at once, with lengths alone; beside them MPI's\n"
    "classical algorithms, the quickest of each, with the same constants.\n"
    "Nothing is started and nothing is sent: it is a model.\n"
    "\n"
    "  --hosts LIST       numbers of hosts (default 2,16,128,1024,10240)\n"
    "  --per-host LIST    processes of each host (default 1,128)\n"
    "  --json             rows with hosts, per_host, what, bytes, jd_us,\n"
    "                     mpi_us, ratio and more; before them the constants\n"
    "  --help             print this and exit\n"
    "\n"
    "Constants, each a number in its unit; those that are measured are\n"
    "measured on the spot where they are not given:\n"
    "\n"
    "  --latency US       between two hosts (default 2)\n"
    "  --bandwidth GB/S   of a host, each way (default 12)\n"
    "  --overhead US      of a message, at each end (default 0.15)\n"
    "  --fold GB/S        at which a core adds a vector (measured)\n"
    "  --copy GB/S        at which a core copies (measured)\n"
    "  --memory GB/S      of all cores of a host (default 200)\n"
    "  --line US          a cache line between cores (default 0.1)\n"
    "  --connect US       a connection between hosts (default 100)\n"
    "  --register US      a registration at the service (default 33)\n"
    "  --leave US         an agent's barrier and leave (default 35)\n"
    "  --heartbeat US     a heartbeat, for the service (default 21)\n"
    "  --period S         between two of an agent (default 10)\n"
    "  --agent KIB        of the service's memory (default 2.3)\n"
    "  --key US           a key of many that are asked for (default 0.14)\n"
    "  --seal GB/S        at which the service seals (default 3.4)\n"
    "  --piece KIB        of a long vector at a time, by a member, among more\n"
    "                     than two hosts (default 496, as the library)\n"
    "  --lag N            pieces under way beside one that begins (default 2)\n"
    "  --window N         messages under way of an all_to_all (default 8)\n";

/* Flags of constants are their number above this. */
enum { CONSTANT = 1000 };

static bool read_hosts(struct scale_options *o, const char *text)
{
    bool ok = bench_read_counts(text, SCALE_MOST_HOSTS, SCALE_MOST_SIZES,
                                o->hosts, &o->num_hosts);
    for (int i = 0; ok && i < o->num_hosts; i++)
        ok = o->hosts[i] > 1;
    return ok;
}

static const char *set(void *arg, int flag, char *text)
{
    struct scale_options *o = arg;
    switch (flag) {
    case 't':
        return read_hosts(o, text) ? NULL
                                   : "a comma list of numbers from 2 to 65536";
    case 'p':
        return bench_read_counts(text, SCALE_MOST_HERE, SCALE_MOST_SIZES,
                                 o->per_host, &o->num_per_host)
                   ? NULL
                   : "a comma list of numbers from 1 to 256";
    case 'j':
        o->json = true;
        return NULL;
    default:
        return scale_constants_read(
                   &o->constants, (enum scale_constant)(flag - CONSTANT), text)
                   ? NULL
                   : "a number above 0";
    }
}

static int run(int argc, char **argv)
{
    struct option words[SCALE_CONSTANTS + 5] = {
        { "hosts", required_argument, NULL, 't' },
        { "per-host", required_argument, NULL, 'p' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
    };
    for (int i = 0; i < SCALE_CONSTANTS; i++)
        words[4 + i] = (struct option){ scale_constant_rows[i].name,
                                        required_argument, NULL, CONSTANT + i };
    const struct bench_flags flags = { "scale", usage, words, set };
    struct scale_options o = {
        .constants = scale_constants_default(),
        .hosts = { 2, 16, 128, 1024, 10240 },
        .num_hosts = 5,
        .per_host = { 1, 128 },
        .num_per_host = 2,
    };
    int status = bench_read_flags(&flags, argc, argv, &o);
    if (status >= 0)
        return status;
    scale_constants_measure(&o.constants);
    return scale_print(&o);
}

const struct bench bench_scale = {
    .name = "scale",
    .doc = "a model: 2 to 10,240 hosts, beside MPI's algorithms",
    .run = run,
};
