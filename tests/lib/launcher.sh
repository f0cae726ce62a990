# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# launcher.sh - what starts the programs of a build: the launcher of its MPI, for
# bash scripts that source it.
#
#     find_launcher "$build"     launcher=(mpirun --oversubscribe), or MPICH's
#     if is_open_mpi; then ...

# find_launcher BUILD: into `launcher`, and whose it is into `launcher_mpi`.
# shellcheck disable=SC2034 # the script that sources it uses them
find_launcher() {
    launcher_mpi=openmpi launcher=(mpirun --oversubscribe)
    [[ -x $1/tools/jd-info ]] || return 0
    if "$1/tools/jd-info" --build | grep '^mpi loaded .*MPICH' >/dev/null; then
        launcher_mpi=mpich launcher=(mpiexec.mpich)
        command -v mpiexec.mpich >/dev/null || launcher=(mpiexec)
    fi
}

is_open_mpi() {
    [[ $launcher_mpi == openmpi ]]
}
