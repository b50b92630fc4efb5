// Inverse of the inertia on the reduced coordinates, and the mobility of a frame.
//
// M⁻¹ of a tree is computed without M; with mimic joints it is that of the reduced inertia, (Eᵀ M E)⁻¹.
// The mobility of a frame is the Delassus matrix G = J M⁻¹ Jᵀ of its Jacobian, the inverse of its
// operational-space inertia Λ [Khatib 1987, eq. 20].
#pragma once

#include "dynamics/jacobian.hpp"
#include "dynamics/minverse.hpp"
#include "dynamics/reduced_factor.hpp"

namespace pysim::constraints {

using simd::all;
using simd::fma;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// M⁻¹ (reduced_nv × reduced_nv), row-major; the result is in the workspace.
template <class S>
const S* inverse_inertia(const ModelOf<S>& model, const S* q, Workspace<S>& w) {
  S* const matrix = take<S>(w, std::ptrdiff_t{1} * model.nv * model.nv);
  if (!model.mimic) {
    dynamics::minverse(model, q, matrix, w);
    return matrix;
  }
  const auto M_r = dynamics::take_symmetric<S>(model.reduced_nv, w);
  dynamics::factor_reduced<S>(model, q, nullptr, M_r, w);
  M_r.invert(matrix);
  return matrix;
}

/// G (6 × 6) of a frame, row-major.
template <class S>
void frame_mobility(const ModelOf<S>& model,
                    const S* q,
                    const dynamics::BodyFrame<S>& frame,
                    dynamics::Expressed where,
                    S* mobility,
                    Workspace<S> w) {
  const int n = model.reduced_nv;
  S* const J = take<S>(w, 6 * n);
  S* const row = take<S>(w, n);
  dynamics::jacobian(model, q, frame, where, J, w);
  const S* Minv = inverse_inertia(model, q, w);
  for (int r = 0; r < 6; ++r) {
    for (int j = 0; j < n; ++j) {
      row[j] = all<S>(0);
      for (int i = 0; i < n; ++i) row[j] = fma(J[r * n + i], Minv[i * n + j], row[j]);
    }
    for (int s = 0; s <= r; ++s) {
      S sum = all<S>(0);
      for (int j = 0; j < n; ++j) sum = fma(row[j], J[s * n + j], sum);
      mobility[6 * r + s] = mobility[6 * s + r] = sum;
    }
  }
}

}  // namespace pysim::constraints
