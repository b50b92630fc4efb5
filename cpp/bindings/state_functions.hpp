// Functions of a model, a state (q, v, a, f_ext) and optionally a frame: one common path to a kernel.
#pragma once

#include "bindings/model_functions.hpp"

namespace pysim::bindings {

/// A frame fixed to a body, and the axes in which its motion is expressed.
struct FrameArgument {
  int body;                       ///< −1 for the world
  std::vector<double> placement;  ///< in the user's body frame, as 12 numbers
  std::string expressed;
  bool classical = false;

  dynamics::Expressed where() const {
    if (expressed == "local") return dynamics::Expressed::local;
    if (expressed == "world") return dynamics::Expressed::world;
    if (expressed == "aligned") return dynamics::Expressed::aligned;
    throw std::invalid_argument("expressed must be 'local', 'world' or 'aligned', got '" + expressed + "'");
  }

  /// The pose in the engine's body frame.
  template <class Real>
  std::vector<Real> turned(const Model& model) const {
    if (body < -1 || body >= model.nbodies() || placement.size() != 12) {
      throw std::invalid_argument("a frame needs a body of the model and 12 numbers");
    }
    double pose[12];
    std::copy(placement.begin(), placement.end(), pose);
    model.to_engine_frame(body, pose);
    std::vector<Real> numbers;
    for (const double x : pose) numbers.push_back(static_cast<Real>(x));
    return numbers;
  }
};

/// Rows of a kernel; the arrays are q, v, a, f_ext in this order, None if absent.
template <class Real>
py::array run_states(const Arguments& arguments,
                     const KernelPair& kernels,
                     const Shape& row,
                     const FrameArgument* frame) {
  Call<Real> call(*arguments.model, arguments.array[0]);
  if (is_given(arguments.array[1])) call.set_v(arguments.array[1]);
  if (is_given(arguments.array[2])) call.set_x(arguments.array[2], "a", arguments.model->nv());
  if (is_given(arguments.array[3])) call.set_f_ext(arguments.array[3]);
  std::vector<Real> placement;
  if (frame != nullptr) {
    placement = frame->turned<Real>(*arguments.model);
    call.batch().body = frame->body;
    call.batch().placement = placement.data();
    call.batch().expressed = frame->where();
    call.batch().classical = frame->classical;
  }
  return call.run(kernels.of<Real>(), row, arguments.threads, arguments.out);
}

/// In the precision of q.
inline py::array run_states(const Arguments& arguments,
                            const KernelPair& kernels,
                            const Shape& row,
                            const FrameArgument* frame = nullptr) {
  return is_single(arguments.array[0]) ? run_states<float>(arguments, kernels, row, frame)
                                       : run_states<double>(arguments, kernels, row, frame);
}

}  // namespace pysim::bindings
