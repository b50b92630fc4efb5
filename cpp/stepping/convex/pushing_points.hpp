// Contact points that push in a convex step: how they move with their bodies, and products of the derivatives
// of that with cotangents.
//
//     u = V_b·p − R_ABᵀ (V_a·p_A + u_s)        ω = ω_b − R_ABᵀ ω_a
//
// Points that push in no pass and world have no derivatives and are left out.
#pragma once

#include "constraints/contact_law_product.hpp"
#include "contact/pairs_in_reach.hpp"
#include "contact/problem.hpp"
#include "stepping/convex/free_velocity.hpp"
#include "stepping/feature_switches.hpp"
#include "stepping/velocity_terms_product.hpp"

namespace pysim::stepping {

using spatial::Pose;

/// Cotangents of the bodies [bodies], on their axes; sums.
template <class S>
struct BodyCotangents {
  static constexpr int passes = 2;  ///< the last one, and that whose impulses limit friction

  Force<S>*displacement, *start, *shift, *now[passes];
};

/// Twists of the bodies [bodies]: at the start, of shifts, and at the solutions of the passes.
template <class S>
struct BodyTwists {
  Motion<S>*start, *shift, *now[BodyCotangents<S>::passes];
};

template <class S>
class PushingPoints {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Pair = contact::ContactPair<Parameter>;
  using Sums = constraints::ContactCotangents<S>;
  using Problem = contact::ConvexProblem<S>;

  static constexpr int passes = BodyCotangents<S>::passes;

  struct Point {
    const Pair* pair;
    int place, slot, turning;  ///< turning is −1 if nothing resists it
    S limit[passes];
    Mask<S> touches;  ///< see `mark_touching`
    Mask<S> stays;    ///< room to count switches of features
    Vec3<S> p_bar, p_A_bar;
    Sums sums, turning_sums;  ///< u of them is not used
  };

  PushingPoints(const contact::Contacts<Parameter>& contacts,
                const dynamics::LoadedFactor<S>& factor,
                Problem& problem,
                S h,
                Workspace<S>& w)
      : contacts_(contacts),
        factor_(factor),
        problem_(problem),
        h_(h),
        point_(take<Point>(w, contacts.points)) {}

  /// Lists the points that push in the first `passes`, where `twists` are those of the bodies.
  void begin(const BodyTwists<S>& twists, const BodyCotangents<S>& sums, int passes) {
    twists_ = twists;
    sums_ = sums;
    count_ = 0;
    problem_.pairs.each([&](int k, const Pair& pair) {
      const int first = problem_.pairs.first[k];
      for (int m = first; m < first + problem_.pairs.used[k]; ++m) {
        auto& P = problem_.kinds.points.point[m];
        Point& T = point_[count_];
        T.limit[0] = T.limit[1] = P.lagged;
        T.pair = &pair;
        T.place = k;
        T.slot = m;
        T.turning = pair.turning < 0 ? -1 : problem_.pairs.first_turning[k] + m - first;
        P.pushes = false;
        P.impulse = constraints::no_impulse<S>();
        auto pushes = P.lagged > all<S>(0);
        for (int pass = 0; pass < passes; ++pass) {
          const S x = fnma(h_, dot(P.at.n, velocity(T, twists_.now[pass], true)), P.at.x);
          pushes |= x > all<S>(0);
        }
        if (!none(pushes)) ++count_;
      }
    });
  }

  int count() const { return count_; }
  const contact::Contacts<Parameter>& contacts() const { return contacts_; }

  /// 1 at the points [points] that leave a deflection, 0 elsewhere.
  void list_touching(S* to) const {
    for (int k = 0; k < contacts_.points; ++k) to[k] = all<S>(0);
    for (int n = 0; n < count_; ++n) to[number(point_[n])] = simd::number(point_[n].touches);
  }

  /// Lets `touches(P)` say where points leave a deflection, by the impulses of the last pass, which have been
  /// made.
  template <class Touches>
  void mark_touching(const Touches& touches) {
    for (int n = 0; n < count_; ++n) point_[n].touches = touches(iterate(point_[n]));
  }

