"""Meshes that are not convex and collide as convex parts.

Oracles: statics in a channel and on a peg, in closed form; the same shape made of boxes; the files of the cache.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError, PysimError
from pysim.meshes import read_mesh
from pysim.meshes.decomposition import convex_parts
from tests.commands import check_scene
from tests.contact.scenes import STIFF, G, free, ran, world as scene_of

FLOOR = 0.1  # height of the channel's inner floor [m]
CUT = 1.5e-4  # of parts from the mesh, where planes cut along its faces: 2e-4 of its size [m]
CHANNEL = [(-0.3, 0), (0.3, 0), (0.3, 0.4), (0.2, 0.4), (0.2, FLOOR), (-0.2, FLOOR), (-0.2, 0.4),
           (-0.3, 0.4)]  # fmt: skip
CAP = [(0, 1, 4), (1, 2, 3), (1, 3, 4), (0, 4, 5), (0, 5, 6), (0, 6, 7)]
FIXED = """
[[body]]
name = "{name}"
mass = 5.0
inertia = {{ xx = 1.0, yy = 1.0, zz = 1.0 }}
collision = [{shapes}]
[[joint]]
name = "{name} is fixed"
type = "fixed"
child = "{name}"
"""


def obj(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices, float).tolist()]
    rows += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in np.asarray(faces).tolist()]
    path.write_text("\n".join(rows) + "\n", "utf-8")


def channel(path: Path) -> None:
    """Write a channel along y, of 0.6 × 0.8 × 0.4 m, open at the top."""
    n = len(CHANNEL)
    vertices = [(x, y, z) for y in (-0.4, 0.4) for x, z in CHANNEL]
    faces = CAP + [(a + n, c + n, b + n) for a, b, c in CAP]
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j + n, j), (i, i + n, j + n)]
    obj(path, np.array(vertices), np.array(faces))


def ring(path: Path, sides: int = 8) -> None:
    """Write a ring about y of an octagonal hole, square in section: radii 0.1 and 0.15 m, 0.05 m wide."""
    angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides  # a side of the hole is horizontal
    section = [(0.1, -0.025), (0.15, -0.025), (0.15, 0.025), (0.1, 0.025)]
    r = np.array([s[0] for s in section]) / np.cos(np.pi / sides)
    y = np.array([s[1] for s in section])
    vertices = np.stack(
        [np.outer(np.cos(angle), r), np.tile(y, (sides, 1)), np.outer(np.sin(angle), r)], axis=-1
    ).reshape(-1, 3)
    faces = []
    for i in range(sides):
        a, b = 4 * i, 4 * ((i + 1) % sides)
        for k in range(4):
            m = (k + 1) % 4
            faces += [(a + k, a + m, b + m), (a + k, b + m, b + k)]
    obj(path, vertices, np.array(faces))


@pytest.fixture(scope="module")
def parts_of_all_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of convex parts: most tests have the same channel."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, parts_of_all_tests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(parts_of_all_tests))
    channel(tmp_path / "channel.obj")


def in_channel(tmp_path: Path, decompose: str = "decompose = true", **changes: object):
    """A box over a channel that is fixed to the world."""
    fixed = FIXED.format(name="channel", shapes=f'{{ mesh = "channel.obj", {decompose} }}')
    box = free("box", "{ box = [0.2, 0.3, 0.1] }", 2.0, f"{{ xyz = [0.02, 0.03, {FLOOR + 0.1}] }}")
    return scene_of(tmp_path, fixed + box, surface=f"friction = 0.5\n{STIFF}", **changes)  # type: ignore[arg-type]


def test_a_box_falls_into_a_channel_and_rests_on_its_inner_floor(tmp_path: Path) -> None:
    """Its weight is carried, and it lies flat at the height of the floor and half its own."""
    trajectory = ran(in_channel(tmp_path, duration=1.0))
    assert trajectory.q[-1, 2] == pytest.approx(FLOOR + 0.05, abs=CUT)
    assert trajectory.q[-1, 3:7] == pytest.approx([0, 0, 0, 1], abs=1e-3)
    force = trajectory.contact_forces[-1].sum(axis=0)
    assert force[2] == pytest.approx(2.0 * G, rel=1e-6)
    assert np.abs(trajectory.v[-1]).max() < 1e-8


def test_a_channel_of_convex_parts_carries_as_one_of_boxes(tmp_path: Path) -> None:
    """A ball that rolls across the floor against a wall ends where it does among boxes."""
    boxes = (
        "{ box = [0.6, 0.8, 0.1], at = { xyz = [0, 0, 0.05] } }, "
        "{ box = [0.1, 0.8, 0.3], at = { xyz = [-0.25, 0, 0.25] } }, "
        "{ box = [0.1, 0.8, 0.3], at = { xyz = [0.25, 0, 0.25] } }"
    )
    ends = []
    for shapes in ('{ mesh = "channel.obj", decompose = true }', boxes):
        start = f"{{ xyz = [0, 0, {FLOOR + 0.05}], v = [0.6, 0.05, 0, 0, 0, 0] }}"
        ball = free("ball", "{ sphere = { radius = 0.05 } }", 1.0, start)
        surface = "friction = 0.4\nstiffness = 1e5\nrestitution = { value = 0.5, at = 1.0 }"
        text = FIXED.format(name="channel", shapes=shapes) + ball
        ends.append(ran(scene_of(tmp_path, text, surface=surface, duration=0.8)).q[-1, :3])
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-4)


def test_a_peg_carries_a_ring_by_its_hole(tmp_path: Path) -> None:
    """Its hole touches the peg at the top; its hull would rest on the outside."""
    ring(tmp_path / "ring.obj")
    peg = FIXED.format(
        name="peg",
        shapes="{ cylinder = { radius = 0.04, length = 0.4 }, at = { rpy = [1.5707963267948966, 0, 0] } }",
    )
    body = f"""
