// Derivatives of the dynamics. These are the public functions of pysim: their docstrings are what a user
// reads.
#include "bindings/functions.hpp"

namespace pysim::bindings {
namespace {

/// One matrix (nv, nv) a state with respect to q, v and the third argument; `out` may be a tuple of three
/// arrays.
template <class Real>
py::object matrices(Call<Real>& call, KernelPair kernel, const Arguments& given) {
  constexpr const char* names[3] = {"out[0]", "out[1]", "out[2]"};
  const py::ssize_t n = given.model->nv();
  if (is_given(given.out) && (!py::isinstance<py::tuple>(given.out) || py::len(given.out) != 3)) {
    throw std::invalid_argument("out must be a tuple of three arrays");
  }
  py::tuple results(3);
  for (int i = 0; i < 3; ++i) {
    const py::object place = is_given(given.out) ? py::object(given.out.cast<py::tuple>()[i]) : py::none();
    py::array result = call.output(place, {n, n}, names[i]);
    call.batch().derivative[i] = numbers<Real>(result);
    results[static_cast<std::size_t>(i)] = result;
  }
  call.batch().passive = given.passive;
  call.execute(dynamics_kernels<Real>().*kernel.of<Real>(), given.threads);
  return results;
}

template <class Real>
py::object of_torques(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  call.set_v(given.array[1]);
  call.set_x(given.array[2], "a", given.model->nv());
  if (is_given(given.array[3])) call.set_f_ext(given.array[3]);
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

}  // namespace

void bind_derivatives(py::module_& m) {
  define<rnea_derivatives, derivatives_of_torques>(m);
}

}  // namespace pysim::bindings
