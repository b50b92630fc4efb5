"""Mass properties of a mesh of a million triangles beside trimesh, and their derivatives beside the integral."""

from __future__ import annotations

import numpy as np

from pysim import _engine
from pysim.inertia import mesh_inertia, mesh_inertia_derivatives, mesh_inertia_gradient
from tests.benchmarks.report import row
from tests.benchmarks.timing import take_turns


def torus(around: int = 1000, across: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (around · across, 3) and faces (2 · around · across, 3) of a torus."""
    import trimesh

    mesh = trimesh.creation.torus(0.5, 0.2, around, across)
    return np.array(mesh.vertices), np.array(mesh.faces)


def mesh_times(rounds: int = 5) -> dict[str, float]:
    """Return the time [s] of trimesh, of the integral and the derivatives with and without checks, and of the rest."""
    import trimesh

    vertices, faces = torus()

    def by_trimesh() -> object:
        return trimesh.Trimesh(vertices, faces, process=False).mass_properties

    return take_turns(
        {
            "trimesh": by_trimesh,
            "θ": lambda: mesh_inertia(vertices, faces, 1.0),
            "θ, unchecked": lambda: mesh_inertia(vertices, faces, 1.0, check=False),
            "∂θ/∂v": lambda: mesh_inertia_derivatives(vertices, faces, 1.0),
            "∂θ/∂v, unchecked": lambda: mesh_inertia_derivatives(vertices, faces, 1.0, check=False),
            "gradient, unchecked": lambda: mesh_inertia_gradient(
                vertices, faces, 1.0, np.ones(10), check=False
            ),
            "crossings": lambda: _engine.find_crossings(vertices, faces),
        },
        rounds=rounds,
        budget=0.0,
    )


def mesh_rows() -> None:
    """Each beside trimesh, and the derivatives beside the integral."""
    times = mesh_times()
    for name in list(times)[1:]:
        row("torus", name, 1e3 * times[name], 1e3 * times["trimesh"], "Trimesh.mass_properties")
    for kind in ("", ", unchecked"):
        integral, derivatives = times[f"θ{kind}"], times[f"∂θ/∂v{kind}"]
        row("torus", f"∂θ/∂v{kind}", 1e3 * derivatives, 1e3 * integral, "the integral alone")


if __name__ == "__main__":
    mesh_rows()
