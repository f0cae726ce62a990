# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# bare.sh - the packages that test_packages.sh has built, in a Debian 12 that has
# nothing else: each comes and goes, what doc/building.md says works, and Debian's
# own autopkgtest runs debian/tests. Source it there: it uses its variables and
# check(). TEST_DEBIAN_MIRROR is where the Debian is taken from.
# shellcheck disable=SC2016,SC2154,SC2317

# Prints why there can be no bare Debian here; nothing where there can.
no_bare_debian() {
    local tool
    for tool in debootstrap dpkg-scanpackages unshare; do
        command -v "$tool" >/dev/null || {
            echo "no $tool here"
            return
        }
    done
    ((EUID == 0)) || echo "only root makes a Debian to chroot into"
    unshare --mount --propagation private true 2>/dev/null ||
        echo "no namespace of mounts can be made here"
}

# A mirror that is not reached is no fault of jd's.
make_base() {
    local mirror=${TEST_DEBIAN_MIRROR:-http://deb.debian.org/debian}
    debootstrap --variant=minbase bookworm "$work/base" "$mirror" && return
    [[ -e $work/base/debootstrap/debootstrap.log ]] &&
        cat "$work/base/debootstrap/debootstrap.log"
    [[ ! -s $work/base/var/lib/dpkg/status ]] || return 1
    echo "the mirror $mirror is not reached (TEST_DEBIAN_MIRROR names another)"
    return 77
}

# inside COMMAND...: with root's own /dev and /proc, in mounts that end with it.
inside() {
    unshare --mount --propagation private bash -c '
        mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" &&
            mount --rbind /sys "$0/sys" && "$@"' "$bare" "$@"
}

# plainly COMMAND...: inside(), and nothing of this environment comes with it.
plainly() {
    inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# bare COMMAND...: in the bare Debian.
bare() {
    plainly chroot "$bare" "$@"
}

# new_bare NAME: a copy of the base, to which the packages are one repository
# more; what apt has downloaded once is kept for the next.
new_bare() {
    bare=$work/$1
    cp -a "$work/base" "$bare"
    mkdir "$bare/jd"
    cp "$work"/built/*.deb "$bare/jd"
    (cd "$bare/jd" && dpkg-scanpackages --multiversion . >Packages) || return
    echo 'deb [trusted=yes] file:/jd ./' >"$bare/etc/apt/sources.list.d/jd.list"
    # No daemon that a package brings is started.
    printf '#!/bin/sh\nexit 101\n' >"$bare/usr/sbin/policy-rc.d"
    chmod +x "$bare/usr/sbin/policy-rc.d"
    bare apt-get update
}

# comes_and_goes PACKAGE: with what it depends on and no more; no file of jd's stays.
comes_and_goes() {
    local left
    bare apt-get install -y --no-install-recommends "$1" &&
        bare dpkg --verify "$1" && jd_links &&
        bare apt-get purge -y --autoremove "$1" || return
    left=$(cd "$bare" && find usr etc var ! -path '*/apt/*' \
        -regex '.*/\(lib\|_\)?jd[^/]*')
    echo "left: $left"
    [[ -z $left ]]
}

# What of it the loader looks at finds all its libraries.
jd_links() {
    local file
    for file in "$bare"/usr/lib/*/libjd*.so.0 "$bare"/usr/bin/jd-* \
        "$bare"/usr/libexec/jd/*; do
        [[ -e $file || -L $file ]] || continue
        # Scripts are no programs of the loader's.
        bare ldd "${file#"$bare"}" 2>&1 | tee -a /dev/stderr |
            grep 'not found' && return 1
    done
    return 0
}

# As doc/building.md says.
installs_all() {
    bare sh -c 'apt-get install -y --no-install-recommends /jd/*.deb gcc cmake \
        make pkg-config openmpi-bin' && bare useradd --create-home user
}

# as_user COMMAND: no program of jd's needs root.
as_user() {
    bare runuser -u user -- sh -ec "cd && $1"
}

says_hello() {
    local said
    said=$(as_user "mpirun --oversubscribe -n 2 $1") || return
    echo "$said"
    [[ $said == '2 devices in 2 processes: 3' ]]
}

hello_by_pkg_config() {
    as_user 'cc -o hello /usr/share/doc/jd/examples/01_hello/hello.c \
        $(pkg-config --cflags --libs jd)' && says_hello ./hello
}

hello_by_cmake() {
    cp -r "$source_dir/tests/api/installed" "$bare/project"
    as_user "cmake -S /project -B build -DJD_WANTED=$version \
        -DHELLO=/usr/share/doc/jd/examples/01_hello/hello.c &&
        cmake --build build" && says_hello build/hello
}

# Its chroot has what inside() has mounted, and the environment that it has.
autopkgtest_passes() {
    plainly autopkgtest --no-built-binaries "$work"/built/*.deb \
        "$work/built/jd-$version/" -- chroot "$bare"
}

# check_bare: all of it, or why not.
check_bare() {
    local reason package
    reason=$(no_bare_debian)
    if [[ -z $reason ]]; then
        check "debootstrap makes a bare Debian 12" make_base
        [[ -s $work/base/var/lib/dpkg/status ]] || reason="there is no bare Debian"
    fi
    if [[ -n $reason ]]; then
        tap_skip "the packages in a bare Debian" "${reason%%$'\n'*}"
        return
    fi
    check "apt of the bare Debian knows the packages" new_bare one
    while read -r package; do
        check "bare: $package comes, and goes" comes_and_goes "$package"
    done < <(sed -nE 's/^Package: //p' "$source_dir/packaging/debian/control")
    check "bare: all are installed" installs_all
    check "bare: hello, built by pkg-config, runs under mpirun" hello_by_pkg_config
    check "bare: hello, built by CMake, runs under mpirun" hello_by_cmake
    if ! command -v autopkgtest >/dev/null; then
        tap_skip "bare: autopkgtest" "no autopkgtest here"
        return
    fi
    check "apt of another bare Debian knows them" new_bare two
    rm "$bare/etc/apt/sources.list.d/jd.list"
    check "bare: autopkgtest" autopkgtest_passes
}
