#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_symbols.sh - libjd.so exports what the public headers declare, a module
# its one symbol, and both nothing else.
# usage: test_symbols.sh SOURCE_DIR LIBRARY [MODULE]...
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=declared.sh
source "$here/declared.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The names alone: libjd.so's have the node of packaging/jd.map behind them, which
# is an absolute symbol itself.
exported() {
    nm --dynamic --defined-only --format=posix "$1" |
        awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' | sort
}

# versions LIBRARY: the node of each of its symbols, once.
versions() {
    nm --dynamic --defined-only --with-symbol-versions --format=posix "$1" |
        awk '$2 != "A" { sub(/^[^@]*/, "", $1); print $1 }' | sort -u
}

# same NAME FILE FILE
same() {
    local status=0
    diff "$2" "$3" >"$work/diff" || status=1
    tap_result "$1" "$status" "$work/diff"
}

declared "$1"/include/jd*.h >"$work/declared"
exported "$2" >"$work/exported"
if (($(wc -l <"$work/declared") >= 10)); then
    tap_ok "the headers declare functions"
else
    tap_not_ok "the headers declare functions"
fi
same "declared (<) and exported (>) functions are the same" \
    "$work/declared" "$work/exported"
echo @@JD_0 >"$work/wanted"
versions "$2" >"$work/found"
same "all are of the version JD_0, as the SONAME is libjd.so.0" "$work/wanted" \
    "$work/found"

echo jd__platform_module >"$work/wanted"
for module in "${@:3}"; do
    exported "$module" >"$work/exported"
    folder=$(basename "$(dirname "$module")")
    same "${module##*/} of $folder exports its symbol" "$work/wanted" \
        "$work/exported"
done

# The check sees one too many and one too few.
cat >"$work/planted.h" <<'HEADER'
/* JD_API int jd_in_a_comment(void); */
#define JD_API
JD_API JD_NORETURN void jd_first(int code,
                                 void (*body)(int));
JD_API const char *const *jd_second(
    int *ret_count);
int jd_not_api(void);
HEADER
printf 'jd_first\njd_second\n' >"$work/wanted"
declared "$work/planted.h" >"$work/found"
same "declarations are found" "$work/wanted" "$work/found"
cat >"$work/planted.c" <<'SOURCE'
int jd_first, jd__leaked;
static int hidden;
int *jd_second(void);
int *jd_second(void) { return &hidden; }
SOURCE
cc -shared -fPIC -o "$work/planted.so" "$work/planted.c"
exported "$work/planted.so" >"$work/found"
printf 'jd__leaked\njd_first\njd_second\n' >"$work/wanted"
same "an internal symbol that is exported is seen" "$work/wanted" "$work/found"
tap_done
