#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# copy_modules.sh BUILD_DIR FILE... - copies the modules that the compiler has
# made beside the library's objects to these files, which meson installs.
set -eu

from=$1
shift
for file in "$@"; do
    cp "$from"/libjd_fortran.*.p/"${file##*/}" "$file"
done
