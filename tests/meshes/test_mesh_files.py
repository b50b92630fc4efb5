"""Mesh files. The oracles: the verdicts of expect.json, the box as a primitive, trimesh for what it wrote."""

from __future__ import annotations

import json
import re
import struct
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pysim.errors import PysimWarning, SceneError
from pysim.inertia import move_theta
from pysim.meshes import check_mesh, mesh_theta, read_mesh
from pysim.shapes import Shape, primitive_theta

MALFORMED = Path(__file__).parents[1] / "data" / "malformed"
VERDICTS = {
    name: entry["expect"]
    for name, entry in json.loads((MALFORMED / "expect.json").read_text("utf-8")).items()
    if Path(name).suffix in {".stl", ".obj"}
}
ONE = (1.0, 1.0, 1.0)
CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)
REFUSALS = {
    "ascii_comma.stl": "line 4: expected 'vertex' and three numbers with decimal points, "
    "got 'vertex 0,0 0 0'; export it again",
    "ascii_noend.stl": "ends before 'endsolid'; it is truncated, export it again",
    "count_4G.stl": "declares 4294967295 triangles, which take 214748364834 bytes, but has 684; "
    "it is truncated or damaged, export it again",
    "count_zero.stl": "has no triangles; export the mesh again",
    "empty.stl": "is empty; export the mesh again",
    "flat.stl": "is flat and encloses no volume, so a density gives no mass; give numbers instead",
    "idx_big.obj": "line 21: face index 99999999, but there are 8 vertices; export it again",
    "idx_zero.obj": "line 21: face index 0, but the first vertex is 1; export it again",
    "nan.stl": "vertex 0 is (nan, 0, 0), not finite; export the mesh again",
    "nul.obj": "line 21: holds a NUL byte; export the mesh again",
    "truncated.stl": "declares 12 triangles, which take 684 bytes, but has 677; "
    "it is truncated or damaged, export it again",
    "utf16.obj": "is UTF-16 text; save it as UTF-8",
}
WARNINGS = {
    "cube_dup.stl": "1 duplicate triangle is ignored",
    "cube_oneflip.stl": "1 triangle is wound opposite to the other 11; reversed for the volume",
}


def cube_theta(density: float = 1.0) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = 0.5
    return move_theta(primitive_theta(Shape("box", ONE), density), X)


def refusal(path: Path) -> str:
    with pytest.raises(SceneError) as caught:
        mesh_theta(path, ONE, 1.0)
    assert caught.value.where == str(path)
    return caught.value.problem


def write_obj(path: Path, vertices: np.ndarray, faces: np.ndarray) -> Path:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices).tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in np.asarray(faces).tolist()]
    path.write_text("\n".join(lines), "utf-8")
    return path


def write_stl(path: Path, corners: np.ndarray, count: int | None = None, tail: bytes = b"") -> Path:
    records = b"".join(struct.pack("<12fH", 0, 0, 0, *c.ravel(), 0) for c in corners)
    count = len(corners) if count is None else count
    path.write_bytes(b" " * 80 + struct.pack("<I", count) + records + tail)
    return path


def test_every_malformed_mesh_is_tested() -> None:
    rejected = {name for name, verdict in VERDICTS.items() if verdict == "reject"}
    warned = {name for name, verdict in VERDICTS.items() if verdict == "warn"}
    assert rejected == set(REFUSALS)
    assert warned == set(WARNINGS)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_malformed_mesh_is_rejected(name: str) -> None:
    assert refusal(MALFORMED / name) == REFUSALS[name]


@pytest.mark.parametrize("name", WARNINGS)
def test_a_corrected_mesh_weighs_what_it_should_and_warns(name: str) -> None:
    with pytest.warns(PysimWarning) as caught:
        theta = mesh_theta(MALFORMED / name, ONE, 1.0)
    assert [str(w.message) for w in caught] == [f"{MALFORMED / name}: {WARNINGS[name]}"]
    np.testing.assert_allclose(theta, cube_theta(), rtol=1e-14)


@pytest.mark.parametrize("name", [name for name in VERDICTS if VERDICTS[name] == "accept"])
def test_a_sound_mesh_weighs_what_the_primitive_weighs(name: str) -> None:
    np.testing.assert_allclose(mesh_theta(MALFORMED / name, ONE, 800), cube_theta(800), rtol=1e-14)


def test_a_count_that_lies_allocates_nothing() -> None:
    tracemalloc.start()
    try:
        refusal(MALFORMED / "count_4G.stl")
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


def test_scale_and_mirror_apply_before_the_integral(tmp_path: Path) -> None:
    path = write_obj(tmp_path / "cube.obj", CUBE - 0.5, FACES)
    theta = mesh_theta(path, (-0.2, 0.5, 1.1), 700)
    expected = primitive_theta(Shape("box", (0.2, 0.5, 1.1)), 700)
    np.testing.assert_allclose(theta, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".glb", ".dae"])
