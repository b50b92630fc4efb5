// Positions at the end of a convex step, q₁ = q₀ ⊕ h v₁, and v₁ on the axes of the end.
//
// Momenta P and L of single bodies about their centres of mass change by the impulses alone, so they balance
// to rounding; other trees keep them to the order of the step.
#pragma once

#include "contact/problem.hpp"
#include "stepping/convex/free_velocity.hpp"

namespace pysim::stepping {

/// Impulses of contacts on single bodies.
template <class S>
class SingleBodies {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  SingleBodies(const ModelOf<S>& model,
               const contact::Contacts<Parameter>& contacts,
               Force<S>* momentum,
               Workspace<S>& w)
      : model_(model), contacts_(contacts), momentum_(momentum), pushed_(take<Pushed>(w, model.bodies)) {}

  /// Adds what contacts gave to P and L, on the axes of the start.
  void add_impulses(const contact::ConvexProblem<S>& problem) {
    for (int b = 0; b < model_.bodies; ++b) pushed_[b] = {spatial::zero3<S>(), all<S>(0)};
    const auto& pairs = problem.pairs;
    pairs.each([&](int k, const contact::ContactPair<Parameter>& pair) {
      for (int i = pairs.first[k]; i < pairs.first[k] + pairs.used[k]; ++i) {
        const auto& P = problem.kinds.points.point[i];
        add_impulse(pair.b, P.at.p, P.gamma_hat);
        if (pair.a >= 0) add_impulse(pair.a, P.p_A, -(pairs.R_AB[k] * P.gamma_hat));
      }
      for (int i = 0; pair.turning >= 0 && i < pairs.used[k]; ++i) {
        const Vec3<S>& gamma_hat = problem.kinds.turnings.turning[pairs.first_turning[k] + i].gamma_hat;
        if (contacts_.single[pair.b]) momentum_[pair.b].t += gamma_hat;
        if (pair.a >= 0 && contacts_.single[pair.a]) {
          momentum_[pair.a].t = momentum_[pair.a].t - pairs.R_AB[k] * gamma_hat;
        }
      }
    });
  }

  /// Whether impulses on a body cancel: what is left of them is their residual, not the momentum of a light
  /// body.
  Mask<S> cancel(int b) const {
    const Vec3<S>& sum = pushed_[b].sum;
    return pushed_[b].sizes > all<S>(most_cancelling) * sqrt(dot(sum, sum));
  }

 private:
  static constexpr Real most_cancelling = Real(1e4);  ///< Σ |γ| / |Σ γ|

  /// Sum of the impulses on a body, and of their sizes.
  struct Pushed {
    Vec3<S> sum;
    S sizes;
  };

  void add_impulse(int b, const Vec3<S>& p, const Vec3<S>& impulse) {
    if (!contacts_.single[b]) return;
    const Vec3<S> c = centre(dynamics::body_inertia<S>(model_, b));
    momentum_[b] = momentum_[b] + Force<S>{impulse, cross(p - c, impulse)};
    pushed_[b].sum += impulse;
    pushed_[b].sizes += sqrt(dot(impulse, impulse));
  }

  const ModelOf<S>& model_;
  const contact::Contacts<Parameter>& contacts_;
  Force<S>* const momentum_;  ///< [bodies] see FreeVelocity
  Pushed* const pushed_;      ///< [bodies]
};

/// Moves a free joint's q and v, 7 and 6 numbers, by velocities on the axes of the start and a shift.
template <class S>
void move_root(S h, const S* v1, const S* shift, S* q, S* v) {
  const Vec3<S> linear = load3(v1), omega = load3(v1 + 3), off = load3(shift);
  const auto before = dynamics::load_quaternion(q + 3);
  const auto turn = spatial::exp_quaternion(fma(h, omega, load3(shift + 3)));
  store(load3(q) + spatial::rotation(before) * fma(h, linear, off), q);
  store(transpose_times(spatial::rotation(turn), linear), v);
  store(omega, v + 3);
  store(normalized(before * turn), q + 3);
}

/// The same of a single body, whose velocity follows from its momenta p unless its impulses cancel.
template <class S>
void move_single(const spatial::Inertia<S>& M,
                 const Force<S>& p,
                 Mask<S> cancels,
                 S h,
                 const S* v1,
                 const S* shift,
                 S* q,
                 S* v) {
  const Vec3<S> linear = load3(v1), omega = load3(v1 + 3);
  const auto before = dynamics::load_quaternion(q + 3);
  const auto turn = spatial::exp_quaternion(fma(h, omega, load3(shift + 3)));
  const auto after = normalized(before * turn);
  const Mat3<S> step = spatial::rotation(turn), R = spatial::rotation(before);
  const Vec3<S> c = centre(M), carried = cross_add(omega, c, linear);
  store(load3(q) + (R * fma(h, carried, c) - spatial::rotation(after) * c), q);
  const Vec3<S> spin = inverse(translate(-c, M).I) * transpose_times(step, p.t);
  const Vec3<S> carried_on = (all<S>(1) / M.m) * transpose_times(step, p.f) - cross(spin, c);
  store(collision::select(cancels, transpose_times(step, linear), carried_on), v);
  store(collision::select(cancels, omega, spin), v + 3);
  store(after, q + 3);
}

/// Moves q and v, in place, by velocities `v1` (nv) on the axes of the start and shifts of positions (nv).
template <class S>
void move(const ModelOf<S>& model,
          const contact::Contacts<typename S::Parameter>& contacts,
          S h,
          const S* v1,
          const S* shift,
          const Force<S>* momentum,
          const SingleBodies<S>& singles,
          S* q,
          S* v) {
  for (int b = 0; b < model.bodies; ++b) {
    const tree::Joint& joint = model.joint[b];
    const int at = joint.v;
    if (joint.shape != tree::Shape::free) {
      S dq[tree::max_joint_nv];
      for (int i = 0; i < joint.nv; ++i) {
        v[at + i] = v1[at + i];
        dq[i] = fma(h, v1[at + i], shift[at + i]);
      }
      dynamics::retract<S>(joint.block, joint.blocks, q + joint.q, dq, q + joint.q);
    } else if (contacts.single[b]) {
      const auto M = dynamics::body_inertia<S>(model, b);
      move_single(M, momentum[b], singles.cancel(b), h, v1 + at, shift + at, q + joint.q, v + at);
    } else {
      move_root(h, v1 + at, shift + at, q + joint.q, v + at);
    }
  }
}

}  // namespace pysim::stepping
