// Derivatives of the dynamics. These are the public functions of pysim: their docstrings are what a user
// reads.
#include "bindings/derivative_functions.hpp"

namespace pysim::bindings {
namespace {

/// `count` matrices (nv, nv) a state, with respect to q, v and the third argument; `out` may be a tuple of as
/// many arrays.
template <class Real>
py::object matrices(Call<Real>& call, KernelPair kernel, const Arguments& given, int count = 3) {
  constexpr const char* names[3] = {"out[0]", "out[1]", "out[2]"};
  const py::ssize_t n = given.model->nv();
  refuse_callbacks(*given.model);
  py::tuple results(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const py::object place = place_of(given, std::size_t(i), std::size_t(count));
    py::array result = call.output(place, {n, n}, names[i]);
    call.batch().derivative[i] = numbers<Real>(result);
    results[static_cast<std::size_t>(i)] = result;
  }
  call.batch().passive = given.passive;
  call.execute(kernel.of<Real>(), given.threads);
  return results;
}

template <class Real>
py::object of_torques(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  set_motion(call, given, "a");
  return matrices(call, PYSIM_KERNELS(rnea_derivatives), given);
}

py::object derivatives_of_torques(const Arguments& given) {
  return PYSIM_IN_PRECISION(of_torques, given);
}

constexpr Signature rnea_derivatives = {
    "rnea_derivatives",
    {"q", "v", "a", "f_ext"},
    3,
    R"(Return (∂τ/∂q, ∂τ/∂v, ∂τ/∂a), each (…, nv, nv), of τ = rnea(model, q, v, a, f_ext).

Analytical, Carpentier & Mansard 2018 and Singh, Russell & Wensing 2022. ∂/∂q is along q ⊕ dq, with dq in the child
frames as in `Model.integrate`; ∂τ/∂a is the inertia M(q). Wrenches of `f_ext` stay constant in their body frames.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    a: dv/dt (…, nv) [m/s² or rad/s²].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    passive: subtract the joints' own forces (damping, springs, friction, stops), as in `rnea`.
    out: three arrays for the results, which are then returned.

Raises:
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)",
    true};

// ------------------------------------------------------------------------------------------ accelerations

template <class Real>
py::object of_accelerations(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  set_motion(call, given, "tau");
  return matrices(call, PYSIM_KERNELS(aba_derivatives), given);
}

py::object derivatives_of_accelerations(const Arguments& given) {
  return PYSIM_IN_PRECISION(of_accelerations, given);
}

constexpr Signature aba_derivatives = {
    "aba_derivatives",
    {"q", "v", "tau", "f_ext"},
    3,
    R"(Return (∂a/∂q, ∂a/∂v, ∂a/∂τ), each (…, nv, nv), of a = aba(model, q, v, tau, f_ext).

Analytical: ∂a/∂τ = M⁻¹ and ∂a/∂x = −M⁻¹ ∂τ/∂x, Carpentier & Mansard 2018, section III. ∂/∂q is along q ⊕ dq, with dq in
the child frames as in `Model.integrate`. Wrenches of `f_ext` stay constant in their body frames.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    tau: generalised forces (…, nv) [N or N·m].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    passive: add the joints' own forces (damping, springs, friction, stops), as in `aba`.
    out: three arrays for the results, which are then returned.

Raises:
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)",
    true};

// ------------------------------------------------------------------------------------------ passive forces

template <class Real>
py::object of_passive(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  call.set_v(given.array[1]);
  return matrices(call, PYSIM_KERNELS(passive_force_derivatives), given, 2);
}

py::object derivatives_of_passive(const Arguments& given) {
  return PYSIM_IN_PRECISION(of_passive, given);
}

constexpr Signature passive_force_derivatives = {
    "passive_force_derivatives",
    {"q", "v"},
    2,
    R"(Return (∂τ/∂q, ∂τ/∂v), each (…, nv, nv), of τ = passive_forces(model, q, v).

∂/∂q is along q ⊕ dq. A stop counts where it pushes; at its very edge the derivative is that of the free side.)"};

// ------------------------------------------------------------------------------------------ design

template <class Real>
py::object of_design(const Arguments& given, KernelPair kernel) {
  refuse_callbacks(*given.model);
  Call<Real> call(*given.model, given.array[0]);
  set_motion(call, given, "a");
  const py::ssize_t columns = 6 * given.model->nbodies();
  return call.run(kernel.of<Real>(), {given.model->nv(), columns}, given.threads, given.out);
}

py::object design(const Arguments& given, KernelPair kernel) {
  return is_single(given.array[0]) ? of_design<float>(given, kernel) : of_design<double>(given, kernel);
}

py::object along_twists(const Arguments& given) {
  return design(given, PYSIM_KERNELS(twist_derivatives));
}

py::object along_placements(const Arguments& given) {
  return design(given, PYSIM_KERNELS(placement_derivatives));
}

constexpr Signature twist_derivatives = {
    "twist_derivatives",
    {"q", "v", "a", "f_ext"},
    3,
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
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)"};

constexpr Signature placement_derivatives = {
    "placement_derivatives",
    {"q", "v", "a", "f_ext"},
    3,
    R"(Return ∂τ/∂ε (…, nv, 6·nbodies) of τ = rnea(model, q, v, a, f_ext) at ε = 0.

Column 6 b + k is along component k of ε_b [m; rad], which moves body b's joint in its parent: X_PJ ← X_PJ e^[ε], in the
joint's frame (`model.placements`), linear part first. Bodies keep their parameters and external wrenches in
their own frames.

Args, errors: as of `twist_derivatives`.)"};

}  // namespace

void bind_derivatives(py::module_& m) {
  define<rnea_derivatives, derivatives_of_torques>(m);
  define<aba_derivatives, derivatives_of_accelerations>(m);
  define<passive_force_derivatives, derivatives_of_passive>(m);
  define<twist_derivatives, along_twists>(m);
  define<placement_derivatives, along_placements>(m);
}

}  // namespace pysim::bindings
