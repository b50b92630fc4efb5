"""Former public names, which keep working for one release. Oracle: the object under its new name."""

from __future__ import annotations

import dataclasses
import importlib
import re
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.identify.identification import Identification
from pysim.meshes import MeshSolid
from tests.scene_runs import SCENES


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pysim.weighed_mesh", "pysim.mass_mesh"),
        ("pysim.WeighedMesh", "pysim.MassMesh"),
        ("pysim.algorithms.weighed_mesh", "pysim.algorithms.mass_mesh"),
        ("pysim.algorithms.WeighedMesh", "pysim.algorithms.MassMesh"),
        ("pysim.compile.Scene", "pysim.simulation.Scene"),
        ("pysim.compile.load_model", "pysim.simulation.load_model"),
        ("pysim.compile.compile_model", "pysim.simulation.compile_model"),
        ("pysim.compile.compile_scene", "pysim.simulation.compile_scene"),
        ("pysim.compile.start_state", "pysim.mechanism.compile.start_state"),
    ],
)
def test_a_former_name_warns_every_time_and_names_the_new_one(old: str, new: str) -> None:
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="is deprecated; use") as warned:
            value = resolve(old)
        assert [str(w.message) for w in warned] == [f"{old} is deprecated; use {new}"]
        assert warned[0].filename == __file__
        assert value is resolve(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [("planar", "planar_tree"), ("flat", "planar_loops"), ("ties", "connections")],
)
def test_a_former_property_of_a_model_warns_and_names_the_new_one(old: str, new: str) -> None:
    model = pysim.load_model(SCENES / "four_bar.toml")
    with pytest.warns(DeprecationWarning, match="is deprecated; use") as warned:
        value = getattr(model, old)
    assert [str(w.message) for w in warned] == [f"Model.{old} is deprecated; use Model.{new}"]
    assert warned[0].filename == __file__
    assert value is getattr(model, new)


def test_former_methods_warn_and_call_the_new_ones() -> None:
    model = pysim.load_model(SCENES / "four_bar.toml")
    text = "Model.with_ties is deprecated; use Model.with_connections"
    with pytest.warns(DeprecationWarning, match=f"^{text}$"):
        again = model.with_ties(model.connections)
    assert again.connections is model.connections
    corners = 1.0 - np.eye(4, 3)
    solid = MeshSolid(
        corners, np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]]), where="a mesh"
    )
    text = "MeshSolid.tell is deprecated; use MeshSolid.warn_of_overlaps"
    with pytest.warns(DeprecationWarning, match=f"^{text}$"):
        solid.tell()


def test_a_former_keyword_warns_and_means_the_new_one() -> None:
    model = pysim.load_model(SCENES / "four_bar.toml")
    parts = {name: getattr(model, name) for name in ("spec", "joints", "bodies", "frames")}
    parts["world_geometries"] = model.world_geometries
    text = re.escape("Model(ties=…) is deprecated; use Model(connections=…)")
    with pytest.warns(DeprecationWarning, match=f"^{text}$") as warned:
        again = pysim.Model(model._descriptions, model.gravity, **parts, ties=model.connections)  # type: ignore[call-arg]
    assert warned[0].filename == __file__
    assert again.connections is model.connections
    with pytest.raises(TypeError, match=r"^Model: ties is the former name of connections; pass"):
        pysim.Model(model._descriptions, model.gravity, **parts, ties=None, connections=None)  # type: ignore[call-arg]


def test_an_identification_takes_the_former_name_of_its_field() -> None:
    names = [field.name for field in dataclasses.fields(Identification)]
    values: dict[str, Any] = dict.fromkeys(names) | {"identifiable": 3}
    values["told"] = values.pop("identifiable")
    text = re.escape("Identification(told=…) is deprecated; use Identification(identifiable=…)")
    with pytest.warns(DeprecationWarning, match=f"^{text}$") as warned:
        found = Identification(**values)
    assert warned[0].filename == __file__
    assert found.identifiable == 3
    assert dataclasses.replace(found, identifiable=4).identifiable == 4


def resolve(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_former_names_are_not_listed_among_the_public_ones() -> None:
    listed = {*pysim.__all__, *dir(pysim), *pysim.algorithms.__all__}  # type: ignore[attr-defined]
    assert not {"weighed_mesh", "WeighedMesh"} & listed


@pytest.mark.parametrize("module", ["pysim", "pysim.algorithms", "pysim.compile"])
def test_a_name_that_never_was_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nope'"):
        resolve(f"{module}.nope")