[[body]]
name = "ring"
mass = 1.0
inertia = {{ xx = 0.01, yy = 0.02, zz = 0.01 }}
collision = [{{ mesh = "ring.obj", decompose = true }}]
[[joint]]
name = "ring moves"
type = "free"
child = "ring"
start = {{ xyz = [0, 0, {0.04 - 0.1 + 0.001!r}] }}
"""
    trajectory = ran(
        scene_of(tmp_path, peg + body, surface=f"friction = 0.5\n{STIFF}", duration=1.5)
    )
    assert trajectory.q[-1, 2] == pytest.approx(0.04 - 0.1, abs=2e-4)
    assert trajectory.contact_forces[-1].sum(axis=0)[2] == pytest.approx(G, rel=1e-6)


def files_of(tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ...]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
    return convex_parts(tmp_path / "channel.obj", (1.0, 1.0, 1.0), 0.05)


def test_parts_of_the_cache_are_those_that_were_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two empty caches, when read again, and when a file of the cache was truncated."""
    first = files_of(tmp_path, "one", monkeypatch)
    contents = [file.read_bytes() for file in first]
    assert len(first) >= 3
    second = files_of(tmp_path, "two", monkeypatch)
    assert [file.read_bytes() for file in second] == contents
    changed = second[0].stat().st_mtime_ns
    assert files_of(tmp_path, "two", monkeypatch) == second
    assert second[0].stat().st_mtime_ns == changed  # read, not written again
    second[1].write_bytes(contents[1][:-20])
    assert files_of(tmp_path, "two", monkeypatch) == second
    assert [file.read_bytes() for file in second] == contents
    (second[0].parent / "parts.json").write_text("no list", "utf-8")
    assert [file.read_bytes() for file in files_of(tmp_path, "two", monkeypatch)] == contents
    assert not list(second[0].parent.parent.glob("part-*"))


