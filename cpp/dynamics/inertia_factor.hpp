// M⁻¹ without M: the eliminations of the articulated-body algorithm, made once for a configuration and then
// applied to any right-hand side, each in O(n) [Featherstone 2008, section 7.3].
//
//   factor   leaves to root     U = IA S    D = SᵀU + armature    K = U D⁻¹
//                               IA −= K Uᵀ    IA_P += X_PB* IA X_BP
//   solve    leaves to root     u = τ − Sᵀ pA    pA += K u    pA_P += X_PB* pA
//            root to leaves     A = X_BP A_P    x = D⁻¹ u − Kᵀ A    A += S x
#pragma once

#include "dynamics/aba.hpp"

namespace pysim::dynamics {

template <class S>
struct InertiaFactor {
  Pose<S>* X_PB;
  Motion<S>* columns;
  Elimination<S>* elimination;
};

/// Factors M(q); `extra` (nv), if it is not null, is added to the diagonal.
template <class S>
InertiaFactor<S> factor_inertia(const ModelOf<S>& model, const S* q, const S* extra, Workspace<S>& w) {
  const InertiaFactor<S> factor = {take<Pose<S>>(w, model.bodies),
                                   take<Motion<S>>(w, model.stored_columns),
                                   take<Elimination<S>>(w, model.nv)};
  Workspace<S> scratch = w;
  auto* const articulated_inertia = take<ArticulatedInertia<S>>(scratch, model.bodies);
  const tree::SincosTable<S> sincos = tree::sincos_table(model, q, scratch);
  for (int b = 0; b < model.bodies; ++b) {
    factor.X_PB[b] = tree::evaluate(model, b, q, sincos, factor.columns);
    articulated_inertia[b] = articulated(body_inertia<S>(model, b));
  }
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    ArticulatedInertia<S> IA = articulated_inertia[b];
    for (int i = joint.nv - 1; i >= 0; --i) {
      const int k = joint.v + i;
      const auto Sj = tree::axis(joint, factor.columns, i);
      Elimination<S>& E = factor.elimination[k];
      const Force<S> U = IA * Sj;
      S D = dot(Sj, U) + all<S>(model.armature[k]);
      if (extra != nullptr) D += extra[k];
      E.factor(U, D);
      IA = minus_outer(IA, E.K, U);
    }
    if (joint.parent < 0) continue;
    ArticulatedInertia<S>& P = articulated_inertia[joint.parent];
    P = P + to_parent(factor.X_PB[b], IA);
  }
  return factor;
}

/// x = M⁻¹ τ. Uses the `a` of the factor's eliminations; x may be τ.
template <class S>
void solve_inertia(
    const ModelOf<S>& model, const InertiaFactor<S>& factor, const S* tau, S* x, Workspace<S> w) {
  Force<S>* const pA = take<Force<S>>(w, model.bodies);
  Motion<S>* const A = take<Motion<S>>(w, model.bodies);
  for (int b = 0; b < model.bodies; ++b) pA[b] = spatial::zero_force<S>();
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    for (int i = joint.nv - 1; i >= 0; --i) {
      Elimination<S>& E = factor.elimination[joint.v + i];
      const S u = E.push(tau[joint.v + i], dot(tree::axis(joint, factor.columns, i), pA[b]));
      pA[b] = fma(u, E.K, pA[b]);
    }
    if (joint.parent >= 0) pA[joint.parent] += to_parent(factor.X_PB[b], pA[b]);
  }
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    A[b] = joint.parent < 0 ? spatial::zero_motion<S>() : to_child(factor.X_PB[b], A[joint.parent]);
    for (int i = 0; i < joint.nv; ++i) {
      const Elimination<S>& E = factor.elimination[joint.v + i];
      x[joint.v + i] = E.a - dot(A[b], E.K);
      A[b] = plus(A[b], tree::axis(joint, factor.columns, i), x[joint.v + i]);
    }
  }
}

}  // namespace pysim::dynamics
