"""Stages of Universal Scene Description. Oracles: poses of the run, and usd-core, which reads the file back."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import PysimError, TrajectoryError
from pysim.cli import main
from pysim.render import usd
from pysim.shapes import Shape
from pysim.trajectory.interpolation import pose_matrices
from tests.render.scenes import drawn, moving

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.fixture(scope="module")
def pxr() -> Any:
    return pytest.importorskip("pxr")


@pytest.fixture(scope="module")
def run() -> pysim.Trajectory:
    overrides = {"simulation.duration": 1.0}
    return pysim.simulate(pysim.load_scene(SCENES / "double_pendulum.toml", overrides))


def opened(pxr: Any, path: Path) -> Any:
    from pxr import Usd

    stage = Usd.Stage.Open(str(path))
    assert stage is not None
    return stage


def in_world(prim: Any, code: float) -> np.ndarray:
    """Pose (4, 4) of a prim in the world at a code of time; USD's matrices act on rows."""
    from pxr import Usd, UsdGeom

    cache = UsdGeom.XformCache(Usd.TimeCode(code))
    return np.array(cache.GetLocalToWorldTransform(prim)).T


def test_bodies_move_as_in_the_run(pxr: Any, run: pysim.Trajectory, tmp_path: Path) -> None:
    stage = opened(pxr, run.to_usd(tmp_path / "run.usd", fps=20))
    from pxr import UsdGeom

    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == 20
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, pytest.approx(20))
    prims = {prim.GetDisplayName(): prim for prim in stage.GetDefaultPrim().GetChildren()}
    for body, name in enumerate(run.header.body_names):
        assert len(UsdGeom.Xformable(prims[name]).GetTimeSamples()) == 21
        for code in (0.0, 7.0, 20.0):
            expected = pose_matrices(run.poses_at([run.t[0] + code / 20]))[0, body]
            np.testing.assert_allclose(in_world(prims[name], code), expected, atol=1e-9)


def test_shapes_are_primitives_where_usd_has_them(pxr: Any, tmp_path: Path) -> None:
    from pxr import UsdGeom

    turned = np.eye(4)
    turned[:3, 3] = 0.1, 0.2, 0.3
    shapes = [
        drawn(Shape("sphere", (0.2,))),
        drawn(Shape("box", (0.2, 0.4, 0.6))),
        drawn(Shape("cylinder", (0.1, 0.5))),
        drawn(Shape("capsule", (0.1, 0.5))),
        drawn(Shape("cone", (0.1, 0.5))),
        drawn(Shape("ellipsoid", (0.1, 0.2, 0.3))),
    ]
    shapes = [replace(shape, pose=turned) for shape in shapes]
    stage = opened(pxr, usd(moving(np.zeros((2, 3)), *shapes), tmp_path / "a.usda"))
    (body,) = [
        prim for prim in stage.GetDefaultPrim().GetChildren() if prim.GetTypeName() == "Xform"
    ]
    found = body.GetChildren()
    kinds = ["Sphere", "Cube", "Cylinder", "Capsule", "Cone", "Sphere"]
    assert [prim.GetTypeName() for prim in found] == kinds
    cache = UsdGeom.BBoxCache(0, [UsdGeom.Tokens.default_])
    sizes = [(0.4,) * 3, (0.2, 0.4, 0.6), (0.2, 0.2, 0.5), (0.2, 0.2, 0.7), (0.2, 0.2, 0.5)]
    for prim, size in zip(found, [*sizes, (0.2, 0.4, 0.6)], strict=True):
        box = cache.ComputeWorldBound(prim).ComputeAlignedRange()
        np.testing.assert_allclose(box.GetSize(), size, atol=1e-6)
        np.testing.assert_allclose(box.GetMidpoint(), turned[:3, 3], atol=1e-6)


