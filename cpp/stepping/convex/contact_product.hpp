// Products of the derivatives of a convex step's contact points with cotangents: laws and deflections, and
// the geometry of the shapes (contact_geometry_product.hpp), by the poses of both bodies.
//
//     x = −gap − n·Δ,  s = R_WBᵀ s_W + (1 − n nᵀ) Δ        Δ  shifts
//
//     γ(u; n, s, x, r) of every pass        r = μ h f_n(x, n·u₀), or μ n·γ of the pass before
#pragma once

#include "spatial/so3.hpp"
#include "stepping/convex/contact_geometry_product.hpp"
#include "stepping/convex/outcome.hpp"

namespace pysim::stepping {

template <class S>
class ContactDerivatives;

template <class S>
class ContactProduct : public PushingPoints<S> {
  using Points = PushingPoints<S>;

 public:
  using typename Points::Pair;
  using typename Points::Parameter;
  using typename Points::Point;
  using typename Points::Problem;
  using typename Points::Real;
  using typename Points::Sums;

  ContactProduct(const contact::Contacts<Parameter>& contacts,
                 const contact::Deflections<S>& deflections,
                 const dynamics::LoadedFactor<S>& factor,
                 Problem& problem,
                 S h,
                 Workspace<S>& w)
      : Points(contacts, factor, problem, h, w), deflections_(deflections) {}

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
      P.gamma_hat = P.impulse.gamma;
      P.pushes = true;
      if (T.turning < 0) continue;
      auto& W = problem_.kinds.turnings.turning[T.turning];
      W.now = spin(T, twists_.now[pass]);
      W.impulse = constraints::turning_impulse<S>(T.pair->law, P.at.n, W.s, P.at.limit, h_, W.now);
      W.gamma_hat = W.impulse.gamma;
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

  /// What a point reports of the last pass, whose impulses have been made: nothing where it does not touch,
  /// though friction may outlast the normal force.
  contact::PointReport<Vec3<S>> report(int n) const {
    const Point& T = point_[n];
    const auto& P = iterate(T);
    const Pose<S>& X = factor_.X_WB[T.pair->b];
    const S rate = all<S>(1) / h_;
    Vec3<S> moment = spatial::zero3<S>();
    if (T.turning >= 0) moment = rate * (X.R * problem_.kinds.turnings.turning[T.turning].gamma_hat);
    const auto reported = [&T](const Vec3<S>& x) { return constraints::where(T.touches, x); };
    return {
        reported(rate * (X.R * P.gamma_hat)), reported(moment), reported(X * P.at.p), reported(X.R * P.at.n)};
  }

  /// Takes cotangents of that back to the last pass and the poses, after those of the deflections at the end.
  void pull_report(int n, const contact::PointReport<Vec3<S>>& bar) {
    Point& T = point_[n];
    const auto& P = iterate(T);
    const Mat3<S>& R = factor_.X_WB[T.pair->b].R;
    Force<S>& X_bar = sums_.displacement[T.pair->b];
    const S rate = all<S>(1) / h_;
    const auto taken = [&](const Vec3<S>& x) { return constraints::where(T.touches, transpose_times(R, x)); };
    const Vec3<S> f_bar = rate * taken(bar.force), p_bar = taken(bar.position), n_bar = taken(bar.normal);
    X_bar += Force<S>{p_bar, cross(P.gamma_hat, f_bar) + cross(P.at.p, p_bar) + cross(P.at.n, n_bar)};
    T.p_bar += p_bar;
    T.sums.n += n_bar;
    pull_impulse(T, 0, f_bar);
    if (T.turning < 0) return;
    const Vec3<S> m_bar = rate * taken(bar.moment);
    X_bar.t += cross(problem_.kinds.turnings.turning[T.turning].gamma_hat, m_bar);
    pull_turning(T, 0, m_bar);
  }

