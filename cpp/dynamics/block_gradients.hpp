// Symmetric positive definite matrix of blocks, most of them zero, solved by conjugate gradients.
//
//     x += α p,  r −= α H p,  z = P r,  p = z + β p       α = r·z / p·Hp,  β = r'·z' / r·z
//
//     H   blocks of pairs of members that are coupled, and those of the members on the diagonal
//     P   inverses of the blocks on the diagonal, the preconditioner   [Concus, Golub, O'Leary 1976]
//
// A solution takes time in proportion to the blocks, while a factor fills in, of n bodies in a pile with more
// than n^1.5 products. Both blocks of a pair are stored, row by row, so that a product reads them in order.
#pragma once

#include "simd/full_register.hpp"
#include "simd/partial_load.hpp"
#include "tree/aligned_take.hpp"
#include "tree/workspace.hpp"

namespace pysim::dynamics {

using simd::all;
using simd::fma;
using simd::fnma;
using tree::take;
using tree::Workspace;

/// In one world.
template <class S>
class BlockGradients {
 public:
  using Real = typename S::Real;

  /// Iterations of a solution: a system that needs more is so stiff that a factor takes less time.
  static constexpr int most_iterations = 150;

  /// Members of size(member) numbers, and the pairs of them that pair(n, i, j) names, in any order and
  /// repeatedly.
  template <class Size, class Pair>
  void arrange(int members, const Size& size, int pairs, const Pair& pair, Workspace<S>& w) {
    members_ = members;
    first_ = take<int>(w, members + 1);
    row_ = take<int>(w, members + 1);
    int *const filled = take<int>(w, members + 1), *const column = take<int>(w, 2 * pairs + members);
    for (int i = 0; i <= members; ++i) row_[i] = 0;
    const auto each = [&](const auto& visit) {
      for (int n = 0; n < pairs; ++n) {
        int i = 0, j = 0;
        pair(n, i, j);
        if (i == j) continue;
        visit(i, j);
        visit(j, i);
      }
      for (int i = 0; i < members; ++i) visit(i, i);
    };
    each([&](int i, int) { ++row_[i + 1]; });
    for (int i = 0; i < members; ++i) {
      row_[i + 1] += row_[i];
      filled[i] = row_[i];
    }
    each([&](int i, int j) {  // ascending, each once
      int at = filled[i];
      while (at > row_[i] && column[at - 1] > j) --at;
      if (at > row_[i] && column[at - 1] == j) return;
      for (int k = filled[i]; k > at; --k) column[k] = column[k - 1];
      column[at] = j;
      ++filled[i];
    });
    block_ = take<Block>(w, row_[members]);
    first_[0] = 0;
    for (int i = 0; i < members; ++i) first_[i + 1] = first_[i] + stride_of(size(i));
    size_ = take<int>(w, members);
    for (int i = 0; i < members; ++i) size_[i] = size(i);
    int blocks = 0, numbers = 0;
    for (int i = 0; i < members; ++i) {
      const int begin = row_[i], end = filled[i];
      row_[i] = blocks;
      for (int n = begin; n < end; ++n) {
        block_[blocks++] = {column[n], numbers};
        numbers += stride(i) * size_[column[n]];
      }
    }
    row_[members] = blocks;
    numbers_ = numbers;
    number_ = tree::take_aligned<S>(w, numbers);
    int squares = 0;
    for (int i = 0; i < members; ++i) squares += stride(i) * size_[i];
    inverse_ = take<S>(w, squares);
    bare_ = take<S>(w, squares);
    has_bare_ = false;
    length_ = (first_[members] + padded_size - 1) / padded_size * padded_size;
    S** const vectors[] = {&x_, &r_, &z_, &p_, &product_};
    for (S** vector : vectors) {
      *vector = take<S>(w, length_);
      for (int i = 0; i < length_; ++i) (*vector)[i] = all<S>(0);
    }
  }

  void clear() {
    for (int k = 0; k < numbers_; ++k) number_[k] = all<S>(0);
  }

