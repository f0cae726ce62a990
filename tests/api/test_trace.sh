#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_trace.sh - jd-trace, on the files of jobs that have failed.
# usage: test_trace.sh JD_TRACE MAKE_TRACES
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
clear_foreign_variables
jd_trace=$1
make_traces=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$work/traces

# says NAME STATUS TEXT COMMAND...: the command ends with the status and prints
# the text, if there is one, on either stream.
says() {
    local name=$1 wanted=$2 text=$3 status=0
    shift 3
    "$@" >"$work/out" 2>&1 </dev/null || status=$?
    if ((status == wanted)) &&
        { [[ -z $text ]] || grep -qF -e "$text" "$work/out"; }; then
        tap_ok "$name"
    else
        tap_not_ok "$name"
        echo "# exit status $status, wanted $wanted and: $text"
        tap_comment <"$work/out"
    fi
}

# has NAME TEXT: what was printed last has the text.
has() {
    cp "$work/out" "$work/before"
    says "$1" 0 "$2" cat "$work/before"
}

# make CASE...: a folder with these.
make() {
    local name
    rm -rf "$dir"
    mkdir "$dir"
    for name in "$@"; do
        "$make_traces" "$name" "$dir"
    done
}

psum='jd_psum of 1 x F64 at train.c:120 (step+0x4c)'

# blames CASE TEXT: the first line names process 2 and has the text.
blames() {
    make "$1"
    says "$1: process 2 is the culprit" 0 "culprit: process 2" \
        "$jd_trace" "$dir"
    head -n 1 "$work/out" >"$work/first"
    says "$1: and the first line says why" 0 "$2" \
        grep "^culprit: process 2" "$work/first"
    "$jd_trace" --json "$dir" >"$work/json"
    says "$1: the JSON is JSON" 0 '"culprits": [' \
        python3 -m json.tool "$work/json"
}

blames killed "culprit: process 2 on node0: was killed by SIGKILL (process 0 wrote this)"
says "who waits for it" 0 \
    "processes 0-1,3 wait in $psum, which failed with ABORTED" \
    "$jd_trace" "$dir"
has "where" 'axis "x", call 7: some wait for others'
has "how far it came" "process 2: 6 calls there, last call of jd: $psum"
has "which files there are" \
    "Job 00c0ffee00c0ffee: files of 4 of 4 processes, of 2 hosts"
has "a straggler" \
    "process 2: 20.4 ms in jd_psum at train.c:120 (step+0x4c) (20.4 ms)"
has "a call site" "jd_psum at train.c:120 (step+0x4c): 27 calls, 216 B; \
waits: median 1.1 ms, worst 200 ms; last most often: process 2 (18 times)"
blames stopped "was not heard of for 10 s"
blames left "left the job; last call of jd: $psum"
blames exit "exit code 3"
blames mismatch "jd_psum of 2 x F64 at train.c:131 (step+0x9d)"
says "the calls that differ" 0 "processes 0-1,3 call $psum" "$jd_trace" "$dir"
blames rest "with other arguments (their digest is 7)"
blames deadline \
    "last call of jd: jd_kv_get at read.c:58 (load+0x1f), entered and not left"
says "who gave up" 0 "which failed with DEADLINE_EXCEEDED" "$jd_trace" "$dir"
blames own "$psum over axis \"x\" (call 6 there), done"
blames missing "no trace file"
says "whose file is missing" 0 "no file: process 2" "$jd_trace" "$dir"
blames chain "last call of jd: jd_kv_get"
says "the one that waits for those who wait is named too" 0 \
    "process 0 waits in jd_broadcast" "$jd_trace" "$dir"
make cycle
says "two that wait for each other" 0 "culprit: process 0 on node0" \
    "$jd_trace" "$dir"
has "both" "culprit: process 1 on node1"
make good
says "a job that went well" 0 "culprit: none found" "$jd_trace" "$dir"
make clocks
says "clocks of two hosts" 0 "times are of 2 clocks, which are not aligned" \
    "$jd_trace" "$dir"
