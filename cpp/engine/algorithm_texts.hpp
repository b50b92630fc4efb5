// Docstrings of functions that are public without a Python wrapper; the others are documented in Python.
#pragma once

#include <string_view>

namespace pysim::engine {

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
    passive: subtract the joints' passive forces (damping, springs, friction, stops); the rest is what motors must supply.
    out: array for the result, which is then returned.

Raises:
    ValueError: an array has a wrong shape or dtype, or contains NaN, infinity or a quaternion that is not of unit length.)"},
    {"nonlinear_effects",
     "Return h(q, v) = C(q, v) v + g(q) (…, nv) [N or N·m], the torque at zero acceleration; `passive` "
     "subtracts the joints' passive forces, as in `rnea`."},
    {"generalized_gravity",
     "Return g(q) (…, nv) [N or N·m], the torque that holds the mechanism at rest; `passive` subtracts the "
     "joints' passive forces at rest, as in `rnea`."},
    {"aba",
     R"(Return the accelerations v̇ (…, nv) [m/s² or rad/s²] under the generalised forces `tau`.

Articulated-body algorithm, Featherstone 2008, table 7.1. With mimic joints, the accelerations are computed from
the inertia on the independent coordinates.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    tau: generalised forces (…, nv) [N or N·m].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    passive: add the joints' passive forces (damping, springs, friction, stops).
    out: array for the result, which is then returned.

Raises:
    ValueError: an array has a wrong shape or dtype, or contains NaN, infinity or a quaternion that is not of unit length.)"},
    {"crba",
     R"(Return the joint-space inertia M(q) (…, nv, nv) [kg, kg·m, kg·m²], armature included.

Composite-rigid-body algorithm, Featherstone 2008, table 6.2.)"},
    {"passive_forces",
     "Return the passive forces (…, nv) [N or N·m]: damping, springs, friction and stops of the joints, and "
     "the springs between bodies."},
    {"forward_kinematics",
     R"(Return the pose of every body in the world (…, nbodies, 4, 4) [m].

Featherstone 2008, example 4.3.)"},
    {"center_of_mass", "Return the centre of mass of the moving bodies in the world (…, 3) [m]."},
    {"kinetic_energy", "Return ½ vᵀ M v (…) [J], armature included."},
    {"potential_energy", "Return −Σ m g·c over the moving bodies (…) [J], zero at the world's origin."},
    {"elastic_energy", "Return the energy stored in springs and stops (…) [J]."},
    {"integrate", "See pysim.Model.integrate."},
    {"difference", "See pysim.Model.difference."},
    {"twist_derivatives",
     R"(Return ∂τ/∂η (…, nv, 6·nbodies) of τ = rnea(model, q, v, a, f_ext) at η = 0.

Column 6 b + k is the derivative with respect to component k of η_b [m; rad], linear part first. η_b moves the axes of
body b's joint, A = Ad(e^[η]) Ā, that is X_J(q) ← e^[η] X_J(q) e^[−η], in the joint's frame (`model.placements`). The
parameters of the bodies, the joints that they carry and their external wrenches are constant in the bodies' frames.
Source: Kwon, eqs. (5)-(10), extended to trees and all joint shapes.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    a: dv/dt (…, nv) [m/s² or rad/s²].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    out: array for the result, which is then returned.

Raises:
    ValueError: an array has a wrong shape or dtype, or contains NaN, infinity or a quaternion that is not of unit length.)"},
    {"placement_derivatives",
     R"(Return ∂τ/∂ε (…, nv, 6·nbodies) of τ = rnea(model, q, v, a, f_ext) at ε = 0.

Column 6 b + k is the derivative with respect to component k of ε_b [m; rad], linear part first. ε_b moves body b's joint
in its parent, X_PJ ← X_PJ e^[ε], in the joint's frame (`model.placements`). The parameters of the bodies and their
external wrenches are constant in the bodies' frames.

Arguments and errors are those of `twist_derivatives`.)"},
};

constexpr const char* docstring_of(std::string_view name) {
  for (const auto& docstring : docstrings) {
    if (docstring.name == name) return docstring.text;
  }
  return "See the function of this name in pysim.";
}

}  // namespace pysim::engine
