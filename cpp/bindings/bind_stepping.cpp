#include <pybind11/stl.h>

#include "bindings/calls.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Prescribed forces, kept with the model they belong to: each array (nv,).
struct Actuation {
  Numbers offset, amplitude, frequency, phase;

  stepping::Actuation view(const Model& model) const {
    for (const auto* a : {&offset, &amplitude, &frequency, &phase}) {
      if (a->ndim() != 1 || a->shape(0) != model.nv()) {
        throw std::invalid_argument("actuation must have shape (" + std::to_string(model.nv()) + ",)");
      }
    }
    return {offset.data(), amplitude.data(), frequency.data(), phase.data()};
  }
};

engine::Integrator integrator_named(const std::string& name) {
  if (name == "semi_implicit") return engine::Integrator::semi_implicit;
  if (name == "rk4") return engine::Integrator::rk4;
  throw std::invalid_argument("integrator '" + name + "' is unknown; choose semi_implicit or rk4");
}

/// Coordinates that are read and written in place.
using Carried = py::array_t<double, py::array::c_style>;

const double* carried_loop_q(const Model& model, const Carried& loop_q, py::ssize_t states) {
  if (loop_q.size() != states * model.loop_nq() || !loop_q.writeable()) {
    throw std::invalid_argument("loop_q must be writeable and have " + std::to_string(model.loop_nq()) +
                                " numbers a state");
  }
  return loop_q.data();
}

py::tuple advance(const Model& model,
                  py::handle q,
                  py::handle v,
                  double time,
                  double step,
                  py::ssize_t steps,
                  const std::string& integrator,
                  const Actuation& actuation,
                  std::optional<Carried> loop_q,
                  int threads) {
  if (model.callback_numbers() > 0) {
    throw std::invalid_argument("a model with callback joints is stepped from Python, by pysim.simulate");
  }
  if (!(step > 0)) throw std::invalid_argument("step must be positive [s], got " + std::to_string(step));
  if (!std::isfinite(time))
    throw std::invalid_argument("time must be finite [s], got " + std::to_string(time));
  if (threads < 0)
    throw std::invalid_argument("threads must be 0 (all) or more, got " + std::to_string(threads));
  if (steps < 0) throw std::invalid_argument("steps must be 0 or more, got " + std::to_string(steps));
  Call<double> call(model, q);
  call.set_v(v);
  call.set_loop_q(py::none());
  if (loop_q) call.batch().loop_q = carried_loop_q(model, *loop_q, call.leading().states);
  std::vector<double> lost;
  if (!loop_q) lost.resize(static_cast<std::size_t>(call.leading().states * model.loop_nq()));
  const auto forces = actuation.view(model);
  auto q1 = make_output<double>(call.leading(), {model.nq()});
  auto v1 = make_output<double>(call.leading(), {model.nv()});
  std::vector<std::ptrdiff_t> done(static_cast<std::size_t>(call.leading().states));

  engine::Batch<double>& batch = call.batch();
  batch.out = numbers<double>(q1);
  batch.out_v = numbers<double>(v1);
  batch.out_loop_q = loop_q ? loop_q->mutable_data() : lost.data();
  batch.actuation = &forces;
  batch.integrator = integrator_named(integrator);
  batch.time = time;
  batch.step = step;
  batch.steps = steps;
  batch.done = done.data();
  {
    const py::gil_scoped_release nogil;
    const auto& table = engine::kernels();
    engine::run_batch<double>(table.advance, table.float64.width, model, batch, threads);
  }
  if (!call.leading().batched) return py::make_tuple(q1, v1, done.front());
  return py::make_tuple(q1, v1, py::array_t<std::ptrdiff_t>(call.leading().states, done.data()));
}

}  // namespace

void bind_stepping(py::module_& m) {
  py::class_<Actuation>(m,
                        "Actuation",
                        "Generalised forces offset + amplitude sin(frequency t + phase), arrays of (nv,) in "
                        "[N or N·m], [rad/s] and [rad].")
      .def(
          py::init<Numbers, Numbers, Numbers, Numbers>(), "offset"_a, "amplitude"_a, "frequency"_a, "phase"_a)
      .def_readonly("offset", &Actuation::offset)
      .def_readonly("amplitude", &Actuation::amplitude)
      .def_readonly("frequency", &Actuation::frequency)
      .def_readonly("phase", &Actuation::phase);
  m.def("advance",
        &advance,
        "model"_a,
        "q"_a,
        "v"_a,
        "time"_a,
        "step"_a,
        "steps"_a,
        "integrator"_a,
        "actuation"_a,
        py::kw_only(),
        "loop_q"_a.noconvert() = py::none(),
        "threads"_a = 1,
        "Makes equal steps and returns (q, v, done); done counts the steps whose state stayed finite and on "
        "its "
        "constraints, and a state that did not is returned as it last was. loop_q, the coordinates of the "
        "joints "
        "that close loops, are moved along in place; they are found anew where none are given.");
}

}  // namespace pysim::bindings
