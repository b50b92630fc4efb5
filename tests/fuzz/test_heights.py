"""Changed pictures and tables of heights are a ground, or are rejected with an error that a user can read."""

from __future__ import annotations

import io
import struct
import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import imageio.v3 as imageio
import numpy as np
from hypothesis import strategies as st

from pysim.shapes.height_field import read_heights
from tests.fuzz.budget import fuzz, result_or_error
from tests.fuzz.mutations import NUMBERS, changed_bytes, changed_text

FOLDER = Path(tempfile.mkdtemp(prefix="pysim-fuzz-"))
HILLS = np.arange(35).reshape(5, 7) * 6
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def picture(pixels: np.ndarray) -> bytes:
    return bytes(imageio.imwrite("<bytes>", pixels, extension=".png"))


def pictures() -> list[bytes]:
    """Grey, grey of 16 bits, black and white, with transparency, and in colours."""
    grey = HILLS.astype(np.uint8)
    colours = np.repeat(grey[..., None], 4, axis=2)
    return [picture(own) for own in (grey, (300 * HILLS).astype(np.uint16), HILLS > 90, colours)]


def parts(data: bytes) -> list[tuple[bytes, bytes]]:
    """The chunks of a PNG, by name."""
    found, at = [], len(SIGNATURE)
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        found.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += size + 12
    return found


def of_parts(chunks: list[tuple[bytes, bytes]]) -> bytes:
    """A PNG of chunks, with their checksums."""
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


@st.composite
def changed_picture(draw: Any) -> bytes:
    """A PNG with one chunk changed under a right checksum, moved, repeated or left out."""
    chunks = parts(draw(st.sampled_from(pictures())))
    k = draw(st.integers(0, len(chunks) - 1))
    name, body = chunks[k]
    kind = draw(st.sampled_from(["body", "pixels", "name", "move", "repeat", "remove"]))
    if kind == "body":
        chunks[k] = name, draw(changed_bytes([body]))
    elif kind == "pixels":
        chunks = [
            (own, zlib.compress(draw(changed_bytes([zlib.decompress(old)]))))
            if own == b"IDAT"
            else (own, old)
            for own, old in chunks
        ]
    elif kind == "name":
        chunks[k] = draw(st.sampled_from([b"tRNS", b"PLTE", b"acTL", b"zTXt", b"iCCP", b"a"])), body
    elif kind == "move":
        chunks.insert(draw(st.integers(0, len(chunks) - 1)), chunks.pop(k))
    elif kind == "repeat":
        chunks.insert(k, chunks[k])
    else:
        del chunks[k]
    return of_parts(chunks)


def array(values: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def use(name: str, data: bytes) -> None:
    path = FOLDER / name
    path.write_bytes(data)
    result_or_error(partial(read_heights, path, 1.0))


@fuzz(changed_bytes(pictures()), examples=100)
def test_a_changed_picture_is_a_ground_or_an_error(data: bytes) -> None:
    use("h.png", data)


@fuzz(changed_picture(), examples=200)
def test_a_picture_with_right_checksums_is_a_ground_or_an_error(data: bytes) -> None:
    use("h.png", data)


@fuzz(changed_bytes([array(HILLS.astype(float)), array(HILLS.astype(">i2").T)]), examples=100)
def test_a_changed_array_is_a_ground_or_an_error(data: bytes) -> None:
    use("h.npy", data)


@fuzz(changed_text(["0, 1, 2\n3, 4.5, 6\n", "1 # lowest\n2\n"], [",", "\n", "#", *NUMBERS]))
def test_a_changed_table_is_a_ground_or_an_error(text: str) -> None:
    use("h.csv", text.encode("utf-8", "replace"))
