# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
#
# mpi_flags.sh - what a compiler is told to find mpi.h. Source it.

# Open MPI's own headers are not ours to warn about.
read -ra mpi_flags < <({ pkg-config --cflags ompi-c 2>/dev/null ||
    mpicc --showme:compile; } | sed -E 's/(^| )-I/\1-isystem /g')
