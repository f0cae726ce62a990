#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_test_script.sh - scripts/test says by its exit status what its last line
# says, and leaves nothing. The script and its tally are the real ones; in a tree
# of their own, where meson and ninja are played and build and run nothing.
# usage: test_test_script.sh SOURCE_DIR
# shellcheck disable=SC2317 # tap_check calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=tap.sh
source "$here/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work"/{bin,tmp} "$work"/tree/{scripts,tests/lib}
cp "$1"/scripts/{test,steps.sh,tally.py,test_targets.py} "$work/tree/scripts"
cp "$here/tap.sh" "$work/tree/tests/lib"
for tool in "$work/tree/scripts/install-deps" "$work"/bin/{clang,pkg-config}; do
    printf '#!/bin/sh\n' >"$tool"
done

# MPIs that are fetched, where $FETCHED is 0; else how that ends.
cat >"$work/tree/scripts/fetch-mpi" <<'TOOL'
#!/bin/bash
folder=${BASH_SOURCE[0]%/scripts/*}/build-mpis/$1
mkdir -p "$folder"
echo "export MPI_SEEN=$1" >"$folder/vars.sh"
echo "fetch-mpi: $1 was asked for" >&2
exit "$FETCHED"
TOOL

# A build is its last folder's name: $FAILING names one whose test fails,
# $BROKEN one that is not built, $SLOW one that is built until somebody ends it.
cat >"$work/bin/meson" <<'TOOL'
#!/bin/bash
case $1 in
setup)
    mkdir -p "$2" && touch "$2/build.ninja"
    echo "${2##*/} ${MPI_SEEN:-}" >>"$OUT/setups"
    ;;
introspect)
    [[ ${3##*/} != "${UNKNOWN:-}" ]] || exit 1
    case $2 in
    --tests) echo '[{"suite": ["jd:unit", "jd:coordination"], "depends": ["a"]}]' ;;
    *) echo "[{\"id\": \"a\", \"filename\": [\"$3/test_a\"]}]" ;;
    esac
    ;;
test)
    result=OK
    [[ ${3##*/} != "${FAILING:-}" ]] || result=FAIL
    echo "${3##*/} 1/${TEST_PART:-}" >>"$OUT/parts"
    echo "${3##*/} ${MPI_SEEN:-} full:${TEST_FULL:-}" >>"$OUT/tests"
    mkdir -p "$3/meson-logs"
    echo "{\"name\": \"jd:s / t\", \"result\": \"$result\", \"stdout\": \"\"}" \
        >"$3/meson-logs/testlog.json"
    ;;
esac
TOOL
cat >"$work/bin/ninja" <<'TOOL'
#!/bin/bash
build=${4##*/}
if [[ $build == "${SLOW:-}" ]]; then
    echo $$ >"$OUT/slow"
    exec tail -f /dev/null
fi
[[ $build != "${BROKEN:-}" ]]
TOOL
chmod +x "$work"/bin/* "$work"/tree/scripts/{install-deps,fetch-mpi}

# script [VARIABLE=VALUE...] [-- OPTION...]: becomes the script.
script() {
    local variables=()
    while (($# > 0)) && [[ $1 != -- ]]; do
        variables+=("$1")
        shift
    done
    exec env PATH="$work/bin:$PATH" TMPDIR="$work/tmp" OUT="$work" \
        "${variables[@]}" "$work/tree/scripts/test" "${@:2}" \
        >"$work/out" 2>"$work/err" </dev/null
}

# run ...: it ends by itself, with status.
run() {
    rm -rf "$work"/{tree/build-*,parts,setups,tests}
    status=0
    (script "$@") || status=$?
}

# ends STATUS LAST_LINE: and nothing of it is left.
ends() {
    ((status == $1)) && [[ $(tail -n 1 "$work/out") == "$2"* ]] &&
        [[ -z $(ls -A "$work/tmp") ]]
}

# The build without CUDA is wanted where the first has a module for it.
run
tap_check "all is well" ends 0 "5 passed, 0 failed, 1 skipped"
tap_check "and but for sanitizers whole" grep -qx "build-test 1/1" "$work/parts"
tap_check "no MPI is fetched" test ! -e "$work/tree/build-mpis"
run -- --quick
tap_check "one build" ends 0 "1 passed, 0 failed, 0 skipped"
tap_check "and a part" grep -qx "build-test-quick 1/12" "$work/parts"
run FAILING=build-test
tap_check "a test of the first build fails" ends 1 "4 passed, 1 failed"
run FAILING=build-test-tsan
tap_check "a test of the last build fails" ends 1 "4 passed, 1 failed"
run BROKEN=build-test
tap_check "the first build fails" ends 1 "4 passed, 1 failed"
run BROKEN=build-test-clang
tap_check "a build beside the tests fails" ends 1 "4 passed, 1 failed"
run UNKNOWN=build-test-asan
tap_check "what its tests need is not known" ends 1 "4 passed, 1 failed"
run FETCHED=0 -- --full
tap_check "in full three MPIs more" ends 0 "8 passed, 0 failed, 1 skipped"
has_lines() {
    local line
    for line in "${@:2}"; do
        grep -qx "$line" "$1" || return 1
    done
}
tap_check "each is built with" has_lines "$work/setups" \
    "build-test-"{"openmpi5 openmpi5","mpich5 mpich5","impi impi","mpich "}
tap_check "and runs a part of what the first runs whole" has_lines "$work/tests" \
    "build-test-"{"openmpi5 openmpi5","mpich5 mpich5","impi impi"}" full:" \
    "build-test  full:1"
run FETCHED=77 -- --full
tap_check "MPIs that cannot be fetched" ends 0 "5 passed, 0 failed, 4 skipped"
tap_check "are named" has_lines "$work/out" \
    "skipped: build-test-"{openmpi5:\ openmpi5,mpich5:\ mpich5,impi:\ impi}" was asked for"
run FETCHED=1 -- --full
tap_check "MPIs that are others" ends 1 "5 passed, 3 failed, 1 skipped"
run FETCHED=0 -- --mpis
tap_check "those MPIs alone" ends 0 "3 passed, 0 failed, 0 skipped"
tap_check "each built with" has_lines "$work/setups" \
    "build-test-"{"openmpi5 openmpi5","mpich5 mpich5","impi impi"}
run FETCHED=0 BROKEN=build-test-openmpi5 -- --mpis
tap_check "the first of them is not built" ends 1 "2 passed, 1 failed"
run FETCHED=77 -- --mpis
tap_check "none of them can be fetched" ends 1 "0 passed, 0 failed, 3 skipped"
run -- --nonsense
tap_check "an option that is not there" test "$status" -eq 2

# Somebody ends it while a build beside the tests goes on.
run_and_end() {
    local build
    mkfifo "$work/slow"
    script SLOW=build-test-clang &
    read -r build <"$work/slow"
    kill "$!"
    status=0
    wait "$!" || status=$?
    ((status == 128 + 15)) && timeout 20 tail --pid="$build" -f /dev/null
}
tap_check "the build ends with it" run_and_end
leaves_nothing() {
    [[ -z $(ls -A "$work/tmp") && ! -e /sys/fs/cgroup/cpu/jd-test.$! ]]
}
tap_check "and nothing is left" leaves_nothing
tap_done
