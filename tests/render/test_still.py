"""Stills, judged by their pixels: what was asked for is there, where it should be."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh  # noqa: TID253, makes the meshes

import pysim
from pysim.errors import PysimError, PysimWarning, TrajectoryError
from pysim.render import meshes, movie, plot, still
from pysim.render.meshes import Part, box_of_joints, mesh_parts, primitive
from pysim.render.options import render_options
from pysim.render.player import Player
from pysim.render.window import capture, downsampled, offscreen
from pysim.render.windows.picking import body_at
from pysim.shapes import Geometry, Shape
from pysim.trajectory import Trajectory, load_trajectory
from tests.render.scenes import SMALL, cart, drawn, moving, place, red

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.render


def middle_of(mask: np.ndarray) -> np.ndarray:
    return np.asarray(np.argwhere(mask).mean(axis=0))


def test_a_body_moves_across_the_picture_and_stays_inside_it() -> None:
    first, last = (red(still(cart(), time=time, azimuth=-90.0, **SMALL)) for time in (0.0, 0.5))
    for mask in (first, last):
        assert mask.sum() > 200
        assert not mask[[0, -1]].any()
        assert not mask[:, [0, -1]].any()
    assert middle_of(last)[1] - middle_of(first)[1] > 40  # seen from −y, x points right


def test_supersampling_keeps_the_size_and_the_mean(tmp_path: Path) -> None:
    size = (161, 120)  # without the grid: its lines are never thinner than a drawn pixel
    hard = still(cart(), tmp_path / "cart.png", size=size, supersample=1, ground=False)
    soft = still(cart(), size=size, supersample=3, ground=False)
    assert hard.shape == soft.shape == (120, 161, 3)
    np.testing.assert_allclose(hard.mean(), soft.mean(), rtol=0.02)
    from PIL import Image

    with Image.open(tmp_path / "cart.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture), hard)


def test_a_pixel_is_the_mean_of_what_was_drawn_for_it() -> None:
    drawn_larger = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    from PIL import Image

    expected = drawn_larger.reshape(2, 2, 2, 2, 3).astype(float).mean(axis=(1, 3))
    image = Image.fromarray(drawn_larger)
    np.testing.assert_allclose(np.asarray(downsampled(image, 2)), expected, atol=0.5)


def test_a_picture_in_which_nothing_moves_is_reported() -> None:
    line = np.zeros((3, 3))
    with pytest.warns(PysimWarning) as reported:
        still(moving(line, world=[drawn(Shape("box", size=(1, 1, 1)))]), **SMALL)
    problem = "nothing that moves is drawn, because body 'cart' has no shape"
    remedy = "give one a shape or a visual in its scene, or pass frames or trails"
    text = f"{moving(line).source}: {problem}; {remedy}"
    assert [str(warning.message) for warning in reported] == [text]
    still(moving(line), frames=("cart",), **SMALL)  # its axes are there to see


@pytest.mark.parametrize("option", ["ground", "shadows", "label"])
def test_options_that_are_off_remove_their_parts_of_the_picture(option: str) -> None:
    with_it, without = (still(cart(), **{**SMALL, option: on}) for on in (True, False))
    assert (with_it != without).any()


@pytest.mark.parametrize(
    "wish", [{"trails": ("cart",)}, {"trails": ("tip",)}, {"frames": ("*",)}, {"frames": ("mark",)}]
)
def test_trails_and_axes_are_drawn_when_asked_for(wish: dict[str, Any]) -> None:
    plain, asked = still(cart(), **SMALL), still(cart(), **SMALL, **wish)
    assert (plain != asked).any(axis=-1).sum() > 5


def test_a_picture_does_not_depend_on_those_before_it() -> None:
    first = still(cart(), **SMALL)
    still(cart(), frames=("*",), **SMALL)
    np.testing.assert_array_equal(still(cart(), **SMALL), first)


def test_wishes_of_the_scene_count_and_the_callers_count_more() -> None:
    assert still(cart(render={"size": [80, 60], "fps": None})).shape == (60, 80, 3)
    assert still(cart(render={"size": [80, 60]}), size=(64, 48)).shape == (48, 64, 3)


@pytest.mark.parametrize(
    "shape",
    [
        Shape("box", (0.4, 0.4, 0.4)),
        Shape("sphere", (0.25,)),
        Shape("cylinder", (0.2, 0.4)),
        Shape("capsule", (0.15, 0.3)),
        Shape("cone", (0.2, 0.5)),
        Shape("ellipsoid", (0.3, 0.2, 0.1)),
    ],
)
def test_every_primitive_is_drawn_in_its_colour(shape: Shape) -> None:
    body = drawn(shape, color=(0.9, 0.1, 0.1, 1.0))
    assert red(still(moving(np.zeros((2, 3)), body), **SMALL)).sum() > 200


def test_a_mesh_is_drawn_in_the_colour_of_its_file(tmp_path: Path) -> None:
    mesh = trimesh.creation.box((0.4, 0.4, 0.4))
    mesh.visual.face_colors = [230, 20, 20, 255]
    mesh.export(tmp_path / "cube.ply")
    body = drawn(Shape("mesh", mesh=tmp_path / "cube.ply", scale=(1.0, -1.0, 2.0)))
    assert red(still(moving(np.zeros((2, 3)), body), **SMALL)).sum() > 200


def test_a_body_without_visuals_shows_its_collision_shapes() -> None:
    hull = drawn(Shape("sphere", (0.3,)), color=(0.9, 0.1, 0.1, 1.0), role="collision")
    skin = drawn(Shape("sphere", (0.3,)), color=(0.1, 0.1, 0.9, 1.0))
    assert red(still(moving(np.zeros((2, 3)), hull), **SMALL)).any()
    both = moving(np.zeros((2, 3)), hull, skin)
    assert not red(still(both, **SMALL)).any()
    assert red(still(both, collision=True, **SMALL)).any()


def test_a_translucent_body_lets_another_shine_through() -> None:
    ball = drawn(Shape("sphere", (0.2,)), color=(0.9, 0.1, 0.1, 1.0))
    glass = drawn(Shape("box", (0.6, 0.6, 0.6)), color=(1.0, 1.0, 1.0, 0.2))
    image = still(moving(np.zeros((2, 3)), glass, world=[ball]), **SMALL).astype(int)
    assert (image[..., 0] - image[..., 2] > 40).sum() > 200


@pytest.mark.parametrize("role", ["body", "world"])
def test_a_translucent_shape_leaves_the_depth_of_the_opaque_ones(role: str) -> None:
    """Oracle: the opaque shapes on a body of their own; the box hides the ball, the glass is beside both."""
    box = drawn(Shape("box", (0.4, 0.4, 0.4)), place(0, -0.5), color=(0.1, 0.1, 0.9, 1.0))
    ball = drawn(Shape("sphere", (0.1,)), place(0, 0, -0.1), color=(0.9, 0.1, 0.1, 1.0))
    glass = drawn(Shape("sphere", (0.1,)), place(0.8), color=(0.2, 0.9, 0.2, 0.4))
    other = drawn(Shape("sphere", (0.1,)), place(-0.8))
    for order in ((box, ball, glass), (glass, ball, box), (ball, glass, box)):
        own, world = ((*order, other), ()) if role == "body" else ((other,), order)
        image = still(moving(np.zeros((2, 3)), *own, world=world), azimuth=-90.0, **SMALL)
        assert not red(image).any()
        green = (image[..., 1].astype(int) - image[..., 0] > 30) & (image[..., 1] > 90)
        assert green.sum() > 30


def test_a_translucent_wall_shows_what_moves_behind_it_in_moving_pictures() -> None:
    """Oracle: the picture drawn at once."""
    wall = drawn(Shape("box", (3.0, 0.02, 1.0)), place(0, -0.5, 0.5), color=(0.9, 0.9, 1.0, 0.4))
    box = drawn(Shape("box", (0.4, 0.3, 0.3)), color=(0.9, 0.1, 0.1, 1.0))
    way = np.column_stack([np.linspace(0, 1, 11), np.zeros(11), np.full(11, 0.15)])
    run = moving(way, box, world=[wall])
    options = render_options(run, azimuth=-90.0, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        for time in (0.0, 0.1, 0.2):
            player.show(time)
            moved = capture(plotter, options, player.draw)
        np.testing.assert_allclose(moved, capture(plotter, options), atol=2)


def test_a_translucent_shape_is_picked_with_its_body() -> None:
    glass = drawn(Shape("sphere", (0.3,)), color=(0.9, 0.1, 0.1, 0.4))
    base = drawn(Shape("box", (0.4, 0.4, 0.1)), place(0, 0, -0.4))
    run = moving(np.zeros((2, 3)), base, glass)
    options = render_options(run, azimuth=-90.0, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        capture(plotter, options)
        found = body_at(player, 80, 70)
    assert found is not None
    assert found[0] == 0


def test_a_model_and_a_scene_are_drawn_at_their_start(tmp_path: Path) -> None:
    """Oracle: the picture of a run's first row."""
    path = ROOT / "scenes" / "double_pendulum.toml"
    scene, model = pysim.load_scene(path), pysim.load_model(path)
    first = Trajectory.of(model, [0.0], scene.state.q[None], name=scene.spec.name)
    options: dict[str, Any] = {**SMALL, "azimuth": -90.0, "trails": ()}
    expected = still(first, **options)
    np.testing.assert_array_equal(still(scene, tmp_path / "scene.png", **options), expected)
    assert (tmp_path / "scene.png").is_file()
    assert still(model, **options).std() > 5
    with pytest.raises(TrajectoryError) as caught:
        still(scene, time=1.0)
    assert str(caught.value) == "double pendulum: has no t = 1 s; give a time from 0 to 0 s"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("run.h5", "a Trajectory, a Model or a Scene, got a str; pass pysim.load_trajectory('run.h5')"),
        (
            [1.0],
            "a Trajectory, a Model or a Scene, got a list; pass what pysim.simulate or pysim.load_trajectory returns",
        ),
    ],
)  # fmt: skip
def test_other_objects_are_rejected(given: Any, text: str) -> None:
    with pytest.raises(PysimError) as caught:
        still(given, **SMALL)
    assert str(caught.value) == f"still: needs {text}"


