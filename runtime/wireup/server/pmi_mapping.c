/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_mapping.c - which processes are on which host, in MPICH's words. */
#include "runtime/wireup/server/pmi.h"

#include <stdio.h>
#include <stdlib.h>

/* Hosts that follow each other, with as many processes each. */
struct host_block {
    size_t first, hosts, each;
};

/* The host of each process. NULL without memory. */
static size_t *list_hosts(const Jd__Plan *plan)
{
    size_t *host_of = malloc(plan->count * sizeof *host_of);
    for (size_t h = 0; host_of && h < plan->n_hosts; h++)
        for (size_t i = 0; i < plan->hosts[h]->n_processes; i++)
            host_of[plan->hosts[h]->processes[i]] = h;
    return host_of;
}

/* How many processes from this one on are on one host. */
static size_t count_run(const size_t *host_of, size_t count, size_t from)
{
    size_t end = from + 1;
    while (end < count && host_of[end] == host_of[from])
        end++;
    return end - from;
}

/* From this process on; returns the first behind the block. */
static size_t take_block(const size_t *host_of, size_t count, size_t from,
                         struct host_block *ret_block)
{
    struct host_block block = { host_of[from], 0,
                                count_run(host_of, count, from) };
    while (from < count && host_of[from] == block.first + block.hosts &&
           count_run(host_of, count, from) == block.each) {
        block.hosts++;
        from += block.each;
    }
    *ret_block = block;
    return from;
}

bool pmi_print_mapping(const Jd__Plan *plan, char *text, size_t size)
{
    size_t *host_of = list_hosts(plan);
    FILE *out = host_of ? fmemopen(text, size, "w") : NULL;
    bool fits = out != NULL;
    if (out)
        fputs("(vector", out);
    for (size_t at = 0; out && at < plan->count;) {
        struct host_block block;
        at = take_block(host_of, plan->count, at, &block);
        fits = fprintf(out, ",(%zu,%zu,%zu)", block.first, block.hosts,
                       block.each) > 0 &&
               fits;
    }
    if (out) {
        fits = fputs(")", out) >= 0 && fits;
        fits = fclose(out) == 0 && fits;
    }
    free(host_of);
    return fits;
}