  /// Adds the wrenches of the impulses that were made last [bodies].
  void add_impulses(Force<S>* on) const {
    for (int n = 0; n < count_; ++n) {
      const Point& T = point_[n];
      push(T, iterate(T).gamma_hat, on);
      if (T.turning >= 0) twist(T, problem_.kinds.turnings.turning[T.turning].gamma_hat, on);
    }
  }

  /// Counts the switches that points meet in the last pass, whose impulses have been made. If radii may be
  /// `renewed`, they are where friction is at the limit of the normal impulse just found, too.
  void count_switches(const SwitchCounts<S>& counts, bool renewed) const {
    problem_.pairs.each([&](int k, const Pair& pair) {
      auto touching = simd::nowhere<S>();
      for (int m = problem_.pairs.first[k]; m < problem_.pairs.first[k] + problem_.pairs.used[k]; ++m) {
        Point T;
        T.pair = &pair, T.place = k, T.slot = m;
        const auto& at = iterate(T).at;
        const S v_n = dot(at.n, velocity(T, twists_.now[0], true));
        touching |= counts.is_met(fnma(h_, v_n, at.x), abs(at.x) + h_ * abs(v_n));
      }
      counts.touching[problem_.pairs.index[k]] += simd::number(touching);
    });
    for (int n = 0; n < count_; n = end_of_pair(n)) {
      const int pair = problem_.pairs.index[point_[n].place];
      auto sticking = simd::nowhere<S>();
      for (int i = n; i < end_of_pair(n); ++i) sticking |= is_at_limit(point_[i], renewed);
      counts.sticking[pair] += simd::number(sticking);
      counts.feature[pair] += simd::number(is_at_feature(n));
    }
  }

  const Point& operator[](int n) const { return point_[n]; }
  contact::PointIterate<S>& iterate(const Point& T) const { return problem_.kinds.points.point[T.slot]; }
  int number(const Point& T) const { return problem_.pairs.slot[T.slot]; }
  int pair_number(const Point& T) const { return problem_.pairs.index[T.place]; }
  int turning_number(const Point& T) const { return T.pair->turning + number(T) - T.pair->first; }
  const Mat3<S>& axes(const Point& T) const { return problem_.pairs.R_AB[T.place]; }
  const Pose<S>& pose(int body) const { return factor_.X_WB[body]; }

  /// Cotangent of a displacement of a body, on its axes.
  Force<S>& displacement(int body) { return sums_.displacement[body]; }

  /// The end of the points of a pair that begin at n.
  int end_of_pair(int n) const {
    int end = n;
    while (end < count_ && point_[end].place == point_[n].place) ++end;
    return end;
  }

 protected:
  static Vec3<S> surface(const Point& T) { return spatial::all3<S>(T.pair->surface); }

  static void clear(Point& T) {
    T.p_bar = T.p_A_bar = spatial::zero3<S>();
    T.sums = T.turning_sums = Sums{};
  }

  /// Velocity on a, with that of its surface if `slides`; on the axes of a.
  Vec3<S> velocity_of_a(const Point& T, const Motion<S>* V, bool slides) const {
    Vec3<S> u = slides ? surface(T) : spatial::zero3<S>();
    if (T.pair->a >= 0) u += cross_add(V[T.pair->a].w, iterate(T).p_A, V[T.pair->a].v);
    return u;
  }

  Vec3<S> velocity(const Point& T, const Motion<S>* V, bool slides) const {
    const Motion<S>& B = V[T.pair->b];
    return cross_add(B.w, iterate(T).at.p, B.v) - transpose_times(axes(T), velocity_of_a(T, V, slides));
  }

  Vec3<S> spin(const Point& T, const Motion<S>* V) const {
    const Vec3<S>& w = V[T.pair->b].w;
    return T.pair->a < 0 ? w : w - transpose_times(axes(T), V[T.pair->a].w);
  }

  /// Adds the wrenches of an impulse on b, and of its reaction.
  void push(const Point& T, const Vec3<S>& f, Force<S>* on) const {
    const auto& P = iterate(T);
    on[T.pair->b] += Force<S>{f, cross(P.at.p, f)};
    if (T.pair->a < 0) return;
    const Vec3<S> reaction = -(axes(T) * f);
    on[T.pair->a] += Force<S>{reaction, cross(P.p_A, reaction)};
  }

