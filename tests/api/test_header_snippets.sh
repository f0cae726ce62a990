#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_header_snippets.sh - the code in the public headers' comments compiles
# without a warning: that of the headers of C as C11 and as C++11, that of those
# of C++ as C++17. Code is what stands five columns in, after an empty line, and
# ends a line in a semicolon or has a #if. usage: test_header_snippets.sh SOURCE_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=snippets.sh
source "$here/snippets.sh"
include=$1/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# extract HEADER FOLDER: each piece into FOLDER/HEADER.LINE
extract() {
    awk -v base="$2/$(basename "$1")." '
        function finish() {
            if (text ~ /;( *\/\/[^\n]*)?\n|#if/)
                printf "%s", text >(base line)
            text = ""
        }
        /^ \*     [^ ]/ && (text || empty) { if (!text) line = NR }
        /^ \*     / && (text || empty) {
            text = text substr($0, 8) "\n"; empty = 0; next
        }
        /^ \*$/ { if (text) text = text "\n"; empty = 1; next }
        { if (text) finish(); empty = 0 }' "$1"
}

# What the words around the pieces speak of.
names_of_c() {
    printf '#include <%s>\n' jd.h errno.h stdint.h stdio.h stdlib.h string.h
    cat <<'NAMES'
extern jd_mesh *mesh;
extern jd_shard *me;
extern const jd_device *device;
extern jd_array *array;
extern jd_request *sum;
extern jd_sharding *rows;
extern double in[8], out[8], x[8], values[640], cost, least;
extern float gradient[8];
extern uint16_t message[8];
extern const int64_t shape[2];
extern size_t n, size;
extern void *value;
extern const char *text, *path;
extern FILE *file;
extern int64_t first, last, owner, mine;
extern jd_leaf model[2];
extern void join(void *into, const void *from, size_t n, void *context);
NAMES
}

names_of_cpp() {
    printf '#include <%s>\n' jd.hpp chrono iostream string vector
    cat <<'NAMES'
using namespace std::chrono_literals;
struct my_float8 { unsigned char bits; };
extern jd::mesh mesh;
extern jd::shard me;
extern std::vector<double> in, out, values, weights, bias;
extern int mine;
extern float *p, *q;
extern std::int64_t n;
extern std::string address;
extern double square(std::int64_t i);
NAMES
}

# And what is another thing in one header.
more_names() {
    case $1 in
    jd_checkpoint.h.*) echo 'extern jd_array *weights, *step;
        extern jd_sharding *rows, *everywhere;' ;;
    jd_status.h.*) echo 'extern jd_status status; extern jd_shard *shard;
        extern const char *axes;' ;;
    jd_overlap.h.*) echo 'extern void compute_meanwhile(void);
        extern float total[8]; extern double halo[8], edge[8];
        extern int left, right; extern jd_request *moves;' ;;
    jd_overlap.hpp.*) echo 'extern void compute_meanwhile();
        extern std::vector<float> gradient, total;' ;;
    jd_multihost.h.*) echo 'extern double weights[640], bias[10];' ;;
    jd_checkpoint.hpp.*) echo 'extern jd::array a, b;
        extern jd::sharding rows, everywhere;' ;;
    jd_mpi.h.*) printf '#include <jd_mpi.h>\nextern MPI_Comm half; extern int argc;
        extern char **argv;\n' ;;
    jd_mpi.hpp.*) printf '#include <jd_mpi.hpp>\nextern MPI_Comm half; extern int argc;
        extern char **argv;\n' ;;
    jd_collectives.hpp.* | jd_dtype.hpp.* | jd_memory.hpp.*)
        grep -q 'gradient(' "$2" || echo 'extern std::vector<float> gradient;' ;;
    jd_array.hpp.*) grep -q 'sharding rows' "$2" ||
        echo 'extern jd::sharding rows;' ;;
    esac
}

# What "..." stands for.
fill_in() {
    sed -E -e '/^ *\.\.\./d' \
        -e 's/MPI_Gatherv\(\.\.\.,/MPI_Gatherv(NULL, 0, MPI_INT, NULL, NULL, NULL, MPI_INT, 0,/' \
        -e 's/, \.\.\.\)/, in, out, 8, JD_F64)/' \
        -e 's/\{ \.\.\. \}/{}/' "$1"
    ! grep -q '^#if' "$1" || echo '#endif'
}

# body PIECE: what is not a function, a template or a program, in a function.
body() {
    fill_in "$1" >"$work/filled"
    if grep -qE '^int main|^template' "$work/filled"; then
        cat "$work/filled"
        return
    fi
    sed -n '/^static/,/^}/p' "$work/filled"
    printf 'jd_status piece(void);\njd_status piece(void)\n{\n'
    sed '/^static/,/^}/d' "$work/filled"
    printf 'return JD_OK;\n}\n'
}

# surround PIECE: its program.
surround() {
    case ${1##*/} in
    *.hpp.*) names_of_cpp ;;
    *) names_of_c ;;
    esac
    more_names "${1##*/}" "$1"
    body "$1"
}

name_of() {
    local name=${1##*/}
    echo "${name%.*}, line ${name##*.}"
}

# check LANGUAGE PIECE
check() {
    local status=0
    surround "$2" >"$work/program.txt"
    compile_snippet "$1" "$include" "$work/program.txt" \
        >"$work/out" 2>&1 || status=$?
    tap_result "$(name_of "$2")" "$status" "$work/out"
}

# surround_all PIECE...: one program of many, of C++, whose headers take long.
surround_all() {
    local piece i=0
    names_of_cpp
    for piece in "$@"; do
        i=$((i + 1))
        more_names "${piece##*/}" "$piece" >"$work/more"
        grep '^#include' "$work/more" || true
        body "$piece" | sed 's/^int main/int program/' >"$work/body"
        if grep -q '^template' "$work/body"; then
            cat "$work/body"
        else
            printf 'namespace piece_%d {\n' "$i"
            grep -v '^#include' "$work/more" || true
            cat "$work/body"
            echo '}'
        fi
    done
}

# check_all PIECE...: together, and each by itself where that fails.
check_all() {
    local piece status=0
    surround_all "$@" >"$work/program.txt"
    compile_snippet cpp "$include" "$work/program.txt" \
        >"$work/out" 2>&1 || status=$?
    for piece in "$@"; do
        if ((status == 0 || status == 77)); then
            tap_result "$(name_of "$piece")" "$status" "$work/out"
        else
            check cpp "$piece"
        fi
    done
}

mkdir "$work/pieces"
for header in "$include"/jd*.h "$include"/jd*.hpp; do
    extract "$header" "$work/pieces"
done
for piece in "$work"/pieces/*.h.*; do
    check c "$piece"
done
check_all "$work"/pieces/*.hpp.*

# It sees what is no C++, and what is no C.
printf '/*\n * Shows\n *\n *     int *x = (int[]){ 1 };\n */\n' >"$work/jd_a.h"
printf '/*\n * Shows\n *\n *     for (auto x : all) use(x);\n */\n' >"$work/jd_b.h"
for name in jd_a jd_b; do
    extract "$work/$name.h" "$work"
    surround "$work/$name.h.4" >"$work/program.txt"
    if ((${#cxx[@]} == 0)) && [[ $name == jd_a ]]; then
        tap_skip "a wrong piece is seen" "no C++ compiler here"
    elif compile_snippet c "$include" "$work/program.txt" >/dev/null 2>&1; then
        tap_not_ok "a wrong piece is seen"
    else
        tap_ok "a wrong piece is seen"
    fi
done
tap_done
