"""Trajectory files: exact round trips, refusals by name, and what is left after a kill.

Oracles: the arrays that were written, h5py alone, and the system's own signals and limits.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, TrajectoryError
from pysim.trajectory import (
    Trajectory,
    TrajectoryHeader,
    TrajectoryWriter,
    header_visuals,
    load_trajectory,
)
from pysim.trajectory.interpolation import pose_matrices
from tests.scene_runs import SCENES

ROOT = Path(__file__).parents[2]
COLUMNS = ("t", "q", "v", "a", "kinetic", "potential", "elastic", "poses")


def header(**changes: object) -> TrajectoryHeader:
    base = TrajectoryHeader(
        joint_names=("shoulder", "kugelgelenk"),
        body_names=("arm", "häntel"),
        coordinate_names=("shoulder", "x", "y", "z", "w"),
        velocity_names=("shoulder", "wx", "wy", "wz"),
        coordinate_units=("rad", "1", "1", "1", "1"),
        velocity_units=("rad/s",) * 4,
        frame_names=("tool", "base"),
        frame_bodies=(1, -1),
        frame_poses=np.array([np.eye(4), np.diag([1.0, -1.0, -1.0, 1.0])]),
        gravity=(0.0, 0.5, -9.81),
        integrator="rk4",
        step=1e-3,
        name="two links",
        scene_text='name = "two links" # Größe\n',
        overrides={"simulation.step": 1e-4, "gravity": np.zeros(3)},
        version="0.1.0",
        visuals=[{"body": 0, "kind": "sphere", "size": [0.1]}],
        render={"trails": ["tool"]},
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def random_trajectory(rows: int = 7, **changes: object) -> Trajectory:
    rng = np.random.default_rng(3)
    poses = rng.normal(size=(rows, 2, 7))
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    t = np.cumsum(rng.uniform(0.01, 0.1, rows))
    q, v, a = (rng.normal(size=(rows, width)) for width in (5, 4, 4))
    kinetic, potential, elastic = rng.normal(size=(3, rows))
    return Trajectory(header(**changes), t, q, v, a, kinetic, potential, elastic, poses)


def assert_same_rows(found: Trajectory, expected: Trajectory) -> None:
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))


def rows_of(trajectory: Trajectory, rows: slice) -> list[np.ndarray]:
    return [getattr(trajectory, column)[rows] for column in COLUMNS]


def test_a_saved_trajectory_reads_back_bit_for_bit(tmp_path: Path) -> None:
    written = random_trajectory()
    written.save(tmp_path / "run.h5")
    read = load_trajectory(tmp_path / "run.h5")

    assert read.complete
    assert_same_rows(read, written)
    np.testing.assert_array_equal(read.header.frame_poses, written.header.frame_poses)
    expected = {"simulation.step": 1e-4, "gravity": [0.0, 0.0, 0.0]}  # JSON knows no arrays
    assert read.header.overrides == expected
    for key in dataclasses.asdict(written.header):
        if key not in {"frame_poses", "overrides"}:
            assert getattr(read.header, key) == getattr(written.header, key), key


def test_forces_of_loops_and_couplings_read_back_where_there_are_any(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    forces = {
        "loops/wrenches": rng.normal(size=(7, 2, 6)),
        "couplings/forces": rng.normal(size=(7, 1)),
    }
    written = dataclasses.replace(
        random_trajectory(loop_names=("close", "Öse"), coupling_names=("gear",)),
        constraint_forces=forces,
    )
    written.save(tmp_path / "run.h5")
    read = load_trajectory(tmp_path / "run.h5")

    assert read.names["loops"] == ("close", "Öse")
    assert read.names["couplings"] == ("gear",)
    np.testing.assert_array_equal(read.loop_wrenches, forces["loops/wrenches"])
    np.testing.assert_array_equal(read.coupling_forces, forces["couplings/forces"])
    strength = np.linalg.norm(forces["loops/wrenches"][:, 1, 3:], axis=-1)
    np.testing.assert_allclose(read.loop_loads[:, 1, 1], strength, rtol=1e-15)

    bare = random_trajectory()
    assert bare.loop_wrenches.shape == (7, 0, 6)
    assert bare.coupling_forces.shape == (7, 0)
    assert bare.loop_loads.shape == (7, 0, 2)


def test_rows_without_their_forces_are_rejected(tmp_path: Path) -> None:
    trajectory = random_trajectory(loop_names=("close",))
    with (
        TrajectoryWriter(tmp_path / "run.h5", trajectory.header) as writer,
        pytest.raises(
            TrajectoryError, match=r"rows: takes 9 arrays \(time, .*loops/wrenches\), got 8"
        ),
    ):
        writer.append(*rows_of(trajectory, slice(None)))


def test_rows_written_in_pieces_are_the_rows_of_one_piece(tmp_path: Path) -> None:
    whole = random_trajectory(2500)  # more than two chunks
    with TrajectoryWriter(tmp_path / "run.h5", whole.header) as writer:
        for piece in (slice(0, 1), slice(1, 1500), slice(1500, 1500), slice(1500, 2500)):
            writer.append(*rows_of(whole, piece))
        writer.finish()
    assert_same_rows(load_trajectory(tmp_path / "run.h5"), whole)


def test_the_file_opens_with_h5py_alone(tmp_path: Path) -> None:
    trajectory = random_trajectory()
    trajectory.save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["complete"]
        assert file.attrs["scene_sha256"].decode() == trajectory.scene_hash
        assert file["time"].attrs["unit"] == b"s"
        assert list(file["names/coordinates"].asstr()) == ["shoulder", "x", "y", "z", "w"]
        assert list(file["units/velocities"].asstr()) == ["rad/s"] * 4
        energy = sum(file["energy"][kind][:] for kind in file["energy"])
        np.testing.assert_allclose(energy, trajectory.energy, rtol=1e-15)
        assert json.loads(file["render"].asstr()[()]) == {"trails": ["tool"]}


def test_units_of_the_acceleration_follow_from_those_of_the_velocity() -> None:
    trajectory = random_trajectory(velocity_units=("m/s", "rad/s", "rad/s", "1/s"))
    assert trajectory.units["a"] == ("m/s²", "rad/s²", "rad/s²", "1/s²")


def test_a_mechanism_without_coordinates_still_has_a_trajectory(tmp_path: Path) -> None:
    bare = TrajectoryHeader((), (), (), (), (), ())
    empty = np.zeros((2, 0))
    zeros = np.zeros(2)
    still = Trajectory(
        bare, np.arange(2.0), empty, empty, empty, zeros, zeros, zeros, np.zeros((2, 0, 7))
    )
    still.save(tmp_path / "run.h5")
    assert_same_rows(load_trajectory(tmp_path / "run.h5"), still)


def test_a_run_that_was_not_finished_reads_as_incomplete(tmp_path: Path) -> None:
    path, trajectory = tmp_path / "run.h5", random_trajectory()
    with TrajectoryWriter(path, trajectory.header) as writer:
        writer.append(*rows_of(trajectory, slice(None)))
    with pytest.warns(PysimWarning, match="incomplete, the run was cut short; its last time is"):
        read = load_trajectory(path)
    assert not read.complete
    assert_same_rows(read, trajectory)


def test_a_run_without_rows_reads_as_incomplete(tmp_path: Path) -> None:
    TrajectoryWriter(tmp_path / "run.h5", header()).close()
    with pytest.warns(PysimWarning, match="it has no rows"):
        assert len(load_trajectory(tmp_path / "run.h5")) == 0


ENDLESS_RUN = """
import itertools, sys, numpy as np
from pysim.trajectory import TrajectoryHeader, TrajectoryWriter
header = TrajectoryHeader(("j",), ("b",), ("j",), ("j",), ("rad",), ("rad/s",))
writer = TrajectoryWriter(sys.argv[1], header)
for k in itertools.count():
    t = np.arange(100 * k, 100 * (k + 1), dtype=float)
    x = t[:, None]
    writer.append(t, x, x, x, t, t, t, np.tile(t[:, None, None], (1, 1, 7)))
    if k % 7 == 0:
        writer.flush()
    print(k, flush=True)