def test_every_format_weighs_the_same(suffix: str, tmp_path: Path) -> None:
    import trimesh

    path = tmp_path / f"cube{suffix}"
    trimesh.Trimesh(CUBE, FACES).export(path)
    np.testing.assert_allclose(mesh_theta(path, ONE, 3.0), cube_theta(3.0), rtol=1e-6)


def test_text_stl_is_read_whatever_its_case_and_indentation(tmp_path: Path) -> None:
    import trimesh

    text = str(trimesh.Trimesh(CUBE, FACES).export(file_type="stl_ascii"))
    path = tmp_path / "cube.STL"
    path.write_text(text.upper().replace("\n", "\r\n"), "utf-8")
    np.testing.assert_allclose(mesh_theta(path, ONE, 1.0), cube_theta(), rtol=1e-6)


def cube_collada() -> str:
    import trimesh

    data = trimesh.Trimesh(CUBE, FACES).export(file_type="dae")
    assert isinstance(data, bytes)
    return data.decode()


def test_collada_units_are_applied(tmp_path: Path) -> None:
    text = cube_collada()
    unit = '<unit name="millimeter" meter="0.001"/>'
    path = tmp_path / "cube.dae"
    path.write_text(text.replace("</modified>", f"</modified>{unit}"), "utf-8")
    assert unit in path.read_text("utf-8")
    assert mesh_theta(path, ONE, 1e9)[0] == pytest.approx(1.0, rel=1e-6)


def test_a_collada_shape_with_a_broken_material_is_kept(tmp_path: Path) -> None:
    text = cube_collada()
    path = tmp_path / "cube.dae"
    path.write_text(text.replace("<instance_material", '<instance_material target="#gone"', 1))
    path.write_text(path.read_text().replace('target="#gone" target=', 'target="#gone" symbol2='))
    assert mesh_theta(path, ONE, 1.0)[0] == pytest.approx(1.0, rel=1e-6)


def test_a_collada_file_with_entities_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "bomb.dae"
    path.write_text('<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "b">]><COLLADA/>', "utf-8")
    assert refusal(path) == "<!DOCTYPE> is rejected: it can define entities; remove it"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\0" * 10, "has 10 bytes, an STL file has at least 84; export it again"),
        (
            "solid a\nendsolid a\nfacet normal 0 0 1\n",
            "line 3: expected 'solid', got 'facet normal 0 0 1'; export it again",
        ),
        (
            "solid a\nfacet normal 0 0 1\nvertex 0 0 0\n",
            "line 3: expected 'outer loop', got 'vertex 0 0 0'; export it again",
        ),
        (
            "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0,5 0\n",
            "line 4: expected 'vertex' and three numbers with decimal points, got 'vertex 0 0,5 0'; export it again",
        ),
    ],
)
def test_a_wrong_line_of_stl_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "a.stl"
    path.write_text(text, "utf-8")
    assert refusal(path) == problem


