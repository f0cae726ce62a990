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
    is "what a server may set before MPI_Init is a closed list" \
        grep -q 'handed out' "$work/rogue" and ended 1 1 and \
        says "would set OMPI_MCA_mca_base_component_path to \
\"$work/plugins\" before MPI_Init, which no server of jd does" 1 and \
        place_is_clean
}

# ---- who hands out -------------------------------------------------------------

# Another user of the host is not believed, whatever he says, and says so.
test_another_user() {
    if ! $is_root; then
        tap_skip "another user's service is not believed" \
            "only root can become another; this was one already"
        return
    fi
    count=2
    new_job localhost
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    start_rogue
    as=()
    JD_INITIALIZATION_TIMEOUT=$((4 * deadline_factor)) begin 1
    finish
    end_rogue
    is "another user's service is not believed" ended 1 1 and \
        says "DEADLINE_EXCEEDED: .* it is served by user 65534 of this host, \
and this process is user 0's, so it is not believed; set \
JD_COORDINATOR_ADDRESS to another port, or JD_SECRET_FILE" 1 and \
        test "$(grep -c 'handed out' "$work/rogue")" = 0 and place_is_clean
}

# Another user is not let in, either: the service waits for its own.
test_another_process() {
    if ! $is_root; then
        tap_skip "another user's process is not let in" \
            "only root can become another; this was one already"
        return
    fi
    count=2
    new_job localhost
    JD_INITIALIZATION_TIMEOUT=$((4 * deadline_factor)) JD_LOG=info begin 1
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups
        env JD_INITIALIZATION_TIMEOUT=$((4 * deadline_factor)) JD_LOG=info)
    begin 0
    as=()
    finish
    is "another user's process is not let in, and does not let in" \
        ended 1 0 1 and says 'it is served by user 65534 of this host' 1 and \
        place_is_clean
}

# Without a secret one user's processes meet on loopback, without a warning.
test_own_user() {
    count=4
    new_job localhost
    begin 0 1 2 3
    finish
    is "without a secret one user's processes meet on one host" world and \
        place_is_clean
}

main() {
    unset JD_SECRET
    test_same_user
    test_another_user
    test_another_process
    test_own_user
    tap_done
}

place_enter "$0" "$@"
main