def test_meshes_keep_points_and_colours(pxr: Any, tmp_path: Path) -> None:
    trimesh: Any = pytest.importorskip("trimesh")
    from pxr import UsdGeom

    box = trimesh.creation.box((0.4, 0.2, 0.6))
    box.export(tmp_path / "box.stl")
    shape = replace(drawn(Shape("mesh", mesh=tmp_path / "box.stl")), color=(1.0, 0.0, 0.5, 0.5))
    stage = opened(pxr, usd(moving(np.zeros((2, 3)), shape), tmp_path / "a.usd"))
    (mesh,) = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    points = np.array(UsdGeom.Mesh(mesh).GetPointsAttr().Get())
    np.testing.assert_allclose(np.ptp(points, axis=0), (0.4, 0.2, 0.6), atol=1e-6)
    assert len(UsdGeom.Mesh(mesh).GetFaceVertexCountsAttr().Get()) == 12
    color = UsdGeom.Gprim(mesh).GetDisplayColorAttr().Get()[0]
    np.testing.assert_allclose(color, (1.0, 0.0, 0.2159), atol=1e-3)  # linear, not sRGB
    assert UsdGeom.Gprim(mesh).GetDisplayOpacityAttr().Get()[0] == pytest.approx(0.5, abs=2e-3)


def test_any_names_of_bodies_become_valid_and_different_ones(
    pxr: Any, run: pysim.Trajectory, tmp_path: Path
) -> None:
    names = ('a "b"/<script>', "a__b___script_")
    named = replace(run, header=replace(run.header, body_names=names))
    stage = opened(pxr, named.to_usd(tmp_path / "a.usda"))
    found = [prim.GetDisplayName() for prim in stage.GetDefaultPrim().GetChildren()]
    assert [name for name in found if name in names] == list(names)


def test_gravity_points_down_whatever_its_axis(pxr: Any, tmp_path: Path) -> None:
    run = moving(np.array([[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]))
    falling = replace(run, header=replace(run.header, gravity=(0.0, -9.81, 0.0)))
    stage = opened(pxr, falling.to_usd(tmp_path / "a.usda"))
    body = stage.GetDefaultPrim().GetChildren()[0]
    end = in_world(body, stage.GetEndTimeCode())[:3, 3]
    np.testing.assert_allclose(end, (0, 0, -1), atol=1e-9)


def test_a_scene_is_written_without_samples(pxr: Any, tmp_path: Path) -> None:
    from pxr import UsdGeom

    scene = pysim.load_scene(SCENES / "double_pendulum.toml")
    stage = opened(pxr, usd(scene, tmp_path / "start.usd"))
    bodies = [UsdGeom.Xformable(prim) for prim in stage.GetDefaultPrim().GetChildren()]
    assert [
        body.GetTimeSamples() for body in bodies if body.GetPrim().GetTypeName() == "Xform"
    ] == [
        [],
        [],
    ]


def test_the_command_writes_the_file(
    pxr: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = str(SCENES / "double_pendulum.toml")
    assert main([scene, "--duration", "0.2", "-o", "a.h5", "--quiet"]) == 0
    assert main(["usd", "a.h5"]) == 0
    assert "stage       a.usd" in capsys.readouterr().out
    assert main(["usd", "a.h5", "-o", "a.obj"]) == 2
    assert (
        "unknown kind of picture '.obj'; use one of .usd, .usda, .usdc" in capsys.readouterr().err
    )


def test_without_usd_core_the_error_says_how_to_install_it(
    run: pysim.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(PysimError, match=r"usd: needs usd-core; install it with pip .*\[usd\]"):
        run.to_usd(tmp_path / "a.usd")
    assert not (tmp_path / "a.usd").exists()


def test_empty_runs_and_wrong_numbers_are_refused(run: pysim.Trajectory, tmp_path: Path) -> None:
    with pytest.raises(PysimError, match="fps: must be between 0 and 240"):
        run.to_usd(tmp_path / "a.usd", fps=float("nan"))
    with pytest.raises(TrajectoryError, match="has no rows to export"):
        usd(moving(np.zeros((0, 3))), tmp_path / "a.usd")
