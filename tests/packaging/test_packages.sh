#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_packages.sh - packages have jd's version, each file of the tree has its
# licence, build-deb says what it wants, and puts together what Debian's tools
# build. With TEST_FULL=1 they do, lintian finds nothing, and a bare Debian takes
# them (bare.sh): that takes minutes.
# usage: test_packages.sh SOURCE_DIR
# shellcheck disable=SC2317 # check() calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=bare.sh
source "$here/bare.sh"
source_dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DEBFULLNAME DEBEMAIL
build_deb=$source_dir/packaging/build-deb
version=$(sed -nE "s/^ *version: '([0-9.]+)',/\1/p" "$source_dir/meson.build")

# check NAME COMMAND...: one result.
check() {
    tap_run "$@" || true
}

# refuses STATUS TEXT ARGUMENT...: build-deb says so, with the tools of $work/bin.
refuses() {
    local status=0 said
    said=$(PATH=$work/bin "$build_deb" "${@:3}" 2>&1) || status=$?
    echo "$status: $said"
    ((status == $1)) && [[ $said == *"$2"* ]]
}

# says_version FILE PATTERN: its first line that has the pattern, which ends with
# the version in parentheses.
says_version() {
    local seen
    seen=$(sed -nE "0,/$2/s/$2/\1/p" "$source_dir/$1")
    echo "$1: \"$seen\", meson.build: \"$version\""
    [[ $seen == "$version" ]]
}

shows_help() {
    local said
    said=$("$build_deb" --help)
    echo "$said"
    grep -q '^usage: packaging/build-deb' <<<"$said"
}

# Of all commands those alone that build-deb calls, and none of Debian's.
without_tools() {
    local name bin=$work/bin
    rm -rf "$bin"
    mkdir "$bin"
    for name in bash cat cp find git ls mkdir nproc realpath sed tar dirname; do
        ln -s "$(command -v "$name")" "$bin/$name"
    done
}

# Tools in place of Debian's, which say what they are called with.
stand_in() {
    without_tools
    printf '#!/bin/bash\n' >"$work/bin/dh"
    cat >"$work/bin/dpkg-checkbuilddeps" <<'TOOL'
#!/bin/bash
[[ -z ${MISSING-} ]] || {
    echo "dpkg-checkbuilddeps: error: Unmet build dependencies: $MISSING" >&2
    exit 1
}
TOOL
    cat >"$work/bin/dpkg-buildpackage" <<'TOOL'
#!/bin/bash
echo "CC=${CC-}; $DEB_BUILD_OPTIONS; $*"
ls debian/control debian/rules debian/changelog meson.build
: >../made.deb
TOOL
    chmod +x "$work/bin"/*
}

names_missing_tool() {
    without_tools
    refuses 1 'there is no dpkg-buildpackage here' "$work/deb"
}

names_missing_package() {
    MISSING='libfoo-dev (>= 2)' refuses 1 \
        'Unmet build dependencies: libfoo-dev (>= 2)' "$work/missing"
}

# What it has built from: the tree, and debian at its top.
puts_together() {
    local said
    said=$(PATH=$work/bin CC=other "$build_deb" --no-check --jobs 3 "$work/deb")
    echo "$said"
    [[ $said == *"CC=; parallel=3 nocheck; "*"--build=binary"* ]] &&
        [[ $said == *debian/changelog*meson.build*"$work/deb/made.deb"* ]]
}

# No more than git tracks, and no less.
is_the_tree() {
    local name=jd-$version
    [[ -e $source_dir/.git ]] || {
        echo "no checkout, whose files git would know"
        return 77
    }
    (cd "$work/deb/$name" && find . -type f ! -path './debian/*' |
        sed 's|^\./||' | sort) |
        diff <(cd "$source_dir" && git ls-files | sort) -
}

refuses_full_folder() {
    mkdir -p "$work/full"
    : >"$work/full/other"
    refuses 1 "$work/full is not empty" "$work/full"
}

refuses_inside() {
    refuses 1 'is inside the tree' "$source_dir/inside" &&
        [[ ! -e $source_dir/inside ]]
}

# Who publishes them: in both files of the copy, and in no other place of either.
takes_maintainer() {
    local debian=$work/named/jd-$version/debian
    local who='Ann O&Co |\\1 <ann@example.org>'
    PATH=$work/bin DEBFULLNAME=${who% <*} DEBEMAIL=ann@example.org \
        "$build_deb" "$work/named" || return
    diff "$source_dir/packaging/debian/control" "$debian/control"
    diff "$source_dir/packaging/debian/changelog" "$debian/changelog"
    grep -qxF "Maintainer: $who" "$debian/control" &&
        grep -qE '^ -- .*>  [A-Z][a-z]{2}, ' "$debian/changelog" &&
        grep -qF -- " -- $who  " "$debian/changelog"
}

refuses_half_maintainer() {
    DEBFULLNAME='' DEBEMAIL=ann@example.org refuses 1 \
        'wants a name in DEBFULLNAME beside it, not ""' "$work/half" &&
        DEBFULLNAME=Ann DEBEMAIL=here refuses 1 \
            'wants an address in DEBEMAIL beside it, not "here"' "$work/half" &&
        [[ ! -e $work/half ]]
}

# Each package of debian/control has its row in packaging/README.md, and each
# table's row its package.
in_the_table() {
    # shellcheck disable=SC2016 # they are no commands
    diff <(sed -nE 's/^Package: //p' "$source_dir/packaging/debian/control" |
        sort) <(sed -nE 's/^\| `(lib)?(jd[a-z0-9-]*)` \|.*/\1\2/p' \
        "$source_dir/packaging/README.md" | sort)
}

