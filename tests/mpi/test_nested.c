/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_nested - after jd_initialize() the environment is the program's again,
 * so that process 0 can run an mpirun by system(): of this same program, which
 * is then plain MPI.
 */
#include "jd.h"
#include "jd_mpi.h"

#include "expect.h"

extern char **environ;

enum { MAX_VARIABLES = 4096 };

static char *before[MAX_VARIABLES];

static void remember(void)
{
    for (int i = 0; environ[i]; i++) {
        EXPECT(i < MAX_VARIABLES - 1, "%d variables", i);
        before[i] = strdup(environ[i]);
    }
}

static int has(char **variables, const char *wanted)
{
    for (int i = 0; variables[i]; i++)
        if (strcmp(variables[i], wanted) == 0)
            return 1;
    return 0;
}

static void expect_same(void)
{
    for (int i = 0; environ[i]; i++)
        EXPECT(has(before, environ[i]), "new: %s", environ[i]);
    for (int i = 0; before[i]; i++)
        EXPECT(has(environ, before[i]), "gone: %s", before[i]);
}

static int run_inside(void)
{
    int size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(size == 2, "%d", size);
    puts("inside");
    return MPI_Finalize();
}

int main(int argc, char **argv)
{
    char command[4096];
    if (argc > 1)
        return run_inside();
    remember();
    JD_CHECK(jd_initialize());
    expect_same();
    if (jd_process_index() == 0) {
        snprintf(command, sizeof command,
                 "mpirun --oversubscribe -n 2 '%s' inside", argv[0]);
        int status = system(command);
        EXPECT(status == 0, "%s gave %#x", command, (unsigned)status);
    }
    JD_CHECK(jd_sync_global_devices("the command has run"));
    return (int)jd_shutdown();
}
