// Events on the Python side.
#include <pybind11/native_enum.h>

#include "bindings/fixed_shape_arrays.hpp"
#include "engine/contact_model.hpp"
#include "engine/events.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

using engine::Direction;
using engine::EventDescription;
using engine::Events;
using engine::ModelContacts;

namespace {

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

}  // namespace

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
      .def_static("gap",
                  &gap_event,
                  "pair"_a,
                  "point"_a,
                  "direction"_a,
                  "Gap of a pair of contacts [m]: of a point of its shape over a plane (of a mesh, point 0 "
                  "is the lowest vertex), or of its two shapes, point 0.");
  py::class_<Events>(
      m, "Events", "Events of one model; the first that occurs in a world ends its call of Worlds.advance.")
      .def(py::init<const tree::Model&, const std::vector<EventDescription>&, const ModelContacts*>(),
           py::keep_alive<1, 4>(),
           "model"_a,
           "descriptions"_a,
           "contacts"_a = nullptr,
           "The contacts are those of events of their gaps.")
      .def("__len__", &Events::size);
}

}  // namespace pysim::bindings
