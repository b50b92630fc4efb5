"""The `[optimise]` table of a scene: the numbers of `pysim optimise`, what they minimise, and within what."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from pysim.scene.toml.records.keys import Bounds, Name, error_text, key
from pysim.scene.toml.records.table import Table


class Optimise(Table):
    """Numbers that are chosen so that a quantity of the run is least; keys with dots need quotes."""

    numbers: dict[str, Annotated[list[float], Field(min_length=2, max_length=3)]] = key(
        {}, "", "by key: [lower, upper] or [lower, upper, start], by default the scene's"
    )
    minimise: Name | None = key(
        None, "", "quantity: SIGNAL.STATISTIC with end, min, max, mean or rms"
    )
    residuals: list[Name] = key(
        [], "", "signals, half the sum of whose squares over all outputs is minimised instead"
    )
    constraints: dict[str, Bounds] = key({}, "", "by quantity: [lower, upper]; one may be infinite")

    @model_validator(mode="after")
    def _one_objective(self) -> Optimise:
        if self.minimise is not None and self.residuals:
            raise error_text("minimise and residuals are alternatives; give one of them")
        return self
