// Locally shortest path between two points over several obstacles, one after the other. Its sides are those
// of straight lines; where one changes, the length may jump.
//
//     L(c) = L₁(a, c₁) + L₂(c₁, c₂) + … + L_m(c_m₋₁, b)     ∂L/∂c_i = u_i − w_i+1 = 0
//
// A junction c_i is on the straight part between two neighbouring obstacles, u_i and w_i+1 are the directions
// of the parts before and after it. Newton's method moves junctions across the path with the second
// derivatives of L_i: (1 − u uᵀ)/l of the straight part at an end, and the curvature terms of the obstacle.
// It starts from obstacles that are wrapped in turn between the neighbours' points of tangency.
//
// At the solution L is stationary in c, so that its slopes are those with junctions fixed on the obstacles
// before them. Its second derivatives have −h H⁻¹ hᵀ besides, H = ∂²L/∂c² and h = ∂²L/∂c∂x of the motions x
// of the ends of all parts against their obstacles; w of the obstacle after a junction turns against the one
// before it, which adds −ω × u. Eliminated in turn, it is a sum of squares.
#pragma once

#include "elements/wrapping.hpp"

namespace pysim::elements {

constexpr int most_obstacles = tree::most_obstacles;

/// Paths over obstacles, each in its frame, and the junctions between them in the world.
template <class S>
struct WrapChain {
  Wrap<S> over[most_obstacles];
  Vec3<S> junction[most_obstacles];  ///< after each obstacle, the end of the path after the last
};

/// A path over one obstacle of a chain with its ends, in the world.
template <class S>
struct ChainLink {
  Wrap<S> over;
  Vec3<S> u_a, u_b;        ///< directions of the straight parts
  S inverse_a, inverse_b;  ///< of their lengths

