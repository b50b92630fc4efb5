"""The interactive view without a window: the test presses keys and buttons, and passes the time."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh  # noqa: TID253, makes the meshes

from pysim.errors import PysimError
from pysim.render import static_layer, still, view
from pysim.render.annotations import ellipsoid
from pysim.render.options import render_options
from pysim.render.player import Player
from pysim.render.window import capture, offscreen, quiet_vtk
from pysim.render.windows.interactive import MARGIN, REST
from pysim.render.windows.playback import BAR, MARKS
from pysim.render.windows.view import Viewer
from pysim.shapes import Shape
from pysim.trajectory import Trajectory
from pysim.trajectory.contacts import contact_points
from tests.render.scenes import SMALL, cart, drawn, moving, place, red

pytestmark = pytest.mark.render


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    trajectory = cart(render={"trails": ["tip"]})
    options = render_options(trajectory, azimuth=-90.0, fps=10.0, **{**SMALL, "size": (400, 300)})
    with offscreen(options) as plotter:
        yield Viewer(plotter, trajectory, options)


def column(viewer: Viewer) -> float:
    image = capture(viewer.plotter, viewer.options)
    return float(np.argwhere(red(image)).mean(axis=0)[1])


def test_time_runs_only_while_it_plays(viewer: Viewer) -> None:
    viewer.advance(0.2)
    assert viewer.time == 0
    viewer.toggle()
    before = column(viewer)
    viewer.advance(0.2)
    assert viewer.time == pytest.approx(0.2)
    assert column(viewer) > before + 10
    viewer.toggle()
    viewer.advance(0.2)
    assert viewer.time == pytest.approx(0.2)


def test_it_stops_at_the_end_and_plays_again_from_the_start(viewer: Viewer) -> None:
    viewer.toggle()
    viewer.advance(9.0)
    assert (viewer.time, viewer.playing) == (0.5, False)
    viewer.toggle()
    assert (viewer.time, viewer.playing) == (0.0, True)


def knob(viewer: Viewer) -> tuple[float, float]:
    """Pixel of the slider's knob."""
    image = capture(viewer.plotter, viewer.options)
    height = image.shape[0]
    rows = image[height - round(BAR / 2) - 1].astype(int)
    blue = np.flatnonzero((rows[:, 2] - rows[:, 0] > 60) & (np.arange(len(rows)) > MARGIN + 40))
    return float(blue.max() - viewer.slider.radius), BAR / 2


def test_the_slider_shows_the_time(viewer: Viewer) -> None:
    before = knob(viewer)[0]
    viewer.seek(0.3)
    assert viewer.slider.value == pytest.approx(0.3)
    assert knob(viewer)[0] > before + 5


@pytest.mark.parametrize("size", [(640, 360), (400, 500)])
def test_a_press_on_the_track_and_a_drag_beyond_it_set_the_time(
    viewer: Viewer, size: tuple[int, int]
) -> None:
    viewer.plotter.window_size = list(size)
    viewer.resize()
    begin, end = MARGIN + 60, size[0] - MARGIN - 90
    viewer.press("Left", 0.5 * (begin + end), BAR / 2)
    assert viewer.time == pytest.approx(0.25, abs=0.01)
    viewer.move(begin + 0.2 * (end - begin), 300.0)  # the mouse may leave the line
    assert viewer.time == pytest.approx(0.1, abs=0.01)
    viewer.move(size[0] + 50.0, 300.0)
    assert viewer.time == 0.5
    viewer.release()
    viewer.move(begin, BAR / 2)
    assert viewer.time == 0.5


def test_the_button_plays_and_pauses(viewer: Viewer) -> None:
    for playing in (True, False):
        viewer.press("Left", MARGIN + 16, BAR / 2)
        viewer.release()
        assert viewer.playing is playing


