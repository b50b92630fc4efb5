// Rows of a few loads between two bodies, beside the factor of the trees [Woodbury 1950; Golub, Van Loan
// 2013, section 2.1.4].
//
//     (H + BᵀB)⁻¹ = H⁻¹ − H⁻¹Bᵀ (1 + B H⁻¹ Bᵀ)⁻¹ B H⁻¹          B = G^½ J, three rows a load
//
//     Y = (L⁻¹Bᵀ)ᵀ       1 + B H⁻¹ Bᵀ = 1 + Y D⁻¹ Yᵀ             L and D of H as in inertia_factor.hpp
//     y = L⁻¹ τ          w = (1 + Y D⁻¹ Yᵀ)⁻¹ (p − Y D⁻¹ y)      x = L⁻ᵀ D⁻¹ (y + Yᵀ w)
//
// is the solution under τ + Bᵀp. Pushes p of stiff loads are many times what is left of them: in τ they would
// leave their rounding errors.
//
// A solution costs one sweep to the root for three rows more than that of H, and no sweep back. Blocks of
// coupled_trees.hpp, which couple all coordinates of a tree, cost more unless there are many loads.
//
// Each world fills its own rows in the order of its own loads, whichever they are: row 3 k of a pack belongs
// to the k-th load of every world, and is zero where a world has fewer. Zeros change no bit of the others.
//
// Rows are in double precision. Loads between the same two bodies are redundant, so 1 + B H⁻¹ Bᵀ has
// eigenvalues from 1 to that of the load beside the mass that it pushes: 10⁶ in the impact of a light link.
// Rounded to floats it is not positive definite.
#pragma once

#include "dynamics/loaded_factor.hpp"
#include "simd/double_precision.hpp"
#include "spatial/symmetric.hpp"
#include "tree/aligned_take.hpp"

namespace pysim::contact {

using dynamics::Elimination;
using dynamics::LoadedFactor;
using simd::all;
using simd::fma;
using simd::in_double;
using simd::Mask;
using simd::select;
using spatial::Force;
using tree::Joint;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Loads between two bodies that cost less in rows than in blocks. Blocks of single bodies are small.
template <class S>
int most_loads_in_rows(const ModelOf<S>& model) {
  constexpr int most = 8, coordinates_of_a_body = 6;
  int largest = 0;
  for (int b = 0; b < model.bodies; ++b) {
    const int size = dynamics::velocities_end(model, b) - model.joint[b].v;
    if (size > largest) largest = size;
  }
  if (largest <= coordinates_of_a_body) return 0;
  return largest / 4 < most ? largest / 4 : most;
}

template <class S>
class ContactRows {
 public:
  using Exact = simd::InDouble<S>;

  static constexpr int per_load = 3;

  /// Reserves memory for `most` loads.
  ContactRows(LoadedFactor<S>& factor, int most, Workspace<S>& w)
      : factor_(factor), force_(take<Force<S>>(w, most > 0 ? per_load * factor.model.bodies : 0)) {
    if (most == 0) return;
    const int n = per_load * most;
    reached_ = take<bool>(w, factor.model.bodies);
    Y_ = tree::take_aligned<Exact>(w, std::ptrdiff_t{n} * factor.model.nv);
    A_ = tree::take_aligned<Exact>(w, std::ptrdiff_t{n} * n);
    inv_D_ = tree::take_aligned<Exact>(w, n);
    p_ = tree::take_aligned<Exact>(w, n);
    w_ = tree::take_aligned<Exact>(w, n);
    scaled_ = tree::take_aligned<Exact>(w, factor.model.nv);
  }

  bool empty() const { return rows_ == 0; }

  void clear() { rows_ = 0; }

  /// Loads in rows of the world that has most.
  int loads() const { return rows_ / per_load; }

  /// w of row r of a load, in the last solution.
  S made(int load, int r) const { return simd::rounded_to<S>(w_[load * per_load + r]); }

  /// Begins the next three rows.
  void begin() {
    for (int b = 0; b < factor_.model.bodies; ++b) reached_[b] = false;
    for (int r = 0; r < per_load; ++r) p_[rows_ + r] = all<Exact>(0);
  }

  /// Adds wrenches on body b to the rows: those that BᵀB consists of.
  void add(int b, const Force<S> (&F)[per_load]) {
    Force<S>* const sum = force_ + per_load * b;
    for (int r = 0; r < per_load; ++r) sum[r] = reached_[b] ? sum[r] + F[r] : F[r];
    reached_[b] = true;
  }

