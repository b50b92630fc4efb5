"""Rods as tubes. Oracles: Hermite's cubic through the hinges, poses of the run, and the moments of the hinges."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.render import gltf, usd
from pysim.render.drawable import to_trajectory
from pysim.render.exports.web_recording import RecordedRun
from pysim.render.meshes import body_meshes
from pysim.render.options import render_options
from pysim.render.player import Player
from pysim.render.tubes import Tube, strongest_moment, tubes_of, with_world
from pysim.render.window import offscreen
from pysim.render.windows.picking import body_at
from pysim.trajectory.interpolation import rotation_matrices
from tests.render.scenes import SMALL

RUBBER = {"young": 5e6, "poisson": 0.5, "density": 1000.0}
BARS, L = 6, 0.6


def bent(section: Any = None, **keys: Any) -> pysim.Trajectory:
    """A run of a rod that starts along an arc out of the plane, in 2 rows."""
    builder = pysim.SceneBuilder("rod", gravity=[0, 0, -9.81])
    s = np.linspace(0, 1.5, 20)
    arc = np.stack([np.sin(s), 0.3 * (1 - np.cos(s)), 0.5 * (1 - np.cos(s))], axis=1)
    arc *= L / np.linalg.norm(np.diff(arc, axis=0), axis=1).sum()
    section = {"circle": 0.02} if section is None else section
    builder.rod(
        "hose", length=L, bars=BARS, section=section, material=RUBBER, start=arc.tolist(),
        at_a={"xyz": [0.1, 0.2, 0.7], "rpy": [0.1, 0.2, 0.3]}, **keys,
    )  # fmt: skip
    builder.simulation(duration=0.01, step=1e-3, integrator="generalized_alpha")
    builder.output(every=0.01)
    return pysim.simulate(builder.build())


def tube(run: pysim.Trajectory) -> Tube:
    (found,) = tubes_of(run, render_options(run))
    return found


@pytest.mark.parametrize("ends", [["clamped", "free"], ["ball", "free"]])
def test_the_centre_line_is_the_cubic_through_the_hinges(ends: list[str]) -> None:
    run = bent(ends=ends, section={"rectangle": [0.02, 0.01]})
    rod_tube = tube(run)
    begins = int(ends[0] == "clamped")
    matrices = with_world(run.poses[-1])
    points, _ = rod_tube.placed(matrices)
    bars = range(BARS)
    P = np.array([matrices[k][:3, 3] for k in bars])
    d = np.array([matrices[k][:3, 0] for k in bars]) * L / BARS
    slopes = np.concatenate([d[:1], (d[1:] + d[:-1]) / 2, d[-1:]])
    if begins:
        clamp = np.array(run.header.connections[0]["frames"][0][1])[:3, 0]
        slopes[0] = clamp * L / BARS
        slopes[-1] = matrices[BARS][:3, 0] * L / BARS
    along = np.unique(rod_tube.along.round(9))
    for a in along:
        k = min(int(a - begins), BARS - 1)
        u = a - begins - k
        P_next, late = P[k] + d[k], u * u * (3 - 2 * u)
        spline = (
            P[k]
            + late * (P_next - P[k])
            + u * (1 - u) ** 2 * slopes[k]
            - u * u * (1 - u) * slopes[k + 1]
        )
        ring = points[np.abs(rod_tube.along - a) < 1e-6]
        np.testing.assert_allclose(ring.mean(axis=0), spline, atol=1e-7)


def test_points_without_stress_are_the_section_along_the_line() -> None:
    own = tube(bent(section={"tube": [[0.0, 0.02, 0.01], [L, 0.01, 0.005]]}))
    points = np.asarray(own.mesh.points)
    radius = np.hypot(points[:, 1], points[:, 2])
    ring = radius > 1e-6
    np.testing.assert_allclose(radius[ring], 0.01 - 0.005 * points[ring, 0] / L, atol=1e-6)
    np.testing.assert_allclose(points[:, 0], (own.along - 1) * L / BARS, atol=1e-6)
    normals = np.asarray(own.mesh.point_data["Normals"])
    outwards = (normals[:, 1:] * points[:, 1:]).sum(axis=1)
    assert (outwards > -1e-9).all()
    assert normals[points[:, 0] > L - 1e-6, 0].max() > 0.99  # the cap looks along the rod


def test_moments_are_those_of_the_hinges() -> None:
    run = bent()
    own = tube(run)
    matrices = with_world(run.poses[-1])
    EI = RUBBER["young"] * np.pi * 0.02**4 / 64
    weights = np.array([1, 4, 2, 4, 2, 4, 1]) * L / BARS / 3
    q = run.q[-1].reshape(-1, 4)
    angle = 2 * np.arctan2(np.linalg.norm(q[:, 1:3], axis=1), np.abs(q[:, 3]))
    found = own.moments(matrices)
    np.testing.assert_allclose(found, EI / weights * angle, rtol=0.02, atol=1e-9)
    assert found.max() > 0.01


def test_bars_are_drawn_as_one_tube_and_collision_shapes_as_bars() -> None:
    run = bent(collision=True)
    assert not [body for body in body_meshes(run, render_options(run)) if body >= 0]
    shown = render_options(run, collision=True)
    assert len(body_meshes(run, shown)) == BARS
    assert tubes_of(run, shown) == []


def test_a_ball_that_is_fixed_to_a_bar_is_drawn_beside_the_tube() -> None:
    builder = pysim.SceneBuilder("rod")
    builder.rod("hose", length=L, bars=BARS, section={"circle": 0.02}, material=RUBBER)
    builder.body("ball", shape={"sphere": {"radius": 0.05}, "density": 1000})
    builder.joint("fixing", "fixed", parent="hose/end", child="ball")
    run = to_trajectory(builder.build(), "still")
    assert len([body for body in body_meshes(run, render_options(run)) if body >= 0]) == 1


@pytest.mark.render
def test_a_player_moves_the_tube_and_colours_it_by_the_moment() -> None:
    run = bent()
    options = render_options(run, moments=True, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        (actor,) = player.tubes
        player.show(0.0)
        shape = np.array(actor.actor.mapper.dataset.points)
        np.testing.assert_allclose(shape, actor.tube.placed(with_world(run.poses[0]))[0], atol=1e-6)
        rgba = np.array(actor.actor.mapper.dataset.point_data["rgba"], int)
        moments = actor.tube.moments(with_world(run.poses[0]))
        hinge = int(np.argmax(moments)) + 1
        at = int(np.argmin(np.abs(actor.tube.along - hinge)))
        shares = moments / strongest_moment(actor.tube, run)
        red = 0x66 + (0xD1 - 0x66) * shares
        assert shares.max() > 0.5
        np.testing.assert_allclose(rgba[at, 0], red[hinge - 1], atol=1.5)


@pytest.mark.render
def test_a_click_on_the_tube_finds_the_bar_there() -> None:
    run = bent()
    options = render_options(run, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        player.show(0.0)
        plotter.render_window.Render()
        own = player.tubes[0].tube
        for bar in (1, 4):
            ring = np.abs(own.along - (bar + 1.5)) < 0.3
            point = own.placed(player.posed)[0][ring].mean(axis=0)
            plotter.renderer.SetWorldPoint(*point, 1.0)
            plotter.renderer.WorldToDisplay()
            x, y, _ = plotter.renderer.GetDisplayPoint()
            picked = body_at(player, x, y)
            assert picked is not None
            assert picked[0] == bar


def accessor(tree: dict[str, Any], blob: bytes, index: int) -> np.ndarray:
    own = tree["accessors"][index]
    view = tree["bufferViews"][own["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[own["type"]]
    kind = {5126: "<f4", 5123: "<u2"}[own["componentType"]]
    start = view.get("byteOffset", 0)
    return np.frombuffer(blob, kind, own["count"] * width, start).reshape(-1, width)


def test_gltf_blends_the_tube_from_the_nodes_of_the_bodies(tmp_path: Path) -> None:
    run = bent()
    data = gltf(run, tmp_path / "rod.glb").read_bytes()
    (size,) = struct.unpack("<I", data[12:16])
    tree, blob = json.loads(data[20 : 20 + size]), data[28 + size :]
    (node,) = [own for own in tree["nodes"] if "skin" in own]
    skin = tree["skins"][node["skin"]]
    attributes = tree["meshes"][node["mesh"]]["primitives"][0]["attributes"]
    points, bones, weights = (
        accessor(tree, blob, attributes[name]) for name in ("POSITION", "JOINTS_0", "WEIGHTS_0")
    )
    rest = accessor(tree, blob, skin["inverseBindMatrices"]).reshape(-1, 4, 4).swapaxes(1, 2)
    names = [tree["nodes"][k]["name"] for k in skin["joints"]]
    bodies = [run.header.body_names.index(n) if n != "pysim" else -1 for n in names]
    moves = with_world(run.poses[0])[bodies] @ rest
    whole = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    blended = np.einsum("pk,pkij,pj->pi", weights, moves[bones], whole)[:, :3]
    np.testing.assert_allclose(blended, tube(run).placed(with_world(run.poses[0]))[0], atol=1e-6)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)


def test_usd_has_the_points_of_the_tube_at_every_frame(tmp_path: Path) -> None:
    pxr = pytest.importorskip("pxr", reason="needs usd-core")
    from pxr import UsdGeom  # noqa: F401

    run = bent()
    stage = pxr.Usd.Stage.Open(str(usd(run, tmp_path / "rod.usda", fps=100)))
    mesh = pxr.UsdGeom.Mesh(stage.GetPrimAtPath("/World/shape_rod_0"))
    for code, row in ((0.0, 0), (1.0, -1)):
        points = np.array(mesh.GetPointsAttr().Get(code))
        np.testing.assert_allclose(
            points, tube(run).placed(with_world(run.poses[row]))[0], atol=1e-6
        )


def test_a_web_page_moves_the_bones_of_the_tube() -> None:
    viser = pytest.importorskip("viser", reason="needs viser")
    run = bent()
    options = render_options(run)
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        drawn = RecordedRun(server, 0, run, body_meshes(run, options), options, 1.0)
        drawn.show(0.0, run.poses[0])
        ((own, handle),) = drawn._tubes
        moves = np.tile(np.eye(4), (len(own.bodies), 1, 1))
        for k, bone in enumerate(handle.bones):
            w, x, y, z = bone.wxyz
            moves[k, :3, :3] = rotation_matrices(np.array([[x, y, z, w]]))[0]
            moves[k, :3, 3] = bone.position
    finally:
        server.stop()
    np.testing.assert_allclose(moves, own.transforms(with_world(run.poses[0])), atol=1e-6)
