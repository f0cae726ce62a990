/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h - what a measurement of files needs: dd(1) as the peer, files
 * that are not in memory, and which file system it is.
 *
 *     double seconds = bench_dd_write("dir/file", source);
 *     double resident = bench_drop("dir/file");
 *     seconds = bench_dd_read("dir/file");
 */
#ifndef BENCH_CHECKPOINT_FILES_H
#define BENCH_CHECKPOINT_FILES_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_FILE_SYSTEM = 64 };

/* Seconds from the start of dd to its end, -1 where it failed: from the start
 * of an open file into a new one, with fsync; and a file into nothing. 1 MiB at
 * a time. */
double bench_dd_write(const char *path, int source);
double bench_dd_read(const char *path);

/*
 * Takes a file, or all files of a directory, out of this host's memory, for
 * which they have to be on the disk. Returns the part of them that is in it
 * still: 0 where the next reading is from the disk, and -1 where that cannot
 * be told.
 */
double bench_drop(const char *path);

/* Removes a file or a directory with all that is in it, if it is there. */
void bench_remove(const char *path);

/* Waits until the file system has written what it has: so that nobody pays
 * for what was written before. */
void bench_settle(const char *path);

/* The file system's name, "ext4", or "unknown". */
void bench_file_system(const char *path, char name[BENCH_FILE_SYSTEM]);

/* Whether that many bytes fit there; else says so on stderr. */
bool bench_has_room(const char *path, size_t bytes);

#endif
