#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""package.py: tests of the installed package xio, with NumPy, in a folder that may be written to.

XIO_PROJECT is the checkout, whose pages and headers are compared; XIO_KERNELS the image of tests/abi/host.hip, which a
played GPU executes, or empty."""
import ctypes
import gc
import mmap
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest
import unittest.mock
import weakref

import numpy

import xio
from xio import _library

PROJECT = pathlib.Path(os.environ["XIO_PROJECT"])
KERNELS = os.environ["XIO_KERNELS"]


class Page(unittest.TestCase):
    """The page's own lines."""

    def setUp(self):
        page = (PROJECT / "docs" / "python.md").read_text(encoding="utf-8")
        self.snippets = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.image = random.Random(1).randbytes(1 << 20)
        pathlib.Path("disk.img").write_bytes(self.image)

    def test_blocks_of_qemu_in_an_array(self):
        readme = (PROJECT / "README.md").read_text(encoding="utf-8")
        for lines in (self.snippets[0], re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1)):
            names = {}
            exec(lines, names)
            self.assertEqual(names["blocks"].shape, (64, 512))
            self.assertEqual(names["blocks"].tobytes(), self.image[:64 * 512])
            names.clear()  # QEMU's image is in use as long as an array of it is

    @unittest.skipUnless(KERNELS, "no kernels: no clang-19")
    def test_a_kernel(self):
        os.path.lexists("kernels.co") or os.symlink(KERNELS, "kernels.co")
        exec(self.snippets[1], {})


class Calls(unittest.TestCase):
    """The table of calls is the header's."""

    def test_table(self):
        header = (PROJECT / "include" / "xio" / "host" / "c" / "xio_host.h").read_text(encoding="utf-8")
        self.assertIn(f"#define XIO_HOST_VERSION {_library._VERSION}\n", header)
        kinds = {"int": ctypes.c_int, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
                 "size_t": ctypes.c_size_t, "const char*": ctypes.c_char_p, "void": None, "void*": ctypes.c_void_p}
        found = {}
        for result, name, arguments in re.findall(r"^XIO_HOST_CALL ([\w ]+?\*?) xio_(\w+)\(([^)]*)\);", header, re.M):
            kind = [" ".join(one.split()[:-1]) for one in arguments.split(",")] if arguments != "void" else []
            found[name] = (kinds[result], [kinds.get(one) or self.pointer(one) for one in kind])
        names = {name: (result, [kind if kind in kinds.values() else ctypes.c_void_p for kind in kinds_])
                 for name, (result, kinds_) in _library.CALLS.items()}
        names["module_load"][1][1] = ctypes.c_void_p  # bytes of Python for `const void*`
        self.assertEqual(found, names)

    def pointer(self, kind):
        self.assertRegex(kind, r"\*$")
        return ctypes.c_void_p

    def test_version(self):
        text = (PROJECT / "include" / "xio" / "version.hpp").read_text(encoding="utf-8")
        numbers = re.findall(r"#define XIO_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)", text)
        self.assertEqual(xio.__version__, ".".join(numbers))
        self.assertIn(f'\nversion = "{xio.__version__}"\n',
                      (PROJECT / "packaging" / "python" / "pyproject.toml").read_text(encoding="utf-8"))


