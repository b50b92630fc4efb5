// Descriptions of loops, couplings and elements.
#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <array>
#include <limits>

#include "bindings/immutable_record.hpp"
#include "tree/model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using tree::CouplingDescription;
using tree::ElementCoordinate;
using tree::ElementDescription;
using tree::LoopDescription;
using PathPoint = tree::PathPointDescription;
using Term = tree::Term<double>;

namespace {

void bind_loop(py::module_& m) {
  py::class_<LoopDescription> loop(m,
                                   "LoopDescription",
                                   "A loop between frames A and B on two bodies (-1 is the world); `motion` "
                                   "is that of the joint that closes it. `function` maps time to the pose, "
                                   "twist and acceleration of a frame that takes the place of A.");
  define_record(loop,
                field("name"_a, &LoopDescription::name),
                field("kind"_a, &LoopDescription::kind),
                field("motion"_a, &LoopDescription::motion),
                field("a"_a, &LoopDescription::a),
                field("b"_a, &LoopDescription::b),
                pose_field("at_a"_a, &LoopDescription::at_a),
                pose_field("at_b"_a, &LoopDescription::at_b),
                field("length"_a, &LoopDescription::length),
                field("independent"_a, &LoopDescription::independent),
                field("start"_a, &LoopDescription::start),
                field("function"_a = py::none(), &LoopDescription::function),
                field("work"_a = -1, &LoopDescription::work));
}

void bind_coupling(py::module_& m) {
  py::class_<Term> term(m, "Term", "Factor times a coordinate, given by its index in q and in v.");
  define_record(term, field("q"_a, &Term::q), field("v"_a, &Term::v), field("factor"_a = 1.0, &Term::factor));

  py::class_<CouplingDescription> coupling(m,
                                           "CouplingDescription",
                                           "Coupling: the sum of the terms minus the offset minus a function "
                                           "of the inputs is 0; without inputs it is a function of time.");
  define_record(coupling,
                field("name"_a, &CouplingDescription::name),
                field("terms"_a, &CouplingDescription::terms),
                field("offset"_a = 0.0, &CouplingDescription::offset),
                field("inputs"_a = std::vector<Term>(), &CouplingDescription::inputs),
                field("function"_a = py::none(), &CouplingDescription::function),
                field("derivative"_a = py::none(), &CouplingDescription::derivative),
                field("work"_a = -1, &CouplingDescription::work));
}

void bind_element(py::module_& m) {
  const Numbers zeros(3, std::array<double, 3>{}.data());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  py::class_<ElementCoordinate> coordinate(
      m, "ElementCoordinate", "A coordinate by its place in q (-1 if it is no plain number) and in v.");
  define_record(coordinate, field("q"_a, &ElementCoordinate::q), field("v"_a, &ElementCoordinate::v));

  py::class_<PathPoint> point(
      m,
      "PathPoint",
      "A part of a path, with its frame in a body (-1: the world); coordinates may move a point.");
  define_record(point,
                field("body"_a, &PathPoint::body),
                pose_field("at"_a, &PathPoint::at),
                field("kind"_a = tree::PathKind::point, &PathPoint::kind),
                vector_field("radii"_a = zeros, &PathPoint::radii),
                vector_field("side"_a = zeros, &PathPoint::side),
                field("q"_a = -1, &PathPoint::q),
                field("lower"_a = -infinity, &PathPoint::lower),
                field("upper"_a = infinity, &PathPoint::upper),
                field("multiplicity"_a = 1.0, &PathPoint::multiplicity),
                field("coordinates"_a = std::vector<ElementCoordinate>(), &PathPoint::coordinates),
                field("place"_a = py::none(), &PathPoint::place),
                field("slopes"_a = py::none(), &PathPoint::slopes));

  py::class_<ElementDescription> element(
      m,
      "ElementDescription",
      "A force that a traced program computes between frames A and B (at_a in body a, at_b in body b), along "
      "a path, or on coordinates.");
  define_record(element,
                field("name"_a, &ElementDescription::name),
                field("kind"_a, &ElementDescription::kind),
                field("program"_a, &ElementDescription::program),
                field("derivative"_a, &ElementDescription::derivative),
                field("energy"_a = py::none(), &ElementDescription::energy),
                field("a"_a = -1, &ElementDescription::a),
                field("b"_a = -1, &ElementDescription::b),
                pose_field("at_a"_a = identity(), &ElementDescription::at_a),
                pose_field("at_b"_a = identity(), &ElementDescription::at_b),
                field("points"_a = std::vector<PathPoint>(), &ElementDescription::points),
                field("coordinates"_a = std::vector<ElementCoordinate>(), &ElementDescription::coordinates));
}

}  // namespace

void bind_ties(py::module_& m) {
  bind_loop(m);
  bind_coupling(m);
  bind_element(m);
}

}  // namespace pysim::bindings
