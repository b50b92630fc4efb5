"""Chains of mimic joints, resolved so that each follows the independent joint at the head of its chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.errors import JointError
from pysim.scene.spec import Mimic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.spec import JointSpec


def leading(joint: JointSpec, by_name: Mapping[str, JointSpec]) -> Mimic | None:
    """Return the relation of a joint to the head of its chain of followers, None if it follows no joint.

    The head's name need not be that of a joint.

    Raises:
        JointError: the chain is a circle, or a joint in it does not have exactly one coordinate.
    """
    mimic, chain = joint.mimic, [joint.name]
    while mimic is not None and mimic.joint in by_name:
        leader = by_name[mimic.joint]
        if leader.name in chain:
            circle = " → ".join([*chain, leader.name])
            raise JointError(
                joint.name,
                f"joints follow each other in a cycle: {circle}; remove one mimic",
            )
        if len(leader.start_q) != 1:
            problem = f"follows {leader.name!r}, a {leader.type} joint; only joints with one coordinate can be followed"
            raise JointError(joint.name, problem)
        if leader.mimic is None:
            break
        chain.append(leader.name)
        # q = r (r' q' + o') + o
        ratio = mimic.ratio * leader.mimic.ratio
        offset = mimic.ratio * leader.mimic.offset + mimic.offset
        mimic = Mimic(leader.mimic.joint, ratio, offset)
    return mimic
