"""The `[sweep]` table of a scene: the parameters of `pysim sweep` and how to sample them."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from pysim.scene.toml.records.keys import Name, PositiveInteger, error_text, key
from pysim.scene.toml.records.table import Table


class Sweep(Table):
    """Parameters of a sweep, which runs the scene with many of their values; keys with dots need quotes."""

    grid: dict[str, str | list[float]] = key(
        {}, "", 'by key: values, such as "0:1:21" (from, to, number), "1, 2, 5" or a list'
    )
    sample: dict[str, str] = key({}, "", 'by key: a distribution, such as "normal(1, 0.05)"')
    samples: PositiveInteger | None = key(
        None, "", "number of samples, at each combination of the grids"
    )
    method: Literal["random", "latin_hypercube", "sobol"] = key("random", "", "of sampling")
    seed: int = key(0, "", "of the samples")
    signals: list[Name] = key(
        [], "", "signals that are recorded over time, such as energy or q.hinge"
    )

    @model_validator(mode="after")
    def _given_once(self) -> Sweep:
        for name in self.grid:
            if name in self.sample:
                raise error_text(f"{name!r} is in grid and in sample; give it in one of them")
        return self
