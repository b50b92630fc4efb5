// One call of an algorithm: its checked arguments, its output, the GIL released while it runs.
#pragma once

#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "engine/dispatch.hpp"

namespace pysim::bindings {

using tree::Model;

template <class Real>
const engine::DynamicsKernels<Real>& dynamics_kernels() {
  if constexpr (sizeof(Real) == 8) {
    return engine::kernels().float64;
  } else {
    return engine::kernels().float32;
  }
}

template <class Real>
class Call {
 public:
  Call(const Model& model, py::handle q, const char* name = "q")
      : model_(model), q_(q, name, {model.nq()}, leading_) {
    batch_.states = leading_.states;
    batch_.q = q_.data();
    check_quaternions(batch_.q, name);
  }

  engine::Batch<Real>& batch() { return batch_; }
  const Leading& leading() const { return leading_; }

  void set_v(py::handle v) { batch_.v = keep(v, "v", {model_.nv()}); }
  void set_x(py::handle x, const char* name, int count) { batch_.x = keep(x, name, {count}); }
  void set_f_ext(py::handle f) { batch_.f_ext = keep(f, "f_ext", {model_.nbodies(), 6}); }

  /// Coordinates of the joints that close loops; where they start if none are given.
  void set_loop_q(py::handle loop_q) {
    if (!loop_q.is_none()) {
      batch_.loop_q = keep(loop_q, "loop_q", {model_.loop_nq()});
      return;
    }
    const std::vector<double>& start = model_.loop_start();
    for (py::ssize_t k = 0; k < leading_.states; ++k) {
      for (const double x : start) loop_start_.push_back(static_cast<Real>(x));
    }
    batch_.loop_q = loop_start_.data();
  }

  /// Velocities of zero, for statics.
  void set_v_zero() {
    zeros_.assign(static_cast<std::size_t>(leading_.states * model_.nv()), Real(0));
    batch_.v = zeros_.data();
  }

  /// Refuses quaternions that are not of unit length, by joint.
  void check_quaternions(const Real* q, const char* name) const {
    for (const auto& joint : model_.joints()) {
      for (int i = 0; i < joint.blocks && joint.own_q >= 0; ++i) {
        const int at = tree::quaternion_offset(joint.block[i]);
        if (at >= 0) check_quaternion(q + joint.own_q + at, name, joint);
      }
    }
  }

  /// Runs the kernel into a new array of rows. A single state keeps the GIL: giving it back costs more.
  py::array run(engine::Kernel<Real> engine::DynamicsKernels<Real>::* kernel, const Shape& row, int threads) {
    if (threads < 0)
      throw std::invalid_argument("threads must be 0 (all) or more, got " + std::to_string(threads));
    py::array out = make_output<Real>(leading_, row);
    batch_.out = numbers<Real>(out);
    if (model_.callback_numbers() > 0) compute_callbacks();
    const auto& table = dynamics_kernels<Real>();
    if (leading_.states == 1) {
      engine::run_batch<Real>(table.*kernel, table.width, model_, batch_, 1);
    } else {
      const py::gil_scoped_release nogil;
      engine::run_batch<Real>(table.*kernel, table.width, model_, batch_, threads);
    }
    return out;
  }

 private:
  /// One quaternion of every state, the first at x.
  void check_quaternion(const Real* x, const char* name, const tree::Joint& joint) const {
    constexpr double tolerance = sizeof(Real) == 8 ? 1e-6 : 1e-4;
    for (py::ssize_t k = 0; k < leading_.states; ++k, x += model_.nq()) {
      const double norm =
          std::sqrt(double(x[0]) * x[0] + double(x[1]) * x[1] + double(x[2]) * x[2] + double(x[3]) * x[3]);
      if (std::abs(norm - 1) <= tolerance) continue;
      const auto index = static_cast<std::size_t>(&joint - model_.joints().data());
      throw std::invalid_argument(std::string(name) + " holds a quaternion (x, y, z, w) of length " +
                                  std::to_string(norm) + " for joint '" + model_.names()[index] +
                                  "', it must be 1; divide it by its length");
    }
  }

  /// Asks the Python model for pose, columns and bias of its callback joints, state by state.
  void compute_callbacks() {
    const auto rows = [this](const Real* data, int count) {
      return py::array_t<Real>({leading_.states, static_cast<py::ssize_t>(count)}, data);
    };
    const py::object model = py::cast(&model_);
    const py::object v =
        batch_.v == nullptr ? py::object(py::none()) : py::object(rows(batch_.v, model_.nv()));
    callback_ = py::array_t<Real, py::array::c_style | py::array::forcecast>::ensure(
        model.attr("callback_rows")(rows(batch_.q, model_.nq()), v));
    if (!callback_ || callback_.size() != leading_.states * model_.callback_numbers()) {
      throw std::invalid_argument("callback joints must give numbers for every state");
    }
    batch_.callback = callback_.data();
  }

  const Real* keep(py::handle x, const char* name, const Shape& row) {
    return kept_[count_++].emplace(x, name, row, leading_).data();
  }

  const Model& model_;
  Leading leading_;
  Rows<Real> q_;
  std::optional<Rows<Real>> kept_[4];
  int count_ = 0;
  std::vector<Real> zeros_, loop_start_;
  py::array_t<Real, py::array::c_style | py::array::forcecast> callback_;
  engine::Batch<Real> batch_ = {};
};

}  // namespace pysim::bindings
