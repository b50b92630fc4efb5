// Descriptions of joints: their programs, motions and passive forces.
#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <array>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "bindings/immutable_record.hpp"
#include "bindings/python_number.hpp"
#include "dynamics/passive_law.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using tree::Block;
using tree::Column;
using tree::ElementKind;
using tree::Group;
using tree::JointDescription;
using tree::LoopKind;
using tree::MotionDescription;
using tree::ProgramDescription;
using JointShape = tree::Shape;
using Passive = tree::Passive<double>;

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
      .value("ellipsoid", tree::PathKind::ellipsoid)
      .value("torus", tree::PathKind::torus)
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
  program.def(
      py::init(&make_program), "code"_a, "pose_end"_a, "registers"_a, "constants"_a, "tables"_a, "outputs"_a);
  program.def_property_readonly("code", &code_of)
      .def_readonly("pose_end", &ProgramDescription::pose_end)
      .def_readonly("registers", &ProgramDescription::registers)
      .def_readonly("constants", &ProgramDescription::constants)
      .def_readonly("tables", &ProgramDescription::tables)
      .def_readonly("outputs", &ProgramDescription::outputs)
      .def("__len__", [](const ProgramDescription& p) { return p.code.size(); });
  define_fields(program, py::make_tuple("code", "pose_end", "registers", "constants", "tables", "outputs"));
}

// ------------------------------------------------------------------------------------------ joints

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

struct PythonLaw : dynamics::PassiveLaw<PythonNumber> {
  PythonNumber energy;
};

/// `numbers` by name are in place of those of the record; they may be symbolic.
PythonLaw law_of(const Passive& passive,
                 const py::object& q,
                 const py::object& v,
                 const py::object& rest,
                 const py::dict& numbers) {
  tree::Passive<PythonNumber> p{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  const auto* next = passive_numbers;
  Passive::visit(
      [&](PythonNumber& to, double from) {
        const char* name = (next++)->name;
        to = numbers.contains(name) ? PythonNumber(py::object(numbers[name])) : PythonNumber(from);
      },
      p,
      passive);
  const PythonNumber rate(v), position(q), at_rest(rest);
  auto law = dynamics::spring_and_stop<PythonNumber>(p, at_rest, position, rate);
  dynamics::add_damper_and_friction(p, rate, law);
  return {law, dynamics::stored_energy<PythonNumber>(p, at_rest, position)};
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
  passive.def(
      "law",
      &law_of,
      "q"_a,
      "v"_a,
      "rest"_a = 0.0,
      "numbers"_a = py::dict(),
      "The forces of a plain coordinate at q and v: numbers, arrays or symbolic numbers. `numbers` by name "
      "are in place of those of this record.");
  py::list names;
  for (const auto& entry : passive_numbers) {
    passive.def_property_readonly(entry.name,
                                  [number = entry.number](const Passive& p) { return p.*number; });
    names.append(entry.name);
  }
  define_fields(passive, py::tuple(names));
}

void bind_joint(py::module_& m) {
  py::class_<Block> block(
      m, "Block", "Consecutive coordinates of one group, counted from the joint's first.");
  define_record(block,
                field("group"_a, &Block::group),
                field("q"_a, &Block::q),
                field("v"_a, &Block::v),
                field("nv"_a, &Block::nv));

  py::class_<MotionDescription> motion(
      m,
      "MotionDescription",
      "Motion of a joint: a built-in shape, or blocks and columns of a plugin with its traced programs.");
  define_record(motion,
                field("shape"_a, &MotionDescription::shape),
                vector_field("axis"_a = z_axis(), &MotionDescription::axis),
                field("pitch"_a = 0.0, &MotionDescription::pitch),
                field("blocks"_a = std::vector<Block>(), &MotionDescription::blocks),
                field("columns"_a = std::vector<Column>(), &MotionDescription::columns),
                field("biased"_a = false, &MotionDescription::biased),
                field("program"_a = py::none(), &MotionDescription::program),
                field("derivative"_a = py::none(), &MotionDescription::derivative),
                field("force"_a = py::none(), &MotionDescription::force),
                field("force_derivative"_a = py::none(), &MotionDescription::force_derivative));

  py::class_<JointDescription> joint(m,
                                     "JointDescription",
                                     "A joint on its parent body (-1 is the world). A mimic joint has q = "
                                     "ratio q_other + offset. Omitted arrays are zeros.");
  define_record(joint,
                field("name"_a, &JointDescription::name),
                field("motion"_a, &JointDescription::motion),
                field("parent"_a = -1, &JointDescription::parent),
                pose_field("placement"_a = identity(), &JointDescription::placement),
                field("follows"_a = -1, &JointDescription::follows),
                field("ratio"_a = 1.0, &JointDescription::ratio),
                field("offset"_a = 0.0, &JointDescription::offset),
                field("rest"_a = std::vector<double>(), &JointDescription::rest),
                field("armature"_a = std::vector<double>(), &JointDescription::armature),
                field("passive"_a = std::vector<Passive>(), &JointDescription::passive));
}

}  // namespace

void bind_joints(py::module_& m) {
  bind_enums(m);
  bind_program(m);
  bind_passive(m);
  bind_joint(m);
}

}  // namespace pysim::bindings