  /// Adds −Jᵀ G J λ to `held` and Jᵀγ, as it varies with the poses, to `pushed`; takes γ̄ = J λ back. L are
  /// twists that λ gives.
  void pull_pass(int pass, const Motion<S>* L, Force<S>* pushed, Force<S>* slope_pushes) {
    for (int n = 0; n < count_; ++n) {
      const Point& T = point_[n];
      const auto& P = iterate(T);
      push(T, -P.impulse.slope_times(P.at.n, velocity(T, L, false)), slope_pushes);
      if (T.turning >= 0) {
        const auto& W = problem_.kinds.turnings.turning[T.turning];
        twist(T, -W.impulse.slope_times(P.at.n, spin(T, L)), slope_pushes);
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

  using Points::axes;
  using Points::clear;
  using Points::contacts_;
  using Points::count_;
  using Points::end_of_pair;
  using Points::factor_;
  using Points::h_;
  using Points::iterate;
  using Points::number;
  using Points::point_;
  using Points::problem_;
  using Points::pull_spin;
  using Points::pull_velocity;
  using Points::push;
  using Points::shift_of;
  using Points::spin;
  using Points::sums_;
  using Points::turning_number;
  using Points::twist;
  using Points::twists_;
  using Points::velocity;

  /// Adds Jᵀγ of a point, as it varies with the poses, and takes γ̄ = J λ back.
  void pull_pass(Point& T, int pass, const Motion<S>* L, Force<S>* pushed) {
    pull_velocity(T, iterate(T).gamma_hat, L, false, pushed);
    pull_impulse(T, pass, velocity(T, L, false));
    if (T.turning < 0) return;
    pull_spin(T, problem_.kinds.turnings.turning[T.turning].gamma_hat, L, pushed);
    pull_turning(T, pass, spin(T, L));
  }

  void pull_renewed(Point& T, Mask<S> renewed) {
    const S o = all<S>(0);
    const auto& P = iterate(T);
    const S bar = select(renewed, T.sums.limit, o), normal = dot(P.at.n, P.gamma_hat);
    T.sums.limit = T.sums.limit - bar;
    const S by_normal = select(normal > o, P.at.mu * bar, o);
    T.sums.mu = fma(max(normal, o), bar, T.sums.mu);
    T.sums.n = fma(by_normal, P.gamma_hat, T.sums.n);
    pull_impulse(T, 1, by_normal * P.at.n);
  }

  /// Takes what is left of the points [begin, end) of a pair back to the start. Returns whether the tape had
  /// room.
  bool pull_pair(
      int begin, int end, const ContactState<S>& start, S* deflections, S* turnings, const Workspace<S>& w) {
    for (int n = begin; n < end; ++n) pull_point(point_[n]);
    recall(begin, end, start, deflections, turnings);
    return ContactGeometryProduct<S>(*this).pull(begin, end, w);
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
    const S pushed = dot(P.at.n, P.gamma_hat), limit = P.at.mu * pushed, k = all<S>(law.tangential);
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
    T.sums.n = fma(P.at.mu * limit_bar, P.gamma_hat, T.sums.n);
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
    contact::Deflection<S> bar[collision::max_manifold_points], recalled[collision::max_manifold_points];
    contact::PointIterate<S> placed[collision::max_manifold_points];
    const int first = problem_.pairs.first[point_[begin].place],
              used = problem_.pairs.used[point_[begin].place];
    if (by_features) {
      for (int i = 0; i < used; ++i) {
        bar[i] = {spatial::zero3<S>(), simd::nowhere<S>(), all<S>(0), spatial::zero3<S>()};
        placed[i] = problem_.kinds.points.point[first + i];
        placed[i].at.x += dot(placed[i].at.n, shift_of(pair, point_[begin].place, placed[i]));
      }
      deflections_.recall_features(pair, placed, used, start, recalled);
    }
    for (int n = begin; n < end; ++n) {
      Point& T = point_[n];
      const auto& P = iterate(T);
      const contact::Deflection<S> deflection =
          by_features ? recalled[T.slot - first] : deflections_.recall(pair, number(T) - pair.first, start);
      const Vec3<S> s = transpose_times(R, deflection.s);
      T.sums.law.dynamic_friction += select(deflection.slid, T.sums.mu, all<S>(0));
      T.sums.law.static_friction += select(deflection.slid, all<S>(0), T.sums.mu);
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
            sums_.displacement[pair.b].t - cross(transpose_times(R, deflection.turning), turned_bar);
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
    deflections_.recall_features_product(pair, placed, used, start, bar, recalled);
    for (int j = 0; j < pair.points; ++j) {
      store(recalled[j].s, deflections + 3 * (pair.first + j));
      if (pair.turning >= 0 && turnings != nullptr)
        store(recalled[j].turning, turnings + 3 * (pair.turning + j));
    }
  }

  const contact::Deflections<S>& deflections_;
};

}  // namespace pysim::stepping
