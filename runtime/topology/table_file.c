/* SPDX-License-Identifier: BSD-3-Clause */
/* table_file.c - a table as a file that the host's processes map. */
#include "runtime/topology/table_file.h"
#include "base/memfd.h"
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0 /* before Linux 4.17: a wish */
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* ---- to make one -------------------------------------------------------- */

static jd_status fail_create(const char *call)
{
    return jd_fail(JD_UNAVAILABLE,
                   "jd_initialize: the table of the job's processes cannot be "
                   "shared inside the host (%s: %s); each process keeps its "
                   "own",
                   call, strerror(errno));
}

/* Beyond the limit a write would end the process. */
static jd_status check_limit(uint64_t bytes)
{
    return jd__memfd_is_allowed(bytes) ? JD_OK : fail_create("ulimit -f");
}

jd_status jd__table_file_create(const struct jd_table *table,
                                struct jd_table_file *ret_file)
{
    struct jd_table_file file = { .descriptor = -1 };
    jd_status status = check_limit(table->bytes);
    if (status == JD_OK &&
        (file.descriptor = jd__memfd_create("jd-topology")) < 0)
        status = fail_create("memfd_create");
    if (status == JD_OK &&
        !jd__write_all(file.descriptor, table, table->bytes))
        status = fail_create("write");
    if (status == JD_OK && fcntl(file.descriptor, F_ADD_SEALS, SEALS) != 0)
        status = fail_create("F_ADD_SEALS");
    file.desc = (struct jd_table_desc){
        .bytes = table->bytes,
        .base = (uint64_t)(uintptr_t)table,
        .pid = getpid(),
        .descriptor = file.descriptor,
    };
    memcpy(file.desc.nonce, table->nonce, sizeof table->nonce);
    *ret_file = file;
    return status;
}

jd_status jd__table_file_put(const struct jd_table_file *file,
                             struct jd_table *table)
{
    void *put = mmap(table, table->bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
                     file->descriptor, 0);
    return put == MAP_FAILED ? fail_create("mmap") : JD_OK;
}

void jd__table_file_close(struct jd_table_file *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
}

/* ---- to map one --------------------------------------------------------- */

static jd_status fail_map(const struct jd_table_desc *desc, const char *why)
{
    return jd_fail(JD_UNAVAILABLE,
                   "jd_initialize: the table of the job's processes that the "
                   "process with pid %d shares cannot be mapped: %s; this "
                   "host's processes keep their own",
                   (int)desc->pid, why);
}

static jd_status open_descriptor(const struct jd_table_desc *desc, int *ret_fd)
{
    *ret_fd =
        jd__memfd_open(desc->pid, desc->descriptor, desc->bytes, 0, O_RDONLY);
    if (*ret_fd >= 0)
        return JD_OK;
    return fail_map(desc, errno == ESTALE ? "another process's file is there"
                                          : strerror(errno));
}

/* The seals come first: what is sealed stays as it is looked at. */
static jd_status check_file(const struct jd_table_desc *desc, int fd)
{
    struct jd_table head;
    struct stat facts;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS)
        return fail_map(desc, "the file is not sealed");
    if (fstat(fd, &facts) != 0 || facts.st_size != (off_t)desc->bytes ||
        pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.magic, JD_TABLE_MAGIC, sizeof head.magic) != 0 ||
        memcmp(head.nonce, desc->nonce, sizeof head.nonce) != 0 ||
        head.bytes != desc->bytes)
        return fail_map(desc, "another process has that pid here");
    return JD_OK;
}

/* At its base where that is free, else anywhere. */
static void *map_table(const struct jd_table_desc *desc, int fd)
{
    void *base = (void *)(uintptr_t)desc->base;
    void *table = mmap(base, desc->bytes, PROT_READ,
                       MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    return table == MAP_FAILED
               ? mmap(NULL, desc->bytes, PROT_READ, MAP_SHARED, fd, 0)
               : table;
}

jd_status jd__table_file_map(const struct jd_table_desc *desc,
                             struct jd_table **ret_table)
{
    int fd = -1;
    jd_status status = open_descriptor(desc, &fd);
    if (status != JD_OK)
        return status;
    status = check_file(desc, fd);
    if (status == JD_OK) {
        void *table = map_table(desc, fd);
        if (table == MAP_FAILED)
            status = fail_map(desc, strerror(errno));
        else
            *ret_table = table;
    }
    close(fd); /* the mapping keeps the file */
    return status;
}
