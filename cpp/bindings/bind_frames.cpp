#include <pybind11/stl.h>

#include "bindings/state_functions.hpp"

// Documented in pysim/algorithms/frames.py.

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using Placement = std::vector<double>;

void bind_jacobians(py::module_& m) {
  m.def(
      "jacobian",
      [](const Model& model, py::handle q, int body, const Placement& X, const std::string& e, int threads) {
        const FrameArgument frame = {body, X, e};
        const Shape row = {6, model.nv()};
        return run_states(model, {q, {}, {}, {}, &frame}, row, threads, PYSIM_STATE_KERNEL(jacobian));
      },
      "model"_a,
      "q"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "jacobian_time_derivative",
      [](const Model& model,
         py::handle q,
         py::handle v,
         int body,
         const Placement& X,
         const std::string& e,
         int threads) {
        const FrameArgument frame = {body, X, e};
        const Shape row = {6, model.nv()};
        return run_states(model, {q, v, {}, {}, &frame}, row, threads, PYSIM_STATE_KERNEL(jacobian_rate));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "influence_coefficients",
      [](const Model& model, py::handle q, int threads) {
        const Shape row = {6, model.tree_nv()};
        return run_states(model, {q}, row, threads, PYSIM_STATE_KERNEL(influence_coefficients));
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
}

void bind_frame_motion(py::module_& m) {
  m.def(
      "frame_velocity",
      [](const Model& model,
         py::handle q,
         py::handle v,
         int body,
         const Placement& X,
         const std::string& e,
         int threads) {
        const FrameArgument frame = {body, X, e};
        return run_states(model, {q, v, {}, {}, &frame}, {6}, threads, PYSIM_STATE_KERNEL(frame_velocity));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "frame_acceleration",
      [](const Model& model,
         py::handle q,
         py::handle v,
         py::handle a,
         int body,
         const Placement& X,
         const std::string& e,
         bool classical,
         int threads) {
        const FrameArgument frame = {body, X, e, classical};
        return run_states(model, {q, v, a, {}, &frame}, {6}, threads, PYSIM_STATE_KERNEL(frame_acceleration));
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "a"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      "classical"_a,
      py::kw_only(),
      "threads"_a = 1);
}

}  // namespace

void bind_frames(py::module_& m) {
  bind_jacobians(m);
  bind_frame_motion(m);
}

}  // namespace pysim::bindings