def test_movies_and_plots_need_a_motion(tmp_path: Path) -> None:
    path = ROOT / "scenes" / "double_pendulum.toml"
    scene, model = pysim.load_scene(path), pysim.load_model(path)
    remedies: list[tuple[Any, str]] = [
        (scene, "Scene; pass pysim.simulate(scene)"),
        (model, "Model; pass pysim.Trajectory.of(model, t, q)"),
    ]
    for given, text in remedies:
        with pytest.raises(PysimError) as caught:
            movie(given, tmp_path / "scene.mp4")
        assert str(caught.value) == f"movie: needs a Trajectory, got a {text}"
        with pytest.raises(PysimError) as caught:
            plot(given, tmp_path / "scene.png")
        assert str(caught.value) == f"plot: needs a Trajectory, got a {text}"
        with pytest.raises(PysimError) as caught:
            still(cart(), others=[given], **SMALL)
        assert str(caught.value) == f"still: others: needs a Trajectory, got a {text}"


def test_without_shapes_there_is_still_a_picture() -> None:
    image = still(moving(np.zeros((2, 3))), frames=("cart",), **SMALL)
    assert image.std() > 1


def test_a_long_fall_is_followed() -> None:
    way = np.column_stack([np.zeros((31, 2)), -np.linspace(0, 500, 31)])
    box = drawn(Shape("box", (0.4, 0.4, 0.4)), color=(0.9, 0.1, 0.1, 1.0))
    for time in (0.0, 0.5):
        assert red(still(moving(way, box), time=time, **SMALL)).sum() > 200
    lost = red(still(moving(way, box), time=0.5, follow=False, **SMALL))
    assert lost.sum() < 50