lints_licences() {
    (cd "$source_dir" && reuse lint)
}

builds() {
    "$build_deb" "$work/built"
}

# Hints too; what is meant has a line in packaging/debian/*.lintian-overrides.
lintian_finds_nothing() {
    local said
    said=$(lintian --display-info --allow-root --suppress-tags \
        bad-distribution-in-changes-file "$work"/built/jd_*.changes 2>&1) || true
    echo "$said"
    ! grep -qE '^[EWI]:' <<<"$said"
}

# Runs from where it was unpacked and says nothing of where it was built, and
# Fortran's library has no path of its own.
unpacked_tools_run() {
    local package lib
    for package in "$work"/built/*.deb; do
        dpkg-deb --extract "$package" "$work/root"
    done
    lib=$(dirname "$(find "$work/root" -name libjd.so.0)")
    LD_LIBRARY_PATH=$lib "$work/root/usr/bin/jd-info" --build |
        tee "$work/said" &&
        ! grep -F "$work/built" "$work/said" &&
        ! readelf -d "$lib/libjd_fortran.so.0" | grep -iE 'R(UN)?PATH'
}

# The theme's scripts and styles say themselves whose they are.
copyright_names_all() {
    local names name missing=0
    names=$(grep -rhoaE '(Copyright ?(\([cC]\))?|©) ?[0-9-]*,? [^*]{3,60}' \
        "$work/root/usr/share/doc/jd-doc/html/assets" |
        sed -E 's/^(Copyright ?(\([cC]\))?|©)[ 0-9,-]*//; s/(-->|<).*//
            s/[. ]*$//' | sort -u)
    echo "$names"
    [[ -n $names ]] || return
    while IFS= read -r name; do
        grep -qF "$name" "$source_dir/packaging/debian/copyright" || {
            echo "debian/copyright does not name \"$name\""
            missing=1
        }
    done <<<"$names"
    return "$missing"
}

# Each is there, and can be called as it is: whoever clones it has no other way.
workflow_calls_scripts() {
    local script called
    called=$(sed -nE 's|^ *run: (scripts/[^ ]+).*|\1|p' \
        "$source_dir/.github/workflows/test.yml")
    echo "$called"
    grep -qx scripts/test <<<"$called" || return
    for script in $called; do
        "$source_dir/$script" --help >/dev/null || return
    done
}

