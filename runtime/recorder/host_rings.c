/* SPDX-License-Identifier: BSD-3-Clause */
/* host_rings.c - the rings of a host's processes as one file. */
#include "runtime/recorder/host_rings.h"
#include "base/log.h"
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nobody can cut it off under the others. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Where the first process has it; plain data. */
struct place {
    int32_t pid;
    int32_t descriptor; /* -1: it has none */
    uint64_t inode;
};

static size_t bytes_of(int count)
{
    return (size_t)count * sizeof(struct jd_ring);
}

static void say_without(const char *call)
{
    jd__log(JD_LOG_INFO,
            "the recorder's memory is not shared inside the host (%s: %s): "
            "what this process called last goes with it",
            call, strerror(errno));
}

/* ---- the first ---------------------------------------------------------- */

/* The file's descriptor; -1 where it cannot be made, which is said. */
static int make_file(size_t bytes)
{
    int fd = jd__memfd_is_allowed(bytes) ? jd__memfd_create("jd-recorder") : -1;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    say_without("memfd_create");
    if (fd >= 0)
        close(fd);
    return -1;
}

static struct place place_of(int fd)
{
    struct stat facts = { .st_ino = 0 };
    if (fd >= 0)
        fstat(fd, &facts);
    return (struct place){ getpid(), fd, facts.st_ino };
}

/* ---- the others --------------------------------------------------------- */

static void map_rings(int fd, int count, struct jd_host_rings *rings)
{
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS)
        return;
    void *memory =
        mmap(NULL, bytes_of(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return;
    rings->rings = memory;
    rings->count = count;
}

/* ---- together ----------------------------------------------------------- */

static jd_status tell_place(const struct jd_host_group *group,
                            struct place *place)
{
    return jd__mpi_check(
        MPI_Bcast(place, (int)sizeof *place, MPI_BYTE, 0, group->comm),
        "MPI_Bcast", "jd_initialize");
}

/* The first keeps its descriptor until all have opened it. */
static jd_status await_all(const struct jd_host_group *group)
{
    return jd__mpi_check(MPI_Barrier(group->comm), "MPI_Barrier",
                         "jd_initialize");
}

jd_status jd__host_rings_open(const struct jd_host_group *group,
                              struct jd_host_rings *ret_rings)
{
    size_t bytes = bytes_of(group->count);
    struct jd_host_rings rings = { .rings = NULL };
    *ret_rings = rings;
    if (group->comm == MPI_COMM_NULL)
        return JD_OK;
    int fd = group->index == 0 ? make_file(bytes) : -1;
    struct place place = place_of(fd);
    jd_status status = tell_place(group, &place);
    if (status == JD_OK && group->index > 0 && place.descriptor >= 0) {
        fd = jd__memfd_open(place.pid, place.descriptor, bytes, place.inode,
                            O_RDWR);
        if (fd < 0)
            say_without("open");
    }
    if (fd >= 0)
        map_rings(fd, group->count, &rings);
    if (status == JD_OK)
        status = await_all(group);
    if (fd >= 0)
        close(fd);
    *ret_rings = rings;
    return status;
}

void jd__host_rings_close(struct jd_host_rings *rings)
{
    if (rings->rings)
        munmap(rings->rings, bytes_of(rings->count));
    *rings = (struct jd_host_rings){ .rings = NULL };
}
