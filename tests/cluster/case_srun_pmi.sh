# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# A jd that was built with MPICH or one of its kin: srun --mpi=pmi2 serves their
# PMI, and where srun serves none, jd does. On one host: between two, MPI_Finalize
# of MPICH 4.0 with UCX does not always end, whoever serves it.
# needs: slurm
# shellcheck source-path=SCRIPTDIR source=../lib/launcher.sh
source "$here/../lib/launcher.sh"
find_launcher "$build"
! is_open_mpi || skip "$build is built with Open MPI, which does not speak PMI"

# served_by MPI COUNT: so many lines say that jd's server was started.
served_by() {
    run env JD_LOG=info srun "--mpi=$1" -N1 -n3 "$build/tests/cluster/where"
    expect_places 0:h0 1:h0 2:h0
    expect_count "$2" ' info no launcher serves MPI here: '
}
served_by pmi2 0
served_by none 1