@pytest.mark.parametrize("suffix", [".ply", ".glb", ".dae"])
@pytest.mark.parametrize("data", [b"\0", b"ply\n", b"glTF\2\0\0\0\xff\xff\xff\x7f", b"<COLLADA"])
def test_rubbish_is_rejected_in_one_line(suffix: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"rubbish{suffix}"
    path.write_bytes(data)
    problem = refusal(path)
    assert problem.startswith(f"cannot be read as {suffix[1:].upper()}: ")
    assert "\n" not in problem


@pytest.mark.parametrize("vertices", [8, 2**31 - 1])
def test_a_ply_count_that_lies_is_rejected(vertices: int, tmp_path: Path) -> None:
    path = tmp_path / "lies.ply"
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {vertices}\n"
    header += "".join(f"property float {axis}\n" for axis in "xyz")
    header += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    path.write_bytes(header.encode() + b"\0" * 50)
    assert "export" in refusal(path)


def test_an_open_mesh_has_no_mass_but_can_be_drawn(tmp_path: Path) -> None:
    path = write_obj(tmp_path / "open.obj", CUBE, FACES[:-1])
    check_mesh(path)
    assert refusal(path) == (
        "is not watertight: 3 edges are without a triangle on each side; close it, or give the "
        "body's mass, com and inertia as numbers"
    )


def test_a_flat_mesh_can_be_drawn() -> None:
    check_mesh(MALFORMED / "flat.stl")


def test_a_mesh_inside_out_is_turned_with_a_warning(tmp_path: Path) -> None:
    path = write_obj(tmp_path / "in.obj", CUBE, FACES[:, ::-1])
    with pytest.warns(PysimWarning, match="every triangle faces inwards; reversed for the volume$"):
        theta = mesh_theta(path, ONE, 1.0)
    np.testing.assert_allclose(theta, cube_theta(), rtol=1e-14)


def test_one_of_two_bodies_inside_out_is_turned_with_a_warning(tmp_path: Path) -> None:
    vertices = np.vstack([CUBE, CUBE + 3])
    path = write_obj(tmp_path / "two.obj", vertices, np.vstack([FACES, FACES[:, ::-1] + 8]))
    with pytest.warns(PysimWarning, match="1 of 2 shells is inside out; reversed for the volume$"):
        assert mesh_theta(path, ONE, 1.0)[0] == pytest.approx(2.0)


def test_a_cavity_takes_its_volume_away(tmp_path: Path) -> None:
    vertices = np.vstack([CUBE, 0.25 + CUBE / 2])
    path = write_obj(tmp_path / "hollow.obj", vertices, np.vstack([FACES, FACES[:, ::-1] + 8]))
    assert mesh_theta(path, ONE, 1.0)[0] == pytest.approx(1 - 1 / 8)


def test_two_bodies_through_each_other_are_reported(tmp_path: Path) -> None:
    vertices = np.vstack([CUBE, CUBE + np.array([0.3, 0.4, 0.6])])
    path = write_obj(tmp_path / "both.obj", vertices, np.vstack([FACES, FACES + 8]))
    with pytest.warns(
        PysimWarning, match=r"both\.obj: \d+ pairs of faces intersect, the first are faces"
    ):
        assert mesh_theta(path, ONE, 1.0)[0] == pytest.approx(2.0)


def test_cubes_that_share_an_edge_are_a_solid(tmp_path: Path) -> None:
    vertices = np.vstack([CUBE, CUBE + np.array([1, 1, 0])])
    path = write_obj(tmp_path / "edge.obj", vertices, np.vstack([FACES, FACES + 8]))
    assert mesh_theta(path, ONE, 1.0)[0] == pytest.approx(2.0)


def test_vertices_apart_by_rounding_are_joined_with_a_warning(tmp_path: Path) -> None:
    corners = CUBE[FACES]
    corners[0, 0] += 1e-7
    path = write_stl(tmp_path / "gap.stl", corners + 1e-8)
    with pytest.warns(
        PysimWarning, match="1 vertex is joined with another within 1e-06 of the mesh's size$"
    ):
        theta = mesh_theta(path, ONE, 1.0)
    np.testing.assert_allclose(theta, cube_theta(), rtol=1e-6)


def test_a_one_sided_surface_has_no_inside(tmp_path: Path) -> None:
    # the projective plane on six vertices: every pair of them is an edge of two triangles
    faces = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 5, 1]]
    faces += [[1, 2, 4], [2, 3, 5], [3, 4, 1], [4, 5, 2], [5, 1, 3]]
    vertices = np.random.default_rng(0).normal(size=(6, 3))
    path = write_obj(tmp_path / "plane.obj", vertices, np.array(faces))
    assert (
        refusal(path)
        == "has no inside: its surface is one-sided, like a Möbius strip; remove the twisted faces"
    )


def test_bytes_after_the_last_triangle_warn(tmp_path: Path) -> None:
    path = write_stl(tmp_path / "tail.stl", CUBE[FACES], tail=b"abc")
    with pytest.warns(PysimWarning, match="3 bytes after the last of 12 triangles are ignored$"):
        check_mesh(path)


