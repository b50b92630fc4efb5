// Forces, accelerations and inertia of a mechanism. These are the public functions of pysim: their docstrings
// are what a user reads.
#include "bindings/functions.hpp"

namespace pysim::bindings {
namespace {

// ------------------------------------------------------------------------------------------ inverse dynamics

template <class Real>
py::object inverse_dynamics(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  if (is_given(given.array[1])) {
    call.set_v(given.array[1]);
  } else {
    call.set_v_zero();
  }
  if (is_given(given.array[2])) call.set_x(given.array[2], "a", given.model->nv());
  if (is_given(given.array[3])) call.set_f_ext(given.array[3]);
  call.batch().passive = given.passive;
  return call.run(PYSIM_KERNELS(rnea).of<Real>(), {nv(given)}, given.threads, given.out);
}

py::object inverse_dynamics_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(inverse_dynamics, given);
}

constexpr Signature rnea = {
    "rnea",
    {"q", "v", "a", "f_ext"},
    3,
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
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)",
    true};

constexpr Signature nonlinear_effects = {"nonlinear_effects",
                                         {"q", "v"},
                                         2,
                                         "Return h(q, v) = C(q, v) v + g(q) (…, nv) [N or N·m], the torque "
                                         "of zero acceleration; with `passive` less the "
                                         "joints' own forces, as of `rnea`.",
                                         true};

constexpr Signature generalized_gravity = {"generalized_gravity",
                                           {"q"},
                                           1,
                                           "Return g(q) (…, nv) [N or N·m], the torque that holds the "
                                           "mechanism still; with `passive` less the joints' own "
                                           "forces at rest, as of `rnea`.",
                                           true};

// ------------------------------------------------------------------------------------------ forward dynamics

template <class Real>
py::object forward_dynamics(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  set_motion(call, given, "tau");
  call.batch().passive = given.passive;
  return call.run(PYSIM_KERNELS(aba).of<Real>(), {nv(given)}, given.threads, given.out);
}

py::object forward_dynamics_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(forward_dynamics, given);
}

constexpr Signature aba = {
    "aba",
    {"q", "v", "tau", "f_ext"},
    3,
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
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)",
    true};

// ------------------------------------------------------------------------------------------ inertia

template <class Real>
py::object inertia(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  return call.run(PYSIM_KERNELS(crba).of<Real>(), {nv(given), nv(given)}, given.threads, given.out);
}

py::object inertia_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(inertia, given);
}

constexpr Signature crba = {
    "crba",
    {"q"},
    1,
    R"(Return the joint-space inertia M(q) (…, nv, nv) [kg, kg·m, kg·m²], armature included.

Composite-rigid-body algorithm, Featherstone 2008, table 6.2.)"};

// ------------------------------------------------------------------------------------------ passive forces

template <class Real>
py::object passive(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  call.set_v(given.array[1]);
  return call.run(PYSIM_KERNELS(passive_forces).of<Real>(), {nv(given)}, given.threads, given.out);
}

py::object passive_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(passive, given);
}

constexpr Signature passive_forces = {"passive_forces",
                                      {"q", "v"},
                                      2,
                                      "Return the joints' own forces (…, nv) [N or N·m]: damping, springs, "
                                      "friction and stops; and what springs between "
                                      "bodies push."};

}  // namespace

void bind_dynamics(py::module_& m) {
  define<rnea, inverse_dynamics_of>(m);
  define<nonlinear_effects, inverse_dynamics_of>(m);
  define<generalized_gravity, inverse_dynamics_of>(m);
  define<aba, forward_dynamics_of>(m);
  define<crba, inertia_of>(m);
  define<passive_forces, passive_of>(m);
}

}  // namespace pysim::bindings
