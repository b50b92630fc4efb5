// Factor of a symmetric positive definite matrix with zeros in known places, and solutions with many columns.
//
//     H = LᵀDL  from the last coordinate to the first       [Featherstone 2005; 2008, section 6.5]
//
// In this order the matrix of a tree, whose entries are those of coordinates on one branch, fills in nowhere.
// Other entries may be marked; what fills in beside them is found once.
#pragma once

#include "simd/pack.hpp"
#include "simd/row_sum.hpp"
#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::dynamics {

template <class S>
class SparseFactor {
 public:
  SparseFactor(int n, tree::Workspace<S>& w)
      : n_(n),
        marked_(tree::take<int>(w, std::ptrdiff_t{n} * n)),
        before_(tree::take<int>(w, std::ptrdiff_t{n} * n)),
        after_(tree::take<int>(w, std::ptrdiff_t{n} * n)),
        before_count_(tree::take<int>(w, n)),
        after_count_(tree::take<int>(w, n)),
        inv_D_(tree::take<S>(w, n)),
        share_(tree::take<S>(w, n)),
        row_(tree::take<const S*>(w, n)) {
    for (int i = 0; i < n * n; ++i) marked_[i] = 0;
  }

  /// Lets H_ij be other than zero.
  void mark(int i, int j) { marked_[i > j ? i * n_ + j : j * n_ + i] = 1; }

  /// Lets those of the coordinates of every branch be so.
  template <class Model>
  void mark_branches(const Model& model) {
    for (int b = 0; b < model.bodies; ++b) {
      for (int c = b; c >= 0; c = model.joint[c].parent) {
        for (int i = 0; i < model.joint[b].nv; ++i) {
          for (int j = 0; j < model.joint[c].nv; ++j) mark(model.joint[b].v + i, model.joint[c].v + j);
        }
      }
    }
  }

  /// Replaces the entries below the diagonal of H (n, n) by L, for `solve`.
  void factor(S* H) {
    fill_in();
    L_ = H;
    for (int k = n_ - 1; k >= 0; --k) {
      S* const row = H + k * n_;
      const S inverse = simd::all<S>(1) / row[k];
      inv_D_[k] = inverse;
      for (int a = 0; a < before_count_[k]; ++a) {
        const int i = before_[k * n_ + a];
        const S share = inverse * row[i];
        for (int b = 0; b <= a; ++b) {
          const int j = before_[k * n_ + b];
          H[i * n_ + j] = simd::fnma(share, row[j], H[i * n_ + j]);
        }
      }
      for (int a = 0; a < before_count_[k]; ++a) row[before_[k * n_ + a]] *= inverse;
    }
  }

  /// Y −= B X, of B (n, n) that is zero where H is, and X (n, columns).
  void subtract_product(const S* B, const S* X, int columns, S* Y) const {
    for (int i = 0; i < n_; ++i) {
      int count = 0;
      const auto add = [&](int k) {
        share_[count] = -B[i * n_ + k];
        row_[count++] = X + k * columns;
      };
      for (int a = 0; a < before_count_[i]; ++a) add(before_[i * n_ + a]);
      add(i);
      for (int a = 0; a < after_count_[i]; ++a) add(after_[i * n_ + a]);
      simd::add_rows<S>(share_, row_, count, Y + i * columns, columns);
    }
  }

  /// X ← H⁻¹ X, (n, columns).
  void solve(S* X, int columns) const {
    for (int i = n_ - 1; i >= 0; --i) {
      for (int a = 0; a < after_count_[i]; ++a) {
        const int k = after_[i * n_ + a];
        share_[a] = -L_[k * n_ + i];
        row_[a] = X + k * columns;
      }
      simd::add_rows<S>(share_, row_, after_count_[i], X + i * columns, columns);
    }
    for (int k = 0; k < n_; ++k) {
      S* const own = X + k * columns;
      for (int c = 0; c < columns; ++c) own[c] = inv_D_[k] * own[c];
      for (int a = 0; a < before_count_[k]; ++a) {
        const int i = before_[k * n_ + a];
        share_[a] = -L_[k * n_ + i];
        row_[a] = X + i * columns;
      }
      simd::add_rows<S>(share_, row_, before_count_[k], own, columns);
    }
  }

 private:
  /// Lists the entries of L by row and by column.
  void fill_in() {
    for (int k = n_ - 1; k >= 0; --k) {
      int& count = before_count_[k] = 0;
      int* const row = before_ + k * n_;
      for (int i = 0; i < k; ++i) {
        if (marked_[k * n_ + i] != 0) row[count++] = i;
      }
      for (int a = 0; a < count; ++a) {
        for (int b = 0; b < a; ++b) marked_[row[a] * n_ + row[b]] = 1;
      }
    }
    for (int i = 0; i < n_; ++i) after_count_[i] = 0;
    for (int k = 0; k < n_; ++k) {
      for (int a = 0; a < before_count_[k]; ++a) {
        const int i = before_[k * n_ + a];
        after_[i * n_ + after_count_[i]++] = k;
      }
    }
  }

  const int n_;
  int* const marked_;                 ///< (n, n), below the diagonal
  int *const before_, *const after_;  ///< (n, n) coordinates before k that row k has, and after i that have i
  int *const before_count_, *const after_count_;
  S* const inv_D_;
  S* const share_;  ///< [n] multiples of rows that a row takes, and these rows
  const S** const row_;
  const S* L_ = nullptr;
};

}  // namespace pysim::dynamics
