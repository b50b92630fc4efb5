"""Calls of every function of the engine with arrays of any shape, type, layout and value.

    python -m tests.fuzz.bound_functions SEED CALLS SECONDS

A call returns, or raises one of `ALLOWED`; it never ends the process. Its seed and name are printed before it, so that
a crash is reproduced by its seed. Arguments follow the annotations of `pysim/_engine.pyi`; a fifth of them do not.
"""

from __future__ import annotations

import ast
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import pysim
from pysim import _engine
from tests.scene_runs import SCENES

ALLOWED = (TypeError, ValueError, MemoryError, OverflowError)
LEFT_OUT = {"use_isa", "isa", "integrators", "available_isas", "row_maps", "pair_maps"}
STUB = Path(pysim.__file__).with_name("_engine.pyi")
NAMES = (
    "double_pendulum",
    "four_bar",
    "cable_robot",
    "servo_pid",
    "falling_box",
    "instrumented_top",
    "stewart_platform",
)
LOADED = [pysim.load_scene(SCENES / f"{name}.toml") for name in NAMES]
EXTREME = [0, -1, 2**31, -(2**31), 2**62, 2**63, np.nan, np.inf, 1e308]
WORDS = {
    "integrator": [*_engine.integrators(), "convex", "x", ""],
    "expressed": ["local", "world", "aligned", "x"],
    "kind_a": ["sphere", "box", "capsule", "x"],
    "kind_b": ["sphere", "box", "cylinder", "x"],
    "name": [*_engine.row_maps(), *_engine.pair_maps(), "x"],
}
FEW = {"steps", "every", "attempts"}  # many of these would take long


def functions() -> dict[str, list[tuple[str, str, bool]]]:
    """Return the parameters of every function of the stub: name, annotation, and whether it may be left out."""
    by_function = {}
    for node in ast.parse(STUB.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name not in LEFT_OUT:
            given = node.args
            needed = len(given.args) - len(given.defaults)
            parameters = [
                (a.arg, ast.unparse(a.annotation or ast.Constant("")), k >= needed)
                for k, a in enumerate(given.args)
            ]
            parameters += [
                (a.arg, ast.unparse(a.annotation or ast.Constant("")), True)
                for a in given.kwonlyargs
            ]
            by_function[node.name] = parameters
    return by_function


def array(rng: np.random.Generator, name: str, scene: Any) -> Any:
    """Return an array, mostly with a shape that the parameter takes."""
    model = scene.model
    signals = 0 if scene.signals is None else len(scene.signals.start)
    last: dict[str, Any] = {
        "q": model.nq, "q0": model.nq, "out_q": model.nq, "loop_q": len(scene.state.loop_q), "vertices": 3, "faces": 3,
        "f_ext": (model.nbodies, 6), "origin": (3,), "times": (), "signals": signals,
    }  # fmt: skip
    end = last.get(name, model.nv)
    shape: tuple[int, ...] = end if isinstance(end, tuple) else (end,)
    for _ in range(int(rng.choice([0, 0, 1, 1, 2]))):
        shape = (int(rng.choice([0, 1, 2, 5, 9, 17])), *shape)
    if rng.random() < 0.15:
        sizes = [0, 1, 2, 3, 4, 6, 7, 10, 12, model.nq, model.nv, model.nbodies]
        shape = tuple(int(rng.choice(sizes)) for _ in range(rng.integers(0, 4)))
    kind = (
        "f8"
        if rng.random() < 0.75
        else rng.choice(["f4", "i8", "i4", "u1", "?", ">f8", "c16", "O", "S3", "f2"])
    )
    values: Any = rng.normal(size=shape)
    if name in {"q", "q0"} and shape and shape[-1] == model.nq:
        values = np.broadcast_to(scene.state.q, shape).copy()
    elif name == "faces":
        values, kind = (
            rng.integers(-1 if rng.random() < 0.1 else 0, 9, size=shape),
            "i8" if rng.random() < 0.8 else kind,
        )
    elif name in {"steps", "due", "bits"}:
        values, kind = rng.integers(-1, 5, size=shape), "i8"
    if rng.random() < 0.2:
        values = np.where(
            rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, 1e308, -1e308, 0.0]), values
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = np.asarray(values).astype(kind)
    return laid_out(rng, made)


