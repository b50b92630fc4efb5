// Paths through points and over obstacles, and the tensions along them:
//
//     L = Σ m_j |p_{j+1} − p_j|      τ = −T ∂L/∂q      T > 0 shortens the path
//
// m_j is the multiplicity of a part of the path, the number of its strands.
#pragma once

#include "elements/ellipsoid_wrapping.hpp"
#include "elements/inside_wrapping.hpp"
#include "elements/path_points.hpp"
#include "elements/torus_wrapping.hpp"
#include "elements/wrap_chain.hpp"

namespace pysim::elements {

/// Path over an obstacle, or past a conditional point, between two points of the world, in the obstacle's
/// frame.
template <class S, bool with_curvature>
Wrap<S> wrap(const PathPoint<typename S::Parameter>& point,
             const Pose<S>& X_WO,
             const S* q,
             const Vec3<S>& from,
             const Vec3<S>& to) {
  const Vec3<S> a = transpose_times(X_WO.R, from - X_WO.p), b = transpose_times(X_WO.R, to - X_WO.p);
  const S r = all<S>(point.radii[0]);
  const Vec3<S> side = spatial::all3<S>(point.side);
  if (point.kind == PathKind::sphere) return over_sphere<S, with_curvature>(a, b, r, side);
  if (point.kind == PathKind::cylinder) {
    return over_cylinder<S, with_curvature>(a, b, r, side, all<S>(point.upper));
  }
  if (point.kind == PathKind::ellipsoid) {
    return over_ellipsoid<S, with_curvature>(a, b, spatial::all3<S>(point.radii), side);
  }
  if (point.kind == PathKind::torus) {
    return through_torus<S, with_curvature>(a, b, r, all<S>(point.radii[1]));
  }
  if (point.kind == PathKind::inside_sphere) return through_sphere<S, with_curvature>(a, b, r);
  if (point.kind == PathKind::inside_cylinder) return through_cylinder<S, with_curvature>(a, b, r);
  const S x = q[point.q];
  return through_point<S, with_curvature>(a, b, (x >= all<S>(point.lower)) & (x <= all<S>(point.upper)));
}

/// Obstacles, or one conditional point, between two points of a path, with their frames in their bodies and
/// the world.
template <class S>
struct ObstacleRun {
  const PathPoint<typename S::Parameter>* point;
  int count;
  const S* q;
  Pose<S> X_BO[most_obstacles], X_WO[most_obstacles];
  PointSlopes<S> slopes;  ///< of a conditional point that moves

  const Pose<S>& pose(int i) const { return X_WO[i]; }

  template <bool with_curvature>
  Wrap<S> wrap(int i, const Vec3<S>& from, const Vec3<S>& to) const {
    return elements::wrap<S, with_curvature>(point[i], X_WO[i], q, from, to);
  }

  /// Share of a straight line at which it is nearest to the centre of an obstacle, or to its axis.
  S nearest(int i, const Vec3<S>& from, const Vec3<S>& to) const {
    const Vec3<S> a = scaled(i, from), d = scaled(i, to) - a;
    return -dot(a, d) / max(dot(d, d), all<S>(typename S::Real(1e-30)));
  }

  Mask<S> outside(int i, const Vec3<S>& x) const {
    const Vec3<S> d = scaled(i, x);
    return point[i].kind == PathKind::torus ? simd::everywhere<S>() : dot(d, d) > all<S>(1);
  }

