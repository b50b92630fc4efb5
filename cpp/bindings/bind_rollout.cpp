// Rollouts; documented in pysim/simulation/batches/rollouts.py.
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>

#include "bindings/integrators.hpp"
#include "bindings/model_functions.hpp"
#include "bindings/stepping_arguments.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

/// One model for all worlds, or one for each; alike, see Model::structure_difference.
using Models = std::vector<const Model*>;

bool is_one(const Models& models) {
  return std::all_of(models.begin(), models.end(), [&](const Model* m) { return m == models[0]; });
}

/// Arguments other than the arrays.
struct Plan {
  double step;
  py::ssize_t steps, every;
  engine::Integrator integrator;
  double spectral_radius;
  int threads;
};

void check(const Models& models, const Plan& plan) {
  if (models.empty()) throw std::invalid_argument("models must hold a model for every world, got none");
  const Model& model = *models[0];
  if (model.callback_numbers() > 0) {
    throw std::invalid_argument("a model with callback joints is stepped from Python, by pysim.simulate");
  }
  if (!(plan.step > 0) || !std::isfinite(plan.step))
    throw std::invalid_argument("step must be positive [s], got " + std::to_string(plan.step));
  if (plan.steps < 0)
    throw std::invalid_argument("steps must be 0 or more, got " + std::to_string(plan.steps));
  if (plan.every < 1 || plan.steps % plan.every != 0) {
    throw std::invalid_argument("every must divide the number of steps, " + std::to_string(plan.steps) +
                                ", got " + std::to_string(plan.every));
  }
}

void check_count(const Models& models, const Leading& leading) {
  if (static_cast<std::ptrdiff_t>(models.size()) == leading.states) return;
  throw std::invalid_argument("there are " + std::to_string(models.size()) + " models for " +
                              std::to_string(leading.states) +
                              " worlds; pass one model for all, or a list with one for each");
}

/// Initial coordinates of the joints that close loops, world after world.
template <class Real>
std::vector<Real> loop_starts(const Models& models) {
  std::vector<Real> rows;
  for (const Model* model : models) {
    for (const double x : model->loop_start()) rows.push_back(static_cast<Real>(x));
  }
  return rows;
}

/// Runs the rows in pieces of about a twentieth of a second, so that Ctrl-C is handled. The pieces do not
/// change the bits of the result.
template <class Real>
void run_in_pieces(Call<Real>& call, const Models& models, engine::RolloutCall<Real>& rollout, int threads) {
  using Clock = std::chrono::steady_clock;
  constexpr double wanted = 0.05;  // [s]
  call.batch().rollout = &rollout;
  constexpr std::ptrdiff_t few =
      32768;  // steps of worlds of one body: explicit ones take no longer than that
  const std::ptrdiff_t row = rollout.every * call.leading().states * models[0]->nbodies();
  std::ptrdiff_t piece = std::max(std::ptrdiff_t{1}, few / (row + 1));
  do {
    rollout.end = std::min(rollout.rows, rollout.begin + piece);
    const auto start = Clock::now();
    if (is_one(models)) {
      call.execute(&StateKernels<Real>::rollout, threads);
    } else {
      call.execute_worlds(models, threads);
    }
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    rollout.begin = rollout.end;
    piece = std::max(std::ptrdiff_t{1}, took < wanted / 2 ? 2 * piece : took > wanted ? piece / 2 : piece);
  } while (rollout.begin < rollout.rows);
}

template <class Real>
py::tuple rollout(const Models& models,
                  py::handle q0,
                  py::handle v0,
                  py::handle controls,
                  const Plan& plan,
                  py::handle loop_q,
                  py::handle out_q,
                  py::handle out_v) {
  check(models, plan);
  const Model& model = *models[0];
  Call<Real> call(model, q0, "q0");
  call.set_v(v0, "v0");
  if (models.size() > 1) check_count(models, call.leading());
  if (is_given(controls)) call.set_x(controls, "controls", Shape{plan.steps, model.nv()});
  const py::ssize_t rows = plan.steps / plan.every;
  const py::array q = call.output(out_q, {1 + rows, model.nq()}, "out[0]");
  const py::array v = call.output(out_v, {1 + rows, model.nv()}, "out[1]");

  const std::vector<double> zeros(static_cast<std::size_t>(model.nv()), 0.0);
  const stepping::Actuation none = {zeros.data(), zeros.data(), zeros.data(), zeros.data()};
  engine::RolloutCall<Real> request = {};
  request.controls = call.batch().x;
  request.rows = rows;
  request.every = plan.every;
  request.q = numbers<Real>(q);
  request.v = numbers<Real>(v);
  call.batch().actuation = &none;
  call.batch().integrator = plan.integrator;
  call.batch().step = plan.step;
  call.batch().spectral_radius = plan.spectral_radius;
  std::vector<Real> memory(static_cast<std::size_t>(
      call.leading().states * engine::solver_numbers(plan.integrator, model.nv(), model.rows())));
  call.batch().memory = memory.empty() ? nullptr : memory.data();
  LoopCoordinates<Real> phi(loop_q, is_one(models) ? call.loop_start() : loop_starts<Real>(models));
  call.batch().loop_q = call.batch().out_loop_q = phi.data();
  run_in_pieces(call, models, request, plan.threads);
  return py::make_tuple(q, v);
}

}  // namespace

void bind_rollout(py::module_& m) {
  m.def(
      "rollout",
      [](const Models& models,
         py::handle q0,
         py::handle v0,
         py::handle controls,
         double step,
         py::ssize_t steps,
         py::ssize_t every,
         const std::string& integrator,
         double spectral_radius,
         int threads,
         py::handle loop_q,
         py::handle out_q,
         py::handle out_v) {
        const Plan plan = {
            step, steps, every, integrator_named(integrator), checked_radius(spectral_radius), threads};
        return is_single(q0) ? rollout<float>(models, q0, v0, controls, plan, loop_q, out_q, out_v)
                             : rollout<double>(models, q0, v0, controls, plan, loop_q, out_q, out_v);
      },
      "models"_a,
      "q0"_a,
      "v0"_a,
      "controls"_a,
      "step"_a,
      "steps"_a,
      "every"_a,
      "integrator"_a,
      "spectral_radius"_a,
      "threads"_a,
      "loop_q"_a,
      "out_q"_a,
      "out_v"_a);
}

}  // namespace pysim::bindings
