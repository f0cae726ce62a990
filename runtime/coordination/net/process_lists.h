/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * process_lists.h - lists of processes in a few numbers, as they stand in
 * messages: what is told to each of N processes must not have N numbers.
 *
 * Ranges are pairs: the first process, and how many from there on. Host runs
 * say for each process the number of its host, by threes: the first host, how
 * many processes each host has from there on, and for how many processes that
 * holds; "8 hosts of 4" is 0, 4, 32, and "1 of each host in turn" a run for
 * each turn.
 *
 *     n = jd__process_lists_pack(numbers, count, ranges);   2 * count are
 *                                                           enough
 *     numbers = jd__process_lists_unpack(ranges, n, most, &count);
 *
 * Threads: any.
 */
#ifndef RUNTIME_COORDINATION_NET_PROCESS_LISTS_H
#define RUNTIME_COORDINATION_NET_PROCESS_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ranges of sorted numbers, each there once; returns how many uint32s they
 * are, at most 2 * count. */
size_t jd__process_lists_pack(const int *numbers, size_t count,
                              uint32_t *ret_ranges);

/* The numbers, malloc'ed. Returns NULL where there is no memory, and where
 * these are no ranges of at most so many numbers below most: then *ret_count
 * is not 0. */
int *jd__process_lists_unpack(const uint32_t *ranges, size_t n, size_t most,
                              size_t *ret_count);

/* The host runs of count processes; returns how many uint32s they are, at most
 * 3 * count. */
size_t jd__process_lists_pack_hosts(const uint32_t *hosts, size_t count,
                                    uint32_t *ret_runs);

/* The numbers of count processes' hosts; returns how many it could read before
 * the runs ended, or one named a host that is not below count. */
size_t jd__process_lists_unpack_hosts(const uint32_t *runs, size_t n,
                                      int *ret_hosts, size_t count);

#endif
