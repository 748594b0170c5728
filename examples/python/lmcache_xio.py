# SPDX-License-Identifier: MIT
"""A storage backend of LMCache (0.5.6): its slab is a drive, read and written by kernels on LMCache's own streams.

Copied into lmcache/v1/gpu_connector/gds_backends as xio_nvme.py, it is the backend xio_nvme, whose location is what
xio.Drive accepts: "vfio:0000:04:00.0", "/dev/nvme0n1". XIO_SLAB_KERNELS names the code object of slab.hip.

Data goes through staging memory of the host, one for each stream, which every transport and every tensor can use.
"""
import ctypes
import os
import pathlib

import xio
from lmcache.v1.gpu_connector.gds_backends.base import GDSBackend, GDSHandle, Submission

_STAGING = 4 << 20  # bytes for each stream
_RESULTS = 4096  # operations in flight
_TYPES = [ctypes.c_uint64, ctypes.c_uint32] + [ctypes.c_uint64] * 7


class Backend(GDSBackend):
    """Drives by xio."""

    name = "xio_nvme"

    def __init__(self):
        self.gpu = None
        self.sizes = {}  # of registered buffers, by address

    def open_slab(self, location, size, direct_io):
        if self.gpu is None:
            self.gpu = xio.Gpu()
        return Handle(self, location, size)

    def register_buffer(self, buf):
        self.sizes[buf.data_ptr()] = buf.nbytes

    def deregister_buffer(self, buf):
        del self.sizes[buf.data_ptr()]

    def register_stream(self, raw_stream):
        """Staging memory is made at the stream's first use."""

    def deregister_stream(self, raw_stream):
        """Staging memory stays until the slab is closed."""


class Handle(GDSHandle):
    """A slab: the first bytes of a drive."""

    def __init__(self, backend, location, size):
        super().__init__(location)
        self._sizes = backend.sizes
        self._drive = xio.Drive(location, backend.gpu)
        block = self._drive.block_bytes
        if size > self._drive.blocks * block or _STAGING % block != 0:
            raise ValueError(f"{location} has {self._drive.blocks} blocks of {block} bytes: no slab of {size} bytes")
        self._size, self._block, self._lanes = size, block, backend.gpu.wave_size
        self._queue = self._drive.queue(depth=256)
        image = pathlib.Path(os.environ["XIO_SLAB_KERNELS"]).read_bytes()
        self._kernel = xio.Kernel(image, "slab_io", _TYPES, backend.gpu)
        self._results, self._next = self._drive.buffer(_RESULTS * 8), 0
        self._staging = {}

    def _enqueue(self, write, buf_base, size, file_offset, buf_offset, stream):
        if size % self._block or file_offset % self._block:
            raise ValueError(f"sizes and offsets in a slab are multiples of {self._block} bytes")
        if file_offset + size > self._size or buf_offset + size > self._sizes[buf_base] or buf_offset % 8:
            raise ValueError("not inside the slab and the buffer, or at no multiple of 8 bytes")
        if write and self._drive.why_read_only():
            raise PermissionError(self._drive.why_read_only())
        if stream not in self._staging:
            self._staging[stream] = self._drive.buffer(_STAGING)
        staging = self._staging[stream]
        done = Submission(size, file_offset, buf_offset)
        slot = self._next % _RESULTS
        self._next += 1
        done.result = ctypes.c_int64.from_buffer(self._results.memory, slot * 8)
        done.result.value = 0
        self._kernel.enqueue(stream, 1, self._lanes, self._queue, int(write), file_offset // self._block, size,
                             buf_base + buf_offset, staging, staging.bus, _STAGING, self._results.address + slot * 8)
        return done

    def read_async(self, buf_base, size, file_offset, buf_offset, raw_stream):
        return self._enqueue(False, buf_base, size, file_offset, buf_offset, raw_stream)

    def write_async(self, buf_base, size, file_offset, buf_offset, raw_stream):
        return self._enqueue(True, buf_base, size, file_offset, buf_offset, raw_stream)

    def close(self):
        for one in (self._kernel, self._queue, self._results, *self._staging.values(), self._drive):
            one.close()
        self._staging = {}
