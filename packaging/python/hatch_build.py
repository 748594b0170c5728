# SPDX-License-Identifier: MIT
"""Puts libxio_host.so and the bitcode of a build folder, which XIO_BUILD names, into the wheel."""
import os
import pathlib
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Compiled(BuildHookInterface):
    """What the build by CMake has made."""

    def initialize(self, version, build_data):
        build = pathlib.Path(os.environ.get("XIO_BUILD", "../../build")).resolve()
        library = build / "host" / "libxio_host.so"
        if not library.exists():
            raise FileNotFoundError(f"no {library}: CMake's target `wheel` makes it; XIO_BUILD names the build folder")
        files = {str(library.resolve()): "xio/lib/libxio_host.so"}
        for path in sorted((build / "bitcode").glob("libxio_device-*")):
            if path.suffix in (".bc", ".ltoir"):
                files[str(path)] = f"xio/lib/{path.name}"
        build_data["force_include"].update(files)
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