def test_polygons_and_texture_indices_are_read(tmp_path: Path) -> None:
    path = tmp_path / "quads.obj"
    quads = [
        "1/1 2/2 4/3 3/4",
        "5//1 7//1 8//1 6//1",
        "1 5 6 2",
        "3/1/1 4 8 7",
        "1 3 7 5",
        "2 6 8 4",
    ]
    vertices = [f"v {x} {y} {z} 0.5 0.5 0.5" for x, y, z in CUBE]
    lines = ["# quads", "mtllib no.mtl", *vertices, "vt 0 0", "vn 0 0 1", "usemtl no"]
    path.write_text("\n".join([*lines, *(f"f {quad} # side" for quad in quads)]), "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        theta = mesh_theta(path, ONE, 1.0)
    np.testing.assert_allclose(theta, cube_theta(), rtol=1e-14)
    assert caught == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("v 0 0", "line 1: expected 'v' and three numbers, got 'v 0 0'"),
        ("v 0x1 0 0", "line 1: expected 'v' and three numbers, got 'v 0x1 0 0'"),
        ("v 1_0 0 0", "line 1: expected 'v' and three numbers, got 'v 1_0 0 0'"),
        ("f 1 2", "line 1: expected 'f' and at least three indices, got 'f 1 2'"),
        ("f 1 2 x", "line 1: expected 'f' and at least three indices, got 'f 1 2 x'"),
        ("f -1 -2 -3", "line 1: face index -1, but there are 0 vertices; export it again"),
        ("v nan 0 0\nf 1 1 1", "vertex 0 is (nan, 0, 0), not finite; export the mesh again"),
        ("v 1e30 0 0\nf 1 1 1", "has a vertex 1e+30 from the origin; export the mesh again"),
    ],
)
def test_a_wrong_line_of_an_obj_is_reported_with_its_number(
    line: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.obj"
    path.write_text(line, "utf-8")
    assert refusal(path) == problem


def test_a_missing_file_and_an_unknown_format_are_rejected(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.stl") == (
        "cannot be read: no such file or directory; check the path"
    )
    path = tmp_path / "part.step"
    path.write_text("x")
    assert refusal(path) == "unknown kind of mesh '.step'; pysim reads .stl, .obj, .ply, .dae, .glb"


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = write_obj(tmp_path / "cube.obj", CUBE, FACES)
    assert len(read_mesh(path).faces) == 12
    write_obj(path, CUBE, FACES[:-1])
    assert len(read_mesh(path).faces) == 11


def test_a_mesh_too_far_from_its_origin_for_its_precision_is_rejected(tmp_path: Path) -> None:
    path = write_stl(tmp_path / "far.stl", (CUBE + 1e6)[FACES])
    assert refusal(path) == (
        "is 1 m across and 1e+06 m from its origin, too far for the precision of its vertices "
        "(at most 10000 times its size); export it near its origin and move the body instead"
    )
    near = write_stl(tmp_path / "near.stl", (CUBE + 1e3)[FACES])
    assert mesh_theta(near, ONE, 1.0)[0] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("across", [1e-40, 1e-10])
def test_a_mesh_smaller_than_a_nanometre_is_rejected(tmp_path: Path, across: float) -> None:
    path = write_stl(tmp_path / "small.stl", (CUBE * across)[FACES])
    assert refusal(path) == (
        f"is {across:g} m across, at least 1e-09 m are needed; check its unit, or set scale"
    )


@pytest.mark.parametrize("options", [{}, {"repair": True}, {"convex": True}, {"shell": 1e-3}])
def test_a_mesh_whose_moments_overflow_is_rejected(
    tmp_path: Path, options: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """Two shells of 1e140 m, whose solid angles about each other are NaN; LAPACK prints nothing about them."""
    shells = np.vstack([CUBE, 0.5 * CUBE + 0.1])
    path = write_obj(tmp_path / "large.obj", shells, np.vstack([FACES, FACES + 8]))
    problem = (
        "vertex 1 at (0, 0, 1e+140) [m] is so far away that moments of inertia overflow; scale the mesh to "
        "coordinates of at most 1e+60 [m]"
    )
    with pytest.raises(SceneError, match=re.escape(f"{path}: {problem}")):
        mesh_theta(path, (1e140, 1e140, 1e140), 1.0, **options)
    assert capfd.readouterr() == ("", "")


def test_an_edge_of_three_triangles_is_a_typed_error(tmp_path: Path) -> None:
    """Closing holes walks along open edges, and the same edge may occur several times."""
    extra = np.vstack([FACES, [[0, 3, 1]]])
    path = write_obj(tmp_path / "extra.obj", CUBE, extra)
    with pytest.raises(SceneError, match="is not watertight: 3 edges are without a triangle"):
        mesh_theta(path, ONE, 1.0, repair=True)


def test_a_mesh_of_triangles_without_corners_is_rejected(tmp_path: Path) -> None:
    path = write_obj(tmp_path / "lines.obj", CUBE, np.array([[0, 0, 1], [2, 2, 7]]))
    assert refusal(path) == "has no triangle whose corners differ; export the mesh again"


@pytest.mark.parametrize("middle", [1, 2], ids=["repeated corner", "corners on a line"])
def test_triangles_without_area_are_counted(tmp_path: Path, middle: int) -> None:
    """A tetrahedron with a triangle along one of its edges has the volume 1/6 of the one without."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0, 0)]
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
    if middle == 2:  # an edge is divided on one side alone
        faces[1:2] = [(0, 4, 3), (4, 1, 3)]
        faces.append((0, 1, 4))
    else:
        faces.append((0, 1, 1))
    rows = [f"v {x} {y} {z}" for x, y, z in corners]
    rows += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path = tmp_path / "thin.obj"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    expected = (
        rf"thin\.obj: has 1 face without area, the first is face {len(faces) - 1}; they add nothing"
    )
    with pytest.warns(PysimWarning, match=expected):
        theta = mesh_theta(path, 1.0, 1.0)
    assert theta[0] == pytest.approx(1 / 6, rel=1e-12)
