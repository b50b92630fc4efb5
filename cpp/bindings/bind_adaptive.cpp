// Adaptive steps and their events on the Python side.
#include <pybind11/native_enum.h>

#include "bindings/contacts.hpp"
#include "bindings/events.hpp"
#include "bindings/immutable_record.hpp"
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

/// State that worlds carry from call to call: one row of numbers per world, see engine::AdaptiveCall.
class AdaptiveState {
 public:
  using Call = engine::AdaptiveCall;

  AdaptiveState(py::ssize_t worlds, int events, double time, double step)
      : events_(events), numbers_({worlds, py::ssize_t{Call::state_numbers(events)}}) {
    double* row = numbers_.mutable_data();
    for (py::ssize_t k = 0; k < worlds; ++k, row += Call::state_numbers(events)) {
      row[Call::time] = time;
      row[Call::step_size] = step;
      row[Call::last_error] = 1e-4;
      row[Call::growth] = 10;
      if (events == 0) continue;
      row[Call::seen] = -std::numeric_limits<double>::infinity();
      std::fill_n(row + Call::signs, events, std::numeric_limits<double>::quiet_NaN());
    }
  }

  py::ssize_t worlds() const { return numbers_.shape(0); }
  int events() const { return events_; }
  double* data() { return numbers_.mutable_data(); }
  const Numbers& numbers() const { return numbers_; }

  AdaptiveState copy() const {
    AdaptiveState other = *this;
    other.numbers_ = Numbers(numbers_.attr("copy")());
    return other;
  }

  /// One number per world.
  Numbers column(Call::Place place) const {
    return numbers_[py::make_tuple(py::ellipsis(), int{place})].cast<Numbers>();
  }

  /// The sign of every event in every world.
  Numbers signs() const {
    const py::slice last(Call::signs, Call::signs + events_, 1);
    return numbers_[py::make_tuple(py::ellipsis(), last)].cast<Numbers>();
  }

  void check(py::ssize_t worlds, int events) const {
    if (worlds == this->worlds() && events == events_) return;
    const auto describe_size = [](py::ssize_t w, int e) {
      return std::to_string(w) + " worlds and " + std::to_string(e) + " events";
    };
    throw std::invalid_argument("state must be for " + describe_size(worlds, events) + ", got " +
                                describe_size(this->worlds(), events_));
  }

 private:
  int events_;
  Numbers numbers_;
};

/// States at the requested times, the start of the next call, and the record of every world.
struct AdaptiveRun {
  py::array q_at, v_at, q, v, event_q, event_v;
  AdaptiveState state;
  std::vector<engine::AdaptiveRecord> records;
  py::array signals_at = py::array_t<double>(), event_signals = py::array_t<double>();
};

AdaptiveRun advance_adaptive(const Model& model,
                             py::handle q,
                             py::handle v,
                             const AdaptiveState& state,
                             const Numbers& times,
                             const Numbers& rtol,
                             const Numbers& atol_q,
                             const Numbers& atol_v,
                             const Actuation& actuation,
                             const Events* events,
                             double longest,
                             double limit,
                             py::ssize_t attempts,
                             py::handle loop_q,
                             const std::optional<SignalNumbers::Array>& signals,
                             const ModelContacts* contacts,
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
  state.check(worlds, events == nullptr ? 0 : events->size());
  const auto forces = actuation.view(model);
  const auto make = [&](const Shape& row) { return make_output<double>(call.leading(), row); };
  AdaptiveRun run = {make({times.size(), model.nq()}),
                     make({times.size(), model.nv()}),
                     make({model.nq()}),
                     make({model.nv()}),
                     make({model.nq()}),
                     make({model.nv()}),
                     state.copy(),
                     std::vector<engine::AdaptiveRecord>(static_cast<std::size_t>(worlds))};
  LoopCoordinates<double> loop_coordinates(loop_q, call.loop_start());

  engine::AdaptiveCall adaptive = {};
  adaptive.tolerances = {
      tolerance(rtol, model, "rtol"), tolerance(atol_q, model, "atol_q"), tolerance(atol_v, model, "atol_v")};
  if (events != nullptr) adaptive.events = events->view();
  adaptive.times = times.data();
  adaptive.count = times.size();
  adaptive.attempts = attempts;
  adaptive.longest = longest;
  adaptive.limit = limit;
  adaptive.state = run.state.data();
  adaptive.q = numbers<double>(run.q);
  adaptive.v = numbers<double>(run.v);
  adaptive.record = run.records.data();
  adaptive.event_q = numbers<double>(run.event_q);
  adaptive.event_v = numbers<double>(run.event_v);
  engine::Batch<double>& batch = call.batch();
  batch.out = numbers<double>(run.q_at);
  batch.out_v = numbers<double>(run.v_at);
  batch.actuation = &forces;
  batch.adaptive = &adaptive;
  SignalNumbers signal_numbers(signals, model, worlds);
  batch.signals = signal_numbers.data();
  const SmoothLaw smooth(contacts);
  batch.contact_forces = smooth.forces();
  if (signals) {
    run.signals_at = make({times.size(), model.signals()->states});
    adaptive.signals_at = numbers<double>(run.signals_at);
    run.event_signals = make({model.signals()->states});
    adaptive.event_signals = numbers<double>(run.event_signals);
  }
  batch.loop_q = batch.out_loop_q = loop_coordinates.data();
  {
    const ReleasedGil nogil;
    engine::run_batch<double>(&engine::StateKernels<double>::advance_adaptive, model, batch, threads);
  }
  return run;
}