def test_parts_are_convex_and_have_the_volume_of_the_mesh(tmp_path: Path) -> None:
    """To the concavity of 0.05 of half the largest extent, across the area of cuts: here to 1 %."""
    from pysim.contact.hulls import mesh_hull
    from pysim.meshes import mesh_theta

    one = (1.0, 1.0, 1.0)
    files = convex_parts(tmp_path / "channel.obj", one, 0.05)
    volumes = [mesh_hull(file, one).volume for file in files]
    own = mesh_theta(tmp_path / "channel.obj", one, 1.0)[0]
    assert own == pytest.approx(0.8 * (0.6 * 0.4 - 0.4 * 0.3), rel=1e-12)
    assert sum(volumes) == pytest.approx(own, rel=0.01)
    for file, volume in zip(files, volumes, strict=True):
        assert mesh_theta(file, one, 1.0)[0] == pytest.approx(volume, rel=1e-6)
        assert len(read_mesh(file).faces) >= 4


def test_scale_and_settings_have_parts_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "channel.obj"
    one = convex_parts(path, (1.0, 1.0, 1.0), 0.05)
    half = convex_parts(path, (0.5, 0.5, 0.5), 0.05)
    single = convex_parts(path, (1.0, 1.0, 1.0), 0.05, parts=1)
    assert len({files[0].parent for files in (one, half, single)}) == 3
    assert len(single) == 1
    high = [np.vstack([read_mesh(f).vertices for f in files]).max(axis=0) for files in (one, half)]
    np.testing.assert_allclose(high[0], [0.3, 0.4, 0.4], atol=1e-6)
    np.testing.assert_allclose(high[1], [0.15, 0.2, 0.2], atol=1e-6)


def test_a_convex_mesh_is_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trimesh

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trimesh.creation.box((0.2, 0.2, 0.2)).export(tmp_path / "cube.obj")
    cube = FIXED.format(name="cube", shapes='{ mesh = "cube.obj", decompose = true }')
    ball = free("ball", "{ sphere = { radius = 0.05 } }", 1.0, "{ xyz = [0, 0, 0.15] }")
    scene = scene_of(tmp_path, cube + ball, duration=0.1)
    assert scene.contacts is not None
    assert len(scene.contacts.shapes) == 1
    assert not (tmp_path / "cache").exists()


def test_a_concave_mesh_without_a_key_is_refused_with_the_remedies(tmp_path: Path) -> None:
    expected = re.escape(
        "mesh 'channel.obj' is not convex, it fills 50 % of its hull; let it collide as convex parts with decompose = "
        "true, or as its hull with convex = true, or give simpler shapes"
    )
    with pytest.raises(PysimError, match=expected):
        in_channel(tmp_path, "color = [1, 0, 0]")


def test_without_the_package_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(ModelError) as caught:
        in_channel(tmp_path)
    assert str(caught.value).endswith(
        "world.toml:11:14: body[0].collision[0]: mesh 'channel.obj' cannot collide: its convex parts need the package "
        "'coacd', which is not installed; pip install 'pysim-multibody[coacd]', or let it collide as its hull with "
        "convex = true"
    )


def test_an_open_mesh_is_refused_with_the_number_of_its_edges(tmp_path: Path) -> None:
    mesh = read_mesh(tmp_path / "channel.obj")
    obj(tmp_path / "channel.obj", mesh.vertices, mesh.faces[:-1])
    with pytest.raises(
        ModelError, match="is not watertight: 3 edges are without a triangle on each"
    ):
        in_channel(tmp_path)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("{ sphere = { radius = 1 }, decompose = true }", "decompose is for a mesh"),
        (
            '{ mesh = "channel.obj", decompose = true, convex = true }',
            "convex and decompose are alternatives; give one of them",
        ),
        ('{ mesh = "channel.obj", decompose = { concavity = 0 } }', "concavity"),
        ('{ mesh = "channel.obj", decompose = { parts = 0 } }', "parts"),
    ],
)
def test_keys_that_do_not_fit_are_errors(tmp_path: Path, shape: str, expected: str) -> None:
    fixed = FIXED.format(name="channel", shapes=shape)
    ball = free("ball", "{ sphere = { radius = 0.05 } }", 1.0, "{ xyz = [0, 0, 1] }")
    with pytest.raises(PysimError, match=expected):
        scene_of(tmp_path, fixed + ball)


