// Execution of an operation on every state of a batch, W states at a time.
#pragma once

#include "engine/batch.hpp"

namespace pysim::engine {

/// States [begin, end), a whole number of packs.
template <class Operation, class S>
void run(const ModelOf<S>& model,
         const Batch<typename S::Real>& batch,
         std::ptrdiff_t begin,
         std::ptrdiff_t end,
         void* scratch) {
  for (std::ptrdiff_t k = begin; k < end; k += S::width) {
    const tree::RunningOperation running(__PRETTY_FUNCTION__);
    Operation::at(States<S>{model, batch, k, {static_cast<S*>(scratch)}});
  }
}

}  // namespace pysim::engine
