// Products of the derivatives of velocity terms with cotangents: the rounds of velocity_terms.hpp, as they
// were made, from the last one to the first.
//
//     a ← a + w s,  A s = −(RNEA(q_m, v_m, a) + (A − M(q₀)) a)        μ = A⁻¹ (w ā)
//
//     v̄_m, q̄_m, ā −= μᵀ ∂RNEA/∂(v, q, a)      Ā −= μ sᵀ      a₀ = −A⁻¹ c(q₀, v₀)
#pragma once

#include "dynamics/rnea_product.hpp"
#include "simd/reverse.hpp"
#include "stepping/velocity_terms.hpp"

namespace pysim::stepping {

/// A + diagonal, in products: −λᵀ ∂A x for rows of a step.
template <class S>
struct StepMatrixCotangents {
  S* q;      ///< (nv)
  S* base;   ///< of what A has beside M, see dynamics/step_blocks.hpp
  S* theta;  ///< (bodies, ten)
};

/// Adds −λᵀ ∂A x.
template <class S>
void subtract_matrix_product(const tree::ModelOf<S>& model,
                             const dynamics::TreeProduct<S>& tree,
                             const S* lambda,
                             const S* x,
                             const StepMatrixCotangents<S>& bar,
                             tree::Workspace<S> w) {
  using spatial::Force;
  using spatial::Motion;
  auto *const L = tree::take<Motion<S>>(w, model.bodies), *const X = tree::take<Motion<S>>(w, model.bodies);
  auto *const L_bar = tree::take<Force<S>>(w, model.bodies), *const X_bar =
                                                                 tree::take<Force<S>>(w, model.bodies);
  tree.spread(lambda, L);
  tree.spread(x, X);
  for (int b = 0; b < model.bodies; ++b) {
    const auto M = dynamics::body_inertia<S>(model, b);
    L_bar[b] = -(M * X[b]);
    X_bar[b] = -(M * L[b]);
    dynamics::add_inertia_cotangents(simd::all<S>(-1), L[b], X[b], bar.theta + 10 * b);
  }
  S* const none = nullptr;
  tree.gather(L, lambda, L_bar, bar.q, none);
  tree.gather(X, x, X_bar, bar.q, none);
  dynamics::subtract_block_cotangents(model, lambda, x, bar.base);
}

/// Cotangents of the quaternions and positions of a joint at q, for those of q ⊕ δ along δ.
template <class S>
void seed_joint(const tree::Joint& joint, const S* q, const S* bar, S* q_bar) {
  using dynamics::load3;
  using dynamics::store;
  for (int k = 0; k < joint.blocks; ++k) {
    const tree::Block& block = joint.block[k];
    const S *const at = q + block.q, *const d = bar + block.v;
    S* const to = q_bar + block.q;
    if (block.group == tree::Group::real) {
      simd::copy_each<S>(d, block.nv, to);
      continue;
    }
    const int turn = block.group == tree::Group::pose ? 3 : 0;
    const auto r = dynamics::load_quaternion(at + turn);
    const spatial::Vec3<S> w = load3(d + turn);
    const S two = simd::all<S>(2);
    const auto moved = r * spatial::Quaternion<S>{two * w.x, two * w.y, two * w.z, simd::all<S>(0)};
    store(moved, to + turn);
    if (turn > 0) store(spatial::rotation(r) * load3(d), to);
  }
}

/// Numbers on a tape whose cotangents are requested.
template <class S, bool n = false>
simd::Reverse<S, n>* take_inputs(const S* values, int count, simd::Tape<S>& tape, tree::Workspace<S>& w) {
  using R = simd::Reverse<S, n>;
  R* const inputs = tree::take<R>(w, count);
  for (int i = 0; i < count; ++i) inputs[i] = R(values[i], &tape, tape.add_node());
  return inputs;
}

/// Adds to the cotangent of a number on a tape.
template <class S, bool n>
PYSIM_INLINE void seed(const simd::Reverse<S, n>& x, S bar) {
  if (!x.is_constant()) x.tape->cotangent[x.node] += bar;
}

/// The cotangent of an input; it is zero from now on.
template <class S, bool n>
PYSIM_INLINE S take_cotangent(const simd::Reverse<S, n>& x) {
  const S bar = x.tape->cotangent[x.node];
  x.tape->cotangent[x.node] = simd::all<S>(0);
  return bar;
}

/// Adds the cotangents of q₀, along δ of q₀ ⊕ δ, and of dq, for those of q₀ ⊕ dq along its own axes.
template <class S>
void add_retract_product(const tree::Joint& joint,
                         const S* q,
                         const S* dq,
                         const S* bar,
                         S* q_bar,
                         S* dq_bar,
                         simd::Tape<S> tape,
                         tree::Workspace<S> w) {
  using R = simd::Reverse<S>;
  const int begin = tape.edges;
  constexpr int most = 8;  // numbers of two rotations
  S zero[tree::max_joint_nv], at[most] = {}, q1_bar[most] = {};
  R from[most], start[most], end[most];
  for (S& x : zero) x = simd::all<S>(0);
  for (int i = 0; i < joint.nq; ++i) from[i] = R(q[i]);
  const R* const delta = take_inputs<S>(zero, joint.nv, tape, w);
  const R* const step = take_inputs<S>(dq, joint.nv, tape, w);
  dynamics::retract<R>(joint.block, joint.blocks, from, delta, start);
  dynamics::retract<R>(joint.block, joint.blocks, start, step, end);
  for (int i = 0; i < joint.nq; ++i) at[i] = end[i].value;
  seed_joint(joint, static_cast<const S*>(at), bar, q1_bar);
  for (int i = 0; i < joint.nq; ++i) seed(end[i], q1_bar[i]);
  tape.pull(begin);
  for (int i = 0; i < joint.nv; ++i) {
    q_bar[i] += take_cotangent(delta[i]);
    dq_bar[i] += take_cotangent(step[i]);
  }
}

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
                         const simd::Tape<S>& tape,
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
  for (int n = rounds.made - 1; n >= 0; --n) {
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
      dynamics::add_inertia_cotangents(of_energy, V[k], V[k], matrix_bar.theta + 10 * k);
    }
    middle.add(v_m, rate, minus, false, q_m_bar, v_m_bar, bar.a, matrix_bar.theta, V_bar);
    each([&](const tree::Joint& joint) {
      const int k = joint.v;
      add_retract_product<S>(joint, q + joint.q, dq + k, q_m_bar + k, matrix_bar.q + k, dq_bar + k, tape, w);
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
