/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More than 2^31 bytes, which MPI's int counts cannot say: a sum and a
 * broadcast, in place, so that each process has one such buffer.
 */
#include "jd.h"

#include "expect.h"

#include <stdint.h>
#include <unistd.h>

#define COUNT (((size_t)1 << 31) + 4099)

static unsigned char byte_of(size_t i)
{
    return (unsigned char)(i ^ i >> 8 ^ i >> 24);
}

static void expect_times(const unsigned char *data, int factor)
{
    for (size_t i = 0; i < COUNT; i += i % 4096 ? 1 : 4095)
        EXPECT(data[i] == (unsigned char)(byte_of(i) * factor), "byte %zu: %d",
               i, data[i]);
}

int main(void)
{
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    int count = jd_process_count(), self = jd_process_index();
    size_t available =
        (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ -1 },
                             (const char *[]){ "data" }, NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    uint64_t least = available, all[64];
    EXPECT_OK(jd_all_gather(me, NULL, &least, all, 1, JD_U64));
    for (int i = 0; i < count; i++)
        least = all[i] < least ? all[i] : least;
    if (least < (size_t)count * (COUNT + ((size_t)256 << 20)))
        SKIP("%d processes with 2.1 GiB each do not fit into the memory that "
             "is free",
             count);
    unsigned char *data = malloc(COUNT);
    EXPECT(data != NULL, "no memory");
    for (size_t i = 0; i < COUNT; i++)
        data[i] = self == 0 ? byte_of(i) : 0;
    EXPECT_OK(jd_pbroadcast(me, NULL, 0, data, data, COUNT, JD_U8));
    expect_times(data, 1);
    EXPECT_OK(jd_psum(me, NULL, data, data, COUNT, JD_U8));
    expect_times(data, count);
    free(data);
    jd_mesh_destroy(mesh);
    JD_CHECK(jd_shutdown());
    return 0;
}