def test_a_solid_that_does_not_collide_has_no_parts(tmp_path: Path) -> None:
    body = """
[[body]]
name = "channel"
shape = { mesh = "channel.obj", density = 100, decompose = true }
[[joint]]
name = "channel is fixed"
type = "fixed"
child = "channel"
"""
    expected = "decompose: is for a shape that collides; write collision = true, or remove it"
    with pytest.raises(PysimError, match=re.escape(expected)):
        scene_of(tmp_path, body)


def test_converted_scenes_keep_the_parts(tmp_path: Path) -> None:
    from pysim.scene.convert import convert

    scene = in_channel(tmp_path, "decompose = { concavity = 0.1, parts = 8 }")
    convert(tmp_path / "world.toml", tmp_path / "flat.toml")
    text = (tmp_path / "flat.toml").read_text("utf-8")
    assert "decompose = { concavity = 0.1, parts = 8 }" in text.replace("  ", " ")
    again = pysim.load_scene(tmp_path / "flat.toml")
    assert [s.hull.volume for s in shapes(scene)] == [s.hull.volume for s in shapes(again)]


def shapes(scene: pysim.Scene) -> list[Any]:
    assert scene.contacts is not None
    return [s.opposite for s in scene.contacts.shapes]


URDF = """<robot name="r">
  <link name="cup">
    <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="channel.obj"/></geometry></collision>
  </link>
</robot>
"""
MODEL = """
[[model]]
file = "r.urdf"
{extra}
[[ground]]
plane = {{ normal = [0, 0, 1], offset = -1.0 }}
"""


def in_cup(tmp_path: Path, extra: str, **changes: object) -> pysim.Scene:
    (tmp_path / "r.urdf").write_text(URDF, "utf-8")
    ball = free("ball", "{ sphere = { radius = 0.05 } }", 1.0, "{ xyz = [0, 0, 0.6] }")
    surface = f"friction = 0.5\n{STIFF}"
    return scene_of(tmp_path, MODEL.format(extra=extra) + ball, surface=surface, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("extra", "height"),
    [("", 0.4), ("decompose = true", FLOOR), ('decompose = ["cup"]', FLOOR)],
    ids=["hull", "all", "named"],
)
def test_a_mesh_of_a_robot_is_its_hull_unless_it_is_decomposed(
    tmp_path: Path, extra: str, height: float
) -> None:
    trajectory = ran(in_cup(tmp_path, extra, duration=1.5))
    assert trajectory.q[-1, 2] == pytest.approx(height + 0.05, abs=CUT)


def test_check_reports_hulls_and_parts_with_their_volumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_cup(tmp_path, "")
    check_scene(tmp_path / "world.toml")
    text = capsys.readouterr().out
    assert (
        "hulls       1 mesh that is not convex collides as its hull, which adds volume: 'channel.obj' of 'cup' 100 %; "
        "decompose of its [[model]] lets it collide as convex parts"
    ) in text
    in_cup(tmp_path, "decompose = true")
    check_scene(tmp_path / "world.toml")
    text = capsys.readouterr().out
    assert re.search(
        r"parts +1 mesh collides as convex parts: 'channel.obj' of 'cup' as [34]", text
    )
    assert "  hulls " not in text


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ('decompose = ["cap"]', "the file has no body 'cap'"),
        ('decompose = true\ncollision = "none"', "decompose: no mesh of the file collides"),
        (
            'decompose = ["cup"]\ncollision = "none"',
            "body 'cup' has no mesh that collides; remove it",
        ),
    ],
)
def test_decompose_of_a_model_names_links_with_meshes(
    tmp_path: Path, extra: str, expected: str
) -> None:
    with pytest.raises(PysimError, match=re.escape(expected)):
        in_cup(tmp_path, extra)
