// Contacts as regularised forces, for schemes that integrate them like any other force.
//
//     f_n = K x^m (1 − d v_n)₊        f_t = −μ f_n v_t / √(v_t² + v_s²)          [Hunt, Crossley 1975]
//
//     moments    −ρ μ f_n L ω/√(L² ω² + v_s²)  of rolling and spinning friction, ω across or along n
//
//     x         penetration [m]
//     μ         dynamic friction
//     v_n, v_t  velocity of B's point relative to A's [m/s]
//     v_s       slip speed at which friction has 71 % of μ f_n [m/s]
//     ρ, L      length of rolling or spinning friction, and radius of the smaller shape [m]
//
// A pair's points are those of a convex step. Derivatives take them as fixed on B and the normal as fixed on
// A, which leaves out terms of the order of x over the radius of curvature; Newton's method corrects that.
#pragma once

#include "contact/points.hpp"
#include "contact/run.hpp"
#include "elements/contact_forces.hpp"

namespace pysim::contact {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::select;
using spatial::Force;
using spatial::Motion;
using spatial::Pose;
using spatial::Vec3;
using tree::ModelOf;

/// Law of all contacts of a run.
struct SmoothContacts {
  Contacts<double> contacts;
  double slip_speed;  ///< v_s [m/s]
};

/// A point on the axes of body B.
template <class S>
struct SmoothPoint {
  Vec3<S> p, n;                     ///< point [m] and normal, towards B
  Vec3<S> u, slip;                  ///< velocity of B's point relative to A's, and its tangential part [m/s]
  Vec3<S> f, t;                     ///< force on B [N], and moment of rolling and spinning friction [N·m]
  Vec3<S> rolled;                   ///< L ω_t / √(L² ω_t² + v_s²) of rolling
  S spun;                           ///< the same of spinning, along n
  S rolling_speed, spinning_speed;  ///< these roots
  S x, v_n, f_n;                    ///< penetration, opening velocity, normal force
  S speed;                          ///< √(v_t² + v_s²)
};

/// Whether the balls about the shapes of a pair, that of b at X_AS, are nearer than `reach` in some world.
template <class S>
bool balls_are_near(const ContactPair<double>& pair, const Pose<S>& X_AS, double reach) {
  if (pair.plane) {
    const S above = dot(spatial::all3<S>(pair.normal), X_AS.p) - all<S>(pair.offset);
    return any(above < all<S>(pair.shape_b->radius + reach));
  }
  const Vec3<S> r = X_AS.p - placement<S>(*pair.shape_a).p;
  return any(sqrt(dot(r, r)) < all<S>(pair.shape_a->radius) + all<S>(pair.shape_b->radius) + all<S>(reach));
}

/// Gap of a point of pair k that is continuous in X_AB: of a point of a shape over a plane, of a mesh's
/// lowest vertex, of the nearest point in a field, else of the two shapes.
template <class S>
S continuous_gap(const Contacts<double>& contacts, int k, int point, const Pose<S>& X_AB) {
  ContactPair<double> room;
  const auto& pair = contacts.pair_at<S>(k, room);
  const Pose<S> X_AS = X_AB * placement<S>(*pair.shape_b);
  if (pair.field != nullptr) {
    const Pose<S> X_AA = placement<S>(*pair.shape_a);
    const Pose<S> X_FS = pair.swapped ? inverse(X_AS) * X_AA : inverse(X_AA) * X_AS;
    S least = all<S>(simd::infinity);
    const auto nearest = [&](int, const collision::FieldPoint<S>& F) { least = min(least, F.gap); };
    collision::visit_field_points(*pair.field, pair.touching_shape().shape, X_FS, nearest);
    return least;
  }
  if (!pair.plane) {
    const auto A = placed(*pair.shape_a, placement<S>(*pair.shape_a)), B = placed(*pair.shape_b, X_AS);
    return collision::distance(pair.kind, pair.swapped ? B : A, pair.swapped ? A : B).d;
  }
  const auto& shape = pair.shape_b->shape;
  const Vec3<S> n_A = spatial::all3<S>(pair.normal), n = transpose_times(X_AS.R, n_A);
  Vec3<S> lowest[collision::max_plane_points];
  simd::Mask<S> apart[collision::max_plane_points];
  if (collision::is_mesh(shape.kind)) {
    lowest[0] = collision::core_support<S>(shape, spatial::all3<S>(shape.size), -n);
  } else {
    collision::points_to_plane<S>(shape, n, lowest, apart);
  }
  return dot(n_A, X_AS * lowest[point]) - all<S>(pair.offset);
}

/// visit(from, point) for the points of pair k whose shapes are nearer than `reach`; false if they are apart
/// in every world. A point pushes where it exists and its penetration is positive.
template <class S, class Visit>
bool visit_smooth_points(const SmoothContacts& smooth,
                         int k,
                         const Pose<S>& X_AB,
                         const Motion<S>& V_AB,
                         double reach,
                         const Visit& visit) {
  ContactPair<double> room;
  const auto& pair = smooth.contacts.pair_at<S>(k, room);
  const S o = all<S>(0);
  const Vec3<S> surface = transpose_times(X_AB.R, spatial::all3<S>(pair.surface));
  const PairPose<S> X = {nullptr, X_AB};
  if (!balls_are_near(pair, X.of_b(*pair.shape_b), reach)) return false;
  visit_points(pair, X, simd::everywhere<S>(), all<S>(reach), [&](const PairPoint<S>& from) {
    SmoothPoint<S> P;
    const Vec3<S>&p = from.p, &n = from.n;
    P.p = p;
    P.n = n;
    P.x = -from.gap;
    P.u = cross_add(V_AB.w, p, V_AB.v) - surface;
    P.v_n = dot(n, P.u);
    P.slip = fnma(P.v_n, n, P.u);
    const auto touches = from.exists & (P.x > o);
    P.f_n = select(touches, constraints::normal_force(pair.law, P.x, P.v_n), o);
    const S v_s = all<S>(smooth.slip_speed);
    P.speed = sqrt(fma(v_s, v_s, dot(P.slip, P.slip)));
    const S mu = all<S>(pair.law.dynamic_friction);
    P.f = P.f_n * fnma(mu / P.speed, P.slip, n);
    P.t = spatial::zero3<S>();
    if (pair.law.resists_turning()) {
      const S rolling = all<S>(pair.law.rolling), spinning = all<S>(pair.law.spinning);
      const S lever = all<S>(pair.law.lever), w_n = dot(n, V_AB.w), spun = lever * w_n;
      const Vec3<S> rolled = lever * fnma(w_n, n, V_AB.w);
      P.rolling_speed = sqrt(fma(v_s, v_s, dot(rolled, rolled)));
      P.spinning_speed = sqrt(fma(v_s, v_s, spun * spun));
      P.rolled = (all<S>(1) / P.rolling_speed) * rolled;
      P.spun = spun / P.spinning_speed;
      P.t = -(mu * P.f_n) * fma(spinning * P.spun, n, rolling * P.rolled);
    }
    visit(from, P);
  });
  return true;
}

/// Change of a point's force with its penetration, normal and velocity.
template <class S>
struct SmoothSlope {
  const SmoothPoint<S>& P;
  S by_x, by_v;  ///< of f_n
  S mu;
  Vec3<S> w;  ///< slip over speed

