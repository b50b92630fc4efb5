// Forces along paths of fixed points, without obstacles, conditional and moving points.
//
//     L = Σ m_j |p_{j+1} − p_j|     T = T(L, L̇)     f_j = T m_j n_j on the first point, −f_j on the next
//
// The traced program computes T alone. The caller places the points and applies the forces: on
// six-dimensional twists, in the plane, or as generalised forces.
#pragma once

#include "elements/placed_bodies.hpp"
#include "tree/program.hpp"

namespace pysim::elements {

using tree::Element;
using tree::PathPoint;
using tree::ProgramView;

/// Runs a program whose inputs are the first registers; its outputs remain in them.
template <class S>
void run_program(const ProgramView<typename S::Parameter>& program, int inputs, S* registers) {
  tree::load_constants(program, registers + inputs);
  tree::run(program, 0, program.end, registers);
}

/// Straight part of a path between two of its points.
template <class S>
struct Segment {
  Vec3<S> n;       ///< direction, from the first point to the second
  Vec3<S> d_rate;  ///< difference of their velocities
  S length, inverse_length;
  S multiplicity;  ///< of strands
};

/// Coincident points have no direction.
template <class S>
PYSIM_INLINE Segment<S> segment(const PointMotion<S>& A, const PointMotion<S>& B, S multiplicity) {
  const Vec3<S> d = B.p - A.p;
  const S length = sqrt(dot(d, d)), o = all<S>(0);
  const S inverse_length = select(length > o, all<S>(1) / length, o);
  return {inverse_length * d, B.v - A.v, length, inverse_length, multiplicity};
}

/// A point of a path that is fixed on a body, at `at` in its frame.
template <class S>
struct MovingEnd {
  int body;
  Vec3<S> at;
  PointMotion<S> motion;
};

/// One path: end(point, k) places point k of the model's paths, pull(end, f) applies f, in the world, to it.
template <class S, class End, class Pull>
PYSIM_INLINE void pull_straight_path(const ModelOf<S>& model,
                                     const Element<typename S::Parameter>& element,
                                     const End& end,
                                     const Pull& pull,
                                     Workspace<S> w) {
  using Placed = decltype(end(model.path_point[0], 0));
  const int first = element.first, parts = element.count - 1;
  const auto* const point = model.path_point + first;
  const auto& program = model.program[element.program];
  S* const registers = take<S>(w, program.registers);
  const auto tension = [&](S length, S rate) {
    registers[0] = length;
    registers[1] = rate;
    run_program(program, 2, registers);
    return registers[program.outputs[0]];
  };
  const auto pull_part = [&](const Placed& A, const Placed& B, const Segment<S>& s, S T) {
    const Vec3<S> f = (T * s.multiplicity) * s.n;
    pull(A, f);
    pull(B, -f);
  };
  if (parts == 1) {  // nothing has to be stored
    const Placed A = end(point[0], first), B = end(point[1], first + 1);
    const Segment<S> s = segment(A.motion, B.motion, all<S>(point[1].multiplicity));
    pull_part(A, B, s, tension(s.multiplicity * s.length, s.multiplicity * dot(s.n, s.d_rate)));
    return;
  }
  Placed* const placed = take<Placed>(w, parts + 1);
  Segment<S>* const part = take<Segment<S>>(w, parts);
  S length = all<S>(0), rate = all<S>(0);
  placed[0] = end(point[0], first);
  for (int k = 0; k < parts; ++k) {
    placed[k + 1] = end(point[k + 1], first + k + 1);
    part[k] = segment(placed[k].motion, placed[k + 1].motion, all<S>(point[k + 1].multiplicity));
    length = fma(part[k].multiplicity, part[k].length, length);
    rate = fma(part[k].multiplicity, dot(part[k].n, part[k].d_rate), rate);
  }
  const S T = tension(length, rate);
  for (int k = 0; k < parts; ++k) pull_part(placed[k], placed[k + 1], part[k], T);
}

/// All of the model's.
template <class S, class End, class Pull>
void pull_straight_paths(const ModelOf<S>& model, const End& end, const Pull& pull, Workspace<S> w) {
  if (model.straight_paths == 0) return;
  for (int k = 0; k < model.elements; ++k) {
    if (model.element[k].is_straight()) pull_straight_path(model, model.element[k], end, pull, w);
  }
}

}  // namespace pysim::elements
