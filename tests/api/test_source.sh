#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_source.sh - the source keeps the rules of check_source, and each rule
# sees a breach that is planted in a copy. usage: test_source.sh SOURCE_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# keeps CHECK: the source keeps the rule.
keeps() {
    local status=0
    "$here/check_source" "$1" "$source_dir" >"$work/out" 2>&1 || status=$?
    tap_result "$1" "$status" "$work/out"
}

# plant FILE LINE: at the file's end, in the copy.
plant() {
    mkdir -p "$(dirname "$work/copy/$1")" "$(dirname "$work/saved/$1")"
    cp "$work/copy/$1" "$work/saved/$1" 2>/dev/null || : >"$work/saved/$1"
    printf '%s\n' "$2" >>"$work/copy/$1"
}

# take_back FILE
take_back() {
    if [[ -s $work/saved/$1 ]]; then
        cp "$work/saved/$1" "$work/copy/$1"
    else
        rm "$work/copy/$1"
    fi
}

# sees CHECK {FILE LINE}...: the rule sees each of the lines, all planted at once.
sees() {
    local check=$1 files=() file status=0
    shift
    while (($# > 0)); do
        plant "$1" "$2"
        files+=("$1")
        shift 2
    done
    "$here/check_source" "$check" "$work/copy" >"$work/out" 2>&1 || status=$?
    for file in "${files[@]}"; do
        if ((status == 0)); then
            tap_not_ok "$check sees a breach in $file"
        elif grep -qF "$file:" "$work/out"; then
            tap_ok "$check sees a breach in $file"
        else
            tap_not_ok "$check names $file"
            tap_comment <"$work/out"
        fi
        take_back "$file"
    done
}

# Not the folder itself: others may make files in it meanwhile.
mkdir "$work/copy"
(cd "$source_dir" && find . -mindepth 1 -maxdepth 1 ! -name .git \
    ! -name 'build*' -exec cp -R -t "$work/copy" {} +)

keeps layers
sees layers \
    runtime/planted.c 'int in_no_room;' \
    base/planted.c 'void f(void) { jd__world_close(0); }' \
    collectives/cpu/shm/planted.c 'void f(void) { jd_psum(0); }' \
    base/parse.c 'void jd__parse_x(void) { jd__options_destroy(0); }' \
    runtime/coordination/server/store.c \
        'void f(void) { jd__service_reply(0, 0, 0, 0, 0); }' \
    base/env.c '#include "runtime/mpi/world.h"' \
    base/options.h '#include "autodetect/cluster.h"' \
    autodetect/detect.c '#include "runtime/topology/topology.h"' \
    runtime/mpi/world.c '#include "collectives/mesh/mesh.h"' \
    collectives/mesh/planted.c '  #  include <jd.h>' \
    collectives/cuda/planted.cu '#include "arrays/array/array.h"' \
    runtime/process/planted.h '#include "tools/jd-info/jd_info.h"'
keeps names
sees names \
    base/planted.c 'int jd__other_thing(void) { return 1; }' \
    collectives/mesh/planted.c 'static int run(void) { return 1; }' \
    base/aaa.c 'struct comm_end { int twice; };' \
    base/aaa.h 'struct jd_env { int twice; };' \
    arrays/array/planted.h '/* the clique that was */' \
    tools/planted.c 'void jd__ending_begin(void);' \
    tests/unit/planted.c 'static int find_seats(void);' \
    tests/mpi/planted.h '/* of another team */' \
    doc/gpus.md 'A clique is made at the first call.'
keeps cuda
sees cuda \
    collectives/planted.h '#include <cuda_runtime_api.h>' \
    runtime/planted.c '# include "nccl.h"' \
    collectives/mesh/shard.c '#include "collectives/cuda/errors.h"'
keeps getenv
sees getenv \
    runtime/mpi/world.c 'char *x(void) { return getenv("HOME"); }' \
    tools/planted.c 'extern char **environ;' \
    autodetect/detect.c 'int y(void) { return setenv("A", "B", 1); }'
keeps spdx
sees spdx \
    tests/planted.c 'int z;' \
    collectives/planted.cuh 'int w;' \
    scripts/planted '#!/bin/sh'
if command -v shellcheck >/dev/null; then
    keeps shell
    # Of nothing else: all scripts take a quarter of a minute.
    rm -rf "$work/copy"
    pipe='|'
    # shellcheck disable=SC2016 # it is planted as it is
    sees shell \
        scripts/planted.sh '#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
rm $1' \
        scripts/piped.sh "#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
seq 9 $pipe grep -xq 1"
else
    tap_skip shell "no shellcheck here"
fi
tap_done
