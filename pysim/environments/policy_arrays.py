"""Arrays by which the file of a policy describes the environment that it was trained in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.environments.observed import ACTION_RATE, LAST_ACTION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.environments.plan import Plan


def policy_arrays(plan: Plan) -> dict[str, NDArray[Any]]:
    """Return the arrays: those of an observation, and those that make a command of an action."""
    owners = [name.split("[")[0] for name in plan.names]
    slots, rates = (
        np.array([k for k, name in enumerate(owners) if name == own], int)
        for own in (LAST_ACTION, ACTION_RATE)
    )
    return {
        "observations": np.array([own.signal for own in plan.observed]),
        "scales": plan.factors,
        "limit": np.array(plan.limit),
        "slots": slots,
        "rates": rates,
        "scale": plan.scale,
        "offset": plan.offset,
        "range": np.array([plan.lowest, plan.highest]),
    }
