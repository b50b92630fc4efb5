#include <pybind11/stl.h>

#include "bindings/state_functions.hpp"

// Documented in pysim/algorithms/inertia_matrices.py, centroidal.py and reactions.py.

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

/// f(model, q), rows of `numbers` by nv or of nv by nv.
template <class Row>
void bind_q(py::module_& m, const char* name, const StateKernel& kernel, Row row) {
  m.def(
      name,
      [kernel, row](const Model& model, py::handle q, int threads) {
        return run_states(model, {q}, row(model), threads, kernel);
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
}

template <class Row>
void bind_qv(py::module_& m, const char* name, const StateKernel& kernel, Row row) {
  m.def(
      name,
      [kernel, row](const Model& model, py::handle q, py::handle v, int threads) {
        return run_states(model, {q, v}, row(model), threads, kernel);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      py::kw_only(),
      "threads"_a = 1);
}

void bind_mobility(py::module_& m) {
  m.def(
      "frame_mobility",
      [](const Model& model,
         py::handle q,
         int body,
         const std::vector<double>& placement,
         const std::string& expressed,
         int threads) {
        const FrameArgument frame = {body, placement, expressed};
        return run_states(
            model, {q, {}, {}, {}, &frame}, {6, 6}, threads, PYSIM_STATE_KERNEL(frame_mobility));
      },
      "model"_a,
      "q"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1);
}

void bind_accelerated(py::module_& m) {
  m.def(
      "centroidal_momentum_rate",
      [](const Model& model, py::handle q, py::handle v, py::handle a, int threads) {
        return run_states(model, {q, v, a}, {6}, threads, PYSIM_STATE_KERNEL(centroidal_momentum_rate));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "a"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "joint_reactions",
      [](const Model& model, py::handle q, py::handle v, py::handle a, py::handle f_ext, int threads) {
        const Shape row = {2, model.nbodies(), 6};
        return run_states(model, {q, v, a, f_ext}, row, threads, PYSIM_STATE_KERNEL(joint_reactions));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "a"_a,
      "f_ext"_a = py::none(),
      py::kw_only(),
      "threads"_a = 1);
}

}  // namespace

void bind_inertia(py::module_& m) {
  const auto square = [](const Model& model) { return Shape{model.nv(), model.nv()}; };
  const auto six = [](const Model&) { return Shape{6}; };
  const auto six_rows = [](const Model& model) { return Shape{6, model.nv()}; };
  bind_q(m, "minverse", PYSIM_STATE_KERNEL(minverse), square);
  bind_qv(m, "coriolis_matrix", PYSIM_STATE_KERNEL(coriolis_matrix), square);
  bind_qv(m, "centroidal_momentum", PYSIM_STATE_KERNEL(centroidal_momentum), six);
  bind_q(m, "centroidal_map", PYSIM_STATE_KERNEL(centroidal_map), six_rows);
  bind_qv(m, "centroidal_map_time_derivative", PYSIM_STATE_KERNEL(centroidal_map_rate), six_rows);
  bind_mobility(m);
  bind_accelerated(m);
}

}  // namespace pysim::bindings
