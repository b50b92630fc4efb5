// Points of paths: fixed on their bodies, or moved in their frames by coordinates x.
//
//     p_B = p_BF + R_BF f(x)        ṗ = R_WB (ω × p_B + v + Σ e_i ẋ_i)        e_i = ∂p_B/∂x_i
//
// f is a traced program, of F, the frame of the path's part on body B. A force on the point acts on B and,
// along e_i, on the coordinates.
#pragma once

#include "elements/straight_paths.hpp"

namespace pysim::elements {

using simd::Mask;
using tree::ElementCoordinate;

/// Derivatives of a moving point by its coordinates, in the frame of its body; none of a fixed point.
template <class S>
struct PointSlopes {
  int count = 0;
  const ElementCoordinate* coordinate = nullptr;  ///< [count] of the tree
  const Vec3<S>* first = nullptr;                 ///< [count] ∂p_B/∂x_i
  const Vec3<S>* second = nullptr;                ///< [count²] ∂²p_B/∂x_i∂x_k; null if not requested
};

/// End of a straight part of a path: a point of a body, in its frame.
template <class S>
struct PathEnd {
  int body;
  Vec3<S> at;
  PointSlopes<S> slopes = {};

  bool moves() const { return slopes.count > 0; }
};

/// Points of a path at the tree's q; what moves them is in the workspace. Parts of a path at one moving point
/// have the same coordinates, and its program runs once for those that follow each other.
template <class S, bool with_second = false>
class PathEnds {
 public:
  PathEnds(const ModelOf<S>& model, const S* q, Workspace<S>& w) : model_(model), q_(q), w_(w) {}

  PathEnd<S> operator()(const PathPoint<typename S::Parameter>& point) {
    if (!point.moves()) return {point.body, spatial::all3<S>(point.at + 9)};
    if (point.first != first_) evaluate(point);
    return last_;
  }

 private:
  void evaluate(const PathPoint<typename S::Parameter>& point) {
    const int n = point.count, vectors = with_second ? n + n * n : n;
    const ElementCoordinate* const x = model_.element_coordinate + point.first;
    const auto& program = model_.program[with_second ? point.derivative : point.program];
    Vec3<S>* const slope = take<Vec3<S>>(w_, vectors);
    Workspace<S> inner = w_;
    S* const registers = take<S>(inner, program.registers);
    for (int i = 0; i < n; ++i) registers[i] = q_[x[i].q];
    run_program(program, n, registers);
    const auto R_BF = spatial::all33<S>(point.at);
    const auto vector = [&](int k) {
      const int* const to = program.outputs + 3 * k;
      return R_BF * Vec3<S>{registers[to[0]], registers[to[1]], registers[to[2]]};
    };
    for (int k = 0; k < vectors; ++k) slope[k] = vector(1 + k);
    const Vec3<S> at = spatial::all3<S>(point.at + 9) + vector(0);
    last_ = {point.body, at, {n, x, slope, with_second ? slope + n : nullptr}};
    first_ = point.first;
  }

  const ModelOf<S>& model_;
  const S* q_;
  Workspace<S>& w_;
  int first_ = -1;  ///< coordinate of the point that was evaluated last
  PathEnd<S> last_ = {-1, zero3<S>()};
};

/// The slopes of a point where it counts, zeros elsewhere.
template <class S, bool with_second>
PointSlopes<S> select_slopes(Mask<S> counts, const PointSlopes<S>& slopes, Workspace<S>& w) {
  const int n = slopes.count, vectors = with_second ? n + n * n : n;
  if (n == 0) return {};
  Vec3<S>* const slope = take<Vec3<S>>(w, vectors);
  for (int k = 0; k < vectors; ++k) slope[k] = select(counts, slopes.first[k], zero3<S>());
  return {n, slopes.coordinate, slope, with_second ? slope + n : nullptr};
}

/// A vector in the axes of body b, in the world's.
template <class S>
PYSIM_INLINE Vec3<S> in_world(const PlacedBody<S>* body, int b, const Vec3<S>& x) {
  return b < 0 ? x : body[b].X_WB.R * x;
}

/// visit(number of the velocity, e_i in the world) for the coordinates that move a point in its body's frame.
template <class S, class Visit>
PYSIM_INLINE void visit_point_slopes(const PlacedBody<S>* body, const PathEnd<S>& end, const Visit& visit) {
  for (int i = 0; i < end.slopes.count; ++i) {
    visit(end.slopes.coordinate[i].v, in_world(body, end.body, end.slopes.first[i]));
  }
}

/// v may be null (zero).
template <class S>
PYSIM_INLINE PointMotion<S> end_motion(const PlacedBody<S>* body, const PathEnd<S>& end, const S* v) {
  PointMotion<S> motion = point_motion(body, end.body, end.at);
  if (v == nullptr) return motion;
  visit_point_slopes(body, end, [&](int k, const Vec3<S>& e) { motion.v = fma(v[k], e, motion.v); });
  return motion;
}

}  // namespace pysim::elements
