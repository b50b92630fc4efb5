#include "bindings/derivative_functions.hpp"

// The public functions, with their docstrings, are those of pysim.loops.

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

py::ssize_t n(int count) {
  return count;
}

template <class Real>
py::array constrained_aba(const Model& model,
                          py::handle q,
                          py::handle v,
                          py::handle tau,
                          py::handle f_ext,
                          py::handle loop_q,
                          int threads,
                          bool passive) {
  Call<Real> call(model, q);
  call.set_v(v);
  call.set_x(tau, "tau", model.nv());
  if (!f_ext.is_none()) call.set_f_ext(f_ext);
  call.set_loop_q(loop_q);
  call.batch().passive = passive;
  const Shape row = {n(model.nv() + model.rows())};
  return call.run(&StateKernels<Real>::constrained_aba, row, threads);
}

/// Three matrices, of accelerations or of row forces, and how far a singular position opens.
template <class Real>
py::tuple constrained_aba_derivatives(const Model& model,
                                      py::handle q,
                                      py::handle v,
                                      py::handle tau,
                                      py::handle f_ext,
                                      py::handle loop_q,
                                      int threads,
                                      bool passive,
                                      bool forces,
                                      py::handle out) {
  constexpr const char* names[3] = {"out[0]", "out[1]", "out[2]"};
  refuse_callbacks(model);
  Call<Real> call(model, q);
  call.set_v(v);
  call.set_x(tau, "tau", model.nv());
  if (!f_ext.is_none()) call.set_f_ext(f_ext);
  call.set_loop_q(loop_q);
  call.batch().passive = passive;
  call.batch().forces = forces;
  Arguments places;
  places.out = out;
  py::array result[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const py::object place = place_of(places, i, 3);
    result[i] = call.output(place, {n(forces ? model.rows() : model.nv()), n(model.nv())}, names[i]);
    call.batch().derivative[i] = numbers<Real>(result[i]);
  }
  const auto opening = call.run(&StateKernels<Real>::constrained_aba_derivatives, {}, threads);
  return py::make_tuple(result[0], result[1], result[2], opening);
}

template <class Real>
py::array constraint_rows(const Model& model, py::handle q, py::handle v, py::handle loop_q, int threads) {
  Call<Real> call(model, q);
  if (v.is_none()) {
    call.set_v_zero();
  } else {
    call.set_v(v);
  }
  call.set_loop_q(loop_q);
  const Shape row = {n(model.rows() * (model.nv() + 8) + model.loop_nq())};
  return call.run(&StateKernels<Real>::constraint_rows, row, threads);
}

template <class Real>
py::array project(const Model& model, py::handle q, py::handle v, py::handle loop_q, int threads) {
  Call<Real> call(model, q);
  call.set_v(v);
  call.set_loop_q(loop_q);
  const Shape row = {n(model.nq() + model.nv() + model.loop_nq() + 2)};
  return call.run(&StateKernels<Real>::project, row, threads);
}

}  // namespace

void bind_constraints(py::module_& m) {
  m.def(
      "constrained_aba",
      [](const Model& model,
         py::handle q,
         py::handle v,
         py::handle tau,
         py::handle f_ext,
         py::handle loop_q,
         int threads,
         bool passive) {
        return is_single(q) ? constrained_aba<float>(model, q, v, tau, f_ext, loop_q, threads, passive)
                            : constrained_aba<double>(model, q, v, tau, f_ext, loop_q, threads, passive);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "tau"_a,
      "f_ext"_a,
      "loop_q"_a,
      py::kw_only(),
      "threads"_a = 1,
      "passive"_a = false,
      "Accelerations (nv), then the force of every row (rows).");
  m.def(
      "constrained_aba_derivatives",
      [](const Model& model,
         py::handle q,
         py::handle v,
         py::handle tau,
         py::handle f_ext,
         py::handle loop_q,
         int threads,
         bool passive,
         bool forces,
         py::handle out) {
        const auto run =
            is_single(q) ? &constrained_aba_derivatives<float> : &constrained_aba_derivatives<double>;
        return run(model, q, v, tau, f_ext, loop_q, threads, passive, forces, out);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "tau"_a,
      "f_ext"_a,
      "loop_q"_a,
      py::kw_only(),
      "threads"_a = 1,
      "passive"_a = false,
      "forces"_a = false,
      "out"_a = py::none(),
      "Of accelerations (nv, nv) or row forces (rows, nv) by q, v and tau; and how far a singular position "
      "opens.");
  m.def(
      "constraint_rows",
      [](const Model& model, py::handle q, py::handle v, py::handle loop_q, int threads) {
        return is_single(q) ? constraint_rows<float>(model, q, v, loop_q, threads)
                            : constraint_rows<double>(model, q, v, loop_q, threads);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "loop_q"_a,
      py::kw_only(),
      "threads"_a = 1,
      "Residual (rows), its bias (rows), Jacobian (rows, nv), wrench of every row (rows, 6) and loop_q.");
  m.def(
      "project",
      [](const Model& model, py::handle q, py::handle v, py::handle loop_q, int threads) {
        return is_single(q) ? project<float>(model, q, v, loop_q, threads)
                            : project<double>(model, q, v, loop_q, threads);
      },
      "model"_a,
      "q"_a,
      "v"_a,
      "loop_q"_a,
      py::kw_only(),
      "threads"_a = 1,
      "q (nq), v (nv) and loop_q on the constraints, the residual left, and the rank of their Jacobian.");
}

}  // namespace pysim::bindings
