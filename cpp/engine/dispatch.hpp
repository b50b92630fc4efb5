// Choice of the instruction set when the engine is loaded, and execution of batches on threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/kernels.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// The error if no instruction set of this build runs on this processor; empty if one does.
std::string missing_kernels();

/// Instruction sets of this build that the processor supports, narrowest first.
std::vector<std::string> available_isas();

/// The table in use: the widest that this processor supports, or the one that PYSIM_ISA names.
const Kernels& kernels();

/// Its kernels of one precision.
template <class Real>
const Precision<Real>& precision() {
  if constexpr (sizeof(Real) == 8) {
    return kernels().float64;
  } else {
    return kernels().float32;
  }
}

/// Selects another instruction set ("auto": the widest). Throws std::invalid_argument.
void use_isa(std::string_view isa);

/// Runs one kernel over a batch on `threads` threads (0: one per processor). Any split gives the same bits.
template <class Real>
void run_batch(Kernel<Real> StateKernels<Real>::* kernel,
               const tree::Model& model,
               const Batch<Real>& batch,
               int threads);

/// Runs the kernel on all states of a batch on this thread; if numbers vary, each state has its own.
void run_varied(Kernel<double> StateKernels<double>::* kernel,
                const tree::Model& model,
                const Batch<double>& batch,
                const tree::VariedNumbers& varied);

/// Runs a kernel of single states on states [first, end), each with numbers of its own.
void run_varied_singles(Kernel<double> kernel,
                        tree::ModelView<double> view,
                        const Batch<double>& batch,
                        const tree::VariedNumbers& varied,
                        std::ptrdiff_t first,
                        std::ptrdiff_t end);

}  // namespace pysim::engine
