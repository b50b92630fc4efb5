"""Records of worlds under right checksums, number by number: an error that a user can read, or worlds that go on.

A record comes from anyone's file. Oracles: no signal and no call without end in a child process; worlds that refuse a
record save the same bytes as before; those that take one save it again.
"""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import time
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np
import pytest

import pysim
from pysim.environments import Environment
from pysim.errors import PysimError
from pysim.simulation.replay import replay
from pysim.simulation.scene_run import run_of
from pysim.trajectory.checkpoint import read_checkpoint, write_checkpoint
from pysim.trajectory.page_checks import END_OF_FILE, END_OF_FILE_AT
from pysim.trajectory.page_file import PageFile
from pysim.worlds.ledger import with_ledger
from pysim.worlds.saved_parts import packed, unpacked
from tests.fuzz.budget import SECONDS
from tests.fuzz.isolated import faults
from tests.fuzz.records import (
    FOLDER,
    STACK,
    Change,
    changed,
    places,
    scene_of,
    sealed,
    split,
    stack,
)
from tests.resumed_runs import run_to_stop
from tests.resumed_scenes import BALLS, EVENT, disc_text
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FEW, FEW_RUNS = 150, 12  # changes of a scene without a time
STATES = {
    "q",
    "v",
    "loop_q",
    "scheme",
    "pivots",
    "signals",
    "contacts",
}  # a run from wild ones may last
REALS = [
    np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 1e-300, 1e-9, -1e-9, 1e3, -1e3, 1e9, 1e17, 1e300, -1e300,
    2.0**31, 2.0**53, 2.0**63,
]  # fmt: skip
WHOLE = [
    -(2**63),
    -(2**53),
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    64,
    10**6,
    2**31,
    2**53,
    2**53 + 1,
    2**62,
    2**63 - 1,
]
DELAYED = """
[[signal]]
name = "push"
type = "input"
unit = "N·m"
[[controller]]
name = "late"
type = "delay"
inputs = ["push"]
periods = 3
period = 0.007
"""


class WorldCase(NamedTuple):
    """Worlds of a scene, and what to do with them."""

    make: Callable[[], pysim.Worlds]
    before: int  # steps


def noisy_disc() -> str:
    return disc_text("revolute").replace("[simulation]", DELAYED + "[simulation]")


def worlds_of(path: Path, n: int | None = 2, **others: Any) -> Callable[[], pysim.Worlds]:
    return lambda: pysim.Worlds(pysim.load_scene(path, allow_code=True), n, **others)


