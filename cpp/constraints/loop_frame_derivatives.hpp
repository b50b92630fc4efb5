// Derivatives of the rows of one loop as frame B moves relative to frame A, at an admissible acceleration.
//
//     g̈ = W·A_AB + bias      X_AB ← X_AB e^[ξ]:      dg̈ = W·dA_AB + P·ξ + R·dV_AB      dF = T ξ
// for the wrench F = Σ λ W on B. If a joint's S is constant, so is W in B, and then P = R = T = 0.
// If S depends on φ, φ follows X_AB as in a closed loop, dφ = S⁺ξ; everything else here is also valid for
// open loops.
// too.
#pragma once

#include "constraints/loop_closure.hpp"
#include "constraints/rolling_derivatives.hpp"
#include "tree/subspace_derivative.hpp"

namespace pysim::constraints {

using tree::SubspaceDerivative;

template <class S>
struct LoopChange {
  Force<S> P[6], R[6];  ///< of the independent rows
  Force<S> T[6];        ///< dF for each component of ξ
  bool turns;           ///< T is not zero
};

/// One loop at a state: its rows' wrenches in B and the wrench of their forces.
template <class S>
struct LoopAtState {
  int k, rows;
  const int* independent;
  const S* lambda;  ///< forces of the rows
  RelativeMotion<S> motion;
  Force<S> W[6], F;

