# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# launcher.sh - what starts the programs of a build: the launcher of its MPI, for
# bash scripts that source it.
#
#     find_launcher "$build"     launcher=(mpirun --oversubscribe), or MPICH's,
#                                or Intel's, which is one of MPICH's kin
#     if is_open_mpi; then ...

# find_launcher BUILD: into `launcher`, whose it is into `launcher_mpi`, and the
# first number of its version into `launcher_version`.
# shellcheck disable=SC2034 # the script that sources it uses them
find_launcher() {
    local loaded
    launcher_mpi=openmpi launcher=(mpirun --oversubscribe) launcher_version=4
    [[ -x $1/tools/jd-info ]] || return 0
    loaded=$("$1/tools/jd-info" --build | sed -n 's/^mpi loaded *//p')
    [[ ! $loaded =~ ([0-9]+)\. ]] || launcher_version=${BASH_REMATCH[1]}
    case $loaded in
    *MPICH*)
        launcher_mpi=mpich launcher=(mpiexec)
        mpiexec --version 2>/dev/null | grep HYDRA >/dev/null ||
            launcher=(mpiexec.mpich)
        ;;
    *Intel*) launcher_mpi=mpich launcher=(mpiexec.hydra) ;;
    esac
}

is_open_mpi() {
    [[ $launcher_mpi == openmpi ]]
}

# Whether mpirun --enable-recovery ends with the processes' exit code, where Open
# MPI 4 ends with 0.
passes_recovered_exit() {
    is_open_mpi && ((launcher_version >= 5))
}
