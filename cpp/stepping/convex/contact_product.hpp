// Products of the derivatives of a convex step's contact points with cotangents: laws, deflections, and the
// geometry of the shapes, by the poses of both bodies.
//
//     u = V_b·p − R_ABᵀ (V_a·p_A + u_s)        x = −gap − n·Δ,  s = R_WBᵀ s_W + (1 − n nᵀ) Δ        Δ  shifts
//
//     γ(u; n, s, x, r) of every pass        r = μ h f_n(x, n·u₀), or μ n·γ of the pass before
//
// A point keeps the feature on which it is: p, p_A, n and the gap are functions of the poses. Of spheres,
// capsules, boxes and meshes over planes they are differentiated here; the text that places other pairs is
// run once more with displacements of both bodies on a tape, each to first order on its own axes.
//
// Points that push in no pass and world have no derivatives and are left out.
#pragma once

#include "collision/separation_product.hpp"
#include "constraints/contact_law_product.hpp"
#include "contact/pairs_in_reach.hpp"
#include "contact/problem.hpp"
#include "spatial/so3.hpp"
#include "stepping/convex/feature_switches.hpp"
#include "stepping/convex/switches.hpp"
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
class ContactDerivatives;

template <class S>
class ContactProduct {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Pair = contact::ContactPair<Parameter>;
  using Law = constraints::ContactLaw<S>;
  using Sums = constraints::ContactCotangents<S>;
  using Problem = contact::ConvexProblem<S>;

  ContactProduct(const contact::Contacts<Parameter>& contacts,
                 const contact::Deflections<S>& deflections,
                 const dynamics::LoadedFactor<S>& factor,
                 Problem& problem,
                 S h,
                 Workspace<S>& w)
      : contacts_(contacts),
        deflections_(deflections),
        factor_(factor),
        problem_(problem),
        h_(h),
        point_(take<Point>(w, contacts.points)) {}

