/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * staged - a process of a job that can be held at each stage of its life. At
 * stage NAME process N writes its pid to $GATES/NAME.N, and on a second line
 * whether MPI is told to yield there, and stays as long as
 * there is a file $GATES/NAME.N.hold. The stages:
 *
 *   init      before jd_initialize
 *   mpi       before MPI_Init_thread, which jd_initialize calls
 *   records   when all records have been read, in MPI_Comm_free
 *   world     after jd_initialize; the others wait in MPI_Barrier
 *   finalize  before MPI_Finalize, which jd calls at exit
 *
 * Process 0 says "N processes" when all were in the world. $PLAY_MPI is what it
 * says that its MPI is.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "0";
}

/* Whole, or not there. */
static void mark(const char *path)
{
    char part[4096 + 8];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *out = fopen(part, "w");
    if (!out)
        return;
    fprintf(out, "%d\nyield %s\n", (int)getpid(),
            variable("OMPI_MCA_mpi_yield_when_idle"));
    fclose(out);
    rename(part, path);
}

static void stage(const char *name)
{
    static const struct timespec moment = { 0, 5000000 };
    char path[4096], hold[4096 + 8];
    snprintf(path, sizeof path, "%s/%s.%s", variable("GATES"), name,
             variable("JD_PROCESS_ID"));
    snprintf(hold, sizeof hold, "%s.hold", path);
    mark(path);
    while (access(hold, F_OK) == 0)
        nanosleep(&moment, NULL);
}

int MPI_Get_library_version(char *version, int *length)
{
    const char *played = getenv("PLAY_MPI");
    if (!played)
        return PMPI_Get_library_version(version, length);
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", played);
    return MPI_SUCCESS;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    stage("mpi");
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    stage("records");
    return PMPI_Comm_free(comm);
}

int MPI_Finalize(void)
{
    stage("finalize");
    return PMPI_Finalize();
}

int main(void)
{
    stage("init");
    JD_CHECK(jd_initialize());
    stage("world");
    MPI_Barrier(jd_mpi_comm());
    if (jd_process_index() == 0)
        printf("%d processes\n", jd_process_count());
    return jd_shutdown();
}
