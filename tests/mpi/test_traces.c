/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_traces COUNT - as many meshes are made, used by all local devices, and
 * destroyed; no file, thread, mapping or memory stays.
 */
#include "jd.h"

#include "../lib/sanitized.h"
#include "expect.h"

#include <dirent.h>
#include <time.h>

#define WARM 200 /* meshes until everything is there that stays */

/* In KiB: MPI and malloc keep some, but not for each mesh; AddressSanitizer
 * keeps what was freed. */
#define SLACK (HAS_ASAN ? 512L << 10 : 1024L)

static int count_entries(const char *path)
{
    int entries = 0;
    DIR *folder = opendir(path);
    EXPECT(folder, "no %s", path);
    while (readdir(folder))
        entries++;
    closedir(folder);
    return entries;
}

/* AddressSanitizer's allocator has some of its own, as it goes; what each mesh
 * left would be a thousand. */
#define SPARE_MAPPINGS (HAS_ASAN ? 100 : 16)

static int count_mappings(void)
{
    int lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    EXPECT(file, "no maps");
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

/* The least of some counts, until it is as wanted: a thread that reads lines of
 * the program, as others ask for them, has mappings of its own for a while. */
static int least_mappings(int wanted)
{
    static const struct timespec pause = { 0, 10000000 };
    int least = count_mappings();
    for (int i = 0; i < 1000 && least > wanted; i++) {
        nanosleep(&pause, NULL);
        int now = count_mappings();
        least = now < least ? now : least;
    }
    return least;
}

/* In KiB; pages of arenas are among them. */
static long resident(void)
{
    char line[256];
    long size = -1;
    FILE *file = fopen("/proc/self/status", "r");
    EXPECT(file, "no status");
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &size);
    fclose(file);
    return size;
}

static jd_status use(jd_shard *me, void *arg)
{
    enum { LONG = 5000 };
    double values[LONG];
    (void)arg;
    for (int i = 0; i < LONG; i++)
        values[i] = 1;
    EXPECT_OK(jd_psum(me, NULL, values, values, LONG, JD_F64));
    EXPECT(values[LONG - 1] == jd_device_count(), "%g", values[LONG - 1]);
    EXPECT_OK(jd_barrier(me, "x"));
    return JD_OK;
}

/* In another order each time, so that comms are made for each. */
static void make_and_use(int round)
{
    int n;
    const jd_device *const *all = jd_devices(&n);
    const jd_device *chosen[64];
    jd_mesh *mesh;
    for (int i = 0; i < n; i++)
        chosen[i] = all[(i + round) % n];
    EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ n, 1 },
                             (const char *[]){ "x", "y" }, chosen));
    EXPECT_OK(jd_shard_map(mesh, use, NULL));
    jd_mesh_destroy(mesh);
}

/* Two members that differ name their lines, for which their processes load the
 * library that reads them: it stays, and may be asked for a line at any time
 * later. */
static jd_status differ(jd_shard *me, void *odd)
{
    double values[2] = { 0 };
    size_t count = jd_axis_index(me, NULL) == *(const int *)odd ? 2 : 1;
    EXPECT(jd_psum(me, NULL, values, values, count, JD_F64) ==
               JD_INVALID_ARGUMENT,
           "%s", jd_error_message());
    return JD_OK;
}

static void ask_for_lines(void)
{
    jd_mesh *mesh;
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    for (int odd = 0; odd < jd_device_count(); odd++)
        EXPECT_OK(jd_shard_map(mesh, differ, &odd));
    jd_mesh_destroy(mesh);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    JD_CHECK(jd_initialize());
    ask_for_lines();
    for (int i = 0; i < WARM; i++)
        make_and_use(i);
    EXPECT_OK(jd_sync_global_devices("warm"));
    int files = count_entries("/proc/self/fd");
    int threads = count_entries("/proc/self/task"), maps = count_mappings();
    long size = resident();
    for (int i = 0; i < count; i++)
        make_and_use(i);
    EXPECT_OK(jd_sync_global_devices("done"));
    EXPECT(count_entries("/proc/self/fd") <= files, "%d files", files);
    EXPECT(count_entries("/proc/self/task") <= threads + 1, "%d threads",
           threads);
    int left = least_mappings(maps + SPARE_MAPPINGS);
    EXPECT(left <= maps + SPARE_MAPPINGS, "%d, not %d", left, maps);
    EXPECT(resident() <= size + SLACK, "%ld KiB, not %ld", resident(), size);
    printf("%ld KiB before, %ld after\n", size, resident());
    JD_CHECK(jd_shutdown());
    return 0;
}
