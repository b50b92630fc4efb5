#include <pybind11/stl.h>

#include "bindings/calls.hpp"

// The docstrings of rnea and aba are the public ones: pysim.algorithms hands these two on as they are, for a
// control loop feels every layer. The other functions are documented there.

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

template <class Real>
using Kernel = engine::Kernel<Real> engine::DynamicsKernels<Real>::*;

/// The same kernel in both precisions.
struct Pair {
  Kernel<double> float64;
  Kernel<float> float32;
};

#define PYSIM_PAIR(name)                                                          \
  Pair {                                                                          \
    &engine::DynamicsKernels<double>::name, &engine::DynamicsKernels<float>::name \
  }

/// Result rows: a plain number for a single state whose rows are numbers.
template <class Real>
py::object finish(py::array out, bool is_number) {
  if (is_number && out.ndim() == 0) return py::float_(static_cast<double>(*numbers<Real>(out)));
  return std::move(out);
}

/// f(model, q) with rows of shape `row`.
template <class Real>
py::object of_q(const Model& model, py::handle q, int threads, const Shape& row, Kernel<Real> kernel) {
  Call<Real> call(model, q);
  return finish<Real>(call.run(kernel, row, threads), row.ndim == 0);
}

template <class Real>
py::object of_qv(
    const Model& model, py::handle q, py::handle v, int threads, const Shape& row, Kernel<Real> kernel) {
  Call<Real> call(model, q);
  call.set_v(v);
  return finish<Real>(call.run(kernel, row, threads), row.ndim == 0);
}

/// One overload for both precisions, chosen by the dtype of q.
#define PYSIM_CHOOSE(function, q, pair, ...)                   \
  (is_single(q) ? function<float>(__VA_ARGS__, (pair).float32) \
                : function<double>(__VA_ARGS__, (pair).float64))

template <class Real>
py::object inverse_dynamics(const Model& model,
                            py::handle q,
                            py::handle v,
                            py::handle a,
                            py::handle f_ext,
                            int threads,
                            bool passive,
                            Kernel<Real> kernel) {
  Call<Real> call(model, q);
  if (!v.is_none())
    call.set_v(v);
  else
    call.set_v_zero();
  if (!a.is_none()) call.set_x(a, "a", model.nv());
  if (!f_ext.is_none()) call.set_f_ext(f_ext);
  call.batch().passive = passive;
  return call.run(kernel, {model.nv()}, threads);
}

template <class Real>
py::object forward_dynamics(const Model& model,
                            py::handle q,
                            py::handle v,
                            py::handle tau,
                            py::handle f_ext,
                            int threads,
                            bool passive,
                            Kernel<Real> kernel) {
  Call<Real> call(model, q);
  call.set_v(v);
  call.set_x(tau, "tau", model.nv());
  if (!f_ext.is_none()) call.set_f_ext(f_ext);
  call.batch().passive = passive;
  return call.run(kernel, {model.nv()}, threads);
}

template <class Real>
py::object frame_placement(const Model& model,
                           py::handle q,
                           int body,
                           const std::vector<double>& placement,
                           int threads,
                           Kernel<Real> kernel) {
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
  return call.run(kernel, {4, 4}, threads);
}

template <class Real>
py::object integrate(const Model& model, py::handle q, py::handle dq, int threads, Kernel<Real> kernel) {
  Call<Real> call(model, q);
  call.set_x(dq, "dq", model.nv());
  return call.run(kernel, {model.nq()}, threads);
}

template <class Real>
py::object difference(const Model& model, py::handle q0, py::handle q1, int threads, Kernel<Real> kernel) {
  Call<Real> call(model, q0, "q0");
  call.set_x(q1, "q1", model.nq());
  call.check_quaternions(call.batch().x, "q1");
  return call.run(kernel, {model.nv()}, threads);
}

py::ssize_t n(int count) {
  return count;
}

}  // namespace