  /// Adds to p of the rows.
  void push(const S (&p)[per_load]) {
    for (int r = 0; r < per_load; ++r) p_[rows_ + r] += in_double(p[r]);
  }

  /// Ends the three rows, after the trees have been factored.
  void end() {
    const int nv = factor_.model.nv;
    Exact* const y = Y_ + std::ptrdiff_t{rows_} * nv;
    sweep(y);
    rows_ += per_load;
  }

  /// Factors 1 + Y D⁻¹ Yᵀ.
  void factor() {
    const int n = rows_, nv = factor_.model.nv;
    for (int i = 0; i < n; ++i) {
      const Exact* const y = Y_ + std::ptrdiff_t{i} * nv;
      for (int k = 0; k < nv; ++k) scaled_[k] = in_double(factor_.elimination[k].inv_D) * y[k];
      for (int j = 0; j <= i; ++j) A_[i * n + j] = times(scaled_, Y_ + std::ptrdiff_t{j} * nv);
      A_[i * n + i] += all<Exact>(1);
    }
    spatial::SymmetricFactor<Exact>{n, A_, inv_D_}.factor();
  }

  /// D⁻¹y ← D⁻¹ (y + Yᵀ w), between the two sweeps of LoadedFactor::solve; p is zero unless `pushed`.
  void correct(bool pushed) {
    const int n = rows_, nv = factor_.model.nv;
    Elimination<S>* const E = factor_.elimination;
    for (int k = 0; k < nv; ++k) scaled_[k] = in_double(E[k].a);
    for (int i = 0; i < n; ++i) {
      const Exact moved = times(scaled_, Y_ + std::ptrdiff_t{i} * nv);
      w_[i] = pushed ? p_[i] - moved : -moved;
    }
    spatial::SymmetricFactor<Exact>{n, A_, inv_D_}.apply(w_);
    for (int k = 0; k < nv; ++k) {
      Exact sum = all<Exact>(0);
      for (int i = 0; i < n; ++i) sum = fma(Y_[std::ptrdiff_t{i} * nv + k], w_[i], sum);
      E[k].a = simd::rounded_to<S>(fma(in_double(E[k].inv_D), sum, scaled_[k]));
    }
  }

 private:
  Exact times(const Exact* a, const Exact* b) const {
    Exact sum = all<Exact>(0);
    for (int k = 0; k < factor_.model.nv; ++k) sum = fma(a[k], b[k], sum);
    return sum;
  }

  /// Three rows y of L⁻¹Bᵀ, up to their sign, from the wrenches that were added.
  void sweep(Exact* y) {
    const ModelOf<S>& model = factor_.model;
    for (int b = model.bodies - 1; b >= 0; --b) {
      const Joint& joint = model.joint[b];
      if (!reached_[b]) {
        for (int k = joint.v; k < joint.v + joint.nv; ++k) {
          for (int r = 0; r < per_load; ++r) y[r * model.nv + k] = all<Exact>(0);
        }
        continue;
      }
      Force<S> F[per_load];
#pragma GCC unroll 3
      for (int r = 0; r < per_load; ++r) F[r] = force_[per_load * b + r];
      for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
        const auto axis = tree::axis(joint, factor_.columns, k - joint.v);
        const Force<S> K = factor_.elimination[k].K;
#pragma GCC unroll 3
        for (int r = 0; r < per_load; ++r) {
          const S u = dot(axis, F[r]);
          y[r * model.nv + k] = in_double(u);
          F[r] = fma(-u, K, F[r]);
        }
      }
      if (joint.parent < 0) continue;
      Force<S>* const sum = force_ + per_load * joint.parent;
      const bool again = reached_[joint.parent];
      reached_[joint.parent] = true;
#pragma GCC unroll 3
      for (int r = 0; r < per_load; ++r) {
        const Force<S> arriving = to_parent(factor_.body[b].X_PB, F[r]);
        sum[r] = again ? sum[r] + arriving : arriving;
      }
    }
  }

  LoadedFactor<S>& factor_;
  Force<S>* force_;          ///< [bodies · 3] of the rows that are being filled
  bool* reached_ = nullptr;  ///< [bodies] whether force_ holds any
  int rows_ = 0;
  Exact* Y_ = nullptr;  ///< (rows, nv)
  Exact *A_ = nullptr, *inv_D_ = nullptr;
  Exact *p_ = nullptr, *w_ = nullptr;
  Exact* scaled_ = nullptr;  ///< [nv]
};

}  // namespace pysim::contact
