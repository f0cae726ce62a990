/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_seeds.h - the inputs that fuzz_pmi begins with: what MPIs say by PMI-1
 * and PMI-2, and what none should.
 */
#ifndef TESTS_FUZZ_PMI_SEEDS_H
#define TESTS_FUZZ_PMI_SEEDS_H

#include <stddef.h>
#include <stdint.h>

enum { PMI_SEED_MOST = 4096 };

/* The name of the seed of that number, and its bytes; NULL: there are no more.
 */
const char *pmi_seed(size_t number, uint8_t bytes[PMI_SEED_MOST],
                     size_t *ret_size);

#endif
