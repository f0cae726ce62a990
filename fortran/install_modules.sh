#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install_modules.sh BUILD_DIR FOLDER - copies the modules that the compiler has
# made to a folder under the prefix, for meson install.
set -eu

to=$MESON_INSTALL_DESTDIR_PREFIX/$2
mkdir -p "$to"
cp "$1"/libjd_fortran.*.p/*.mod "$to"