  void twist(const Point& T, const Vec3<S>& t, Force<S>* on) const {
    on[T.pair->b].t += t;
    if (T.pair->a >= 0) on[T.pair->a].t = on[T.pair->a].t - axes(T) * t;
  }

  /// Cotangents for that of `velocity`: of the twists V_bar, the points and the poses.
  void pull_velocity(Point& T, const Vec3<S>& bar, const Motion<S>* V, bool slides, Force<S>* V_bar) {
    const int a = T.pair->a, b = T.pair->b;
    push(T, bar, V_bar);
    T.p_bar += cross(bar, V[b].w);
    const Vec3<S> w = velocity_of_a(T, V, slides), on_a = -(axes(T) * bar);
    sums_.displacement[b].t += cross(transpose_times(axes(T), w), bar);
    if (a < 0) return;
    T.p_A_bar += cross(on_a, V[a].w);
    sums_.displacement[a].t += cross(w, on_a);
  }

  void pull_spin(const Point& T, const Vec3<S>& bar, const Motion<S>* V, Force<S>* V_bar) {
    const int a = T.pair->a, b = T.pair->b;
    twist(T, bar, V_bar);
    if (a < 0) return;
    sums_.displacement[b].t += cross(transpose_times(axes(T), V[a].w), bar);
    sums_.displacement[a].t += cross(axes(T) * bar, V[a].w);
  }

  Vec3<S> shift_of(const Pair& pair, int place, const contact::PointIterate<S>& P) const {
    const Motion<S>& B = twists_.shift[pair.b];
    const Vec3<S> shift = cross_add(B.w, P.at.p, B.v);
    if (pair.a < 0) return shift;
    const Motion<S>& A = twists_.shift[pair.a];
    return shift - transpose_times(problem_.pairs.R_AB[place], cross_add(A.w, P.p_A, A.v));
  }

  const contact::Contacts<Parameter>& contacts_;
  const dynamics::LoadedFactor<S>& factor_;
  Problem& problem_;
  const S h_;
  Point* const point_;
  int count_ = 0;
  BodyTwists<S> twists_;
  BodyCotangents<S> sums_;

 private:
  /// Where friction of a point begins or ends to slide or to turn.
  Mask<S> is_at_limit(const Point& T, bool renewed) const {
    const auto& P = iterate(T);
    const S limit = P.at.limit, o = all<S>(0);
    const S next = renewed ? contact::PointKind<S>::renewed_limit(P) : limit;
    const auto is_at = [o](S size, S radius) {
      return (radius > o) & SwitchCounts<S>::is_met(size - radius, radius);
    };
    const Vec3<S> y = constraints::sticking_impulse<S>(T.pair->law, P.at, h_, P.now);
    const S size = sqrt(dot(y, y));
    const auto slides = is_at(size, select(abs(size - next) < abs(size - limit), next, limit));
    if (T.turning < 0) return slides;
    const auto& W = problem_.kinds.turnings.turning[T.turning];
    const auto& law = T.pair->law;
    const Vec3<S> turned =
        constraints::angular_stiffness<S>(law, h_) * fma(h_ + all<S>(law.relaxation), W.now, W.s);
    const S spun = dot(P.at.n, turned);
    const Vec3<S> rolled = fnma(spun, P.at.n, turned);
    return slides | is_at(sqrt(dot(rolled, rolled)), all<S>(law.rolling) * limit) |
           is_at(abs(spun), all<S>(law.spinning) * limit);
  }

  /// Where a point of the pair that begins at point n is at a switch of features.
  Mask<S> is_at_feature(int n) const {
    Point* const first = point_ + n;
    const Pair& pair = *first->pair;
    const Pose<S>* const X_WA = pair.a < 0 ? nullptr : &factor_.X_WB[pair.a];
    const FeatureSwitches<S> switches(pair, X_WA, factor_.X_WB[pair.b]);
    const auto at = [&](int i) {
      const auto& P = iterate(first[i]);
      return PlacedPoint<S>{number(first[i]) - pair.first, P.feature, P.at.p, P.at.n, first[i].touches};
    };
    return switches.met(end_of_pair(n) - n, at, [&](int i) -> Mask<S>& { return first[i].stays; });
  }
};

}  // namespace pysim::stepping
