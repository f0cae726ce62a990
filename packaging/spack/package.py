# SPDX-License-Identifier: BSD-3-Clause
"""jd for Spack.

It stands in a repository of packages, as Spack wants one: `spack repo create
DIR`, then this file as `packages/jd/package.py` in it, `spack repo add DIR`, and,
in jd's tree, `spack dev-build jd@main`, as no version has been released.
"""

from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Jd(MesonPackage):
    """The multi-controller SPMD model of jax.distributed for C, on MPI."""

    license("BSD-3-Clause")

    version("main")

    variant("cuda", default=False, description="Build the platform of GPUs")
    variant("fortran", default=True, description="Build the module jd")
    variant("libdw", default=True, description="Name lines of the source")
    variant("munge", default=True, description="Let munge vouch for processes")
    variant("pmix", default=True, description="Build jd-pmix-server")
    variant("probes", default=False, description="USDT probes at calls")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")

    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.8:", type="build")

    depends_on("mpi")
    depends_on("openmpi@4.1:", when="^[virtuals=mpi] openmpi")
    depends_on("hwloc@2:")
    depends_on("libevent@2.1:")
    depends_on("libsodium@1.0.14:")
    depends_on("xxhash@0.8:", type="build")  # its header
    # It has the compiler of messages too, which runs while building.
    depends_on("protobuf-c@1.3:", type=("build", "link"))

    depends_on("cuda", when="+cuda")
    depends_on("nccl@2.18:", when="+cuda")
    depends_on("elfutils", when="+libdw")
    depends_on("munge", when="+munge")
    depends_on("pmix@4:", when="+pmix")
    depends_on("systemtap", when="+probes", type="build")

    conflicts("platform=darwin", msg="jd is for Linux")
    conflicts("platform=windows", msg="jd is for Linux")

    def meson_args(self):
        """Every feature is said, so that none depends on what a host has."""
        features = ("cuda", "fortran", "libdw", "munge", "pmix", "probes")
        args = []
        for name in features:
            value = "enabled" if "+" + name in self.spec else "disabled"
            args.append("-D{0}={1}".format(name, value))
        args += ["-Dmanual=disabled", "-Dtests=disabled"]
        if "+cuda" in self.spec:
            args.append("-Dcuda-root=" + self.spec["cuda"].prefix)
            args.append("-Dnccl-root=" + self.spec["nccl"].prefix)
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        """It starts, and says what it was built with."""
        Executable(self.prefix.bin.join("jd-info"))("--build")
