"""Equality constraints of an MJCF model as loops and couplings of the scene.

MuJoCo's constraints are soft; those of pysim are satisfied exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial

from pysim.joints.relation import polynomial_name
from pysim.scene.mjcf.joints import translation
from pysim.scene.mjcf.model import wxyz_pose
from pysim.scene.mjcf.tendons import course_of
from pysim.scene.spec import CouplingSpec, LoopSpec
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel

    Terms = tuple[dict[str, float], float]  # coefficients by joint, and the value at qpos0

IDENTITY = (1.0, 0.0, 0.0, 0.0)


class ConstraintReader:
    """Reader of equality constraints, which reports those that it leaves out."""

    def __init__(self, model: MujocoModel, omissions: Omissions) -> None:
        self.model, self.m, self.omissions = model, model.m, omissions
        self.loops: list[LoopSpec] = []
        self.couplings: list[CouplingSpec] = []

    def read(self) -> None:
        """Read every equality constraint."""
        kinds = self.model.mj.mjtEq
        readers = {
            int(kinds.mjEQ_CONNECT): self._connect,
            int(kinds.mjEQ_WELD): self._weld,
            int(kinds.mjEQ_JOINT): self._joint,
            int(kinds.mjEQ_TENDON): self._tendon,
        }
        off = not self.model.enables("EQUALITY", "CONSTRAINT")
        for k in range(self.m.neq):
            if off or not self.m.eq_active0[k]:
                self._leave(k, "is left out: it is not active", note=True)
                continue
            reader = readers.get(int(self.m.eq_type[k]))
            if reader is None:
                self._leave(k, "is left out: it constrains a deformable body")
            else:
                reader(k)

    def _label(self, k: int) -> str:
        name = self.model.name("EQUALITY", k)
        return name if not name.startswith("#") else f"equality{k + 1}"

    def _where(self, k: int) -> str:
        return self.model.location("equalities", k)

    def _leave(self, k: int, reason: str, *, note: bool = False) -> None:
        add = self.omissions.note if note else self.omissions.add
        add(
            "equality constraints",
            f"equality {self.model.label('EQUALITY', k)}",
            self._where(k),
            reason,
        )

    def _ends(self, k: int) -> tuple[int, int, Array, Array]:
        """Return the two bodies of a loop, and the poses of their sites; identities for bodies."""
        m, first, second = self.m, int(self.m.eq_obj1id[k]), int(self.m.eq_obj2id[k])
        if m.eq_objtype[k] == int(self.model.mj.mjtObj.mjOBJ_SITE):
            a, b = int(m.site_bodyid[first]), int(m.site_bodyid[second])
            return a, b, self.model.site_pose(first), self.model.site_pose(second)
        return first, second, np.eye(4), np.eye(4)

    def _connect(self, k: int) -> None:
        a, b, at_a, at_b = self._ends(k)
        data = self.m.eq_data[k]
        if self.m.eq_objtype[k] != int(self.model.mj.mjtObj.mjOBJ_SITE):
            at_a, at_b = translation(data[:3]), translation(data[3:6])
        self._loop(k, "ball", a, b, at_a, at_b)

    def _weld(self, k: int) -> None:
        a, b, at_a, at_b = self._ends(k)
        data = self.m.eq_data[k]
        if self.m.eq_objtype[k] != int(self.model.mj.mjtObj.mjOBJ_SITE):
            at_a, at_b = wxyz_pose(data[3:6], data[6:10]), wxyz_pose(data[:3], IDENTITY)
        self._loop(k, "weld", a, b, at_a, at_b)

    def _loop(self, k: int, kind: str, a: int, b: int, at_a: Array, at_b: Array) -> None:
        if self.m.body_weldid[a] == self.m.body_weldid[b]:
            self._leave(k, "is left out: its bodies are one rigid body already")
            return
        bodies = self.model.bodies
        where = self._where(k)
        self.loops.append(
            LoopSpec(self._label(k), kind, bodies[a], bodies[b], at_a, at_b, where=where)
        )

    def _joint(self, k: int) -> None:
        first = self._joint_terms(int(self.m.eq_obj1id[k]))
        second = self._joint_terms(int(self.m.eq_obj2id[k])) if self.m.eq_obj2id[k] >= 0 else None
        self._couple(k, first, second)

    def _joint_terms(self, joint: int) -> Terms:
        """Return the ratio and the reference of a hinge or slide; MuJoCo couples no other joints."""
        return {self.model.joints[joint]: 1.0}, float(self.m.qpos0[self.m.jnt_qposadr[joint]])

    def _tendon(self, k: int) -> None:
        ends = [int(i) for i in (self.m.eq_obj1id[k], self.m.eq_obj2id[k]) if i >= 0]
        terms = [self._tendon_terms(end) for end in ends]
        if None in terms:
            self._leave(k, "is left out: it couples spatial tendons")
            return
        first, second = terms[0], terms[1] if len(terms) > 1 else None
        assert first is not None
        self._couple(k, first, second)

    def _tendon_terms(self, tendon: int) -> Terms | None:
        """Return the coefficients of a fixed tendon and its length at qpos0, None for a spatial one."""
        weights = course_of(self.model, tendon).weights
        return (dict(weights), float(self.m.tendon_length0[tendon])) if weights else None

    def _couple(self, k: int, first: Terms, second: Terms | None) -> None:
        """Add L₁ − L₁₀ = p(L₂ − L₂₀), with the coefficients of the polynomial p in the constraint's data."""
        label, where, c = self._label(k), self._where(k), self.m.eq_data[k][:5]
        terms, offset = dict(first[0]), first[1] + float(c[0])
        if second is None:
            self.couplings.append(CouplingSpec(label, terms, offset, where=where))
            return
        if not np.any(c[2:]):
            for name, ratio in second[0].items():
                terms[name] = terms.get(name, 0.0) - float(c[1]) * ratio
            offset -= float(c[1]) * second[1]
            terms = {name: ratio for name, ratio in terms.items() if ratio}
            self.couplings.append(CouplingSpec(label, terms, offset, where=where))
            return
        if len(second[0]) > 1 or set(second[0].values()) != {1.0}:
            self._leave(k, "is left out: a polynomial of a tendon")
            return
        # p(x − x₀) as a polynomial in x
        shifted = Polynomial(c)(Polynomial([-second[1], 1.0])).coef
        relation = polynomial_name([float(value) for value in shifted])
        found = CouplingSpec(label, terms, first[1], relation, tuple(second[0]), where)
        self.couplings.append(found)
