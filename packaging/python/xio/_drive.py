# SPDX-License-Identifier: MIT
"""Drives, queues and buffers."""
import ctypes
import typing

from ._library import DriveInfo, Error, Native, Owner, call, status_name, status_text

if typing.TYPE_CHECKING:
    import numpy


def milliseconds(seconds: float) -> int:
    """A time limit as the library takes it."""
    if seconds < 0:
        raise ValueError(f"a time limit of {seconds} s")
    return min(int(seconds * 1000), 1000000000)


class Gpu(Owner):
    """One GPU: number `device` of HIP, or of CUDA."""

    def __init__(self, device: int = 0):
        super().__init__(Native("gpu", "gpu_open", device))

    @property
    def target(self) -> str:
        """What code must be compiled for: "gfx942", "sm_90"."""
        return call("gpu_target", self._place()).decode()

    @property
    def wave_size(self) -> int:
        """Lanes of a wave."""
        return call("gpu_wave_size", self._place())


class Namespace(typing.NamedTuple):
    """What Drive.describe() tells."""

    blocks: int  #: capacity in logical blocks
    block_bytes: int  #: size of a logical block
    nsid: int  #: its number
    max_transfer_bytes: int  #: data of one command; longer operations are split. 0: no limit


class Buffer(Owner):
    """Zeroed memory of the host that the drive, the CPU and the GPU access, from Drive.buffer() or Drive.map().

    NumPy and DLPack see it as bytes. Arrays and views of it stay valid: the memory is freed when the buffer is closed
    and the last of them is gone.
    """

    def __init__(self, native: Native):
        super().__init__(native)
        size = call("buffer_bytes", native.place)
        whole = type("Memory", (ctypes.c_ubyte * size,), {}).from_address(call("buffer_data", native.place))
        whole.native = native
        self._memory = memoryview(whole).cast("B")

    def close(self) -> None:
        super().close()
        self._memory = None

    @property
    def memory(self) -> memoryview:
        """The bytes, which may be written to."""
        self._place()
        return self._memory

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.memory.nbytes

    @property
    def address(self) -> int:
        """The address for kernels."""
        return call("buffer_address", self._place())

    @property
    def bus(self) -> int:
        """The address for the drive: `bus` of the calls in kernels."""
        return call("buffer_bus", self._place())

    @property
    def region(self) -> int:
        """Of a buffer of a DriveSet: the address of its nvme::DriveRegion, for kernels; else 0."""
        return call("buffer_region", self._place())

    def bus_of(self, drive: int) -> int:
        """Of a buffer of a DriveSet: the address for one of its drives, for calls on DriveSet.queue() of that drive."""
        bus = call("buffer_bus_of", self._place(), drive)
        if bus == 0:
            raise IndexError(f"no buffer of a set that has a drive {drive}")
        return bus

    def data_ptr(self) -> int:
        """`address`, by the name that tensors have for it."""
        return self.address

    def numpy(self, dtype: typing.Any = "uint8") -> "numpy.ndarray":
        """The buffer as an array, without a copy. Needs NumPy."""
        import numpy  # pylint: disable=import-outside-toplevel

        return numpy.frombuffer(self.memory, dtype=dtype)

    def __len__(self) -> int:
        return self.nbytes

    def __buffer__(self, flags: int) -> memoryview:
        return self.memory

    def __array__(self, dtype: typing.Any = None, copy: typing.Optional[bool] = None) -> "numpy.ndarray":
        array = self.numpy()
        if dtype is None or array.dtype == dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError("another dtype needs a copy: numpy(dtype) looks at the bytes as they are")
        return array.astype(dtype)

    def __dlpack__(self, **arguments: typing.Any) -> typing.Any:
        return self.numpy().__dlpack__(**arguments)

    def __dlpack_device__(self) -> typing.Tuple[int, int]:
        return (1, 0)  # kDLCPU


def move(name: str, by: Owner, lba: int, buffer: Buffer, blocks: typing.Optional[int], offset: int,
         timeout: float) -> None:
    """Reads or writes by the CPU, by a queue or a set."""
    if blocks is None:
        room = buffer.nbytes - offset
        blocks, rest = divmod(room, by.block_bytes)
        if rest != 0 or blocks < 0:
            raise ValueError(f"{room} bytes are no whole blocks of {by.block_bytes}: pass blocks=")
    call(name, by._place(), lba, blocks, buffer._place(), offset, milliseconds(timeout))


class Queue(Owner):
    """A pair of queues, from Drive.queue(). Kernels take it as an argument; the CPU reads and writes by one that is for
    the CPU. One thread at a time may use it."""

    def __init__(self, native: Native, block_bytes: int, nsid: int):
        super().__init__(native)
        self.block_bytes = block_bytes
        self.nsid = nsid

    @property
    def address(self) -> int:
        """The argument `queue` of the calls in kernels."""
        return call("queue_address", self._place())

    def read(self, lba: int, buffer: Buffer, blocks: typing.Optional[int] = None, offset: int = 0,
             timeout: float = 30.0) -> None:
        """Reads `blocks` blocks from `lba` to byte `offset` of the buffer, by the CPU, and waits for them.

        Without `blocks`, as many as the buffer has room for. Error: "timed_out" after `timeout` seconds, and then the
        queue can only be closed; or the name of a status, where some blocks may have been moved.
        """
        move("queue_read", self, lba, buffer, blocks, offset, timeout)

    def write(self, lba: int, buffer: Buffer, blocks: typing.Optional[int] = None, offset: int = 0,
              timeout: float = 30.0) -> None:
        """Writes blocks as read() reads them. Refused where nothing must be written: Drive.why_read_only()."""
        move("queue_write", self, lba, buffer, blocks, offset, timeout)

    def flush(self, timeout: float = 30.0) -> None:
        """Makes what was written durable (NVMe Flush)."""
        call("queue_flush", self._place(), milliseconds(timeout))


