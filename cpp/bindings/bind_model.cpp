#include <pybind11/stl.h>

#include <algorithm>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/functions.hpp"
#include "bindings/programs.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using tree::JointDescription;
using tree::Model;

namespace {

using Numbers = std::vector<double>;

void copy_exactly(const Numbers& from, std::size_t n, double* to, const char* name) {
  if (from.size() != n) {
    throw std::invalid_argument(std::string(name) + " needs " + std::to_string(n) + " numbers, got " +
                                std::to_string(from.size()));
  }
  std::copy(from.begin(), from.end(), to);
}

/// 4×4 row-major to rotation column-major, position.
void pack_pose(const Numbers& matrix, double pose[12]) {
  double X[16];
  copy_exactly(matrix, 16, X, "placement");
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) pose[3 * j + i] = X[4 * i + j];
  }
}

/// A plugin's motion: coordinates and columns, and its program if it was traced.
tree::ProgramDescription describe_motion(const py::dict& d) {
  tree::ProgramDescription program;
  if (d.contains("code")) program = describe_program(d);
  for (const auto& b : d["blocks"].cast<std::vector<std::vector<int>>>()) {
    program.blocks.push_back({static_cast<tree::Group>(b.at(0)), b.at(1), b.at(2), b.at(3)});
  }
  for (const int c : d["columns"].cast<std::vector<int>>()) {
    program.columns.push_back(static_cast<tree::Column>(c));
  }
  program.biased = d["biased"].cast<bool>();
  return program;
}

JointDescription describe(const py::dict& d) {
  JointDescription joint;
  if (d.contains("program")) joint.program = describe_motion(d["program"]);
  if (d.contains("derivative")) joint.derivative = describe_program(d["derivative"]);
  if (d.contains("force")) {
    joint.force = describe_program(d["force"]);
    joint.force_derivative = describe_program(d["force_derivative"]);
  }
  joint.name = d["name"].cast<std::string>();
  joint.shape = d["shape"].cast<std::string>();
  joint.parent = d["parent"].cast<int>();
  pack_pose(d["placement"].cast<Numbers>(), joint.placement);
  copy_exactly(d["axis"].cast<Numbers>(), 3, joint.axis, "axis");
  joint.pitch = d["pitch"].cast<double>();
  copy_exactly(d["inertia"].cast<Numbers>(), 10, joint.inertia, "inertia");
  joint.follows = d["follows"].cast<int>();
  joint.ratio = d["ratio"].cast<double>();
  joint.offset = d["offset"].cast<double>();
  joint.rest = d["rest"].cast<Numbers>();
  joint.armature = d["armature"].cast<Numbers>();
  for (const auto& p : d["passive"].cast<std::vector<Numbers>>()) {
    tree::Passive<double> passive;
    copy_exactly(p, 8, reinterpret_cast<double*>(&passive), "passive");
    joint.passive.push_back(passive);
  }
  return joint;
}

tree::LoopDescription describe_loop(const py::dict& d) {
  tree::LoopDescription loop;
  loop.kind = d["kind"].cast<std::string>();
  loop.joint = describe(d);
  loop.a = d["a"].cast<int>();
  loop.b = d["b"].cast<int>();
  pack_pose(d["at_a"].cast<Numbers>(), loop.at_a);
  pack_pose(d["at_b"].cast<Numbers>(), loop.at_b);
  loop.length = d["length"].cast<double>();
  loop.kept = d["kept"].cast<std::vector<int>>();
  loop.start = d["start"].cast<Numbers>();
  return loop;
}

std::vector<tree::Term<double>> describe_terms(const py::handle& list) {
  std::vector<tree::Term<double>> terms;
  for (const auto& [q, v, factor] : list.cast<std::vector<std::tuple<int, int, double>>>()) {
    terms.push_back({q, v, factor});
  }
  return terms;
}

tree::RelationDescription describe_relation(const py::dict& d) {
  tree::RelationDescription relation;
  relation.name = d["name"].cast<std::string>();
  relation.terms = describe_terms(d["terms"]);
  relation.offset = d["offset"].cast<double>();
  if (!d.contains("function")) return relation;
  relation.inputs = describe_terms(d["inputs"]);
  relation.function = describe_program(d["function"]);
  relation.derivative = describe_program(d["derivative"]);
  return relation;
}

