#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lmcache_slab.py EXAMPLES [LMCACHE]: the backend of examples/python/lmcache_xio.py moves a tensor's bytes on streams
of a played GPU, against QEMU's controller and the emulated one.

An empty module takes the place of torch. LMCACHE is a folder with LMCache's package, whose base classes are used;
without it, classes of the same names."""
import abc
import contextlib
import ctypes
import importlib.util
import pathlib
import random
import sys
import types

BYTES = 6 << 20  # more than staging memory


class Submission:
    def __init__(self, size, file_offset, buf_offset):
        self.size, self.file_offset, self.buf_offset, self.result = size, file_offset, buf_offset, None

    @property
    def bytes_done(self):
        return self.result.value


def stand_in(folder):
    """Puts the packages in place that the backend imports."""
    sys.modules["torch"] = types.ModuleType("torch")
    sys.modules["torch"].Tensor = object
    names = ["lmcache", "lmcache.v1", "lmcache.v1.gpu_connector", "lmcache.v1.gpu_connector.gds_backends"]
    for name in names:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(pathlib.Path(folder, *name.split(".")))] if folder else []
    if not folder:
        base = sys.modules[names[-1] + ".base"] = types.ModuleType("base")
        base.GDSBackend = type("GDSBackend", (abc.ABC,), {})
        base.GDSHandle = type("GDSHandle", (abc.ABC,), {"__init__": lambda self, path: setattr(self, "path", path)})
        base.Submission = Submission


class Hip:
    """Memory and streams of the GPU, as torch has them."""

    def __init__(self):
        self.library = ctypes.CDLL("libamdhip64.so.5")

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        assert code == 0, f"{name}: {code}"

    def made(self, name, *arguments):
        place = ctypes.c_void_p()
        self.call(name, ctypes.byref(place), *arguments)
        return place.value


class Tensor:
    def __init__(self, hip, nbytes):
        self.place, self.nbytes = hip.made("hipMalloc", ctypes.c_size_t(nbytes)), nbytes
        self.memory = (ctypes.c_ubyte * nbytes).from_address(self.place)  # a played GPU's is here

    def data_ptr(self):
        return self.place


def refused(kind, words, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        assert words in str(error), error
    else:
        sys.exit(f"not refused: {words}")


def run(hip, backend, location, data):
    """Writes a tensor in pieces, reads them in another order, ordered by the stream alone; then all at once."""
    tensor, streams = Tensor(hip, 2 * BYTES), [hip.made("hipStreamCreate") for _ in range(2)]
    backend.register_buffer(tensor)
    for stream in streams:
        backend.register_stream(stream)
    with contextlib.closing(backend.open_slab(location, 2 * BYTES, True)) as slab:
        ctypes.memmove(tensor.place, data, BYTES)
        piece, stream, base = BYTES // 6, streams[0], tensor.data_ptr()
        done = [slab.write_async(base, piece, i * piece, i * piece, stream) for i in range(6)]
        done += [slab.read_async(base, piece, i * piece, BYTES + (5 - i) * piece, stream) for i in range(6)]
        done.append(slab.write_async(base, piece, BYTES, 0, streams[1]))
        for one in streams:
            hip.call("hipStreamSynchronize", ctypes.c_void_p(one))
        assert {one.bytes_done for one in done} == {piece}, [one.bytes_done for one in done]
        for i in range(6):
            at = BYTES + (5 - i) * piece
            assert bytes(tensor.memory[at:at + piece]) == data[i * piece:(i + 1) * piece], f"piece {i}"
        done = slab.read_async(base, BYTES, 0, BYTES, stream)
        hip.call("hipStreamSynchronize", ctypes.c_void_p(stream))
        assert done.bytes_done == BYTES and bytes(tensor.memory[BYTES:]) == data, "all at once"
        refused(ValueError, "multiples of 512", slab.read_async, base, 100, 0, 0, stream)
        refused(ValueError, "not inside", slab.read_async, base, BYTES, 0, BYTES + 512, stream)
    slab.close()
    refused(ValueError, "no slab", backend.open_slab, location, 1 << 50, True)
    backend.deregister_buffer(tensor)


def main():
    examples, *folder = sys.argv[1:]
    stand_in(*folder or [None])
    spec = importlib.util.spec_from_file_location("lmcache_xio", pathlib.Path(examples) / "lmcache_xio.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hip, data = Hip(), random.Random(5).randbytes(BYTES)
    for location in ("emulated:size=16M", "qemu:size=16M"):
        run(hip, module.Backend(), location, data)
        print(f"{location}: {BYTES} bytes there and back: ok", flush=True)
    backend, tensor = module.Backend(), Tensor(hip, 4096)
    backend.register_buffer(tensor)
    with contextlib.closing(backend.open_slab("emulated:size=8M,fail=read-281", 4096, True)) as slab:
        done = slab.read_async(tensor.data_ptr(), 4096, 0, 0, 0)
        hip.call("hipStreamSynchronize", ctypes.c_void_p(0))
        assert module.xio.status_name(-done.bytes_done) == "read_error", done.bytes_done


if __name__ == "__main__":
    main()
