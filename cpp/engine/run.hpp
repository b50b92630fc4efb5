// An operation on every state of a batch.
#pragma once

#include "engine/batch.hpp"

namespace pysim::engine {

/// Whole packs first, then the remaining states one at a time through the same code.
template <class Operation, class S, class Tail>
void run(const ModelOf<S>& model,
         const Batch<typename S::Real>& batch,
         std::ptrdiff_t begin,
         std::ptrdiff_t end,
         void* scratch) {
  std::ptrdiff_t k = begin;
  for (; k + S::width <= end; k += S::width) {
    Operation::at(States<S>{model, batch, k, {static_cast<S*>(scratch)}});
  }
  for (; k < end; ++k) {
    Operation::at(States<Tail>{model, batch, k, {static_cast<Tail*>(scratch)}});
  }
}

}  // namespace pysim::engine
