#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles sources with NVRTC, NVIDIA's run-time compiler, which has no system headers. Exits with 77 without NVRTC."""

import argparse
import ctypes
import ctypes.util
import glob
import sys


def load_nvrtc(cache):
    private = f"{cache}/nvcc/cuda/lib"
    candidates = glob.glob(f"{private}/libnvrtc.so.*") + [ctypes.util.find_library("nvrtc") or ""]
    for path in filter(None, candidates):
        try:
            # NVRTC opens this one by its bare name: found when it is loaded already.
            for builtins in glob.glob(f"{private}/libnvrtc-builtins.so.*") if path.startswith(private) else []:
                ctypes.CDLL(builtins)
            return ctypes.CDLL(path)
        except OSError as error:
            print(f"{path}: {error}")
    print("skipped: no NVRTC (scripts/nvcc-env installs it privately)")
    sys.exit(77)


def compile_source(nvrtc, path, options):
    """The compiler's messages; None where it accepts the source and has nothing to say."""
    with open(path, "rb") as file:
        text = file.read()
    array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, path.encode(), 0, None, None)
    if status == 0:
        status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    log = ctypes.create_string_buffer(1)
    size = ctypes.c_size_t()
    if program and nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)) == 0 and size.value > 1:
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    # A warning in a header would be every user's warning.
    if status == 0 and not log.value:
        return None
    return f"{nvrtc.nvrtcGetErrorString(status).decode()}\n{log.value.decode()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--list", help="file that names more sources, one on a line")
    parser.add_argument("--cache", required=True, help="cache folder of scripts/nvcc-env")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("-I", dest="include", action="append", default=[])
    arguments = parser.parse_args()

    sources = arguments.sources
    if arguments.list:
        with open(arguments.list, encoding="utf-8") as names:
            sources += names.read().split()
    nvrtc = load_nvrtc(arguments.cache)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    # As far as the linker's input: what a compiler optimises is checked elsewhere.
    options = [f"--gpu-architecture={arguments.arch}", "--std=c++17", "-dlto"] + [f"-I{path}" for path in arguments.include]
    failed = 0
    for source in sources:
        messages = compile_source(nvrtc, source, options)
        if messages:
            failed += 1
            print(f"FAILED: {source}", *messages.splitlines()[:20], sep="\n")
    print(f"{len(sources)} sources, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
