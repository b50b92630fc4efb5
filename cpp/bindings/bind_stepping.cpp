// Prescribed forces, and functions of signals at states, on the Python side.
#include <algorithm>
#include <vector>

#include "bindings/released_gil.hpp"
#include "bindings/sensor_numbers.hpp"
#include "bindings/stepping_arguments.hpp"
#include "engine/integrators.hpp"
#include "engine/smooth_law.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

using engine::integrator_named;
using engine::ModelContacts;
using engine::SmoothLaw;

namespace {

/// Functions of the signals at states (states, …) with times of their own.
struct SignalCall {
  Call<double> call;
  SignalNumbers numbers;
  const Model& model;

  SignalCall(
      const Model& m, const Numbers& times, py::handle q, py::handle v, const SignalNumbers::Array& signals)
      : call(m, q), numbers(signals, m, call.leading().states), model(m) {
    call.set_v(v);
    if (times.size() != call.leading().states) throw std::invalid_argument("times must have shape (states,)");
    call.batch().times = times.data();
    call.batch().signals = numbers.data();
  }

  const tree::Signals& signals() const { return *model.signals(); }
};

const Model& stepped_here(const Model& model) {
  if (model.callback_numbers() == 0) return model;
  throw std::invalid_argument("a model with callback joints is stepped from Python, by pysim.simulate");
}

void update_signals(const Model& model,
                    py::handle q,
                    py::handle v,
                    double time,
                    std::uint64_t due,
                    const SignalNumbers::Array& signals,
                    const Actuation& actuation,
                    py::handle loop_q,
                    bool first,
                    const ModelContacts* contacts,
                    py::handle a,
                    py::handle f_ext,
                    int threads) {
  Call<double> call(stepped_here(model), q);
  LoopCoordinates<double> loops(loop_q, call.loop_start());
  SignalNumbers numbers(signals, model, call.leading().states);
  const stepping::Actuation forces = actuation.view(model);
  SmoothLaw law(contacts);
  call.set_v(v);
  call.set_measured(a, f_ext);
  engine::Batch<double>& batch = call.batch();
  batch.loop_q = batch.out_loop_q = loops.data();
  batch.actuation = &forces;
  batch.signals = numbers.data();
  batch.contact_forces = law.forces();
  batch.first = first;
  batch.time = time;
  batch.due = due;
  const ReleasedGil nogil;
  engine::run_batch<double>(&engine::StateKernels<double>::update_signals, model, batch, threads);
}

void measure_contacts(const Model& model,
                      py::handle q,
                      py::handle report,
                      const SignalNumbers::Array& signals,
                      const std::vector<SensorNumbers>& sensors,
                      const py::array_t<int, py::array::c_style>& shapes,
                      int threads) {
  Call<double> call(model, q);
  SignalNumbers numbers(signals, model, call.leading().states);
  const auto points = static_cast<int>(shapes.size());
  call.set_x(report, "report", {points, contact::ContactReport::numbers}, Values::any);
  const std::vector<engine::ContactSensor> records = sensor_records(sensors);
  std::vector<contact::SensorView> views;
  for (const engine::ContactSensor& sensor : records) views.push_back(sensor.view());
  const contact::MeasuredPoints measured = {
      points, shapes.data(), {static_cast<int>(views.size()), views.data()}};
  call.batch().measured = &measured;
  call.batch().signals = numbers.data();
  call.execute(&engine::StateKernels<double>::measure_contacts, threads);
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
  m.def("update_signals",
        &update_signals,
        "model"_a,
        "q"_a,
        "v"_a,
        "time"_a,
        "due"_a,
        "signals"_a.noconvert(),
        "actuation"_a,
        py::kw_only(),
        "loop_q"_a = py::none(),
        "first"_a = false,
        "contacts"_a = nullptr,
        "a"_a = py::none(),
        "f_ext"_a = py::none(),
        "threads"_a = 1,
        "Runs the sampled blocks of the model's signals that are due at a time (bit k: block k) on states "
        "(nq,) or (states, nq); signals (states, signal_numbers) is updated in place. At the first instant "
        "they read accelerations of 0, later those of the model's forces and its smooth contacts, or a (..., "
        "nv) and the wrenches f_ext (..., nbodies, 6) of loops and contacts.");
  m.def("measure_contacts",
        &measure_contacts,
        "model"_a,
        "q"_a,
        "report"_a,
        "signals"_a.noconvert(),
        "sensors"_a,
        "shapes"_a,
        py::kw_only(),
        "threads"_a = 1,
        "Sets the numbers of contact sensors, as set_contact_sensors takes them, among signals (states, "
        "signal_numbers), in place, from reports of contact points (states, points, 18); shapes (points,) "
        "has the pair of shapes of each.");
  m.def(
      "read_signals",
      [](const Model& model,
         const Numbers& times,
         py::handle q,
         py::handle v,
         py::handle a,
         SignalNumbers::Array signals,
         py::handle f_ext,
         int threads) {
        SignalCall run(model, times, q, v, signals);
        run.call.set_measured(a, f_ext);
        return run.call.run(&StateKernels<double>::read_signals, {run.signals().reading_count}, threads);
      },
      "model"_a,
      "times"_a,
      "q"_a,
      "v"_a,
      "a"_a,
      "signals"_a,
      "f_ext"_a = py::none(),
      py::kw_only(),
      "threads"_a = 1,
      "Returns every signal (states, readings) at times (states,) [s], states and accelerations (states, "
      "nv). f_ext (states, nbodies, 6) are wrenches of loops and contacts on the bodies.");
  m.def(
      "signal_forces",
      [](const Model& model,
         const Numbers& times,
         py::handle q,
         py::handle v,
         SignalNumbers::Array signals,
         int threads) {
        SignalCall run(model, times, q, v, signals);
        py::array rates = make_output<double>(run.call.leading(), {run.signals().states});
        run.call.batch().out_v = numbers<double>(rates);
        py::array forces = run.call.run(&StateKernels<double>::signal_forces, {model.nv()}, threads);
        return py::make_tuple(forces, rates);
      },
      "model"_a,
      "times"_a,
      "q"_a,
      "v"_a,
      "signals"_a,
      py::kw_only(),
      "threads"_a = 1,
      "Returns the generalised forces (states, nv) of the signals' actuators at times (states,) [s], and the "
      "rates (states, …) of the states of elements.");
  m.def("integrators", [] {
    py::list names;
    for (const char* name : engine::integrator_names) names.append(name);
    return names;
  });
}

}  // namespace pysim::bindings
