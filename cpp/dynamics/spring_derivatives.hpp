// How springs between bodies stiffen a mechanism along their lines.
//
//     ∂τ/∂q ≈ −k rᵀ r,   ∂τ/∂v = −c rᵀ r        r = ∂|p_B − p_A|/∂q
//
// What turns a spring's line is left out: it is not larger than force over length.
#pragma once

#include "dynamics/springs.hpp"
#include "tree/coordinates.hpp"

namespace pysim::dynamics {

/// Adds Σ (c · rate + k · length) rᵀ r of every spring to A (own_nv × own_nv), on the user's coordinates.
template <class S>
void add_spring_stiffness(
    const ModelView<typename S::Real>& model, const S* q, S rate, S length, S* A, Workspace<S> w) {
  Carrier<S>* const body = w.template take<Carrier<S>>(model.bodies);
  Motion<S>* const columns = w.template take<Motion<S>>(model.stored_columns);
  S* const row = w.template take<S>(model.nv);
  spread_carriers(model, q, static_cast<const S*>(nullptr), body, columns);
  const int n = model.own_nv;
  for (int k = 0; k < model.springs; ++k) {
    const auto& spring = model.spring[k];
    const Vec3<S> at_a = spatial::all3<S>(spring.at_a), at_b = spatial::all3<S>(spring.at_b);
    const Vec3<S> d = spring_end(body, spring.b, at_b).p - spring_end(body, spring.a, at_a).p;
    const S reach = sqrt(dot(d, d)), o = all<S>(0);
    const Vec3<S> along = select(reach > o, all<S>(1) / reach, o) * d;
    for (int i = 0; i < model.nv; ++i) row[i] = o;
    push_at(model, body, static_cast<const Motion<S>*>(columns), spring.b, at_b, along, row);
    push_at(model, body, static_cast<const Motion<S>*>(columns), spring.a, at_a, -along, row);
    Workspace<S> inner = w;
    const S* r = tree::own_forces(model, static_cast<const S*>(row), inner);
    const S weight = fma(all<S>(spring.stiffness), length, all<S>(spring.damping) * rate);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) A[i * n + j] = fma(weight * r[i], r[j], A[i * n + j]);
    }
  }
}

}  // namespace pysim::dynamics
