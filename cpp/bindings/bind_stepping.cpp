#include <pybind11/stl.h>

#include "bindings/calls.hpp"
#include "bindings/events.hpp"
#include "bindings/integrators.hpp"

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

/// Coordinates of the loops' joints, moved along in place; where the caller gives none, nobody sees them.
class LoopCoordinates {
 public:
  using Array = py::array_t<double, py::array::c_style>;

  LoopCoordinates(const Model& model, std::optional<Array>& given, const Call<double>& call) : given_(given) {
    const py::ssize_t count = call.leading().states * model.loop_nq();
    if (!given_) {
      own_ = call.loop_start();
    } else if (given_->size() != count || !given_->writeable()) {
      throw std::invalid_argument("loop_q must be writeable and have " + std::to_string(model.loop_nq()) +
                                  " numbers a state");
    }
  }

  double* data() { return given_ ? given_->mutable_data() : own_.data(); }

 private:
  std::optional<Array>& given_;
  std::vector<double> own_;
};

/// What an implicit scheme remembers, moved along in place; where the caller gives none, every run begins
/// anew.
class SchemeMemory {
 public:
  using Array = py::array_t<double, py::array::c_style>;

  SchemeMemory(std::optional<Array>& given, py::ssize_t numbers) : given_(given) {
    if (!given_) {
      own_.resize(static_cast<std::size_t>(numbers));
    } else if (given_->size() != numbers || !given_->writeable()) {
      throw std::invalid_argument("memory must be writeable and have " + std::to_string(numbers) +
                                  " numbers in all");
    }
  }

  /// Null where there is nothing to remember.
  double* data() {
    if (given_) return given_->size() == 0 ? nullptr : given_->mutable_data();
    return own_.empty() ? nullptr : own_.data();
  }

 private:
  std::optional<Array>& given_;
  std::vector<double> own_;
};

