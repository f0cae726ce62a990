#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_html.sh - the HTML manual: each public name has an entry, no link leads nowhere,
# nothing is fetched from another host, pictures are where pages ask for them, and the
# search finds what a stranger asks for.
# usage: test_html.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=declared.sh
source "$here/declared.sh"
source_dir=$1
site=$2/doc/html/html
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# lacks WHAT SITE ARGUMENT...
lacks() {
    python3 "$here/check_html.py" "$@"
}

# check NAME WHAT ARGUMENT...
check() {
    local name=$1 what=$2 status=0
    shift 2
    lacks "$what" "$site" "$@" <"$work/names" >"$work/out" 2>&1 || status=$?
    tap_result "$name" "$status" "$work/out"
}

# asked QUESTION PAGE
asked() {
    check "the search leads to $2: $1" search "$1" "$2"
}

# first SITE QUESTION PLACE: that the site's own search has it first.
first() {
    node "$here/ask_search.js" "$1" "$2" >"$work/out" 2>&1
    grep -qxF -e "$3" "$work/out"
}

# answered QUESTION PLACE
answered() {
    local name="the site's own search leads to $2: $1" status=0
    if [[ $(command -v node) ]]; then
        first "$site" "$@" || status=$?
        tap_result "$name" "$status" "$work/out"
    else
        tap_skip "$name" "there is no node to run it"
    fi
}

# seen NAME WHAT ARGUMENT...: that the defect in $work/site is.
seen() {
    local name=$1 what=$2 status=0
    shift 2
    lacks "$what" "$work/site" "$@" <"$work/names" >"$work/out" 2>&1 && status=1
    tap_result "seen: $name" "$status" "$work/out"
}

[[ -d $site ]] || tap_skip_all \
    "no HTML manual was built (Debian: mkdocs-material, mandoc; -Dmanual=auto)"
names_declared "$source_dir"/include/jd*.h >"$work/names"
count=$(wc -l <"$work/names")
tap_result "there are public names: $count" "$((count < 100))" "$work/names"
check "each has an entry" names
check "no link leads nowhere" links
check "lists are lists" lists
check "nothing is fetched from another host" hosts
asked jd_psum reference/jd_collectives.h.html#jd_psum
asked JD_OP_SUM reference/jd_collectives.h.html#jd_op
asked DEADLINE_EXCEEDED reference/jd_status.h.html
asked JD_HEARTBEAT_TIMEOUT doc/options.html
asked cmake doc/building.html
asked "JD_COORDINATOR_ADDRESS is localhost, which only processes of process 0's own host can reach" \
    doc/errors.html#which-only-processes-of-process-0s-own-host-can-reach
asked srun doc/launching.html

# A stranger's three questions, in the words in which they come.
answered "how do I build with CMake?" \
    doc/building.html#using-it-from-cmake-pkg-config-or-meson
answered "how do I launch under srun?" \
    doc/launching.html#launching-by-mpirun-srun-jd-run-or-alone
answered "what does the error \"process 3 (train, pid 17 on n1): connection closed \
without shutdown (killed or crashed)\" mean?" \
    doc/errors.html#connection-closed-without-shutdown-killed-or-crashed

# Without gnuplot the build has no plots, and the pages that ask for one do without.
lacks pictures "$site" "$source_dir" >"$work/lacking" || true
without=''
[[ -f $site/doc/plot.svg ]] || without='plot.svg is not shown'
grep -vF -e "${without:-nothing}" "$work/lacking" >"$work/out" || true
status=0
[[ ! -s $work/out ]] || status=1
tap_result "pages have the pictures that they ask for" "$status" "$work/out"
if [[ -z $without ]]; then
    status=0
    grep -F "AMD EPYC, 2 cores, other programs beside" "$site/doc/plot.svg" \
        >"$work/out" || status=1
    tap_result "a plot has the title that its samples came with" "$status" \
        "$work/out"
else
    tap_skip "plots" "gnuplot was not there when jd was configured"
fi

cp -r "$site" "$work/site"
sed -i 's/id="jd_pmean"//' "$work/site/reference/jd_collectives.h.html"
seen "a name without an entry" names
seen "a link to an anchor that has gone" links
sed -i 's|</body>|<script src="https://example.org/a.js"></script>&|' \
    "$work/site/index.html"
seen "a script from elsewhere" hosts
rm "$work/site/doc/mesh.svg"
sed -i 's/sharding.svg/other.svg/g' "$work/site/doc/arrays.html"
seen "a picture that is not there" pictures "$source_dir"
cp "$work/out" "$work/pictures"
status=0
for page in doc/collectives.html doc/arrays.html; do
    grep -qF "$page" "$work/pictures" || status=1
done
tap_result "seen: on each page" "$status" "$work/pictures"
sed -i 's/srun/run/g' "$work/site/search/search_index.json"
seen "a question without an answer" search srun doc/launching.html
if [[ $(command -v node) ]]; then
    status=0
    ! first "$work/site" "how do I launch under srun?" \
        doc/launching.html#launching-by-mpirun-srun-jd-run-or-alone || status=1
    tap_result "seen: by the site's own search" "$status" "$work/out"
fi
tap_done