  LoopAtState(
      int loop_k, const Loop& loop, const RelativeMotion<S>& m, const Force<S>* all_W, const S* all_lambda)
      : k(loop_k), rows(loop.rows), independent(loop.independent), lambda(all_lambda + loop.row), motion(m) {
    F = spatial::zero_force<S>();
    for (int i = 0; i < rows; ++i) {
      W[i] = all_W[loop.row + i];
      F += lambda[i] * W[i];
    }
  }
};

template <class S>
Force<S> times(const Force<S> (&T)[6], const Motion<S>& xi) {
  const S x[6] = {xi.v.x, xi.v.y, xi.v.z, xi.w.x, xi.w.y, xi.w.z};
  Force<S> sum = x[0] * T[0];
  for (int m = 1; m < 6; ++m) sum += x[m] * T[m];
  return sum;
}

template <class S>
PYSIM_INLINE Vec3<S> unit3(int m) {
  return {all<S>(m == 0 ? 1 : 0), all<S>(m == 1 ? 1 : 0), all<S>(m == 2 ? 1 : 0)};
}

/// S⁺ V, in place of the six numbers of V.
template <class S>
void split_off(const Annihilator<S>& split, const Motion<S>& V, S (&x)[6]) {
  split.split(V, x);
  split.coordinates(x);
}

/// dF = −S⁺ᵀ [Σ_k ∂S_j/∂φ_k·F dφ_k] for each component of ξ: F does no work on the joint, Sᵀ F = 0.
template <class S>
void turn_with_joint(const SubspaceDerivative<S>& D,
                     const Annihilator<S>& split,
                     const Force<S>& F,
                     Force<S> (&T)[6]) {
  const Vec3<S> o = spatial::zero3<S>();
  S slope[6][6];  // ∂S_j/∂φ_k·F
  for (int j = 0; j < D.nv; ++j) {
    for (int k = 0; k < D.nv; ++k) slope[j][k] = dot(D.column(j, k), F);
  }
  for (int m = 0; m < 6; ++m) {
    const Vec3<S> e = unit3<S>(m % 3);
    S step[6], x[6];
    split_off(split, m < 3 ? Motion<S>{e, o} : Motion<S>{o, e}, step);
    for (int j = 0; j < D.nv; ++j) {
      x[j] = all<S>(0);
      for (int k = 0; k < D.nv; ++k) x[j] = fnma(slope[j][k], step[k], x[j]);
    }
    T[m] = split.spread(x);
  }
}

/// With u_k = ∂S/∂φ_k φ̇, w_k = ∂(S φ̈ + c)/∂φ_k and c_k = ∂c/∂φ̇_k = u_k + Ṡ_k:
///
///     R = −S⁺ᵀ [c_k·W]_k        P = −S⁺ᵀ [w_k·W + u_k·R]_k
template <class S>
void joint_change(
    const ModelOf<S>& closure, const LoopAtState<S>& loop, const S* phi, LoopChange<S>& out, Workspace<S> w) {
  const Joint& joint = closure.joint[loop.k];
  out.turns = joint.first_slope >= 0;
  if (!out.turns) return;
  Motion<S>* const columns = take<Motion<S>>(w, closure.stored_columns);
  S* const rate = take<S>(w, closure.nv);
  const SubspaceDerivative<S> D = {joint.nv, take<Motion<S>>(w, closure.slopes)};
  tree::evaluate(closure, loop.k, phi, columns);
  Annihilator<S> split;
  split_along(joint, static_cast<const Motion<S>*>(columns), split);
  S once[6], twice[6];  // φ̇ and φ̈
  split_off(split, loop.motion.V, once);
  for (int k = 0; k < joint.nv; ++k) rate[joint.v + k] = once[k];
  Motion<S> A_S = loop.motion.A;
  if (joint.biased) A_S = A_S - tree::bias(closure, loop.k, columns, static_cast<const S*>(rate));
  split_off(split, A_S, twice);
  tree::subspace_derivative(closure, loop.k, phi, static_cast<const S*>(rate), columns, D);

  Motion<S> u[6], along_q[6], along_v[6];
  for (int k = 0; k < joint.nv; ++k) {
    u[k] = along_v[k] = spatial::zero_motion<S>();
    along_q[k] = D.bias(k);
    for (int j = 0; j < joint.nv; ++j) {
      u[k] = fma(once[j], D.column(j, k), u[k]);
      along_v[k] = fma(once[j], D.column(k, j), along_v[k]);
      along_q[k] = fma(twice[j], D.column(j, k), along_q[k]);
    }
    along_v[k] += u[k];
  }
  S x[6];
  for (int i = 0; i < loop.rows; ++i) {
    for (int k = 0; k < joint.nv; ++k) x[k] = -dot(along_v[k], loop.W[i]);
    out.R[i] = split.spread(x);
    for (int k = 0; k < joint.nv; ++k) x[k] = -dot(along_q[k], loop.W[i]) - dot(u[k], out.R[i]);
    out.P[i] = split.spread(x);
  }
  turn_with_joint(D, split, loop.F, out.T);
}

/// A point constrained along n, which is fixed in A:  g̈ = n·p̈,  p̈ = v̇ + ω × v,  dn = n × θ.
template <class S>
void point_change(const LoopAtState<S>& loop, LoopChange<S>& out) {
  const Motion<S>&V = loop.motion.V, &A = loop.motion.A;
  const Vec3<S> o = spatial::zero3<S>(), acceleration = A.v + cross(V.w, V.v);
  for (int i = 0; i < loop.rows; ++i) {
    const Vec3<S>& n = loop.W[i].f;
    out.P[i] = {o, cross(acceleration, n)};
    out.R[i] = {cross(n, V.w), cross(V.v, n)};
  }
  for (int m = 0; m < 3; ++m) {
    out.T[m] = spatial::zero_force<S>();
    out.T[3 + m] = {cross(loop.F.f, unit3<S>(m)), o};
  }
}

/// n = p/|p| rotates as B moves past A, dn = (s − n n·s)/|p|, and g̈ = n·p̈ + (|ṗ|² − (n·ṗ)²)/|p|.
template <class S>
void distance_change(const LoopAtState<S>& loop, LoopChange<S>& out) {
  point_change(loop, out);
  const Vec3<S>&n = loop.W[0].f, &v = loop.motion.V.v, &p = loop.motion.X_AB.p;
  const S reach = sqrt(dot(p, p)), o = all<S>(0), two = all<S>(2);
  const S inverse = select(reach > o, all<S>(1) / reach, o), along = dot(n, v);
  const Vec3<S> passing = (two * inverse) * (v - along * n);  // ∂/∂ṗ of the last term
  const Vec3<S> by_n = loop.motion.A.v + cross(loop.motion.V.w, v) - (two * inverse * along) * v;
  const S closing = inverse * inverse * (dot(v, v) - along * along);
  out.P[0] = {inverse * by_n - fma(inverse, dot(n, by_n), closing) * n, cross(by_n, n)};
  out.R[0].f = out.R[0].f + passing;
  const S pull = inverse * dot(loop.F.f, n);
  const S entry[3] = {n.x, n.y, n.z};
  for (int m = 0; m < 3; ++m) out.T[m].f = pull * (unit3<S>(m) - entry[m] * n);
}

/// A wheel:  g̈ = W·A + Ẇ·V,  dg̈ = W·dA + dW·A + Ẇ·dV + dẆ·V.
template <class S>
void wheel_change(const LoopAtState<S>& loop, S radius, LoopChange<S>& out) {
  const Motion<S>&V = loop.motion.V, &A = loop.motion.A;
  const Vec3<S> o = spatial::zero3<S>();
  const Vec3<S> n = transpose_times(loop.motion.X_AB.R, unit3<S>(2));
  const Wheel<S> wheel(n, V.w, radius);
  const WheelRows<S> rows(wheel);
  S by_turn[3][6], by_spin[3][6];
  for (int m = 0; m < 3; ++m) {
    const Vec3<S> dn = cross(n, unit3<S>(m));
    const WheelChange<S> turned(wheel, radius, dn, cross(dn, V.w)), spun(wheel, radius, o, dn);
    out.T[m] = out.T[3 + m] = spatial::zero_force<S>();
    for (int i = 0; i < loop.rows; ++i) {
      const Force<S> dW = rows.dW(loop.independent[i], turned);
      by_turn[m][i] = dot(A, dW) + dot(V, rows.dW_rate(loop.independent[i], turned));
      by_spin[m][i] = dot(V, rows.dW_rate(loop.independent[i], spun));
      out.T[3 + m] += loop.lambda[i] * dW;
    }
  }
  for (int i = 0; i < loop.rows; ++i) {
    const Force<S> rate = rows.W_rate(loop.independent[i]);
    out.P[i] = {o, {by_turn[0][i], by_turn[1][i], by_turn[2][i]}};
    out.R[i] = {rate.f, rate.t + Vec3<S>{by_spin[0][i], by_spin[1][i], by_spin[2][i]}};
  }
}

template <class S>
void loop_change(
    const ModelOf<S>& model, const LoopAtState<S>& loop, const S* phi, LoopChange<S>& out, Workspace<S> w) {
  out.turns = true;
  switch (model.loop[loop.k].kind) {
    case LoopKind::joint:
      return joint_change(*model.closure, loop, phi, out, w);
    case LoopKind::plane:
    case LoopKind::line:
      return point_change(loop, out);
    case LoopKind::distance:
      return distance_change(loop, out);
    case LoopKind::wheel:
      return wheel_change(loop, all<S>(model.loop_constants[loop.k].length), out);
  }
}

}  // namespace pysim::constraints
