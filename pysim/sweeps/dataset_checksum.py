"""Checksum of everything in a sweep's dataset but the results of its worlds, which have one for each piece.

It follows the bytes of HDF5, where other programs do not read: a record (`pysim.trajectory.page_file`) with the places
of the results and the CRC-32 of all other bytes. A program that writes the file removes it.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING

from pysim.files.descriptors import read_all
from pysim.trajectory.page_checks import END_OF_FILE, END_OF_FILE_AT, body_of, fields_before
from pysim.trajectory.page_file import CRC, FIELDS, sealed_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SEAL = b"pysimSWP"
SPAN = struct.Struct("<QQ")  # offset and length of bytes that the checksum leaves out
READ_AT_ONCE = 1 << 20  # bytes
VERSION_AT = 8  # of the superblock


def seal_of(
    size: int, spans: Iterable[tuple[int, int]], read: Callable[[int, int], bytes]
) -> bytes:
    """Return the record for `size` bytes of HDF5; `read` returns so many bytes from an offset on."""
    listed = sorted(spans)
    body = b"".join(SPAN.pack(*span) for span in listed)
    body += CRC.pack(_checksum(size, listed, read))
    return sealed_record(SEAL, size, size, body)


def is_sealed(descriptor: int) -> bool:
    """Return whether a file ends with the record of a sweep, which may be damaged."""
    return fields_before(descriptor, os.fstat(descriptor).st_size, {SEAL})[0] == SEAL


def checked_size(descriptor: int) -> int | None:
    """Return the number of bytes of HDF5 after comparing them with their checksum; None for a file without one.

    Raises:
        ValueError: some bytes are not those that were written.
    """
    length = os.fstat(descriptor).st_size
    kind, size, start = fields_before(descriptor, length, {SEAL})
    if not kind:
        if _ends_before(descriptor, length):
            raise ValueError("the bytes behind its end are not those that were written")
        return None
    if not 0 < size <= start < length:
        raise ValueError("its checksum lies beyond its end")
    body = body_of(read_all(descriptor, length - start, start), "record of checksums")
    spans = [*SPAN.iter_unpack(body[: -CRC.size])]

    def read(offset: int, count: int) -> bytes:
        return read_all(descriptor, count, offset)

    if CRC.pack(_checksum(size, spans, read)) != body[-CRC.size :]:
        raise ValueError("its parameters or its structure do not match their checksum")
    return int(size)


def _ends_before(descriptor: int, length: int) -> bool:
    """Return whether HDF5's superblock of version 0, which pysim writes, names an end before that of the file."""
    head = read_all(descriptor, END_OF_FILE_AT + END_OF_FILE.size, 0)
    if len(head) < END_OF_FILE_AT + END_OF_FILE.size or head[VERSION_AT] != 0:
        return False
    (end,) = END_OF_FILE.unpack_from(head, END_OF_FILE_AT)
    record = read_all(descriptor, FIELDS.size, max(0, length - FIELDS.size - CRC.size))
    return bool(end < length) and record[: len(SEAL)] != SEAL


def _checksum(size: int, spans: list[tuple[int, int]], read: Callable[[int, int], bytes]) -> int:
    """Return the CRC-32 of the bytes outside of these spans, which are in order."""
    code, at = 0, 0
    for offset, length in [*spans, (size, 0)]:
        while at < offset:
            data = read(at, min(READ_AT_ONCE, offset - at))
            if not data:
                return code  # a file that is cut off
            code, at = zlib.crc32(data, code), at + len(data)
        at = max(at, offset + length)
    return code
