// Matrices, momenta and reactions; documented in inertia_matrices.py, centroidal.py and reactions.py.
#include "bindings/state_functions.hpp"

namespace pysim::bindings {
namespace {

constexpr Signature minverse = {"minverse", {"q"}, 1, documented_in_python};

py::object minverse_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(minverse), {nv(given), nv(given)});
}

constexpr Signature coriolis_matrix = {"coriolis_matrix", {"q", "v"}, 2, documented_in_python};

py::object coriolis_matrix_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(coriolis_matrix), {nv(given), nv(given)});
}

constexpr Signature centroidal_momentum = {"centroidal_momentum", {"q", "v"}, 2, documented_in_python};

py::object centroidal_momentum_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(centroidal_momentum), {6});
}

constexpr Signature centroidal_momentum_rate = {
    "centroidal_momentum_rate", {"q", "v", "a"}, 3, documented_in_python};

py::object centroidal_momentum_rate_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(centroidal_momentum_rate), {6});
}

constexpr Signature centroidal_map = {"centroidal_map", {"q"}, 1, documented_in_python};

py::object centroidal_map_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(centroidal_map), {6, nv(given)});
}

constexpr Signature centroidal_map_time_derivative = {
    "centroidal_map_time_derivative", {"q", "v"}, 2, documented_in_python};

py::object centroidal_map_time_derivative_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(centroidal_map_rate), {6, nv(given)});
}

constexpr Signature joint_reactions = {"joint_reactions", {"q", "v", "a", "f_ext"}, 3, documented_in_python};

py::object joint_reactions_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(joint_reactions), {2, given.model->nbodies(), 6});
}

}  // namespace

void bind_inertia(py::module_& m) {
  define<minverse, minverse_of>(m);
  define<coriolis_matrix, coriolis_matrix_of>(m);
  define<centroidal_momentum, centroidal_momentum_of>(m);
  define<centroidal_momentum_rate, centroidal_momentum_rate_of>(m);
  define<centroidal_map, centroidal_map_of>(m);
  define<centroidal_map_time_derivative, centroidal_map_time_derivative_of>(m);
  define<joint_reactions, joint_reactions_of>(m);
}

}  // namespace pysim::bindings
