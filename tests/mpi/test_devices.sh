#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_devices.sh - which GPUs are whose, and why there are none: a module that
# has nothing but devices (fake_gpus/) stands for the platform of GPUs.
# usage: test_devices.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
modules=$build/tests/mpi/fake_gpus
show=$build/tests/mpi/test_devices
info=$build/tools/jd-info
preload=(${TEST_PRELOAD:+-x "LD_PRELOAD=$TEST_PRELOAD"})

# job COUNT:GPUS[:VARIABLE=VALUE...]... -- PROGRAM...: a job of COUNT processes
# that see these GPUs, and so on; all in $work/out and err, the status in status.
job() {
    local words=() parts
    status=0
    while [[ $1 != -- ]]; do
        IFS=: read -ra parts <<<"$1"
        ((${#words[@]} == 0)) || words+=(:)
        words+=(-n "${parts[0]}" "${preload[@]}" env "FAKE_GPUS=${parts[1]:-}"
            "JD_PLATFORM_DIR=$modules" "${parts[@]:2}" @)
        shift
    done
    shift
    timeout --kill-after=5 $((60 * ${TEST_TIME_FACTOR:-1})) \
        mpirun --oversubscribe "${words[@]/#@/$1}" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# ends STATUS TEXT...: it ended so (0, or "nonzero"), and each text is a line of
# its output, or of stderr where it begins with "stderr: ".
# shellcheck disable=SC2317 # tap_check calls it
ends() {
    local text
    if [[ $1 == nonzero ]]; then
        ((status != 0)) || return 1
    else
        ((status == $1)) || return 1
    fi
    shift
    for text in "$@"; do
        case $text in
        'stderr: '*) grep -qF -e "${text#stderr: }" "$work/err" || return 1 ;;
        *) grep -qF -e "$text" "$work/out" || return 1 ;;
        esac
    done
}

# silent TEXT: it is nowhere.
# shellcheck disable=SC2317 # tap_check calls it
silent() {
    ! grep -qF -e "$1" "$work/out" "$work/err"
}

clear_foreign_variables
unset JD_PLATFORM
command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# ---- who has which ---------------------------------------------------------

job 1:abc -- "$show"
tap_check "one process has all that it sees" ends 0 \
    "process 0: GPU-a=0 GPU-b=1 GPU-c=2; the job has 3 devices of cuda, and 1 of cpu"
job 4:abcd -- "$show"
tap_check "four that see the same have one each" ends 0 \
    "process 0: GPU-a=0; the job has 4 devices of cuda, and 4 of cpu" \
    "process 1: GPU-b=1;" "process 2: GPU-c=2;" "process 3: GPU-d=3;"
job 1:ab 1:cd -- "$show"
tap_check "lists apart are each one's own" ends 0 \
    "process 0: GPU-a=0 GPU-b=1; the job has 4 devices" \
    "process 1: GPU-c=0 GPU-d=1;"
job 1:ab:JD_LOCAL_DEVICE_IDS=1 1:ab:JAX_LOCAL_DEVICE_IDS=0 -- "$show"
tap_check "local_device_ids wins" ends 0 "process 0: GPU-b=1;" \
    "process 1: GPU-a=0;"
job 2:a:JD_OVERSUBSCRIBE=1 -- "$show"
tap_check "two may share" ends 0 "process 0: GPU-a=0;" "process 1: GPU-a=0;"

job 2:a:JD_PLATFORM=cuda -- "$show"
tap_check "fewer than processes are refused" ends nonzero \
    "stderr: FAILED_PRECONDITION: jd_initialize: on host $(hostname) 2 processes (0-1) see the same 1 GPU; start at most 1 there" \
    "stderr: or let them share (JD_OVERSUBSCRIBE=1), or use none (JD_PLATFORM=cpu)"
job 2:a -- "$show"
tap_check "or not used, where nobody asks for them" ends 0 \
    "process 0: cpu; the job has 2 devices of cpu, and 2 of cpu" \
    "stderr: warning no cuda devices: processes 0-1: on host $(hostname) 2 processes (0-1) see the same 1 GPU; start at most 1 there, or give each GPUs of its own"
tap_check "process 0 warns, once" test "$(grep -c "warning no cuda" "$work/err")" = 1
job 1:ab 1:bc -- "$show"
tap_check "lists that overlap are refused" ends nonzero \
    "stderr: process 0 sees 2 GPUs and process 1 sees 2, and both see GPU-b: the two lists are neither the same nor apart"
job 1:ab:JD_LOCAL_DEVICE_IDS=1 1:b -- "$show"
tap_check "a GPU that is taken twice is named" ends nonzero \
    "stderr: , by JD_LOCAL_DEVICE_IDS) and process 1 (pid " \
    "stderr: take the same GPU, GPU-b; give each its own"
job 2:ab:JD_LOCAL_DEVICE_IDS=0,2 -- "$show"
tap_check "a number that it does not see is refused" ends nonzero \
    "stderr: INVALID_ARGUMENT: jd_initialize: JD_LOCAL_DEVICE_IDS of process 0 (pid " \
    "stderr: names the GPU 2, but the process sees 2, which are 0 to 1"

# ---- which platform --------------------------------------------------------

job 1:a 1: -- "$show"
tap_check "cpu is the default where a process has no GPU" ends 0 \
    "process 0: cpu; the job has 2 devices of cpu, and 2 of cpu"
job 2:a:JD_PLATFORM=cpu:FAKE_REFUSES=1:JD_LOG=info -- "$show"
tap_check "JD_PLATFORM=cpu loads nothing" ends 0 \
    "process 1: cpu; the job has 2 devices of cpu, and 2 of cpu" \
    "stderr: info no cuda devices: processes 0-1: JD_PLATFORM is cpu"
job 1:a:JD_PLATFORM=cuda 2: -- "$show"
tap_check "cuda is asked for, and not everywhere" ends nonzero \
    "stderr: FAILED_PRECONDITION: jd_initialize: JD_PLATFORM is cuda, but 2 of 3 processes have no cuda device: processes 1-2: FAKE_GPUS is not set; correct that, or leave JD_PLATFORM out"
job 1:a:JD_PLATFORM=cuda 1:b:JD_PLATFORM=cpu -- "$show"
tap_check "two platforms are asked for" ends nonzero \
    "stderr: INVALID_ARGUMENT: jd_initialize: JD_PLATFORM is cuda in process 0 (pid " \
    "stderr: ) and cpu in process 1 (pid "

# ---- why there are none ----------------------------------------------------

none="info no cuda devices: processes 0-1: "
job 2:a:JD_LOG=info:JD_PLATFORM_DIR=/nowhere -- "$show"
tap_check "no module" ends 0 "process 0: cpu;" \
    "stderr: ${none}there is no platform_cuda.so in /nowhere (JD_PLATFORM_DIR)"
tap_check "process 0 says it, once" test "$(grep -c "info no cuda" "$work/err")" = 1
job 2:a:JD_LOG=info:FAKE_REFUSES=1 -- "$show"
tap_check "a module of another version" ends 0 "process 0: cpu;" \
    "stderr: $none$modules/platform_cuda.so is not taken: it is of jd 0.0.1"
job 2:a:FAKE_REFUSES=1 -- "$show"
tap_check "without JD_LOG=info nothing is said" silent "no cuda devices"
mkdir "$work/empty" "$work/unlinked"
echo 'int x;' | cc -shared -fPIC -x c -o "$work/empty/platform_cuda.so" -
job 2:a:JD_LOG=info:JD_PLATFORM_DIR="$work/empty" -- "$show"
tap_check "a library that is no module" ends 0 "process 0: cpu;" \
    "stderr: $none$work/empty/platform_cuda.so is no module of jd: it has no jd__platform_module"
echo 'int y;' | cc -shared -fPIC -x c -Wl,-soname,libfake_nccl.so.2 \
    -o "$work/libfake_nccl.so" -
echo 'extern int y; int z(void); int z(void) { return y; }' |
    cc -shared -fPIC -x c -o "$work/unlinked/platform_cuda.so" - \
        -x none "$work/libfake_nccl.so"
job 2:a:JD_LOG=info:JD_PLATFORM_DIR="$work/unlinked" -- "$show"
tap_check "a library that is not installed is named" ends 0 "process 0: cpu;" \
    "stderr: ${none}$work/unlinked/platform_cuda.so cannot be loaded: libfake_nccl.so.2: cannot open shared object file"
# A host that has a driver: a library answers for /dev/nvidiactl.
cc -shared -fPIC -x c -o "$work/driver.so" - <<'SOURCE'
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int access(const char *path, int mode)
{
    if (strcmp(path, "/dev/nvidiactl") == 0)
        return 0;
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}
SOURCE
driver=LD_PRELOAD=${TEST_PRELOAD:+$TEST_PRELOAD }$work/driver.so
mend="the host has a driver for them: mend that, or say that cpu devices are meant (JD_PLATFORM=cpu)"
job 1:a 1:a:"$driver:JD_PLATFORM_DIR=$work/unlinked" -- "$show"
tap_check "where there is a driver it is a warning" ends 0 "process 0: cpu;" \
    "stderr: warning no cuda devices: process 1: $work/unlinked/platform_cuda.so cannot be loaded: libfake_nccl.so.2: cannot open shared object file" \
    "stderr: $mend"
tap_check "which process 0 says, once" test "$(grep -c "warning no cuda" "$work/err")" = 1
job 2:a:"$driver:JD_PLATFORM=cpu:JD_PLATFORM_DIR=$work/unlinked" -- "$show"
tap_check "and not where cpu devices are meant" silent "$mend"
job 2::"$driver" -- "$show"
tap_check "nor where the driver shows no GPU" silent "$mend"
job 1:a:JD_PLATFORM=cuda:JD_PLATFORM_DIR=/nowhere -- "$show"
tap_check "cuda is asked for, and there is no module" ends nonzero \
    "stderr: JD_PLATFORM is cuda, but 1 of 1 processes has no cuda device: there is no platform_cuda.so in /nowhere (JD_PLATFORM_DIR); correct that"

# ---- the report ------------------------------------------------------------

topology() {
    job "$@" -- "$work/topology"
}
# shellcheck disable=SC2016 # the script's own variable
printf '#!/bin/bash\nexec "%s" --topology $REPORT\n' "$info" >"$work/topology"
chmod +x "$work/topology"
topology 2:ab
tap_check "jd-info --topology has the table" ends 0 \
    "job: 1 host, 1 slice, 2 processes, 2 cuda devices, 2 cpu devices" \
    "    device 131072: cuda 0, fake GPU, PCI 0000:62:00.0, 1.0 GiB, GPU-b, number 1 of those seen, compute capability 0.1" \
    "    device 131072: cpu 0, " "    sees, and does not use: GPU-a"
tap_check "and no reason where there is none" silent "no cuda devices"
topology 1:a 2:
tap_check "and why there are none" ends 0 \
    "no cuda devices: processes 1-2: FAKE_GPUS is not set" \
    "3 processes, 3 cpu devices, 1 cuda device"
topology 1:ab:REPORT=--json:JD_LOCAL_DEVICE_IDS=1 1::REPORT=--json
tap_check "as JSON" ends 0 '"platform": "cpu"' '"unused_uuids": ["GPU-a"]' \
    '"absent": {"cuda": "FAKE_GPUS is not set"}' \
    '"uuid": "GPU-b", "detail": "compute capability 0.1", "native": 1}'
tap_check "which is JSON" python3 -m json.tool "$work/out" /dev/null
tap_done
