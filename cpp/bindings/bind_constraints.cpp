// Constraints of a state on the Python side: rows, constrained dynamics and its derivatives, projection.
// The public functions and their docstrings are in pysim.loops.
#include <pybind11/stl.h>

#include "bindings/derivative_functions.hpp"
#include "constraints/pose_search_arguments.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

py::ssize_t n(int count) {
  return count;
}

/// Accelerations (…, nv) and the force of every row (…, rows).
struct ConstrainedAccelerations {
  py::array a, forces;
};

/// The constraints at a state, as pysim.loops.Constraints.
struct ConstraintRows {
  py::array residual, bias, rates, jacobian, wrenches, loop_q;
};

/// Rows that depend on others, and the residuals at which rows count as closed.
struct RowClasses {
  py::array redundant, tolerance;
};

/// A state moved onto the constraints, the remaining residual, the rank of the Jacobian, and whether all rows
/// are closed.
struct ProjectedState {
  py::array q, v, loop_q, residual, rank, closed;
};

template <class Real>
ConstrainedAccelerations constrained_aba(const Model& model,
                                         py::handle q,
                                         py::handle v,
                                         py::handle tau,
                                         py::handle f_ext,
                                         py::handle loop_q,
                                         int threads,
                                         bool passive,
                                         py::handle t,
                                         py::handle redundant) {
  Call<Real> call(model, q);
  call.set_times(t);
  call.set_v(v);
  call.set_x(tau, "tau", model.nv());
  if (!f_ext.is_none()) call.set_f_ext(f_ext);
  call.set_loop_q(loop_q);
  call.set_redundant(redundant);
  call.batch().passive = passive;
  const py::array forces = call.output({}, {n(model.rows())});
  call.batch().constraint.forces = numbers<Real>(forces);
  return {call.run(&StateKernels<Real>::constrained_aba, {n(model.nv())}, threads), forces};
}

