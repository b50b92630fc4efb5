"""Checksums and journal of a trajectory file, checked before HDF5 parses a byte of it.

The records are those of `pysim.trajectory.page_file`. A file without them comes from elsewhere: another program wrote
it, or an earlier pysim. One whose last commit did not end is read as the commit before left it.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pysim.files.descriptors import read_all
from pysim.trajectory.page_file import (
    CHECKSUMS,
    CRC,
    ENTRY,
    FIELDS,
    JOURNAL,
    PAGE,
)

if TYPE_CHECKING:
    from collections.abc import Container

    from typing_extensions import Buffer

SIGNATURE = b"\x89HDF\r\n\x1a\n"
END_OF_FILE = struct.Struct("<Q")  # in HDF5's superblock of version 0
END_OF_FILE_AT = 40
PAGES_A_READ = 16


class RestoredFile(io.RawIOBase):
    """The last commit of a file whose next one did not end, for HDF5's driver for Python's file objects."""

    def __init__(self, descriptor: int, size: int, old: list[tuple[int, bytes]]) -> None:
        self._descriptor, self._size, self._old = descriptor, size, old
        self._position = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        start = self._position
        rest = max(0, self._size - start)
        length = rest if size < 0 else min(size, rest)
        self._position += length
        found = read_all(self._descriptor, length, start)
        if not self._old:
            return found
        data = bytearray(found.ljust(length, b"\0"))
        for offset, old in self._old:
            first, last = max(offset, start), min(offset + len(old), start + length)
            if first < last:
                data[first - start : last - start] = old[first - offset : last - offset]
        return bytes(data)

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))  # shorter than the view only at the end
        view[: len(data)] = data
        return len(data)


@dataclass(frozen=True)
class Commit:
    """The last commit of a file that ended."""

    size: int  # bytes of HDF5
    # offsets and bytes that the next one overwrote before it broke off
    old: list[tuple[int, bytes]]

    def opened(self, descriptor: int) -> RestoredFile:
        """Return its bytes as a file object."""
        return RestoredFile(descriptor, self.size, self.old)


def is_hdf5(descriptor: int) -> bool:
    """Return whether a file begins with the signature of HDF5."""
    return read_all(descriptor, len(SIGNATURE), 0) == SIGNATURE


def is_committed(descriptor: int) -> bool:
    """Return whether a file ends with a record of a trajectory, which may be damaged."""
    length = os.fstat(descriptor).st_size
    return fields_before(descriptor, length, {CHECKSUMS, JOURNAL})[0] != b""


def checked_commit(descriptor: int) -> Commit | None:
    """Return the last commit of a file after comparing its pages with their checksums; None for a file without any.

    Raises:
        ValueError: some bytes are not those that were written.
    """
    length = os.fstat(descriptor).st_size
    kind, size, start = fields_before(descriptor, length, {CHECKSUMS, JOURNAL})
    old: list[tuple[int, bytes]] = []
    if kind == JOURNAL:
        if not 0 <= start < length:
            raise ValueError("its journal does not match its checksum")
        old = _entries(body_of(read_all(descriptor, length - start, start), "journal"))
    elif kind != CHECKSUMS:  # a journal that was not written to its end, or a file from elsewhere
        (size,) = END_OF_FILE.unpack(read_all(descriptor, 8, END_OF_FILE_AT).ljust(8, b"\0"))
    if not 0 < size < length:
        if kind:
            raise ValueError("its checksums lie beyond its end")
        return None
    table = _table(RestoredFile(descriptor, length, old), size, required=bool(kind))
    if table is None:
        return None
    commit = Commit(size, old)
    _compare_pages(commit.opened(descriptor), table)
    return commit


def fields_before(descriptor: int, end: int, kinds: Container[bytes]) -> tuple[bytes, int, int]:
    """Return kind, HDF5 bytes and offset of the record that ends at `end`; the kind is empty for any other."""
    data = read_all(descriptor, FIELDS.size, max(0, end - FIELDS.size - CRC.size))
    if len(data) == FIELDS.size:
        kind, size, start = FIELDS.unpack(data)
        if kind in kinds:
            return kind, size, start
    return b"", 0, 0


def body_of(record: bytes, name: str) -> bytes:
    """Return the body of a record, whose `name` an error gives.

    Raises:
        ValueError: the record does not match its checksum.
    """
    sealed, crc = record[: -CRC.size], record[-CRC.size :]
    if len(record) < FIELDS.size + CRC.size or crc != CRC.pack(zlib.crc32(sealed)):
        raise ValueError(f"its {name} does not match its checksum")
    return sealed[: -FIELDS.size]


def _entries(body: bytes) -> list[tuple[int, bytes]]:
    entries, at = [], 0
    while at < len(body):
        offset, length = ENTRY.unpack_from(body, at)
        at += ENTRY.size
        entries.append((offset, body[at : at + length]))
        at += length
    return entries


def _table(file: RestoredFile, size: int, *, required: bool) -> tuple[int, ...] | None:
    """Return the checksums of the pages of `size` bytes of HDF5; None if they are absent and not required."""
    count = -(-size // PAGE)
    file.seek(size)
    record = file.read(4 * count + FIELDS.size + CRC.size)
    if not required and record[4 * count :][:8] != CHECKSUMS:
        return None
    return struct.unpack(f"<{count}I", body_of(record, "table of checksums")[: 4 * count])


def _compare_pages(file: RestoredFile, table: tuple[int, ...]) -> None:
    for first in range(0, len(table), PAGES_A_READ):
        data = memoryview(file.read(PAGE * PAGES_A_READ))
        for number, checksum in enumerate(table[first : first + PAGES_A_READ]):
            if zlib.crc32(data[number * PAGE : (number + 1) * PAGE]) != checksum:
                at = (first + number) * PAGE
                raise ValueError(
                    f"the bytes from {at} to {at + PAGE - 1} do not match their checksum"
                )
