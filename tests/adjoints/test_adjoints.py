"""Adjoints of recursions, laws, constraints and steps, each by itself.

Oracle: dual numbers over the engine's own templates (dual_numbers.hpp), which give the product of the same Jacobian
with a direction to rounding. Where the engine iterates, dual numbers iterate until slopes have converged, too.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim.simulation.engine_file import engine_file
from tests.adjoints import scenes
from tests.built_engine import ROOT, linked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROUNDING = 1e-14
# The adjoint of rows fits coordinates of loops' joints by four rounds: what is left is about the fifth power of
# the distance from the constraints, here some thousandths.
FITTED = 1e-11
LAWS = dict.fromkeys(
    (
        "contact_impulse",
        "next_deflection",
        "turning_impulse",
        "next_turning",
        "remembered_deflection",
        "coordinate_impulse",
        "next_deflection of a coordinate",
    ),
    ROUNDING,
)
RECURSIONS = dict.fromkeys(
    (
        "inverse dynamics",
        "twists of bodies",
        "poses of bodies",
        "joint-space inertia",
        "steps of configurations",
    ),
    ROUNDING,
)
CONSTRAINTS = dict.fromkeys(
    ("rows of constraints", "projection onto constraints", "accelerations of mechanisms"), ROUNDING
)

# Impulses have converged to 1e-13 of the largest one; those between bodies, whose equations are iterated, to fewer
# digits.
STEP, COUPLED = {"convex step": 1e-11}, {"convex step": 1e-8}
# Of two edges that are nearly parallel, slopes lose digits.
DISTANCES = {
    "distances of shapes apart": 1e-11,
    "distances of shapes that overlap": 1e-11,
    "distances of faces that lean": 1e-10,
}
ROUNDS = dict.fromkeys(
    ("velocity terms in rows of joint space", "velocity terms by recursion"), 1e-12
)
EXPLICIT = dict.fromkeys(("semi-implicit step", "step by rk2", "step by rk4"), 1e-13)
ALPHA, MIDPOINT = {"step of generalised α": 1e-11}, {"step by the implicit midpoint": 1e-13}
# Its changes of v at the start have converged to fewer digits after all of its corrections.
RATTLE = dict.fromkeys(MIDPOINT, 1e-9)

# Every adjoint of the engine, by its file in cpp, and what compares it: by itself, or as a part of steps.
ADJOINTS = {
    "collision/separation_product": DISTANCES,
    "constraints/contact_law_product": LAWS,
    "constraints/coordinate_law_product": LAWS,
    "constraints/projection_product": CONSTRAINTS,
    "constraints/row_product": CONSTRAINTS,
    "dynamics/retract_product": RECURSIONS,
    "dynamics/rnea_product": RECURSIONS,
    "dynamics/step_matrix_product": RECURSIONS,
    "stepping/acceleration_product": CONSTRAINTS,
    "stepping/convex/contact_geometry_product": STEP,
    "stepping/convex/contact_product": STEP,
    "stepping/convex/product": STEP,
    "stepping/convex/rows_product": STEP,
    "stepping/rattle_product": RATTLE,
    "stepping/scheme_product": EXPLICIT,
    "stepping/velocity_terms_product": ROUNDS,
}
# C −= Aᵀ B is no adjoint.
OTHERS = {"constraints/dense_product"}


def test_every_adjoint_of_the_engine_is_compared() -> None:
    cpp = ROOT / "cpp"
    products = {
        path.relative_to(cpp).with_suffix("").as_posix() for path in cpp.glob("**/*product.hpp")
    }
    assert products == ADJOINTS.keys() | OTHERS


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that links the program of a source of this folder once."""
    made: dict[str, Path] = {}

    def link(name: str) -> Path:
        if name not in made:
            to = tmp_path_factory.mktemp("adjoints") / name
            made[name] = linked(f"adjoints/{name}.cpp", to, "engine", "tree", "library")
        return made[name]

    return link


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of inertias
@pytest.mark.parametrize(
    ("source", "scene", "tolerances"),
    [
        pytest.param("laws", None, LAWS, id="laws"),
        pytest.param("distances", None, DISTANCES, id="distances"),
        pytest.param("dynamics", scenes.branched_tree, RECURSIONS, id="recursions"),
        pytest.param(
            "constraints", scenes.loops, dict.fromkeys(CONSTRAINTS, FITTED), id="loops of all kinds"
        ),
        pytest.param("constraints", scenes.coupled, CONSTRAINTS, id="couplings and motions"),
        pytest.param("constraints", scenes.four_bar, CONSTRAINTS, id="loops in a plane"),
        pytest.param("steps", scenes.shapes_on_a_plane, STEP, id="step of shapes on a plane"),
        pytest.param("steps", scenes.pairs, COUPLED, id="step of pairs of bodies"),
        pytest.param("steps", scenes.walker, STEP, id="step of a walker"),
        pytest.param("steps", scenes.walker_that_mimics, STEP, id="step with a mimic joint"),
        pytest.param("steps", scenes.walker_with_loop, STEP, id="step with a loop"),
        pytest.param("velocity_terms", scenes.branched_tree, ROUNDS, id="velocity terms"),
        pytest.param("schemes", scenes.loops, EXPLICIT, id="explicit step with loops"),
        pytest.param("schemes", scenes.coupled, EXPLICIT, id="explicit step with couplings"),
        pytest.param("schemes", scenes.four_bar, EXPLICIT, id="explicit step in a plane"),
        pytest.param("schemes", scenes.walker_by_rk4, EXPLICIT, id="step of smooth contacts"),
        pytest.param("schemes", scenes.walker_by_alpha, ALPHA, id="step of generalised α"),
        pytest.param("schemes", scenes.walker_by_midpoint, MIDPOINT, id="step by the midpoint"),
        pytest.param("schemes", scenes.walker_with_loop_by_midpoint, RATTLE, id="step by RATTLE"),
    ],
)
def test_adjoints_are_those_of_dual_numbers_over_the_same_text(
    program: Callable[[str], Path],
    source: str,
    scene: Callable[[], str] | None,
    tolerances: dict[str, float],
    tmp_path: Path,
) -> None:
    arguments = ["1"]
    if scene is not None:
        path = tmp_path / "scene.toml"
        path.write_text(scene(), "utf-8")
        file = tmp_path / "scene.pysim"
        file.write_bytes(engine_file(pysim.load_scene(path, allow_code=True)))
        arguments = [str(file), "1"]
    ran = subprocess.run(
        [str(program(source)), *arguments], check=True, capture_output=True, text=True
    )
    errors = {
        name: float(error) for name, error in (line.split(": ") for line in ran.stdout.splitlines())
    }
    assert errors.keys() == tolerances.keys()
    above = {name: error for name, error in errors.items() if not error < tolerances[name]}
    assert above == {}
