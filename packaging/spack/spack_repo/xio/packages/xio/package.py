# SPDX-License-Identifier: MIT
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Xio(CMakePackage):
    """GPU-initiated I/O: NVMe and RDMA queues driven from a kernel. Headers, and tools where they are wanted."""

    # The clone around this file.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 6))

    license("MIT")

    version("main", branch="main")

    variant("tools", default=False, description="Build xio-tester and xio-vendors")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cli11", type="build", when="+tools")
    depends_on("nlohmann-json", type="build", when="+tools")

    def cmake_args(self):
        return [
            self.define("XIO_BUILD_TESTS", False),
            self.define("XIO_BUILD_EXAMPLES", False),
            self.define_from_variant("XIO_BUILD_BENCH", "tools"),
        ]
