"""Progress bar of a run, shown on terminals only."""

from __future__ import annotations

from typing import Self

from rich.progress import BarColumn, Progress, TextColumn

from pysim.cli.messages import console, visible
from pysim.simulation import Update


def bar_on_terminal(*, shown: bool) -> Progress:
    """Return a bar with a description and a state, which draws only on a terminal."""
    err = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[state]}", markup=False),
    )
    return Progress(*columns, console=err, disable=not (shown and err.is_terminal), transient=True)


class TaskBar:
    """Bar of one task, drawn within a `with` statement."""

    def __init__(self, name: str, *, shown: bool = True) -> None:
        self._bar = bar_on_terminal(shown=shown)
        self._task = self._bar.add_task(visible(name), total=None, state="")

    def draw(self, completed: float, total: float | None, state: str) -> None:
        """Draw the part that is completed, None of an unknown total, and a text."""
        self._bar.update(self._task, completed=completed, total=total, state=state)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()


class ProgressBar(TaskBar):
    """`Progress` of `simulate` that draws a bar and stores the last update."""

    last = Update(0.0, 0.0, 0.0, 0)

    def __call__(self, update: Update) -> None:
        self.last = update
        self.draw(update.time, update.duration, state_of(update))


def state_of(update: Update) -> str:
    """Return simulated time, wall time and speed: `3.20 of 10 s, 1.1 s spent, 2.9 × real time`."""
    simulated = f"{update.time:.2f} of {update.duration:g} s"
    return f"{simulated}, {update.wall:.1f} s spent, {update.speed:.3g} × real time"
