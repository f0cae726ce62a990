# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# launcher.sh - what starts the programs of a build: the launcher of its MPI, for
# bash scripts that source it.
#
#     find_launcher "$build"     launcher=(mpirun --oversubscribe), or MPICH's,
#                                or Intel's, which is one of MPICH's kin
#     if is_open_mpi; then ...
#     exits_with 117 "$status"  whether it says that a process ended so

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

# What has the launcher go on where a process has failed. MPICH's ends the job all
# the same where a signal ended the process.
recovery_option() {
    if is_open_mpi; then
        echo --enable-recovery
    else
        echo -disable-auto-cleanup
    fi
}

# exits_with WANTED STATUS: whether the launcher's status is that of a job in which
# a process ended with WANTED. MPICH's ends the others then by SIGKILL, and may
# return that one's end, which is 9.
exits_with() {
    (($2 == $1)) || { ! is_open_mpi && (($1 != 0 && $2 == 9)); }
}

# recovers_with STATUS: the same where the launcher went on, and processes ended
# with 117, of which Open MPI 4 says nothing.
recovers_with() {
    if is_open_mpi && ((launcher_version < 5)); then
        (($1 == 0))
    else
        (($1 == 0)) || exits_with 117 "$1"
    fi
}
