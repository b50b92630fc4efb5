// Forward dynamics of a mechanism whose loops are closed and whose couplings hold.
//
//     M v̇ = τ − h + Jᵀ λ,  g̈ = J v̇ + bias = 0      ⟹      (J M⁻¹ Jᵀ) λ = −g̈₀,   v̇ = v̇₀ + M⁻¹ Jᵀ λ
//
// where v̇₀ and g̈₀ are those of the tree alone [Featherstone 2008, section 8.5]. J M⁻¹ Jᵀ is
// solved with its rank, so redundant rows are welcome.
#pragma once

#include "constraints/couplings.hpp"
#include "constraints/delassus.hpp"

namespace pysim::constraints {

/// hang(b, F) for both ends of every spring and damper: F pulls body b, where the bodies were placed.
template <class S, class Hang>
void hang_springs(const FactoredMechanism<S>& factor, const Hang& hang) {
  const auto& model = factor.model;
  const auto end = [&](int b, const Vec3<S>& at) -> dynamics::SpringEnd<S> {
    if (b < 0) return {at, spatial::zero3<S>()};
    return dynamics::spring_end(factor.X_WB[b], factor.body[b].V, at);
  };
  const auto pull = [&](int b, const Vec3<S>& at, const Vec3<S>& f) {
    if (b < 0) return;
    const Vec3<S> f_B = transpose_times(factor.X_WB[b].R, f);
    hang(b, Force<S>{f_B, cross(at, f_B)});
  };
  for (int k = 0; k < model.springs; ++k) {
    const auto& spring = model.spring[k];
    const Vec3<S> at_a = spatial::all3<S>(spring.at_a), at_b = spatial::all3<S>(spring.at_b);
    const Vec3<S> f = dynamics::spring_pull(spring, end(spring.a, at_a), end(spring.b, at_b));
    pull(spring.a, at_a, f);
    pull(spring.b, at_b, -f);
  }
}

/// The external wrenches, `f_ext` (may be null) and those of springs.
template <class S>
const Force<S>* with_springs(const FactoredMechanism<S>& factor, const Force<S>* f_ext, Workspace<S>& w) {
  const auto& model = factor.model;
  if (model.springs == 0) return f_ext;
  Force<S>* const F = take<Force<S>>(w, model.bodies);
  for (int b = 0; b < model.bodies; ++b) F[b] = f_ext == nullptr ? spatial::zero_force<S>() : f_ext[b];
  hang_springs(factor, [F](int b, const Force<S>& pull) { F[b] += pull; });
  return F;
}

/// A mechanism at one state with its rows, both factored.
template <class S>
struct ConstrainedMechanism {
  FactoredMechanism<S> factor;
  Rows<S> rows;
  Delassus<S> delassus;

  ConstrainedMechanism(const ModelOf<S>& model, Workspace<S>& w)
      : factor(model, w), rows(take_rows(model, true, w)), delassus(model, w) {}

  /// v̇ of the user's coordinates, constraints and couplings included, and the constraints' forces λ [rows].
  /// φ of the loops follows q, but for that of hinges.
  void accelerate(const S* reduced_q,
                  const S* reduced_v,
                  const S* tau,
                  const Force<S>* f_ext,
                  bool passive,
                  S* phi,
                  S* a,
                  S* lambda,
                  Workspace<S> w,
                  Dependence<S>* dependence = nullptr) {
    const ModelOf<S>& model = factor.model;
    const S* q = tree::full_q(model, reduced_q, w);
    const S* v = tree::full_v(model, reduced_v, w);
    factor.move(q, v, w);
    S* force = nullptr;
    if (passive && model.joint_forces) {
      force = take<S>(w, model.nv);
      dynamics::passive_joint_forces(model, q, v, force, w);
    }
    if (passive && model.mimic) {
      f_ext = with_springs(factor, f_ext, w);
    } else if (passive && model.planar_loops) {
      factor.flat.hang_springs();
    } else if (passive) {
      hang_springs(factor, [&](int b, const Force<S>& F) { factor.body[b].pA = factor.body[b].pA - F; });
    }
    factor.accelerate(q, v, tau, force, f_ext, a, w);
    evaluate_rows(model, factor, phi, rows, true, w);
    evaluate_couplings(model, reduced_q, reduced_v, static_cast<const S*>(a), rows, w);
    delassus.factorise(factor, rows, dependence);
    for (int i = 0; i < model.rows; ++i) lambda[i] = -rows.gdd[i];
    hold(a, lambda, w);
    S* const push = take<S>(w, model.reduced_nv);
    delassus.push(factor, lambda, push);
    for (int i = 0; i < model.reduced_nv; ++i) a[i] += push[i];
  }

 private:
  /// λ ← Λ⁺ λ, of λ = −(J v̇₀ + bias). Near a singular position what the tree's own accelerations ask for is
  /// given in full.
  void hold(const S* a, S* lambda, Workspace<S> w) const {
    const auto slight = delassus.G.is_slight();
    if (none(slight)) return delassus.G.solve(lambda);
    const ModelOf<S>& model = factor.model;
    S *const apart = take<S>(w, model.rows), *const bias = take<S>(w, model.rows);
    for (int i = 0; i < model.rows; ++i) {
      apart[i] = lambda[i];
      bias[i] = lambda[i] + row_times(model, rows, i, a);
    }
    delassus.G.solve(lambda);
    delassus.G.solve_split(apart, bias);
    for (int i = 0; i < model.rows; ++i) lambda[i] = select(slight, apart[i], lambda[i]);
  }
};

}  // namespace pysim::constraints
