"""Groups of observations without noise: what a critic sees, and those of the table `groups`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.environments.number_checks import NumberChecks
    from pysim.environments.observed import Observed
    from pysim.environments.plan import ObservationPlan, Plan
    from pysim.typing import Array


class Groups:
    """Reads the groups of observations of an environment.

    Args:
        plan: of the environment.
        observed: the signals that it reads.
        checks: of the numbers.
    """

    def __init__(self, plan: Plan, observed: Observed, checks: NumberChecks) -> None:
        self._plan, self._observed, self._checks = plan, observed, checks

    def critic(self, observations: NDArray[Any], numbers: Array) -> NDArray[Any]:
        """Return what a critic sees (n, size): observations (n, …), and signals among numbers (n, …) of worlds."""
        seen = self._signals(("critic",), self._plan.critic, numbers)
        return np.concatenate([observations, seen.astype(observations.dtype)], axis=1)

    def all(self, observations: NDArray[Any], numbers: Array) -> dict[str, NDArray[Any]]:
        """Return the groups by name: `policy`, `critic` where it sees more, and those of the table."""
        seen = {"policy": observations}
        if self._plan.critic:
            seen["critic"] = self.critic(observations, numbers)
        for name, signals in self._plan.groups.items():
            group = self._signals(("groups", name), signals, numbers)
            seen[name] = group.astype(observations.dtype)
        return seen

    def _signals(
        self, keys: tuple[str, ...], signals: Sequence[ObservationPlan], numbers: Array
    ) -> Array:
        """Return the numbers of signals, which have to be finite; `keys` are of the table that names them."""
        columns = [self._observed.columns(own.signal) for own in signals]
        seen: Array = numbers[:, np.concatenate([np.zeros(0, np.intp), *columns])]
        if not np.isfinite(seen).all():
            for k, own in enumerate(signals):
                self._checks.check_signal((*keys, k), own.signal, numbers)
        return seen