  /// Lists the points that push in some pass, where `twists` are those of the bodies and `made` passes count.
  void begin(const BodyTwists<S>& twists, const BodyCotangents<S>& sums, int made) {
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
        for (int pass = 0; pass < made; ++pass) {
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

  /// Takes the radii of the last pass from the impulses of the first one, which have been made, in the worlds
  /// where they were renewed.
  void renew_limits(Mask<S> renewed) {
    for (int n = 0; n < count_; ++n) {
      S& limit = point_[n].limit[0];
      limit = select(renewed, contact::PointKind<S>::renewed_limit(iterate(point_[n])), limit);
    }
  }

  /// Makes the impulses of a pass in the problem.
  void evaluate(int pass) {
    for (int n = 0; n < count_; ++n) {
      const Point& T = point_[n];
      auto& P = iterate(T);
      P.at.limit = T.limit[pass];
      P.now = velocity(T, twists_.now[pass], true);
      P.impulse = constraints::contact_impulse(T.pair->law, P.at, h_, P.now);
      P.made = P.impulse.gamma;
      P.pushes = true;
      if (T.turning < 0) continue;
      auto& W = problem_.kinds.turnings.turning[T.turning];
      W.now = spin(T, twists_.now[pass]);
      W.impulse = constraints::turning_impulse<S>(T.pair->law, P.at.n, W.s, P.at.limit, h_, W.now);
      W.made = W.impulse.gamma;
    }
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
      push(T, iterate(T).made, on);
      if (T.turning >= 0) twist(T, problem_.kinds.turnings.turning[T.turning].made, on);
    }
  }

  /// Counts the switches that points meet in the last pass, whose impulses have been made. If radii may be
  /// `renewed`, they are where friction is at the limit of the normal impulse just found, too.
  void count_switches(const SwitchCounts<S>& counts, bool renewed) const {
    problem_.pairs.each([&](int k, const Pair& pair) {
      for (int m = problem_.pairs.first[k]; m < problem_.pairs.first[k] + problem_.pairs.used[k]; ++m) {
        Point T;
        T.pair = &pair, T.place = k, T.slot = m;
        const auto& at = iterate(T).at;
        const S v_n = dot(at.n, velocity(T, twists_.now[0], true));
        counts.touching[problem_.pairs.index[k]] +=
            SwitchCounts<S>::met(fnma(h_, v_n, at.x), abs(at.x) + h_ * abs(v_n));
      }
    });
    count_features(counts);
    for (int n = 0; n < count_; ++n) {
      const Point& T = point_[n];
      const auto& P = iterate(T);
      const S limit = P.at.limit, o = all<S>(0);
      const S next = renewed ? contact::PointKind<S>::renewed_limit(P) : limit;
      S& sum = counts.sticking[problem_.pairs.index[T.place]];
      const auto add = [&](S size, S radius) {
        sum += select(radius > o, SwitchCounts<S>::met(size - radius, radius), o);
      };
      const Vec3<S> y = constraints::sticking_impulse<S>(T.pair->law, P.at, h_, P.now);
      const S size = sqrt(dot(y, y));
      add(size, select(abs(size - next) < abs(size - limit), next, limit));
      if (T.turning < 0) continue;
      const auto& W = problem_.kinds.turnings.turning[T.turning];
      const auto& law = T.pair->law;
      const Vec3<S> turned =
          constraints::angular_stiffness<S>(law, h_) * fma(h_ + all<S>(law.relaxation), W.now, W.s);
      const S spun = dot(P.at.n, turned);
      const Vec3<S> rolled = fnma(spun, P.at.n, turned);
      add(sqrt(dot(rolled, rolled)), all<S>(law.rolling) * limit);
      add(abs(spun), all<S>(law.spinning) * limit);
    }
  }

  /// Takes cotangents of the deflections at the end (points, 3), on the world's axes, back to the last pass,
  /// whose impulses have been made. They are zero from now on: a point that is not listed has forgotten what
  /// it remembered. `turnings` (turning points, 3) may be null.
  void pull_end(S* deflections, S* turnings) {
    const S o = all<S>(0);
    for (int n = 0; n < count_; ++n) {
      Point& T = point_[n];
      clear(T);
      const Vec3<S> bar = constraints::where(T.touches, load3(deflections + 3 * number(T)));
      pull_end(T,
               bar,
               turnings == nullptr || T.turning < 0
                   ? spatial::zero3<S>()
                   : constraints::where(T.touches, load3(turnings + 3 * turning_number(T))));
    }
    for (int i = 0; i < 3 * contacts_.points; ++i) deflections[i] = o;
    for (int i = 0; turnings != nullptr && i < 3 * contacts_.turning_points; ++i) turnings[i] = o;
  }

  /// Adds −Jᵀ G J λ to `held` and Jᵀγ, as it varies with the poses, to `pushed`; takes γ̄ = J λ back. L are
  /// twists that λ gives.
  void pull_pass(int pass, const Motion<S>* L, Force<S>* pushed, Force<S>* held) {
    for (int n = 0; n < count_; ++n) {
      const Point& T = point_[n];
      const auto& P = iterate(T);
      push(T, -P.impulse.slope_times(P.at.n, velocity(T, L, false)), held);
      if (T.turning >= 0) {
        const auto& W = problem_.kinds.turnings.turning[T.turning];
        twist(T, -W.impulse.slope_times(P.at.n, spin(T, L)), held);
      }
      pull_pass(point_[n], pass, L, pushed);
    }
  }

  /// Takes cotangents of the last pass's radii, in the worlds where they were renewed, back to the impulses
  /// of the first one, which have been made.
  void pull_renewed(Mask<S> renewed) {
    for (int n = 0; n < count_; ++n) pull_renewed(point_[n], renewed);
  }

  /// Takes all that is left back to the poses, twists and deflections at the start, (points, 3) on the
  /// world's axes, and adds to the cotangents of laws [pairs], null for none. Returns whether the tape had
  /// room.
  bool pull_start(const ContactState<S>& start, S* deflections, S* turnings, S* laws, const Workspace<S>& w) {
    bool has_room = true;
    for (int n = 0; n < count_;) {
      const int end = end_of_pair(n);
      has_room &= pull_pair(n, end, start, deflections, turnings, w);
      if (laws == nullptr) {
        n = end;
        continue;
      }
      S* const to = laws + constraints::law_numbers * problem_.pairs.index[point_[n].place];
      for (; n < end; ++n) {
        constraints::add_law_numbers(point_[n].sums.law, to);
        constraints::add_law_numbers(point_[n].turning_sums.law, to);
      }
    }
    return has_room;
  }

 private:
  friend class ContactDerivatives<S>;

  using U = typename collision::UniformOf<S>::type;  ///< shapes are the same in all worlds
  using R = simd::Reverse<U>;

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

  contact::PointIterate<S>& iterate(const Point& T) const { return problem_.kinds.points.point[T.slot]; }
  int number(const Point& T) const { return problem_.pairs.slot[T.slot]; }
  int turning_number(const Point& T) const { return T.pair->turning + number(T) - T.pair->first; }
  const Mat3<S>& axes(const Point& T) const { return problem_.pairs.R_AB[T.place]; }
  static Vec3<S> surface(const Point& T) { return spatial::all3<S>(T.pair->surface); }

  /// The end of the points of a pair that begin at n.
  int end_of_pair(int n) const {
    int end = n;
    while (end < count_ && point_[end].place == point_[n].place) ++end;
    return end;
  }

  static void clear(Point& T) {
    T.p_bar = T.p_A_bar = spatial::zero3<S>();
    T.sums = T.turning_sums = Sums{};
  }

  void count_features(const SwitchCounts<S>& counts) const {
    for (int n = 0; n < count_; n = end_of_pair(n)) {
      Point* const own = point_ + n;
      const Pair& pair = *own->pair;
      const Pose<S>* const X_WA = pair.a < 0 ? nullptr : &factor_.X_WB[pair.a];
      const FeatureSwitches<S> switches(pair, X_WA, factor_.X_WB[pair.b], SwitchCounts<S>::rounding);
      const auto at = [&](int i) {
        const auto& P = iterate(own[i]);
        return PlacedPoint<S>{number(own[i]) - pair.first, P.feature, P.at.p, own[i].touches};
      };
      counts.feature[problem_.pairs.index[own->place]] +=
          simd::number(switches.met(end_of_pair(n) - n, at, [&](int i) -> Mask<S>& { return own[i].stays; }));
    }
  }

  /// Adds Jᵀγ of a point, as it varies with the poses, and takes γ̄ = J λ back.
  void pull_pass(Point& T, int pass, const Motion<S>* L, Force<S>* pushed) {
    pull_velocity(T, iterate(T).made, L, false, pushed);
    pull_impulse(T, pass, velocity(T, L, false));
    if (T.turning < 0) return;
    pull_spin(T, problem_.kinds.turnings.turning[T.turning].made, L, pushed);
    pull_turning(T, pass, spin(T, L));
  }

  void pull_renewed(Point& T, Mask<S> renewed) {
    const S o = all<S>(0);
    const auto& P = iterate(T);
    const S bar = select(renewed, T.sums.limit, o), normal = dot(P.at.n, P.made);
    T.sums.limit = T.sums.limit - bar;
    const S by_normal = select(normal > o, P.at.mu * bar, o);
    T.sums.mu = fma(max(normal, o), bar, T.sums.mu);
    T.sums.n = fma(by_normal, P.made, T.sums.n);
    pull_impulse(T, 1, by_normal * P.at.n);
  }

  /// Takes what is left of the points [begin, end) of a pair back to the start. Returns whether the tape had
  /// room.
  bool pull_pair(
      int begin, int end, const ContactState<S>& start, S* deflections, S* turnings, const Workspace<S>& w) {
    for (int n = begin; n < end; ++n) pull_point(point_[n]);
    recall(begin, end, start, deflections, turnings);
    return pull_geometry(begin, end, w);
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

  /// Takes the cotangent of the impulse of a pass back.
  void pull_impulse(Point& T, int pass, const Vec3<S>& bar) {
    const auto& P = iterate(T);
    T.sums.u = spatial::zero3<S>();
    constraints::contact_impulse_product<S>(T.pair->law, P.at, h_, P.now, P.impulse, bar, T.sums);
    pull_velocity(T, T.sums.u, twists_.now[pass], true, sums_.now[pass]);
  }

  void pull_turning(Point& T, int pass, const Vec3<S>& bar) {
    const auto& P = iterate(T);
    const auto& W = problem_.kinds.turnings.turning[T.turning];
    Sums& sums = T.turning_sums;
    sums.u = spatial::zero3<S>();
    constraints::turning_impulse_product<S>(
        T.pair->law, P.at.n, W.s, P.at.limit, h_, W.now, W.impulse, bar, sums);
    pull_spin(T, sums.u, twists_.now[pass], sums_.now[pass]);
    T.sums.limit += sums.limit;
    sums.limit = all<S>(0);
  }

  /// How bodies turn in a step on average, as ConvexOutcome has it.
  Vec3<S> mean_turn(const Point& T) const {
    const auto spin = [&](int b) { return factor_.X_WB[b].R * twists_.start[b].w; };
    return all<S>(Real(0.5)) * h_ * (spin(T.pair->a) + spin(T.pair->b));
  }

  /// Cotangent of a vector on the axes of b for that of the same at the end of the step, on the world's axes.
  Vec3<S> pull_to_world(const Point& T, const Vec3<S>& on_b, const Vec3<S>& bar) {
    const int b = T.pair->b;
    const Mat3<S>& R = factor_.X_WB[b].R;
    Vec3<S> turned_bar = bar;
    if (T.pair->a >= 0) {
      const Vec3<S> phi = mean_turn(T);
      const Mat3<S> turn = spatial::exp(phi);
      turned_bar = transpose_times(turn, bar);
      const Vec3<S> y = turn * (R * on_b);
      // J_l(φ)ᵀ = J_l(−φ)
      const Vec3<S> phi_bar = all<S>(Real(0.5)) * h_ * spatial::right_jacobian_times(phi, cross(y, bar));
      for (const int body : {T.pair->a, b}) {
        const Vec3<S> own = transpose_times(factor_.X_WB[body].R, phi_bar);
        sums_.start[body].t += own;
        sums_.displacement[body].t += cross(twists_.start[body].w, own);
      }
    }
    const Vec3<S> own = transpose_times(R, turned_bar);
    sums_.displacement[b].t += cross(on_b, own);
    return own;
  }

  void pull_end(Point& T, const Vec3<S>& bar, const Vec3<S>& turning_bar) {
    const auto& P = iterate(T);
    const auto& law = T.pair->law;
    const S pushed = dot(P.at.n, P.made), limit = P.at.mu * pushed, k = all<S>(law.tangential);
    const Vec3<S> next = constraints::next_deflection<S>(law, P.at, h_, P.now, P.impulse);
    const Vec3<S> kept = constraints::remembered_deflection(k, h_, limit, next);
    S limit_bar = all<S>(0);
    const Vec3<S> next_bar = constraints::remembered_deflection_product<S>(
        k, h_, limit, next, pull_to_world(T, kept, bar), T.sums.law.tangential, limit_bar);
    Vec3<S> gamma_bar = spatial::zero3<S>();
    T.sums.u = spatial::zero3<S>();
    constraints::next_deflection_product<S>(law, P.at, h_, P.now, P.impulse, next_bar, gamma_bar, T.sums);
    pull_velocity(T, T.sums.u, twists_.now[0], true, sums_.now[0]);
    if (T.turning >= 0) pull_turning_end(T, pushed, turning_bar, limit_bar);
    T.sums.mu = fma(pushed, limit_bar, T.sums.mu);
    T.sums.n = fma(P.at.mu * limit_bar, P.made, T.sums.n);
    pull_impulse(T, 0, fma(P.at.mu * limit_bar, P.at.n, gamma_bar));
  }

  void pull_turning_end(Point& T, S pushed, const Vec3<S>& bar, S& limit_bar) {
    const auto& P = iterate(T);
    const auto& law = T.pair->law;
    const auto& W = problem_.kinds.turnings.turning[T.turning];
    Sums& sums = T.turning_sums;
    const S o = all<S>(0), lever = all<S>(law.lever), square = lever * lever,
            k = all<S>(law.tangential) * square, rho = all<S>(law.rolling), sigma = all<S>(law.spinning),
            arm = max(rho, sigma);
    const Vec3<S> next = constraints::next_turning<S>(law, P.at.n, W.s, h_, W.now, W.impulse);
    const S limit = arm * (P.at.mu * pushed);
    const Vec3<S> kept = constraints::remembered_deflection(k, h_, limit, next);
    S k_bar = o, own_limit_bar = o;
    const Vec3<S> next_bar = constraints::remembered_deflection_product<S>(
        k, h_, limit, next, pull_to_world(T, kept, bar), k_bar, own_limit_bar);
    sums.law.tangential = fma(square, k_bar, sums.law.tangential);
    limit_bar = fma(arm, own_limit_bar, limit_bar);
    const S arm_bar = P.at.mu * pushed * own_limit_bar;
    sums.law.rolling += select(rho >= sigma, arm_bar, o);
    sums.law.spinning += select(rho >= sigma, o, arm_bar);
    Vec3<S> gamma_bar = spatial::zero3<S>();
    sums.u = spatial::zero3<S>();
    constraints::next_turning_product<S>(law, P.at.n, W.s, h_, W.now, W.impulse, next_bar, gamma_bar, sums);
    pull_spin(T, sums.u, twists_.now[0], sums_.now[0]);
    pull_turning(T, 0, gamma_bar);
  }

  /// Radii, and shifts of gaps and deflections, back to velocities and shifts of the bodies.
  void pull_point(Point& T) {
    const auto& P = iterate(T);
    Sums& sums = T.sums;
    const Vec3<S> zero = spatial::zero3<S>(), shift = velocity(T, twists_.shift, false);
    const S opening = dot(P.at.n, shift), x = P.at.x + opening;
    // lagged = μ h f_n(x, n·u₀)
    const Vec3<S> before = velocity(T, twists_.start, true);
    const S v_n = dot(P.at.n, before), bar = h_ * sums.limit;
    S v_n_bar = all<S>(0), x_bar = all<S>(0);
    sums.mu = fma(bar, constraints::normal_force<S>(T.pair->law, x, v_n), sums.mu);
    constraints::normal_force_product<S>(T.pair->law, x, v_n, P.at.mu * bar, x_bar, v_n_bar, sums.law);
    sums.n = fma(v_n_bar, before, sums.n);
    pull_velocity(T, v_n_bar * P.at.n, twists_.start, true, sums_.start);
    // x₀ − n·Δ and s₀ + (1 − n nᵀ) Δ
    Vec3<S> shift_bar = zero;
    constraints::across_product(P.at.n, shift, sums.s, sums.n, shift_bar);
    shift_bar = fnma(sums.x, P.at.n, shift_bar);
    sums.n = fnma(sums.x, shift, sums.n);
    pull_velocity(T, shift_bar, twists_.shift, false, sums_.shift);
    sums.x += x_bar;
    sums.n += T.turning_sums.n;
    if (T.turning >= 0) pull_spin(T, T.turning_sums.s, twists_.shift, sums_.shift);
  }

  /// Cotangents of what points [begin, end) of a pair remember, and of how the bodies turn it.
  void recall(int begin, int end, const ContactState<S>& start, S* deflections, S* turnings) {
    const Pair& pair = *point_[begin].pair;
    const Mat3<S>& R = factor_.X_WB[pair.b].R;
    const bool by_features = contact::recalls_features(pair);
    contact::Deflection<S> bar[collision::max_manifold_points], kept[collision::max_manifold_points];
    contact::PointIterate<S> placed[collision::max_manifold_points];
    const int first = problem_.pairs.first[point_[begin].place],
              used = problem_.pairs.used[point_[begin].place];
    if (by_features) {
      for (int i = 0; i < used; ++i) {
        bar[i] = {spatial::zero3<S>(), simd::nowhere<S>(), all<S>(0), spatial::zero3<S>()};
        placed[i] = problem_.kinds.points.point[first + i];
        placed[i].at.x += dot(placed[i].at.n, shift_of(pair, point_[begin].place, placed[i]));
      }
      deflections_.recall_features(pair, placed, used, start, kept);
    }
    for (int n = begin; n < end; ++n) {
      Point& T = point_[n];
      const auto& P = iterate(T);
      const contact::Deflection<S> own =
          by_features ? kept[T.slot - first] : deflections_.recall(pair, number(T) - pair.first, start);
      const Vec3<S> s = transpose_times(R, own.s);
      T.sums.law.dynamic_friction += select(own.slid, T.sums.mu, all<S>(0));
      T.sums.law.static_friction += select(own.slid, all<S>(0), T.sums.mu);
      Vec3<S> s_bar = spatial::zero3<S>();
      if (pair.plane) {
        constraints::across_product(P.at.n, s, T.sums.s, T.sums.n, s_bar);
      } else {
        contact::turned_with_normal_product(P.at.n, s, T.sums.s, T.sums.n, s_bar);
      }
      sums_.displacement[pair.b].t = sums_.displacement[pair.b].t - cross(s, s_bar);
      Vec3<S> turned_bar = spatial::zero3<S>();
      if (T.turning >= 0) {
        turned_bar = T.turning_sums.s;
        sums_.displacement[pair.b].t =
            sums_.displacement[pair.b].t - cross(transpose_times(R, own.turning), turned_bar);
      }
      if (by_features) {
        bar[T.slot - first].s = R * s_bar;
        bar[T.slot - first].turning = R * turned_bar;
        continue;
      }
      store(R * s_bar, deflections + 3 * number(T));
      if (T.turning >= 0 && turnings != nullptr) store(R * turned_bar, turnings + 3 * turning_number(T));
    }
    if (!by_features) return;
    deflections_.recall_features_product(pair, placed, used, start, bar, kept);
    for (int j = 0; j < pair.points; ++j) {
      store(kept[j].s, deflections + 3 * (pair.first + j));
      if (pair.turning >= 0 && turnings != nullptr) store(kept[j].turning, turnings + 3 * (pair.turning + j));
    }
  }

  Vec3<S> shift_of(const Pair& pair, int place, const contact::PointIterate<S>& P) const {
    const Motion<S>& B = twists_.shift[pair.b];
    const Vec3<S> shift = cross_add(B.w, P.at.p, B.v);
    if (pair.a < 0) return shift;
    const Motion<S>& A = twists_.shift[pair.a];
    return shift - transpose_times(problem_.pairs.R_AB[place], cross_add(A.w, P.p_A, A.v));
  }

  /// Takes cotangents of gaps, normals and points [begin, end) of a pair back to the poses of its bodies.
  bool pull_geometry(int begin, int end, const Workspace<S>& w) {
    const Pair& pair = *point_[begin].pair;
    const auto kind = pair.shape_b->shape.kind;
    if (!pair.plane || collision::is_curved(kind)) return run_geometry(begin, end, w);
    // p = corner − r n, which turns against the body
    const S radius = all<S>(collision::is_round(kind) ? pair.shape_b->shape.size[0] : Real(0));
    Force<S>& X_bar = sums_.displacement[pair.b];
    for (int n = begin; n < end; ++n) {
      const Point& T = point_[n];
      const auto& P = iterate(T);
      const Vec3<S> along = -T.sums.x * P.at.n;
      X_bar += Force<S>{along, cross(P.at.p, along)};
      X_bar.t += cross(fnma(radius, T.p_bar, T.sums.n), P.at.n);
    }
    return true;
  }

  /// The same, by the text that places the points of the pair.
  bool run_geometry(int begin, int end, Workspace<S> w) {
    const Pair& pair = *point_[begin].pair;
    simd::Tape<U> tape = take_tape<U>(w);
    const U zero[6] = {};
    Workspace<U> inputs = {reinterpret_cast<U*>(w.next)};
    const R* const of_b = take_inputs<U>(zero, 6, tape, inputs);
    const R* const of_a = take_inputs<U>(zero, 6, tape, inputs);
    const Pose<R> X_WB = displaced(factor_.X_WB[pair.b], of_b);
    const Pose<R> X_WA = pair.a < 0 ? X_WB : displaced(factor_.X_WB[pair.a], of_a);
    int n = begin;
    contact::visit_points<R>(pair,
                             contact::PairPose<R>{pair.a < 0 ? nullptr : &X_WA, X_WB},
                             simd::everywhere<R>(),
                             R(all<U>(Real(simd::infinity))),
                             [&](const contact::PairPoint<R>& from) {
                               while (n < end && number(point_[n]) - pair.first < from.index) ++n;
                               if (n == end || number(point_[n]) - pair.first != from.index) return;
                               const Point& T = point_[n];
                               seed(from.gap, -T.sums.x);
                               seed(from.n, T.sums.n);
                               seed(from.p, T.p_bar);
                               if (pair.a < 0) return;
                               seed(transpose_times(X_WA.R, from.p_O - X_WA.p), T.p_A_bar);
                             });
    tape.pull(0);
    sums_.displacement[pair.b] += take_six(of_b);
    if (pair.a >= 0) sums_.displacement[pair.a] += take_six(of_a);
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

  const contact::Contacts<Parameter>& contacts_;
  const contact::Deflections<S>& deflections_;
  const dynamics::LoadedFactor<S>& factor_;
  Problem& problem_;
  const S h_;
  Point* const point_;
  int count_ = 0;
  BodyTwists<S> twists_;
  BodyCotangents<S> sums_;
};

}  // namespace pysim::stepping
