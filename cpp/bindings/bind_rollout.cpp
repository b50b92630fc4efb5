// Rollouts on the Python side.
#include <pybind11/stl.h>

#include "bindings/model_functions.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/stepping_arguments.hpp"
#include "engine/integrators.hpp"
#include "engine/rollout.hpp"

namespace pysim::bindings {

namespace {

using engine::Rollout;

void check_count(const Rollout& plan, const Leading& leading) {
  if (static_cast<std::ptrdiff_t>(plan.models.size()) == leading.states) return;
  throw std::invalid_argument("there are " + std::to_string(plan.models.size()) + " models for " +
                              std::to_string(leading.states) +
                              " worlds; pass one model for all, or a list with one for each");
}

/// Initial coordinates of the joints that close loops, world after world.
template <class Real>
std::vector<Real> loop_starts(const Rollout& plan) {
  std::vector<Real> rows;
  for (const Model* model : plan.models) {
    for (const double x : model->loop_start()) rows.push_back(static_cast<Real>(x));
  }
  return rows;
}

template <class Real>
py::tuple rollout(const Rollout& plan,
                  py::handle q0,
                  py::handle v0,
                  py::handle controls,
                  py::handle loop_q,
                  py::handle out_q,
                  py::handle out_v) {
  check(plan);
  check_threads(plan.threads);
  const Model& model = *plan.models[0];
  Call<Real> call(model, q0, "q0");
  call.set_v(v0, "v0");
  const std::ptrdiff_t states = call.leading().states;
  if (plan.models.size() > 1) check_count(plan, call.leading());
  if (is_given(controls)) call.set_x(controls, "controls", Shape{plan.steps, model.nv()});
  const py::array q = call.output(out_q, {plan.rows(), model.nq()}, "out[0]");
  const py::array v = call.output(out_v, {plan.rows(), model.nv()}, "out[1]");
  LoopCoordinates<Real> phi(loop_q, plan.has_one_model() ? call.loop_start() : loop_starts<Real>(plan));
  const auto& batch = call.batch();
  const engine::RolloutArrays<Real> arrays = {
      batch.q, batch.v, batch.x, phi.data(), numbers<Real>(q), numbers<Real>(v)};
  {
    const ReleasedGil nogil;
    engine::roll_out(plan, states, arrays, [] {
      const py::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
  }
  return py::make_tuple(q, v);
}

}  // namespace

void bind_rollout(py::module_& m) {
  m.def("rollout",
        [](const std::vector<const Model*>& models,
           const std::vector<const engine::ModelContacts*>& contacts,
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
          if (contacts.empty()) engine::integrator_named(integrator);
          const Rollout plan = {models,
                                contacts,
                                integrator,
                                engine::checked_radius(spectral_radius),
                                step,
                                steps,
                                every,
                                threads};
          return is_single(q0) ? rollout<float>(plan, q0, v0, controls, loop_q, out_q, out_v)
                               : rollout<double>(plan, q0, v0, controls, loop_q, out_q, out_v);
        });
}

}  // namespace pysim::bindings
