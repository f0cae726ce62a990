#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_man.sh - each public name has a page in section 3, which says what a page
# has to; no page of the manual makes groff complain, is wider than 80 columns,
# or names a page of jd's that is not there.
# usage: test_man.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=declared.sh
source "$here/declared.sh"
source_dir=$1
pages=$(realpath "$2")/doc/man
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# printed FILE: as a reader has it, without its bold.
printed() {
    (cd "$work" && groff -ww -man -Kutf8 -Tutf8 -rLL=80n "$1") | col -bx
}

# complaints FILE: what groff finds, lines that are too wide but for what a program
# prints, headings that are not there, and pages that are not.
complaints() {
    local heading name
    printed "$1" 2>&1 >"$work/printed" | sed 's/^/groff: /'
    for heading in NAME SYNOPSIS DESCRIPTION 'SEE ALSO'; do
        [[ $heading == SYNOPSIS && $1 == *.7 ]] ||
            grep -qx "$heading" "$work/printed" || echo "no $heading"
    done
    awk '/^[A-Z][A-Z ]+$/ { if (head && !said) print head ": nothing"; head = $0; said = 0;
             next }
         NF { said = 1 }
         length($0) > 80 && section == 3 { print "wide: " $0 }' \
        section="${1##*.}" "$work/printed"
    sed -n '/^SEE ALSO$/,$p' "$work/printed" |
        sed -nE 's/\b(jd[^ ,(]*)\(([37])\),?/\n\1.\2\n/gp' |
        while IFS= read -r name; do
            [[ $name != jd*.[37] || -e $pages/$name ]] || echo "no page $name"
        done
}

for tool in groff col; do
    if ! command -v "$tool" >/dev/null; then
        tap_skip_all "no $tool here (Debian: groff-base, bsdextrautils)"
    fi
done
# .so is of the folder above.
ln -s "$pages" "$work/man3"
names_declared "$source_dir"/include/jd*.h >"$work/names"
count=$(wc -l <"$work/names")
tap_result "there are public names: $count" "$((count < 100))" "$work/names"
while IFS= read -r name; do
    [[ -e $pages/$name.3 ]] || echo "$name has no page"
done <"$work/names" >"$work/out"
tap_result "each has a page" "$(($(wc -l <"$work/out") > 0))" "$work/out"
for page in "$pages"/*.[37]; do
    # What is another page by another name is looked at there.
    grep -q '^\.so ' "$page" || complaints "$page" | sed "s/^/${page##*/}: /"
done >"$work/out"
tap_result "pages are whole, fit into 80 columns and please groff" "$(($(wc -l <"$work/out") > 0))" "$work/out"

printed "$pages/jd_psum.3" >"$work/psum"
for text in 'jd_psum, jd_pmean, jd_pmax' '#include <jd.h>' 'WHO MUST CALL' \
    'All members along the axes, in the same order' 'WAITING' 'INVALID_ARGUMENT' \
    'jax.lax.psum, pmean' 'jd_collectives.h(3), jd-errors(7)'; do
    tap_result "man jd_psum has: $text" \
        "$(($(grep -cF -e "$text" "$work/psum") == 0))" "$work/psum"
done
tap_done