# What `meson dist` packs is what git has, and configures where no git is.
makes_tarball() {
    meson setup "$work/checkout" "$source_dir" &&
        meson dist -C "$work/checkout" --no-tests --allow-dirty --formats gztar &&
        mkdir "$work/dist" && tar -xzf \
        "$work/checkout/meson-dist/jd-$version.tar.gz" -C "$work/dist" || return
    diff <(cd "$source_dir" && git ls-tree -r --name-only HEAD | sort) \
        <(cd "$work/dist/jd-$version" && find . -type f | sed 's|^\./||' | sort) &&
        meson setup -Doptimization=0 -Ddebug=false \
            -Dcuda=disabled -Dmanual=disabled "$work/dist-build" \
            "$work/dist/jd-$version"
}

# That it does matters here, not how fast what it makes is.
tarball_builds() {
    ninja -C "$work/dist-build" &&
        [[ $("$work/dist-build/mpi_examples/01_hello/hello") == \
            '1 devices in 1 processes: 1' ]]
}

check "LICENSES has the text of LICENSE" \
    diff "$source_dir/LICENSE" "$source_dir/LICENSES/BSD-3-Clause.txt"
# Of those before 4, as Debian 12 has it, none knows REUSE.toml.
if [[ -e $source_dir/.git && $(reuse --version 2>/dev/null | head -n 1) =~ \
    [^0-9]([4-9]|[1-9][0-9]+)\.[0-9] ]]; then
    check "reuse lint" lints_licences
else
    tap_skip "reuse lint" "no reuse 4 here (pip install reuse), or no checkout"
fi
check "Debian's version is jd's" says_version packaging/debian/changelog \
    '^jd \(([0-9.]+)-.*'
check "conda's version is jd's" says_version packaging/conda/recipe.yaml \
    '^  version: ([0-9.]+)$'
check "each Debian package is told of" in_the_table
check "GitHub's workflow calls scripts that are there" workflow_calls_scripts
check "build-deb --help" shows_help
check "build-deb names a tool that is missing" names_missing_tool
stand_in
check "build-deb wants a folder" refuses 2 'usage: '
check "build-deb refuses an unknown option" refuses 2 'usage: ' --fast "$work/deb"
check "build-deb refuses --jobs 0" refuses 1 \
    '--jobs wants a number from 1 on, not "0"' --jobs 0 "$work/deb"
check "build-deb refuses two folders" refuses 1 'one folder is enough' "$work/a" \
    "$work/b"
check "build-deb names a package that is missing" names_missing_package
check "build-deb refuses a folder with files" refuses_full_folder
check "build-deb refuses a folder inside the tree" refuses_inside
check "build-deb puts debian into a copy, and has it built" puts_together
check "the copy is the tree" is_the_tree
check "build-deb takes the maintainer of DEBFULLNAME and DEBEMAIL" takes_maintainer
check "build-deb refuses half of a maintainer" refuses_half_maintainer
if [[ -e $source_dir/.git ]]; then
    check "meson dist packs the tree, and its tarball configures" makes_tarball
    if [[ -n ${TEST_FULL-} ]]; then
        check "it builds, and hello runs" tarball_builds
    else
        tap_skip "it builds" 'takes a minute: scripts/test --full does'
    fi
else
    tap_skip "meson dist packs the tree" "no checkout, of which it takes the files"
fi
without=''
[[ -n ${TEST_FULL-} ]] || without='takes minutes: scripts/test --full does'
for tool in dpkg-buildpackage dh chrpath lintian; do
    command -v "$tool" >/dev/null || without="no $tool here"
done
if [[ -n $without ]]; then
    tap_skip "the Debian packages are built" "$without"
else
    check "the Debian packages are built" builds
    check "lintian finds nothing" lintian_finds_nothing
    check "what is unpacked runs" unpacked_tools_run
    check "debian/copyright names whose work is in the manual" copyright_names_all
    check_bare
fi
tap_done
