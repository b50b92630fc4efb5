"""Changed files of networks and policies are controllers, or are rejected with an error that a user can read."""

from __future__ import annotations

import io
import struct
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import pysim
from pysim.elements.library.networks.onnx_network import read_onnx
from pysim.elements.library.networks.policy import read_network
from tests.environments.test_policies import NETWORK, layers
from tests.fuzz.budget import fuzz, result_or_error
from tests.fuzz.mutations import changed_bytes

FOLDER = Path(tempfile.mkdtemp(prefix="pysim-fuzz-"))
POLICY = NETWORK.replace('type = "mlp"', 'type = "learned_policy"').replace(
    'activation = "relu"', "period = 0.02"
)


def archive(arrays: dict[str, np.ndarray]) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def learned() -> dict[str, np.ndarray]:
    """The arrays of a policy for five numbers."""
    past, size = 2, 6  # the last action among them
    return {
        **layers([past * size, 4, 1]),
        "activation": np.array("elu"),
        "scales": np.ones(size),
        "limit": np.array(10.0),
        "mean": np.zeros(past * size),
        "deviation": np.ones(past * size),
        "slots": np.array([5]),
        "rates": np.zeros(0, int),
        "scale": np.ones(1),
        "offset": np.zeros(1),
        "range": np.array([-1.0, 1.0]),
    }


def use(text: str, name: str, data: bytes) -> None:
    (FOLDER / name).write_bytes(data)
    read = read_onnx if name.endswith(".onnx") else read_network
    result_or_error(partial(read, str(FOLDER / name)))
    path = FOLDER / "s.toml"
    path.write_text(text.replace("net.npz", name), "utf-8")
    result_or_error(partial(pysim.load_scene, path))


@st.composite
def changed_members(draw: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """An archive with one array changed under a right checksum, or in another's place."""
    members = {}
    for name, values in arrays.items():
        out = io.BytesIO()
        np.save(out, values)
        members[name] = out.getvalue()
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from([*members]))
        kind = draw(st.sampled_from(["bytes", "other", "remove", "numbers"]))
        if kind == "bytes":
            members[name] = draw(changed_bytes([members[name]]))
        elif kind == "other":
            members[name] = members[draw(st.sampled_from([*members]))]
        elif kind == "numbers" and len(members[name]) > 136:
            at = draw(st.integers(128, len(members[name]) - 8))
            value = draw(st.sampled_from([np.nan, np.inf, -1.0, 0.0, 1e300, 0.5]))
            members[name] = members[name][:at] + struct.pack("<d", value) + members[name][at + 8 :]
        elif len(members) > 1:
            del members[name]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return out.getvalue()


@fuzz(changed_bytes([archive(layers([5, 4, 3]))]))
def test_a_changed_network_is_a_controller_or_an_error(data: bytes) -> None:
    use(NETWORK, "net.npz", data)


@fuzz(changed_members(layers([5, 4, 3])))
def test_a_network_with_changed_arrays_is_a_controller_or_an_error(data: bytes) -> None:
    use(NETWORK, "net.npz", data)


@fuzz(changed_members(learned()), examples=60)
def test_a_policy_with_changed_arrays_is_a_controller_or_an_error(data: bytes) -> None:
    use(POLICY, "net.npz", data)


def test_the_policy_that_is_changed_is_one() -> None:
    (FOLDER / "net.npz").write_bytes(archive(learned()))
    (FOLDER / "s.toml").write_text(POLICY, "utf-8")
    assert pysim.Worlds(FOLDER / "s.toml", 3).signals["net"].shape == (3, 1)


def test_a_changed_onnx_file_is_a_controller_or_an_error() -> None:
    pytest.importorskip("onnx")
    from tests.elements.test_onnx_networks import actor, sums

    seeds = [own(np.random.default_rng(1)).SerializeToString() for own in (actor, sums)]
    text = NETWORK.replace('activation = "relu"\n', "")

    @fuzz(changed_bytes(seeds), examples=60)
    def changed(data: bytes) -> None:
        use(text, "net.onnx", data)

    changed()