tree::Spring<double> describe_spring(const py::dict& d) {
  tree::Spring<double> spring = {};
  spring.a = d["a"].cast<int>();
  spring.b = d["b"].cast<int>();
  copy_exactly(d["at_a"].cast<Numbers>(), 3, spring.at_a, "at_a");
  copy_exactly(d["at_b"].cast<Numbers>(), 3, spring.at_b, "at_b");
  spring.stiffness = d["stiffness"].cast<double>();
  spring.damping = d["damping"].cast<double>();
  spring.length = d["length"].cast<double>();
  return spring;
}

Model make_model(const std::vector<py::dict>& joints,
                 const std::vector<double>& gravity,
                 const std::vector<py::dict>& loops,
                 const std::vector<py::dict>& relations,
                 const std::vector<py::dict>& springs) {
  double g[3];
  copy_exactly(gravity, 3, g, "gravity");
  std::vector<JointDescription> descriptions;
  descriptions.reserve(joints.size());
  for (const auto& d : joints) descriptions.push_back(describe(d));
  tree::Ties ties;
  for (const auto& d : loops) ties.loops.push_back(describe_loop(d));
  for (const auto& d : relations) ties.relations.push_back(describe_relation(d));
  for (const auto& d : springs) ties.springs.push_back(describe_spring(d));
  return Model(descriptions, g, ties);
}

template <class Select>
std::vector<int> per_joint(const Model& model, Select select) {
  std::vector<int> values;
  for (const auto& joint : model.joints()) values.push_back(select(joint));
  return values;
}

}  // namespace

void bind_model(py::module_& m) {
  py::class_<Model>(m, "Model", "Frozen mechanism; build it with pysim.compile.")
      .def(py::init(&make_model),
           "joints"_a,
           "gravity"_a,
           "loops"_a = std::vector<py::dict>(),
           "relations"_a = std::vector<py::dict>(),
           "springs"_a = std::vector<py::dict>())
      .def_property_readonly("nq", &Model::nq, "Numbers in q.")
      .def_property_readonly("nv", &Model::nv, "Numbers in v.")
      .def_property_readonly(
          "tree_nv", &Model::tree_nv, "Numbers in v with those of joints that follow others.")
      .def_property_readonly("nbodies", &Model::nbodies, "Moving bodies; body k moves with joint k.")
      .def_property_readonly(
          "planar",
          &Model::planar,
          "True if all joints keep their bodies in planes, each tree in its own: they turn about its normal "
          "or "
          "slide across it, and none follows another. Forward dynamics then stays in the plane.")
      .def_property_readonly("flat",
                             &Model::flat,
                             "True if besides all trees share a plane, and hinges close loops there and "
                             "nothing else does: they are "
                             "held there, too.")
      .def_property_readonly(
          "gravity",
          [](const Model& model) { return py::array_t<double>(3, model.gravity()); },
          "Gravity in the world [m/s²].")
      .def_property_readonly(
          "parents",
          [](const Model& model) { return per_joint(model, [](const auto& j) { return j.parent; }); },
          "Parent body of every body; -1 is the world.")
      .def_property_readonly(
          "q_offsets",
          [](const Model& model) { return per_joint(model, [](const auto& j) { return j.own_q; }); },
          "Where each joint's numbers begin in q; -1 where it follows another joint.")
      .def_property_readonly(
          "v_offsets",
          [](const Model& model) { return per_joint(model, [](const auto& j) { return j.own_v; }); },
          "Where each joint's numbers begin in v; -1 where it follows another joint.")
      .def("structure_difference",
           &Model::structure_difference,
           "other"_a,
           "How another model differs in more than its numbers; empty where the two are alike.")
      .def_property_readonly("rows", &Model::rows, "Rows of the constraints: loops and couplings.")
      .def_property_readonly("loop_nq", &Model::loop_nq, "Coordinates of the joints that close loops.")
      .def_property_readonly(
          "loop_rows",
          [](const Model& model) {
            std::vector<int> rows;
            for (const auto& loop : model.loops()) rows.push_back(loop.rows);
            return rows;
          },
          "Rows of every loop.")
      .def_property_readonly(
          "callback_numbers", &Model::callback_numbers, "Numbers a state that Python computes.")
      .def(
          "neutral",
          [](const Model& model) {
            const auto q = model.neutral();
            return py::array_t<double>(static_cast<py::ssize_t>(q.size()), q.data());
          },
          "The configuration of zeros and identity rotations (nq,).");
  m.def(
      "check_model",
      [](py::handle model) { model_of(model.ptr()); },
      "model"_a,
      "Refuse what is no model, by its type and what to give instead.");
}

}  // namespace pysim::bindings
