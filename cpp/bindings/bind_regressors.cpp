// Regressors; documented in pysim/algorithms/regressors.py.
#include "bindings/state_functions.hpp"

namespace pysim::bindings {
namespace {

/// Ten parameters a body.
py::ssize_t width(const Arguments& given) {
  return py::ssize_t{10} * given.model->nbodies();
}

constexpr Signature joint_torque_regressor = {
    "joint_torque_regressor", {"q", "v", "a"}, 3, documented_in_python};

py::object joint_torque_regressor_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(joint_torque_regressor), {given.model->nv(), width(given)});
}

constexpr Signature kinetic_energy_regressor = {
    "kinetic_energy_regressor", {"q", "v"}, 2, documented_in_python};

py::object kinetic_energy_regressor_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(kinetic_energy_regressor), {width(given)});
}

constexpr Signature potential_energy_regressor = {
    "potential_energy_regressor", {"q"}, 1, documented_in_python};

py::object potential_energy_regressor_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(potential_energy_regressor), {width(given)});
}

constexpr Signature momentum_regressor = {"momentum_regressor", {"q", "v"}, 2, documented_in_python};

py::object momentum_regressor_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(momentum_regressor), {6, width(given)});
}

}  // namespace

void bind_regressors(py::module_& m) {
  define<joint_torque_regressor, joint_torque_regressor_of>(m);
  define<kinetic_energy_regressor, kinetic_energy_regressor_of>(m);
  define<potential_energy_regressor, potential_energy_regressor_of>(m);
  define<momentum_regressor, momentum_regressor_of>(m);
}

}  // namespace pysim::bindings