  /// ∂²L/∂a² e and ∂²L/∂b² e.
  Vec3<S> by_start(const Vec3<S>& e) const {
    Vec3<S> sum = inverse_a * fnma(dot(u_a, e), u_a, e);
    for (const auto& term : over.term) sum = fma(term.p * dot(term.f, e), term.f, sum);
    return sum;
  }
  Vec3<S> by_end(const Vec3<S>& e) const {
    Vec3<S> sum = inverse_b * fnma(dot(u_b, e), u_b, e);
    for (const auto& term : over.term) sum = fma(term.s * dot(term.g, e), term.g, sum);
    return sum;
  }
  /// ∂²L/∂a∂b e, and its transpose times e.
  Vec3<S> start_by_end(const Vec3<S>& e) const {
    Vec3<S> sum = zero3<S>();
    for (const auto& term : over.term) sum = fma(term.q * dot(term.g, e), term.f, sum);
    return sum;
  }
  Vec3<S> end_by_start(const Vec3<S>& e) const {
    Vec3<S> sum = zero3<S>();
    for (const auto& term : over.term) sum = fma(term.q * dot(term.f, e), term.g, sum);
    return sum;
  }
};

/// The same between ends of the world, of a path over an obstacle at X_WO.
template <class S>
ChainLink<S> chain_link(const Pose<S>& X_WO, Wrap<S> over, const Vec3<S>& from, const Vec3<S>& to) {
  over.P = X_WO * over.P;
  over.Q = X_WO * over.Q;
  for (auto& term : over.term) {
    term.f = X_WO.R * term.f;
    term.g = X_WO.R * term.g;
  }
  const S tiny = all<S>(typename S::Real(1e-30)), one = all<S>(1);
  const Vec3<S> a = over.P - from, b = to - over.Q;
  const S inverse_a = one / max(sqrt(dot(a, a)), tiny), inverse_b = one / max(sqrt(dot(b, b)), tiny);
  return {over, inverse_a * a, inverse_b * b, inverse_a, inverse_b};
}

/// ∂²L/∂c² in two directions across the path at every junction.
template <class S>
struct JunctionSystem {
  static constexpr int most = 2 * (most_obstacles - 1);
  int size;
  Vec3<S> direction[most];
  S H[most][most];  ///< upper triangle
};

template <class S>
JunctionSystem<S> junction_system(const ChainLink<S>* link, int count) {
  JunctionSystem<S> system = {2 * (count - 1), {}, {}};
  for (int i = 0; i + 1 < count; ++i) {
    const Vec3<S> u = normalised(link[i].u_b + link[i + 1].u_a), c = across(u);
    system.direction[2 * i] = c;
    system.direction[2 * i + 1] = cross(u, c);
  }
  for (int i = 0; i < system.size; ++i) {
    for (int k = i; k < system.size; ++k) system.H[i][k] = all<S>(0);
    const int at = i / 2;
    const Vec3<S>& e = system.direction[i];
    const Vec3<S> own = link[at].by_end(e) + link[at + 1].by_start(e), next = link[at + 1].end_by_start(e);
    for (int k = i; k < 2 * at + 2; ++k) system.H[i][k] = dot(own, system.direction[k]);
    for (int k = 2 * at + 2; k < 2 * at + 4 && k < system.size; ++k) {
      system.H[i][k] = dot(next, system.direction[k]);
    }
  }
  return system;
}

/// Gaussian elimination: subtract(k, i, ratio) takes `ratio` times row i from row k.
template <class S, class Subtract>
void eliminate(JunctionSystem<S>& system, const Subtract& subtract) {
  const S tiny = all<S>(typename S::Real(1e-30));
  for (int i = 0; i < system.size; ++i) {
    S& pivot = system.H[i][i];
    pivot = select(abs(pivot) > tiny, pivot, tiny);
    for (int k = i + 1; k < system.size; ++k) {
      const S ratio = system.H[i][k] / pivot;
      for (int n = k; n < system.size; ++n) {
        system.H[k][n] = fnma(ratio, system.H[i][n], system.H[k][n]);
      }
      subtract(k, i, ratio);
    }
  }
}

/// Junctions in the middle between the points of tangency of neighbours, which are wrapped in turn.
template <class S, class Obstacles>
void place_junctions(const Obstacles& obstacles, const Vec3<S>& a, const Vec3<S>& b, Vec3<S>* junction) {
  using Real = typename S::Real;
  constexpr int sweeps = 4;
  const int count = obstacles.count;
  const S half = all<S>(Real(0.5)), margin = all<S>(Real(0.05)), most_share = all<S>(Real(0.95));
  Vec3<S> P[most_obstacles] = {}, Q[most_obstacles] = {};
  Mask<S> on[most_obstacles];
  for (int i = 0; i < count; ++i) on[i] = !simd::everywhere<S>();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (int i = 0; i < count; ++i) {
      Vec3<S> from = a, to = b;
      for (int k = 0; k < i; ++k) from = select(on[k] & obstacles.outside(i, Q[k]), Q[k], from);
      for (int k = count - 1; k > i; --k) to = select(on[k] & obstacles.outside(i, P[k]), P[k], to);
      const ChainLink<S> link =
          chain_link(obstacles.pose(i), obstacles.template wrap<false>(i, from, to), from, to);
      const S share = max(min(obstacles.nearest(i, from, to), most_share), margin);
      const Vec3<S> passed = fma(share, to - from, from);
      on[i] = link.over.touches;
      P[i] = select(on[i], link.over.P, passed);
      Q[i] = select(on[i], link.over.Q, passed);
    }
  }
  for (int i = 0; i + 1 < count; ++i) junction[i] = half * (Q[i] + P[i + 1]);
}

