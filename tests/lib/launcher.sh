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
# a process ended with WANTED. A process that ends so has not called MPI_Finalize;
# MPICH's launcher then ends all by SIGKILL, that one too where it is still on its
# way out, and returns 9: in 16 of 60 jobs of a program without jd.
exits_with() {
    (($2 == $1)) || { ! is_open_mpi && (($1 != 0 && $2 == 9)); }
}

# forgets_exits: whether a launcher that went on says nothing of how processes ended:
# Open MPI 4's then returns 0.
forgets_exits() {
    is_open_mpi && ((launcher_version < 5))
}

# recovers_with STATUS: that of a launcher that went on where processes ended with
# 117.
recovers_with() {
    (($1 == 0)) || { ! forgets_exits && exits_with 117 "$1"; }
}
