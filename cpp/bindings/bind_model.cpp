#include <pybind11/stl.h>

#include <utility>
#include <vector>

#include "bindings/functions.hpp"
#include "bindings/given_numbers.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using tree::Model;

namespace {

Model make_model(const std::vector<tree::JointDescription>& joints,
                 const Numbers& inertias,
                 const Numbers& gravity,
                 std::vector<tree::LoopDescription> loops,
                 std::vector<tree::CouplingDescription> couplings,
                 std::vector<tree::Spring<double>> springs) {
  double g[3];
  copy_numbers(gravity, "gravity", {3}, g);
  std::vector<tree::PackedInertia> packed(joints.size());
  copy_numbers(inertias, "inertias", {static_cast<py::ssize_t>(joints.size()), 10}, packed.data()->data());
  return Model(joints, packed, g, {std::move(loops), std::move(couplings), std::move(springs)});
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
           "inertias"_a,
           "gravity"_a,
           "loops"_a = std::vector<tree::LoopDescription>(),
           "couplings"_a = std::vector<tree::CouplingDescription>(),
           "springs"_a = std::vector<tree::Spring<double>>(),
           "One inertia (10,) a joint, of the body it moves: m, mc, Ixx, Iyy, Izz, Ixy, Iyz, Izx.")
      .def_property_readonly("nq", &Model::nq, "Numbers in q.")
      .def_property_readonly("nv", &Model::nv, "Numbers in v.")
      .def_property_readonly(
          "tree_nv", &Model::tree_nv, "Numbers in v with those of joints that follow others.")
      .def_property_readonly("nbodies", &Model::nbodies, "Moving bodies; body k moves with joint k.")
      .def_property_readonly(
          "planar",
          &Model::planar_tree,
          "True if all joints keep their bodies in planes, each tree in its own: they turn about its normal "
          "or "
          "slide across it, and none follows another. Forward dynamics then stays in the plane.")
      .def_property_readonly("flat",
                             &Model::planar_loops,
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
          [](const Model& model) { return per_joint(model, [](const auto& j) { return j.reduced_q; }); },
          "Where each joint's numbers begin in q; -1 where it follows another joint.")
      .def_property_readonly(
          "v_offsets",
          [](const Model& model) { return per_joint(model, [](const auto& j) { return j.reduced_v; }); },
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
