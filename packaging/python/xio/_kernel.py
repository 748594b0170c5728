# SPDX-License-Identifier: MIT
"""Kernels, and their launch."""
import ctypes
import operator
import pathlib
import time
import typing

from ._drive import Buffer, Gpu, Queue
from ._library import Error, Native, Owner, call
from ._set import DriveQueue, DriveSet

_SLICE = 0.1  # seconds between two looks for Ctrl-C


def bitcode(target: str) -> pathlib.Path:
    """The library's bitcode for a GPU, "gfx942" or "sm_70", with which compilers link kernels: see docs/bitcode.md."""
    folder = pathlib.Path(__file__).parent / "lib"
    path = folder / f"libxio_device-{target}.bc"
    if not path.exists():
        known = sorted(one.name[len("libxio_device-"):-len(".bc")] for one in folder.glob("*.bc"))
        raise Error(f"this wheel has no bitcode for {target}, but for: {', '.join(known) or 'none'}", "unavailable")
    return path


def _as_argument(value, kind):
    """A ctypes value for an argument, of type `kind` if that is given."""
    if isinstance(value, (Queue, DriveQueue, DriveSet, Buffer)):
        value = value.address
    elif value is None:
        value = 0
    if kind is not None:
        if isinstance(value, kind):
            return value
        if not hasattr(value, "__index__"):
            return kind(value)
        whole = operator.index(value)
        if (kind(whole).value or 0) != whole:
            raise OverflowError(f"{whole} is no {kind.__name__}")
        return kind(whole)
    if isinstance(value, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array, ctypes.Union)):
        return value
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise OverflowError(f"{value} has more than 64 bits")
        return ctypes.c_uint64(value) if value >= 0 else ctypes.c_int64(value)
    if hasattr(value, "dtype") and hasattr(value, "tobytes") and getattr(value, "ndim", 1) == 0:
        return (ctypes.c_ubyte * value.nbytes).from_buffer_copy(value.tobytes())
    raise TypeError(f"{value!r} has no certain size: pass ctypes.c_float, numpy.float32, ..., or the kernel's `types`")


class Work(Owner):
    """A kernel that was launched. Keeps the buffers, queues and sets that it was given until it has ended, and no buffer of
    which it was given `bus` alone. Whoever drops it waits for the kernel."""

    def wait(self, timeout: typing.Optional[float] = None) -> None:
        """Waits for the end, at most `timeout` seconds: Error "timed_out". May be repeated."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _SLICE if end is None else max(0.0, min(_SLICE, end - time.monotonic()))
            try:
                call("work_wait", self._place(), int(left * 1000))
                return
            except Error as error:
                if error.code != "timed_out":
                    raise
                if end is not None and time.monotonic() >= end:
                    raise Error(f"the kernel is still running after {timeout} s", "timed_out", error.status) from None


class Kernel(Owner):
    """A kernel of an image: a code object, a fat binary or PTX, as bytes or text.

    `types` are the ctypes types of its arguments, with which each launch is checked: c_uint64 for addresses. Without
    them a launch must pass what the kernel takes, or the GPU's runtime reads beyond it.
    """

    def __init__(self, image: typing.Union[bytes, str], name: str, types: typing.Optional[typing.Sequence[type]] = None,
                 gpu: typing.Optional[Gpu] = None):
        data = (image.encode() if isinstance(image, str) else bytes(image)) + b"\0"
        used = Gpu() if gpu is None else gpu
        super().__init__(Native("module", "module_load", used._place(), data, len(data)))
        self.name = name
        self.types = None if types is None else tuple(types)

    def launch(self, blocks: int, threads: int, *arguments: typing.Any, lds: int = 0) -> Work:
        """Launches `blocks` blocks of `threads` threads, with `lds` bytes of dynamic LDS or shared memory each.

        Arguments: a Queue, DriveQueue, DriveSet or Buffer (their addresses), an int (any integer type, or an address),
        None, and values of ctypes and NumPy. Waves may wait for each other only if all blocks run at once, which is not checked.
        """
        table, _ = self._table(arguments)
        needs = [one._native for one in arguments if isinstance(one, Owner)]
        return Work(Native("work", "kernel_launch", self._place(), self.name.encode(), blocks, threads, lds, table,
                           needs=needs))

    def enqueue(self, stream: int, blocks: int, threads: int, *arguments: typing.Any, lds: int = 0) -> None:
        """launch() on a stream of the program's own, behind the work that it has: a hipStream_t or cudaStream_t.

        The stream tells of the end. Until then the caller keeps the kernel and all that it uses.
        """
        table, _ = self._table(arguments)
        call("kernel_enqueue", self._place(), self.name.encode(), blocks, threads, lds, table, stream)

    def _table(self, arguments):
        """The addresses of arguments, and what they are the addresses of."""
        if self.types is not None and len(self.types) != len(arguments):
            raise TypeError(f"{self.name} takes {len(self.types)} arguments, not {len(arguments)}")
        types = self.types or (None,) * len(arguments)
        values = [_as_argument(value, kind) for value, kind in zip(arguments, types)]
        return (ctypes.c_void_p * (len(values) + 1))(*map(ctypes.addressof, values), None), values

    def __call__(self, blocks: int, threads: int, *arguments: typing.Any, lds: int = 0,
                 timeout: typing.Optional[float] = None) -> None:
        """launch() and wait() for the end."""
        self.launch(blocks, threads, *arguments, lds=lds).wait(timeout)
