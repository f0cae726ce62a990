#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_manual_options.sh - doc/options.md's table of options, between the lines
# <!-- options:begin --> and <!-- options:end -->, is what jd-info --options
# --markdown prints. usage: test_manual_options.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
readme=$1/doc/options.md
jd_info=$2/tools/jd-info
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# table_of FILE: what stands between the two lines, blank lines left out.
table_of() {
    sed -n '/^<!-- options:begin -->$/,/^<!-- options:end -->$/p' "$1" |
        grep -v -e '^<!-- options:' -e '^$' || true
}

# compare README: 0 where its table is that of jd-info.
compare() {
    table_of "$1" >"$work/readme"
    env -i "$jd_info" --options --markdown >"$work/printed"
    diff -u "$work/readme" "$work/printed"
}

status=0
compare "$readme" >"$work/out" 2>&1 || status=$?
tap_result "doc/options.md has the table of options" "$status" "$work/out"

sed 's/JD_HEARTBEAT_TIMEOUT/JD_HEARTBEAT/' "$readme" >"$work/options.md"
if compare "$work/options.md" >/dev/null 2>&1; then
    tap_not_ok "a row that differs is seen"
else
    tap_ok "a row that differs is seen"
fi
tap_done