using stepping::EventKind;

EventDescription coordinate_event(int index, double offset, Direction direction) {
  return {{EventKind::coordinate, static_cast<int>(direction), index, 0, {}, {}, offset}, {}};
}

EventDescription plane_event(
    int body, const Numbers& point, const Numbers& normal, double offset, Direction direction) {
  EventDescription d = {{EventKind::plane, static_cast<int>(direction), body, 0, {}, {}, offset}, {}};
  copy_numbers(point, "point", {3}, d.event.position);
  copy_numbers(normal, "normal", {3}, d.event.normal);
  return d;
}

EventDescription program_event(const tree::ProgramDescription& program, Direction direction) {
  return {{EventKind::program, static_cast<int>(direction), 0, 0, {}, {}, 0}, program};
}

EventDescription gap_event(int pair, int point, Direction direction) {
  return {{EventKind::gap, static_cast<int>(direction), pair, point, {}, {}, 0}, {}};
}

void bind_events(py::module_& m) {
  py::native_enum<Direction>(
      m, "Direction", "enum.Enum", "Direction of the sign change that triggers an event.")
      .value("falling", Direction::falling)
      .value("both", Direction::both)
      .value("rising", Direction::rising)
      .finalize();
  py::class_<EventDescription>(
      m, "EventDescription", "Function of the state whose zero crossings are events.")
      .def_static("coordinate",
                  &coordinate_event,
                  "index"_a,
                  "offset"_a,
                  "direction"_a,
                  "A coordinate of q minus the offset.")
      .def_static("plane",
                  &plane_event,
                  "body"_a,
                  "point"_a,
                  "normal"_a,
                  "offset"_a,
                  "direction"_a,
                  "Position of a body's point (-1: the world) along the normal, minus the offset [m].")
      .def_static(
          "program", &program_event, "program"_a, "direction"_a, "Value of a traced program at q and v.")
      .def_static(
          "gap",
          &gap_event,
          "pair"_a,
          "point"_a,
          "direction"_a,
          "Gap of a pair of contacts [m]: of a point of its shape over a plane (of a mesh, point 0 is "
          "the lowest vertex), or of its two shapes, point 0.");
  py::class_<Events>(
      m, "Events", "Events of one model; the first that occurs ends a call of advance_adaptive.")
      .def(py::init<const Model&, const std::vector<EventDescription>&, const ModelContacts*>(),
           py::keep_alive<1, 4>(),
           "model"_a,
           "descriptions"_a,
           "contacts"_a = nullptr,
           "The contacts are those of events of their gaps.")
      .def("__len__", &Events::size);
}

