#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_test_gpu.sh - scripts/test-gpu where there is no GPU, and with options
# that it does not have. usage: test_test_gpu.sh SOURCE_DIR
# shellcheck disable=SC2317 # tap_check calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
script=$1/scripts/test-gpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A driver's tool that finds nothing, whatever this machine has.
mkdir "$work/bin"
cat >"$work/bin/nvidia-smi" <<'TOOL'
#!/bin/sh
case $* in
-L) echo "NVIDIA-SMI has failed: no driver" ;;
esac
exit 9
TOOL
chmod +x "$work/bin/nvidia-smi"

# run OPTION...: into $work/out, $work/err and status.
run() {
    status=0
    PATH=$work/bin:$PATH "$script" "$@" >"$work/out" 2>"$work/err" \
        </dev/null || status=$?
}

# ends STATUS FILE TEXT
ends() {
    ((status == $1)) && grep -qF -e "$3" "$work/$2"
}

# Programs see none of the two that this one lists.
mkdir "$work/two"
cat >"$work/two/nvidia-smi" <<'TOOL'
#!/bin/sh
case $* in
-L) echo "two GPUs" ;;
*--id=*) exit 6 ;;
*) echo one && echo two ;;
esac
TOOL
chmod +x "$work/two/nvidia-smi"

none='test-gpu: no GPU here (NVIDIA-SMI has failed: no driver): nothing was tested'
run
tap_check "without a GPU it fails" ends 1 err "$none"
run --allow-none
tap_check "but where that is allowed" ends 0 err "$none"
PATH=$work/two:$PATH CUDA_VISIBLE_DEVICES='' "$script" >"$work/out" \
    2>"$work/err" </dev/null && status=0 || status=$?
tap_check "GPUs that are hidden are none" ends 1 err 'nothing was tested'
run --gpu
tap_check "an option that it does not have" ends 2 err \
    'test-gpu: --gpu is no option'
run --output
tap_check "an option without its value" ends 2 err \
    'test-gpu: --output needs a value'
run --stand-in none
tap_check "stand-ins for no number of GPUs" ends 2 err \
    'test-gpu: --stand-in is a number from 1 to 99, not none'
run --only kernels,none
tap_check "a part that it does not have" ends 2 err \
    'test-gpu: --only has parts of kernels conformance programs sanitizer sharing failures large examples speed, not none'
run --help
tap_check "--help" ends 0 out 'usage: scripts/test-gpu [--cuda-root DIR]'
tap_done
