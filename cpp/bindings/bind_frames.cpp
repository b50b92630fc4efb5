// Motion of frames; documented in pysim/algorithms/frames.py and inertia_matrices.py.
#include <pybind11/stl.h>

#include "bindings/state_functions.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using Placement = std::vector<double>;

using RowShape = Shape (*)(const Model&);

Shape of_v(const Model& model) {
  return {6, model.nv()};
}
Shape square(const Model&) {
  return {6, 6};
}
Shape twist(const Model&) {
  return {6};
}

/// A function of q and a frame.
void define_of_q(py::module_& m, const char* name, KernelPair kernels, RowShape row) {
  m.def(
      name,
      [=](const Model& model,
          py::handle q,
          int body,
          const Placement& placement,
          const std::string& expressed,
          int threads,
          py::handle out) {
        const FrameArgument frame = {body, placement, expressed};
        const Arguments given = {&model, {q, Py_None, Py_None, Py_None}, out, threads};
        return run_states(given, kernels, row(model), &frame);
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

/// A function of q, v and a frame.
void define_of_qv(py::module_& m, const char* name, KernelPair kernels, RowShape row) {
  m.def(
      name,
      [=](const Model& model,
          py::handle q,
          py::handle v,
          int body,
          const Placement& placement,
          const std::string& expressed,
          int threads,
          py::handle out) {
        refuse_none(v, "v");
        const FrameArgument frame = {body, placement, expressed};
        const Arguments given = {&model, {q, v, Py_None, Py_None}, out, threads};
        return run_states(given, kernels, row(model), &frame);
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
}

void define_frame_acceleration(py::module_& m) {
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
        refuse_none(v, "v");
        refuse_none(a, "a");
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

template <class Real>
py::object frame_placement(const Model& model,
                           py::handle q,
                           int body,
                           const std::vector<double>& placement,
                           int threads,
                           py::handle out) {
  if (body < -1 || body >= model.nbodies() || placement.size() != 12) {
    throw std::invalid_argument("frame_placement needs a body of the model and 12 numbers");
  }
  double turned[12];
  std::copy(placement.begin(), placement.end(), turned);
  model.to_engine_frame(body, turned);
  std::vector<Real> numbers(12);
  for (int i = 0; i < 12; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<Real>(turned[i]);
  Call<Real> call(model, q);
  call.batch().body = body;
  call.batch().placement = numbers.data();
  return call.run(PYSIM_KERNELS(frame_placement).of<Real>(), {4, 4}, threads, out);
}

void define_frame_placement(py::module_& m) {
  m.def(
      "frame_placement",
      [](const Model& model,
         py::handle q,
         int body,
         const std::vector<double>& placement,
         int threads,
         py::handle out) {
        return is_single(q) ? frame_placement<float>(model, q, body, placement, threads, out)
                            : frame_placement<double>(model, q, body, placement, threads, out);
      },
      "model"_a,
      "q"_a,
      "body"_a,
      "placement"_a,
      py::kw_only(),
      "threads"_a = 1,
      "out"_a = py::none());
}

}  // namespace

void bind_frames(py::module_& m) {
  define_frame_placement(m);
  define_of_q(m, "jacobian", PYSIM_KERNELS(jacobian), of_v);
  define_of_q(m, "frame_mobility", PYSIM_KERNELS(frame_mobility), square);
  define_of_qv(m, "jacobian_time_derivative", PYSIM_KERNELS(jacobian_time_derivative), of_v);
  define_of_qv(m, "frame_velocity", PYSIM_KERNELS(frame_velocity), twist);
  define_frame_acceleration(m);
}

}  // namespace pysim::bindings