def test_up_is_against_gravity() -> None:
    """Gravity along +x: what moves along −x rises in the picture."""
    trajectory = cart(gravity=(9.81, 0.0, 0.0))
    first, last = (red(still(trajectory, time=time, **SMALL)) for time in (0.0, 0.5))
    assert middle_of(last)[0] - middle_of(first)[0] > 30  # rows count downwards


def test_a_collada_file_is_drawn_in_its_unit_also_without_its_colours(tmp_path: Path) -> None:
    """A cube of 40 mm; trimesh reads no shape whose material is missing."""
    path = tmp_path / "cube.dae"
    data = trimesh.creation.box((40.0, 40.0, 40.0)).export(file_type="dae")
    assert isinstance(data, bytes)
    unit = '</modified><unit name="millimeter" meter="0.001"/>'
    text = data.decode().replace("</modified>", unit)
    broken, count = re.subn(r'(<instance_material[^>]*target=")[^"]*', r"\1#gone", text)
    assert count == 1
    for own in (text, broken):
        path.write_text(own, "utf-8")
        (part,) = mesh_parts(path)
        np.testing.assert_allclose(np.ptp(part.mesh.points, axis=0), 0.04, rtol=1e-6)


def test_a_shape_that_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError) as caught:
        primitive("torus", (1.0, 0.2))
    problem = "unknown shape 'torus'; use the pysim that wrote the file"
    assert str(caught.value) == f"visuals: {problem}"
    path = tmp_path / "far.obj"
    path.write_text("v 0 0 0\nv 1e999 0 0\nv 0 1 0\nf 1 2 3\n", "utf-8")
    with pytest.raises(TrajectoryError) as caught:
        mesh_parts(path)
    assert str(caught.value) == (
        f"{path}: cannot read the mesh, its points are missing or not finite"
    )