py::tuple advance(const Model& model,
                  py::handle q,
                  py::handle v,
                  double time,
                  double step,
                  py::ssize_t steps,
                  const std::string& integrator,
                  const Actuation& actuation,
                  std::optional<LoopCoordinates::Array> loop_q,
                  std::optional<SchemeMemory::Array> memory,
                  double spectral_radius,
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
  LoopCoordinates carried(model, loop_q, call);
  const auto forces = actuation.view(model);
  auto q1 = make_output<double>(call.leading(), {model.nq()});
  auto v1 = make_output<double>(call.leading(), {model.nv()});
  std::vector<std::ptrdiff_t> done(static_cast<std::size_t>(call.leading().states));

  engine::Batch<double>& batch = call.batch();
  batch.out = numbers<double>(q1);
  batch.out_v = numbers<double>(v1);
  batch.loop_q = batch.out_loop_q = carried.data();
  batch.actuation = &forces;
  batch.integrator = integrator_named(integrator);
  SchemeMemory remembered(memory,
                          call.leading().states * engine::memory_numbers(batch.integrator, model.nv()));
  batch.memory = remembered.data();
  batch.spectral_radius = checked_radius(spectral_radius);
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

/// Numbers of one coordinate of v each.
const double* tolerance(const Numbers& x, const Model& model, const char* name) {
  if (x.ndim() != 1 || x.shape(0) != model.nv()) {
    throw std::invalid_argument(std::string(name) + " must have shape (" + std::to_string(model.nv()) + ",)");
  }
  for (py::ssize_t i = 0; i < x.size(); ++i) {
    if (!(x.data()[i] > 0)) {
      throw std::invalid_argument(std::string(name) + " must be positive, got " +
                                  std::to_string(x.data()[i]));
    }
  }
  return x.data();
}

py::tuple advance_adaptive(const Model& model,
                           py::handle q,
                           py::handle v,
                           const Numbers& flight,
                           const Numbers& times,
                           const Numbers& rtol,
                           const Numbers& atol_q,
                           const Numbers& atol_v,
                           const Actuation& actuation,
                           const Events* events,
                           double longest,
                           py::ssize_t attempts,
                           std::optional<LoopCoordinates::Array> loop_q,
                           int threads) {
  if (model.callback_numbers() > 0) {
    throw std::invalid_argument("a model with callback joints takes steps of fixed size only");
  }
  if (!(longest > 0))
    throw std::invalid_argument("longest must be positive [s], got " + std::to_string(longest));
  if (threads < 0)
    throw std::invalid_argument("threads must be 0 (all) or more, got " + std::to_string(threads));
  if (times.ndim() != 1) throw std::invalid_argument("times must have shape (count,)");
  Call<double> call(model, q);
  call.set_v(v);
  const auto worlds = call.leading().states;
  engine::AdaptiveCall adaptive = {};
  if (events != nullptr) adaptive.events = events->view();
  const int carry = adaptive.flight_numbers();
  if (flight.ndim() != 2 || flight.shape(0) != worlds || flight.shape(1) != carry) {
    throw std::invalid_argument("flight must have shape (" + std::to_string(worlds) + ", " +
                                std::to_string(carry) + ")");
  }
  const auto forces = actuation.view(model);
  auto q_t = make_output<double>(call.leading(), {static_cast<int>(times.size()), model.nq()});
  auto v_t = make_output<double>(call.leading(), {static_cast<int>(times.size()), model.nv()});
  auto q1 = make_output<double>(call.leading(), {model.nq()});
  auto v1 = make_output<double>(call.leading(), {model.nv()});
  auto q_event = make_output<double>(call.leading(), {model.nq()});
  auto v_event = make_output<double>(call.leading(), {model.nv()});
  py::array_t<double> flown({worlds, py::ssize_t{carry}}, flight.data());
  LoopCoordinates loop_coordinates(model, loop_q, call);
  py::array_t<std::ptrdiff_t> record({worlds, py::ssize_t{6}});

  adaptive.tolerances = {
      tolerance(rtol, model, "rtol"), tolerance(atol_q, model, "atol_q"), tolerance(atol_v, model, "atol_v")};
  adaptive.times = times.data();
  adaptive.count = times.size();
  adaptive.attempts = attempts;
  adaptive.longest = longest;
  adaptive.flight = flown.mutable_data();
  adaptive.q = numbers<double>(q1);
  adaptive.v = numbers<double>(v1);
  adaptive.record = record.mutable_data();
  adaptive.event_q = numbers<double>(q_event);
  adaptive.event_v = numbers<double>(v_event);
  engine::Batch<double>& batch = call.batch();
  batch.out = numbers<double>(q_t);
  batch.out_v = numbers<double>(v_t);
  batch.actuation = &forces;
  batch.adaptive = &adaptive;
  if (events != nullptr) batch.extra_scratch = events->scratch(model);
  batch.loop_q = batch.out_loop_q = loop_coordinates.data();
  {
    const py::gil_scoped_release nogil;
    const auto& table = engine::kernels();
    engine::run_batch<double>(table.advance_adaptive, table.float64.width, model, batch, threads);
  }
  return py::make_tuple(q_t, v_t, q1, v1, flown, record, q_event, v_event);
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
  py::class_<Events>(m,
                     "Events",
                     "Functions of the state whose passing through 0 ends a call; a dict each of kind, "
                     "direction, index, point, normal, offset and program.")
      .def(py::init<const Model&, const std::vector<py::dict>&>(), "model"_a, "descriptions"_a)
      .def("__len__", &Events::size);
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
        "memory"_a.noconvert() = py::none(),
        "spectral_radius"_a = 0.9,
        "threads"_a = 1,
        "Makes equal steps and returns (q, v, done); done counts the steps whose state stayed finite and on "
        "its "
        "constraints, and a state that did not is returned as it last was. loop_q, the coordinates of the "
        "joints "
        "that close loops, are moved along in place; they are found anew where none are given. memory, "
        "(states, memory_numbers), is what an implicit scheme carries from call to call, in place; zeros "
        "begin.");
  m.def(
      "memory_numbers",
      [](const Model& model, const std::string& integrator) {
        return engine::memory_numbers(integrator_named(integrator), model.nv());
      },
      "model"_a,
      "integrator"_a,
      "Numbers a state that a scheme keeps from step to step: iterations, rejected steps, coordinate that "
      "converged "
      "worst, 1 where the last step failed, and its own; none for explicit schemes.");
  m.def(
      "advance_adaptive",
      &advance_adaptive,
      "model"_a,
      "q"_a,
      "v"_a,
      "flight"_a,
      "times"_a,
      "rtol"_a,
      "atol_q"_a,
      "atol_v"_a,
      "actuation"_a,
      py::kw_only(),
      "events"_a = nullptr,
      "longest"_a = std::numeric_limits<double>::infinity(),
      "attempts"_a = 10000,
      "loop_q"_a.noconvert() = py::none(),
      "threads"_a = 1,
      "Steps of Dormand and Prince through `times`. Returns (q, v) at the times, (q, v, flight) for the next "
      "call, the record: reached, accepted, rejected, worst coordinate, status (0 not done, 1 done, 2 the "
      "step grew too short, 3 an event), event (−1: none) of each state, and (q, v) at the event, which are "
      "of no meaning without one. A flight is (time, step, last error, growth); (t, 0, 1e-4, 10) begins. "
      "With "
      "events it has the time up to which they were seen, that of the event that ended the call, and the "
      "sign "
      "of each; (…, −inf, NaN …) begins.");
  m.def("integrators", [] {
    py::list names;
    for (const char* name : engine::integrator_names) names.append(name);
    return names;
  });
}

}  // namespace pysim::bindings
