# SPDX-License-Identifier: MIT
"""Reads and writes from kernels of Triton, linked with the library's bitcode.

Triton calls an external function once for each thread, whatever the layout, so that a call for one block would become
as many commands as the program has threads. These calls are right for every number of warps and elements: one batch
for the whole program.

    @triton.jit
    def gather(queue, table, data, bus, pieces, told, bad, N: tl.constexpr):
        i = tl.arange(0, N)
        xt.store_piece(pieces, i, tl.load(table + i), bus + i.to(tl.int64) * 4096, 1)
        until = xt.deadline(queue, 1000000000)
        status = xt.batch_once(queue, xt.READ, pieces, N, told, until)
        status |= xt.wait_count(queue, told, N, until)
        tl.store(bad, status)

    triton.compile(..., options={"extern_libs": xio.triton.extern_libs("gfx942")})

Arguments are scalars, one value for the program, and pointers or integers; a tensor is refused when the kernel is
compiled. Statuses may differ between warps: store them, as above, and do not branch on them.
"""
import triton
import triton.language as tl
from triton.language import core

from ._kernel import bitcode

READ = tl.constexpr(2)
WRITE = tl.constexpr(1)

_i64, _i32 = core.dtype("int64"), core.dtype("int32")


def extern_libs(target: str) -> dict:
    """The option `extern_libs` for a GPU, "gfx942" or "sm_90"."""
    return {"xio": str(bitcode(target if target.startswith("gfx") else "sm_70"))}


def _call(name, arguments, result, semantic):
    """Calls an external function; `arguments`: what it is for, the value, its type."""
    values = []
    for what, value, kind in arguments:
        value = semantic.to_tensor(value)
        if value.type.is_block():
            raise ValueError(f"{what}: one value for the program, not a tensor of shape {value.shape}")
        values.append(semantic.cast(value, kind))
    types = tuple(kind for _, _, kind in arguments)
    return core.extern_elementwise("xio", "", values, {types: (name, result)}, is_pure=False, _semantic=semantic)


@core.extern
def deadline(queue, nanoseconds, _semantic=None):
    """The deadline `nanoseconds` from now, for the other calls. At most 18 years."""
    return _call("xio_nvme_deadline", [("queue", queue, _i64), ("nanoseconds", nanoseconds, _i64)], _i64, _semantic)


@core.extern
def _batch_once(queue, opcode, pieces, count, told, until, _semantic=None):
    return _call("xio_nvme_batch_once_grid",
                 [("queue", queue, _i64), ("opcode", opcode, _i32), ("pieces", pieces, _i64), ("count", count, _i32),
                  ("told", told, _i64), ("until", until, _i64)], _i32, _semantic)


@triton.jit
def batch_once(queue, opcode, pieces, count, told, until):
    """Submits `count` pieces, more than the queue holds too: READ or WRITE. Begins with a barrier.

    `pieces` points to 24 bytes for each, of store_piece(); `told` to 16 zeroed bytes, of this program alone, which
    count the pieces that end. Returns why it stopped, with some pieces submitted, perhaps; 0 if it has not.
    """
    tl.debug_barrier()
    return _batch_once(queue, opcode, pieces, count, told, until)


@core.extern
def wait_count(queue, told, count, until, _semantic=None):
    """Waits until `count` pieces have ended since `told` was zeroed; all threads see their data then. Returns the
    status of one of the first that failed, or that the time is over; 0: none has."""
    return _call("xio_nvme_wait_count_grid",
                 [("queue", queue, _i64), ("told", told, _i64), ("count", count, _i64), ("until", until, _i64)], _i32,
                 _semantic)


@triton.jit
def store_piece(pieces, i, lba, bus, blocks):
    """Stores piece `i`: `blocks` blocks from `lba`, to or from bus address `bus`. `i` and the others may be tensors of
    one shape; `pieces` points to int64."""
    zero = tl.zeros_like(i).to(tl.int64)
    tl.store(pieces + i * 3, zero + lba)
    tl.store(pieces + i * 3 + 1, zero + bus)
    tl.store(pieces + i * 3 + 2, zero + blocks)