def test_a_mesh_of_two_shapes_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cube.ply"
    trimesh.creation.box((0.4, 0.4, 0.4)).export(path)
    shape = Shape("mesh", mesh=path)
    read: list[Path] = []

    def counted(own: Path) -> list[Part]:
        read.append(own)
        return mesh_parts(own)

    monkeypatch.setattr(meshes, "mesh_parts", counted)
    still(moving(np.zeros((2, 3)), drawn(shape), drawn(shape, place(1, 0, 0))), **SMALL)
    assert read == [path]


def test_a_mesh_that_is_gone_is_named_once_and_a_box_is_drawn(tmp_path: Path) -> None:
    trajectory, mesh = with_mesh(tmp_path)
    mesh.unlink()
    with pytest.warns(PysimWarning) as reported:
        image = still(trajectory, tmp_path / "cube.png", **SMALL)
    problem = f"mesh {str(mesh)!r} does not exist on this machine"
    text = f"trajectory: {problem}; boxes are drawn instead, pass the folder of the meshes as mesh_dirs"
    assert [str(warning.message) for warning in reported] == [text]
    bare = still(moving(np.zeros((2, 3))), frames=("cart",), **SMALL)
    assert (image != bare).any()


def test_the_box_of_a_missing_mesh_reaches_the_joints_of_its_body() -> None:
    frames = [[0, place(0.3, 0.0, 0.1).tolist()], [-1, np.eye(4).tolist()]]
    joint = {"role": "joint", "name": "a", "type": "revolute", "axis": [0, 0, 1], "frames": frames}
    box = box_of_joints(moving(np.zeros((2, 3)), connections=[joint]), 0)
    np.testing.assert_allclose(box.bounds, [-0.02, 0.32, -0.02, 0.02, -0.02, 0.12], atol=1e-6)