  SmoothSlope(const constraints::ContactLaw<double>& law, const SmoothPoint<S>& point, simd::Mask<S> touches)
      : P(point), mu(all<S>(law.dynamic_friction)), w((all<S>(1) / point.speed) * point.slip) {
    using Real = typename S::Real;
    const S o = all<S>(0), d = all<S>(law.dissipation), depth = max(P.x, o), K = all<S>(law.stiffness);
    const S open = fnma(d, P.v_n, all<S>(1)), root = sqrt(depth);
    const auto pushes = touches & (open > o);
    const S steep = law.hertz ? all<S>(Real(1.5)) * root : all<S>(1);
    by_x = select(pushes, K * steep * open, o);
    by_v = select(pushes, -d * K * (law.hertz ? depth * root : depth), o);
  }

  /// Change of f_n.
  S normal(S dx, const Vec3<S>& dn, const Vec3<S>& du) const {
    return fma(by_x, dx, by_v * dot_add(dn, P.u, dot(P.n, du)));
  }

  /// Change of the moment of rolling and spinning friction, `omega` the angular velocity.
  Vec3<S> moment(const constraints::ContactLaw<double>& law,
                 const Vec3<S>& omega,
                 S df_n,
                 const Vec3<S>& dn,
                 const Vec3<S>& d_omega) const {
    const S rolling = all<S>(law.rolling), spinning = all<S>(law.spinning);
    const S lever = all<S>(law.lever), e = all<S>(1);
    const S w_n = dot(P.n, omega), dw_n = dot_add(dn, omega, dot(P.n, d_omega));
    const Vec3<S> turned = lever * fnma(w_n, dn, fnma(dw_n, P.n, d_omega));
    const Vec3<S> rolled = (e / P.rolling_speed) * fnma(dot(P.rolled, turned), P.rolled, turned);
    const S spun = lever * dw_n * fnma(P.spun, P.spun, e) / P.spinning_speed;
    const Vec3<S> now = fma(spinning * P.spun, P.n, rolling * P.rolled);
    const Vec3<S> change = fma(spinning * P.spun, dn, fma(spinning * spun, P.n, rolling * rolled));
    return -mu * fma(df_n, now, P.f_n * change);
  }

