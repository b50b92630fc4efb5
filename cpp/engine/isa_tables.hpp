// Tables that the units of one instruction set define (engine/units), declared in its namespace.
#pragma once

#include "engine/isas.hpp"
#include "engine/kernels.hpp"

namespace pysim::engine {

/// Maps of rows and meshes, and the check for NaN and infinite values.
struct Maps {
  SpatialKernels<double> spatial;
  SpatialKernels<float> float_spatial;
  PairKernels<double> pairs;
  PairKernels<float> float_pairs;
  MeshKernels meshes;
  bool (*all_finite)(const double* x, std::ptrdiff_t count);
  bool (*all_finite_floats)(const float* x, std::ptrdiff_t count);
};

}  // namespace pysim::engine

#define PYSIM_DECLARE_TABLES(isa)                        \
  namespace pysim::engine::isa {                         \
  extern const StateKernels<double> doubles, one_double; \
  extern const StateKernels<float> floats, one_float;    \
  extern const Maps maps;                                \
  }

PYSIM_FOR_EACH_ISA(PYSIM_DECLARE_TABLES)
