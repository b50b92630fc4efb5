// Motion of frames; documented in pysim/algorithms/frames.py and inertia_matrices.py.
#include <pybind11/stl.h>

#include "bindings/derivative_functions.hpp"
#include "bindings/state_functions.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using Placement = std::vector<double>;

constexpr Signature influence_coefficients = {
    "influence_coefficients", {"q"}, 1, "See the function of this name in pysim."};

py::object influence_coefficients_of(const Arguments& given) {
  return run_states(given, PYSIM_KERNELS(influence_coefficients), {6, given.model->tree_nv()});
}

constexpr Signature second_influence_coefficients = {
    "second_influence_coefficients", {"q"}, 1, "See the function of this name in pysim."};

py::object second_influence_coefficients_of(const Arguments& given) {
  refuse_callbacks(*given.model);
  const py::ssize_t n = given.model->tree_nv();
  return run_states(given, PYSIM_KERNELS(second_influence_coefficients), {6, n, n});
}

void bind_jacobians(py::module_& m) {
  m.def(
      "jacobian",
      [](const Model& model,
         py::handle q,
         int body,
         const Placement& placement,
         const std::string& expressed,
         int threads,
         py::handle out) {
        const FrameArgument frame = {body, placement, expressed};
        const Arguments given = {&model, {q, Py_None, Py_None, Py_None}, out, threads};
        return run_states(given, PYSIM_KERNELS(jacobian), {6, model.nv()}, &frame);
      },
      "model"_a,
      "q"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1,
      "out"_a = py::none());
  m.def(
      "jacobian_time_derivative",
      [](const Model& model,
         py::handle q,
         py::handle v,
         int body,
         const Placement& placement,
         const std::string& expressed,
         int threads,
         py::handle out) {
        const FrameArgument frame = {body, placement, expressed};
        const Arguments given = {&model, {q, v, Py_None, Py_None}, out, threads};
        return run_states(given, PYSIM_KERNELS(jacobian_rate), {6, model.nv()}, &frame);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1,
      "out"_a = py::none());
  m.def(
      "frame_mobility",
      [](const Model& model,
         py::handle q,
         int body,
         const Placement& placement,
         const std::string& expressed,
         int threads,
         py::handle out) {
        const FrameArgument frame = {body, placement, expressed};
        const Arguments given = {&model, {q, Py_None, Py_None, Py_None}, out, threads};
        return run_states(given, PYSIM_KERNELS(frame_mobility), {6, 6}, &frame);
      },
      "model"_a,
      "q"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1,
      "out"_a = py::none());
}

void bind_frame_motion(py::module_& m) {
  m.def(
      "frame_velocity",
      [](const Model& model,
         py::handle q,
         py::handle v,
         int body,
         const Placement& placement,
         const std::string& expressed,
         int threads,
         py::handle out) {
        const FrameArgument frame = {body, placement, expressed};
        const Arguments given = {&model, {q, v, Py_None, Py_None}, out, threads};
        return run_states(given, PYSIM_KERNELS(frame_velocity), {6}, &frame);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1,
      "out"_a = py::none());
  m.def(
      "frame_acceleration",
      [](const Model& model,
         py::handle q,
         py::handle v,
         py::handle a,
         int body,
         const Placement& placement,
         const std::string& expressed,
         bool classical,
         int threads,
         py::handle out) {
        const FrameArgument frame = {body, placement, expressed, classical};
        const Arguments given = {&model, {q, v, a, Py_None}, out, threads};
        return run_states(given, PYSIM_KERNELS(frame_acceleration), {6}, &frame);
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
      "threads"_a = 1,
      "out"_a = py::none());
}

}  // namespace

void bind_frames(py::module_& m) {
  define<influence_coefficients, influence_coefficients_of>(m);
  define<second_influence_coefficients, second_influence_coefficients_of>(m);
  bind_jacobians(m);
  bind_frame_motion(m);
}

}  // namespace pysim::bindings
