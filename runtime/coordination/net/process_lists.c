/* SPDX-License-Identifier: BSD-3-Clause */
/* process_lists.c - lists of processes in a few numbers. */
#include "runtime/coordination/net/process_lists.h"

#include <stdlib.h>

/* ---- ranges ------------------------------------------------------------- */

size_t jd__process_lists_pack(const int *numbers, size_t count,
                              uint32_t *ret_ranges)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = (uint32_t)numbers[i];
        if (n && number == ret_ranges[n - 2] + ret_ranges[n - 1]) {
            ret_ranges[n - 1]++;
            continue;
        }
        ret_ranges[n++] = number;
        ret_ranges[n++] = 1;
    }
    return n;
}

/* How many numbers they are; SIZE_MAX: these are none. */
static size_t count_numbers(const uint32_t *ranges, size_t n, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        if (ranges[i] >= most || ranges[i + 1] > most - ranges[i] ||
            ranges[i + 1] > most - count)
            return SIZE_MAX;
        count += ranges[i + 1];
    }
    return n % 2 ? SIZE_MAX : count;
}

int *jd__process_lists_unpack(const uint32_t *ranges, size_t n, size_t most,
                              size_t *ret_count)
{
    *ret_count = count_numbers(ranges, n, most);
    if (*ret_count == SIZE_MAX)
        return NULL;
    int *numbers = malloc((*ret_count + 1) * sizeof *numbers);
    size_t at = 0;
    for (size_t i = 0; numbers && i + 1 < n; i += 2)
        for (uint32_t k = 0; k < ranges[i + 1]; k++)
            numbers[at++] = (int)(ranges[i] + k);
    *ret_count = at;
    return numbers;
}

/* ---- hosts -------------------------------------------------------------- */

enum { FIRST, EACH, LENGTH, RUN };

/* Whether the run goes on with this host; while its processes are all of one
 * host, how many each has is not known yet, and it is 0. */
static bool goes_on(uint32_t *run, uint32_t host)
{
    if (run[EACH])
        return host == run[FIRST] + run[LENGTH] / run[EACH];
    if (host == run[FIRST] + 1)
        run[EACH] = run[LENGTH];
    return host == run[FIRST] || run[EACH];
}

static void end_run(uint32_t *run)
{
    if (!run[EACH])
        run[EACH] = run[LENGTH];
}

size_t jd__process_lists_pack_hosts(const uint32_t *hosts, size_t count,
                                    uint32_t *ret_runs)
{
    uint32_t *run = NULL;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (run && goes_on(run, hosts[i])) {
            run[LENGTH]++;
            continue;
        }
        if (run)
            end_run(run);
        run = ret_runs + n;
        n += RUN;
        run[FIRST] = hosts[i];
        run[EACH] = 0;
        run[LENGTH] = 1;
    }
    if (run)
        end_run(run);
    return n;
}

size_t jd__process_lists_unpack_hosts(const uint32_t *runs, size_t n,
                                      int *ret_hosts, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i + LENGTH < n; i += RUN) {
        const uint32_t *run = runs + i;
        if (!run[EACH] || run[LENGTH] > count - at)
            return at;
        for (uint32_t k = 0; k < run[LENGTH]; k++) {
            uint64_t host = (uint64_t)run[FIRST] + k / run[EACH];
            if (host >= count)
                return at;
            ret_hosts[at++] = (int)host;
        }
    }
    return at;
}
