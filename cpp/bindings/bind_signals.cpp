// Descriptions of the signals of a scene.
#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <utility>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/immutable_record.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using tree::ElementKind;
using tree::ProgramDescription;
using PathPoint = tree::PathPoint<double>;

namespace {

tree::PortDescription make_port(std::string name,
                                ElementKind kind,
                                int a,
                                int b,
                                const Numbers& at_a,
                                const Numbers& at_b,
                                std::vector<PathPoint> points) {
  tree::PortDescription port = {std::move(name), kind, a, b, {}, {}, std::move(points)};
  pack_pose(at_a, "at_a", port.at_a);
  pack_pose(at_b, "at_b", port.at_b);
  return port;
}

using Input = std::tuple<tree::SignalSource, int, int>;
using Slope = std::tuple<int, tree::SignalMotion, int>;
using SignalCalls = std::vector<std::tuple<tree::SignalCallKind, int, std::vector<int>>>;

std::vector<Slope> listed(const std::vector<tree::SignalSlope>& slopes) {
  std::vector<Slope> found;
  for (const auto& slope : slopes) found.emplace_back(slope.row, slope.along, slope.index);
  return found;
}

tree::SignalProgramDescription make_signal_program(ProgramDescription program,
                                                   int input_registers,
                                                   const std::vector<Input>& inputs,
                                                   const SignalCalls& calls,
                                                   std::vector<int> places) {
  tree::SignalProgramDescription own = {std::move(program), input_registers, {}, {}, std::move(places)};
  for (const auto& [source, index, to] : inputs) own.inputs.push_back({source, index, to});
  for (const auto& [kind, to, arguments] : calls) own.calls.push_back({kind, to, arguments});
  return own;
}

tree::SignalsDescription make_signals(int states,
                                      int held,
                                      std::optional<tree::SignalProgramDescription> forces,
                                      std::optional<tree::SignalProgramDescription> slopes,
                                      std::optional<tree::SignalProgramDescription> readings,
                                      std::vector<int> coordinates,
                                      const std::vector<Slope>& slope_places,
                                      std::vector<tree::PortDescription> ports,
                                      int driven,
                                      std::vector<tree::SignalProgramDescription> blocks,
                                      int integrals,
                                      std::vector<int> bounded,
                                      const std::vector<Slope>& bounded_slope_places) {
  tree::SignalsDescription own = {states,
                                  held,
                                  std::move(forces),
                                  std::move(slopes),
                                  std::move(readings),
                                  std::move(coordinates),
                                  {},
                                  std::move(ports),
                                  driven,
                                  std::move(blocks),
                                  integrals,
                                  std::move(bounded),
                                  {}};
  for (const auto& [row, along, index] : slope_places) own.slope_places.push_back({row, along, index});
  for (const auto& [row, along, index] : bounded_slope_places) {
    own.bounded_slope_places.push_back({row, along, index});
  }
  return own;
}

void bind_signal_enums(py::module_& m) {
  py::native_enum<tree::SignalSource>(
      m, "SignalSource", "enum.Enum", "Origin of a number that a program of signals reads.")
      .value("time", tree::SignalSource::time)
      .value("q", tree::SignalSource::q)
      .value("v", tree::SignalSource::v)
      .value("state", tree::SignalSource::state)
      .value("port", tree::SignalSource::port)
      .value("mean_v", tree::SignalSource::mean_v)
      .value("mean_port", tree::SignalSource::mean_port)
      .value("acceleration", tree::SignalSource::acceleration)
      .value("port_acceleration", tree::SignalSource::port_acceleration)
      .value("reaction", tree::SignalSource::reaction)
      .finalize();
  py::native_enum<tree::SignalMotion>(
      m, "SignalMotion", "enum.Enum", "Motion of the inputs along which a slope is taken.")
      .value("state", tree::SignalMotion::state)
      .value("q", tree::SignalMotion::q)
      .value("v", tree::SignalMotion::v)
      .value("port_position", tree::SignalMotion::port_position)
      .value("port_rate", tree::SignalMotion::port_rate)
      .finalize();
  py::native_enum<tree::SignalCallKind>(
      m, "SignalCallKind", "enum.Enum", "Inverse dynamics that a program of signals uses.")
      .value("gravity", tree::SignalCallKind::gravity)
      .value("inverse", tree::SignalCallKind::inverse)
      .value("inverse_at", tree::SignalCallKind::inverse_at)
      .finalize();
}

void describe_signals(py::module_& m) {
  bind_signal_enums(m);
  py::class_<tree::PortDescription> port(
      m, "PortDescription", "Two frames, or a path, that signals measure or drive.");
  define_record(port,
                py::init(&make_port),
                "name"_a,
                "kind"_a,
                "a"_a = -1,
                "b"_a = -1,
                "at_a"_a = identity(),
                "at_b"_a = identity(),
                "points"_a = std::vector<PathPoint>());
  port.def_readonly("name", &tree::PortDescription::name)
      .def_readonly("kind", &tree::PortDescription::kind)
      .def_readonly("a", &tree::PortDescription::a)
      .def_readonly("b", &tree::PortDescription::b)
      .def_property_readonly("at_a", [](const tree::PortDescription& d) { return pose_matrix(d.at_a); })
      .def_property_readonly("at_b", [](const tree::PortDescription& d) { return pose_matrix(d.at_b); })
      .def_readonly("points", &tree::PortDescription::points);

  using Program = tree::SignalProgramDescription;
  py::class_<Program> program(m,
                              "SignalProgram",
                              "Program of signals. inputs: (origin, index, register); calls of inverse "
                              "dynamics between its parts: (kind, first register of the results, registers "
                              "of the accelerations); places of its outputs in the state.");
  define_record(program,
                py::init(&make_signal_program),
                "program"_a,
                "input_registers"_a,
                "inputs"_a,
                "calls"_a = SignalCalls(),
                "places"_a = std::vector<int>());
  program.def_readonly("program", &Program::program)
      .def_readonly("input_registers", &Program::input_registers)
      .def_property_readonly("inputs",
                             [](const Program& p) {
                               std::vector<Input> inputs;
                               for (const auto& i : p.inputs) inputs.emplace_back(i.source, i.index, i.to);
                               return inputs;
                             })
      .def_property_readonly("calls",
                             [](const Program& p) {
                               SignalCalls calls;
                               for (const auto& c : p.calls) calls.emplace_back(c.kind, c.to, c.arguments);
                               return calls;
                             })
      .def_readonly("places", &Program::places);

  using Description = tree::SignalsDescription;
  py::class_<Description> signals(
      m, "SignalsDescription", "Controllers, actuators, sensors and other signals of a scene, as programs.");
  define_record(signals,
                py::init(&make_signals),
                "states"_a,
                "held"_a,
                "forces"_a,
                "slopes"_a,
                "readings"_a,
                "coordinates"_a,
                "slope_places"_a,
                "ports"_a,
                "driven"_a,
                "blocks"_a,
                "integrals"_a = 0,
                "bounded"_a = std::vector<int>(),
                "bounded_slope_places"_a = std::vector<Slope>());
  signals.def_readonly("states", &Description::states)
      .def_readonly("held", &Description::held)
      .def_readonly("forces", &Description::forces)
      .def_readonly("slopes", &Description::slopes)
      .def_readonly("readings", &Description::readings)
      .def_readonly("coordinates", &Description::coordinates)
      .def_property_readonly("slope_places", [](const Description& d) { return listed(d.slope_places); })
      .def_readonly("bounded", &Description::bounded)
      .def_property_readonly("bounded_slope_places",
                             [](const Description& d) { return listed(d.bounded_slope_places); })
      .def_readonly("ports", &Description::ports)
      .def_readonly("driven", &Description::driven)
      .def_readonly("blocks", &Description::blocks)
      .def_readonly("integrals", &Description::integrals);
}

}  // namespace

void bind_signals(py::module_& m) {
  describe_signals(m);
}

}  // namespace pysim::bindings
