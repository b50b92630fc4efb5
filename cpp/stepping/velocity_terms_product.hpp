// Products of the derivatives of velocity terms with cotangents: the rounds of velocity_terms.hpp, as they
// were made, from the last one to the first.
//
//     a ← a + w s,  A s = −(RNEA(q_m, v_m, a) + (A − M(q₀)) a)        μ = A⁻¹ (w ā)
//
//     v̄_m, q̄_m, ā −= μᵀ ∂RNEA/∂(v, q, a)      Ā −= μ sᵀ      a₀ = −A⁻¹ c(q₀, v₀)
#pragma once

#include "dynamics/retract_product.hpp"
#include "dynamics/step_matrix_product.hpp"
#include "stepping/velocity_terms.hpp"

namespace pysim::stepping {

using dynamics::add_retract_product;
using dynamics::seed_joint;
using dynamics::StepMatrixCotangents;
using dynamics::subtract_matrix_product;
using tree::seed;
using tree::take_cotangent;
using tree::take_inputs;

/// Cotangents of the velocities, and of the bias accelerations by their own joints, of all bodies, for that
/// of the share of VelocityTerms::share: it follows from one body of every world.
template <class S>
void pull_share(const dynamics::StepMatrix<S>& A,
                const bool* single,
                S h,
                S share,
                S bar,
                spatial::Force<S>* V_bar,
                spatial::Force<S>* c_bar) {
  using Share = TurningShare<S>;
  const auto& model = A.recursion.model;
  const S o = simd::all<S>(0), two = simd::all<S>(2);
  S most = o;
  for (int b = 0; b < model.bodies; ++b) {
    V_bar[b] = c_bar[b] = spatial::zero_force<S>();
    if (!single[b]) most = max(most, Share::of(A.recursion.body[b]));
  }
  const S slope =
      select((share > o) & (share < simd::all<S>(1)), bar * h * h * simd::all<S>(Share::slope), o);
  auto left = simd::everywhere<S>();
  for (int b = 0; b < model.bodies; ++b) {
    if (single[b]) continue;
    const auto& B = A.recursion.body[b];
    const auto found = left & (Share::of(B) == most);
    left &= !found;
    const S turn = dot(B.V.w, B.V.w), speed = Share::speed(B), bias = dot(B.c.v, B.c.v) / speed;
    const auto turns = turn > bias;
    const S by_turn = select(found & turns, two * slope, o),
            by_bias = select(found & !turns, two * slope / speed, o);
    V_bar[b] = {(-by_bias * bias) * B.V.v, by_turn * B.V.w};
    c_bar[b].f = by_bias * B.c.v;
  }
}

/// Cotangents of what velocity terms are made from, and of what they leave.
template <class S>
struct VelocityTermsCotangents {
  S *a, *change;  ///< (nv) in: of what the rounds leave; lost
  S* before;      ///< (nv) in and out, of v* without them
  S* v;           ///< (nv) in and out, of v₀
  S share;        ///< of the share of the rounds that counts
};

/// Takes the cotangent of the weight of round n, which counts in part, back to what the rounds before
/// changed.
template <class S>
void pull_weight(const VelocityRounds<S>& rounds, int n, S bar, S* changed_bar) {
  using Terms = VelocityTerms<S>;
  if (n == 0) return;
  const S o = simd::all<S>(0), e = simd::all<S>(1), weight = rounds.weight[n],
          changed = rounds.changed[n - 1];
  const S part = select((weight > o) & (weight < e), bar, o), enough = simd::all<S>(Terms::enough);
  auto by_size = simd::everywhere<S>();
  if (n > 1) {
    const S before = rounds.changed[n - 2], most = simd::all<S>(Terms::negligible) * before;
    const S expected = changed * changed / most;
    by_size = !(expected < changed / enough);
    const S slope = select(by_size, o, part);
    changed_bar[n - 1] += simd::all<S>(2) * (slope * changed / most);
    changed_bar[n - 2] = simd::fnma(slope, expected / before, changed_bar[n - 2]);
  }
  changed_bar[n - 1] += select(by_size, part / enough, o);
}

/// Takes cotangents back through the rounds of a step of length h from q and v of the tree, where A is
/// factored and `tree` is placed. `base` is A − M(q₀).
template <class S>
void pull_velocity_terms(const VelocityRounds<S>& rounds,
                         dynamics::StepMatrix<S>& A,
                         dynamics::TreeProduct<S>& tree,
                         const bool* single,
                         const S* base,
                         S h,
                         const S* q,
                         const S* v,
                         const VelocityTermsCotangents<S>& bar,
                         const StepMatrixCotangents<S>& matrix_bar,
                         tree::Workspace<S> w) {
  using tree::take;
  const auto& model = A.recursion.model;
  const int nv = model.nv;
  const S o = simd::all<S>(0), half = simd::all<S>(typename S::Real(0.5)) * h;
  S *const b = take<S>(w, nv), *const mu = take<S>(w, nv), *const start_bar = take<S>(w, nv),
           *const v_m = take<S>(w, nv), *const dq = take<S>(w, nv), *const q_m = take<S>(w, model.nq),
           *const q_m_bar = take<S>(w, nv), *const v_m_bar = take<S>(w, nv), *const dq_bar = take<S>(w, nv),
           *const minus = take<S>(w, nv);
  const auto each = [&](const auto& visit) {
    for (int k = 0; k < model.bodies; ++k) {
      if (!single[k]) visit(model.joint[k]);
    }
  };
  const auto each_coordinate = [&](const auto& visit) {
    each([&](const tree::Joint& joint) {
      for (int i = joint.v; i < joint.v + joint.nv; ++i) visit(i);
    });
  };
  const auto solve = [&](const S* right, S* x) {
    for (int i = 0; i < nv; ++i) x[i] = o;
    A.solve(single, right, x);
  };
  for (int i = 0; i < nv; ++i) start_bar[i] = b[i] = o;
  simd::copy_each<S>(q, model.nq, q_m);
  dynamics::TreeProduct<S> middle(model, single, w);
  middle.gather_places(tree.places());
  S changed_bar[VelocityRounds<S>::most];  // of the shares of the kinetic energy that rounds change
  for (S& own : changed_bar) own = o;
  auto* const V = take<spatial::Motion<S>>(w, model.bodies);
  auto* const V_bar = take<spatial::Force<S>>(w, model.bodies);
  for (int n = rounds.count - 1; n >= 0; --n) {
    const S *const rate = rounds.rate[n], *const step = rounds.step[n];
    S weight_bar = o;
    each_coordinate([&](int i) {
      b[i] = rounds.weight[n] * (bar.a[i] + bar.change[i]);
      weight_bar = simd::fma(step[i], bar.a[i] + bar.change[i], weight_bar);
    });
    pull_weight(rounds, n, weight_bar, changed_bar);
    solve(b, mu);
    // h² step·A step / energy, with A step given by what is left
    const S of_size = changed_bar[n] * h * h / rounds.energy[n];
    const S of_energy = -changed_bar[n] * rounds.changed[n] / rounds.energy[n];
    each_coordinate([&](int i) { mu[i] = simd::fma(of_size, step[i], mu[i]); });
    subtract_matrix_product(model, tree, static_cast<const S*>(mu), step, matrix_bar, w);
    each_coordinate([&](int i) { mu[i] = simd::fma(of_size, step[i], mu[i]); });
    for (int i = 0; i < nv; ++i) {
      q_m_bar[i] = v_m_bar[i] = dq_bar[i] = v_m[i] = dq[i] = o;
      minus[i] = -mu[i];
    }
    each([&](const tree::Joint& joint) {
      for (int i = joint.v; i < joint.v + joint.nv; ++i) {
        const S start = simd::fnma(h, rounds.rate[0][i], rounds.before[i]);
        v_m[i] = simd::fma(half, rate[i], start);
        dq[i] = half * v_m[i];
      }
      dynamics::retract<S>(joint.block, joint.blocks, q + joint.q, dq + joint.v, q_m + joint.q);
    });
    middle.place(q_m, v_m, w);
    middle.spread(v_m, V);
    for (int k = 0; k < model.bodies; ++k) {
      if (single[k]) continue;
      V_bar[k] = (of_energy + of_energy) * (dynamics::body_inertia<S>(model, k) * V[k]);
      if (matrix_bar.theta == nullptr) continue;
      dynamics::add_inertia_cotangents(of_energy, V[k], V[k], matrix_bar.theta + 10 * k);
    }
    middle.add(v_m, rate, minus, false, q_m_bar, v_m_bar, bar.a, matrix_bar.theta, V_bar);
    each([&](const tree::Joint& joint) {
      const int k = joint.v;
      add_retract_product<S>(joint, dq + k, q_m_bar + k, matrix_bar.q + k, dq_bar + k);
    });
    each_coordinate([&](int i) {
      bar.a[i] = simd::fnma(base[i], mu[i], bar.a[i]);
      const S v_bar = simd::fma(half, dq_bar[i], v_m_bar[i]);
      start_bar[i] += v_bar;
      bar.a[i] = simd::fma(half, v_bar, bar.a[i]);
    });
    dynamics::subtract_beside_diagonal(model, base, static_cast<const S*>(mu), bar.a);
    dynamics::subtract_block_cotangents(model, static_cast<const S*>(mu), rate, matrix_bar.base);
  }
  each_coordinate([&](int i) {
    bar.before[i] += start_bar[i];
    b[i] = simd::fnma(h, start_bar[i], bar.a[i]);
  });
  solve(b, mu);
  S* const unused = take<S>(w, nv);
  for (int i = 0; i < nv; ++i) {
    minus[i] = -mu[i];
    unused[i] = o;
  }
  dynamics::subtract_block_cotangents(
      model, static_cast<const S*>(mu), static_cast<const S*>(rounds.rate[0]), matrix_bar.base);
  auto* const c_bar = take<spatial::Force<S>>(w, model.bodies);
  pull_share(A, single, h, rounds.share, bar.share, V_bar, c_bar);
  tree.add(v, rounds.rate[0], minus, false, matrix_bar.q, bar.v, unused, matrix_bar.theta, V_bar, c_bar);
}

}  // namespace pysim::stepping
