"""File whose writes reach the disk together at `commit()`, all or none, with a checksum of every page.

HDF5 overwrites its own records in place, so a flush that fails or is killed half way would leave a file that cannot
be opened. Here HDF5 writes into pages in memory, and a commit follows the rollback journal of SQLite [Atomic Commit
In SQLite, section 3]:

    1. append a journal with the bytes that are to be overwritten
    2. write the changed blocks, then the checksums of all pages
    3. remove the journal

A reader that finds a journal at the end of the file puts the old bytes back (`pysim.trajectory.page_checks`). The
records follow the bytes of HDF5, where other programs do not read; a program that writes the file removes them.
"""

from __future__ import annotations

import errno
import io
import os
import struct
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from pysim.files.descriptors import read_all, write_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

PAGE = 1 << 16  # bytes under one checksum
BLOCK = 1 << 12  # bytes that are written, or kept in the journal, together
CHECKSUMS, JOURNAL = b"pysimCRC", b"pysimOLD"
FIELDS = struct.Struct("<8sQQ")  # at the end of a record: kind, bytes of HDF5, offset of the record
CRC = struct.Struct("<I")  # of the record, behind its fields
ENTRY = struct.Struct("<QI")  # offset and length of old bytes


class MemoryFile(io.RawIOBase):
    """The bytes of an HDF5 file in memory, for its driver for Python's file objects; what is not written takes none."""

    def __init__(self) -> None:
        self._position = 0
        self._size = 0
        self._pages: dict[int, bytearray] = {}  # that were written, by number

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def truncate(self, size: int | None = None) -> int:
        self._size = self._position if size is None else size
        return self._size

    def flush(self) -> None:
        """Do nothing: HDF5 flushes into memory."""

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        length = max(0, min(len(view), self._size - self._position))
        for number, first, last in _spans(self._position, length):
            at = number * PAGE + first - self._position
            view[at : at + last - first] = self._page(number)[first:last]
        self._position += length
        return length

    def write(self, data: Buffer) -> int:
        view = memoryview(data).cast("B")
        for number, first, last in _spans(self._position, len(view)):
            if number not in self._pages:
                self._pages[number] = bytearray(self._page(number))
            at = number * PAGE + first - self._position
            self._pages[number][first:last] = view[at : at + last - first]
        self._position += len(view)
        self._size = max(self._size, self._position)
        return len(view)

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Return so many bytes from an offset on, fewer at the end."""
        self.seek(offset)
        return self.read(length) or b""

    def written(self) -> Iterator[tuple[int, bytes]]:
        """Return offsets and bytes of the pages that were written."""
        for number, page in sorted(self._pages.items()):
            length = min(PAGE, self._size - number * PAGE)
            if length > 0:
                yield number * PAGE, bytes(page[:length])

    def _page(self, number: int) -> bytes | bytearray:
        """Return the bytes of a page, with zeros where nothing was written."""
        return self._pages.get(number, bytes(PAGE))


class PageFile(MemoryFile):
    """The bytes of an HDF5 file on disk.

    Reads see what was written. The descriptor belongs to this object, which closes it.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()  # pages that were written since the last commit
        self.descriptor = descriptor
        self._committed = 0  # bytes of HDF5 that are on disk
        self._trailer = b""
        self._checksums: list[int] = []

    def commit(self) -> None:
        """Bring everything written so far to disk, read it back and compare.

        Raises:
            OSError: the system refused, or holds other bytes than were written; the last commit stays readable.
        """
        checksums = self._new_checksums()
        trailer = trailer_of(self._size, checksums)
        new = [*self._changed_blocks(), (self._size, trailer)]
        old = [*self._overwritten(new)]
        end = self._committed + len(self._trailer)
        in_place = False
        try:
            if old:
                start = max(end, self._size + len(trailer))
                write_all(self.descriptor, journal_of(self._committed, start, old), start)
            in_place = True
            for offset, data in new:
                write_all(self.descriptor, data, offset)
            for offset, data in new:
                self._verify(data, offset)
            os.ftruncate(self.descriptor, self._size + len(trailer))
        except BaseException:
            self._roll_back(old if in_place else [], end)
            raise
        self._pages.clear()
        self._committed, self._trailer, self._checksums = self._size, trailer, checksums

    def sync(self) -> None:
        """Wait until the disk has what was committed."""
        os.fsync(self.descriptor)

    def close(self) -> None:
        """Close the descriptor; an error of the system that waited for this is raised."""
        if not self.closed:
            super().close()
            os.close(self.descriptor)

    def _page(self, number: int) -> bytes | bytearray:
        if number in self._pages:
            return self._pages[number]
        return self._page_on_disk(number).ljust(PAGE, b"\0")

    def _page_on_disk(self, number: int) -> bytes:
        start = number * PAGE
        length = min(PAGE, self._committed - start)
        return read_all(self.descriptor, length, start) if length > 0 else b""

    def _new_checksums(self) -> list[int]:
        count = -(-self._size // PAGE)
        changed = {*self._pages, *range(len(self._checksums), count)}
        if self._size != self._committed:  # the last page of either length
            changed |= {count - 1, len(self._checksums) - 1}
        checksums = [*self._checksums, *[0] * count][:count]
        for number in changed:
            if 0 <= number < count:
                page = memoryview(self._page(number))
                checksums[number] = zlib.crc32(page[: self._size - number * PAGE])
        return checksums

    def _changed_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Return offsets and bytes of new pages, and of the blocks of other pages that differ from those on disk."""
        for number, page in sorted(self._pages.items()):
            start, length = number * PAGE, min(PAGE, self._size - number * PAGE)
            if start >= self._committed and length > 0:
                yield start, bytes(page[:length])
                continue
            old = self._page_on_disk(number)
            for first in range(0, length, BLOCK):
                block = bytes(page[first : min(first + BLOCK, length)])
                if old[first : first + len(block)] != block:
                    yield start + first, block

    def _overwritten(self, new: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Return offsets and bytes of the last commit, its checksums included, that `new` overwrites."""
        end = self._committed + len(self._trailer)
        for offset, data in new:
            length = min(len(data), end - offset)
            if length > 0:
                yield offset, read_all(self.descriptor, length, offset)

    def _verify(self, data: bytes, offset: int) -> None:
        if read_all(self.descriptor, len(data), offset) != data:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _roll_back(self, old: list[tuple[int, bytes]], end: int) -> None:
        """Restore the last commit where the disk allows it; a reader does it from the journal where not."""
        with suppress(OSError):
            for offset, data in old:
                write_all(self.descriptor, data, offset)
            os.ftruncate(self.descriptor, end)


def trailer_of(size: int, checksums: list[int]) -> bytes:
    """Return the record that follows `size` bytes of HDF5: the checksums of their pages."""
    return sealed_record(CHECKSUMS, size, size, struct.pack(f"<{len(checksums)}I", *checksums))


def journal_of(size: int, start: int, old: list[tuple[int, bytes]]) -> bytes:
    """Return the record, at `start`, of the bytes of a commit of `size` bytes that are overwritten."""
    body = b"".join(ENTRY.pack(offset, len(data)) + data for offset, data in old)
    return sealed_record(JOURNAL, size, start, body)


def sealed_record(kind: bytes, size: int, start: int, body: bytes) -> bytes:
    """Return a record of this kind, at `start` of a file with `size` bytes of HDF5: body, fields and checksum."""
    fields = FIELDS.pack(kind, size, start)
    return body + fields + CRC.pack(zlib.crc32(body + fields))


def _spans(start: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Yield the pages of a range of bytes: number, first byte in the page, end in the page."""
    end = start + length
    while start < end:
        number, first = divmod(start, PAGE)
        last = min(PAGE, first + end - start)
        yield number, first, last
        start += last - first
