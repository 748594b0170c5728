# SPDX-License-Identifier: MIT
"""GPU-initiated I/O: NVMe drives, their queues and buffers, and launches of kernels that use them.

    with xio.Drive("qemu") as drive, drive.buffer(64 * drive.block_bytes) as buffer:
        drive.read(0, buffer)
        blocks = buffer.numpy().reshape(64, -1)
"""
from ._drive import Buffer, Drive, Gpu, Namespace, Queue, check
from ._kernel import Kernel, Work, bitcode
from ._library import Error, status_name, status_text
from ._set import DriveQueue, DriveSet

__all__ = ["Buffer", "Drive", "DriveQueue", "DriveSet", "Error", "Gpu", "Kernel", "Namespace", "Queue", "Work",
           "bitcode", "check", "status_name", "status_text"]
__version__ = "0.2.0"
