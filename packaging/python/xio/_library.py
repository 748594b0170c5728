# SPDX-License-Identifier: MIT
"""libxio_host.so by ctypes: the calls of xio/host/c/xio_host.h, whose failures become xio.Error."""
import ctypes
import os
import pathlib
import weakref

_VERSION = 4  # XIO_HOST_VERSION of the header from which the table below is taken

_pointer, _to, _text = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p
_int, _u32, _u64, _size = ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t


class DriveInfo(ctypes.Structure):
    """xio_drive_info."""

    _fields_ = [("blocks", _u64), ("max_transfer_bytes", _u64), ("block_bytes", _u32), ("nsid", _u32)]


# name: result, arguments. An `int` result is an xio_host_code.
CALLS = {
    "host_version": (_u32, []),
    "host_abi": (_u32, []),
    "host_message": (_text, []),
    "host_status": (_u32, []),
    "status_name": (_text, [_u32]),
    "status_text": (_text, [_u32]),
    "gpu_open": (_int, [_int, _to]),
    "gpu_close": (None, [_pointer]),
    "gpu_target": (_text, [_pointer]),
    "gpu_wave_size": (_u32, [_pointer]),
    "drive_open": (_int, [_text, _pointer, _to]),
    "drives_open": (_int, [ctypes.POINTER(_text), _u32, _pointer, _to]),
    "drive_close": (None, [_pointer]),
    "drive_describe": (_int, [_pointer, _u32, ctypes.POINTER(DriveInfo)]),
    "drive_may_write": (_int, [_pointer, _u32]),
    "drive_alive": (_int, [_pointer]),
    "queue_create": (_int, [_pointer, _u32, _u32, _to]),
    "queue_create_for_cpu": (_int, [_pointer, _u32, _u32, _to]),
    "queue_close": (None, [_pointer]),
    "queue_address": (_u64, [_pointer]),
    "queue_read": (_int, [_pointer, _u64, _u32, _pointer, _size, _u32]),
    "queue_write": (_int, [_pointer, _u64, _u32, _pointer, _size, _u32]),
    "queue_flush": (_int, [_pointer, _u32]),
    "buffer_create": (_int, [_pointer, _size, _to]),
    "buffer_map": (_int, [_pointer, _pointer, _size, _to]),
    "buffer_close": (None, [_pointer]),
    "buffer_data": (_pointer, [_pointer]),
    "buffer_address": (_u64, [_pointer]),
    "buffer_bus": (_u64, [_pointer]),
    "buffer_bytes": (_size, [_pointer]),
    "buffer_region": (_u64, [_pointer]),
    "buffer_bus_of": (_u64, [_pointer, _u32]),
    "drive_set_create": (_int, [_to, _u32, _u32, _u32, _u32, _to]),
    "drive_set_close": (None, [_pointer]),
    "drive_set_address": (_u64, [_pointer]),
    "drive_set_queue": (_u64, [_pointer, _u32, _u32]),
    "drive_set_blocks": (_u64, [_pointer]),
    "drive_set_block_bytes": (_u32, [_pointer]),
    "drive_set_buffer": (_int, [_pointer, _size, _to]),
    "drive_set_read": (_int, [_pointer, _u64, _u32, _pointer, _size, _u32]),
    "drive_set_write": (_int, [_pointer, _u64, _u32, _pointer, _size, _u32]),
    "drive_set_flush": (_int, [_pointer, _u32]),
    "module_load": (_int, [_pointer, _text, _size, _to]),
    "module_close": (None, [_pointer]),
    "kernel_launch": (_int, [_pointer, _text, _u32, _u32, _size, ctypes.POINTER(_pointer), _to]),
    "kernel_enqueue": (_int, [_pointer, _text, _u32, _u32, _size, ctypes.POINTER(_pointer), _pointer]),
    "work_wait": (_int, [_pointer, _u32]),
    "work_close": (None, [_pointer]),
}

OK, ERROR, UNAVAILABLE, TIMED_OUT, NO_MEMORY, STATUS = range(6)
_CODES = {ERROR: "error", UNAVAILABLE: "unavailable", TIMED_OUT: "timed_out", NO_MEMORY: "no_memory"}


class Error(RuntimeError):
    """A call has failed; the text says why.

    `code` is "error", "unavailable" (this machine lacks something), "timed_out", "no_memory", or the name of the status
    with which the queue or the drive has refused or failed an operation: "out_of_range", "read_error". `status` is
    that status as kernels return it, with the drive's own in bits 31:16; 0 where there is none.
    """

    def __init__(self, text, code="error", status=0):
        super().__init__(text)
        self.code = code
        self.status = status


def _load():
    place = os.environ.get("XIO_HOST_LIBRARY") or pathlib.Path(__file__).parent / "lib" / "libxio_host.so"
    try:
        library = ctypes.CDLL(str(place))
    except OSError as error:
        raise ImportError(f"{error}: the wheel contains it, and XIO_HOST_LIBRARY may name another one") from error
    library.xio_host_version.restype = _u32
    found = library.xio_host_version()
    if found < _VERSION:
        raise ImportError(f"{place} has version {found} of the interface, this package needs {_VERSION}")
    for name, (result, arguments) in CALLS.items():
        function = getattr(library, "xio_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()
_MOST = {_u32: (1 << 32) - 1, _u64: (1 << 64) - 1, _size: (1 << 64) - 1}


def call(name, *arguments):
    """Calls `xio_<name>`, and raises what it reports."""
    for kind, value in zip(CALLS[name][1], arguments):
        if kind in _MOST and not 0 <= value <= _MOST[kind]:  # ctypes would cut it off
            raise ValueError(f"{name}: {value} is not from 0 to {_MOST[kind]}")
    result = getattr(_library, "xio_" + name)(*arguments)
    if CALLS[name][0] is not _int or result == OK:
        return result
    text = _library.xio_host_message().decode(errors="replace")
    if result == STATUS:
        status = _library.xio_host_status()
        raise Error(text, status_name(status), status)
    raise Error(text, _CODES.get(result, "error"))


def status_name(status):
    """The name of a status that a kernel has returned: "ok", "read_error"."""
    return _library.xio_status_name(status).decode()


def status_text(status):
    """What a status says, in one line."""
    return _library.xio_status_text(status).decode()


class Native:
    """Something that the library has created, given back when the last object that needs it is gone."""

    def __init__(self, kind, create, *arguments, needs=()):
        place = ctypes.c_void_p()
        call(create, *arguments, ctypes.byref(place))
        self._keep(kind, place.value, needs)

    @classmethod
    def kept(cls, kind, place):
        """What a call has created beside others."""
        native = cls.__new__(cls)
        native._keep(kind, place, ())
        return native

    def _keep(self, kind, place, needs):
        self.place = place
        self.needs = needs
        # Also at the end of the interpreter, and there in the reverse order.
        weakref.finalize(self, getattr(_library, f"xio_{kind}_close"), self.place)


class Owner:
    """Base of what can be closed, by close(), by the end of a `with` or with its last reference."""

    def __init__(self, native):
        self._native = native

    @property
    def closed(self):
        """Whether close() was called."""
        return self._native is None

    def _place(self):
        if self._native is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._native.place

    def close(self):
        """Gives it back, as soon as no view of it and no running kernel needs it. May be repeated."""
        self._native = None

    def __enter__(self):
        self._place()
        return self

    def __exit__(self, *_):
        self.close()