def laid_out(rng: np.random.Generator, array: Any) -> Any:
    """Return an array in another layout: reversed, in columns, strided, repeated, unaligned, read-only, or a list."""
    layout = rng.random()
    if layout < 0.04 and array.ndim:
        return array[::-1]
    if layout < 0.08:
        return np.asfortranarray(array)
    if layout < 0.12 and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if layout < 0.14:
        return np.broadcast_to(array, (2, *array.shape))
    if layout < 0.18 and array.dtype.kind == "f":
        other = np.ndarray(array.shape, array.dtype, np.empty(array.nbytes + 1, "u1").data, 1)
        other[...] = array
        return other
    if layout < 0.22:
        array.flags.writeable = False
    return array.tolist() if layout > 0.96 else array


def argument(rng: np.random.Generator, name: str, annotation: str, scene: Any) -> Any:
    """Return an argument of a parameter; a few are of any other kind."""
    if rng.random() < 0.04:
        of_any_kind = [
            None,
            "",
            "x",
            b"x",
            True,
            [],
            {},
            object(),
            scene.model,
            scene.actuation,
            rng.choice(EXTREME).item(),
        ]
        return of_any_kind[rng.integers(len(of_any_kind))]
    if "Sequence[Model]" in annotation:
        return [scene.model] * int(rng.choice([0, 1, 1, 1, 2, 5]))
    for word, value in (
        ("Model", scene.model),
        ("Contacts", scene.contacts),
        ("Actuation", scene.actuation),
    ):
        if annotation.startswith(word):
            return value
    if annotation == "bool":
        return bool(rng.random() < 0.5)
    if annotation.startswith("int"):
        small = int(rng.choice([0, 1, 1, 2, 3, 7, -1]))
        if name == "threads":
            return int(rng.choice([1, 1, 2, 3, 0]))
        return (
            small
            if name in FEW or rng.random() < 0.9
            else int(rng.choice([2**31, -(2**31), 2**62]))
        )
    if annotation.startswith("float"):
        return (
            float(rng.choice([1e-3, 1e-3, 0.1, 1.0, 0.0, -1.0]))
            if rng.random() < 0.85
            else rng.choice(EXTREME).item()
        )
    if annotation.startswith("str"):
        words = WORDS.get(name, ["x", ""])
        return str(rng.choice(words))
    if "Sequence[float]" in annotation:
        return np.concatenate([np.eye(3).reshape(-1), rng.normal(size=3)]).tolist()[
            : int(rng.choice([12, 12, 12, 3]))
        ]
    if "Array" in annotation or annotation in {"", "object"}:
        return array(rng, name, scene)
    return None


def call(seed: int, known: dict[str, list[tuple[str, str, bool]]]) -> str:
    """Make one call, and return "done" or the type of its error."""
    rng = np.random.default_rng(seed)
    scene = LOADED[rng.integers(len(LOADED))]
    name = sorted(known)[rng.integers(len(known))]
    given = {
        parameter: argument(rng, parameter, annotation, scene)
        for parameter, annotation, optional in known[name]
        if not optional or rng.random() < 0.3
    }
    print(seed, name, flush=True)  # noqa: T201, read by the test
    try:
        getattr(_engine, name)(**given)
    except ALLOWED as error:
        return type(error).__name__
    return "done"


def main(seed: int, calls: int, seconds: float) -> None:
    """Make so many calls, or as many as fit into a time [s]."""
    known, end, found = functions(), time.monotonic() + seconds, dict[str, int]()
    k = 0
    while k < calls if not seconds else time.monotonic() < end:
        what = call(seed + k, known)
        found[what] = found.get(what, 0) + 1
        k += 1
    print("counts", found)  # noqa: T201


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
