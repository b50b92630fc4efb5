"""Animated glTF. Oracles: poses of the run, keyframes decoded by the specification's layout, trimesh's reader."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import PysimError, TrajectoryError
from pysim.cli import main
from pysim.render import gltf
from pysim.trajectory.interpolation import rotation_matrices
from tests.render.scenes import moving

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.fixture(scope="module")
def run() -> pysim.Trajectory:
    overrides = {"simulation.duration": 1.0}
    return pysim.simulate(pysim.load_scene(SCENES / "double_pendulum.toml", overrides))


def chunks(path: Path) -> tuple[dict[str, Any], bytes]:
    """JSON and binary chunk of a .glb file [glTF 2.0, 4.4]."""
    data = path.read_bytes()
    magic, version, length, size, kind = struct.unpack("<4sIII4s", data[:20])
    assert (magic, version, length, kind) == (b"glTF", 2, len(data), b"JSON")
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def values(tree: dict[str, Any], blob: bytes, index: int) -> np.ndarray:
    accessor = tree["accessors"][index]
    view = tree["bufferViews"][accessor["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    count = accessor["count"] * width
    return np.frombuffer(blob, "<f4", count, view.get("byteOffset", 0)).reshape(-1, width)


def test_keyframes_are_the_poses_of_the_run(run: pysim.Trajectory, tmp_path: Path) -> None:
    tree, blob = chunks(gltf(run, tmp_path / "run.glb", fps=20))
    animation = tree["animations"][0]
    moved = set()
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        times = values(tree, blob, sampler["input"])[:, 0]
        assert len(times) == 21
        node = tree["nodes"][channel["target"]["node"]]
        assert "matrix" not in node
        body = run.header.body_names.index(node["name"])
        poses = run.poses_at(times)[:, body]
        found = values(tree, blob, sampler["output"])
        moved.add((node["name"], channel["target"]["path"]))
        if channel["target"]["path"] == "translation":
            np.testing.assert_allclose(found, poses[:, :3], atol=1e-6)
        else:
            np.testing.assert_allclose(
                rotation_matrices(found.astype(float)), rotation_matrices(poses[:, 3:]), atol=1e-5
            )
            assert (np.sum(found[1:] * found[:-1], axis=1) > 0).all()
    assert {name for name, _ in moved} == set(run.header.body_names)


def test_another_reader_finds_the_first_pose_with_y_upwards(
    run: pysim.Trajectory, tmp_path: Path
) -> None:
    import trimesh

    scene = trimesh.load_scene(gltf(run, tmp_path / "run.glb"))
    assert scene.geometry
    for body, name in enumerate(run.header.body_names):
        place = scene.graph.get(name)[0]
        x, y, z = run.poses[0, body, :3]
        np.testing.assert_allclose(place[:3, 3], [x, z, -y], atol=1e-6)


def test_a_scene_is_written_without_an_animation(tmp_path: Path) -> None:
    scene = pysim.load_scene(SCENES / "double_pendulum.toml")
    assert "animations" not in chunks(gltf(scene, tmp_path / "start.glb"))[0]


def test_the_command_writes_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = str(SCENES / "double_pendulum.toml")
    assert main([scene, "--duration", "0.2", "-o", "a.h5", "--quiet"]) == 0
    assert main(["gltf", "a.h5"]) == 0
    assert "model       a.glb" in capsys.readouterr().out
    assert main(["gltf", "a.h5", "-o", "a.obj"]) == 2
    assert "unknown kind of picture '.obj'; use one of .glb" in capsys.readouterr().err


def test_empty_runs_and_wrong_numbers_are_refused(run: pysim.Trajectory, tmp_path: Path) -> None:
    with pytest.raises(PysimError, match="fps: must be between 0 and 240"):
        gltf(run, tmp_path / "a.glb", fps=float("nan"))
    with pytest.raises(TrajectoryError, match="has no rows to export"):
        gltf(moving(np.zeros((0, 3))), tmp_path / "a.glb")
    assert not (tmp_path / "a.glb").exists()
