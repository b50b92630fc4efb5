// Tables of functions of rows of numbers, of pairs of rows, and of integrals over meshes.
#pragma once

#include <cstddef>

namespace pysim::engine {

template <class Real>
struct RowMap {
  const char* name;
  int in, out;
  void (*run)(const Real* x, Real* y, std::ptrdiff_t rows);
};

template <class Real>
struct SpatialKernels {
  static constexpr int count = 26;
  RowMap<Real> maps[count];
};

template <class Real>
struct PairMap {
  const char* name;
  int first, second, out;
  void (*run)(const Real* a,
              std::ptrdiff_t a_stride,
              const Real* b,
              std::ptrdiff_t b_stride,
              Real* y,
              std::ptrdiff_t rows);
};

template <class Real>
struct PairKernels {
  static constexpr int count = 11;
  PairMap<Real> maps[count];
};

/// Vertices (n, 3) [m]; faces (count, 3), indices of vertices; `origin` (3) is subtracted from the vertices.
struct MeshView {
  const double* vertices;
  const std::ptrdiff_t* faces;
  std::ptrdiff_t count;
  const double* origin;
};

struct MeshKernels {
  void (*solid)(const MeshView& mesh, double* sums);
  void (*sheet)(const MeshView& mesh, double* sums);
  void (*derivatives)(const MeshView& mesh, double density, double* rows);
  void (*sheet_derivatives)(const MeshView& mesh, double area_density, double* rows);
  void (*gradient)(const MeshView& mesh, const double* weights, double* rows);
};

}  // namespace pysim::engine
