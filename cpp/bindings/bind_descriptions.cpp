// Descriptions of a model: its joints, loops, couplings and elements.
#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <array>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/immutable_record.hpp"
#include "bindings/python_number.hpp"
#include "dynamics/passive_law.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using tree::Block;
using tree::Column;
using tree::CouplingDescription;
using tree::ElementCoordinate;
using tree::ElementDescription;
using tree::ElementKind;
using tree::Group;
using tree::JointDescription;
using tree::LoopDescription;
using tree::LoopKind;
using tree::MotionDescription;
using tree::ProgramDescription;
using JointShape = tree::Shape;
using Passive = tree::Passive<double>;
using PathPoint = tree::PathPoint<double>;
using Term = tree::Term<double>;

namespace {

void bind_enums(py::module_& m) {
  py::native_enum<JointShape>(m, "Shape", "enum.Enum", "Motion of a joint.")
      .value("revolute", JointShape::revolute)
      .value("prismatic", JointShape::prismatic)
      .value("helical", JointShape::helical)
      .value("cylindrical", JointShape::cylindrical)
      .value("universal", JointShape::universal)
      .value("ball", JointShape::ball)
      .value("planar", JointShape::planar)
      .value("translation", JointShape::translation)
      .value("free", JointShape::free)
      .value("fixed", JointShape::fixed)
      .value("program", JointShape::program)
      .value("callback", JointShape::callback)
      .finalize();
  py::native_enum<Column>(
      m, "Column", "enum.Enum", "A column of the motion subspace: a unit twist, or stored numbers.")
      .value("vx", tree::vx)
      .value("vy", tree::vy)
      .value("vz", tree::vz)
      .value("wx", tree::wx)
      .value("wy", tree::wy)
      .value("wz", tree::wz)
      .value("stored", tree::stored)
      .finalize();
  py::native_enum<Group>(
      m, "Group", "enum.Enum", "Coordinates: plain numbers, a rotation (quaternion), a pose.")
      .value("real", Group::real)
      .value("rotation", Group::rotation)
      .value("pose", Group::pose)
      .finalize();
  py::native_enum<LoopKind>(
      m, "LoopKind", "enum.Enum", "Constraint of a loop: of a joint, or of a point or wheel of frame B.")
      .value("joint", LoopKind::joint)
      .value("plane", LoopKind::plane)
      .value("line", LoopKind::line)
      .value("distance", LoopKind::distance)
      .value("wheel", LoopKind::wheel)
      .finalize();
  py::native_enum<tree::PathKind>(m, "PathKind", "enum.Enum", "Part of a path: a point, or an obstacle.")
      .value("point", tree::PathKind::point)
      .value("conditional", tree::PathKind::conditional)
      .value("sphere", tree::PathKind::sphere)
      .value("cylinder", tree::PathKind::cylinder)
      .value("inside_sphere", tree::PathKind::inside_sphere)
      .value("inside_cylinder", tree::PathKind::inside_cylinder)
      .finalize();
  py::native_enum<ElementKind>(m,
                               "ElementKind",
                               "enum.Enum",
                               "Between what an element acts: two frames, the points of a path, coordinates.")
      .value("frames", ElementKind::frames)
      .value("path", ElementKind::path)
      .value("coordinates", ElementKind::coordinates)
      .finalize();
  py::native_enum<tree::Op> op(m, "Op", "enum.Enum", "Operations of traced programs.");
#define PYSIM_VALUE(name) op.value(#name, tree::Op::name);
  PYSIM_OPS(PYSIM_VALUE)
#undef PYSIM_VALUE
  op.finalize();
}

// ------------------------------------------------------------------------------------------ programs

using Code = std::vector<std::tuple<tree::Op, int, int, int, int>>;

/// Rows of a look-up that begins at a number of the tables, to their end.
int rows_of(int first, int stride, int numbers) {
  if (first < 0 || first >= numbers || stride < 1) {
    throw std::invalid_argument("a look-up must begin within the tables of " + std::to_string(numbers) +
                                " numbers and have a positive stride, got " + std::to_string(first) +
                                " and " + std::to_string(stride));
  }
  return (numbers - 1 - first) / stride + 1;
}

ProgramDescription make_program(const Code& code,
                                int pose_end,
                                int registers,
                                std::vector<double> constants,
                                std::vector<double> tables,
                                std::vector<int> outputs) {
  ProgramDescription program;
  const auto numbers = static_cast<int>(tables.size());
  for (const auto& [op, out, a, b, c] : code) {
    program.code.push_back({op, out, a, b, c, op == tree::Op::lookup ? rows_of(b, c, numbers) : 0});
  }
  program.pose_end = pose_end;
  program.registers = registers;
  program.constants = std::move(constants);
  program.tables = std::move(tables);
  program.outputs = std::move(outputs);
  return program;
}

Code code_of(const ProgramDescription& program) {
  Code code;
  for (const auto& i : program.code) code.emplace_back(i.op, i.out, i.a, i.b, i.c);
  return code;
}

void bind_program(py::module_& m) {
  py::class_<ProgramDescription> program(
      m,
      "Program",
      "Instructions (op, out, a, b, c) on registers: inputs, constants, then results. The first `pose_end` "
      "need no velocities; `outputs` are registers.");
  program
      .def(py::init(&make_program),
           "code"_a,
           "pose_end"_a,
           "registers"_a,
           "constants"_a,
           "tables"_a,
           "outputs"_a)
      .def_property_readonly("code", &code_of)
      .def_readonly("pose_end", &ProgramDescription::pose_end)
      .def_readonly("registers", &ProgramDescription::registers)
      .def_readonly("constants", &ProgramDescription::constants)
      .def_readonly("tables", &ProgramDescription::tables)
      .def_readonly("outputs", &ProgramDescription::outputs)
      .def("__len__", [](const ProgramDescription& p) { return p.code.size(); });
  define_record(program, "code", "pose_end", "registers", "constants", "tables", "outputs");
}

// ------------------------------------------------------------------------------------------ joints

MotionDescription make_motion(JointShape shape,
                              const Numbers& axis,
                              double pitch,
                              std::vector<Block> blocks,
                              std::vector<Column> columns,
                              bool biased,
                              std::optional<ProgramDescription> program,
                              std::optional<ProgramDescription> derivative,
                              std::optional<ProgramDescription> force,
                              std::optional<ProgramDescription> force_derivative) {
  MotionDescription motion;
  motion.shape = shape;
  copy_numbers(axis, "axis", {3}, motion.axis);
  motion.pitch = pitch;
  motion.blocks = std::move(blocks);
  motion.columns = std::move(columns);
  motion.biased = biased;
  motion.program = std::move(program);
  motion.derivative = std::move(derivative);
  motion.force = std::move(force);
  motion.force_derivative = std::move(force_derivative);
  return motion;
}

JointDescription make_joint(std::string name,
                            MotionDescription motion,
                            int parent,
                            const Numbers& placement,
                            int follows,
                            double ratio,
                            double offset,
                            std::vector<double> rest,
                            std::vector<double> armature,
                            std::vector<Passive> passive) {
  JointDescription joint;
  joint.name = std::move(name);
  joint.motion = std::move(motion);
  joint.parent = parent;
  pack_pose(placement, "placement", joint.placement);
  joint.follows = follows;
  joint.ratio = ratio;
  joint.offset = offset;
  joint.rest = std::move(rest);
  joint.armature = std::move(armature);
  joint.passive = std::move(passive);
  return joint;
}

Numbers identity() {
  constexpr double pose[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  return pose_matrix(pose);
}

Numbers z_axis() {
  constexpr double z[3] = {0, 0, 1};
  return Numbers(3, z);
}

using tree::passive_numbers;

double Passive::* passive_number(const std::string& name) {
  std::string names;
  for (const auto& entry : passive_numbers) {
    if (name == entry.name) return entry.number;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw py::type_error("Passive has no field '" + name + "'; it has " + names);
}

/// Numbers in the order of `passive_numbers`, or by name.
Passive make_passive(const py::args& values, const py::kwargs& named) {
  if (values.size() > std::size(passive_numbers)) {
    throw py::type_error("Passive has " + std::to_string(std::size(passive_numbers)) + " numbers, got " +
                         std::to_string(values.size()));
  }
  Passive passive = tree::no_passive();
  const auto* next = passive_numbers;
  for (const auto& value : values) passive.*(next++)->number = py::cast<double>(value);
  for (const auto& [name, value] : named) {
    passive.*passive_number(py::cast<std::string>(name)) = py::cast<double>(value);
  }
  return passive;
}

using PythonLaw = dynamics::PassiveLaw<PythonNumber>;

PythonLaw law_of(const Passive& passive, const py::object& q, const py::object& v, double rest) {
  const PythonNumber rate(v);
  PythonLaw law = dynamics::spring_and_stop<PythonNumber>(passive, rest, PythonNumber(q), rate);
  dynamics::add_damper_and_friction(passive, rate, law);
  return law;
}

void bind_passive(py::module_& m) {
  py::class_<PythonLaw>(m, "PassiveLaw", "Force of one coordinate, its slopes, and the energy stored.")
      .def_property_readonly("force", [](const PythonLaw& law) { return law.force.value(); })
      .def_property_readonly("by_q", [](const PythonLaw& law) { return law.by_q.value(); })
      .def_property_readonly("by_v", [](const PythonLaw& law) { return law.by_v.value(); })
      .def_property_readonly("energy", [](const PythonLaw& law) { return law.energy.value(); });
  py::class_<Passive> passive(
      m, "Passive", "Passive forces of one coordinate of v; none by default. `fields` names its numbers.");
  passive.def(py::init(&make_passive));
  passive.def("law",
              &law_of,
              "q"_a,
              "v"_a,
              "rest"_a = 0.0,
              "The forces of a plain coordinate at q and v: numbers, arrays or symbolic numbers.");
  py::list names;
  for (const auto& entry : passive_numbers) {
    passive.def_property_readonly(entry.name,
                                  [number = entry.number](const Passive& p) { return p.*number; });
    names.append(entry.name);
  }
  define_record(passive);
  passive.attr("fields") = py::tuple(names);
}

void bind_joint(py::module_& m) {
  py::class_<Block> block(
      m, "Block", "Consecutive coordinates of one group, counted from the joint's first.");
  block.def(py::init<Group, int, int, int>(), "group"_a, "q"_a, "v"_a, "nv"_a)
      .def_readonly("group", &Block::group)
      .def_readonly("q", &Block::q)
      .def_readonly("v", &Block::v)
      .def_readonly("nv", &Block::nv);
  define_record(block, "group", "q", "v", "nv");

  py::class_<MotionDescription> motion(
      m,
      "MotionDescription",
      "Motion of a joint: a built-in shape, or blocks and columns of a plugin "
      "with its traced programs.");
  motion
      .def(py::init(&make_motion),
           "shape"_a,
           "axis"_a = z_axis(),
           "pitch"_a = 0.0,
           "blocks"_a = std::vector<Block>(),
           "columns"_a = std::vector<Column>(),
           "biased"_a = false,
           "program"_a = py::none(),
           "derivative"_a = py::none(),
           "force"_a = py::none(),
           "force_derivative"_a = py::none())
      .def_readonly("shape", &MotionDescription::shape)
      .def_property_readonly("axis", [](const MotionDescription& d) { return Numbers(3, d.axis); })
      .def_readonly("pitch", &MotionDescription::pitch)
      .def_readonly("blocks", &MotionDescription::blocks)
      .def_readonly("columns", &MotionDescription::columns)
      .def_readonly("biased", &MotionDescription::biased)
      .def_readonly("program", &MotionDescription::program)
      .def_readonly("derivative", &MotionDescription::derivative)
      .def_readonly("force", &MotionDescription::force)
      .def_readonly("force_derivative", &MotionDescription::force_derivative);
  define_record(motion,
                "shape",
                "axis",
                "pitch",
                "blocks",
                "columns",
                "biased",
                "program",
                "derivative",
                "force",
                "force_derivative");

  py::class_<JointDescription> joint(m,
                                     "JointDescription",
                                     "A joint on its parent body (-1 is the world). A mimic joint has q = "
                                     "ratio q_other + offset. Omitted arrays are zeros.");
  joint
      .def(py::init(&make_joint),
           "name"_a,
           "motion"_a,
           "parent"_a = -1,
           "placement"_a = identity(),
           "follows"_a = -1,
           "ratio"_a = 1.0,
           "offset"_a = 0.0,
           "rest"_a = std::vector<double>(),
           "armature"_a = std::vector<double>(),
           "passive"_a = std::vector<Passive>())
      .def_readonly("name", &JointDescription::name)
      .def_readonly("motion", &JointDescription::motion)
      .def_readonly("parent", &JointDescription::parent)
      .def_property_readonly("placement", [](const JointDescription& d) { return pose_matrix(d.placement); })
      .def_readonly("follows", &JointDescription::follows)
      .def_readonly("ratio", &JointDescription::ratio)
      .def_readonly("offset", &JointDescription::offset)
      .def_readonly("rest", &JointDescription::rest)
      .def_readonly("armature", &JointDescription::armature)
      .def_readonly("passive", &JointDescription::passive);
  define_record(joint,
                "name",
                "motion",
                "parent",
                "placement",
                "follows",
                "ratio",
                "offset",
                "rest",
                "armature",
                "passive");
}

// ------------------------------------------------------------------------------------------ ties

LoopDescription make_loop(std::string name,
                          LoopKind kind,
                          MotionDescription motion,
                          int a,
                          int b,
                          const Numbers& at_a,
                          const Numbers& at_b,
                          double length,
                          std::vector<int> kept,
                          std::vector<double> start,
                          std::optional<ProgramDescription> function,
                          int work) {
  LoopDescription loop;
  loop.name = std::move(name);
  loop.kind = kind;
  loop.motion = std::move(motion);
  loop.a = a;
  loop.b = b;
  pack_pose(at_a, "at_a", loop.at_a);
  pack_pose(at_b, "at_b", loop.at_b);
  loop.length = length;
  loop.kept = std::move(kept);
  loop.start = std::move(start);
  loop.function = std::move(function);
  loop.work = work;
  return loop;
}

CouplingDescription make_coupling(std::string name,
                                  std::vector<Term> terms,
                                  double offset,
                                  std::vector<Term> inputs,
                                  std::optional<ProgramDescription> function,
                                  std::optional<ProgramDescription> derivative,
                                  int work) {
  return {std::move(name),
          std::move(terms),
          std::move(inputs),
          offset,
          std::move(function),
          std::move(derivative),
          work};
}

void bind_loop(py::module_& m) {
  py::class_<LoopDescription> loop(
      m,
      "LoopDescription",
      "A loop between frames A and B on two bodies (-1 is the world); `motion` is that "
      "of the joint that closes it. `function` maps time to the pose, twist and acceleration of a frame that "
      "takes the place of A.");
  loop.def(py::init(&make_loop),
           "name"_a,
           "kind"_a,
           "motion"_a,
           "a"_a,
           "b"_a,
           "at_a"_a,
           "at_b"_a,
           "length"_a,
           "kept"_a,
           "start"_a,
           "function"_a = py::none(),
           "work"_a = -1)
      .def_readonly("name", &LoopDescription::name)
      .def_readonly("kind", &LoopDescription::kind)
      .def_readonly("motion", &LoopDescription::motion)
      .def_readonly("a", &LoopDescription::a)
      .def_readonly("b", &LoopDescription::b)
      .def_property_readonly("at_a", [](const LoopDescription& d) { return pose_matrix(d.at_a); })
      .def_property_readonly("at_b", [](const LoopDescription& d) { return pose_matrix(d.at_b); })
      .def_readonly("length", &LoopDescription::length)
      .def_readonly("kept", &LoopDescription::kept)
      .def_readonly("start", &LoopDescription::start)
      .def_readonly("function", &LoopDescription::function)
      .def_readonly("work", &LoopDescription::work);
  define_record(loop,
                "name",
                "kind",
                "motion",
                "a",
                "b",
                "at_a",
                "at_b",
                "length",
                "kept",
                "start",
                "function",
                "work");
}

void bind_coupling(py::module_& m) {
  py::class_<Term> term(m, "Term", "Factor times a coordinate, given by its index in q and in v.");
  term.def(py::init<int, int, double>(), "q"_a, "v"_a, "factor"_a = 1.0)
      .def_readonly("q", &Term::q)
      .def_readonly("v", &Term::v)
      .def_readonly("factor", &Term::factor);
  define_record(term, "q", "v", "factor");

  py::class_<CouplingDescription> coupling(
      m,
      "CouplingDescription",
      "Coupling: the sum of the terms minus the offset minus a function of the inputs is 0; without "
      "inputs it is a function of time.");
  coupling
      .def(py::init(&make_coupling),
           "name"_a,
           "terms"_a,
           "offset"_a = 0.0,
           "inputs"_a = std::vector<Term>(),
           "function"_a = py::none(),
           "derivative"_a = py::none(),
           "work"_a = -1)
      .def_readonly("name", &CouplingDescription::name)
      .def_readonly("terms", &CouplingDescription::terms)
      .def_readonly("offset", &CouplingDescription::offset)
      .def_readonly("inputs", &CouplingDescription::inputs)
      .def_readonly("function", &CouplingDescription::function)
      .def_readonly("derivative", &CouplingDescription::derivative)
      .def_readonly("work", &CouplingDescription::work);
  define_record(coupling, "name", "terms", "offset", "inputs", "function", "derivative", "work");
}

ElementDescription make_element(std::string name,
                                ElementKind kind,
                                ProgramDescription program,
                                ProgramDescription derivative,
                                std::optional<ProgramDescription> energy,
                                int a,
                                int b,
                                const Numbers& at_a,
                                const Numbers& at_b,
                                std::vector<PathPoint> points,
                                std::vector<ElementCoordinate> coordinates) {
  ElementDescription element;
  element.name = std::move(name);
  element.kind = kind;
  element.program = std::move(program);
  element.derivative = std::move(derivative);
  element.energy = std::move(energy);
  element.a = a;
  element.b = b;
  pack_pose(at_a, "at_a", element.at_a);
  pack_pose(at_b, "at_b", element.at_b);
  element.points = std::move(points);
  element.coordinates = std::move(coordinates);
  return element;
}

PathPoint make_path_point(int body,
                          const Numbers& at,
                          tree::PathKind kind,
                          double radius,
                          const Numbers& side,
                          int q,
                          double lower,
                          double upper,
                          double multiplicity) {
  PathPoint point = {body, kind, q, {}, {}, radius, {}, lower, upper, multiplicity};
  double pose[12];
  pack_pose(at, "at", pose);
  std::copy(pose, pose + 9, point.axes);
  std::copy(pose + 9, pose + 12, point.at);
  copy_numbers(side, "side", {3}, point.side);
  return point;
}

Numbers path_pose(const PathPoint& point) {
  double pose[12];
  std::copy(point.axes, point.axes + 9, pose);
  std::copy(point.at, point.at + 3, pose + 9);
  return pose_matrix(pose);
}

void bind_element(py::module_& m) {
  py::class_<PathPoint> point(m,
                              "PathPoint",
                              "A point of a path, on a body (-1 is the world), a point within a range of "
                              "coordinate q, or an obstacle; at is its frame in the body.");
  point
      .def(py::init(&make_path_point),
           "body"_a,
           "at"_a,
           "kind"_a = tree::PathKind::point,
           "radius"_a = 0.0,
           "side"_a = Numbers(3, std::array<double, 3>{}.data()),
           "q"_a = -1,
           "lower"_a = -std::numeric_limits<double>::infinity(),
           "upper"_a = std::numeric_limits<double>::infinity(),
           "multiplicity"_a = 1.0)
      .def_readonly("body", &PathPoint::body)
      .def_property_readonly("at", &path_pose)
      .def_readonly("kind", &PathPoint::kind)
      .def_readonly("radius", &PathPoint::radius)
      .def_property_readonly("side", [](const PathPoint& p) { return Numbers(3, p.side); })
      .def_readonly("q", &PathPoint::q)
      .def_readonly("lower", &PathPoint::lower)
      .def_readonly("upper", &PathPoint::upper)
      .def_readonly("multiplicity", &PathPoint::multiplicity);
  define_record(point, "body", "at", "kind", "radius", "side", "q", "lower", "upper", "multiplicity");

  py::class_<ElementCoordinate> coordinate(
      m, "ElementCoordinate", "A coordinate by its place in q (-1 if it is no plain number) and in v.");
  coordinate.def(py::init<int, int>(), "q"_a, "v"_a)
      .def_readonly("q", &ElementCoordinate::q)
      .def_readonly("v", &ElementCoordinate::v);
  define_record(coordinate, "q", "v");

  py::class_<ElementDescription> element(m,
                                         "ElementDescription",
                                         "A force that a traced program computes between frames A and B "
                                         "(at_a in body a, at_b in body b), along a "
                                         "path, or on coordinates.");
  element
      .def(py::init(&make_element),
           "name"_a,
           "kind"_a,
           "program"_a,
           "derivative"_a,
           "energy"_a = py::none(),
           "a"_a = -1,
           "b"_a = -1,
           "at_a"_a = identity(),
           "at_b"_a = identity(),
           "points"_a = std::vector<PathPoint>(),
           "coordinates"_a = std::vector<ElementCoordinate>())
      .def_readonly("name", &ElementDescription::name)
      .def_readonly("kind", &ElementDescription::kind)
      .def_readonly("program", &ElementDescription::program)
      .def_readonly("derivative", &ElementDescription::derivative)
      .def_readonly("energy", &ElementDescription::energy)
      .def_readonly("a", &ElementDescription::a)
      .def_readonly("b", &ElementDescription::b)
      .def_property_readonly("at_a", [](const ElementDescription& d) { return pose_matrix(d.at_a); })
      .def_property_readonly("at_b", [](const ElementDescription& d) { return pose_matrix(d.at_b); })
      .def_readonly("points", &ElementDescription::points)
      .def_readonly("coordinates", &ElementDescription::coordinates);
  define_record(element,
                "name",
                "kind",
                "program",
                "derivative",
                "energy",
                "a",
                "b",
                "at_a",
                "at_b",
                "points",
                "coordinates");
}

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

void bind_signals(py::module_& m) {
  bind_signal_enums(m);
  py::class_<tree::PortDescription> port(
      m, "PortDescription", "Two frames, or a path, that signals measure or drive.");
  port.def(py::init(&make_port),
           "name"_a,
           "kind"_a,
           "a"_a = -1,
           "b"_a = -1,
           "at_a"_a = identity(),
           "at_b"_a = identity(),
           "points"_a = std::vector<PathPoint>())
      .def_readonly("name", &tree::PortDescription::name)
      .def_readonly("kind", &tree::PortDescription::kind)
      .def_readonly("a", &tree::PortDescription::a)
      .def_readonly("b", &tree::PortDescription::b)
      .def_property_readonly("at_a", [](const tree::PortDescription& d) { return pose_matrix(d.at_a); })
      .def_property_readonly("at_b", [](const tree::PortDescription& d) { return pose_matrix(d.at_b); })
      .def_readonly("points", &tree::PortDescription::points);
  define_record(port, "name", "kind", "a", "b", "at_a", "at_b", "points");

  using Program = tree::SignalProgramDescription;
  py::class_<Program> program(m,
                              "SignalProgram",
                              "Program of signals. inputs: (origin, index, register); calls of inverse "
                              "dynamics between its parts: (kind, first register of the results, registers "
                              "of the accelerations); places of its outputs in the state.");
  program
      .def(py::init(&make_signal_program),
           "program"_a,
           "input_registers"_a,
           "inputs"_a,
           "calls"_a = SignalCalls(),
           "places"_a = std::vector<int>())
      .def_readonly("program", &Program::program)
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
  define_record(program, "program", "input_registers", "inputs", "calls", "places");

  using Description = tree::SignalsDescription;
  py::class_<Description> signals(
      m, "SignalsDescription", "Controllers, actuators, sensors and other signals of a scene, as programs.");
  signals
      .def(py::init(&make_signals),
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
           "bounded_slope_places"_a = std::vector<Slope>())
      .def_readonly("states", &Description::states)
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
  define_record(signals,
                "states",
                "held",
                "forces",
                "slopes",
                "readings",
                "coordinates",
                "slope_places",
                "ports",
                "driven",
                "blocks",
                "integrals",
                "bounded",
                "bounded_slope_places");
}

}  // namespace

void bind_descriptions(py::module_& m) {
  bind_enums(m);
  bind_program(m);
  bind_passive(m);
  bind_joint(m);
  bind_loop(m);
  bind_coupling(m);
  bind_element(m);
  bind_signals(m);
}

}  // namespace pysim::bindings