  /// The block of rows of i and columns of j, column-major with stride(i).
  S* block(int i, int j) const {
    int low = row_[i], high = row_[i + 1];
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (block_[middle].column <= j ? low : high) = middle;
    }
    return number_ + block_[low].offset;
  }

  /// Numbers from one column of a member's blocks to the next.
  int stride(int i) const { return first_[i + 1] - first_[i]; }

  /// Inverts the blocks on the diagonal, whose lower triangles are complete, and those that bare(i, block)
  /// writes: lower triangles of a matrix B without pairs, which stays as it is until members are arranged.
  template <class Bare>
  void factor(const Bare& bare) {
    S *inverse = inverse_, *bare_block = bare_;
    for (int i = 0; i < members_; ++i) {
      const int n = size_[i], rows = stride(i);
      S* const H = block(i, i);
      for (int c = 0; c < n; ++c) {
        for (int r = c + 1; r < n; ++r) H[r * rows + c] = H[c * rows + r];
      }
      for (int k = 0; k < rows * n; ++k) inverse[k] = H[k];
      invert(inverse, n, rows);
      if (!has_bare_) {
        for (int k = 0; k < rows * n; ++k) bare_block[k] = all<S>(0);
        bare(i, bare_block);
        invert(bare_block, n, rows);
      }
      inverse += rows * n;
      bare_block += rows * n;
    }
    has_bare_ = true;
  }

  /// Begins with the right side b of member i.
  S* right_side(int i) { return r_ + first_[i]; }

  /// Solves H x = b until the residual is `tolerance` times as large, in the norm of P. Returns whether it
  /// is.
  bool solve(Real tolerance) {
    for (int i = 0; i < length_; ++i) x_[i] = all<S>(0);
    precondition(inverse_, r_, z_);
    S rz = dot(r_, z_);
    const S enough = all<S>(tolerance * tolerance) * rz;
    simd::copy_each<S>(z_, length_, p_);
    for (int k = 0; k < most_iterations; ++k) {
      if (none(rz > enough)) return true;
      multiply(p_, product_);
      const S alpha = rz / dot(p_, product_);
      add_multiple(alpha, p_, x_, x_);
      add_multiple(-alpha, product_, r_, r_);
      precondition(inverse_, r_, z_);
      const S next = dot(r_, z_);
      add_multiple(next / rz, p_, z_, p_);
      rz = next;
    }
    return false;
  }

  /// Solution of member i.
  const S* solution(int i) const { return x_ + first_[i]; }

  /// Replaces the solution x by x + B⁻¹ (b − H x): B times it is b − (H − B) x to rounding. right_side(i)
  /// has b again.
  void complete() {
    multiply(x_, product_);
    add_multiple(all<S>(-1), product_, r_, r_);
    precondition(bare_, r_, z_);
    simd::add_each<S>(x_, z_, length_, x_);
  }

  static int stride_of(int rows) { return columns_in_registers && rows == body_size ? padded_size : rows; }

 private:
  struct Block {
    int column, offset;
  };

  static constexpr int body_size = 6;    ///< coordinates of a body that moves freely
  static constexpr int padded_size = 8;  ///< of its columns in double precision

  /// A column of a body's block is in one register or more.
  static constexpr bool columns_in_registers = simd::is_one_number<S> && sizeof(Real) == 8;
  static constexpr int lanes = simd::register_bytes<typename S::Isa>() / 8;
  using Column = simd::Pack<Real, lanes, typename S::Isa>;
  static constexpr int column_registers = padded_size / lanes;

  /// c = b + f a.
  void add_multiple(S f, const S* a, const S* b, S* c) const {
    simd::side_by_side<S>(length_, [=](auto kind, int i) {
      using T = decltype(kind);
      const T product = simd::widen<T>(f);
      simd::store_at(fma(product, simd::load_at<T>(a + i), simd::load_at<T>(b + i)), c + i);
    });
  }

