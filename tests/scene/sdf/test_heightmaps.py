"""Heightmaps of SDF files as grounds. Oracles: the pixels that were written; statics of a ball on the terrain."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SceneError
from pysim.scene import read_model
from pysim.shapes import HeightField

MAP = """<model name="terrain"><static>true</static><pose>1 2 3 0 0 0</pose><link name="soil">
<collision name="c"><surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction></surface>
<geometry><heightmap><uri>{uri}</uri>{size}<pos>0 0 -0.5</pos>
<sampling>2</sampling></heightmap></geometry></collision>
<visual name="v"><geometry><heightmap><uri>{uri}</uri><texture><size>10</size></texture></heightmap></geometry></visual>
</link></model>"""
SIZE = "<size>4 2 0.8</size>"
BALL = """<model name="b"><pose>{at} 0 0 0</pose><link name="ball">
<inertial><mass>1</mass><inertia><ixx>0.004</ixx><iyy>0.004</iyy><izz>0.004</izz></inertia></inertial>
<collision name="skin"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model>"""
PIXELS = np.array([[0, 50, 100, 50, 0], [0, 0, 0, 0, 0], [200, 150, 100, 50, 0]], np.uint8)


def written(folder: Path, models: str, pixels: np.ndarray = PIXELS) -> Path:
    import imageio.v3 as imageio

    imageio.imwrite(folder / "hills.png", pixels)
    path = folder / "w.sdf"
    path.write_text(f'<sdf version="1.9"><world name="w">{models}</world></sdf>', "utf-8")
    return path


def test_a_heightmap_of_a_static_model_is_a_ground_with_its_pixels(tmp_path: Path) -> None:
    """The lightest pixel, 200, has the height size z; the first row is the one with the largest y."""
    path = written(tmp_path, MAP.format(uri="hills.png", size=SIZE) + BALL.format(at="0 0 9"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        spec = read_model(path)
    assert spec.contacts is not None
    (ground,) = spec.contacts.grounds
    assert spec.contacts.materials[ground.material].static_friction == 0.5
    assert ground.field is not None
    np.testing.assert_allclose(ground.field.pose[:3, 3], [1, 2, 2.5])
    field = ground.field.shape.field
    assert isinstance(field, HeightField)
    assert field.size == pytest.approx((4, 2))
    np.testing.assert_allclose(field.heights, PIXELS[::-1] * (0.8 / 200), rtol=1e-14)
    assert any("<texture> is not read" in line for line in spec.omitted)


def test_a_ball_rests_on_the_heightmap_of_its_file(tmp_path: Path) -> None:
    pixels = np.full((5, 5), 128, np.uint8)
    path = written(
        tmp_path, MAP.format(uri="hills.png", size=SIZE) + BALL.format(at="1.3 2.2 3.4"), pixels
    )
    (tmp_path / "s.toml").write_text(
        f'[[model]]\nfile = "{path.name}"\n[simulation]\nduration = 1\n', "utf-8"
    )
    trajectory = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    assert trajectory.q[-1, 2] == pytest.approx(3 - 0.5 + 0.8 + 0.1, abs=5e-4)


def ground_of(scene: pysim.Scene) -> Any:
    assert scene.model.spec.contacts is not None
    (ground,) = scene.model.spec.contacts.grounds
    return ground


def test_a_converted_heightmap_is_the_same_ground(tmp_path: Path) -> None:
    written(tmp_path, MAP.format(uri="hills.png", size=SIZE) + BALL.format(at="0 0 9"))
    (tmp_path / "s.toml").write_text('[[model]]\nfile = "w.sdf"\n', "utf-8")
    scene = pysim.load_scene(tmp_path / "s.toml")
    from pysim.scene.convert import convert

    convert(tmp_path / "s.toml", tmp_path / "flat.toml")
    again = pysim.load_scene(tmp_path / "flat.toml")
    a, b = (ground_of(x) for x in (scene, again))
    np.testing.assert_allclose(a.field.pose, b.field.pose)
    np.testing.assert_allclose(a.field.shape.field.heights, b.field.shape.field.heights, rtol=1e-14)


@pytest.mark.parametrize(
    ("uri", "size", "expected"),
    [
        ("gone.png", SIZE, "link 'soil': collision 'c' is left out: heightmap 'gone.png': "),
        ("hills.dem", SIZE, "link 'soil': collision 'c' is left out: heightmap 'hills.dem': "),
    ],
)
def test_a_heightmap_without_a_readable_image_is_left_out(
    tmp_path: Path, uri: str, size: str, expected: str
) -> None:
    path = written(tmp_path, MAP.format(uri=uri, size=size) + BALL.format(at="0 0 9"))
    (tmp_path / "hills.dem").write_bytes(b"no image")
    with pytest.warns(PysimWarning) as caught:
        read_model(path)
    assert any(expected in str(w.message) for w in caught)


def test_a_heightmap_without_height_is_left_out(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        MAP.format(uri="hills.png", size="<size>4 2 -1</size>") + BALL.format(at="0 0 9"),
    )
    expected = "<size> of <heightmap> must be three positive numbers"
    with pytest.warns(PysimWarning, match=expected):
        read_model(path)


def test_a_heightmap_of_a_moving_link_is_left_out(tmp_path: Path) -> None:
    moving = MAP.format(uri="hills.png", size=SIZE).replace("<static>true</static>", "")
    moving = moving.replace(
        '<link name="soil">', '<link name="soil"><inertial><mass>1</mass></inertial>'
    )
    expected = "is left out: a <heightmap> is a ground; make its model <static>"
    with pytest.warns(PysimWarning, match=expected):
        spec = read_model(written(tmp_path, moving))
    assert spec.contacts is None or not spec.contacts.grounds


def test_a_heightmap_that_is_only_drawn_is_left_out(tmp_path: Path) -> None:
    text = MAP.format(uri="hills.png", size=SIZE)
    head, _, rest = text.partition("<collision")
    drawn = head + rest.partition("</collision>")[2]
    with pytest.warns(PysimWarning, match="visual 'v' is left out: a heightmap is drawn if it"):
        read_model(written(tmp_path, drawn + BALL.format(at="0 0 9")))


def test_a_forbidden_heightmap_is_an_error(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    written(tmp_path, "")
    path = inner / "w.sdf"
    models = MAP.format(uri="../../../hills.png", size=SIZE) + BALL.format(at="0 0 9")
    path.write_text(f'<sdf version="1.9"><world name="w">{models}</world></sdf>', "utf-8")
    with pytest.raises(SceneError, match=r"hills\.png"):
        read_model(path)
