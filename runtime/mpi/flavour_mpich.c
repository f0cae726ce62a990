/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flavour_mpich.c - MPICH and its descendants: MPI_Init asks by PMI, through a
 * descriptor that the launcher has left open (PMI_FD: Hydra, Slurm's pmi2, and
 * jd), or at an address (PMI_PORT). Where neither is there it makes a world of
 * one without a word.
 */
#include "base/parse.h"
#include "runtime/mpi/flavour.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* What the launchers of Cray's machines say to their own PMI. */
static const char *const cray_signs[] = { "PMI_CONTROL_PORT", "PALS_APID" };

static bool is_open(int fd, const char *text, char *missing, size_t size)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    poll(&poller, 1, 0);
    if (poller.revents & POLLNVAL)
        snprintf(missing, size,
                 "PMI_FD is %.40s, which is no open descriptor of this process "
                 "(a program between it and the launcher has closed it)",
                 text);
    else if (poller.revents & (POLLHUP | POLLERR))
        snprintf(missing, size,
                 "the launcher at the other end of PMI_FD (%.40s) has ended",
                 text);
    return !(poller.revents & (POLLNVAL | POLLHUP | POLLERR));
}

static bool is_served(const struct jd_env *env, char *missing, size_t size)
{
    const char *text = jd__env_get_nonempty(env, "PMI_FD");
    long long fd;
    snprintf(missing, size,
             "no PMI server serves them (neither PMI_FD nor PMI_PORT is set)");
    if (!text)
        return jd__env_get_nonempty(env, "PMI_PORT") != NULL;
    if (jd__parse_integer(text, &fd) && fd >= 0 && fd <= INT_MAX)
        return is_open((int)fd, text, missing, size);
    snprintf(missing, size, "PMI_FD is \"%.40s\", which is no descriptor",
             text);
    return false;
}

static bool is_served_on_cray(const struct jd_env *env, char *missing,
                              size_t size)
{
    for (size_t i = 0; i < sizeof cray_signs / sizeof *cray_signs; i++)
        if (jd__env_get_nonempty(env, cray_signs[i]))
            return true;
    return is_served(env, missing, size);
}

const struct jd_mpi_flavour jd__flavour_mpich = {
    .sign = "MPICH",
    .launcher = "mpiexec",
    .srun = "pmi2",
    .by = JD_SERVED_BY_PMI,
    .is_joined = true,
    .is_served = is_served,
};

/* Its PMI is no other's: jd cannot be its launcher. */
const struct jd_mpi_flavour jd__flavour_cray = {
    .sign = "CRAY MPICH",
    .launcher = "mpiexec",
    .srun = "cray_shasta",
    .by = JD_SERVED_BY_PMI,
    .is_served = is_served_on_cray,
};

const struct jd_mpi_flavour jd__flavour_intel = {
    .sign = "Intel(R) MPI",
    .launcher = "mpiexec",
    .srun = "pmi2",
    .by = JD_SERVED_BY_PMI,
    .is_joined = true,
    .is_served = is_served,
};

const struct jd_mpi_flavour jd__flavour_mvapich = {
    .sign = "MVAPICH",
    .launcher = "mpirun",
    .srun = "pmi2",
    .by = JD_SERVED_BY_PMI,
    .is_joined = true,
    .is_served = is_served,
};
