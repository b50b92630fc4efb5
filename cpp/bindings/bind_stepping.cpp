// Steps of fixed size on the Python side: equal steps of many states, and consecutive intervals of one.
#include <algorithm>
#include <vector>

#include "bindings/contacts.hpp"
#include "bindings/integrators.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/stepping_arguments.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

/// Equal steps of size `step` from `time` [s].
struct Interval {
  double time, step;
  py::ssize_t steps;

  Interval(double t, double h, py::ssize_t n) : time(t), step(h), steps(n) {
    if (!(step > 0)) throw std::invalid_argument("step must be positive [s], got " + std::to_string(step));
    if (!std::isfinite(time)) {
      throw std::invalid_argument("time must be finite [s], got " + std::to_string(time));
    }
    if (steps < 0) throw std::invalid_argument("steps must be 0 or more, got " + std::to_string(steps));
  }
};

/// States that one scheme advances under constant actuation.
class FixedRun {
 public:
  FixedRun(const Model& model,
           py::handle q,
           py::handle v,
           const std::string& integrator,
           const Actuation& actuation,
           py::handle loop_q,
           std::optional<SchemeMemory::Array>& memory,
           const std::optional<SignalNumbers::Array>& signals,
           const ModelContacts* contacts,
           double spectral_radius)
      : model_(stepped_here(model)),
        call_(model, q),
        loop_q_(loop_q, call_.loop_start()),
        forces_(actuation.view(model)),
        integrator_(integrator_named(integrator)),
        memory_(memory,
                call_.leading().states * engine::solver_numbers(integrator_, model.nv(), model.rows())),
        signals_(signals, model, call_.leading().states),
        contacts_(contacts) {
    call_.set_v(v);
    engine::Batch<double>& batch = call_.batch();
    batch.loop_q = batch.out_loop_q = loop_q_.data();
    batch.actuation = &forces_;
    batch.integrator = integrator_;
    batch.memory = memory_.data();
    batch.signals = signals_.data();
    batch.contact_forces = contacts_.forces();
    batch.spectral_radius = checked_radius(spectral_radius);
  }

  const Leading& leading() const { return call_.leading(); }

  /// Advances the states over an interval and writes the result to `q` and `v`.
  void advance(const Interval& interval, double* q, double* v, std::ptrdiff_t* done, int threads) {
    engine::Batch<double>& batch = call_.batch();
    batch.out = q;
    batch.out_v = v;
    batch.time = interval.time;
    batch.step = interval.step;
    batch.steps = interval.steps;
    batch.done = done;
    engine::run_batch<double>(&engine::StateKernels<double>::advance, model_, batch, threads);
    batch.q = q;
    batch.v = v;
    batch.jumped = false;
  }

  /// The held numbers of the signals have changed since the last step.
  void jump() { call_.batch().jumped = true; }

  /// Runs the sampled blocks of `due` at the states reached.
  /// Accelerations (states, nv) and wrenches (states, nbodies, 6) that the signals read, None for the
  /// system's.
  void measure(py::handle a, py::handle f_ext) {
    if (!a.is_none()) call_.set_x(a, "a", model_.nv());
    if (!f_ext.is_none()) call_.set_f_ext(f_ext);
  }

  void update(double time, std::uint64_t due, bool first, int threads) {
    engine::Batch<double>& batch = call_.batch();
    batch.first = first;
    batch.time = time;
    batch.due = due;
    engine::run_batch<double>(&engine::StateKernels<double>::update_signals, model_, batch, threads);
    jump();
  }

 private:
  static const Model& stepped_here(const Model& model) {
    if (model.callback_numbers() == 0) return model;
    throw std::invalid_argument("a model with callback joints is stepped from Python, by pysim.simulate");
  }

  const Model& model_;
  Call<double> call_;
  LoopCoordinates<double> loop_q_;
  stepping::Actuation forces_;
  engine::Integrator integrator_;
  SchemeMemory memory_;
  SignalNumbers signals_;
  SmoothLaw contacts_;
};

