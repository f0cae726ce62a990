# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# launches.sh - what the scripts that start jobs in turn share. Source it.

# need COMMAND...: ends the script where one of them is missing.
need() {
    local command
    for command in "$@"; do
        command -v "$command" >/dev/null && continue
        echo "${0##*/}: there is no $command here; it is needed" >&2
        exit 1
    done
}

# A launcher around this script, or a user's settings, would change what is
# measured.
clear_settings() {
    local name
    while IFS= read -r name; do
        case $name in
        OMPI_ALLOW_RUN_AS_ROOT*) ;;
        JD_* | OMPI_* | PMIX_* | SLURM_*) unset "$name" ;;
        esac
    done < <(compgen -e)
}

# print_machine: what a figure must be read with.
print_machine() {
    echo "# $(date -u +%F), $(nproc) cores of $(sed -n \
        's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), load \
$(cut -d ' ' -f 1 /proc/loadavg), $(mpirun --version | head -n 1)"
}

# minimum FILE, median FILE: of one number a line.
minimum() { sort -g "$1" | head -n 1; }
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { m = int((NR + 1) / 2)
    print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'; }

# ratio A B
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f\n", a / b }'; }