/// Three matrices, of accelerations or of row forces, and the measure of a singular position.
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
                                      py::handle out,
                                      py::handle t) {
  constexpr const char* names[3] = {"out[0]", "out[1]", "out[2]"};
  refuse_callbacks(model);
  Call<Real> call(model, q);
  call.set_times(t);
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
ConstraintRows constraint_rows(
    const Model& model, py::handle q, py::handle v, py::handle loop_q, int threads, py::handle t) {
  Call<Real> call(model, q);
  call.set_times(t);
  if (v.is_none()) {
    call.set_v_zero();
  } else {
    call.set_v(v);
  }
  call.set_loop_q(loop_q);
  const auto rows = n(model.rows());
  ConstraintRows at;
  at.bias = call.output({}, {rows});
  at.rates = call.output({}, {rows});
  at.jacobian = call.output({}, {rows, n(model.nv())});
  at.wrenches = call.output({}, {rows, 6});
  at.loop_q = call.output({}, {n(model.loop_nq())});
  auto& constraint = call.batch().constraint;
  constraint.bias = numbers<Real>(at.bias);
  constraint.rates = numbers<Real>(at.rates);
  constraint.jacobian = numbers<Real>(at.jacobian);
  constraint.wrenches = numbers<Real>(at.wrenches);
  call.batch().out_loop_q = numbers<Real>(at.loop_q);
  at.residual = call.run(&StateKernels<Real>::constraint_rows, {rows}, threads);
  return at;
}

template <class Real>
RowClasses classify_rows(const Model& model, py::handle q, py::handle loop_q, int threads, py::handle t) {
  Call<Real> call(model, q);
  call.set_times(t);
  call.set_v_zero();
  call.set_loop_q(loop_q);
  RowClasses rows;
  rows.redundant = call.output({}, {n(model.rows())});
  call.batch().constraint.redundant = numbers<Real>(rows.redundant);
  rows.tolerance = call.run(&StateKernels<Real>::classify_rows, {n(model.rows())}, threads);
  return rows;
}

template <class Real>
ProjectedState project(const Model& model,
                       py::handle q,
                       py::handle v,
                       py::handle loop_q,
                       int threads,
                       py::handle t,
                       py::handle redundant) {
  Call<Real> call(model, q);
  call.set_times(t);
  call.set_v(v);
  call.set_loop_q(loop_q);
  call.set_redundant(redundant);
  ProjectedState to;
  to.v = call.output({}, {n(model.nv())});
  to.loop_q = call.output({}, {n(model.loop_nq())});
  to.residual = call.output({}, {});
  to.rank = call.output({}, {});
  to.closed = call.output({}, {});
  auto& batch = call.batch();
  batch.out_v = numbers<Real>(to.v);
  batch.out_loop_q = numbers<Real>(to.loop_q);
  batch.constraint.residual = numbers<Real>(to.residual);
  batch.constraint.rank = numbers<Real>(to.rank);
  batch.constraint.closed = numbers<Real>(to.closed);
  to.q = call.run(&StateKernels<Real>::project, {n(model.nq())}, threads);
  return to;
}

/// Frames by body, placement (12) and weights (6); limits by places in q and v, lower and upper end.
using FrameArguments = std::vector<std::tuple<int, std::vector<double>, std::vector<double>>>;
using LimitArguments = std::vector<std::tuple<int, int, double, double>>;

std::vector<constraints::SearchedFrame> searched_frames(const Model& model, const FrameArguments& arguments) {
  std::vector<constraints::SearchedFrame> frames;
  for (const auto& [body, placement, weight] : arguments) {
    if (body < -1 || body >= model.nbodies() || placement.size() != 12 || weight.size() != 6) {
      throw std::invalid_argument("a searched frame needs a body of the model, 12 numbers and 6 weights");
    }
    auto& frame = frames.emplace_back();
    frame.body = body;
    std::copy(placement.begin(), placement.end(), frame.placement);
    std::copy(weight.begin(), weight.end(), frame.weight);
    model.to_engine_frame(body, frame.placement);
  }
  return frames;
}

/// (q, loop_q, cost, error) of a search for poses; see cpp/constraints/pose_search.hpp.
py::tuple search_poses(const Model& model,
                       py::handle q,
                       py::handle goals,
                       const FrameArguments& frame_arguments,
                       const LimitArguments& limit_arguments,
                       const std::vector<double>& scale,
                       const std::vector<double>& row_weight,
                       double tolerance,
                       int iterations,
                       double gain,
                       bool careful,
                       py::handle loop_q,
                       int threads) {
  refuse_callbacks(model);
  const auto frames = searched_frames(model, frame_arguments);
  std::vector<constraints::CoordinateLimit> limits;
  for (const auto& [at_q, at_v, lower, upper] : limit_arguments) {
    if (at_q < 0 || at_q >= model.nq() || at_v < 0 || at_v >= model.nv()) {
      throw std::invalid_argument("a limit needs places in q and v");
    }
    limits.push_back({at_q, at_v, lower, upper});
  }
  if (scale.size() != static_cast<std::size_t>(model.nv()) ||
      row_weight.size() != static_cast<std::size_t>(model.rows())) {
    throw std::invalid_argument("a search needs a scale for each velocity and a weight for each row");
  }
  Call<double> call(model, q);
  call.set_x(goals, "goals", 12 * static_cast<int>(frames.size()));
  call.set_loop_q(loop_q);
  const py::array phi = call.output({}, {n(model.loop_nq())});
  const py::array cost = call.output({}, {}), error = call.output({}, {});
  constraints::PoseSearch search = {};
  search.frame = frames.data();
  search.frames = static_cast<int>(frames.size());
  search.goals = call.batch().x;
  search.limit = limits.data();
  search.limits = static_cast<int>(limits.size());
  search.scale = scale.data();
  search.row_weight = row_weight.data();
  search.tolerance = tolerance;
  search.iterations = iterations;
  search.gain = gain;
  search.careful = careful;
  search.cost = numbers<double>(cost);
  search.error = numbers<double>(error);
  call.batch().search = &search;
  call.batch().out_loop_q = numbers<double>(phi);
  const py::array found = call.run(&StateKernels<double>::search_poses, {n(model.nq())}, threads);
  return py::make_tuple(found, phi, cost, error);
}

void bind_results(py::module_& m) {
  py::class_<ConstrainedAccelerations>(m, "ConstrainedAccelerations")
      .def_readonly("a", &ConstrainedAccelerations::a, "(…, nv)")
      .def_readonly("forces", &ConstrainedAccelerations::forces, "λ of every row (…, rows).");
  py::class_<ConstraintRows>(m, "ConstraintRows")
      .def_readonly("residual", &ConstraintRows::residual, "g (…, rows).")
      .def_readonly("bias", &ConstraintRows::bias, "g̈ at v̇ = 0 (…, rows).")
      .def_readonly("rates", &ConstraintRows::rates, "∂g/∂t of prescribed motions (…, rows).")
      .def_readonly("jacobian", &ConstraintRows::jacobian, "(…, rows, nv)")
      .def_readonly("wrenches", &ConstraintRows::wrenches, "Of a unit λ (…, rows, 6).")
      .def_readonly("loop_q", &ConstraintRows::loop_q, "(…, loop_nq)");
  py::class_<ProjectedState>(m, "ProjectedState")
      .def_readonly("q", &ProjectedState::q, "(…, nq)")
      .def_readonly("v", &ProjectedState::v, "(…, nv)")
      .def_readonly("loop_q", &ProjectedState::loop_q, "(…, loop_nq)")
      .def_readonly("residual", &ProjectedState::residual, "The largest |g| left (…).")
      .def_readonly("rank", &ProjectedState::rank, "Of the Jacobian (…).")
      .def_readonly("closed", &ProjectedState::closed, "1 if every row is within its tolerance (…).");
  py::class_<RowClasses>(m, "RowClasses")
      .def_readonly("redundant", &RowClasses::redundant, "1 for rows that depend on others (…, rows).")
      .def_readonly("tolerance", &RowClasses::tolerance, "Largest |g| of a closed row (…, rows).");
}

/// A function of q in the precision of q.
template <class Result, class... Others>
auto in_precision(Result (*single)(const Model&, py::handle, Others...),
                  Result (*with_doubles)(const Model&, py::handle, Others...)) {
  return [=](const Model& model, py::handle q, Others... others) {
    return (is_single(q) ? single : with_doubles)(model, q, others...);
  };
}

#define PYSIM_IN_PRECISION_OF_Q(function) in_precision(&function<float>, &function<double>)

}  // namespace

