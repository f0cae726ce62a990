#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_rogue.sh - a stranger has the port where a job's service should be, and
# was there first: no process of the job runs what he hands out.
# usage: test_rogue.sh BUILD_DIR
# The conditions are called by is().
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=place.sh
source "$here/place.sh"

evil=OMPI_MCA_mca_base_component_path=$work/plugins

# start_rogue: listens at the job's port before the job is there.
start_rogue() {
    : >"$work/rogue"
    "${as[@]}" "$build/tests/wireup/rogue" "$port" "$count" "$evil" \
        >"$work/rogue" 2>&1 &
    rogue=$!
    until_true grep -q listens "$work/rogue"
}

end_rogue() {
    kill "$rogue"
    wait "$rogue" 2>/dev/null || true
}

# ---- what is handed out ------------------------------------------------------

# His user is ours, and so he is believed; his words are not set all the same.
test_same_user() {
    count=2
    new_job localhost
    start_rogue
    begin 1
    finish
    end_rogue
    is "what a handout may set before MPI_Init is a closed list" \
        grep -q 'handed out' "$work/rogue" and ended 1 1 and \
        says "would set OMPI_MCA_mca_base_component_path to \
\"$work/plugins\" before MPI_Init, which no server of jd does" 1 and \
        place_is_clean
}

main() {
    unset JD_SECRET
    test_same_user
    tap_done
}

place_enter "$0" "$@"
main
