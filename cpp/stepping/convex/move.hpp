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
        add_impulse(pair.b, P.at.p, P.made);
        if (pair.a >= 0) add_impulse(pair.a, P.p_A, -(pairs.R_AB[k] * P.made));
      }
      for (int i = 0; pair.turning >= 0 && i < pairs.used[k]; ++i) {
        const Vec3<S>& made = problem.kinds.turnings.turning[pairs.first_turning[k] + i].made;
        if (contacts_.single[pair.b]) momentum_[pair.b].t += made;
        if (pair.a >= 0 && contacts_.single[pair.a]) {
          momentum_[pair.a].t = momentum_[pair.a].t - pairs.R_AB[k] * made;
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
    S* const to = v + joint.v;
    if (joint.shape != tree::Shape::free) {
      S dq[tree::max_joint_nv];
      for (int i = 0; i < joint.nv; ++i) {
        to[i] = v1[joint.v + i];
        dq[i] = fma(h, to[i], shift[joint.v + i]);
      }
      dynamics::retract<S>(joint.block, joint.blocks, q + joint.q, dq, q + joint.q);
      continue;
    }
    const Vec3<S> linear = load3(v1 + joint.v), omega = load3(v1 + joint.v + 3);
    const Vec3<S> off = load3(shift + joint.v);
    S* const at = q + joint.q;
    const auto before = dynamics::load_quaternion(at + 3);
    const auto turn = spatial::exp_quaternion(fma(h, omega, load3(shift + joint.v + 3)));
    const auto after = normalized(before * turn);
    const Mat3<S> step = spatial::rotation(turn), R = spatial::rotation(before);
    if (!contacts.single[b]) {
      store(load3(at) + R * fma(h, linear, off), at);
      store(transpose_times(step, linear), to);
      store(omega, to + 3);
    } else {
      const auto M = dynamics::body_inertia<S>(model, b);
      const Vec3<S> c = centre(M), carried = cross_add(omega, c, linear);
      store(load3(at) + (R * fma(h, carried, c) - spatial::rotation(after) * c), at);
      const Force<S>& p = momentum[b];
      const Vec3<S> spin = inverse(translate(-c, M).I) * transpose_times(step, p.t);
      const Vec3<S> carried_on = (all<S>(1) / M.m) * transpose_times(step, p.f) - cross(spin, c);
      const auto cancels = singles.cancel(b);
      store(collision::select(cancels, transpose_times(step, linear), carried_on), to);
      store(collision::select(cancels, omega, spin), to + 3);
    }
    store(after, at + 3);
  }
}

}  // namespace pysim::stepping