def test_time_does_not_run_while_the_slider_is_held(viewer: Viewer) -> None:
    viewer.toggle()
    viewer.press("Left", MARGIN + 60, BAR / 2)
    viewer.advance(0.2)
    assert viewer.time == 0.0


def test_captions_keep_their_corners_after_a_resize(viewer: Viewer) -> None:
    for width, height in ((640, 360), (900, 500)):
        viewer.plotter.window_size = [width, height]
        viewer.resize()
        with quiet_vtk():
            viewer.plotter.render()
            image = np.asarray(viewer.plotter.screenshot(return_img=True)).astype(int)
        dark = image.sum(axis=-1) < 330  # letters
        assert image.shape[:2] == (height, width)
        assert dark[: height // 8, : width // 4].any()
        assert dark[-int(BAR) - height // 8 :, : width // 4].any()
        assert dark[-int(BAR) - height // 8 :, -width // 4 :].any()


def test_a_drag_turns_the_camera_and_never_rolls_it(viewer: Viewer) -> None:
    camera = viewer.plotter.camera
    rng = np.random.default_rng(0)
    before = np.array(camera.position)
    viewer.press("Left", 80.0, 90.0)
    for x, y in rng.uniform(-500, 500, (30, 2)):
        viewer.move(x, y)
        right = np.cross(camera.direction, camera.up)
        assert abs(right[2]) < 1e-12 * np.linalg.norm(right)
        assert camera.up == (0.0, 0.0, 1.0)
    viewer.release()
    assert np.linalg.norm(np.array(camera.position) - before) > 0.1
    viewer.key("r")
    np.testing.assert_allclose(camera.position, before)


def test_the_wheel_zooms_and_the_middle_button_moves(viewer: Viewer) -> None:
    camera = viewer.plotter.camera
    near = camera.distance
    viewer.wheel(2)
    assert camera.distance < 0.9 * near
    focus = np.array(camera.focal_point)
    viewer.press("Middle", 80.0, 60.0)
    viewer.move(60.0, 60.0)
    viewer.release()
    moved = np.array(camera.focal_point) - focus
    assert moved[0] > 0.05  # seen from −y, the picture goes left
    np.testing.assert_allclose(moved[1:], 0.0, atol=1e-12)


def test_the_camera_that_follows_can_be_turned(viewer: Viewer) -> None:
    viewer.key("c")
    viewer.press("Left", 80.0, 60.0)
    viewer.move(120.0, 60.0)
    viewer.release()
    direction = np.array(viewer.plotter.camera.direction)
    viewer.seek(0.5)
    np.testing.assert_allclose(viewer.plotter.camera.direction, direction, atol=1e-12)
    assert red(capture(viewer.plotter, viewer.options)).any()


@pytest.mark.parametrize("key", ["q", "Escape"])
def test_q_and_escape_close(viewer: Viewer, key: str) -> None:
    viewer.key("w")
    assert not viewer.closed
    viewer.key(key)
    assert viewer.closed


def test_keys_step_and_change_the_speed(viewer: Viewer) -> None:
    viewer.toggle()
    for key in ("Right", "Right", "Right", "Left"):
        viewer.key(key)
    assert viewer.time == pytest.approx(0.2)
    assert not viewer.playing
    viewer.key("End")
    assert viewer.time == 0.5
    viewer.key("plus")
    assert viewer.speed == 2
    viewer.key("space")
    viewer.advance(0.1)
    assert viewer.time == pytest.approx(0.2)
    for key in ("t", "c", "o", "1", "3", "7", "5"):
        viewer.key(key)
        capture(viewer.plotter, viewer.options)


def test_it_plays_again_and_again_on_request(viewer: Viewer) -> None:
    viewer.key("l")
    viewer.toggle()
    viewer.advance(9.0)
    assert (viewer.time, viewer.playing) == (0.0, True)


def test_a_still_is_saved_beside_the_run(
    viewer: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    viewer.seek(0.25)
    assert viewer.save_still() == Path("trajectory_0.250s.png")
    assert (tmp_path / "trajectory_0.250s.png").stat().st_size > 1000


def test_a_window_without_a_display_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(PysimError) as caught:
        view(cart())
    remedy = "make a picture with pysim still, or a movie with pysim movie, which need none"
    assert str(caught.value) == f"view: there is no display to open a window on; {remedy}"


@pytest.mark.parametrize(("gravity", "imported"), [((0, 0, -9.81), True), ((0, 0, -9.81), False)])
def test_the_floor_of_a_robot_is_at_height_0(gravity: Any, imported: bool) -> None:
    """The box starts above the floor and sinks below it."""
    way = np.column_stack([np.zeros((11, 2)), np.linspace(0.15, -0.6, 11)])
    box = drawn(Shape("box", (0.4, 0.3, 0.3)))
    trajectory = moving(way, box, gravity=gravity, imported=imported)
    options = render_options(trajectory, **SMALL)
    with offscreen(options) as plotter:
        floor = Player(plotter, trajectory, options).extent.ground
    assert (floor == 0.0) if imported else (floor < -0.75)


def test_a_robot_with_its_root_at_the_middle_stands_on_its_feet() -> None:
    legs = drawn(Shape("box", (0.4, 0.3, 1.6)))
    trajectory = moving(np.zeros((2, 3)), legs, imported=True)
    options = render_options(trajectory, **SMALL)
    with offscreen(options) as plotter:
        assert Player(plotter, trajectory, options).extent.ground == pytest.approx(-0.8)


def test_the_floor_is_the_ground_of_the_scene() -> None:
    ground = {"role": "ground", "name": "ground", "type": "plane", "normal": [0, 0, 1]}
    trajectory = cart(connections=[ground | {"offset": -0.4}])
    options = render_options(trajectory, **SMALL)
    with offscreen(options) as plotter:
        assert Player(plotter, trajectory, options).extent.ground == -0.4


def test_a_click_on_a_body_describes_it_and_one_beside_it_ends_that(viewer: Viewer) -> None:
    image = capture(viewer.plotter, viewer.options)
    row, place = np.argwhere(red(image)).mean(axis=0)
    viewer.press("Left", place, image.shape[0] - row)
    viewer.release()
    picked = [viewer.picked]
    viewer.seek(0.25)
    captions = viewer.player.captions
    assert captions is not None
    text = "cart   x 0.5  y 0  z 0.15 m   q.slide 0.5 m   v.slide 0.5 m/s"
    assert captions.note.actor.GetInput() == text
    viewer.press("Left", 5.0, 250.0)
    viewer.release()
    assert [*picked, viewer.picked] == [0, None]
    assert captions.note.actor.GetInput() == ""


def test_a_drag_is_no_click(viewer: Viewer) -> None:
    image = capture(viewer.plotter, viewer.options)
    row, place = np.argwhere(red(image)).mean(axis=0)
    viewer.press("Left", place, image.shape[0] - row)
    viewer.move(place + 30.0, image.shape[0] - row)
    viewer.release()
    assert viewer.picked is None


def test_the_view_is_printed_as_a_table_that_gives_the_same_picture(
    viewer: Viewer, capsys: pytest.CaptureFixture[str]
) -> None:
    viewer.press("Left", 80.0, 60.0)
    viewer.move(110.0, 50.0)
    viewer.release()
    viewer.wheel(1)
    viewer.key("v")
    table = tomllib.loads(capsys.readouterr().out)["render"]
    run = viewer.trajectory
    again = render_options(run, **{**table, "size": (400, 300), "supersample": 1})
    with offscreen(again) as plotter:
        Player(plotter, run, again)
        for name in ("position", "focal_point"):
            shown = getattr(viewer.plotter.camera, name)
            np.testing.assert_allclose(getattr(plotter.camera, name), shown, atol=2e-2)


def test_the_view_is_written_into_the_scene(viewer: Viewer, tmp_path: Path) -> None:
    captions = viewer.player.captions
    assert captions is not None
    viewer.key("w")
    assert captions.note.actor.GetInput() == "no scene to write into: open with --scene FILE"
    viewer.scene = tmp_path / "cart.toml"
    viewer.scene.write_text("[render]\nazimuth = 1 # [deg]\n", "utf-8")
    viewer.wheel(1)
    viewer.key("w")
    assert captions.note.actor.GetInput() == f"view written into {viewer.scene}"
    text = viewer.scene.read_text("utf-8")
    view = {**viewer.view(), "focus": list(viewer.view()["focus"])}
    assert (tomllib.loads(text), "# [deg]" in text) == ({"render": view}, True)
    viewer.scene.unlink()
    viewer.key("w")
    assert captions.note.actor.GetInput().startswith(f"{viewer.scene}: cannot be edited")


def test_marks_are_switched_on_and_off() -> None:
    """Oracle: the box as a homogeneous solid, whose ellipsoid has semi-axes √(5/12) of its lengths."""
    m, lengths = 2.0, np.array([0.4, 0.3, 0.2])
    xx, yy, zz = m / 12 * (np.sum(lengths**2) - lengths**2)
    theta = [m, 0.0, 0.0, 0.0, xx, 0.0, yy, 0.0, 0.0, zz]
    axes, pose = ellipsoid(np.array(theta))
    reach = np.abs(pose[:3, :3] * axes).max(axis=1)
    np.testing.assert_allclose(reach, lengths * np.sqrt(5 / 12) / 1.0, rtol=1e-12)
    frames = [[-1, np.eye(4).tolist()], [0, np.eye(4).tolist()]]
    joint = {"role": "joint", "name": "slide", "type": "revolute", "axis": [1, 0, 0]}
    body = {"role": "body", "name": "cart", "body": 0, "theta": theta}
    trajectory = cart(connections=[body, joint | {"frames": frames}])
    options = render_options(trajectory, joints=False, **{**SMALL, "size": (480, 360)})
    with offscreen(options) as plotter:
        seen = Viewer(plotter, trajectory, options)
        plain = capture(plotter, options)
        for key in MARKS:
            seen.key(key)
            shown = (capture(plotter, options) != plain).any(axis=-1)
            assert (shown.sum() > 50) == (key != "k"), key  # there are no forces
            seen.key(key)
            np.testing.assert_array_equal(capture(plotter, options), plain)
        seen.key("h")
        assert (capture(plotter, options) != plain).any()


def test_contact_forces_are_arrows_at_their_points() -> None:
    counts = np.full(11, 2)
    columns = {
        "pair": np.zeros(22),
        "point": np.tile([[0.2, 0.0, 0.0], [-0.2, 0.0, 0.0]], (11, 1)),
        "normal": np.tile([0.0, 0.0, 1.0], (22, 1)),
        "force": np.tile([[0.0, 0.0, 10.0], [0.0, 0.0, 5.0]], (11, 1)),
        "penetration": np.zeros(22),
        "slip_speed": np.zeros(22),
        "stuck": np.zeros(22),
    }
    trajectory = dataclasses.replace(cart(), contacts=contact_points(counts, columns))
    options = render_options(trajectory, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, trajectory, options)
        player.annotations.toggle("forces")
        player.show(0.25)
        strong, weak = (np.asarray(shaft.user_matrix) for shaft, _ in player.annotations._arrows)
    np.testing.assert_allclose(strong[:3, 3], [0.2, 0.0, 0.0])
    assert strong[2, 2] == pytest.approx(2 * weak[2, 2])
    assert strong[2, 2] == pytest.approx(0.3 * player.extent.size)
    stills = [still(trajectory, time=0.25, forces=on, **SMALL) for on in (False, True)]
    assert (orange(stills[1]).sum(), orange(stills[0]).sum()) > (30, 0)


def orange(image: np.ndarray) -> np.ndarray:
    r, g, b = np.moveaxis(image.astype(int), -1, 0)
    return np.asarray((r > 1.4 * g) & (g > 1.5 * b))


def green(image: np.ndarray) -> np.ndarray:
    r, g, b = np.moveaxis(image.astype(int), -1, 0)
    return np.asarray((g > 1.4 * r) & (g > 1.2 * b))


def pushed(**render: Any) -> Trajectory:
    """The cart under a force of 5 N along z of a frame on it that is turned to y, with one row of 500 N."""
    pose = place(0.1, 0.0, 0.2)
    pose[:3, :3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]]
    push = {"role": "force", "name": "push", "type": "thruster", "frame": [0, pose.tolist()]}
    names = tuple(f"push.{key}" for key in ("fx", "fy", "fz", "tx", "ty", "tz"))
    forces = np.zeros((40, 6))
    forces[:, 2] = 5.0
    forces[3, 2] = 500.0
    way = np.column_stack([np.zeros(40), np.zeros(40), np.full(40, 0.15)])
    box = drawn(Shape("box", (0.4, 0.3, 0.3)), color=(0.9, 0.1, 0.1, 1.0))
    units = ("N",) * 3 + ("N·m",) * 3
    run = moving(way, box, connections=[push], force_names=names, force_units=units, render=render)
    return dataclasses.replace(run, constraint_forces={"forces": forces})


def test_the_force_of_a_thruster_is_an_arrow_on_its_frame() -> None:
    """Oracle: the frame's place and z in the world; an impact does not shorten the others."""
    run = pushed()
    options = render_options(run, forces=True, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        for row in (0, 3, 30):
            player.show(run.t[row])
            ((shaft, _),) = player.annotations._arrows
            arrow = np.asarray(shaft.user_matrix)
            np.testing.assert_allclose(arrow[:3, 3], [0.1, 0.0, 0.35], atol=1e-12)
            length = 0.3 * player.extent.size
            np.testing.assert_allclose(arrow[:3, 2], [0.0, length, 0.0], atol=1e-9)


def test_forces_are_drawn_in_every_view_and_in_moving_pictures() -> None:
    run = pushed(forces=True, views=["front"])
    options = render_options(run, size=(400, 200), supersample=1, label=False)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        for time in (0.0, 0.1, 0.2):
            player.show(time)
            image = capture(plotter, options, player.draw)
            for part in (image[:, :200], image[:, 200:]):
                assert green(part).sum() > 20
        np.testing.assert_array_equal(image, capture(plotter, options))


def test_another_run_is_a_translucent_copy_with_its_name() -> None:
    way = np.column_stack([np.zeros((11, 2)), np.full(11, 1.0)])
    box = drawn(Shape("box", (0.4, 0.3, 0.3)))
    second = dataclasses.replace(moving(way, box), source="second.h5")
    first = dataclasses.replace(cart(), source="first.h5")
    options = render_options(first, azimuth=-90.0, **SMALL)
    with offscreen(options) as plotter:
        seen = Viewer(plotter, first, options, [second])
        assert seen.player.extent.points[:, 2].max() >= 1.0  # it belongs to the picture
        captions = seen.player.captions
        assert captions is not None
        labels = [text.actor.GetInput() for text in captions._legend]
        assert labels == ["first", "second"]
        with_ghost = capture(plotter, options)
        seen.key("g")
        assert (capture(plotter, options) != with_ghost).any()
    pictures = [still(first, others=others, azimuth=-90.0, **SMALL) for others in ((), [second])]
    assert (pictures[0] != pictures[1]).any()


def test_a_run_in_front_of_an_equal_one_is_drawn_alone() -> None:
    ball = drawn(Shape("sphere", (0.3,)), color=(0.9, 0.1, 0.1, 1.0))
    run = moving(np.full((3, 3), [0.0, 0.0, 0.5]), ball)
    quiet = {"label": False, "shadows": False, "supersample": 2}
    alone, beside = (
        still(run, others=others, **{**SMALL, **quiet}).astype(int) for others in ((), (run,))
    )
    differs = (np.abs(alone - beside).max(axis=-1) > 12) & red(alone.astype(np.uint8))
    assert differs.mean() < 2e-3  # its outline


def test_the_picture_of_what_rests_is_not_shown_in_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = []
    draw = static_layer._render_without

    def watched(window: Any, actors: Any) -> None:
        shown.append(bool(window.GetSwapBuffers()))
        draw(window, actors)

    monkeypatch.setattr(static_layer, "_render_without", watched)
    options = render_options(cart(), **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, cart(), options)
        for time in (0.0, 0.1, 0.2):
            player.show(time)
            player.draw()
    assert shown == [False, True, True]


def test_a_slow_window_is_drawn_coarsely_while_it_changes_and_finely_at_rest(
    tmp_path: Path,
) -> None:
    trimesh.creation.icosphere(subdivisions=5, radius=0.2).export(tmp_path / "ball.ply")
    trajectory = moving(np.zeros((2, 3)), drawn(Shape("mesh", mesh=tmp_path / "ball.ply")))
    options = render_options(trajectory, **SMALL)
    with offscreen(options) as plotter:
        seen = Viewer(plotter, trajectory, options)
        seen._slow = True
        counts = []
        for elapsed in (0.0, 0.1, REST, 0.1):
            seen.draw(elapsed)
            counts.append(seen.player.actors[0][0].mapper.dataset.n_cells)
        seen.seek(0.5)
        seen.draw()
        counts.append(seen.player.actors[0][0].mapper.dataset.n_cells)
    fine, coarse = max(counts), min(counts)
    assert counts == [coarse, coarse, fine, fine, coarse]
    assert coarse < 0.4 * fine


def test_a_body_below_the_ground_is_hidden_in_every_picture() -> None:
    ground = {
        "role": "ground",
        "name": "ground",
        "type": "plane",
        "normal": [0, 0, 1],
        "offset": 0.0,
    }
    box = drawn(Shape("box", (0.4, 0.3, 0.3)), color=(0.9, 0.1, 0.1, 1.0))
    way = np.column_stack([np.zeros((3, 2)), [0.6, -0.5, -0.5]])
    run = moving(way, box, connections=[ground], render={"shadows": False})
    options = render_options(run, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        for time, is_seen in ((0.0, True), (0.0, True), (0.25, False), (0.5, False)):
            player.show(time)
            layered = capture(plotter, options, player.draw)
            assert red(layered).any() == is_seen
            np.testing.assert_array_equal(layered, capture(plotter, options))


def test_a_picture_drawn_over_what_rests_is_the_whole_picture() -> None:
    """Oracle: the picture drawn at once, bit by bit, also after the world's shape, the camera and the size change."""
    pole = drawn(Shape("cylinder", (0.1, 0.6)), place(0.5, -0.4, 0.3))
    box = drawn(Shape("box", (0.4, 0.3, 0.3)), color=(0.9, 0.1, 0.1, 1.0))
    way = np.column_stack([np.linspace(0, 1, 11), np.zeros(11), np.full(11, 0.15)])
    trajectory = moving(way, box, world=[pole], render={"trails": ["tip"]})
    options = render_options(trajectory, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, trajectory, options)

        def compare() -> None:
            for time in (0.0, 0.1, 0.2, 0.3, 0.4):
                player.show(time)
                layered = capture(plotter, options, player.draw)
                np.testing.assert_array_equal(layered, capture(plotter, options))

        compare()
        player.actors[-1][0].prop.ambient = 0.9
        compare()
        player.orbit.turn(0.3, 0.1)
        player.aim()
        compare()
        plotter.window_size = [220, 160]
        compare()
