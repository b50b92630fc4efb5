// One call of an algorithm: its checked arguments, its output, the GIL released while it runs.
#pragma once

#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/released_gil.hpp"
#include "engine/dispatch.hpp"

namespace pysim::bindings {

using tree::Model;

using engine::StateKernels;

inline void check_threads(long threads) {
  constexpr long most = 1 << 20;
  if (threads >= 0 && threads <= most) return;
  throw std::invalid_argument("threads must be from 0 (all) to " + std::to_string(most) + ", got " +
                              std::to_string(threads));
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

  void set_v(py::handle v, const char* name = "v") { batch_.v = keep(v, name, {model_.nv()}); }
  void set_x(py::handle x, const char* name, int count) { set_x(x, name, Shape{count}); }
  void set_x(py::handle x, const char* name, const Shape& row, Values values = Values::finite) {
    batch_.x = keep(x, name, row, values);
  }
  void set_f_ext(py::handle f) { batch_.f_ext = keep(f, "f_ext", {model_.nbodies(), 6}); }

  /// Accelerations and wrenches that signals read, if they are given; NaN in states whose elements have no
  /// force.
  void set_measured(py::handle a, py::handle f_ext) {
    if (!a.is_none()) set_x(a, "a", {model_.nv()}, Values::any);
    if (!f_ext.is_none()) batch_.f_ext = keep(f_ext, "f_ext", {model_.nbodies(), 6}, Values::any);
  }

  /// Time of each state [s]: one number, or one for each; 0 if none are given.
  void set_times(py::handle t) {
    if (t.is_none()) return;
    const auto times = PlainArray<double, py::array::forcecast>::ensure(t);
    if (!times) throw py::type_error("t must be a number or an array of numbers");
    if (times.size() != 1 && times.size() != leading_.states) {
      throw std::invalid_argument("t must be one number or have one for each of the " +
                                  std::to_string(leading_.states) + " states, got " +
                                  std::to_string(times.size()));
    }
    times_.resize(static_cast<std::size_t>(leading_.states));
    for (std::size_t k = 0; k < times_.size(); ++k) {
      const double time = times.data()[times.size() == 1 ? 0 : k];
      if (!std::isfinite(time)) throw std::invalid_argument("t must be finite");
      times_[k] = static_cast<Real>(time);
    }
    batch_.times = times_.data();
  }

  /// Coordinates of the joints that close loops; their initial values if none are given.
  void set_loop_q(py::handle loop_q) {
    if (!loop_q.is_none()) {
      batch_.loop_q = keep(loop_q, "loop_q", {model_.loop_nq()});
      return;
    }
    loop_start_ = loop_start();
    batch_.loop_q = loop_start_.data();
  }

  /// 1 for rows that are known to depend on others; they are found if none are given.
  void set_redundant(py::handle rows) {
    if (!rows.is_none()) batch_.constraint.known_redundant = keep(rows, "redundant", {model_.rows()});
  }

  /// Initial coordinates of the joints that close loops, for every state.
  std::vector<Real> loop_start() const {
    std::vector<Real> rows;
    for (py::ssize_t k = 0; k < leading_.states; ++k) {
      for (const double x : model_.loop_start()) rows.push_back(static_cast<Real>(x));
    }
    return rows;
  }

  /// Velocities of zero, for statics.
  void set_v_zero() {
    zeros_.assign(static_cast<std::size_t>(leading_.states * model_.nv()), Real(0));
    batch_.v = zeros_.data();
  }

  /// Rejects quaternions that are not of unit length, with the joint's name.
  void check_quaternions(const Real* q, const char* name) const {
    for (const auto& quaternion : model_.quaternions()) check_quaternion(q + quaternion.at, name, quaternion);
  }

  /// An array for a result: the caller's if `out` is one, else new. The caller's may share no memory with the
  /// arguments, nor with the results before it.
  py::array output(py::handle out, const Shape& row, const char* name = "out") {
    if (out.ptr() == nullptr || out.is_none()) return make_output<Real>(leading_, row);
    py::array array = accept_output<Real>(out, name, leading_, row);
    const char* begin = record(array).data;
    const Extent extent = {begin, begin + array.nbytes(), name};
    check_apart(extent, q_.extent());
    for (int i = 0; i < count_; ++i) check_apart(extent, arguments_[i]->extent());
    for (int i = 0; i < outputs_; ++i) check_apart(extent, output_[i]);
    output_[outputs_++] = extent;
    return array;
  }

  /// Runs the kernel on the arguments and results that were set.
  void execute(engine::Kernel<Real> StateKernels<Real>::* kernel, int threads) {
    check_threads(threads);
    if (model_.callback_numbers() > 0) compute_callbacks();
    constexpr int long_call = 64;  // coordinates from which releasing the GIL pays
    if (leading_.states == 1 && model_.nv() < long_call) {
      engine::run_batch<Real>(kernel, model_, batch_, 1);
    } else {
      const ReleasedGil nogil;
      engine::run_batch<Real>(kernel, model_, batch_, threads);
    }
  }

  /// Runs the kernel into rows: those of `out`, or of a new array.
  py::array run(engine::Kernel<Real> StateKernels<Real>::* kernel,
                const Shape& row,
                int threads,
                py::handle out = {}) {
    py::array result = output(out, row);
    batch_.out = numbers<Real>(result);
    execute(kernel, threads);
    return result;
  }

 private:
  static void check_apart(const Extent& out, const Extent& other) {
    if (!out.overlaps(other)) return;
    throw std::invalid_argument(std::string(out.name) + " shares memory with " + other.name +
                                "; pass a separate array");
  }

  /// One quaternion of every state, the first at x.
  void check_quaternion(const Real* x, const char* name, const tree::QuaternionPlace& place) const {
    constexpr double tolerance = sizeof(Real) == 8 ? 1e-6 : 1e-4;
    for (py::ssize_t k = 0; k < leading_.states; ++k, x += model_.nq()) {
      const double norm =
          std::sqrt(double(x[0]) * x[0] + double(x[1]) * x[1] + double(x[2]) * x[2] + double(x[3]) * x[3]);
      if (std::abs(norm - 1) <= tolerance) continue;
      throw std::invalid_argument(std::string(name) + " holds a quaternion (x, y, z, w) of length " +
                                  std::to_string(norm) + " for joint '" +
                                  model_.names()[static_cast<std::size_t>(place.joint)] +
                                  "', it must be 1; divide it by its length");
    }
  }

  /// Evaluates pose, columns and bias of the callback joints in Python, state by state.
  void compute_callbacks() {
    const auto rows = [this](const Real* data, int count) {
      return py::array_t<Real>({leading_.states, static_cast<py::ssize_t>(count)}, data);
    };
    const py::object model = py::cast(&model_);
    const py::object v =
        batch_.v == nullptr ? py::object(py::none()) : py::object(rows(batch_.v, model_.nv()));
    const auto numbers = PlainArray<Real, py::array::forcecast>::ensure(
        model.attr("callback_rows")(rows(batch_.q, model_.nq()), v));
    if (!numbers || numbers.size() != leading_.states * model_.callback_numbers()) {
      throw std::invalid_argument("callback joints must return numbers for every state");
    }
    batch_.callback = numbers.data();
    callback_ = numbers;
  }

  const Real* keep(py::handle x, const char* name, const Shape& row, Values values = Values::finite) {
    return arguments_[count_++].emplace(x, name, row, leading_, values).data();
  }

  const Model& model_;
  Leading leading_;
  Rows<Real> q_;
  std::optional<Rows<Real>> arguments_[5];
  int count_ = 0;
  std::vector<Real> zeros_, loop_start_, times_;
  py::object callback_;  ///< keeps the numbers that Python computed
  Extent output_[4];
  int outputs_ = 0;
  engine::Batch<Real> batch_ = {};
};

}  // namespace pysim::bindings