make aligned
says "clocks of two hosts that are known" 0 "  times of node1 are aligned to the \
clock of process 0's host: -899899.999999 s, off by " \
    "$jd_trace" --perfetto "$work/perfetto" --svg "$work/svg" "$dir"
cp "$work/out" "$work/text"
says "and no other is said" 0 "" python3 -c 'import sys
text = open(sys.argv[1]).read()
assert text.count("aligned") == 1 and "of 2 clocks" not in text, text' "$work/text"
says "a call of all is at one time" 0 "" python3 -c 'import json, sys
ends = {}
for event in json.load(open(sys.argv[1]))["traceEvents"]:
    if event["name"] == "jd_psum":
        number = event["args"]["sequence"]
        ends.setdefault(number, []).append(event["ts"] + event["dur"])
assert len(ends) == 6
for at in ends.values():
    assert len(at) == 4 and 0 < max(at) - min(at) < 1.5, at' "$work/perfetto"
says "in the picture" 0 "Times are of the clock of process 0" cat "$work/svg"
"$jd_trace" --json "$dir" >"$work/json"
says "in JSON" 0 '"host": "node1", "is_aligned": true, "offset_s": -899899.999999000, "error_s": 0.000' \
    cat "$work/json"

make killed later_job
says "of two jobs the newer one" 0 "Job feedfacefeedface: files of 4 of 4" \
    "$jd_trace" "$dir"
has "and the other is named" \
    "other jobs there, which --job-id chooses: 00c0ffee00c0ffee"
says "the other one" 0 "Job 00c0ffee00c0ffee: files of 4 of 4" \
    "$jd_trace" --job-id 00c0ffee00c0ffee "$dir"
says "none of them" 1 \
    '--job-id is "7", and of 8 files none is of that job; there is "00c0ffee' \
    "$jd_trace" --job-id 7 "$dir"
make twice
says "of two files of a process the later one" 0 \
    "culprit: process 2 on node0: was killed by SIGKILL" \
    "$jd_trace" "$dir"
make unplaced
says "a process without an index" 0 \
    'a process without an index, pid 3999 on node1, step "find the service"' \
    "$jd_trace" "$dir"
says "in JSON" 0 '"without_index": [{"pid": 3999' "$jd_trace" --json "$dir"

# refuses CASE TEXT: the file is skipped with that warning.
refuses() {
    make "$1"
    says "a trace that is $1" 1 "$2" "$jd_trace" "$dir"
    make good "$1"
    says "the others are read beside it" 0 "files of 3 of 4" "$jd_trace" "$dir"
}

refuses cut "is no message jd.Trace; it was cut"
refuses newer "it is of version 2, and this jd-trace reads version 1"
refuses unlike 'its column "status" has 5 values, and "number" 6'
refuses no_calls 'it has no field "calls"'
refuses outside_name 'its column "name" has 3 in place 3, and may have 0 to 2'
refuses outside_comm 'its column "comm" has 3 in place 3, and may have 0 to 2'
refuses outside_site 'its column "site" has 4 in place 3, and may have 0 to 3'
refuses outside_state 'its column "state" has 3 in place 3, and may have 0 to 2'
refuses outside_last 'its column "last" has 4 in place 3, and may have -1 to 3'
make outside_process
says "a process that the job has not" 1 "its process is 4 of 4" \
    "$jd_trace" "$dir"
refuses clock_unlike 'its column "at" of clocks has 1 values, "offset" 1 and "error" 0'
refuses clock_outside 'its column "offset" has 9223372036854775807 in place 0'
refuses own_unlike 'its column "depth" of own ranges has 11 values, and "name" 12'
refuses own_outside 'its column "name" has 2 in place 3, and may have 0 to 1'
make
says "a folder without traces" 1 "has no file that ends in .jdtrace" \
    "$jd_trace" "$dir"
