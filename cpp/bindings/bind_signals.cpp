// Descriptions of the signals of a scene.
#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <tuple>

#include "bindings/immutable_record.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using PathPoint = tree::PathPointDescription;

namespace {

using Input = std::tuple<tree::SignalSource, int, int>;
using Slope = std::tuple<int, tree::SignalMotion, int>;
using SignalCalls = std::vector<std::tuple<tree::SignalCallKind, int, std::vector<int>>>;

std::vector<Slope> listed(const std::vector<tree::SignalSlope>& slopes) {
  std::vector<Slope> found;
  for (const auto& slope : slopes) found.emplace_back(slope.row, slope.along, slope.index);
  return found;
}

/// A list of slopes that is a member.
template <class Argument>
auto slope_field(const Argument& argument,
                 std::vector<tree::SignalSlope> tree::SignalsDescription::* member) {
  return field<std::vector<Slope>>(
      argument,
      [member](tree::SignalsDescription& own, const std::vector<Slope>& slopes) {
        for (const auto& [row, along, index] : slopes) (own.*member).push_back({row, along, index});
      },
      [member](const tree::SignalsDescription& own) { return listed(own.*member); });
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
  using Port = tree::PortDescription;
  define_record(port,
                field("name"_a, &Port::name),
                field("kind"_a, &Port::kind),
                field("a"_a = -1, &Port::a),
                field("b"_a = -1, &Port::b),
                pose_field("at_a"_a = identity(), &Port::at_a),
                pose_field("at_b"_a = identity(), &Port::at_b),
                field("points"_a = std::vector<PathPoint>(), &Port::points));

  using Program = tree::SignalProgramDescription;
  py::class_<Program> program(m,
                              "SignalProgram",
                              "Program of signals. inputs: (origin, index, register); calls of inverse "
                              "dynamics between its parts: (kind, first register of the results, registers "
                              "of the accelerations); places of its outputs in the state.");
  define_record(program,
                field("program"_a, &Program::program),
                field("input_registers"_a, &Program::input_registers),
                field<std::vector<Input>>(
                    "inputs"_a,
                    [](Program& own, const std::vector<Input>& inputs) {
                      for (const auto& [source, index, to] : inputs)
                        own.inputs.push_back({source, index, to});
                    },
                    [](const Program& own) {
                      std::vector<Input> inputs;
                      for (const auto& i : own.inputs) inputs.emplace_back(i.source, i.index, i.to);
                      return inputs;
                    }),
                field<SignalCalls>(
                    "calls"_a = SignalCalls(),
                    [](Program& own, const SignalCalls& calls) {
                      for (const auto& [kind, to, arguments] : calls)
                        own.calls.push_back({kind, to, arguments});
                    },
                    [](const Program& own) {
                      SignalCalls calls;
                      for (const auto& c : own.calls) calls.emplace_back(c.kind, c.to, c.arguments);
                      return calls;
                    }),
                field("places"_a = std::vector<int>(), &Program::places));

  using Description = tree::SignalsDescription;
  py::class_<Description> signals(
      m, "SignalsDescription", "Controllers, actuators, sensors and other signals of a scene, as programs.");
  define_record(
      signals,
      field("states"_a, &Description::states),
      field("held_numbers"_a, &Description::held_numbers),
      field("forces"_a, &Description::forces),
      field("slopes"_a, &Description::slopes),
      field("readings"_a, &Description::readings),
      field("coordinates"_a, &Description::coordinates),
      slope_field("slope_places"_a, &Description::slope_places),
      field("ports"_a, &Description::ports),
      field("driven"_a, &Description::driven),
      field("blocks"_a, &Description::blocks),
      field("integrals"_a = 0, &Description::integrals),
      field("bounded"_a = std::vector<int>(), &Description::bounded),
      slope_field("bounded_slope_places"_a = std::vector<Slope>(), &Description::bounded_slope_places));
}

}  // namespace

void bind_signals(py::module_& m) {
  describe_signals(m);
}

}  // namespace pysim::bindings