/// Functions of the signals at states (states, …) with times of their own.
struct SignalCall {
  Call<double> call;
  SignalNumbers numbers;
  const Model& model;

  SignalCall(
      const Model& m, const Numbers& times, py::handle q, py::handle v, const SignalNumbers::Array& given)
      : call(m, q), numbers(given, m, call.leading().states), model(m) {
    call.set_v(v);
    if (times.size() != call.leading().states) throw std::invalid_argument("times must have shape (states,)");
    call.batch().times = times.data();
    call.batch().signals = numbers.data();
  }

  const tree::Signals& signals() const { return *model.signals(); }
};

py::tuple advance(const Model& model,
                  py::handle q,
                  py::handle v,
                  double time,
                  double step,
                  py::ssize_t steps,
                  const std::string& integrator,
                  const Actuation& actuation,
                  py::handle loop_q,
                  std::optional<SchemeMemory::Array> memory,
                  const std::optional<SignalNumbers::Array>& signals,
                  bool jumped,
                  const ModelContacts* contacts,
                  double spectral_radius,
                  int threads) {
  const Interval interval(time, step, steps);
  if (threads < 0)
    throw std::invalid_argument("threads must be 0 (all) or more, got " + std::to_string(threads));
  FixedRun run(model, q, v, integrator, actuation, loop_q, memory, signals, contacts, spectral_radius);
  if (jumped) run.jump();
  auto q1 = make_output<double>(run.leading(), {model.nq()});
  auto v1 = make_output<double>(run.leading(), {model.nv()});
  std::vector<std::ptrdiff_t> done(static_cast<std::size_t>(run.leading().states));
  {
    const ReleasedGil nogil;
    run.advance(interval, numbers<double>(q1), numbers<double>(v1), done.data(), threads);
  }
  if (!run.leading().batched) return py::make_tuple(q1, v1, done.front());
  return py::make_tuple(q1, v1, py::array_t<std::ptrdiff_t>(run.leading().states, done.data()));
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
  m.def(
      "advance",
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
      "loop_q"_a = py::none(),
      "memory"_a.noconvert() = py::none(),
      "signals"_a.noconvert() = py::none(),
      "jumped"_a = false,
      "contacts"_a = nullptr,
      "spectral_radius"_a = 0.9,
      "threads"_a = 1,
      "Makes equal steps and returns (q, v, done). done counts the steps whose state is finite and "
      "satisfies the constraints; a state that fails is returned as it was before the failed step. loop_q, "
      "the coordinates of the joints that close loops, is updated in place; without it they are fitted "
      "anew. memory, (states, memory_numbers), is the state that an implicit scheme carries from call to "
      "call, updated in place; it starts with zeros. signals, (states, signal_numbers), is the state of the "
      "model's signals, updated in place; without it they do not act. jumped: their held numbers have "
      "changed since the last step. contacts act as smooth forces.");
  m.def(
      "update_signals",
      [](const Model& model,
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
        std::optional<SchemeMemory::Array> none;
        FixedRun run(model, q, v, "semi_implicit", actuation, loop_q, none, signals, contacts, 0.9);
        run.measure(a, f_ext);
        const ReleasedGil nogil;
        run.update(time, due, first, threads);
      },
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
      "nv) "
      "and the wrenches f_ext (..., nbodies, 6) of loops and contacts.");
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
        run.call.set_x(a, "a", model.nv());
        if (!f_ext.is_none()) run.call.set_f_ext(f_ext);
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
  m.def(
      "memory_numbers",
      [](const Model& model, const std::string& integrator) {
        return engine::solver_numbers(integrator_named(integrator), model.nv(), model.rows());
      },
      "model"_a,
      "integrator"_a,
      "Numbers that a scheme carries from step to step, per state: iterations, rejected steps, the "
      "coordinate with the largest residual, 1 if the last step failed, and the scheme's own numbers; "
      "none for explicit schemes.");
  m.def("integrators", [] {
    py::list names;
    for (const char* name : engine::integrator_names) names.append(name);
    return names;
  });
}

}  // namespace pysim::bindings
