#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_killed.sh - nothing of the bed outlives a killed test, and nothing of
# the machine changes. usage: test_killed.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=bed.sh
source "$here/bed.sh"

# What a bed could change and other programs do not.
machine_state() {
    ip -brief link | grep -E 'bed|veth' || true
    mount
    hostname
    cat /etc/hosts
    ls -A /etc/munge /run/munge /run/jd-bed /var/spool 2>&1 || true
}

marked_processes() {
    grep -lsz "^TEST_RUN_ID=$TEST_RUN_ID\$" /proc/[0-9]*/environ | wc -l
}

# The processes of the bed alone: this script and its helpers have the mark
# only where they were started with it.
start_bed() {
    mkfifo "$work/in" "$work/out"
    TEST_RUN_ID=$TEST_RUN_ID "$here/run" --shell "$1" \
        <"$work/in" >"$work/out" 2>&1 &
    bed=$!
    exec 3>"$work/in" 4<"$work/out"
    echo 'echo up' >&3
    read -r -t 120 line <&4 && [[ $line == up ]]
}

wait_for_none() {
    local deadline=$((SECONDS + 30))
    while (($(marked_processes) > 0)); do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

missing=$(bed_missing)
[[ -z $missing ]] || tap_skip_all "$missing"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TEST_RUN_ID=${work##*/}

machine_state >"$work/before"
if start_bed "$1"; then
    tap_ok "the bed starts"
else
    tap_not_ok "the bed starts: ${line:-silence}"
fi
if (($(marked_processes) >= 4)); then
    tap_ok "it has processes"
else
    tap_not_ok "it has processes"
fi
kill -KILL "$bed" 2>/dev/null || true
wait "$bed" 2>/dev/null || true
if wait_for_none; then
    tap_ok "none of them outlives it"
else
    tap_not_ok "none of them outlives it"
fi
machine_state >"$work/after"
if diff "$work/before" "$work/after" >"$work/diff"; then
    tap_ok "the machine is as it was"
else
    tap_not_ok "the machine is as it was"
    tap_comment <"$work/diff"
fi
tap_done
