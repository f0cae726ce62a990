#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_snippets.sh - the C in README.md and doc/ compiles without a warning, as C11
# and as C++11, and the C++ as C++17: whole programs as they stand, parts of one
# between what their text leaves out. A part that is new wants a row in surround().
# usage: test_snippets.sh SOURCE_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source-path=SCRIPTDIR source=snippets.sh
source "$here/snippets.sh"

# extract FILE FOLDER NAME: each block of C into FOLDER/NAME.LINE.c, or .cpp
extract() {
    awk -v folder="$2" -v page="$3" '
        /^```/ && out { close(out); out = ""; next }
        /^```(c|cpp)$/ {
            out = folder "/" page "." NR "." substr($0, 4); next
        }
        /^```/ { skipped = !skipped; next }
        out && !skipped { print >out }' "$1"
}

# include: what every program has.
include() {
    printf '#include <%s>\n' jd.h stdint.h stdio.h string.h
}

# in_function DECLARATIONS BLOCK
in_function() {
    echo 'int main(void)'
    printf '{\n%s\n' "$1"
    cat "$2"
    printf 'return 0;\n}\n'
}

# surround BLOCK: the program that it is a part of; 77: it is none that this
# test can compile, 1: nobody has said what it is a part of.
surround() {
    case $(<"$1") in
    *"int main("*) cat "$1" ;;
    *"<<<"*) return 77 ;;
    *jd_mesh_visualize*)
        include
        echo 'enum { N = 4 };'
        sed -n '/^static/,/^}/p' "$1" |
            sed 's/"model", \.\.\./"model", arg, arg, N, JD_F32/'
        sed '/^static/,/^}/d; /^\.\.\.$/d' "$1" >"$work/rest"
        in_function 'jd_mesh *mesh; float gradients[N];' "$work/rest"
        ;;
    *jd_array_reshard_donate*)
        include
        echo 'static jd_status fill(const jd_range *index, void *block, void *arg)'
        echo '{ (void)index, (void)block, (void)arg; return JD_OK; }'
        in_function 'jd_mesh *mesh = NULL; jd_sharding *rows, *columns;
            jd_array *table; int64_t shape[] = { 4, 4 };' "$1"
        ;;
    *jd_array_from_one*)
        include
        in_function 'jd_sharding *rows = NULL; jd_array *table;
            int64_t shape[] = { 4, 4 }; double values[16] = { 0 };' "$1"
        ;;
    *jd_trace_begin*)
        include
        sed '/^\.\.\.$/d' "$1" >"$work/rest"
        in_function '' "$work/rest"
        ;;
    *jd_kv_get*)
        include
        in_function 'const char *text = "10.0.0.1"; void *value; size_t size;' \
            "$1"
        ;;
    *jd_reached_preemption_sync_point*)
        include
        echo 'static void save(int64_t step) { (void)step; }'
        echo 'static void train(int64_t step) { (void)step; }'
        in_function 'int64_t first = 0, last = 4;' "$1"
        ;;
    *) return 1 ;;
    esac
}

# surround_cpp BLOCK: the same for C++.
surround_cpp() {
    if grep -q 'int main(' "$1"; then
        cat "$1"
        return
    fi
    printf '#include <%s>\n' jd.hpp iostream stdexcept vector
    echo 'extern jd::mesh mesh; extern jd::shard me; extern jd::sharding rows;'
    echo 'extern std::size_t n; extern float *p, *q;'
    grep -q 'std::vector<float> gradient' "$1" ||
        echo 'extern std::vector<float> gradient;'
    in_function '' "$1"
}

for page in "$source_dir"/README.md "$source_dir"/doc/*.md; do
    extract "$page" "$work" "$(basename "$page" .md)"
done
for block in "$work"/*.c "$work"/*.cpp; do
    language=${block##*.}
    name=$(basename "$block" ".$language")
    name="${name%.*}.md, line ${name##*.}"
    status=0
    if [[ $language == c ]]; then
        surround "$block" >"$work/program.txt" || status=$?
    else
        surround_cpp "$block" >"$work/program.txt" || status=$?
    fi
    case $status in
    0)
        compile_snippet "$language" "$source_dir/include" "$work/program.txt" \
            >"$work/out" 2>&1 || status=$?
        ;;
    77) echo "it is CUDA's" >"$work/out" ;;
    *) echo "surround() has no row for it" >"$work/out" ;;
    esac
    tap_result "$name" "$status" "$work/out"
done
tap_done
