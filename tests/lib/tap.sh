# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# tap.sh - the Test Anything Protocol and a clean environment, for the test
# runners written in bash. Source it; it runs nothing by itself.

# Prints the line that skips a whole file and ends it.
tap_skip_all() {
    echo "1..0 # SKIP $*"
    exit 0
}

tap_count=0
tap_failed=0

# tap_ok NAME, tap_not_ok NAME, tap_skip NAME REASON: one result each.
tap_ok() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

tap_not_ok() {
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $1"
}

tap_skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# Shows standard input as comments.
tap_comment() {
    sed 's/^/# /'
}

# tap_result NAME STATUS OUTPUT_FILE: turns an exit status into a result; 77
# is a skip whose reason is the output's last line.
tap_result() {
    case $2 in
    0) tap_ok "$1" ;;
    77) tap_skip "$1" "$(tail -n 1 "$3")" ;;
    *)
        tap_not_ok "$1"
        echo "# exit status $2$([[ $2 == 124 ]] && echo ' (timed out)')"
        tap_comment <"$3"
        ;;
    esac
}

# tap_run NAME COMMAND...: one result by the command's exit status, which it
# returns; $work/out has the output.
# shellcheck disable=SC2154 # the caller has it
tap_run() {
    local name=$1 status=0
    shift
    "$@" >"$work/out" 2>&1 || status=$?
    tap_result "$name" "$status" "$work/out"
    return "$status"
}

# Takes in the results on standard input, which another shell counted.
tap_replay() {
    local line
    while IFS= read -r line; do
        case $line in
        'ok '*) tap_ok "${line#ok * - }" ;;
        'not ok '*) tap_not_ok "${line#not ok * - }" ;;
        *) echo "$line" ;;
        esac
    done
}

# tap_check NAME COMMAND...: the command, which looks at the last run, succeeds.
# That run's exit status is in $status, its output in $work/out and $work/err.
tap_check() {
    local name=$1
    shift
    if "$@"; then
        tap_ok "$name"
        return
    fi
    tap_not_ok "$name"
    # shellcheck disable=SC2154
    echo "# exit status $status; failed: $*"
    # shellcheck disable=SC2154
    sed 's/^/# stdout: /' "$work/out"
    sed 's/^/# stderr: /' "$work/err"
}

# Before a program and behind FILE, under mpirun: each process writes its standard
# error to FILE.RANK. An mpirun that ends a job may lose last words.
# shellcheck disable=SC2016,SC2034
own_stderr=(sh -c 'exec "$@" 2>"$0.$OMPI_COMM_WORLD_RANK"')

# Ends the file: the plan, and exit status 1 where something failed.
tap_done() {
    echo "1..$tap_count"
    exit $((tap_failed > 0))
}

# Takes out of the environment what a launcher around the tests, or a
# developer's own settings, would say to the programs under test. Where there
# are GPUs, most tests are of cpu devices all the same.
clear_foreign_variables() {
    local name
    while IFS= read -r name; do
        case $name in
        SLURM_* | SRUN_* | SBATCH_* | SALLOC_* | OMPI_* | PMI* | PRTE_* | \
            PRRTE_* | PALS_* | FLUX_* | JD_* | JAX_* | TPU_* | MEGASCALE_* | \
            HYDRA_* | MPICH_* | MPIR_* | I_MPI_* | MV2_* | JSM_* | LSB_* | \
            KUBERNETES_* | JOB_COMPLETION_INDEX | RANK | WORLD_SIZE | \
            LOCAL_RANK | LOCAL_WORLD_SIZE | MASTER_ADDR | MASTER_PORT)
            unset "$name"
            ;;
        esac
    done < <(compgen -e)
    export JD_PLATFORM=cpu
    # A processor that is late is no reason to do without lines.
    export JD_LINES_TIMEOUT=20
}
