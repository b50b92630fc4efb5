// Alignment of body frames with joint axes: a joint's axis is z of its frame. Matrices are column-major.
#pragma once

#include <algorithm>
#include <limits>

namespace pysim::tree {

/// Columns of the rotation that takes z to the unit vector `a` the shorter way (about x where a = −z).
inline void align_z(const double a[3], double R[9]) {
  const double h2 = a[0] * a[0] + a[1] * a[1];
  if (a[2] < 0 && h2 < std::numeric_limits<double>::min()) {
    const double flip[9] = {1, 0, 0, 0, -1, 0, 0, 0, -1};
    std::copy(flip, flip + 9, R);
    return;
  }
  // 1 / (1 + a_z); of a unit vector near −z without the cancellation in 1 + a_z
  const double k = a[2] < -0.5 ? (1 - a[2]) / h2 : 1 / (1 + a[2]);
  const double turn[9] = {1 - k * a[0] * a[0],
                          -k * a[0] * a[1],
                          -a[0],  //
                          -k * a[0] * a[1],
                          1 - k * a[1] * a[1],
                          -a[1],  //
                          a[0],
                          a[1],
                          a[2]};
  std::copy(turn, turn + 9, R);
}

/// C = Aᵀ B, column-major.
inline void transpose_times(const double A[9], const double* B, int columns, double* C) {
  for (int j = 0; j < columns; ++j) {
    const double b[3] = {B[3 * j], B[3 * j + 1], B[3 * j + 2]};
    for (int i = 0; i < 3; ++i) {
      C[3 * j + i] = A[3 * i] * b[0] + A[3 * i + 1] * b[1] + A[3 * i + 2] * b[2];
    }
  }
}

/// C = A B, column-major.
inline void times(const double A[9], const double* B, int columns, double* C) {
  for (int j = 0; j < columns; ++j) {
    const double b[3] = {B[3 * j], B[3 * j + 1], B[3 * j + 2]};
    for (int i = 0; i < 3; ++i) C[3 * j + i] = A[i] * b[0] + A[3 + i] * b[1] + A[6 + i] * b[2];
  }
}

}  // namespace pysim::tree