 private:
  /// A point of the world in the frame of an obstacle, in units of its radii; of a cylinder, across its axis.
  Vec3<S> scaled(int i, const Vec3<S>& x) const {
    const Vec3<S> d = transpose_times(X_WO[i].R, x - X_WO[i].p), r = spatial::all3<S>(point[i].radii);
    const bool is_round = point[i].kind == PathKind::cylinder || point[i].kind == PathKind::inside_cylinder;
    return {d.x / r.x, d.y / r.y, is_round ? all<S>(0) : d.z / r.z};
  }
};

/// The obstacles that begin at a part of a path; none at a point.
template <class S, class Ends>
ObstacleRun<S> obstacle_run(const PlacedBody<S>* body,
                            const S* q,
                            const PathPoint<typename S::Parameter>* point,
                            Ends& end) {
  ObstacleRun<S> run;
  run.point = point, run.count = 0, run.q = q;
  for (; point[run.count].kind != PathKind::point; ++run.count) {
    const auto& obstacle = point[run.count];
    const PathEnd<S> centre = end(obstacle);
    const Pose<S> X_BO = {spatial::all33<S>(obstacle.at), centre.at};
    run.X_BO[run.count] = X_BO;
    run.X_WO[run.count] = obstacle.body < 0 ? X_BO : body[obstacle.body].X_WB * X_BO;
    run.slopes = centre.slopes;
  }
  return run;
}

/// A place of the world as a point on a body.
template <class S>
PathEnd<S> fixed_on(const PlacedBody<S>* body, int b, const Vec3<S>& p) {
  return {b, b < 0 ? p : transpose_times(body[b].X_WB.R, p - body[b].X_WB.p)};
}

/// f(from, to, segment) for every straight part of a path; the length of an arc counts with the part after
/// it. v may be null (zero). `for_slopes` splits the parts between obstacles at their junctions, which are
/// points on the obstacle before them, and finds the second derivatives of moving points.
template <class S, bool for_slopes = false, class Visit>
void visit_segments(const ModelOf<S>& model,
                    const PlacedBody<S>* body,
                    const S* q,
                    const S* v,
                    const Element<typename S::Parameter>& element,
                    const Visit& visit,
                    Workspace<S> w) {
  const auto* const point = model.path_point + element.first;
  PathEnds<S, for_slopes> end(model, q, w);
  PathEnd<S> from = end(point[0]);
  PointMotion<S> A = end_motion(body, from, v);
  for (int k = 1; k < element.count; ++k) {
    const ObstacleRun<S> run = obstacle_run(body, q, point + k, end);
    k += run.count;
    const PathEnd<S> to = end(point[k]);
    const PointMotion<S> B = end_motion(body, to, v);
    const S strands = all<S>(point[k].multiplicity);
    S arc = all<S>(0);  // before `from`
    const auto part = [&](const PathEnd<S>& next, const PointMotion<S>& motion) {
      Segment<S> s = segment(A, motion, strands);
      s.length += arc;
      visit(from, next, s);
    };
    if (run.count > 0) {
      const WrapChain<S> chain = wrap_chain<S, false>(run, A.p, B.p);
      for (int i = 0; i < run.count; ++i) {
        const int obstacle = run.point[i].body;
        const Wrap<S>& over = chain.over[i];
        const PointSlopes<S> slopes = select_slopes<S, for_slopes>(over.touches, run.slopes, w);
        const PathEnd<S> P = {obstacle, run.X_BO[i] * over.P, slopes};
        part(P, end_motion(body, P, v));
        from = {obstacle, run.X_BO[i] * over.Q, slopes};
        A = end_motion(body, from, v);
        arc = over.arc;
        if (for_slopes && i + 1 < run.count) {
          const PathEnd<S> c = fixed_on(body, obstacle, chain.junction[i]);
          part(c, end_motion(body, c, v));
          from = c;
          A = end_motion(body, c, v);
          arc = all<S>(0);
        }
      }
    }
    part(to, B);
    from = to;
    A = B;
  }
}

/// Motion of a point against an obstacle, along a direction of the world.
template <class S>
struct RelativeMotionTerm {
  PathEnd<S> end;
  int obstacle;
  Vec3<S> direction;
};

/// visit(from, obstacle, to, term) for the terms that the second derivatives of a path's length have besides
/// those of its straight parts, and square(weight, motions, n) for the square of a sum of motions; their
/// directions are in the world.
template <class S, class Visit, class Square>
void visit_curvature_terms(const ModelOf<S>& model,
                           const PlacedBody<S>* body,
                           const S* q,
                           const Element<typename S::Parameter>& element,
                           const Visit& visit,
                           const Square& square,
                           Workspace<S> w) {
  const auto* const point = model.path_point + element.first;
  PathEnds<S> end(model, q, w);
  for (int k = 1; k + 1 < element.count; ++k) {
    const ObstacleRun<S> run = obstacle_run(body, q, point + k, end);
    if (run.count == 0) continue;
    const PathEnd<S> start = end(point[k - 1]), to = end(point[k + run.count]);
    const Vec3<S> a = point_motion(body, start.body, start.at).p, b = point_motion(body, to.body, to.at).p;
    const WrapChain<S> chain = wrap_chain<S, true>(run, a, b);
    const S strands = all<S>(point[k + run.count].multiplicity);
    ChainLink<S> link[most_obstacles];
    RelativeMotionTerm<S> motion[3 * most_obstacles];
    PathEnd<S> from = start;
    for (int i = 0; i < run.count; ++i) {
      const int obstacle = point[k + i].body;
      const Pose<S>& X_WO = run.X_WO[i];
      const PathEnd<S> next = i + 1 == run.count ? to : fixed_on(body, obstacle, chain.junction[i]);
      for (const CurvatureTerm<S>& term : chain.over[i].term) {
        const CurvatureTerm<S> in_world = {
            X_WO.R * term.f, X_WO.R * term.g, strands * term.p, strands * term.q, strands * term.s};
        visit(from, obstacle, next, in_world);
      }
      link[i] = chain_link(X_WO, chain.over[i], i == 0 ? a : chain.junction[i - 1], chain.junction[i]);
      motion[i] = {from, obstacle, zero3<S>()};
      motion[i + 1] = {to, obstacle, zero3<S>()};
      from = next;
    }
    const int ends = run.count + 1, turns = run.count - 1;
    for (int i = 0; i < turns; ++i) {  // ω × u from two points of the obstacle after a junction
      const Vec3<S>& c = chain.junction[i];
      const int before = point[k + i].body, after = point[k + i + 1].body;
      motion[ends + 2 * i] = {fixed_on(body, after, c + link[i].u_b), before, zero3<S>()};
      motion[ends + 2 * i + 1] = {fixed_on(body, after, c), before, zero3<S>()};
    }
    if (turns > 0) {
      visit_junction_squares(link, run.count, [&](S weight, const Vec3<S>* direction) {
        for (int i = 0; i < ends; ++i) motion[i].direction = direction[i];
        for (int i = 0; i < turns; ++i) {
          motion[ends + 2 * i].direction = direction[ends + i];
          motion[ends + 2 * i + 1].direction = -direction[ends + i];
        }
        square(strands * weight, motion, ends + 2 * turns);
      });
    }
    k += run.count;
  }
}

/// Number of vectors by which the straight parts of a path are remembered.
template <class Real>
constexpr int part_vectors(const Element<Real>& element) {
  return (element.count - 1) * (element.is_straight() ? 1 : 3);
}

/// Number of those by which its line is remembered.
template <class Real>
constexpr int line_vectors(const Element<Real>& element) {
  return part_vectors(element) + element.slopes;
}

/// Writes L and L̇ to the first registers; v may be null (zero). `line`, which may be null, receives the
/// directions of the straight parts, unless all points are fixed their ends, and then the slopes of moving
/// points, so that a tension is applied without wrapping again.
template <class S>
void load_path(const ModelOf<S>& model,
               const PlacedBody<S>* body,
               const S* q,
               const S* v,
               const Element<typename S::Parameter>& element,
               S* registers,
               Workspace<S> w,
               Vec3<S>* line = nullptr) {
  S length = all<S>(0), rate = all<S>(0);
  const bool with_ends = !element.is_straight();
  Vec3<S>* slope = line == nullptr ? nullptr : line + part_vectors(element);
  const auto keep_slopes = [&](const PathEnd<S>& end) {
    visit_point_slopes(body, end, [&](int, const Vec3<S>& e) { *slope++ = e; });
  };
  bool is_first = true;
  const auto add = [&](const PathEnd<S>& from, const PathEnd<S>& to, const Segment<S>& s) {
    length = fma(s.multiplicity, s.length, length);
    rate = fma(s.multiplicity, dot(s.n, s.d_rate), rate);
    if (line == nullptr) return;
    *line++ = s.n;
    if (!with_ends) return;
    *line++ = from.at;
    *line++ = to.at;
    if (is_first) keep_slopes(from);
    is_first = false;
    keep_slopes(to);
  };
  visit_segments(model, body, q, v, element, add, w);
  registers[0] = length;
  registers[1] = rate;
}

/// Adds a tension along a path, whose line `load_path` has written.
template <class S>
void push_path(const ModelOf<S>& model,
               const Element<typename S::Parameter>& element,
               S tension,
               const Vec3<S>* line,
               const BodyWrenches<S>& wrenches) {
  const auto* const point = model.path_point + element.first;
  const bool is_straight = element.is_straight();
  const int vectors = is_straight ? 1 : 3;
  const Vec3<S>* slope = line + part_vectors(element);  // of `from`
  const auto along = [&](const auto& moving, const Vec3<S>* e, const Vec3<S>& f) {
    const ElementCoordinate* const x = model.element_coordinate + moving.first;
    for (int i = 0; i < moving.count; ++i) wrenches.on_coordinate(x[i].v, dot(e[i], f));
  };
  for (int k = 1; k < element.count; ++k, line += vectors) {
    const auto &from = point[k - 1], &to = point[k];
    if (from.body == to.body && !from.moves() && !to.moves()) continue;
    int end = k;
    while (point[end].kind != PathKind::point) ++end;
    const Vec3<S> f = (tension * all<S>(point[end].multiplicity)) * line[0];
    wrenches.at_point(from.body, is_straight ? spatial::all3<S>(from.at + 9) : line[1], f);
    wrenches.at_point(to.body, is_straight ? spatial::all3<S>(to.at + 9) : line[2], -f);
    along(from, slope, f);
    slope += from.count;
    along(to, slope, -f);
  }
}

template <class S>
void add_path_force(const ModelOf<S>& model,
                    const S* q,
                    const S* v,
                    const Element<typename S::Parameter>& element,
                    const BodyWrenches<S>& wrenches,
                    Workspace<S> w) {
  const PlacedBody<S>* const body = wrenches.body;
  if (element.is_straight()) {
    const auto end = [body](const PathPoint<typename S::Parameter>& point, int) {
      const Vec3<S> at = spatial::all3<S>(point.at + 9);
      return MovingEnd<S>{point.body, at, point_motion(body, point.body, at)};
    };
    const auto pull = [&](const MovingEnd<S>& point, const Vec3<S>& f) {
      wrenches.at_point(point.body, point.at, f);
    };
    pull_straight_path(model, element, end, pull, w);
    return;
  }
  const auto& program = model.program[element.program];
  S* const registers = take<S>(w, program.registers);
  Vec3<S>* const line = take<Vec3<S>>(w, line_vectors(element));
  load_path(model, body, q, v, element, registers, w, line);
  run_program(program, 2, registers);
  push_path<S>(model, element, registers[program.outputs[0]], line, wrenches);
}

}  // namespace pysim::elements