  Vec3<S> operator()(S dx, const Vec3<S>& dn, const Vec3<S>& du) const {
    const S dv_n = dot_add(dn, P.u, dot(P.n, du)), df_n = normal(dx, dn, du);
    const Vec3<S> d_slip = fnma(P.v_n, dn, fnma(dv_n, P.n, du));
    const Vec3<S> dw = (all<S>(1) / P.speed) * fnma(dot(w, d_slip), w, d_slip);
    return fma(df_n, fnma(mu, w, P.n), P.f_n * fnma(mu, dw, dn));
  }
};

/// Wrench of pair k on B, Σ f·n and, if `slope` is not null, derivatives of the wrench, see
/// elements::ContactWrench.
template <class S>
bool smooth_wrench(const SmoothContacts& smooth, int k, const S* motion, S* wrench, S* slope) {
  const auto vector = [motion](int i) { return Vec3<S>{motion[i], motion[i + 1], motion[i + 2]}; };
  const Pose<S> X_AB = {{vector(0), vector(3), vector(6)}, vector(9)};
  const Motion<S> V_AB = {vector(12), vector(15)};
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S> zero = spatial::zero3<S>(), axis[3] = {{e, o, o}, {o, e, o}, {o, o, e}};
  ContactPair<double> room;
  const auto& pair = smooth.contacts.pair_at<S>(k, room);
  const Vec3<S> surface = transpose_times(X_AB.R, spatial::all3<S>(pair.surface));
  for (int i = 0; i < elements::ContactWrench<S>::wrench_numbers; ++i) wrench[i] = o;
  for (int i = 0; slope != nullptr && i < elements::ContactWrench<S>::slope_numbers; ++i) slope[i] = o;
  const auto add = [](const Vec3<S>& p, const Vec3<S>& f, const Vec3<S>& moment, S* to) {
    const Vec3<S> t = cross(p, f) + moment;
    to[0] += f.x;
    to[1] += f.y;
    to[2] += f.z;
    to[3] += t.x;
    to[4] += t.y;
    to[5] += t.z;
  };
  return visit_smooth_points<S>(
      smooth, k, X_AB, V_AB, 0, [&](const PairPoint<S>& from, const SmoothPoint<S>& P) {
        const auto touches = from.exists & (P.x > o);
        if (none(touches)) return;
        add(P.p, P.f, P.t, wrench);
        wrench[6] += P.f_n;
        if (slope == nullptr) return;
        const SmoothSlope<S> change(pair.law, P, touches);
        for (int c = 0; c < 6; ++c) {
          const bool turns = c >= 3;
          const Vec3<S> moved = turns ? cross(axis[c - 3], P.p) : axis[c];
          const Vec3<S> dn = turns ? cross(P.n, axis[c - 3]) : zero;
          const Vec3<S> du = turns ? cross(axis[c - 3], surface) : zero;
          const S dx = -dot(P.n, moved);
          Vec3<S> by_motion = zero, by_twist = zero;
          if (pair.law.resists_turning()) {
            const Vec3<S>& d_omega = turns ? axis[c - 3] : zero;
            by_motion = change.moment(pair.law, V_AB.w, change.normal(dx, dn, du), dn, zero);
            by_twist = change.moment(pair.law, V_AB.w, change.normal(o, zero, moved), zero, d_omega);
          }
          add(P.p, change(dx, dn, du), by_motion, slope + 6 * c);
          add(P.p, change(o, zero, moved), by_twist, slope + 36 + 6 * c);
        }
      });
}

/// Contact points of all pairs at a state, as ContactReport, without impulses: nothing is integrated here. A
/// point counts as sticking below the slip speed. Points are those that push; with a `reach` [m] of 0 or
/// more, those whose gap is not larger.
template <class S>
void report_smooth_points(const ModelOf<S>& model,
                          const SmoothContacts& smooth,
                          double reach,
                          const S* q,
                          const S* v,
                          S* report,
                          tree::Workspace<S> w) {
  const S o = all<S>(0);
  auto* const body = tree::take<elements::PlacedBody<S>>(w, model.bodies);
  auto* const columns = tree::take<Motion<S>>(w, model.stored_columns);
  elements::place_bodies(model, q, v, body, columns);
  for (int i = 0; i < ContactReport::numbers * smooth.contacts.points; ++i) report[i] = o;
  for (int k = 0; k < smooth.contacts.pairs; ++k) {
    ContactPair<double> room;
    const auto& pair = smooth.contacts.pair_at<S>(k, room);
    const auto& B = body[pair.b];
    const auto motion = elements::pair_motion<S>(body, pair.a, pair.b);
    const double margin = reach > 0 ? reach : 0;
    visit_smooth_points<S>(
        smooth, k, motion.X_AB, motion.V_AB, margin, [&](const PairPoint<S>& from, const SmoothPoint<S>& P) {
          const auto touches = from.exists & (reach < 0 ? P.f_n > o : P.x >= all<S>(-reach));
          S* const to = report + ContactReport::numbers * (pair.first + from.index);
          const auto put = [&](int place, const Vec3<S>& x) {
            to[place] = select(touches, x.x, o);
            to[place + 1] = select(touches, x.y, o);
            to[place + 2] = select(touches, x.z, o);
          };
          const S slip = sqrt(dot(P.slip, P.slip));
          put(ContactReport::force, B.X_WB.R * P.f);
          put(ContactReport::moment, B.X_WB.R * P.t);
          put(ContactReport::position, B.X_WB * P.p);
          put(ContactReport::normal, B.X_WB.R * P.n);
          to[ContactReport::penetration] = select(touches, P.x, o);
          to[ContactReport::slip] = select(touches, slip, o);
          to[ContactReport::sticks] = number(touches & (slip < all<S>(smooth.slip_speed)));
        });
  }
}

}  // namespace pysim::contact
