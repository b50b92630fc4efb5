// Tables of kernels: the entries that each translation unit of an instruction set provides, by name.
//
// A kernel is an operation (engine/*_operations.hpp) compiled for one number type: packs of W states, or
// single states. A unit (engine/units) fills one of these tables; the lists below name each kernel once, with
// its operation.
#pragma once

#include "engine/algorithms.hpp"
#include "engine/batch.hpp"
#include "engine/map_tables.hpp"

namespace pysim::engine {

/// Runs states [begin, end) of a batch, a whole number of packs; `scratch` is the calling thread's
/// workspace_memory.
template <class Real>
using Kernel = void (*)(const tree::ModelView<Real>& model,
                        const Batch<Real>& batch,
                        std::ptrdiff_t begin,
                        std::ptrdiff_t end,
                        void* scratch);

#define PYSIM_ENTRY(name, Operation) Kernel<Real> name;

template <class Real>
struct Algorithms {
  PYSIM_ALGORITHMS(PYSIM_ENTRY)
};

template <class Real>
struct Derivatives {
  PYSIM_DERIVATIVES(PYSIM_ENTRY)
};

template <class Real>
struct Motions {
  PYSIM_MOTIONS(PYSIM_ENTRY)
};

template <class Real>
struct Steps {
  PYSIM_STEPS(PYSIM_ENTRY)
};

#undef PYSIM_ENTRY

/// Every kernel of states for one number type.
template <class Real>
struct StateKernels : Algorithms<Real>, Derivatives<Real>, Motions<Real> {};

template <>
struct StateKernels<double> : Algorithms<double>, Derivatives<double>, Motions<double>, Steps<double> {};

/// Kernels of one precision.
template <class Real>
struct Precision {
  int width;  ///< states of a pack that fills a register
  bool (*all_finite)(const Real* x, std::ptrdiff_t count);
  StateKernels<Real> pack, single;
  SpatialKernels<Real> spatial;
  PairKernels<Real> pairs;
};

/// Kernels of one instruction set.
struct Kernels {
  const char* isa;
  Precision<double> float64;
  Precision<float> float32;
  MeshKernels meshes;
};

}  // namespace pysim::engine
