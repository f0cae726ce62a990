/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the job's processes: those of a host map one file, which is
 * gone with the last of them; nobody keeps a descriptor of it; and the devices
 * in it are the same for all.
 *
 * test_topology         all are of one host
 * test_topology hosts   two or more on each of several hosts
 * test_topology apart   each has its own (JD_SHARED_MEMORY=0)
 */
#include "jd.h"

#include "expect.h"

#include <inttypes.h>
#include <stdbool.h>
#include <unistd.h>

/* The inode of the table that this process has mapped; 0: none. */
static uint64_t mapped_inode(void)
{
    char line[512];
    uint64_t inode = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    EXPECT(maps, "no /proc/self/maps");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "/memfd:jd-topology"))
            EXPECT(sscanf(line, "%*s %*s %*s %*s %" SCNu64, &inode) == 1, "%s",
                   line);
    fclose(maps);
    return inode;
}

static void expect_no_descriptor(void)
{
    char path[64], target[256];
    for (int fd = 0; fd < 256; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        EXPECT(!strstr(target, "jd-topology"), "descriptor %d is open", fd);
    }
}

/* What was given before the list is made is in it. */
static void try_devices(int self)
{
    int count, local_count;
    const jd_device *own = jd_local_devices(&local_count)[0];
    EXPECT(local_count == 1 && own->process_index == self, "%d", self);
    const jd_device *const *all = jd_devices(&count);
    EXPECT(count == jd_process_count(), "%d devices", count);
    EXPECT(all[self] == own, "process %d has another struct", self);
    for (int i = 0; i < count; i++)
        EXPECT(all[i]->process_index == i && all[i]->host[0] &&
                   all[i]->id == (int64_t)i << 17 &&
                   strcmp(all[i]->platform, "cpu") == 0,
               "device %d", i);
}

static void try_table(bool is_shared, bool is_one_host)
{
    const char *axis = "all";
    int any = -1;
    uint64_t inode = mapped_inode(), most = 0;
    jd_mesh *mesh;
    expect_no_descriptor();
    EXPECT((inode != 0) == is_shared, "inode %" PRIu64, inode);
    try_devices(jd_process_index());
    JD_CHECK(jd_mesh_create(&mesh, 1, &any, &axis, NULL));
    JD_CHECK(jd_pmax(jd_mesh_shard(mesh), axis, &inode, &most, 1, JD_U64));
    EXPECT(inode == most || !is_one_host, "%" PRIu64 " and %" PRIu64, inode,
           most);
    jd_mesh_destroy(mesh);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    for (int i = 0; i < 3; i++) {
        JD_CHECK(jd_initialize());
        try_table(jd_process_count() > 1 && strcmp(how, "apart") != 0,
                  strcmp(how, "hosts") != 0);
        JD_CHECK(jd_shutdown());
        EXPECT(mapped_inode() == 0, "it stays after jd_shutdown");
    }
    return 0;
}
