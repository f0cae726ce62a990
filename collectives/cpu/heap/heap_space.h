/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_space.h - how much memory there is before somebody is killed for it:
 * the limits of this process's control groups (both versions) and of the
 * groups above them, the host's available memory and that of the NUMA nodes
 * that this process is held to, the kernel's commit limit where it holds, and
 * the file system's free space.
 *
 *     status = jd__heap_space_check(&(struct jd_space_request){
 *         .operation = "jd_device_alloc", .root = "", .file = -1,
 *         .bytes = bytes }, NULL);
 *
 * What can be had of a limit is what is not used, and the file cache that the
 * kernel would drop first; swap does not count. Of a limit that ends in a
 * kill a 64th and 16 MiB are kept back, for what other processes take
 * in the same moment and for everything that is not asked for here.
 *
 * Some ten small files are read, about 0.1 ms. Threads: any.
 */
#ifndef COLLECTIVES_CPU_HEAP_HEAP_SPACE_H
#define COLLECTIVES_CPU_HEAP_HEAP_SPACE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_space_request {
    const char *operation;
    const char *root; /* before /proc, /sys: "", or a folder for tests */
    int file;         /* in a file system of limited size; -1: in none */
    uint64_t bytes;   /* in all */
    uint64_t taken;   /* of these, already */
};

/*
 * *ret_left, where it is not NULL, gets what would be left behind all of the
 * bytes. Returns JD_OK; RESOURCE_EXHAUSTED naming operation, the bytes, what
 * can be had, the limit that says so with its file, and the remedy.
 */
jd_status jd__heap_space_check(const struct jd_space_request *request,
                               uint64_t *ret_left);

/* ---- among its files ---------------------------------------------------- */

/* The tightest limit so far. */
struct jd_space {
    uint64_t left;
    char why[512]; /* "FILE allows N bytes, of which N are in use" */
    const char *remedy;
};

/* The limits of the process's control groups (heap_cgroup.c). */
void jd__heap_cgroup_space(const char *root, struct jd_space *space);

/* The NUMA nodes to which the process is held (heap_nodes.c). */
void jd__heap_nodes_space(const char *root, struct jd_space *space);

/* What is available of a total: "WHAT available, of which ..." */
void jd__heap_space_available(struct jd_space *space, const char *what,
                              uint64_t total, uint64_t available,
                              const char *remedy);

/* A limit of which so much is in use: keeps it where it is the tightest. */
void jd__heap_space_limit(struct jd_space *space, const char *file,
                          uint64_t limit, uint64_t used);

/* The file's number; the number or the text behind the key at the begin of a
 * line; false where there is none. */
bool jd__heap_space_read(const char *path, uint64_t *ret_value);
bool jd__heap_space_read_key(const char *path, const char *key,
                             uint64_t *ret_value);
bool jd__heap_space_read_text(const char *path, const char *key, char *text,
                              size_t size);

#endif