  /// Eight sums, whatever the width of a register is.
  S dot(const S* a, const S* b) const {
    S sum[padded_size];
    if constexpr (columns_in_registers) {
      Column part[column_registers];
      for (Column& own : part) own = all<Column>(0);
      for (int i = 0; i < length_; i += padded_size) {
        for (int k = 0; k < column_registers; ++k) {
          const int at = i + lanes * k;
          part[k] = fma(simd::load_at<Column>(a + at), simd::load_at<Column>(b + at), part[k]);
        }
      }
      for (int k = 0; k < column_registers; ++k) simd::store_at(part[k], sum + lanes * k);
    } else {
      for (S& own : sum) own = all<S>(0);
      for (int i = 0; i < length_; i += padded_size) {
        for (int k = 0; k < padded_size; ++k) sum[k] = fma(a[i + k], b[i + k], sum[k]);
      }
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }

  /// y = H x.
  void multiply(const S* x, S* y) const {
    for (int i = 0; i < members_; ++i) {
      S* const to = y + first_[i];
      const Block *B = block_ + row_[i], *const end = block_ + row_[i + 1];
      if constexpr (columns_in_registers) {
        if (size_[i] == body_size) {
          Column sum[column_registers];
          for (Column& part : sum) part = all<Column>(0);
          for (; B != end; ++B) {
            add_product(number_ + B->offset, x + first_[B->column], size_[B->column], sum);
          }
          for (int k = 0; k < column_registers; ++k) simd::store_at(sum[k], to + lanes * k);
          continue;
        }
      }
      const int n = size_[i], rows = stride(i);
      for (int r = 0; r < n; ++r) to[r] = all<S>(0);
      for (; B != end; ++B) {
        const S *const H = number_ + B->offset, *const from = x + first_[B->column];
        for (int c = 0; c < size_[B->column]; ++c) {
          for (int r = 0; r < n; ++r) to[r] = fma(H[c * rows + r], from[c], to[r]);
        }
      }
    }
  }

  static PYSIM_INLINE void add_product(const S* H, const S* x, int columns, Column* sum) {
    for (int c = 0; c < columns; ++c) {
      for (int k = 0; k < column_registers; ++k) {
        const Column own = simd::load_at<Column>(H + padded_size * c + lanes * k);
        sum[k] = fma(simd::widen<Column>(x[c]), own, sum[k]);
      }
    }
  }

  /// z = P r, or B⁻¹ r.
  void precondition(const S* inverse, const S* r, S* z) const {
    for (int i = 0; i < members_; ++i) {
      const int n = size_[i], rows = stride(i);
      const S* const from = r + first_[i];
      S* const to = z + first_[i];
      if constexpr (columns_in_registers) {
        if (n == body_size) {
          Column sum[column_registers];
          for (Column& part : sum) part = all<Column>(0);
          add_product(inverse, from, n, sum);
          for (int k = 0; k < column_registers; ++k) simd::store_at(sum[k], to + lanes * k);
          inverse += rows * n;
          continue;
        }
      }
      for (int row = 0; row < n; ++row) to[row] = all<S>(0);
      for (int c = 0; c < n; ++c) {
        for (int row = 0; row < n; ++row) to[row] = fma(inverse[c * rows + row], from[c], to[row]);
      }
      inverse += rows * n;
    }
  }

  /// A ← A⁻¹ of a symmetric positive definite matrix whose lower triangle is given.
  static void invert(S* A, int n, int rows) {
    if constexpr (columns_in_registers) {
      if (n == body_size) return invert_in_registers(A);
    }
    for (int c = 0; c < n; ++c) {  // A = L Lᵀ, the inverses of the pivots on the diagonal
      for (int k = 0; k < c; ++k) {
        for (int r = c; r < n; ++r) A[c * rows + r] = fnma(A[k * rows + r], A[k * rows + c], A[c * rows + r]);
      }
      const S inverse = all<S>(1) / sqrt(A[c * rows + c]);
      A[c * rows + c] = inverse;
      for (int r = c + 1; r < n; ++r) A[c * rows + r] *= inverse;
    }
    for (int c = 0; c < n; ++c) {  // L⁻¹ in place
      for (int r = c + 1; r < n; ++r) {
        S sum = all<S>(0);
        for (int k = c; k < r; ++k) sum = fnma(A[k * rows + r], A[c * rows + k], sum);
        A[c * rows + r] = A[r * rows + r] * sum;
      }
    }
    for (int c = 0; c < n; ++c) {  // L⁻ᵀ L⁻¹
      for (int r = c; r < n; ++r) {
        S sum = all<S>(0);
        for (int k = r; k < n; ++k) sum = fma(A[r * rows + k], A[c * rows + k], sum);
        A[c * rows + r] = sum;
      }
    }
    for (int c = 0; c < n; ++c) {
      for (int r = c + 1; r < n; ++r) A[r * rows + c] = A[c * rows + r];
    }
  }

  /// The same of a body's block, a column at a time and by the same sums; numbers above L's diagonal are not
  /// used.
  static void invert_in_registers(S* A) {
    Column L[body_size][column_registers];
    S column[padded_size], transposed[body_size][padded_size];
    for (int c = 0; c < body_size; ++c) {
      for (int p = 0; p < column_registers; ++p) {
        Column own = simd::load_at<Column>(A + padded_size * c + lanes * p);
        for (int k = 0; k < c; ++k) own = fnma(simd::widen<Column>(A[padded_size * k + c]), L[k][p], own);
        L[c][p] = own;
        simd::store_at(own, column + lanes * p);
      }
      const S inverse = all<S>(1) / sqrt(column[c]);
      for (int p = 0; p < column_registers; ++p) {
        L[c][p] = simd::widen<Column>(inverse) * L[c][p];
        simd::store_at(L[c][p], A + padded_size * c + lanes * p);
      }
      A[padded_size * c + c] = inverse;
    }
    for (int c = 0; c < body_size; ++c) {  // L⁻¹, whose numbers are those of its transpose row by row
      Column sum[column_registers];
      for (Column& part : sum) part = all<Column>(0);
      for (int k = c; k < body_size; ++k) {
        const S pivot = A[padded_size * k + k];
        const S own = k == c ? pivot : pivot * column[k];
        transposed[k][c] = own;
        for (int p = 0; p < column_registers; ++p) {
          sum[p] = fnma(L[k][p], simd::widen<Column>(own), sum[p]);
          simd::store_at(sum[p], column + lanes * p);
        }
      }
    }
    for (int k = 0; k < body_size; ++k) {
      for (int c = k + 1; c < padded_size; ++c) transposed[k][c] = all<S>(0);
    }
    for (int c = 0; c < body_size; ++c) {  // L⁻ᵀ L⁻¹: of either triangle the same sums
      for (int p = 0; p < column_registers; ++p) {
        Column sum = all<Column>(0);
        for (int k = c; k < body_size; ++k) {
          sum = fma(
              simd::load_at<Column>(transposed[k] + lanes * p), simd::widen<Column>(transposed[k][c]), sum);
        }
        simd::store_at(sum, A + padded_size * c + lanes * p);
      }
    }
  }

  int members_ = 0, numbers_ = 0;
  bool has_bare_ = false;
  int length_ = 0;                          ///< of vectors, whose last numbers are zero
  int *first_ = nullptr, *size_ = nullptr;  ///< [members] places in vectors, and sizes
  int* row_ = nullptr;                      ///< [members + 1] first block of a row
  Block* block_ = nullptr;
  S* number_ = nullptr;
  S *inverse_ = nullptr, *bare_ = nullptr;  ///< blocks on the diagonal of P and of B⁻¹
  S *x_ = nullptr, *r_ = nullptr, *z_ = nullptr, *p_ = nullptr, *product_ = nullptr;
};

}  // namespace pysim::dynamics
