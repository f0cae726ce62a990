/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * misbehave HOW - a program for test_runner.sh, which sees that tests/mpi/run
 * notices what a test may do wrong. Not an MPI program.
 */
#include "expect.h"

#include <unistd.h>

/* A child that lives on, out of the launcher's reach. */
static int leave_a_child(void)
{
    pid_t child = fork();

    if (child != 0)
        return child < 0;
    setsid();
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "well";

    printf("on stdout: %s\n", how);
    fprintf(stderr, "on stderr: %s\n", how);
    fflush(stdout);
    if (strcmp(how, "fail") == 0)
        EXPECT(0, "it was asked to");
    if (strcmp(how, "exit") == 0)
        _Exit(3);
    if (strcmp(how, "skip") == 0)
        SKIP("there is no %s", "weather");
    if (strcmp(how, "leave") == 0)
        return leave_a_child();
    while (strcmp(how, "hang") == 0)
        pause();
    return 0;
}
