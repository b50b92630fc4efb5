// Numbers that carry slopes for templates of the engine, beside which its adjoints are compared.
//
//     ⟨λ, J x⟩  by the text of the primal with numbers that carry a slope (simd/tangent.hpp)
//     ⟨Jᵀλ, x⟩  by the adjoint
//
// A program FILE SEED of this folder prints the name of each adjoint and |difference| / Σ |terms|, the
// largest of some draws.
#pragma once

#ifndef NDEBUG
#define NDEBUG  // memory without guards, which objects of release builds have not
#endif

// before the kernels, which call functions of these by their qualified names
#include "simd/reverse.hpp"
#include "simd/tangent.hpp"

namespace pysim::simd {

struct Plain;
struct Dual;  // packs of this tag have numbers of the model that carry slopes, too

template <>
struct ParameterOf<double, 1, Dual> {
  using type = Tangent<Pack<double, 1, Dual>>;
};

using DualNumber = Tangent<Pack<double, 1, Dual>>;

template <>
struct FixedOf<DualNumber> {
  using type = double;
};

inline bool is_there(const DualNumber& x) {
  return lane(x, 0) != 0;
}

inline bool is_finite(const DualNumber& x) {
  return lane(x, 0) < infinity && lane(x, 0) > -infinity;
}

inline DualNumber lookup(const DualNumber* table, const DualNumber& index, int stride, int rows) {
  return table[stride * static_cast<int>(lane(nearest_row(index.value, rows), 0))];
}

}  // namespace pysim::simd

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "spatial/vec3.hpp"

namespace pysim::adjoints {

namespace spatial = pysim::spatial;
using simd::all;
using P = simd::Pack<double, 1, simd::Varied<simd::Plain>>;  ///< numbers of whose models have cotangents
using D = simd::Pack<double, 1, simd::Dual>;
using T = simd::DualNumber;
using spatial::Vec3;

inline double value(const P& x) {
  return simd::lane(x, 0);
}
inline double value(const T& x) {
  return simd::lane(x, 0);
}
inline double slope(const T& x) {
  return simd::lane(x.slope, 0);
}
inline T dual(double x, double dx) {
  return {D{x}, D{dx}};
}
inline T constant(double x) {
  return dual(x, 0);
}

/// Numbers of a record without slopes.
struct Constants {
  void begin(const char*, int) {}
  void operator()(P& to, const double& from) const { to = P{from}; }
  void operator()(T& to, const double& from) const { to = constant(from); }
  void operator()(bool& to, const bool& from) const { to = from; }
};

/// Sums of both, and of the sizes of their terms.
struct Comparison {
  double by_dual = 0, by_adjoint = 0, size = 0;

  void dual(double bar, double x) { by_dual += bar * x, size += std::fabs(bar * x); }
  void adjoint(double bar, double x) { by_adjoint += bar * x, size += std::fabs(bar * x); }
  double error() const { return std::fabs(by_dual - by_adjoint) / size; }
};

inline std::map<std::string, double> errors;

/// Keeps the largest error, NaN of sums that have no terms.
inline void note(const std::string& name, const Comparison& made) {
  double& most = errors[name];
  if (!(made.error() <= most)) most = made.error();
}

inline void print_errors() {
  for (const auto& [name, error] : errors) std::printf("%s: %.3g\n", name.c_str(), error);
}

struct Random {
  std::mt19937_64 draw;

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(draw); }
  double normal() { return std::normal_distribution<double>()(draw); }
  std::vector<double> normals(int count) {
    std::vector<double> x(static_cast<std::size_t>(count));
    for (double& each : x) each = normal();
    return x;
  }
};

/// Three numbers, and a direction of them.
struct Three {
  double x[3], dx[3];

  Three(Random& random, double size) {
    for (int i = 0; i < 3; ++i) x[i] = size * random.normal(), dx[i] = size * random.normal();
  }

  Vec3<P> plain() const { return {P{x[0]}, P{x[1]}, P{x[2]}}; }
  Vec3<T> dual() const {
    return {adjoints::dual(x[0], dx[0]), adjoints::dual(x[1], dx[1]), adjoints::dual(x[2], dx[2])};
  }

  /// Of unit length, as its neighbours along the direction.
  void normalise() {
    const double size = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    for (double& each : x) each /= size;
    const double along = x[0] * dx[0] + x[1] * dx[1] + x[2] * dx[2];
    for (int i = 0; i < 3; ++i) dx[i] -= along * x[i];
  }

  void pull(const Vec3<P>& bar, Comparison& to) const {
    to.adjoint(value(bar.x), dx[0]), to.adjoint(value(bar.y), dx[1]), to.adjoint(value(bar.z), dx[2]);
  }
};

/// A number, and a direction of it.
struct One {
  double x, dx;

  One(double at, Random& random) : x(at), dx(at * random.normal()) {}
  T dual() const { return adjoints::dual(x, dx); }
};

inline void push(const Vec3<T>& x, const Three& bar, Comparison& to) {
  to.dual(bar.x[0], slope(x.x)), to.dual(bar.x[1], slope(x.y)), to.dual(bar.x[2], slope(x.z));
}

}  // namespace pysim::adjoints
