/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table_file.h - a table as a file without a name, which nobody can change and
 * which goes when the last process that has it mapped goes. Others open it by
 * way of /proc, which the kernel allows to whoever could look into the process
 * with a debugger.
 *
 *     struct jd_table_file file;
 *     status = jd__table_file_create(table, &file);
 *     ... file.desc goes to the others, who call ...
 *     status = jd__table_file_map(&desc, &table);
 *     ... and when all have it ...
 *     jd__table_file_close(&file);
 */
#ifndef RUNTIME_TOPOLOGY_TABLE_FILE_H
#define RUNTIME_TOPOLOGY_TABLE_FILE_H

#include "runtime/topology/table.h"

/* Where a table is. Plain data. */
struct jd_table_desc {
    uint64_t bytes;
    uint64_t base; /* the address that it has in its own process */
    unsigned char nonce[16];
    int32_t pid;
    int32_t descriptor;
};

struct jd_table_file {
    int descriptor; /* -1: none */
    struct jd_table_desc desc;
};

/* Returns: JD_OK; UNAVAILABLE where the system allows no such file, with the
 * call and its reason; ret_file can be closed in any case. */
jd_status jd__table_file_create(const struct jd_table *table,
                                struct jd_table_file *ret_file);

/*
 * Maps the table for reading, at its base where that is free; waits for
 * nothing. Owns: the caller destroys it. Returns JD_OK; UNAVAILABLE with the
 * reason: the file cannot be opened, is not sealed, or is another one.
 */
jd_status jd__table_file_map(const struct jd_table_desc *desc,
                             struct jd_table **ret_table);

/* In place of the table that it was made of, at the same address. Returns
 * JD_OK; UNAVAILABLE, and then the table is as it was. */
jd_status jd__table_file_put(const struct jd_table_file *file,
                             struct jd_table *table);

/* Whoever has it mapped keeps it. */
void jd__table_file_close(struct jd_table_file *file);

#endif