"""


@pytest.mark.parametrize("lines", [1, 40, 333])
def test_a_killed_run_leaves_a_readable_file_that_is_marked_incomplete(
    tmp_path: Path, lines: int
) -> None:
    path = tmp_path / "run.h5"
    command = [sys.executable, "-c", ENDLESS_RUN, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as run:
        assert run.stdout is not None
        for _ in range(lines):
            run.stdout.readline()
        run.send_signal(signal.SIGKILL)
    with pytest.warns(PysimWarning, match="incomplete"):
        read = load_trajectory(path)
    assert len(read) >= 100
    np.testing.assert_array_equal(read.t, np.arange(len(read)))
    np.testing.assert_array_equal(read.poses[:, 0, 6], read.t)


FULL_DISK = """
import resource, sys, numpy as np
from pysim.errors import TrajectoryError
from pysim.trajectory import TrajectoryHeader, TrajectoryWriter
header = TrajectoryHeader(("j",), ("b",), ("j",), ("j",), ("rad",), ("rad/s",))
try:
    with TrajectoryWriter(sys.argv[1], header) as writer:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        for k in range(1000):
            t = np.arange(100 * k, 100 * (k + 1), dtype=float)
            x = t[:, None]
            writer.append(t, x, x, x, t, t, t, np.tile(t[:, None, None], (1, 1, 7)))
            writer.flush()
        writer.finish()