def test_a_name_with_markup_is_drawn_as_it_is() -> None:
    """A formula would be set in other letters, and the mean of the picture would differ."""
    wish = {**SMALL, "size": (640, 160), "ground": False}
    plain, marked = (still(cart(name=name), **wish).astype(int) for name in ("mm", "$mm$"))
    dark = [(image[:40, :120].sum(axis=-1) < 600) for image in (plain, marked)]
    assert dark[1].sum() > dark[0].sum()  # the dollar signs are there


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (
            {"size": (8000, 5000), "supersample": 3},
            (
                "render: supersample: 3 makes 3.6e+08 pixels of 8000 x 5000 ones, at most 1.34e+08 can "
                "be drawn; lower supersample or size"
            ),
        ),
        (
            {"size": (100000, 10000)},
            "render: size: width and height must lie between 16 and 8192 [pixel], got (100000, 10000)",
        ),
    ],
)
def test_a_picture_of_too_many_pixels_is_rejected(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(TrajectoryError) as caught:
        still(cart(), **wish)
    assert str(caught.value) == message


def test_a_mesh_that_moved_is_found_in_a_named_folder(tmp_path: Path) -> None:
    trajectory, mesh = with_mesh(tmp_path)
    shutil.move(mesh.parent, tmp_path / "elsewhere" / "parts")
    image = still(trajectory, mesh_dirs=(str(tmp_path / "elsewhere"),), **SMALL)
    assert image.std() > 1


def test_a_file_draws_no_mesh_elsewhere_without_consent(tmp_path: Path) -> None:
    run, mesh = with_mesh(tmp_path)
    bare = still(run, **SMALL)  # a run of this process draws its own meshes
    (tmp_path / "a/b").mkdir(parents=True)
    dataclasses.replace(
        run, header=dataclasses.replace(run.header, render={"mesh_dirs": [str(tmp_path)]})
    ).save(tmp_path / "a/b/run.h5")
    trajectory = load_trajectory(tmp_path / "a/b/run.h5")
    problem = re.escape(
        f"mesh {str(mesh)!r} lies where the file may not name files; boxes are drawn"
    )
    with pytest.warns(PysimWarning, match=problem):
        assert (still(trajectory, **SMALL) != bare).any()
    np.testing.assert_array_equal(still(trajectory, mesh_dirs=(str(tmp_path),), **SMALL), bare)
    run.save(tmp_path / "a/run.h5")  # the folder above may be read
    np.testing.assert_array_equal(still(load_trajectory(tmp_path / "a/run.h5"), **SMALL), bare)


def test_a_file_draws_the_surface_that_pysim_has_made_of_a_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for folder in ("cache/pysim/surfaces", "a/b"):
        (tmp_path / folder).mkdir(parents=True)
    run, _ = with_mesh(tmp_path / "cache/pysim/surfaces")
    run.save(tmp_path / "a/b/run.h5")
    found = still(load_trajectory(tmp_path / "a/b/run.h5"), **SMALL)
    np.testing.assert_array_equal(found, still(run, **SMALL))


@pytest.mark.parametrize("name", ["/etc/passwd", "notes.stl/../../../notes.txt", "notes.txt"])
def test_a_mesh_of_a_trajectory_that_is_another_file_is_reported(tmp_path: Path, name: str) -> None:
    run, _ = with_mesh(tmp_path)
    (tmp_path / "notes.txt").write_text("secret", "utf-8")
    entry = {**run.header.visuals[0], "mesh": str(tmp_path / name)}
    changed = dataclasses.replace(run, header=dataclasses.replace(run.header, visuals=(entry,)))
    changed.save(tmp_path / "run.h5")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            still(load_trajectory(tmp_path / "run.h5"), **SMALL)
        except TrajectoryError as error:
            given.append(error)  # type: ignore[arg-type]
    text = "".join(map(str, given))
    assert "may not name files" in text or "as a mesh; pysim reads .stl" in text
    assert "secret" not in text
    assert "root:" not in text


def test_a_mesh_with_entities_or_materials_elsewhere_reads_no_other_file(tmp_path: Path) -> None:
    secret = tmp_path / "a/secret.mtl"
    secret.parent.mkdir()
    secret.write_text("newmtl red\nKd 1 0 0\n", "utf-8")
    part = tmp_path / "a/b/c/part.obj"
    part.parent.mkdir(parents=True)
    text = "mtllib ../../secret.mtl\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    part.write_text(text, "utf-8")
    assert mesh_parts(part)[0].color != (1.0, 0.0, 0.0, 1.0)
    (part.parent / "near.mtl").write_text(secret.read_text("utf-8"), "utf-8")
    part.write_text(text.replace("../../secret", "near"), "utf-8")
    assert mesh_parts(part)[0].color == (1.0, 0.0, 0.0, 1.0)
    model = tmp_path / "x.dae"
    model.write_text(f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{secret}">]><COLLADA>&e;</COLLADA>')
    with pytest.raises(TrajectoryError, match="<!DOCTYPE> is rejected"):
        mesh_parts(model)


def test_a_mesh_that_changed_since_the_run_is_a_warning(tmp_path: Path) -> None:
    trajectory, mesh = with_mesh(tmp_path)
    trimesh.creation.icosphere(radius=0.2).export(mesh)
    with pytest.warns(PysimWarning, match=r"cube\.stl: the mesh has changed since the run"):
        still(trajectory, **SMALL)


def test_a_mesh_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.stl").write_bytes(b"solid nothing\nendsolid\n")
    trajectory = moving(np.zeros((2, 3)), drawn(Shape("mesh", mesh=tmp_path / "bad.stl")))
    with pytest.raises(TrajectoryError, match=r"bad\.stl: "):
        still(trajectory, **SMALL)


def with_mesh(folder: Path) -> tuple[Trajectory, Path]:
    mesh = folder / "parts" / "cube.stl"
    mesh.parent.mkdir()
    trimesh.creation.box((0.4, 0.4, 0.4)).export(mesh)
    return moving(np.zeros((2, 3)), Geometry(Shape("mesh", mesh=mesh), place())), mesh


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cart.xyz", r"unknown kind of picture '\.xyz'; use one of \.png"),
        ("no/cart.png", r"the folder '.*no' does not exist"),
        ("folder.png", "is a folder; give a file name"),
    ],
)
def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(PysimError, match=problem):
        still(cart(), tmp_path / name, **SMALL)


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"trials": ()}, r"render: trials: unknown option; did you mean 'trails'\?"),
        (
            {"size": (0, 10)},
            r"render: size: width and height must lie between 16 and 8192 \[pixel\]",
        ),
        ({"fps": 0.0}, r"render: fps: must be above 0 and at most 240 \[1/s\], got 0"),
        ({"trails": ("carr",)}, r"unknown frame 'carr'; did you mean 'cart'\?"),
    ],
)
def test_invalid_options_are_named(wish: dict[str, Any], problem: str) -> None:
    with pytest.raises(PysimError, match=problem):
        still(cart(), **{**SMALL, **wish})


def test_a_run_without_rows_has_no_picture() -> None:
    with pytest.raises(TrajectoryError, match="has no rows to draw"):
        still(moving(np.zeros((0, 3))), **SMALL)


def test_drawing_without_a_display_says_nothing_on_the_terminal(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pysim.render import still\n"
        "from tests.render.scenes import SMALL, cart\n"
        "still(cart(), sys.argv[1], **SMALL)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "cart.png")]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("time", [-0.1, 99.0, float("nan")])
def test_a_time_that_the_run_has_not_is_rejected(time):
    with pytest.raises(TrajectoryError, match=r"has no t = .*; give a time from 0 to "):
        still(cart(), time=time, **SMALL)
