"""The engine's functions of meshes reject faces of vertices that there are not; no oracle but the error."""

from __future__ import annotations

import numpy as np
import pytest

from pysim import _engine

VERTICES = np.eye(4, 3)
CALLS = {
    "mesh_moments": lambda faces: _engine.mesh_moments(VERTICES, faces, np.zeros(3)),
    "mesh_derivatives": lambda faces: _engine.mesh_derivatives(VERTICES, faces, np.zeros(3), 1.0),
    "mesh_gradient": lambda faces: _engine.mesh_gradient(VERTICES, faces, np.ones(10)),
    "find_crossings": lambda faces: _engine.find_crossings(VERTICES, faces),
    "label_shells": lambda faces: _engine.label_shells(faces, 4),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("vertex", [-1, 4, 2**62, -(2**63)])
def test_a_face_of_another_vertex_is_rejected(name: str, vertex: int) -> None:
    faces = np.array([[0, 1, 2], [1, vertex, 3]])
    with pytest.raises(ValueError, match="faces must name vertices from 0 to 3"):
        CALLS[name](faces)
    CALLS[name](np.array([[0, 1, 2], [1, 2, 3]]))


@pytest.mark.parametrize("call", [_engine.label_shells, _engine.surface_faults])
def test_a_negative_number_of_vertices_is_rejected(call: object) -> None:
    with pytest.raises(ValueError, match="vertices must be 0 or more"):
        call(np.array([[0, 1, 2]]), -1)  # type: ignore[operator]