except TrajectoryError as error:
    print(error)
"""


def test_a_full_disk_is_named_and_what_was_written_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    remedy = "cannot write, file too large; raise the limit on file sizes"
    assert run.stdout == f"{path}: {remedy}\n", run.stderr
    with pytest.warns(PysimWarning, match="incomplete"):
        read = load_trajectory(path)
    assert len(read) > 5000
    np.testing.assert_array_equal(read.poses[:, 0, 6], np.arange(len(read)))


def saved(path: Path) -> Path:
    random_trajectory().save(path)
    return path


def test_a_file_that_is_something_else_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "thesis.h5"
    path.write_text("years of work")
    with pytest.raises(TrajectoryError, match="exists and is not a pysim trajectory"):
        random_trajectory().save(path, overwrite=True)
    assert path.read_text() == "years of work"
    assert list(tmp_path.iterdir()) == [path]


def test_foreign_hdf5_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["measured"] = np.arange(3)
    before = path.read_bytes()
    with pytest.raises(
        TrajectoryError, match="is not a pysim trajectory, so it is not overwritten"
    ):
        random_trajectory().save(path, overwrite=True)
    assert path.read_bytes() == before


def test_a_trajectory_is_replaced_only_on_purpose(tmp_path: Path) -> None:
    path = saved(tmp_path / "run.h5")
    with pytest.raises(TrajectoryError, match=r"run\.h5: exists; choose another name"):
        random_trajectory(3).save(path)
    assert len(load_trajectory(path)) == 7
    random_trajectory(3).save(path, overwrite=True)
    assert len(load_trajectory(path)) == 3


def test_a_folder_is_rejected_as_output(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="is a folder; give a file name"):
        random_trajectory().save(tmp_path, overwrite=True)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match=r"no/run\.h5: the folder '.*no' does not exist"):
        random_trajectory().save(tmp_path / "no" / "run.h5")


def test_a_place_without_access_is_named() -> None:
    where = "/proc/run.h5"  # nobody may create a file there, not even root
    with pytest.raises(TrajectoryError, match=r"/proc/run\.h5: cannot write, "):
        random_trajectory().save(where)


def test_a_file_in_use_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    hold = "import h5py, sys; f = h5py.File(sys.argv[1], 'w'); print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold, str(path)], **pipes) as other:  # type: ignore[call-overload]
        other.stdout.readline()
        with pytest.raises(TrajectoryError, match="another program is writing it"):
            random_trajectory().save(path, overwrite=True)
        other.communicate(b"")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match=r"run\.h5: does not exist; a run with -o writes it"):
        load_trajectory(tmp_path / "run.h5")


def test_a_file_that_is_not_hdf5_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.h5").write_text("hello")
    with pytest.raises(TrajectoryError, match=r"run\.h5: is not an HDF5 file; give a trajectory"):
        load_trajectory(tmp_path / "run.h5")


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "run.h5")
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(TrajectoryError, match=r"run\.h5: cannot read, .*truncated"):
        load_trajectory(path)


def test_hdf5_of_another_program_is_named(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["time"] = np.arange(3)
    with pytest.raises(TrajectoryError, match="is HDF5, but not a pysim trajectory"):
        load_trajectory(tmp_path / "run.h5")


def test_a_version_from_the_future_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 9
        file.attrs["pysim_version"] = "7.5"
    expected = r"has format version 9, this pysim reads 1; use pysim 7\.5, which wrote it"
    with pytest.raises(TrajectoryError, match=expected):
        load_trajectory(path)


@pytest.mark.parametrize("key", ["q", "names/bodies", "scene/text", "frames/pose", "visuals"])
def test_a_file_that_lacks_a_part_is_damaged(tmp_path: Path, key: str) -> None:
    path = saved(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        del file[key]
    with pytest.raises(TrajectoryError, match=r"run\.h5: is damaged, .*run again"):
        load_trajectory(path)


def test_a_file_whose_parts_disagree_is_damaged(tmp_path: Path) -> None:
    path = saved(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        del file["v"]
        file["v"] = np.zeros((7, 3))
    with pytest.raises(TrajectoryError, match=r"is damaged, 'v' has shape \(7, 3\)"):
        load_trajectory(path)


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("q", np.zeros((7, 4)), r"q: must have shape \(7, 5\), got \(7, 4\)"),
        ("poses", np.full((7, 2, 7), np.nan), "poses: must be finite"),
        ("t", np.zeros(7), "time: must increase from row to row"),
    ],
)
def test_rows_that_do_not_fit_are_rejected(
    tmp_path: Path, column: str, value: np.ndarray, problem: str
) -> None:
    trajectory = dataclasses.replace(random_trajectory(), **{column: value})  # type: ignore[arg-type]
    with pytest.raises(TrajectoryError, match=problem):
        trajectory.save(tmp_path / "run.h5")


def test_rows_after_the_end_are_rejected(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path / "run.h5", header())
    writer.finish()
    with pytest.raises(TrajectoryError, match="is closed"):
        writer.append(*rows_of(random_trajectory(), slice(None)))


def test_a_header_whose_parts_disagree_is_rejected() -> None:
    with pytest.raises(TrajectoryError, match="coordinate_units: must have 5 entries, got 1"):
        header(coordinate_units=("rad",))


def turning(angles: list[float]) -> Trajectory:
    """One body that turns about z and moves along x."""
    half = np.array(angles) / 2
    zero = np.zeros_like(half)
    pose = np.stack([half * 4, zero, zero, zero, zero, np.sin(half), np.cos(half)], axis=-1)
    bare = TrajectoryHeader(
        (), ("b",), (), (), (), (), ("tip",), (0,), np.array([place(0, 1, 0)]), scene_text=""
    )
    rows = np.arange(len(half), dtype=float)
    empty = np.zeros((len(half), 0))
    return Trajectory(bare, rows, empty, empty, empty, zero, zero, zero, pose[:, None])


def place(x: float, y: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def test_poses_between_rows_turn_evenly_the_short_way() -> None:
    trajectory = turning([0.0, 2.0])
    trajectory.poses[1, :, 3:] *= -1  # the same rotation, seen from the other side
    x, _, _, _, _, sine, cosine = trajectory.poses_at(0.25)[0, 0]
    assert x == pytest.approx(1.0)
    assert 2 * np.arctan2(sine, cosine) == pytest.approx(0.5, abs=1e-15)


def test_poses_at_rows_are_the_rows_and_are_held_beyond_both_ends() -> None:
    trajectory = random_trajectory()
    times = np.concatenate([[-9.0], trajectory.t, [9.0]])
    expected = pose_matrices(trajectory.poses)[[0, *range(len(trajectory)), -1]]
    found = pose_matrices(trajectory.poses_at(times))
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_the_path_of_a_frame_is_carried_by_its_body() -> None:
    path = turning([0.0, np.pi / 2]).path_of("tip")
    expected = np.array([[0.0, 1, 0], [np.pi - 1, 0, 0]])
    np.testing.assert_allclose(path, expected, atol=1e-15)


def test_an_unknown_frame_gets_a_suggestion() -> None:
    with pytest.raises(TrajectoryError, match=r"unknown frame 'tipp'; did you mean 'tip'"):
        turning([0.0]).path_of("tipp")


def test_visuals_describe_shapes_and_hash_their_meshes(tmp_path: Path) -> None:
    from pysim.shapes import Geometry, Shape

    mesh = tmp_path / "part.stl"
    mesh.write_bytes(b"solid")  # sha256sum says 4b3d4a0d…
    drawn = Geometry(Shape("mesh", (), mesh, (2, 2, 2)), np.eye(4), None, "visual")
    floor = Geometry(Shape("box", (1, 2, 3)), place(0, 0, 1), (1, 0, 0, 1), "collision")
    first, second = json.loads(json.dumps(header_visuals([[], [drawn]], [floor])))
    assert (first["body"], first["size"], first["color"]) == (-1, [1, 2, 3], [1, 0, 0, 1])
    assert (second["body"], second["mesh"], second["scale"]) == (1, str(mesh), [2, 2, 2])
    assert second["sha256"].startswith("4b3d4a0d")
    assert second["pose"] == np.eye(4).tolist()


def test_a_mesh_that_is_gone_is_named(tmp_path: Path) -> None:
    from pysim.shapes import Geometry, Shape

    gone = Geometry(Shape("mesh", (), tmp_path / "gone.stl"), np.eye(4), None, "visual")
    with pytest.raises(TrajectoryError, match=r"gone\.stl: cannot read the mesh, no such file"):
        header_visuals([[gone]])


def test_importing_trajectories_loads_no_pictures_and_no_hdf5() -> None:
    code = """
import sys, pysim.trajectory, pysim.render
print({"h5py", "pyvista", "vtkmodules", "trimesh", "matplotlib"} & {*sys.modules})
"""
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.stdout == "set()\n", run.stderr


def test_a_trajectory_says_in_a_line_what_it_is() -> None:
    scene = pysim.load_scene(SCENES / "pendulum.toml", {"simulation.duration": 0.1})
    run = pysim.simulate(scene)
    shapes = "q (11, 1), v (11, 1)"
    assert repr(run) == f"<pysim.Trajectory 'pendulum': 11 instants from 0 to 0.1 s, {shapes}>"
    assert repr(run.header) == "<TrajectoryHeader 'pendulum': 1 bodies, rk4 at 0.001 s>"
    assert repr(scene) == "<pysim.Scene 'pendulum': 1 bodies, rk4 at 0.001 s for 0.1 s>"