/// Obstacles have count, pose(i), wrap<with_curvature>(i, from, to) in their frames, nearest(i, from, to),
/// the share of a straight line at which it is nearest, and outside(i, x).
template <class S, bool with_curvature, class Obstacles>
WrapChain<S> wrap_chain(const Obstacles& obstacles, const Vec3<S>& a, const Vec3<S>& b) {
  using Real = typename S::Real;
  constexpr int most = 30;
  const int count = obstacles.count;
  WrapChain<S> chain;
  chain.junction[count - 1] = b;
  if (count == 1) {
    chain.over[0] = obstacles.template wrap<with_curvature>(0, a, b);
    return chain;
  }
  place_junctions(obstacles, a, b, chain.junction);
  const S half = all<S>(Real(0.5)), one = all<S>(1);
  const S enough = all<S>(sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6));
  Mask<S> going = simd::everywhere<S>();  // a lane stops at its own root, whatever the others do
  for (int k = 0;; ++k) {
    ChainLink<S> link[most_obstacles];
    for (int i = 0; i < count; ++i) {
      const Vec3<S>& from = i == 0 ? a : chain.junction[i - 1];
      const Vec3<S>& to = chain.junction[i];
      chain.over[i] = obstacles.template wrap<true>(i, from, to);
      link[i] = chain_link(obstacles.pose(i), chain.over[i], from, to);
    }
    S kink = all<S>(0);
    for (int i = 0; i + 1 < count; ++i) {
      const Vec3<S> g = link[i].u_b - link[i + 1].u_a;
      kink = max(kink, dot(g, g));
    }
    going = going & (kink > enough * enough);
    if (k == most || !simd::any(going)) return chain;
    JunctionSystem<S> system = junction_system(link, count);
    S step[JunctionSystem<S>::most];
    for (int i = 0; i < system.size; ++i) {
      step[i] = dot(link[i / 2 + 1].u_a - link[i / 2].u_b, system.direction[i]);
    }
    eliminate(system, [&](int to, int from, S ratio) { step[to] = fnma(ratio, step[from], step[to]); });
    for (int i = system.size - 1; i >= 0; --i) {
      for (int n = i + 1; n < system.size; ++n) step[i] = fnma(system.H[i][n], step[n], step[i]);
      step[i] = step[i] / system.H[i][i];
    }
    for (int i = 0; i + 1 < count; ++i) {
      const Vec3<S> d =
          fma(step[2 * i], system.direction[2 * i], step[2 * i + 1] * system.direction[2 * i + 1]);
      const S size = sqrt(dot(d, d)) * max(link[i].inverse_b, link[i + 1].inverse_a);
      const S share = half / max(size, half);  // at most half of the shorter part
      chain.junction[i] = select(going, fma(min(share, one), d, chain.junction[i]), chain.junction[i]);
    }
  }
}

/// square(weight, h) for what the junctions add to the second derivatives of a path's length: weight times
/// the square of Σ h_k·x_k, with x_k the motion of the start of part k against its obstacle, then that of the
/// path's end against the last one, then ω × u of every junction, ω of the obstacle after it against the one
/// before.
template <class S, class Square>
void visit_junction_squares(const ChainLink<S>* link, int count, const Square& square) {
  JunctionSystem<S> system = junction_system(link, count);
  Vec3<S> h[JunctionSystem<S>::most][2 * most_obstacles];
  for (int i = 0; i < system.size; ++i) {
    const int at = i / 2;
    const Vec3<S>& e = system.direction[i];
    for (int k = 0; k < 2 * count; ++k) h[i][k] = zero3<S>();
    h[i][at] = link[at].start_by_end(e);
    h[i][at + 1] = link[at + 1].by_start(e);
    if (at + 2 == count) h[i][count] = link[at + 1].end_by_start(e);
    h[i][count + 1 + at] = -e;
  }
  eliminate(system, [&](int to, int from, S ratio) {
    for (int k = 0; k < 2 * count; ++k) h[to][k] = fnma(ratio, h[from][k], h[to][k]);
  });
  for (int i = 0; i < system.size; ++i) square(-all<S>(1) / system.H[i][i], h[i]);
}

}  // namespace pysim::elements