class Drive(Owner):
    """An NVMe controller.

    `spec` is what `xio-tester --controller` accepts: "emulated", "qemu:image=disk.img", "vfio:0000:04:00.0",
    "/dev/nvme0". `gpu` is the one whose kernels use the queues. Queues and buffers keep what they need of a drive that
    is closed.
    """

    def __init__(self, spec: str, gpu: typing.Optional[Gpu] = None, *, _native: typing.Optional[Native] = None):
        super().__init__(_native or Native("drive", "drive_open", spec.encode(), gpu and gpu._place()))
        self.spec = spec
        self.gpu = gpu
        self._own = {}

    def close(self) -> None:
        for queue in self._own.values():
            queue.close()
        self._own = {}
        super().close()

    def describe(self, nsid: int = 0) -> Namespace:
        """Capacity and block size of a namespace. `nsid` 0: the one that the spec names, else 1."""
        info = DriveInfo()
        call("drive_describe", self._place(), nsid, ctypes.byref(info))
        return Namespace(info.blocks, info.block_bytes, info.nsid, info.max_transfer_bytes)

    @property
    def blocks(self) -> int:
        """Capacity in logical blocks."""
        return self.describe().blocks

    @property
    def block_bytes(self) -> int:
        """Size of a logical block."""
        return self.describe().block_bytes

    def why_read_only(self, nsid: int = 0) -> str:
        """Why the namespace must not be written to; empty: it may be. Ask before kernels write."""
        return self._reason("drive_may_write", nsid)

    def loss(self) -> str:
        """What became of a controller that is gone; empty: it is there."""
        return self._reason("drive_alive")

    def _reason(self, name, *arguments):
        place = self._place()
        try:
            call(name, place, *arguments)
        except Error as error:
            return str(error)
        return ""

    def queue(self, depth: int = 0, nsid: int = 0, cpu: bool = False) -> Queue:
        """Creates a queue for the kernels of the drive's GPU. For the CPU if `cpu`, or if the drive has no GPU.

        `depth`: commands in flight at most; 0: 64.
        """
        space = self.describe(nsid)
        create = "queue_create_for_cpu" if cpu else "queue_create"
        return Queue(Native("queue", create, self._place(), depth, nsid), space.block_bytes, space.nsid)

    def buffer(self, nbytes: int) -> Buffer:
        """Allocates a buffer, which begins at a page."""
        if nbytes <= 0:
            raise ValueError(f"a buffer of {nbytes} bytes")
        return Buffer(Native("buffer", "buffer_create", self._place(), nbytes))

    def map(self, memory: typing.Any, nbytes: typing.Optional[int] = None) -> Buffer:
        """Makes memory of the program accessible, where the drive's transport can (QEMU's cannot).

        `memory` is an object that may be written to, such as an array or an mmap, which the buffer keeps; or an
        address and `nbytes`, for example data_ptr() of a tensor, which must outlive the buffer and all views of it.
        Both are multiples of a page.
        """
        if nbytes is None:
            view = memoryview(memory).cast("B")
            kept = (ctypes.c_ubyte * view.nbytes).from_buffer(view)
            place, nbytes = ctypes.addressof(kept), view.nbytes
        else:
            kept, place = None, memory
        return Buffer(Native("buffer", "buffer_map", self._place(), place, nbytes, needs=kept))

    def _by_cpu(self, nsid, do):
        self._place()
        if nsid not in self._own:
            self._own[nsid] = self.queue(nsid=nsid, cpu=True)
        try:
            return do(self._own[nsid])
        except Error as error:
            if error.code in ("timed_out", "broken"):
                self._own.pop(nsid).close()
            raise

    def read(self, lba: int, buffer: Buffer, blocks: typing.Optional[int] = None, offset: int = 0, nsid: int = 0,
             timeout: float = 30.0) -> None:
        """Queue.read() by a queue of the drive's own."""
        self._by_cpu(nsid, lambda queue: queue.read(lba, buffer, blocks, offset, timeout))

    def write(self, lba: int, buffer: Buffer, blocks: typing.Optional[int] = None, offset: int = 0, nsid: int = 0,
              timeout: float = 30.0) -> None:
        """Queue.write() by a queue of the drive's own."""
        self._by_cpu(nsid, lambda queue: queue.write(lba, buffer, blocks, offset, timeout))

    def flush(self, nsid: int = 0, timeout: float = 30.0) -> None:
        """Queue.flush() by a queue of the drive's own."""
        self._by_cpu(nsid, lambda queue: queue.flush(timeout))


def open_drives(specs: typing.Sequence[str], gpu: typing.Optional[Gpu]) -> typing.Tuple[Drive, ...]:
    """Opens the drives of a set, all or none. QEMU's get one memory."""
    texts = (ctypes.c_char_p * len(specs))(*(spec.encode() for spec in specs))
    places = (ctypes.c_void_p * len(specs))()
    call("drives_open", texts, len(specs), gpu and gpu._place(), places)
    return tuple(Drive(spec, gpu, _native=Native.kept("drive", place)) for spec, place in zip(specs, places))


def check(statuses: typing.Iterable[int]) -> None:
    """Raises Error for the first status that is not 0, of those that a kernel has stored."""
    every = [int(status) & 0xFFFFFFFF for status in statuses]
    failed = [i for i, status in enumerate(every) if status != 0]
    if failed:
        first = every[failed[0]]
        raise Error(f"{len(failed)} of {len(every)} operations have failed, number {failed[0]} first: "
                    f"{status_text(first)}", status_name(first), first)