void bind_dynamics(py::module_& m) {
  m.def(
      "forward_kinematics",
      [](const Model& model, py::handle q, int threads) {
        const Shape row = {n(model.nbodies()), 4, 4};
        return PYSIM_CHOOSE(of_q, q, PYSIM_PAIR(forward_kinematics), model, q, threads, row);
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "frame_placement",
      [](const Model& model, py::handle q, int body, const std::vector<double>& placement, int threads) {
        return PYSIM_CHOOSE(
            frame_placement, q, PYSIM_PAIR(frame_placement), model, q, body, placement, threads);
      },
      "model"_a,
      "q"_a,
      "body"_a,
      "placement"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "rnea",
      [](const Model& model,
         py::handle q,
         py::handle v,
         py::handle a,
         py::handle f_ext,
         int threads,
         bool passive) {
        return PYSIM_CHOOSE(inverse_dynamics, q, PYSIM_PAIR(rnea), model, q, v, a, f_ext, threads, passive);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "a"_a,
      "f_ext"_a = py::none(),
      py::kw_only(),
      "threads"_a = 1,
      "passive"_a = false,
      R"(Return the generalised forces τ (…, nv) [N or N·m] that give the accelerations `a`.

Recursive Newton-Euler algorithm, Featherstone 2008, table 5.1:  τ = M(q) a + h(q, v) − Σ Jᵀ f_ext.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    a: dv/dt (…, nv) [m/s² or rad/s²].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    passive: subtract the joints' own forces (damping, springs, friction, stops): what is left is the motors' part.

Raises:
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)");
  m.def(
      "aba",
      [](const Model& model,
         py::handle q,
         py::handle v,
         py::handle tau,
         py::handle f_ext,
         int threads,
         bool passive) {
        return PYSIM_CHOOSE(forward_dynamics, q, PYSIM_PAIR(aba), model, q, v, tau, f_ext, threads, passive);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "tau"_a,
      "f_ext"_a = py::none(),
      py::kw_only(),
      "threads"_a = 1,
      "passive"_a = false,
      R"(Return the accelerations v̇ (…, nv) [m/s² or rad/s²] under the generalised forces `tau`.

Articulated-body algorithm, Featherstone 2008, table 7.1. Where joints follow others (mimic), the accelerations come
from the inertia on the independent coordinates.

Args:
    model: the mechanism.
    q: configuration (…, nq).
    v: velocity (…, nv).
    tau: generalised forces (…, nv) [N or N·m].
    f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
    threads: threads that share a batch; 0 uses every processor.
    passive: add the joints' own forces (damping, springs, friction, stops).

Raises:
    ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.)");
  m.def(
      "crba",
      [](const Model& model, py::handle q, int threads) {
        const Shape row = {n(model.nv()), n(model.nv())};
        return PYSIM_CHOOSE(of_q, q, PYSIM_PAIR(crba), model, q, threads, row);
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "passive_forces",
      [](const Model& model, py::handle q, py::handle v, int threads) {
        const Shape row = {n(model.nv())};
        return PYSIM_CHOOSE(of_qv, q, PYSIM_PAIR(passive_forces), model, q, v, threads, row);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "kinetic_energy",
      [](const Model& model, py::handle q, py::handle v, int threads) {
        return PYSIM_CHOOSE(of_qv, q, PYSIM_PAIR(kinetic_energy), model, q, v, threads, Shape{});
      },
      "model"_a,
      "q"_a,
      "v"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "potential_energy",
      [](const Model& model, py::handle q, int threads) {
        return PYSIM_CHOOSE(of_q, q, PYSIM_PAIR(potential_energy), model, q, threads, Shape{});
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "elastic_energy",
      [](const Model& model, py::handle q, int threads) {
        return PYSIM_CHOOSE(of_q, q, PYSIM_PAIR(elastic_energy), model, q, threads, Shape{});
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "center_of_mass",
      [](const Model& model, py::handle q, int threads) {
        return PYSIM_CHOOSE(of_q, q, PYSIM_PAIR(center_of_mass), model, q, threads, Shape{3});
      },
      "model"_a,
      "q"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "integrate",
      [](const Model& model, py::handle q, py::handle dq, int threads) {
        return PYSIM_CHOOSE(integrate, q, PYSIM_PAIR(integrate), model, q, dq, threads);
      },
      "model"_a,
      "q"_a,
      "dq"_a,
      py::kw_only(),
      "threads"_a = 1);
  m.def(
      "difference",
      [](const Model& model, py::handle q0, py::handle q1, int threads) {
        return PYSIM_CHOOSE(difference, q0, PYSIM_PAIR(difference), model, q0, q1, threads);
      },
      "model"_a,
      "q0"_a,
      "q1"_a,
      py::kw_only(),
      "threads"_a = 1);
}

}  // namespace pysim::bindings
