// Arrays of a given shape as plain numbers, and poses as 4x4 matrices.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "bindings/arrays.hpp"

namespace pysim::bindings {

/// Numbers passed from Python: any array, list or tuple.
using Numbers = PlainArray<double, py::array::forcecast>;

/// "(3,)", "(0, 10)".
inline std::string describe(std::initializer_list<py::ssize_t> shape) {
  return describe(static_cast<py::ssize_t>(shape.size()), shape.begin());
}

/// Copies an array of exactly this shape.
inline void copy_numbers(const Numbers& from,
                         const char* name,
                         std::initializer_list<py::ssize_t> shape,
                         double* to) {
  const bool fits = from.ndim() == static_cast<py::ssize_t>(shape.size()) &&
                    std::equal(shape.begin(), shape.end(), from.shape());
  if (!fits) {
    throw std::invalid_argument(std::string(name) + " must have shape " + describe(shape) + ", got " +
                                describe(from));
  }
  std::copy_n(from.data(), from.size(), to);
}

/// A 4x4 matrix as rotation column-major, position.
inline void pack_pose(const Numbers& matrix, const char* name, double pose[12]) {
  double X[16];
  copy_numbers(matrix, name, {4, 4}, X);
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) pose[3 * j + i] = X[4 * i + j];
  }
}

/// The inverse: 12 numbers as a 4x4 matrix.
inline Numbers pose_matrix(const double pose[12]) {
  Numbers matrix({4, 4});
  double* const X = matrix.mutable_data();
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) X[4 * i + j] = pose[3 * j + i];
    X[12 + j] = j == 3 ? 1 : 0;
  }
  return matrix;
}

/// A 4x4 matrix of no displacement.
inline Numbers identity() {
  constexpr double pose[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  return pose_matrix(pose);
}

}  // namespace pysim::bindings
