/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c.h - the checksum of a checkpoint's bytes (Castagnoli's polynomial, as
 * in iSCSI and ext4; of "123456789" it is e3069283).
 *
 *     uint32_t crc = jd__crc32c(0, first, first_bytes);
 *     crc = jd__crc32c(crc, second, second_bytes);
 *
 * Threads: any.
 */
#ifndef ARRAYS_CHECKPOINT_CRC32C_H
#define ARRAYS_CHECKPOINT_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The checksum of what another one (0: nothing) stands for and the bytes. */
uint32_t jd__crc32c(uint32_t crc, const void *data, size_t bytes);

/* The checksum of two parts in a row, from those of the parts. */
uint32_t jd__crc32c_join(uint32_t first, uint32_t second,
                         uint64_t second_bytes);

/* For tests: uses these instructions from now on, "sse4.2" or "portable";
 * false where this processor has not got them. */
bool jd__crc32c_set_variant(const char *name);

#endif
