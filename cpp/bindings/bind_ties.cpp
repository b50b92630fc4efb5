// Descriptions of loops, couplings and elements.
#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <utility>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/immutable_record.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using tree::CouplingDescription;
using tree::ElementCoordinate;
using tree::ElementDescription;
using tree::ElementKind;
using tree::LoopDescription;
using tree::LoopKind;
using tree::MotionDescription;
using tree::ProgramDescription;
using PathPoint = tree::PathPoint<double>;
using Term = tree::Term<double>;

namespace {

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
  py::class_<LoopDescription> loop(m,
                                   "LoopDescription",
                                   "A loop between frames A and B on two bodies (-1 is the world); `motion` "
                                   "is that of the joint that closes it. `function` maps time to the pose, "
                                   "twist and acceleration of a frame that takes the place of A.");
  define_record(loop,
                py::init(&make_loop),
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
                "work"_a = -1);
  loop.def_readonly("name", &LoopDescription::name)
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
}

void bind_coupling(py::module_& m) {
  py::class_<Term> term(m, "Term", "Factor times a coordinate, given by its index in q and in v.");
  define_record(term, py::init<int, int, double>(), "q"_a, "v"_a, "factor"_a = 1.0);
  term.def_readonly("q", &Term::q).def_readonly("v", &Term::v).def_readonly("factor", &Term::factor);

  py::class_<CouplingDescription> coupling(m,
                                           "CouplingDescription",
                                           "Coupling: the sum of the terms minus the offset minus a function "
                                           "of the inputs is 0; without inputs it is a function of time.");
  define_record(coupling,
                py::init(&make_coupling),
                "name"_a,
                "terms"_a,
                "offset"_a = 0.0,
                "inputs"_a = std::vector<Term>(),
                "function"_a = py::none(),
                "derivative"_a = py::none(),
                "work"_a = -1);
  coupling.def_readonly("name", &CouplingDescription::name)
      .def_readonly("terms", &CouplingDescription::terms)
      .def_readonly("offset", &CouplingDescription::offset)
      .def_readonly("inputs", &CouplingDescription::inputs)
      .def_readonly("function", &CouplingDescription::function)
      .def_readonly("derivative", &CouplingDescription::derivative)
      .def_readonly("work", &CouplingDescription::work);
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
                          const Numbers& radii,
                          const Numbers& side,
                          int q,
                          double lower,
                          double upper,
                          double multiplicity) {
  PathPoint point = {body, kind, q, {}, {}, {}, {}, lower, upper, multiplicity};
  double pose[12];
  pack_pose(at, "at", pose);
  std::copy(pose, pose + 9, point.axes);
  std::copy(pose + 9, pose + 12, point.at);
  copy_numbers(radii, "radii", {3}, point.radii);
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
  py::class_<PathPoint> point(m, "PathPoint", "A part of a path, with its frame in a body (-1: the world).");
  define_record(point,
                py::init(&make_path_point),
                "body"_a,
                "at"_a,
                "kind"_a = tree::PathKind::point,
                "radii"_a = Numbers(3, std::array<double, 3>{}.data()),
                "side"_a = Numbers(3, std::array<double, 3>{}.data()),
                "q"_a = -1,
                "lower"_a = -std::numeric_limits<double>::infinity(),
                "upper"_a = std::numeric_limits<double>::infinity(),
                "multiplicity"_a = 1.0);
  point.def_readonly("body", &PathPoint::body)
      .def_property_readonly("at", &path_pose)
      .def_readonly("kind", &PathPoint::kind)
      .def_property_readonly("radii", [](const PathPoint& p) { return Numbers(3, p.radii); })
      .def_property_readonly("side", [](const PathPoint& p) { return Numbers(3, p.side); })
      .def_readonly("q", &PathPoint::q)
      .def_readonly("lower", &PathPoint::lower)
      .def_readonly("upper", &PathPoint::upper)
      .def_readonly("multiplicity", &PathPoint::multiplicity);

  py::class_<ElementCoordinate> coordinate(
      m, "ElementCoordinate", "A coordinate by its place in q (-1 if it is no plain number) and in v.");
  define_record(coordinate, py::init<int, int>(), "q"_a, "v"_a);
  coordinate.def_readonly("q", &ElementCoordinate::q).def_readonly("v", &ElementCoordinate::v);

  py::class_<ElementDescription> element(
      m,
      "ElementDescription",
      "A force that a traced program computes between frames A and B (at_a in body a, at_b in body b), along "
      "a path, or on coordinates.");
  define_record(element,
                py::init(&make_element),
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
                "coordinates"_a = std::vector<ElementCoordinate>());
  element.def_readonly("name", &ElementDescription::name)
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
}

}  // namespace

void bind_ties(py::module_& m) {
  bind_loop(m);
  bind_coupling(m);
  bind_element(m);
}

}  // namespace pysim::bindings
