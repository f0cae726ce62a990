#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_links.sh - every relative link of the manual leads to a file, and to a
# heading where it names one; README.md can be read in five minutes.
# usage: test_links.sh SOURCE_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# links PAGE: the targets of its relative links, code blocks left out.
links() {
    awk '/^```/ { skips = !skips } !skips' "$1" |
        grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\((.*)\)$/\1/' |
        grep -vE '^(https?|mailto):' || true
}

# anchors PAGE: its headings as links name them.
anchors() {
    awk '/^```/ { skips = !skips } !skips && /^#+ /' "$1" |
        sed -E 's/^#+ //' | tr '[:upper:]' '[:lower:]' |
        sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# leads PAGE TARGET: says where it does not.
leads() {
    local page=$1 file=${2%%#*} anchor=''
    [[ $2 != *#* ]] || anchor=${2#*#}
    if [[ -n $file ]]; then
        file=$(dirname "$page")/$file
    else
        file=$page
    fi
    if [[ ! -e $file ]]; then
        echo "$2: there is no such file"
    elif [[ -n $anchor ]] &&
        ! anchors "$file" | grep -xF "$anchor" >/dev/null; then
        echo "$2: there is no such heading"
    fi
}

# check PAGE NAME
check() {
    local target status=0
    while IFS= read -r target; do
        leads "$1" "$target"
    done < <(links "$1") >"$work/out"
    [[ ! -s $work/out ]] || status=1
    tap_result "the links of $2" "$status" "$work/out"
}

cd "$source_dir"
for page in README.md CONTRIBUTING.md doc/*.md bench/*.md packaging/*.md \
    mpi_examples/README.md mpi_examples/*/README.md; do
    check "$page" "$page"
done

lines=$(wc -l <README.md)
status=0
((lines <= 200)) || { echo "$lines lines" >"$work/out"; status=1; }
tap_result "README.md has 200 lines at most" "$status" "$work/out"

printf '# A\n[b](b.md) [c](#c)\n' >"$work/page.md"
: >"$work/seen"
for target in b.md '#c'; do
    leads "$work/page.md" "$target" >>"$work/seen"
done
status=0
(($(wc -l <"$work/seen") == 2)) || status=1
tap_result "links that lead nowhere are seen" "$status" "$work/seen"
tap_done
