// Factor of A + Σ Jᵀ G J by the recursion of the articulated-body algorithm: what is added on a body goes
// into its articulated inertia, what is added on a coordinate into D.
//
//     IA = M + Σ X* G X      D = SᵀU + I_r + diagonal      K = U D⁻¹      IA_P += X_PB* (IA − K Uᵀ) X_BP
//     (A + Σ JᵀGJ + E) x = τ + Σ Jᵀ F:   u = τ − SᵀpA,  pA_P += X_PB* (pA + K u)  with pA = −F
//                                        x = D⁻¹u − Kᵀ a
//
// Entries of E beside the diagonal couple coordinates of one joint: these are eliminated in the space of the
// body's motions and the joint's coordinates, where a column is (S_i, e_i) and the inertia
//
//     ⎡ IA  X ⎤      U_i = IA S_i + X_i      c_ji = S_iᵀ X_j + E_ji,  j < i
//     ⎣ Xᵀ  E ⎦      D = S_iᵀ U_i + S_iᵀ X_i + E_ii
//                    X_j −= U_i D⁻¹ c_ji     E_jk −= c_ji D⁻¹ c_ki
//
// The matrix is never formed: a solution costs one articulated-body recursion [Featherstone 2008,
// section 7.3; Sathya, Carpentier 2024].
#pragma once

#include "dynamics/inertia_factor.hpp"
#include "dynamics/step_blocks.hpp"

namespace pysim::dynamics {

template <class S>
struct LoadedFactor : TreeFactor<S> {
  ArticulatedInertia<S>* IA;  ///< [bodies]
  Force<S>* pA;               ///< [bodies]
  S* coupling;                ///< [nv] D⁻¹ c_ji at the places of E_ji beside the diagonal

  LoadedFactor(const ModelOf<S>& m, Workspace<S>& w)
      : TreeFactor<S>(m, w, true),
        IA(take<ArticulatedInertia<S>>(w, m.bodies)),
        pA(take<Force<S>>(w, m.bodies)),
        coupling(take<S>(w, m.nv)),
        triple_(take<Triples>(w, m.bodies)) {
    for (int b = 0; b < m.bodies; ++b) {
      Triples& own = triple_[b];
      own.some = false;
      for (int& first : own.first) first = -1;
      each_sprung_triple(m, b, [&](int k) {
        own.some = true;
        for (int i = 0; i < 3; ++i) own.first[k + i - m.joint[b].v] = k - m.joint[b].v;
      });
    }
  }

  /// Puts the bodies' own inertias into IA, to which loads are added.
  void unload() {
    for (int b = 0; b < this->model.bodies; ++b) IA[b] = articulated(body_inertia<S>(this->model, b));
  }

  static constexpr auto every_body = [](int) { return true; };

  /// Factors what IA holds, E of step_blocks.hpp added, of the trees whose bodies are `included`.
  template <class Included = decltype(every_body)>
  void factor(const S* E_all, const Included& included = every_body) {
    const ModelOf<S>& model = this->model;
    for (int b = model.bodies - 1; b >= 0; --b) {
      if (!included(b)) continue;
      const Joint& joint = model.joint[b];
      if (triple_[b].some) eliminate_coupled(b, E_all);
      for (int k = joint.v + joint.nv - 1; k >= joint.v && !triple_[b].some; --k) {
        Elimination<S>& E = this->elimination[k];
        const Force<S> U = E.factor(
            IA[b], tree::axis(joint, this->columns, k - joint.v), all<S>(model.armature[k]) + E_all[k]);
        if (joint.parent >= 0 || k > joint.v) IA[b] = minus_outer(IA[b], E.K, U);
      }
      if (joint.parent >= 0) IA[joint.parent] = IA[joint.parent] + to_parent(this->body[b].X_PB, IA[b]);
    }
  }

  /// The bodies' accelerations at x (nv), as `solve` leaves them without drift.
  void spread(const S* x) {
    for (int b = 0; b < this->model.bodies; ++b) {
      const Joint& joint = this->model.joint[b];
      const Motion<S> carried = joint.parent < 0
                                    ? spatial::zero_motion<S>()
                                    : to_child(this->body[b].X_PB, this->acceleration[joint.parent]);
      this->acceleration[b] = plus_joint_twist(carried, joint, this->columns, x);
    }
  }

  /// x = H⁻¹ b without forces on bodies.
  void apply_inverse(const S* b, S* x) {
    for (int k = 0; k < this->model.bodies; ++k) pA[k] = spatial::zero_force<S>();
    solve(b, spatial::zero_motion<S>(), nullptr, x);
  }

