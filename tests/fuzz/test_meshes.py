"""Changed meshes have a mass, or are rejected with an error that a user can read."""

from __future__ import annotations

import io
import struct
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import pysim
from tests.fuzz.budget import fuzz, result_or_error
from tests.fuzz.mutations import NUMBERS, changed_bytes, changed_text

KEPT = Path(__file__).parent / "corpus" / "meshes"
FOLDER = Path(tempfile.mkdtemp(prefix="pysim-fuzz-"))
VERTICES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])

SCENE = """name = "s"
[[body]]
name = "b"
shape = {{ {shape}, density = 1000 }}
{collision}
[[joint]]
name = "j"
type = "free"
child = "b"
"""


def binary_stl() -> bytes:
    out = io.BytesIO()
    out.write(bytes(80) + struct.pack("<I", len(FACES)))
    for face in FACES:
        out.write(struct.pack("<12fH", 0, 0, 0, *VERTICES[face].reshape(-1), 0))
    return out.getvalue()


def text_stl() -> str:
    facets = (
        "facet normal 0 0 0 outer loop\n"
        + "".join("vertex {} {} {}\n".format(*VERTICES[k]) for k in face)
        + "endloop endfacet\n"
        for face in FACES
    )
    return f"solid s\n{''.join(facets)}endsolid s\n"


def obj() -> str:
    lines = ["v {} {} {}".format(*x) for x in VERTICES] + ["vn 0 0 1", "vt 0 0", "g a", "usemtl x"]
    return "\n".join(lines + ["f {} {} {}".format(*(face + 1)) for face in FACES]) + "\n"


def use(name: str, data: bytes) -> None:
    """Read a scene whose body has the mesh, and one that touches by it."""
    (FOLDER / name).write_bytes(data)
    shape = f'mesh = "{name}"'
    for k, (own, collision) in enumerate(
        (
            (shape, ""),
            (f"{shape}, repair = true", ""),
            (f'convex = {{ mesh = "{name}" }}', "collision = true"),
        )
    ):
        scene = FOLDER / f"{k}.toml"
        scene.write_text(SCENE.format(shape=own, collision=collision), "utf-8")
        result_or_error(partial(pysim.load_scene, scene))


@fuzz(changed_bytes([binary_stl()]))
def test_a_changed_stl_is_a_mass_or_an_error(data: bytes) -> None:
    use("m.stl", data)


@fuzz(changed_text([text_stl()], ["solid", "facet", "vertex", "loop", "endfacet", *NUMBERS]))
def test_a_changed_stl_of_text_is_a_mass_or_an_error(text: str) -> None:
    use("m.stl", text.encode("utf-8", "replace"))


@fuzz(
    changed_text(
        [obj()], ["v", "f", "vn", "1/2/3", "-1", "1//2", "f 1 2 3 4", "\\", "mtllib", *NUMBERS]
    )
)
def test_a_changed_obj_is_a_mass_or_an_error(text: str) -> None:
    use("m.obj", text.encode("utf-8", "replace"))


def test_meshes_that_once_failed_are_masses_or_errors() -> None:
    for path in sorted(KEPT.glob("*")):
        use(f"m{path.suffix}", path.read_bytes())
