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

# sees CHECK FILE LINE: the rule sees the line at FILE's end, in a copy.
sees() {
    local saved=$work/saved
    cp "$work/copy/$2" "$saved" 2>/dev/null || : >"$saved"
    mkdir -p "$(dirname "$work/copy/$2")"
    printf '%s\n' "$3" >>"$work/copy/$2"
    if "$here/check_source" "$1" "$work/copy" >"$work/out" 2>&1; then
        tap_not_ok "$1 sees a breach in $2"
    elif grep -qF "$2:" "$work/out"; then
        tap_ok "$1 sees a breach in $2"
    else
        tap_not_ok "$1 names $2"
        tap_comment <"$work/out"
    fi
    if [[ -s $saved ]]; then
        cp "$saved" "$work/copy/$2"
    else
        rm "$work/copy/$2"
    fi
}

# Not the folder itself: others may make files in it meanwhile.
mkdir "$work/copy"
(cd "$source_dir" && find . -mindepth 1 -maxdepth 1 ! -name .git \
    ! -name 'build*' -exec cp -R -t "$work/copy" {} +)

keeps layers
sees layers runtime/planted.c 'int in_no_room;'
sees layers base/planted.c 'void f(void) { jd__world_close(0); }'
sees layers collectives/cpu/shm/planted.c 'void f(void) { jd_psum(0); }'
sees layers base/parse.c 'void jd__parse_x(void) { jd__options_destroy(0); }'
sees layers runtime/coordination/server/store.c \
    'void f(void) { jd__service_reply(0, 0, 0, 0, 0); }'
sees layers base/env.c '#include "runtime/mpi/world.h"'
sees layers base/options.h '#include "autodetect/cluster.h"'
sees layers autodetect/detect.c '#include "runtime/topology/topology.h"'
sees layers runtime/mpi/world.c '#include "collectives/mesh/mesh.h"'
sees layers collectives/mesh/planted.c '  #  include <jd.h>'
sees layers collectives/cuda/planted.cu '#include "arrays/array/array.h"'
sees layers runtime/process/planted.h '#include "tools/jd-info/jd_info.h"'
keeps names
sees names base/planted.c 'int jd__other_thing(void) { return 1; }'
sees names collectives/mesh/planted.c 'static int run(void) { return 1; }'
sees names base/aaa.c 'struct comm_end { int twice; };'
sees names base/aaa.h 'struct jd_env { int twice; };'
sees names arrays/array/planted.h '/* the clique that was */'
sees names tools/planted.c 'void jd__ending_begin(void);'
sees names tests/unit/planted.c 'static int find_seats(void);'
sees names tests/mpi/planted.h '/* of another team */'
sees names doc/gpus.md 'A clique is made at the first call.'
keeps cuda
sees cuda collectives/planted.h '#include <cuda_runtime_api.h>'
sees cuda runtime/planted.c '# include "nccl.h"'
sees cuda collectives/mesh/shard.c '#include "collectives/cuda/errors.h"'
keeps getenv
sees getenv runtime/mpi/world.c 'char *x(void) { return getenv("HOME"); }'
sees getenv tools/planted.c 'extern char **environ;'
sees getenv autodetect/detect.c 'int y(void) { return setenv("A", "B", 1); }'
keeps spdx
sees spdx tests/planted.c 'int z;'
sees spdx collectives/planted.cuh 'int w;'
sees spdx scripts/planted '#!/bin/sh'
if command -v shellcheck >/dev/null; then
    keeps shell
    # shellcheck disable=SC2016 # it is planted as it is
    sees shell scripts/planted.sh '#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
rm $1'
    pipe='|'
    sees shell scripts/planted.sh "#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
seq 9 $pipe grep -xq 1"
else
    tap_skip shell "no shellcheck here"
fi
tap_done
