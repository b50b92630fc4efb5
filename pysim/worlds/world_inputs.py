"""`Worlds.inputs`: values of the scene's inputs as live arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError, UnknownSimulationNameError, did_you_mean
from pysim.scene.control_inputs import ControlPlace
from pysim.typing import Array
from pysim.worlds.argument_checks import assign, checked_real, checked_whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from pysim.scene.spec import KeyframeSpec
    from pysim.worlds.world_records import WorldRecords


class Inputs(Mapping[str, Any]):
    """Values of a scene's inputs by name (n, size), live; `all` are those of every input in file order."""

    def __init__(
        self,
        records: WorldRecords,
        controls: Mapping[str, ControlPlace],
        is_single: bool,
    ) -> None:
        signals = records.scene.signals
        inputs = () if signals is None else signals.inputs
        self._records, self._inputs, self._is_single = (
            records,
            {own.name: own for own in inputs},
            is_single,
        )
        self._controls = controls
        self.places = [place for own in inputs for place in own.places]
        carries = records.is_adaptive or records.scene.settings.integrator == "generalized_alpha"
        self._carried = carries and bool(self.places)
        self._seen = records.signals[:, self.places].copy() if self._carried else None

    @property
    def all(self) -> Array:
        """Values (n, inputs) of all inputs in file order, live."""
        return self._values(self.places)

    def __getitem__(self, name: str) -> Array:
        return self._values(self.places_of(name))

    def __contains__(self, name: object) -> bool:
        return name in self._inputs

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        assign(self._values(self.places_of(name)), value, f"inputs: {name!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)

    def places_of(self, name: object) -> list[int]:
        """Return the places of an input among the numbers of the signals.

        Raises:
            SimulationError: the scene has no such input.
        """
        if not isinstance(name, str) or name not in self._inputs:
            remedy = did_you_mean(str(name), self._inputs)
            if not self._inputs:
                remedy = '; it has none, add a [[signal]] with type = "input"'
            raise UnknownSimulationNameError(
                f"inputs: {name!r}", f"the scene has no such input{remedy}"
            )
        return list(self._inputs[name].places)

    def of_keyframe(self, frame: KeyframeSpec) -> dict[int, float]:
        """Return the values of a keyframe for inputs and activations, by place among the numbers of the signals."""
        signals = self._records.scene.signals
        states = () if signals is None else signals.state_names
        found = {
            states.index(f"{name}.activation"): value
            for name, value in frame.activations.items()
            if f"{name}.activation" in states
        }
        for name, value in frame.commands.items():
            at = self._controls.get(name, ControlPlace(name, 0))
            if at.input in self._inputs:
                found[self._inputs[at.input].places[at.index]] = value
        return found

    def of_rows(self, controls: ArrayLike | None, rows: int | None) -> tuple[Array | None, int]:
        """Return the inputs (n, rows, inputs) of rows, None if they are held, and the number of rows."""
        if controls is None:
            if rows is None:
                raise SimulationError("rows", "must be given without controls; give their number")
            return None, checked_whole_number(rows, "rows", 0)
        values, size = checked_real(controls, "controls"), self.all.shape[-1]
        count = values.shape[-2] if values.ndim in (2, 3) else -1
        if values.shape not in ((count, size), (self._records.count, count, size)):
            shapes = f"({self._records.count}, rows, {size}) or (rows, {size})"
            raise SimulationError("controls", f"must have shape {shapes}, got {values.shape}")
        if rows is not None and rows != count:
            problem = f"are {count} rows, and rows is {rows}"
            raise SimulationError("controls", f"{problem}; leave rows out")
        if not np.isfinite(values).all():
            raise SimulationError("controls", "must be finite, got nan or inf")
        shared = np.broadcast_to(values, (self._records.count, count, size))
        return np.array(shared, order="C"), count

    def of_steps(self, controls: ArrayLike, steps: int) -> Array:
        """Return the inputs (n, steps, inputs) of steps, checked."""
        values, size = checked_real(controls, "controls"), self.all.shape[-1]
        shape = (steps, size) if self._is_single else (self._records.count, steps, size)
        if values.shape != shape:
            raise SimulationError("controls", f"must have shape {shape}, got {values.shape}")
        return values[None] if self._is_single else values

    def note_jumps(self) -> None:
        """Note worlds whose inputs were written, for a scheme that carries accelerations or steps past a call's end."""
        if self._seen is None:
            return
        now = self._records.signals[:, self.places]
        changed = (now != self._seen).any(axis=1)
        self._records.engine.parts["jumped"][changed] = 1
        self._seen[changed] = now[changed]

    def note_inputs(self, worlds: NDArray[np.int32]) -> None:
        """Note the inputs of worlds whose records were loaded, so that these do not count as written."""
        if self._seen is not None:
            self._seen[worlds] = self._records.signals[worlds][:, self.places]

    def _values(self, places: list[int]) -> Array:
        first, count = (places[0], len(places)) if places else (0, 0)
        # the graph gives inputs their places first
        assert places == list(range(first, first + count))
        values = self._records.signals[:, first : first + count]
        return values[0] if self._is_single else values
