#include "bindings/state_functions.hpp"

// Documented in pysim/algorithms/regressors.py.

namespace pysim::bindings {

using namespace pybind11::literals;

void bind_regressors(py::module_& m) {
  const auto width = [](const Model& model) { return py::ssize_t{10} * model.nbodies(); };
  m.def(
      "joint_torque_regressor",
      [width](const Model& model, py::handle q, py::handle v, py::handle a, int threads) {
        return run_states(model,
                          {q, v, a},
                          {py::ssize_t{model.nv()}, width(model)},
                          threads,
                          PYSIM_STATE_KERNEL(joint_torque_regressor));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "a"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "kinetic_energy_regressor",
      [width](const Model& model, py::handle q, py::handle v, int threads) {
        return run_states(
            model, {q, v}, {width(model)}, threads, PYSIM_STATE_KERNEL(kinetic_energy_regressor));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "potential_energy_regressor",
      [width](const Model& model, py::handle q, int threads) {
        return run_states(
            model, {q}, {width(model)}, threads, PYSIM_STATE_KERNEL(potential_energy_regressor));
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "momentum_regressor",
      [width](const Model& model, py::handle q, py::handle v, int threads) {
        return run_states(model, {q, v}, {6, width(model)}, threads, PYSIM_STATE_KERNEL(momentum_regressor));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      py::kw_only(),
      "threads"_a = 1);
}

}  // namespace pysim::bindings
