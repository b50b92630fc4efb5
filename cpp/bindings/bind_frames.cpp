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

template <std::size_t>
using Handle = py::handle;

/// A function of a frame, and of q or of q and v.
template <std::size_t... i>
void define_of(py::module_& m,
               const char* name,
               KernelPair kernels,
               RowShape row,
               std::index_sequence<i...> /*arrays*/) {
  static constexpr const char* names[] = {"q", "v"};
  m.def(
      name,
      [=](const Model& model,
          Handle<i>... arrays,
          int body,
          const Placement& placement,
          const std::string& expressed,
          int threads,
          py::handle out) {
        ((i > 0 ? refuse_none(arrays, names[i]) : void()), ...);
        const FrameArgument frame = {body, placement, expressed};
        return run_states({&model, {arrays...}, out, threads}, kernels, row(model), &frame);
      },
      "model"_a,
      py::arg(names[i])...,
      "body"_a,
      "placement"_a,
      "expressed"_a,
      py::kw_only(),
      "threads"_a = 1,
      "out"_a = py::none());
}

constexpr std::make_index_sequence<1> of_q;
constexpr std::make_index_sequence<2> of_qv;

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
        return run_states({&model, {q, v, a}, out, threads}, PYSIM_KERNELS(frame_acceleration), {6}, &frame);
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

void define_frame_placement(py::module_& m) {
  m.def(
      "frame_placement",
      [](const Model& model,
         py::handle q,
         int body,
         const Placement& placement,
         int threads,
         py::handle out) {
        const FrameArgument frame = {body, placement, "local"};
        return run_states({&model, {q}, out, threads}, PYSIM_KERNELS(frame_placement), {4, 4}, &frame);
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
  define_of(m, "jacobian", PYSIM_KERNELS(jacobian), of_v, of_q);
  define_of(m, "frame_mobility", PYSIM_KERNELS(frame_mobility), square, of_q);
  define_of(m, "jacobian_time_derivative", PYSIM_KERNELS(jacobian_time_derivative), of_v, of_qv);
  define_of(m, "frame_velocity", PYSIM_KERNELS(frame_velocity), twist, of_qv);
  define_frame_acceleration(m);
}

}  // namespace pysim::bindings
