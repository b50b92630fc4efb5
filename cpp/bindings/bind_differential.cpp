// Differential dynamics; documented in pysim/algorithms/differential.py.
#include "bindings/derivative_functions.hpp"
#include "bindings/docstrings.hpp"

namespace pysim::bindings {
namespace {

constexpr Signature differential_dynamics = {"differential_dynamics", {"q", "v", "a", "f_ext"}, {}};

template <class Real>
py::object matrices(const Arguments& given) {
  const Model& model = *given.model;
  refuse_callbacks(model);
  Call<Real> call(model, given.array[0]);
  set_motion(call, given, "a");

  const py::ssize_t width = 6 * model.nbodies() + 3 * model.nv();
  constexpr const char* names[3] = {"out[0]", "out[1]", "out[2]"};
  py::tuple results(4);
  for (std::size_t i = 0; i < 3; ++i) {
    py::array result = call.output(place_of(given, i, 4), {model.nbodies(), 6, width}, names[i]);
    call.batch().derivative[i] = numbers<Real>(result);
    results[i] = result;
  }
  py::array torques = call.output(place_of(given, 3, 4), {model.nv(), width}, "out[3]");
  call.batch().out = numbers<Real>(torques);
  results[3] = torques;
  call.execute(&StateKernels<Real>::differential_dynamics, given.threads);
  return results;
}

py::object differential(const Arguments& given) {
  return PYSIM_IN_PRECISION(matrices, given);
}

}  // namespace

void bind_differential(py::module_& m) {
  define<differential_dynamics, differential>(m, docstring_of("differential_dynamics"));
}

}  // namespace pysim::bindings