CASES: dict[str, WorldCase] = {
    "stack": WorldCase(worlds_of(stack()), 20),
    "stack in floats": WorldCase(worlds_of(stack(), dtype=np.float32), 20),
    "stack under error control": WorldCase(worlds_of(stack("accuracy = 1e-5")), 20),
    "go1": WorldCase(worlds_of(SCENES / "environments/go1.toml", 1), 40),
    "delay, noise and sampled control": WorldCase(worlds_of(scene_of(noisy_disc(), "noisy")), 11),
    "dopri5": WorldCase(
        worlds_of(scene_of(noisy_disc().replace("step = 2e-3", 'integrator = "dopri5"\nstep = 2e-3'), "dopri")), 11
    ),
    "generalized_alpha with a loop": WorldCase(
        lambda: pysim.Worlds(
            pysim.load_scene(
                SCENES / "four_bar.toml",
                {"simulation.integrator": "generalized_alpha", "simulation.step": 1e-3},
            ),
            2,
        ),
        5,
    ),
    "event": WorldCase(worlds_of(scene_of(disc_text("revolute", EVENT), "event")), 11),
    "impacts": WorldCase(
        worlds_of(scene_of(BALLS.replace("LAW", "0.5").replace("step = 1.0\n", ""), "impacts")), 20
    ),
    "scheme in Python": WorldCase(
        worlds_of(scene_of(noisy_disc().replace("step = 2e-3", 'integrator = "resumed_adams"\nstep = 2e-3'), "adams")),
        5,
    ),
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------ worlds


def every_change(where: dict[str, tuple[np.dtype[Any], int, int]]) -> list[Change]:
    """Return all changes of single numbers, and exchanges of neighbours."""
    found = []
    for name, (kind, _, count) in where.items():
        values = WHOLE if kind.kind == "i" else REALS
        for place in range(count):
            found += [Change(name, place, value) for value in values]
            if place:
                found.append(Change(name, place, place - 1, exchanged=True))
    return found


def chosen(changes: list[Change], count: int, seed: int) -> list[Change]:
    """Return some changes: at most half of them of the parts that hold many numbers."""
    rng = random.Random(seed)
    by_part: dict[str, list[Change]] = {}
    for change in changes:
        by_part.setdefault(change.part, []).append(change)
    names = sorted(by_part)
    return [rng.choice(by_part[rng.choice(names)]) for _ in range(count)]


@cache
def started(name: str) -> tuple[pysim.Worlds, bytes]:
    """Return worlds of a case, and what they have saved after some steps."""
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        worlds = case.make()
        if worlds._records.is_adaptive:
            worlds.step(seconds=0.01 * case.before)
        else:
            worlds.step(steps=case.before)
    return worlds, worlds.save()


def may_last(change: Change) -> bool:
    return change.part.split(".")[-1] in STATES


def use_worlds(worlds: pysim.Worlds, changed_record: bytes, saved: bytes) -> None:
    """Load a record; step and read the worlds if they take it, else compare them with before."""
    worlds.load(saved)
    try:
        worlds.load(changed_record)
    except PysimError:
        assert worlds.save() == saved, "a refused record has changed the worlds"
        raise
    worlds.load(worlds.save())
    for _ in range(3):
        if worlds._records.is_adaptive:
            worlds.step(seconds=0.011)
        else:
            worlds.step(steps=4)
    worlds.save()
    for k in range(len(worlds)):
        worlds.reason(k)
    _ = worlds.poses
    for name in worlds.signals:
        _ = worlds.signals[name]
    if worlds._records.is_convex:
        worlds.contact_points()


def rounds(changes: list[Change], name: str, few: int) -> Iterator[list[Change]]:
    if not SECONDS:
        yield chosen(changes, few, len(name))
        return
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        yield chosen(changes, few, int.from_bytes(os.urandom(4), "big"))


def check(
    use: Callable[[Change], None],
    changes: list[Change],
    name: str,
    record: Callable[[str, Any], None],
    few: int = FEW,
) -> None:
    """Call `use` with some changes, and others as long as `PYSIM_FUZZ_SECONDS` says; record how many they were."""
    count, found = 0, list[str]()
    for some in rounds(changes, name, few):
        found += faults(use, some, may_last)
        count += len(some)
    record("inputs", count)
    assert not found, "\n".join(found[:40])


@pytest.mark.parametrize("name", CASES)
def test_a_changed_record_is_refused_or_goes_on(
    name: str, record_property: Callable[[str, Any], None]
) -> None:
    worlds, saved = started(name)
    head, record = split(saved)
    where = places(worlds, record)

    def use(change: Change) -> None:
        use_worlds(worlds, sealed(head, changed(record, where, change)), saved)

    check(use, every_change(where), name, record_property)


@pytest.mark.parametrize("name", ["stack", "scheme in Python"])
def test_changed_lengths_of_a_record_are_refused(name: str) -> None:
    worlds, saved = started(name)
    head, record = split(saved)

    def use(cut: tuple[int, int]) -> None:
        place, value = cut
        made = bytearray(head + record)
        made[place : place + 8] = (value % 2**64).to_bytes(8, "little")
        use_worlds(worlds, sealed(b"", bytes(made)), saved)

    inputs = [(place, value) for place in range(8, min(len(head) + 64, 400), 8) for value in WHOLE]
    found = faults(use, inputs)
    assert not found, "\n".join(found[:40])


# ------------------------------------------------------------------------------------------------ environments


@cache
def environment(name: str) -> tuple[Environment, bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = Environment(SCENES / f"environments/{name}.toml", 2)
        own.reset(seed=3)
        for _ in range(3):
            own.step(np.zeros((2, own.action_size)))
    return own, own.save()


def changes_of_arrays(parts: dict[str, Any]) -> list[Change]:
    changes = []
    for name, array in parts.items():
        values: list[Any] = REALS if array.dtype.kind == "f" else WHOLE
        if array.dtype.kind not in "fi":
            values = [0, 1, 255]
        if array.dtype.kind in "fiu":
            changes += [Change(name, k, value) for k in range(array.size) for value in values]
        changes += [
            Change(name, -1, kind)
            for kind in ("missing", "empty", "text", "longer", "complex", "huge")
        ]
    return changes


def with_change(parts: dict[str, Any], change: Change) -> dict[str, Any]:
    changed = dict(parts)
    array = changed[change.part]
    if change.value == "missing":
        del changed[change.part]
    elif change.value == "empty":
        changed[change.part] = np.zeros((0,))
    elif change.value == "text":
        changed[change.part] = np.full(array.shape, "x")
    elif change.value == "longer":
        changed[change.part] = np.concatenate([array.ravel(), array.ravel(), [0]])
    elif change.value == "complex":
        changed[change.part] = array.astype(complex) if array.dtype.kind in "fiub" else array
    elif change.value == "huge":
        changed[change.part] = np.broadcast_to(np.zeros(1), (1000, *array.shape[1:]))
    else:
        numbers = array.astype(array.dtype).ravel()
        with np.errstate(all="ignore"):
            numbers[change.place] = change.value
        changed[change.part] = numbers.reshape(array.shape)
    return changed


def archived(parts: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **parts)
    return file.getvalue()


@pytest.mark.parametrize("name", ["cart_pole", "go1"])
def test_a_changed_record_of_an_environment_is_refused_or_goes_on(
    name: str, record_property: Callable[[str, Any], None]
) -> None:
    subject, saved = environment(name)
    with np.load(io.BytesIO(saved)) as file:
        parts = {key: file[key] for key in file.files}
    worlds = subject.worlds
    head, record = split(parts["worlds"].tobytes())
    where = places(worlds, record)

    def use(change: Change) -> None:
        if change.part.startswith("worlds."):
            inner = change._replace(part=change.part[7:])
            record_of_worlds = sealed(head, changed(record, where, inner))
            made = {**parts, "worlds": np.frombuffer(record_of_worlds, np.uint8)}
        else:
            made = with_change(parts, change)
        subject.load(saved)
        try:
            subject.load(archived(made))
        except PysimError:
            assert subject.save() == saved, "a refused record has changed the environment"
            raise
        subject.save()
        ended = subject.worlds.lost
        for _ in range(2):
            step = subject.step(np.zeros((2, subject.action_size)))
            ended = step.terminated | step.truncated
            subject.reset(where=ended)

    changes = changes_of_arrays({key: array for key, array in parts.items() if key != "worlds"})
    changes += [c._replace(part=f"worlds.{c.part}") for c in every_change(where)]
    check(use, changes, name, record_property)


# ------------------------------------------------------------------------------------------------ trajectories

RUNS = {
    "stack": STACK.replace("SETTINGS", ""),
    "event": disc_text("revolute", EVENT),
    "dopri5": disc_text("revolute", EVENT).replace("step = 2e-3", 'integrator = "dopri5"\nstep = 2e-3'),
    "impacts": BALLS.replace("LAW", "0.5"),
    "adams": disc_text("revolute").replace("step = 2e-3", 'integrator = "resumed_adams"\nstep = 2e-3'),
    "implicit": disc_text("revolute").replace("step = 2e-3", 'integrator = "generalized_alpha"\nstep = 2e-3'),
}  # fmt: skip


SEGMENTS = {"dopri5": 1}  # before the stop


@cache
def stopped(name: str) -> tuple[Path, dict[str, Any]]:
    """Return the file of a run that was stopped, and the parts of its checkpoint."""
    path, output = scene_of(RUNS[name], f"run_{name}"), FOLDER / f"{name}.h5"
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        run_to_stop(pysim.load_scene(path, allow_code=True), output, SEGMENTS.get(name, 3), patch)
    with h5py.File(output) as file:
        checkpoint = read_checkpoint(file)
    assert checkpoint is not None
    return output, unpacked(checkpoint.record)


@cache
def places_of_run(name: str) -> dict[str, tuple[np.dtype[Any], int, int]]:
    """Return the places of the numbers of the record in a checkpoint."""
    _, parts = stopped(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = with_ledger(pysim.load_scene(FOLDER / f"run_{name}.toml", allow_code=True))
        holder: Any = SimpleNamespace(_records=run_of(scene).records)
    return places(holder, split(parts["run.record"].tobytes())[1])


def write_with_checkpoint(output: Path, to: Path, parts: dict[str, Any]) -> None:
    """Write a copy of a trajectory file with another checkpoint, under right checksums."""
    data = output.read_bytes()
    (size,) = END_OF_FILE.unpack_from(data, END_OF_FILE_AT)
    to.unlink(missing_ok=True)
    pages = PageFile(os.open(to, os.O_RDWR | os.O_CREAT))
    pages.write(data[:size])
    with h5py.File(pages, "r+") as file:
        last = read_checkpoint(file)
        assert last is not None
        write_checkpoint(file, last.rows, packed(parts))
    pages.commit()
    pages.close()


@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_a_changed_checkpoint_is_refused_or_goes_on(
    name: str, record_property: Callable[[str, Any], None]
) -> None:
    output, parts = stopped(name)
    where = places_of_run(name)
    head, held = split(parts["run.record"].tobytes())
    to = FOLDER / f"changed_{name}.h5"

    def use(change: Change) -> None:
        if change.part.startswith("record."):
            inner = change._replace(part=change.part[7:])
            record = sealed(head, changed(held, where, inner))
            made = {**parts, "run.record": np.frombuffer(record, np.uint8)}
        else:
            made = with_change(parts, change)
        write_with_checkpoint(output, to, made)
        errors = []
        for call in (replay, pysim.resume):
            try:
                call(to, allow_code=True)
            except PysimError as error:
                errors.append(error)
        if errors:
            raise errors[-1]

    changes = changes_of_arrays({k: array for k, array in parts.items() if k != "run.record"})
    changes += [c._replace(part=f"record.{c.part}") for c in every_change(where)]
    changes += [Change("run.record", -1, kind) for kind in ("missing", "empty", "text", "longer")]
    check(use, changes, name, record_property, FEW_RUNS)


# ------------------------------------------------------------------------------------------------- learners

LEARNERS = """
import io, random, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, torch
from pysim.environments import Environment
from pysim.environments.learn import FORMAT, Learner, Settings
from pysim.environments.sealed_file import read_sealed, write_sealed
from pysim.errors import PysimError

scene, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
settings = Settings(hidden=(8,), steps=4)
learner = Learner(Environment(scene, 4, seed=1), settings, seed=1)
[*learner.iterations(1)]
learner.save(path)
data = open(path, "rb").read()
state = torch.load(io.BytesIO(read_sealed(path, FORMAT, "learner")), weights_only=True)
values = [-1, 3, 0.5, float("nan"), float("inf"), 2**63, "x", b"x", None, [], [1.0], {}, torch.zeros(3)]

def refused(given):
    open(path, "wb").write(given)
    try:
        learner.load(path)
    except PysimError as error:
        return str(error).startswith(path)
    return False

rng = random.Random(count)
for _ in range(count):
    k = rng.randrange(8 * len(data))
    flipped = bytearray(data)
    flipped[k // 8] ^= 1 << (k % 8)
    assert refused(bytes(flipped)), k
for key in state:
    for value in values:
        file = io.BytesIO()
        torch.save({**state, key: value}, file)
        write_sealed(path, FORMAT, file.getvalue())
        try:
            learner.load(path)
        except PysimError:
            pass
        [*learner.iterations(1)]
open(path, "wb").write(data)
learner.load(path)
"""


def test_a_changed_checkpoint_of_a_learner_is_refused_or_goes_on(tmp_path: Path) -> None:
    if not (find_spec("torch") and find_spec("rsl_rl")):
        pytest.skip("needs torch and rsl-rl-lib, of the extra learn")
    scene, path = str(SCENES / "environments/cart_pole.toml"), str(tmp_path / "learner.pt")
    command = [sys.executable, "-c", LEARNERS, scene, path, str(60 + int(10 * SECONDS))]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
