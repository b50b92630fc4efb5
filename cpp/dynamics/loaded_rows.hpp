// Matrix H = A + Σ JᵀGJ in joint space, its factor and solutions; A is that of joint_space.hpp.
//
// A load between two branches fills in: the later branch is *hung* below the coordinates of the other one, as
// if these moved it. Entries that only another world of the pack fills are zero, and add zeros to sums whose
// order is that of the coordinates.
//
// Numbers of H are of type N, in double precision where floats do not carry it: a stiff load between two
// light bodies is subtracted from itself, and what is left are their inertias. Loads from the world and on
// coordinates are summed in type S beside it, and added before the elimination. As H − A is positive
// semidefinite, no pivot is less than that of A; where rounding makes it less, it is set to that of A. Only a
// servo that saturates takes its spring out of A again: in such a world, pivots are positive.
#pragma once

#include "dynamics/joint_space.hpp"
#include "tree/aligned_take.hpp"

namespace pysim::dynamics {

template <class S, class N>
class LoadedRows {
 public:
  /// Reserves memory only if it is `used`, for hung branches if there can be any.
  LoadedRows(const JointSpace<S>& A, bool used, bool hangs, Workspace<S>& w) : A_(A) {
    if (!used) return;
    const int n = A.size();
    at_ = &A.rows();
    const std::ptrdiff_t most = hangs ? std::ptrdiff_t{n} * (n + 1) / 2 : A.rows().row[n];
    if (hangs) hung_.reserve(n, most, w);
    H_ = tree::take_aligned<N>(w, most);
    inv_D_ = tree::take_aligned<N>(w, n);
    b_ = tree::take_aligned<N>(w, n);
    x_ = tree::take_aligned<N>(w, n);
    GJ_ = tree::take_aligned<Vec3<N>>(w, n);
    if constexpr (is_exact) {
      near_ = take<S>(w, A.rows().row[n]);
      near_b_ = take<S>(w, n);
      near_GJ_ = take<Vec3<S>>(w, n);
    }
  }

  /// Begins with no branch hung.
  void unhang() { at_ = &A_.rows(); }

  /// Makes the coordinates that move body a and those that move b one branch.
  void hang(int a, int b) {
    if (at_ != &hung_) {
      for (int k = 0; k < A_.size(); ++k) hung_.above[k] = A_.rows().above[k];
    }
    at_ = &hung_;
    int x = A_.last(a), y = A_.last(b);
    while (x >= 0 && y >= 0 && x != y) {
      if (x > y) {
        const int later = x;
        x = y;
        y = later;
      }
      const int above = hung_.above[y];
      if (above == x) return;
      if (above < x) hung_.above[y] = x;
      y = x > above ? x : above;
      x = x > above ? above : x;
    }
  }

  /// H = A, and b = 0.
  void begin() {
    const int n = A_.size();
    for (int k = 0; k < n; ++k) b_[k] = all<N>(0);
    least_load_ = all<S>(0);
    if (at_ == &hung_) {
      hung_.number(n);
      for (int i = 0; i < hung_.row[n]; ++i) H_[i] = all<N>(0);
    }
    if constexpr (is_exact) {
      simd::copy_each<S>(A_.matrix(), A_.rows().row[n], near_);
      for (int k = 0; k < n; ++k) near_b_[k] = all<S>(0);
    } else {
      add_tree_rows(A_.matrix());
    }
  }

  /// Adds a load and a push to coordinate k.
  void add(int k, S load, S push) {
    if constexpr (is_exact) {
      near_[A_.rows().row[k] + A_.rows().depth[k]] += load;
    } else {
      H_[at_->row[k] + at_->depth[k]] += load;
    }
    least_load_ = min(least_load_, load);
    right_side<S>()[k] += push;
  }

  /// b += Jᵀf on the coordinates of a path. Columns are of type S of a load from the world, else of type N.
  template <class T>
  PYSIM_INLINE void push(const int* path, int count, const Vec3<T>* J, const Vec3<S>& f) {
    T* const b = right_side<T>();
    const Vec3<T> exact = converted<T>(f);
    for (int n = 0; n < count; ++n) b[path[n]] = dot_add(J[n], exact, b[path[n]]);
  }

  /// H += JᵀGJ on the coordinates of a path, ascending, which is `whole` if it begins at a root: of a load
  /// from the world.
  template <class T>
  void add(const int* path, int count, bool whole, const Vec3<T>* J, const spatial::Sym3<S>& G) {
    if constexpr (is_exact && sizeof(T) == sizeof(S)) {
      return add_products(A_.rows(), path, count, J, G, near_GJ_, near_, in_order);
    } else {
      const spatial::Sym3<N> exact = {
          number(G.xx), number(G.yy), number(G.zz), number(G.xy), number(G.yz), number(G.zx)};
      if (whole && at_ != &hung_) return add_products(*at_, path, count, J, exact, GJ_, H_, in_order);
      const int* const depth = at_->depth;
      add_products(*at_, path, count, J, exact, GJ_, H_, [path, depth](int n) { return depth[path[n]]; });
    }
  }

