# SPDX-License-Identifier: MIT
"""Conan 2: `conan create packaging/conan` makes the package of the sources around this file."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class XioConan(ConanFile):
    name = "xio"
    description = "GPU-initiated I/O: NVMe and RDMA queues driven from a kernel"
    license = "MIT"
    topics = ("gpu", "nvme", "rdma", "header-only")
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "xio", "version.hpp"))
        self.version = ".".join(re.findall(r"#define XIO_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)", header))

    def export_sources(self):
        project = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "cmake/*", "examples/*", "include/*"):
            copy(self, pattern, project, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCH", "EXAMPLES"):
            toolchain.cache_variables[f"XIO_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install(component="dev")
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        # The package file of the installation knows the targets.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "xio")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["pthread", "dl"]