void bind_constraints(py::module_& m) {
  bind_results(m);
  m.def("constrained_aba",
        PYSIM_IN_PRECISION_OF_Q(constrained_aba),
        "model"_a,
        "q"_a,
        "v"_a,
        "tau"_a,
        "f_ext"_a,
        "loop_q"_a,
        py::kw_only(),
        "threads"_a = 1,
        "passive"_a = false,
        "t"_a = py::none(),
        "redundant"_a = py::none(),
        "Accelerations and the force of every row.");
  m.def("constrained_aba_derivatives",
        PYSIM_IN_PRECISION_OF_Q(constrained_aba_derivatives),
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
        "t"_a = py::none(),
        "Derivatives of accelerations (nv, nv) or row forces (rows, nv) by q, v and tau; and how far a "
        "singular position opens.");
  m.def("constraint_rows",
        PYSIM_IN_PRECISION_OF_Q(constraint_rows),
        "model"_a,
        "q"_a,
        "v"_a,
        "loop_q"_a,
        py::kw_only(),
        "threads"_a = 1,
        "t"_a = py::none(),
        "The constraints at a state and a time, 0 by default; v is zero by default.");
  m.def("project",
        PYSIM_IN_PRECISION_OF_Q(project),
        "model"_a,
        "q"_a,
        "v"_a,
        "loop_q"_a,
        py::kw_only(),
        "threads"_a = 1,
        "t"_a = py::none(),
        "redundant"_a = py::none(),
        "The state moved onto the constraints.");
  m.def("classify_rows",
        PYSIM_IN_PRECISION_OF_Q(classify_rows),
        "model"_a,
        "q"_a,
        "loop_q"_a,
        py::kw_only(),
        "threads"_a = 1,
        "t"_a = py::none(),
        "Redundant rows, and the residuals at which rows count as closed.");
  using Tolerance = constraints::ProjectionTolerance<double>;
  m.attr("CLOSURE_TOLERANCE") = Tolerance::required;
  m.attr("REDUNDANT_CLOSURE_TOLERANCE") = Tolerance::required_of_redundant;
  m.attr("SMALLEST_SINE") = std::sqrt(constraints::RankTolerance<double>::pivot);
  m.def("search_poses",
        &search_poses,
        "model"_a,
        "q"_a,
        "goals"_a,
        "frames"_a,
        "limits"_a,
        "scale"_a,
        "row_weight"_a,
        "tolerance"_a,
        "iterations"_a,
        "gain"_a,
        "careful"_a,
        "loop_q"_a,
        py::kw_only(),
        "threads"_a = 1,
        "The best q found, its loop_q, cost and largest error; goals are rotations column-major and "
        "positions (…, 12 for each frame).");
}

}  // namespace pysim::bindings
