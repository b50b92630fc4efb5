// The model on the Python side: construction, properties, comparison and pickling.
#include <pybind11/stl.h>

#include <utility>
#include <vector>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/model_functions.hpp"
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
                 std::vector<tree::ElementDescription> elements,
                 std::optional<tree::SignalsDescription> signals) {
  double g[3];
  copy_numbers(gravity, "gravity", {3}, g);
  std::vector<tree::PackedInertia> packed(joints.size());
  copy_numbers(inertias,
               "inertias",
               {static_cast<py::ssize_t>(joints.size()), 10},
               packed.empty() ? nullptr : packed.front().data());
  return Model(
      joints, packed, g, {std::move(loops), std::move(couplings), std::move(elements), std::move(signals)});
}

template <class Select>
std::vector<int> per_joint(const Model& model, Select select) {
  std::vector<int> values;
  for (const auto& joint : model.joints()) values.push_back(select(joint));
  return values;
}

}  // namespace

void bind_model(py::module_& m) {
  py::class_<Model>(
      m, "Model", "Frozen mechanism; build it with pysim.load_model or pysim.simulation.compile_model.")
      .def(py::init(&make_model),
           "joints"_a,
           "inertias"_a,
           "gravity"_a,
           "loops"_a = std::vector<tree::LoopDescription>(),
           "couplings"_a = std::vector<tree::CouplingDescription>(),
           "elements"_a = std::vector<tree::ElementDescription>(),
           "signals"_a = py::none(),
           "One inertia (10,) per joint, of the body it moves: m, mc, Ixx, Iyy, Izz, Ixy, Iyz, Izx.")
      .def_property_readonly("nq", &Model::nq, "Length of q.")
      .def_property_readonly("nv", &Model::nv, "Length of v.")
      .def_property_readonly("tree_nv", &Model::tree_nv, "Length of v including mimic joints.")
      .def_property_readonly("nbodies", &Model::nbodies, "Moving bodies; body k moves with joint k.")
      .def_property_readonly(
          "planar_tree",
          &Model::planar_tree,
          "True if the bodies of each tree move in a plane: its joints rotate about the plane's normal or "
          "slide in the plane, and none is a mimic joint. Forward dynamics then uses planar algebra.")
      .def_property_readonly("planar_loops",
                             &Model::planar_loops,
                             "True if all trees also move in the same plane and hinges alone close loops: "
                             "the constraints then use planar algebra as well.")
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
          "Index of each joint's first number in q; -1 for a mimic joint.")
      .def_property_readonly(
          "v_offsets",
          [](const Model& model) { return per_joint(model, [](const auto& j) { return j.reduced_v; }); },
          "Index of each joint's first number in v; -1 for a mimic joint.")
      .def("structure_difference",
           &Model::structure_difference,
           "other"_a,
           "Return the structural difference from another model; empty if only numbers differ.")
      .def_property_readonly("rows", &Model::rows, "Number of constraint rows, of loops and couplings.")
      .def_property_readonly(
          "loop_nq", &Model::loop_nq, "Number of coordinates of the joints that close loops.")
      .def_property_readonly(
          "loop_rows",
          [](const Model& model) {
            std::vector<int> rows;
            for (const auto& loop : model.loops()) rows.push_back(loop.rows);
            return rows;
          },
          "Number of rows of every loop.")
      .def_property_readonly(
          "signal_numbers",
          [](const Model& model) { return model.signals() == nullptr ? 0 : model.signals()->numbers(); },
          "Numbers in the state of a scene's signals: states of elements, held numbers, and what "
          "generalized_alpha carries.")
      .def_property_readonly("callback_numbers",
                             &Model::callback_numbers,
                             "Numbers per state that callback joints compute in Python.")
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
      "Reject an argument that is not a model, with its type and what to pass instead.");
}

}  // namespace pysim::bindings
