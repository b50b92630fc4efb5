// Docstrings of functions that Python has as they are; the others are documented where pysim wraps them.
#pragma once

#include <string_view>

namespace pysim::bindings {

struct Docstring {
  std::string_view name;
  const char* text;
};

constexpr Docstring docstrings[] = {
    {"rnea",
     R"(Return the generalised forces τ (…, nv) [N or N·m] that give the accelerations `a`.

Recursive Newton-Euler algorithm, Featherstone 2008, table 5.1:  τ = M(q) a + h(q, v) − Σ Jᵀ f_ext.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    a: dv/dt (…, nv) [m/s² or rad/s²].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    passive: subtract the joints' own forces (damping, springs, friction, stops): what is left is the motors' part.
    out: array for the result, which is then returned.

Raises:
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)"},
    {"nonlinear_effects",
     "Return h(q, v) = C(q, v) v + g(q) (…, nv) [N or N·m], the torque "
     "of zero acceleration; with `passive` less the "
     "joints' own forces, as of `rnea`."},
    {"generalized_gravity",
     "Return g(q) (…, nv) [N or N·m], the torque that holds the "
     "mechanism still; with `passive` less the joints' own "
     "forces at rest, as of `rnea`."},
    {"aba",
     R"(Return the accelerations v̇ (…, nv) [m/s² or rad/s²] under the generalised forces `tau`.

Articulated-body algorithm, Featherstone 2008, table 7.1. Where joints follow others (mimic), the accelerations come
from the inertia on the independent coordinates.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    tau: generalised forces (…, nv) [N or N·m].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    passive: add the joints' own forces (damping, springs, friction, stops).
    out: array for the result, which is then returned.

Raises:
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)"},
    {"crba",
     R"(Return the joint-space inertia M(q) (…, nv, nv) [kg, kg·m, kg·m²], armature included.

Composite-rigid-body algorithm, Featherstone 2008, table 6.2.)"},
    {"passive_forces",
     "Return the joints' own forces (…, nv) [N or N·m]: damping, springs, "
     "friction and stops; and what springs between "
     "bodies push."},
    {"forward_kinematics",
     R"(Return the pose of every body in the world (…, nbodies, 4, 4) [m].

Featherstone 2008, example 4.3.)"},
    {"center_of_mass", "Return the centre of mass of the moving bodies in the world (…, 3) [m]."},
    {"kinetic_energy", "Return ½ vᵀ M v (…) [J], armature included."},
    {"potential_energy", "Return −Σ m g·c over the moving bodies (…) [J], zero at the world's origin."},
    {"elastic_energy", "Return the energy stored in springs and stops (…) [J]."},
    {"integrate", "pysim.Model.integrate."},
    {"difference", "pysim.Model.difference."},
    {"twist_derivatives",
     R"(Return ∂τ/∂η (…, nv, 6·nbodies) of τ = rnea(model, q, v, a, f_ext) at η = 0.

Column 6 b + k is along component k of η_b [m; rad], which moves the axes of body b's joint: A = Ad(e^[η]) Ā, that is
X_J(q) ← e^[η] X_J(q) e^[−η], in the joint's frame (`model.placements`). Bodies keep their
parameters, the joints that they carry and their external wrenches in their own frames. Kwon, eqs. (5)-(10), for trees and every joint shape; linear part first.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    a: dv/dt (…, nv) [m/s² or rad/s²].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    out: array for the result, which is then returned.

Raises:
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)"},
    {"placement_derivatives",
     R"(Return ∂τ/∂ε (…, nv, 6·nbodies) of τ = rnea(model, q, v, a, f_ext) at ε = 0.

Column 6 b + k is along component k of ε_b [m; rad], which moves body b's joint in its parent: X_PJ ← X_PJ e^[ε], in the
joint's frame (`model.placements`), linear part first. Bodies keep their parameters and external wrenches in
their own frames.

Args, errors: as of `twist_derivatives`.)"},
};

constexpr const char* docstring_of(std::string_view name) {
  for (const auto& docstring : docstrings) {
    if (docstring.name == name) return docstring.text;
  }
  return "See the function of this name in pysim.";
}

}  // namespace pysim::bindings