  /// x (nv) under τ (nv), which may be null, and −pA, whose content is lost. Bodies accelerate by `drift`
  /// [bodies] beside x, unless it is null. Leaves the bodies' accelerations in pA's place as `acceleration`.
  /// Bodies that are not `included` are left as they are.
  template <class Included = decltype(every_body)>
  void solve(const S* tau,
             const Motion<S>& base,
             const Motion<S>* drift,
             S* x,
             const Included& included = every_body) {
    const ModelOf<S>& model = this->model;
    for (int b = model.bodies - 1; b >= 0; --b) {
      if (!included(b)) continue;
      const Joint& joint = model.joint[b];
      if (triple_[b].some) push_coupled(b, tau);
      for (int k = joint.v + joint.nv - 1; k >= joint.v && !triple_[b].some; --k) {
        Elimination<S>& E = this->elimination[k];
        const S given = tau == nullptr ? all<S>(0) : tau[k];
        const S u = E.push(given, dot(tree::axis(joint, this->columns, k - joint.v), pA[b]));
        pA[b] = fma(u, E.K, pA[b]);
      }
      if (joint.parent < 0) continue;
      if (drift != nullptr) pA[b] = multiply_add(IA[b], drift[b], pA[b]);
      pA[joint.parent] = plus_to_parent(pA[joint.parent], this->body[b].X_PB, pA[b]);
    }
    for (int b = 0; b < model.bodies; ++b) {
      if (!included(b)) continue;
      const Joint& joint = model.joint[b];
      Motion<S> acc =
          to_child(this->body[b].X_PB, joint.parent < 0 ? base : this->acceleration[joint.parent]);
      if (drift != nullptr) acc += drift[b];
      for (int i = 0; i < joint.nv; ++i) {
        const int k = joint.v + i;
        const Elimination<S>& E = this->elimination[k];
        x[k] = E.a - dot_add(acc.v, E.K.f, dot(acc.w, E.K.t));
        each_before(b, i, [&](int j) { x[k] = fnma(coupled(b, j, i), x[joint.v + j], x[k]); });
        acc = plus(acc, tree::axis(joint, this->columns, i), x[k]);
      }
      this->acceleration[b] = acc;
    }
  }

 private:
  /// Of each coordinate of a joint, the first of the sprung rotation or position that it belongs to; −1 for
  /// none.
  struct Triples {
    bool some;
    int first[tree::max_joint_nv];
  };

  /// visit(j) for the coordinates j < i of the joint of body b that E couples with coordinate i.
  template <class Visit>
  PYSIM_INLINE void each_before(int b, int i, const Visit& visit) const {
    if (!triple_[b].some || triple_[b].first[i] < 0) return;
    for (int j = triple_[b].first[i]; j < i; ++j) visit(j);
  }

  /// D⁻¹ c_ji of the joint of body b.
  PYSIM_INLINE S& coupled(int b, int j, int i) const {
    const int first = triple_[b].first[i], k = this->model.joint[b].v + first;
    return coupling[beside_diagonal(k, j - first, i - first)];
  }

  /// Eliminates the coordinates of body b.
  void eliminate_coupled(int b, const S* E_all) {
    const ModelOf<S>& model = this->model;
    const Joint& joint = model.joint[b];
    Force<S> X[tree::max_joint_nv];
    S E[tree::max_joint_nv];
    for (int i = 0; i < joint.nv; ++i) {
      X[i] = spatial::zero_force<S>();
      E[i] = all<S>(model.armature[joint.v + i]) + E_all[joint.v + i];
      each_before(b, i, [&](int j) {
        const int first = triple_[b].first[i], k = joint.v + first;
        coupled(b, j, i) = E_all[model.nv + beside_diagonal(k, j - first, i - first)];
      });
    }
    for (int i = joint.nv - 1; i >= 0; --i) {
      Elimination<S>& pivot = this->elimination[joint.v + i];
      const auto axis = tree::axis(joint, this->columns, i);
      const Force<S> U = IA[b] * axis + X[i];
      pivot.set(U, dot(axis, U) + dot(axis, X[i]) + E[i]);
      each_before(b, i, [&](int j) { coupled(b, j, i) += dot(axis, X[j]); });
      each_before(b, i, [&](int j) {
        const S c = coupled(b, j, i), by_D = pivot.inv_D * c;
        X[j] = X[j] - by_D * U;
        E[j] = fnma(c, by_D, E[j]);
        each_before(b, j, [&](int k) { coupled(b, k, j) = fnma(coupled(b, k, i), by_D, coupled(b, k, j)); });
      });
      each_before(b, i, [&](int j) { coupled(b, j, i) = pivot.inv_D * coupled(b, j, i); });
      if (joint.parent >= 0 || i > 0) IA[b] = minus_outer(IA[b], pivot.K, U);
    }
  }

  /// Forces of body b on its coordinates and its parent; pA is lost.
  void push_coupled(int b, const S* tau) {
    const Joint& joint = this->model.joint[b];
    S before[tree::max_joint_nv];  // on coordinates by those after them
    for (S& own : before) own = all<S>(0);
    for (int i = joint.nv - 1; i >= 0; --i) {
      Elimination<S>& E = this->elimination[joint.v + i];
      const S given = tau == nullptr ? all<S>(0) : tau[joint.v + i];
      const S u = E.push(given, dot(tree::axis(joint, this->columns, i), pA[b]) + before[i]);
      pA[b] = fma(u, E.K, pA[b]);
      each_before(b, i, [&](int j) { before[j] = fma(u, coupled(b, j, i), before[j]); });
    }
  }

  Triples* triple_;  ///< [bodies]
};

}  // namespace pysim::dynamics
