# SPDX-License-Identifier: MIT
"""Several drives as one address space."""
import ctypes
import typing

from ._drive import Buffer, Gpu, milliseconds, move, open_drives
from ._library import Native, Owner, call


class DriveQueue(Owner):
    """A queue of one drive of a set, from DriveSet.queue(), which it keeps. Kernels take it as they take a Queue."""

    def __init__(self, native: Native, drive: int, number: int):
        super().__init__(native)
        self._which = (drive, number)
        if self.address == 0:
            raise IndexError(f"the set has no queue {number} of a drive {drive}")

    @property
    def address(self) -> int:
        """The argument `queue` of the calls in kernels."""
        return call("drive_set_queue", self._place(), *self._which)


class DriveSet(Owner):
    """Several drives, whose blocks are one address space in stripes: stripe n lies on drive n modulo their number.

    `specs` are those of Drive. `stripe_blocks` is a power of two; `depth` are the commands in flight at most of each
    queue, 0: 64; waves with different numbers use different ones of `queues_per_drive`. Kernels in C++ take the set as
    an address, of an nvme::DriveSetHandle, and `region` of a buffer, of an nvme::DriveRegion. Others take queue() of each
    drive, and bus_of() of a buffer.
    """

    def __init__(self, specs: typing.Sequence[str], gpu: typing.Optional[Gpu] = None, stripe_blocks: int = 8,
                 depth: int = 0, queues_per_drive: int = 1):
        if isinstance(specs, str):
            raise TypeError("a list of specs, one for each drive")
        self.drives = open_drives(specs, gpu)  #: to ask how they are
        places = (ctypes.c_void_p * len(self.drives))(*(drive._place() for drive in self.drives))
        super().__init__(Native("drive_set", "drive_set_create", places, len(self.drives), depth, queues_per_drive,
                                stripe_blocks))

    def close(self) -> None:
        for drive in self.drives:
            drive.close()
        super().close()

    @property
    def blocks(self) -> int:
        """Capacity in logical blocks, in whole stripes."""
        return call("drive_set_blocks", self._place())

    @property
    def block_bytes(self) -> int:
        """Size of a logical block."""
        return call("drive_set_block_bytes", self._place())

    @property
    def address(self) -> int:
        """The address for kernels."""
        return call("drive_set_address", self._place())

    def queue(self, drive: int, number: int = 0) -> DriveQueue:
        """One drive's queue `number`, below `queues_per_drive`, for kernels whose blocks are that drive's own."""
        self._place()
        return DriveQueue(self._native, drive, number)

    def buffer(self, nbytes: int) -> Buffer:
        """Allocates a buffer that all drives access; `bus` is the first one's."""
        if nbytes <= 0:
            raise ValueError(f"a buffer of {nbytes} bytes")
        return Buffer(Native("buffer", "drive_set_buffer", self._place(), nbytes))

    def read(self, block: int, buffer: Buffer, blocks: typing.Optional[int] = None, offset: int = 0,
             timeout: float = 30.0) -> None:
        """Queue.read() from the set's address space, one drive behind the other; `timeout` is that of each."""
        move("drive_set_read", self, block, buffer, blocks, offset, timeout)

    def write(self, block: int, buffer: Buffer, blocks: typing.Optional[int] = None, offset: int = 0,
              timeout: float = 30.0) -> None:
        """Writes as read() reads. Refused if one of the drives must not be written to."""
        move("drive_set_write", self, block, buffer, blocks, offset, timeout)

    def flush(self, timeout: float = 30.0) -> None:
        """Makes what was written durable, on every drive."""
        call("drive_set_flush", self._place(), milliseconds(timeout))