void bind_state(py::module_& m) {
  using Place = engine::AdaptiveCall::Place;
  using engine::AdaptiveRecord;
  using stepping::AdaptiveStatus;
  py::native_enum<AdaptiveStatus>(
      m, "AdaptiveStatus", "enum.Enum", "Reason for which a call of advance_adaptive ended.")
      .value("running", AdaptiveStatus::running)
      .value("reached", AdaptiveStatus::reached)
      .value("underflow", AdaptiveStatus::underflow)
      .value("event", AdaptiveStatus::event)
      .value("blurred", AdaptiveStatus::blurred)
      .finalize();
  const auto column = [](Place place) {
    return [place](const AdaptiveState& state) { return state.column(place); };
  };
  py::class_<AdaptiveState>(
      m, "AdaptiveState", "State carried between calls of advance_adaptive; a step of 0 is chosen anew.")
      .def(py::init<py::ssize_t, int, double, double>(),
           "worlds"_a = 1,
           "events"_a = 0,
           "time"_a = 0.0,
           "step"_a = 0.0)
      .def_property_readonly("time", column(Place::time), "(worlds,) [s].")
      .def_property_readonly("step", column(Place::step_size), "The next step (worlds,) [s].")
      .def_property_readonly("last_error",
                             column(Place::last_error),
                             "Error of the last accepted step (worlds,), at least 1e-4.")
      .def_property_readonly("growth", column(Place::growth), "Largest factor of the next step (worlds,).")
      .def_property_readonly("seen",
                             column(Place::seen),
                             "Time up to which events were reported (worlds,) [s]; requires events.")
      .def_property_readonly("signs", &AdaptiveState::signs, "Sign of every event (worlds, events).")
      .def_property_readonly("numbers",
                             &AdaptiveState::numbers,
                             "All of these (worlds, numbers); written numbers set the state.");
  py::class_<AdaptiveRecord> record(m, "AdaptiveRecord", "Record of one world in a call.");
  using Count = std::ptrdiff_t;
  record
      .def(py::init<Count, Count, Count, Count, AdaptiveStatus, Count>(),
           "reached"_a,
           "accepted"_a,
           "rejected"_a,
           "worst"_a,
           "status"_a,
           "event"_a)
      .def_readonly("reached", &AdaptiveRecord::reached, "Number of times that were reached.")
      .def_readonly("accepted", &AdaptiveRecord::accepted, "Steps.")
      .def_readonly("rejected", &AdaptiveRecord::rejected, "Steps.")
      .def_readonly(
          "worst", &AdaptiveRecord::worst, "Coordinate of v with the largest error of the last step.")
      .def_readonly("status", &AdaptiveRecord::status)
      .def_readonly("event", &AdaptiveRecord::event, "The event that ended the call; -1 for none.");
  define_record(record, "reached", "accepted", "rejected", "worst", "status", "event");
  py::class_<AdaptiveRun>(
      m, "AdaptiveRun", "Result of a call; event_q and event_v are undefined without an event.")
      .def_readonly("q_at", &AdaptiveRun::q_at, "q at the times (…, count, nq).")
      .def_readonly("v_at", &AdaptiveRun::v_at, "v at the times (…, count, nv).")
      .def_readonly("q", &AdaptiveRun::q, "q for the next call (…, nq), to be passed with v and state.")
      .def_readonly("v", &AdaptiveRun::v, "(…, nv)")
      .def_readonly("state", &AdaptiveRun::state)
      .def_readonly("records", &AdaptiveRun::records, "One a world.")
      .def_readonly("event_signals", &AdaptiveRun::event_signals, "States of elements at the event.")
      .def_readonly("signals_at", &AdaptiveRun::signals_at, "States of elements at the times.")
      .def_readonly("event_q", &AdaptiveRun::event_q, "q at the event (…, nq).")
      .def_readonly("event_v", &AdaptiveRun::event_v, "v at the event (…, nv).");
}

}  // namespace

void bind_adaptive(py::module_& m) {
  bind_events(m);
  bind_state(m);
  m.def("advance_adaptive",
        &advance_adaptive,
        "model"_a,
        "q"_a,
        "v"_a,
        "state"_a,
        "times"_a,
        "rtol"_a,
        "atol_q"_a,
        "atol_v"_a,
        "actuation"_a,
        py::kw_only(),
        "events"_a = nullptr,
        "longest"_a = std::numeric_limits<double>::infinity(),
        "limit"_a = std::numeric_limits<double>::infinity(),
        "attempts"_a = 10000,
        "loop_q"_a = py::none(),
        "signals"_a.noconvert() = py::none(),
        "contacts"_a = nullptr,
        "threads"_a = 1,
        "Advance q and v through the times by adaptive steps of Dormand and Prince.");
}

}  // namespace pysim::bindings
