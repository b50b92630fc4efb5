"""Files whose bytes have a checksum, which no damage passes unseen."""

from __future__ import annotations

import zlib
from pathlib import Path

from pysim.errors import PysimError

CHECKSUM = 4  # bytes of a CRC-32 between the name of the format and the data


def write_sealed(path: str | Path, form: bytes, data: bytes) -> None:
    """Write data behind the name of their format and their checksum."""
    Path(path).write_bytes(form + zlib.crc32(data).to_bytes(CHECKSUM, "little") + data)


def read_sealed(path: str | Path, form: bytes, what: str) -> bytes:
    """Return the data that `write_sealed` wrote.

    Raises:
        PysimError: the file is none of this format, or is damaged; the error names it, and `what` it should be.
        OSError: the system cannot read it.
    """
    content = Path(path).read_bytes()
    if not content.startswith(form):
        raise PysimError(str(path), f"is no {what}; start anew")
    begin = len(form) + CHECKSUM
    if (
        zlib.crc32(memoryview(content)[begin:]).to_bytes(CHECKSUM, "little")
        != content[len(form) : begin]
    ):
        raise PysimError(
            str(path), f"is a damaged {what}: its checksum is another; take a whole copy"
        )
    return content[begin:]
