#include <pybind11/native_enum.h>

#include "bindings/events.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/stepping_arguments.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

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
                           py::handle loop_q,
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
  LoopCoordinates<double> loop_coordinates(loop_q, call.loop_start());
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
    const ReleasedGil nogil;
    engine::run_batch<double>(&engine::StateKernels<double>::advance_adaptive, model, batch, threads);
  }
  return py::make_tuple(q_t, v_t, q1, v1, flown, record, q_event, v_event);
}

using stepping::EventKind;

EventDescription coordinate_event(int index, double offset, Direction direction) {
  return {{EventKind::coordinate, static_cast<int>(direction), index, {}, {}, offset}, {}};
}

EventDescription plane_event(
    int body, const Numbers& point, const Numbers& normal, double offset, Direction direction) {
  EventDescription d = {{EventKind::plane, static_cast<int>(direction), body, {}, {}, offset}, {}};
  copy_numbers(point, "point", {3}, d.event.point);
  copy_numbers(normal, "normal", {3}, d.event.normal);
  return d;
}

EventDescription program_event(const tree::ProgramDescription& program, Direction direction) {
  return {{EventKind::program, static_cast<int>(direction), 0, {}, {}, 0}, program};
}

void bind_events(py::module_& m) {
  py::native_enum<Direction>(m, "Direction", "enum.Enum", "Which change of an event's sign counts.")
      .value("falling", Direction::falling)
      .value("both", Direction::both)
      .value("rising", Direction::rising)
      .finalize();
  py::class_<EventDescription>(
      m, "EventDescription", "A function of the state whose passing through 0 counts.")
      .def_static("coordinate",
                  &coordinate_event,
                  "index"_a,
                  "offset"_a,
                  "direction"_a,
                  "A number of q less the offset.")
      .def_static("plane",
                  &plane_event,
                  "body"_a,
                  "point"_a,
                  "normal"_a,
                  "offset"_a,
                  "direction"_a,
                  "How far a point of a body (-1 is the world) lies along the normal, less the offset [m].")
      .def_static(
          "program", &program_event, "program"_a, "direction"_a, "What a traced program gives for q and v.");
  py::class_<Events>(m, "Events", "Events of one model, one of which ends a call of advance_adaptive.")
      .def(py::init<const Model&, const std::vector<EventDescription>&>(), "model"_a, "descriptions"_a)
      .def("__len__", &Events::size);
}

}  // namespace

void bind_adaptive(py::module_& m) {
  bind_events(m);
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
      "loop_q"_a = py::none(),
      "threads"_a = 1,
      "Steps of Dormand and Prince through `times`. Returns (q, v) at the times, (q, v, flight) for the next "
      "call, the record: reached, accepted, rejected, worst coordinate, status (0 not done, 1 done, 2 the "
      "step grew too short, 3 an event), event (−1: none) of each state, and (q, v) at the event, which are "
      "of no meaning without one. A flight is (time, step, last error, growth); (t, 0, 1e-4, 10) begins. "
      "With "
      "events it has the time up to which they were seen, that of the event that ended the call, and the "
      "sign "
      "of each; (…, −inf, NaN …) begins.");
}

}  // namespace pysim::bindings
