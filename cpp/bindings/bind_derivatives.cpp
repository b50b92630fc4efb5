// Derivatives of the dynamics. These are public functions of pysim; users read their docstrings, which are
// given here.
#include "bindings/derivative_functions.hpp"
#include "engine/algorithm_texts.hpp"

namespace pysim::bindings {
namespace {

/// Matrices (nv, nv) per state with respect to q, v and the third array, if there is one; `out` may be a
/// tuple of as many arrays.
template <const Signature& signature, class Real>
py::object matrices(const Arguments& arguments, KernelPair kernel) {
  constexpr const char* names[3] = {"out[0]", "out[1]", "out[2]"};
  constexpr int count = signature.arrays() < 3 ? signature.arrays() : 3;
  Call<Real> call(*arguments.model, arguments.array[0]);
  if constexpr (count == 3) {
    set_motion(call, arguments, signature.array[2]);
  } else {
    call.set_v(arguments.array[1]);
  }
  const py::ssize_t n = arguments.model->nv();
  refuse_callbacks(*arguments.model);
  py::tuple results(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const py::object place = place_of(arguments, std::size_t(i), std::size_t(count));
    py::array result = call.output(place, {n, n}, names[i]);
    call.batch().derivative[i] = numbers<Real>(result);
    results[static_cast<std::size_t>(i)] = result;
  }
  call.batch().passive = arguments.passive;
  call.execute(kernel.of<Real>(), arguments.threads);
  return results;
}

/// In the precision of q.
template <const Signature& signature, const KernelPair& kernel>
py::object derivatives(const Arguments& arguments) {
  return is_single(arguments.array[0]) ? matrices<signature, float>(arguments, kernel)
                                       : matrices<signature, double>(arguments, kernel);
}

namespace kernels {

constexpr KernelPair of_torques = PYSIM_KERNELS(rnea_derivatives);
constexpr KernelPair of_accelerations = PYSIM_KERNELS(aba_derivatives);
constexpr KernelPair of_passive_forces = PYSIM_KERNELS(passive_force_derivatives);

}  // namespace kernels

constexpr Signature rnea_derivatives = {
    "rnea_derivatives", {"q", "v", "a", "f_ext"}, {}, engine::takes_passive};

constexpr const char* rnea_derivatives_doc =
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
    passive: subtract the joints' passive forces (damping, springs, friction, stops), as in `rnea`.
    out: three arrays for the results, which are then returned.

Raises:
    ValueError: an array has a wrong shape or dtype, or contains NaN, infinity or a quaternion that is not of unit length.)";

// ------------------------------------------------------------------------------------------ accelerations

constexpr Signature aba_derivatives = {
    "aba_derivatives", {"q", "v", "tau", "f_ext"}, {}, engine::takes_passive};

constexpr const char* aba_derivatives_doc =
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
    passive: add the joints' passive forces (damping, springs, friction, stops), as in `aba`.
    out: three arrays for the results, which are then returned.

Raises:
    ValueError: an array has a wrong shape or dtype, or contains NaN, infinity or a quaternion that is not of unit length.)";

// ------------------------------------------------------------------------------------------ passive forces

constexpr Signature passive_force_derivatives = {"passive_force_derivatives", {"q", "v"}, {}};

constexpr const char* passive_force_derivatives_doc =
    R"(Return (∂τ/∂q, ∂τ/∂v), each (…, nv, nv), of τ = passive_forces(model, q, v).

∂/∂q is along q ⊕ dq. A stop contributes where it acts; exactly at the limit the derivative is that of the free side.)";

constexpr Signature differential_dynamics = {"differential_dynamics", {"q", "v", "a", "f_ext"}, {}};

template <class Real>
py::object differential_matrices(const Arguments& arguments) {
  const Model& model = *arguments.model;
  refuse_callbacks(model);
  Call<Real> call(model, arguments.array[0]);
  set_motion(call, arguments, "a");

  const py::ssize_t width = 6 * model.nbodies() + 3 * model.nv();
  constexpr const char* names[3] = {"out[0]", "out[1]", "out[2]"};
  py::tuple results(4);
  for (std::size_t i = 0; i < 3; ++i) {
    py::array result = call.output(place_of(arguments, i, 4), {model.nbodies(), 6, width}, names[i]);
    call.batch().derivative[i] = numbers<Real>(result);
    results[i] = result;
  }
  py::array torques = call.output(place_of(arguments, 3, 4), {model.nv(), width}, "out[3]");
  call.batch().out = numbers<Real>(torques);
  results[3] = torques;
  call.execute(&StateKernels<Real>::differential_dynamics, arguments.threads);
  return results;
}

py::object differential(const Arguments& arguments) {
  return PYSIM_IN_PRECISION(differential_matrices, arguments);
}

}  // namespace

void bind_derivatives(py::module_& m) {
  define<rnea_derivatives, derivatives<rnea_derivatives, kernels::of_torques>>(m, rnea_derivatives_doc);
  define<aba_derivatives, derivatives<aba_derivatives, kernels::of_accelerations>>(m, aba_derivatives_doc);
  define<passive_force_derivatives, derivatives<passive_force_derivatives, kernels::of_passive_forces>>(
      m, passive_force_derivatives_doc);
  define<differential_dynamics, differential>(m, engine::docstring_of("differential_dynamics"));
}

}  // namespace pysim::bindings
