"""Descriptors of files: opening, locks, and reads and writes at an offset.

The only module of the package that calls the operating system for files. Its branch for Windows has not run yet.

A file has two locks: one of the file, for one writer or several readers, which HDF5 uses, too, and one of its records,
for one writer among processes of pysim. A lock that another process holds is an error at once.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

if sys.platform == "win32":
    import ctypes
    import msvcrt
    import threading

    _FLAGS = os.O_BINARY
    _position = threading.Lock()  # Windows reads and writes at the position of the descriptor alone
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _EXCLUSIVE, _AT_ONCE, _VIOLATION = 2, 1, 33
    _FILE, _RECORDS = (1 << 62), (1 << 62) + 1  # locked bytes, beyond the end of any file
else:
    import fcntl

    _FLAGS = os.O_NONBLOCK  # a named pipe is not waited for

if TYPE_CHECKING:
    from pathlib import Path


def open_file(path: Path, *, write: bool = False) -> int:
    """Return a descriptor of an existing file."""
    return os.open(path, _FLAGS | (os.O_RDWR if write else os.O_RDONLY))


def make_file(path: Path) -> int:
    """Return a descriptor of a new file, to read and write; there may be none of that name."""
    return os.open(path, _FLAGS | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)


def lock_file(descriptor: int, *, write: bool) -> None:
    """Lock a file for one writer, or as one of several readers.

    Raises:
        BlockingIOError: another process has locked it.
        OSError: the file system has no locks.
    """
    if sys.platform == "win32":
        _lock_byte(descriptor, _FILE, exclusive=write)
    else:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB)


def lock_records(descriptor: int) -> None:
    """Lock the records of a file for one writer; others may read the file and lock it as readers.

    Raises:
        BlockingIOError: another process has locked them.
        OSError: the file system has no locks.
    """
    if sys.platform == "win32":
        _lock_byte(descriptor, _RECORDS, exclusive=True)
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except PermissionError as error:  # raised by some systems in place of BlockingIOError
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error


def write_all(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`."""
    rest = memoryview(data)
    while rest:
        written = _write(descriptor, rest, offset)
        if written == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rest, offset = rest[written:], offset + written


def read_all(descriptor: int, length: int, offset: int) -> bytes:
    """Return up to `length` bytes at `offset`, fewer only at the end of the file."""
    parts = []
    while length > 0:
        part = _read(descriptor, length, offset)
        if not part:
            break
        parts.append(part)
        length, offset = length - len(part), offset + len(part)
    return b"".join(parts)


if sys.platform == "win32":

    def _write(descriptor: int, data: memoryview, offset: int) -> int:
        with _position:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.write(descriptor, data)

    def _read(descriptor: int, length: int, offset: int) -> bytes:
        with _position:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.read(descriptor, length)

    class _Overlapped(ctypes.Structure):
        """Start of a lock in the file, as `OVERLAPPED` of Windows has it."""

        _fields_ = (
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", ctypes.c_uint32),
            ("offset_high", ctypes.c_uint32),
            ("event", ctypes.c_void_p),
        )

    def _lock_byte(descriptor: int, offset: int, *, exclusive: bool) -> None:
        start = _Overlapped(offset=offset & 0xFFFFFFFF, offset_high=offset >> 32)
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        flags = _AT_ONCE | (_EXCLUSIVE if exclusive else 0)
        if _kernel.LockFileEx(handle, flags, 0, 1, 0, ctypes.byref(start)):
            return
        code = ctypes.get_last_error()
        if code == _VIOLATION:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        raise ctypes.WinError(code)

else:
    _write, _read = os.pwrite, os.pread