says "no such file" 1 "it cannot be opened: No such file" \
    "$jd_trace" "$dir/none.jdtrace"
echo "no trace at all" >"$dir/text.jdtrace"
says "a file that is no trace" 1 "it is no trace" "$jd_trace" "$dir"
: >"$dir/text.jdtrace"
says "an empty file" 1 "it is 0 bytes long" "$jd_trace" "$dir"

make texts
says "no byte of a file is the terminal's" 1 "" \
    grep -a $'\x1b\|\xff' <("$jd_trace" "$dir")
pictures=(--svg "$work/svg" --perfetto "$work/perfetto")
says "pictures of it" 0 "" "$jd_trace" "${pictures[@]}" "$dir"
for name in texts killed cycle good clocks missing; do
    make "$name"
    "$jd_trace" "${pictures[@]}" --json "$dir" >"$work/json"
    says "$name: the JSON is JSON" 0 "" python3 -m json.tool "$work/json"
    says "$name: the timeline is JSON" 0 '"traceEvents"' \
        python3 -m json.tool "$work/perfetto"
    says "$name: the picture is XML" 0 "" python3 -c \
        'import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])' \
        "$work/svg"
done
make killed
"$jd_trace" "${pictures[@]}" "$dir" >"$work/text"
says "the timeline has waits" 0 '"waits for process 2"' cat "$work/perfetto"
says "and the culprit" 0 '"process 2 on node0 (culprit)"' cat "$work/perfetto"
says "the picture is dark on a page that is" 0 \
    '@media (prefers-color-scheme:dark)' cat "$work/svg"
says "with its ground" 0 '<rect class="s"' cat "$work/svg"
says "the picture has the culprit" 0 '<text class="q" x="120"' cat "$work/svg"

make own_ranges
says "own ranges: ended, and not" 0 "step: 20 times, 140 ms in all; \
median 7 ms, worst 7 ms in process 0; not ended: 4" \
    "$jd_trace" "${pictures[@]}" "$dir"
has "who had the worst" \
    "forward: 24 times, 54 ms in all; median 2 ms, worst 3 ms in process 1"
says "in JSON" 0 '"name": "forward", "count": 24, "not_ended": 0' \
    "$jd_trace" --json "$dir"
cp "$work/out" "$work/json"
says "the JSON is JSON" 0 '"worst_process": 1' python3 -m json.tool "$work/json"
says "in the timeline, a row of their own" 0 '"own ranges of thread 0"' \
    python3 -m json.tool "$work/perfetto"
has "one that is not ended" '"ended": false'
says "in the picture, a band" 0 '<rect class="r1"' cat "$work/svg"
has "with words" '<title>forward, 3 ms</title>'
says "which is XML" 0 "" python3 -c \
    'import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])' "$work/svg"
make good
says "a job without own ranges" 1 "" grep "own ranges" <("$jd_trace" "$dir")

says "--help" 0 "Usage: jd-trace" "$jd_trace" --help
says "--version" 0 "jd-trace 0." "$jd_trace" --version
says "no files" 2 "no file or folder is named" "$jd_trace"
says "a job that runs, and files" 2 "--job goes without files and folders" \
    "$jd_trace" --job localhost:1 "$dir"
says "one job of it" 2 "--job-id does not go with --job: one job is there" \
    "$jd_trace" --job localhost:1 --job-id 7
says "a job that is not there" 1 \
    "jd-trace: the job at 127.0.0.1:1: this program has not reached the coordination service" \
    env JD_SECRET=sesame "$jd_trace" --job 127.0.0.1:1
says "rows" 2 '--top is "0", but it must be from 1' "$jd_trace" --top 0 "$dir"
says "no such flag" 2 "unrecognized option" "$jd_trace" --speed "$dir"
says "a picture that cannot be written" 1 "/nowhere/svg cannot be written" \
    "$jd_trace" --svg /nowhere/svg "$dir"
tap_done