class Emulated(unittest.TestCase):
    """Drives, queues and buffers, by the controller in this process."""

    def raises(self, code, words, call, *arguments, **named):
        with self.assertRaisesRegex(xio.Error, words) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_write_and_read(self):
        with xio.Drive("emulated:size=8M,lba=4096") as drive:
            out, back = drive.buffer(1 << 20), drive.buffer(1 << 20)
            self.assertEqual(drive.describe(), (2048, 4096, 1, drive.describe().max_transfer_bytes))
            self.assertEqual((drive.blocks, drive.block_bytes), (2048, 4096))
            self.assertEqual((drive.why_read_only(), drive.loss()), ("", ""))
            out.numpy("uint32")[:] = numpy.arange(1 << 18)
            drive.write(100, out)
            drive.flush()
            drive.read(100, back)
            self.assertEqual(bytes(back.memory), bytes(out.memory))
            with drive.queue(depth=2) as queue:
                queue.read(103, back, blocks=2, offset=8192)
                self.assertEqual(bytes(back.memory[8192:16384]), bytes(out.memory[3 * 4096:5 * 4096]))
                self.raises("error", "do not fit into a buffer", queue.read, 0, back, blocks=2, offset=(1 << 20) - 4096)
                self.assertRaisesRegex(ValueError, "no whole blocks", queue.read, 0, back, offset=4)
                self.assertRaisesRegex(ValueError, "-1 is not from 0", queue.read, -1, back)

    def test_errors(self):
        self.raises("error", "describes no NVMe controller", xio.Drive, "nonsense")
        with xio.Drive("emulated:size=8M,fail=read-281") as drive, drive.buffer(4096) as buffer:
            self.assertEqual(self.raises("out_of_range", "out_of_range", drive.read, 1 << 40, buffer).status, 6)
            bad = self.raises("read_error", "the drive reports: unrecovered read error", drive.read, 0, buffer)
            self.assertEqual(xio.status_name(bad.status), "read_error")
            xio.check([0, 0])
            self.raises("read_error", "1 of 3 operations have failed, number 1 first: unrecovered", xio.check,
                        numpy.array([0, bad.status, 0], "uint32"))
            self.raises("error", "namespace 9", drive.describe, 9)
            self.raises("unavailable", "no bitcode for gfx1", xio.bitcode, "gfx1")

    def test_time_limit(self):
        with xio.Drive("emulated:size=8M,delay=300000") as drive, drive.buffer(4096) as buffer:
            self.raises("timed_out", "has not answered within 20 ms", drive.read, 0, buffer, timeout=0.02)
            drive.read(0, buffer)
            queue = drive.queue()
            self.raises("timed_out", "20 ms", queue.read, 0, buffer, timeout=0.02)
            self.raises("error", "has timed out: close it", queue.read, 0, buffer)

    def test_closed(self):
        drive = xio.Drive("emulated:size=8M")
        closed, library = [], _library._library
        close = library.xio_buffer_close
        with unittest.mock.patch.object(library, "xio_buffer_close", lambda one: closed.append(close(one))):
            buffer, queue = drive.buffer(4096), drive.queue()
        array = buffer.numpy()
        drive.close()
        self.assertTrue(drive.closed)
        self.assertRaisesRegex(ValueError, "this Drive is closed", drive.read, 0, buffer)
        self.assertRaisesRegex(ValueError, "this Drive is closed", drive.buffer, 4096)
        self.assertRaisesRegex(ValueError, "this Drive is closed", drive.__enter__)
        queue.read(0, buffer)
        queue.close()
        queue.close()
        self.assertRaisesRegex(ValueError, "this Queue is closed", queue.read, 0, buffer)
        buffer.close()
        for use in (buffer.numpy, buffer.data_ptr, lambda: buffer.nbytes, lambda: buffer.bus):
            self.assertRaisesRegex(ValueError, "this Buffer is closed", use)
        array[:] = 1  # its memory is still there
        self.assertEqual(closed, [])
        del array
        gc.collect()
        self.assertEqual(closed, [None])

    def test_memory_of_the_program(self):
        with xio.Drive("emulated:size=8M") as drive:
            pages = mmap.mmap(-1, 8192)
            buffer = drive.map(pages)
            pages[:] = bytes(range(256)) * 32
            drive.write(0, buffer)
            pages[:] = bytes(8192)
            drive.read(0, buffer)
            self.assertEqual(pages[:], bytes(range(256)) * 32)
            self.assertRaises(BufferError, pages.close)
            array = numpy.from_dlpack(buffer)
            self.assertEqual(array.ctypes.data, buffer.numpy().ctypes.data)
            self.assertEqual(numpy.asarray(buffer).sum(), buffer.numpy().sum())
            page = ctypes.addressof(ctypes.c_char.from_buffer(pages))
            self.raises("error", "multiples of", drive.map, page + 512, 4096)

    def test_set(self):
        specs = ["emulated:size=8M", "emulated:size=8M", "emulated:size=4M"]
        with xio.DriveSet(specs, stripe_blocks=4, depth=2) as drives:
            self.assertEqual((drives.blocks, drives.block_bytes), (3 * 8192, 512))
            out, back = drives.buffer(101 * 512), drives.buffer(100 * 512)
            out.numpy()[:] = numpy.frombuffer(random.Random(4).randbytes(out.nbytes), "uint8")
            drives.write(3, out, 100, 512)
            drives.flush()
            drives.read(3, back)
            self.assertEqual(bytes(back.memory), bytes(out.memory[512:]))
            for block, stripe in ((4, 1), (12, 3), (20, 5)):  # of drives 1, 0 and 2
                with drives.drives[stripe % 3].buffer(4 * 512) as one:
                    drives.drives[stripe % 3].read(stripe // 3 * 4, one)
                    self.assertEqual(bytes(one.memory), bytes(out.memory[(block - 2) * 512:(block + 2) * 512]))
            self.assertTrue(out.region != 0 and out.region != back.region)
            self.raises("out_of_range", "the set has 24576 blocks", drives.read, 24477, back)
            self.raises("error", "do not fit into a buffer", drives.read, 0, back, 101)
            self.raises("error", "not of this set", drives.read, 0, drives.drives[0].buffer(512))
            self.raises("error", "of another drive", drives.drives[0].read, 0, back)
            self.assertEqual(drives.drives[0].buffer(512).region, 0)
            self.assertNotEqual(drives.queue(0).address, drives.queue(2).address)
            self.assertEqual(out.bus_of(0), out.bus)
            self.assertRaisesRegex(IndexError, "no queue 0 of a drive 3", drives.queue, 3)
            self.assertRaisesRegex(IndexError, "no queue 1 of a drive 0", drives.queue, 0, 1)
            self.assertRaisesRegex(IndexError, "has a drive 3", out.bus_of, 3)
            self.assertRaisesRegex(IndexError, "no buffer of a set", drives.drives[0].buffer(512).bus_of, 0)
        self.assertRaisesRegex(ValueError, "this DriveSet is closed", drives.read, 0, back)
        self.assertEqual(bytes(back.memory), bytes(out.memory[512:]))
        self.raises("error", "blocks of one size", xio.DriveSet, ["emulated:lba=4096", "emulated"])
        self.raises("error", "at least one drive", xio.DriveSet, [])
        self.raises("error", "describes no NVMe controller", xio.DriveSet, ["emulated", "nonsense"])
        self.raises("error", "stripe_blocks = 3", xio.DriveSet, ["emulated"], stripe_blocks=3)
        with xio.DriveSet(["emulated:size=8M", "emulated:size=8M,fail=read-281"]) as drives:
            buffer = drives.buffer(8192)
            drives.read(0, buffer, 8)
            self.raises("read_error", "unrecovered read error", drives.read, 0, buffer)

    def test_set_of_qemu(self):
        """QEMU's drives are opened together: with one memory."""
        with xio.DriveSet(["qemu:size=8M"] * 2, stripe_blocks=4) as drives:
            out, back = drives.buffer(24 * 512), drives.buffer(24 * 512)
            out.memory[:] = random.Random(5).randbytes(out.nbytes)
            drives.write(2, out)
            drives.read(2, back)
            self.assertEqual(bytes(back.memory), bytes(out.memory))
            with drives.drives[1].buffer(4 * 512) as one:
                drives.drives[1].read(0, one)
                self.assertEqual(bytes(one.memory), bytes(out.memory[2 * 512:6 * 512]))

    def test_without_numpy(self):
        lines = ("import sys; sys.modules['numpy'] = None\nimport xio\n"
                 "with xio.Drive('emulated:size=8M') as drive, drive.buffer(4096) as buffer:\n"
                 "    buffer.memory[:5] = b'hello'; drive.write(7, buffer, 1)\n"
                 "    drive.read(7, buffer, 1, 512); assert bytes(buffer.memory[512:517]) == b'hello'\n")
        subprocess.run([sys.executable, "-c", lines], check=True)


@unittest.skipUnless(KERNELS, "no kernels: no clang-19")
class Kernels(Emulated):
    """The kernel of tests/abi/host.hip on a played GPU."""

    TYPES = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]

    def test_write_and_read(self):
        gpu = xio.Gpu()
        self.assertEqual((gpu.target, gpu.wave_size), ("gfx942", 64))
        image = pathlib.Path(KERNELS).read_bytes()
        with xio.Drive("emulated:size=8M", gpu) as drive:
            kernel = xio.Kernel(image, "write_and_read", self.TYPES, gpu)
            queue, data, statuses = drive.queue(32), drive.buffer(128 * 512), drive.buffer(64 * 4)
            data.numpy()[: 64 * 512] = random.Random(2).randbytes(64 * 512)[0]
            self.raises("error", "for kernels of a GPU", queue.read, 0, data)
            for bus in (data.bus, numpy.uint64(data.bus), ctypes.c_uint64(data.bus)):
                statuses.numpy()[:] = 255
                kernel(1, 64, queue, bus, statuses, timeout=60)
                xio.check(statuses.numpy("uint32"))
            self.assertTrue((data.numpy()[: 64 * 512] == data.numpy()[64 * 512:]).all())
            drive.read(0, data, 64)
            self.assertRaisesRegex(TypeError, "takes 3 arguments, not 2", kernel.launch, 1, 64, queue, data.bus)
            self.assertRaisesRegex(OverflowError, "is no c_ulong", kernel.launch, 1, 64, queue, -1, statuses)
            self.assertRaisesRegex(ValueError, "-1 is not from 0", kernel.launch, 1, -1, queue, data.bus, statuses)
            queue.close()
            self.assertRaisesRegex(ValueError, "this Queue is closed", kernel.launch, 1, 64, queue, data.bus, statuses)

    def test_closed(self):
        image = pathlib.Path(KERNELS).read_bytes()
        drive = xio.Drive("emulated:size=8M,delay=100000", xio.Gpu())
        queue, data, statuses = drive.queue(), drive.buffer(128 * 512), drive.buffer(64 * 4)
        statuses.numpy()[:] = 255
        kernel = xio.Kernel(image, "write_and_read")
        work = kernel.launch(1, 64, queue, numpy.uint64(data.bus), statuses)
        needs = [weakref.ref(one._native) for one in (queue, statuses)]
        for one in (kernel, queue, statuses, drive):
            one.close()
        self.assertRaises(ValueError, kernel.launch, 1, 64)
        self.raises("timed_out", "still running after 0.01 s", work.wait, 0.01)
        work.wait(60)
        work.wait()
        self.assertTrue(all(one() for one in needs))
        self.assertEqual(ctypes.string_at(_library.call("buffer_data", needs[1]().place), 256), bytes(256))
        work.close()
        self.assertFalse(any(one() for one in needs))
        self.assertRaisesRegex(ValueError, "this Work is closed", work.wait)

    def test_set_of_qemu(self):
        """A kernel in C uses each drive's own queue."""
        gpu = xio.Gpu()
        kernel = xio.Kernel(pathlib.Path(KERNELS).read_bytes(), "write_and_read", self.TYPES, gpu)
        with xio.DriveSet(["qemu:size=8M"] * 2, gpu, depth=64, queues_per_drive=2) as drives:
            data, statuses = drives.buffer(128 * 512), drives.buffer(64 * 4)
            for number in range(2):
                data.memory[:64 * 512] = random.Random(number).randbytes(64 * 512)
                statuses.numpy()[:] = 255
                with drives.queue(number, 1) as queue:
                    kernel(1, 64, queue, data.bus_of(number), statuses, timeout=60)
                self.assertRaisesRegex(ValueError, "this DriveQueue is closed", lambda queue: queue.address, queue)
                xio.check(statuses.numpy("uint32"))
                self.assertEqual(bytes(data.memory[64 * 512:]), bytes(data.memory[:64 * 512]))
            for number, drive in enumerate(drives.drives):
                with drive.buffer(64 * 512) as one:
                    drive.read(0, one)
                    self.assertEqual(bytes(one.memory), random.Random(number).randbytes(64 * 512))

    def test_errors(self):
        image = pathlib.Path(KERNELS).read_bytes()
        self.raises("unavailable", "no GPU 7", xio.Gpu, 7)
        self.raises("error", "bitcode of xio's ABI 9", xio.Kernel,
                    re.sub(b"xio_device_abi_.", b"xio_device_abi_9", image), "write_and_read")
        self.raises("error", "nothing", xio.Kernel(image, "nothing").launch, 1, 64)
        self.assertRaisesRegex(TypeError, "no certain size", xio.Kernel(image, "write_and_read").launch, 1, 64, 0.5)

    test_time_limit = test_memory_of_the_program = test_set = test_without_numpy = None


if __name__ == "__main__":
    unittest.main(verbosity=2)
