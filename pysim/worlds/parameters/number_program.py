"""Programs from parameters to the engine's numbers that follow from them, for engines without Python.

`VariedScene.changed` is called once with symbolic parameters: what it computes is recorded, as a plugin's formula is,
and the engine of an FMU runs it whenever a parameter is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pysim.errors import PysimError, SimulationError
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim._engine import Program
    from pysim.typing import Array
    from pysim.worlds.parameters.parameter import Parameter
    from pysim.worlds.parameters.varied_scene import VariedScene


class NumberProgram(NamedTuple):
    """Numbers of the engine that follow from parameters.

    Attributes:
        program: its inputs are the parameters' numbers one after the other, its outputs the numbers at `places`, then
            by how much centres of mass of roots are farther from their joints than the model's [m].
        places: of the numbers in the engine's order, ascending.
    """

    program: Program
    places: list[int]


def number_program(scene: VariedScene, parameters: Sequence[Parameter]) -> NumberProgram:
    """Record the numbers that follow from parameters.

    Raises:
        SimulationError: Python computes with a parameter.
    """
    for parameter in parameters:
        if scene.is_computed(parameter):
            problem = "its value is needed while the scene is compiled; load scenes with pysim.load_scenes"
            raise SimulationError(f"parameters: {parameter.name}", problem)
    tape, count = Tape(), 0
    values: dict[str, Array] = {}
    for parameter in parameters:
        size = len(parameter.start)
        row = [Scalar(tape, tape.input(count + k)) for k in range(size)]
        values[parameter.name] = symbolic_array(row).reshape(1, size)
        count += size
        if "restitution" in parameter.fields:
            problem = "a dissipation is solved for it in Python"
            raise SimulationError(
                f"parameters: {parameter.name}", f"{problem}; leave it out, or give a dissipation"
            )
    numbers, reach = _recorded(scene, {p.name: p for p in parameters}, values)
    outputs = {place: _node(tape, x) for place, x in numbers.items()}
    places = sorted(place for place, node in outputs.items() if tape.nodes[node].op != "const")
    nodes = [*(outputs[place] for place in places), _node(tape, reach)]
    return NumberProgram(emit(tape, nodes, [], count), places)


def _recorded(
    scene: VariedScene, known: Mapping[str, Parameter], values: Mapping[str, Array]
) -> tuple[dict[int, Any], Any]:
    """Return the numbers by place, and the reach of centres of mass."""
    before, scene.reach = scene.reach, 0.0
    try:
        changed = scene.changed(known, values, set(known), 1)
    except PysimError as error:
        names = ", ".join(known)
        raise SimulationError(
            f"parameters: {names}", f"{error.problem}; leave them out, one by one"
        ) from error
    else:
        found = {
            int(place): x
            for own in changed
            for place, x in zip(own.places.tolist(), own.values[0].tolist(), strict=True)
        }
        return found, scene.reach
    finally:
        scene.reach = before


def _node(tape: Tape, x: Any) -> int:  # noqa: ANN401, a number or a symbolic one
    return x.index if isinstance(x, Scalar) else tape.const(float(x))