  /// x = H⁻¹ b, and the factor of H; b is lost.
  void factor_and_solve() {
    if constexpr (is_exact) {
      add_tree_rows(near_);
      for (int k = 0; k < A_.size(); ++k) b_[k] += number(near_b_[k]);
    }
    const auto pivot = [&](int k, N d) {
      return max(d, number(select(least_load_ < all<S>(0), all<S>(0), A_.pivot(k))));
    };
    at_->eliminate(A_.size(), H_, inv_D_, b_, pivot);
    at_->template substitute<N>(A_.size(), H_, inv_D_, b_, x_);
  }

  /// x of that solution (nv).
  void copy_solution(S* x) const {
    for (int k = 0; k < A_.size(); ++k) x[k] = rounded(x_[k]);
  }

  /// J x of it.
  PYSIM_INLINE Vec3<S> times_solution(const int* path, int count, const Vec3<N>* J) const {
    Vec3<N> sum = spatial::zero3<N>();
    for (int n = 0; n < count; ++n) sum = fma(x_[path[n]], J[n], sum);
    return {rounded(sum.x), rounded(sum.y), rounded(sum.z)};
  }

  /// Columns in type N.
  static void convert(const Vec3<S>* J, int count, Vec3<N>* to) {
    for (int n = 0; n < count; ++n) to[n] = converted<N>(J[n]);
  }

  /// x = H⁻¹ b of another right-hand side (nv), after the solution, which is lost.
  void solve(const S* b, S* x) {
    for (int k = 0; k < A_.size(); ++k) b_[k] = number(b[k]);
    at_->solve(A_.size(), static_cast<const N*>(H_), inv_D_, static_cast<const N*>(b_), x_);
    copy_solution(x);
  }

 private:
  static constexpr bool is_exact = sizeof(typename N::Real) > sizeof(typename S::Real);

  PYSIM_INLINE static N number(S x) {
    if constexpr (is_exact) {
      return simd::in_double(x);
    } else {
      return x;
    }
  }

  PYSIM_INLINE static S rounded(N x) {
    if constexpr (is_exact) {
      return simd::rounded_to<S>(x);
    } else {
      return x;
    }
  }

  template <class T>
  PYSIM_INLINE static Vec3<T> converted(const Vec3<S>& a) {
    if constexpr (sizeof(T) == sizeof(S)) {
      return a;
    } else {
      return {number(a.x), number(a.y), number(a.z)};
    }
  }

  /// b, or what is summed beside it.
  template <class T>
  PYSIM_INLINE T* right_side() const {
    if constexpr (is_exact && sizeof(T) == sizeof(S)) {
      return near_b_;
    } else {
      return b_;
    }
  }

  static constexpr auto in_order = [](int n) { return n; };

  /// Puts rows of the tree into H, or adds them if branches are hung.
  void add_tree_rows(const S* from) {
    const int n = A_.size();
    const TreeRows& tree = A_.rows();
    if (at_ != &hung_) {
      for (int i = 0; i < tree.row[n]; ++i) H_[i] = number(from[i]);
      return;
    }
    for (int k = 0; k < n; ++k) {
      N* const row = H_ + hung_.row[k];
      for (int i = tree.row[k]; i < tree.row[k + 1]; ++i) row[hung_.depth[tree.column[i]]] += number(from[i]);
    }
  }

  /// Adds J · GJ, two rows at a time; entry n of a row of the path is at place(n).
  template <class T, class Place>
  PYSIM_INLINE static void add_products(const TreeRows& at,
                                        const int* path,
                                        int count,
                                        const Vec3<T>* J,
                                        const spatial::Sym3<T>& G,
                                        Vec3<T>* GJ,
                                        T* H,
                                        const Place& place) {
    for (int n = 0; n < count; ++n) GJ[n] = G * J[n];
    int n = 0;
    if (count % 2 != 0) {
      T& entry = H[at.row[path[0]] + place(0)];
      entry = dot_add(J[0], GJ[0], entry);
      n = 1;
    }
    for (; n < count; n += 2) {
      T *const row = H + at.row[path[n]], *const next = H + at.row[path[n + 1]];
      const Vec3<T> a = J[n], b = J[n + 1];
      for (int m = 0; m <= n; ++m) {
        const int column = place(m);
        const Vec3<T> g = GJ[m];
        row[column] = dot_add(a, g, row[column]);
        next[column] = dot_add(b, g, next[column]);
      }
      const int column = place(n + 1);
      next[column] = dot_add(b, GJ[n + 1], next[column]);
    }
  }

  const JointSpace<S>& A_;
  /// On a coordinate: negative of a servo that A has as a spring and that saturates.
  S least_load_ = all<S>(0);
  TreeRows hung_;
  const TreeRows* at_ = nullptr;  ///< those of A, or hung ones
  N *H_ = nullptr, *inv_D_ = nullptr;
  N *b_ = nullptr, *x_ = nullptr;  ///< (nv)
  Vec3<N>* GJ_ = nullptr;          ///< [nv]
  S* near_ = nullptr;              ///< A and loads from the world, if they are of another type
  S* near_b_ = nullptr;            ///< (nv) pushes from the world
  Vec3<S>* near_GJ_ = nullptr;
};

}  // namespace pysim::dynamics
