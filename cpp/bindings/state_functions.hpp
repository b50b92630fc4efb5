// Functions of a model and the arrays of its state: one way from Python's arguments to a kernel.
#pragma once

#include "bindings/calls.hpp"

namespace pysim::bindings {

/// A kernel in both precisions.
struct StateKernel {
  engine::Kernel<double> engine::DynamicsKernels<double>::* float64;
  engine::Kernel<float> engine::DynamicsKernels<float>::* float32;
};

#define PYSIM_STATE_KERNEL(name)                                                  \
  ::pysim::bindings::StateKernel {                                                \
    &engine::DynamicsKernels<double>::name, &engine::DynamicsKernels<float>::name \
  }

/// A frame fixed to a body, and how its motion is expressed.
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
    return std::vector<Real>(pose, pose + 12);
  }
};

/// What a call was given; a null handle is no argument of the function, None one that was left out.
struct StateArguments {
  py::handle q, v = {}, a = {}, f_ext = {};
  const FrameArgument* frame = nullptr;

  static bool is_given(py::handle x) { return x.ptr() != nullptr && !x.is_none(); }
};

template <class Real>
py::array run_states(const Model& model,
                     const StateArguments& given,
                     const Shape& row,
                     int threads,
                     engine::Kernel<Real> engine::DynamicsKernels<Real>::* kernel) {
  Call<Real> call(model, given.q);
  if (StateArguments::is_given(given.v)) call.set_v(given.v);
  if (StateArguments::is_given(given.a)) call.set_x(given.a, "a", model.nv());
  if (StateArguments::is_given(given.f_ext)) call.set_f_ext(given.f_ext);
  std::vector<Real> placement;
  if (given.frame != nullptr) {
    placement = given.frame->turned<Real>(model);
    call.batch().body = given.frame->body;
    call.batch().placement = placement.data();
    call.batch().expressed = given.frame->where();
    call.batch().classical = given.frame->classical;
  }
  return call.run(kernel, row, threads);
}

/// In the precision of q.
inline py::array run_states(const Model& model,
                            const StateArguments& given,
                            const Shape& row,
                            int threads,
                            const StateKernel& kernel) {
  return is_single(given.q) ? run_states<float>(model, given, row, threads, kernel.float32)
                            : run_states<double>(model, given, row, threads, kernel.float64);
}

}  // namespace pysim::bindings
