// Product of the derivatives of contact geometry with cotangents: of gaps, normals and points of a pair by
// the poses of its bodies.
//
// A point keeps the feature on which it is: p, p_A, n and the gap are functions of the poses. Of spheres,
// capsules, boxes and meshes over planes they are differentiated here; the text that places other pairs is
// run once more with displacements of both bodies on a tape, each to first order on its own axes.
#pragma once

#include "collision/separation_product.hpp"
#include "stepping/convex/pushing_points.hpp"
#include "tree/tape.hpp"

namespace pysim::stepping {

template <class S>
class ContactGeometryProduct {
 public:
  explicit ContactGeometryProduct(PushingPoints<S>& points) : points_(points) {}

  /// Takes cotangents of gaps, normals and points [begin, end) of a pair back to the poses of its bodies.
  bool pull(int begin, int end, const Workspace<S>& w) {
    const auto& pair = *points_[begin].pair;
    const auto kind = pair.shape_b->shape.kind;
    if (!pair.plane || collision::is_curved(kind)) return run(begin, end, w);
    // p = corner − r n, which turns against the body
    const S radius = all<S>(collision::is_round(kind) ? pair.shape_b->shape.size[0] : Real(0));
    Force<S>& X_bar = points_.displacement(pair.b);
    for (int n = begin; n < end; ++n) {
      const auto& T = points_[n];
      const auto& P = points_.iterate(T);
      const Vec3<S> along = -T.sums.x * P.at.n;
      X_bar += Force<S>{along, cross(P.at.p, along)};
      X_bar.t += cross(fnma(radius, T.p_bar, T.sums.n), P.at.n);
    }
    return true;
  }

 private:
  using Real = typename S::Real;
  using U = typename collision::UniformOf<S>::type;  ///< shapes are the same in all worlds
  using R = simd::Reverse<U>;

  /// The same, by the text that places the points of the pair.
  bool run(int begin, int end, Workspace<S> w) {
    const auto& pair = *points_[begin].pair;
    simd::Tape<U> tape = tree::take_tape<U>(w);
    const U zero[6] = {};
    Workspace<U> inputs = {reinterpret_cast<U*>(w.next)};
    const R* const of_b = take_inputs<U>(zero, 6, tape, inputs);
    const R* const of_a = take_inputs<U>(zero, 6, tape, inputs);
    const Pose<R> X_WB = displaced(points_.pose(pair.b), of_b);
    const Pose<R> X_WA = pair.a < 0 ? X_WB : displaced(points_.pose(pair.a), of_a);
    int n = begin;
    contact::visit_points<R>(pair,
                             contact::PairPose<R>{pair.a < 0 ? nullptr : &X_WA, X_WB},
                             simd::everywhere<R>(),
                             R(all<U>(Real(simd::infinity))),
                             [&](const contact::PairPoint<R>& from) {
                               while (n < end && points_.number(points_[n]) - pair.first < from.index) ++n;
                               if (n == end || points_.number(points_[n]) - pair.first != from.index) return;
                               const auto& T = points_[n];
                               seed(from.gap, -T.sums.x);
                               seed(from.n, T.sums.n);
                               seed(from.p, T.p_bar);
                               if (pair.a < 0) return;
                               seed(transpose_times(X_WA.R, from.p_O - X_WA.p), T.p_A_bar);
                             });
    tape.pull(0);
    points_.displacement(pair.b) += take_six(of_b);
    if (pair.a >= 0) points_.displacement(pair.a) += take_six(of_a);
    return !tape.is_full();
  }

  /// A pose with a displacement on its axes, to first order.
  static Pose<R> displaced(const Pose<S>& X, const R* by) {
    const R e(all<U>(1));
    const auto number = [](S x) { return R(collision::same_lanes<U>(x)); };
    const auto constant = [&](const Vec3<S>& a) { return Vec3<R>{number(a.x), number(a.y), number(a.z)}; };
    const Mat3<R> axes = {constant(X.R.x), constant(X.R.y), constant(X.R.z)};
    return {axes * Mat3<R>{{e, by[5], -by[4]}, {-by[5], e, by[3]}, {by[4], -by[3], e}},
            constant(X.p) + axes * Vec3<R>{by[0], by[1], by[2]}};
  }

  static void seed(const R& x, S bar) { stepping::seed(x, collision::same_lanes<U>(bar)); }

  static void seed(const Vec3<R>& a, const Vec3<S>& bar) {
    seed(a.x, bar.x), seed(a.y, bar.y), seed(a.z, bar.z);
  }

  static Force<S> take_six(const R* x) {
    const auto bar = [x](int i) { return collision::same_lanes<S>(take_cotangent(x[i])); };
    return {{bar(0), bar(1), bar(2)}, {bar(3), bar(4), bar(5)}};
  }

  PushingPoints<S>& points_;
};

}  // namespace pysim::stepping
