// Three matrices of derivatives, stored in the caller's arrays.
#pragma once

#include "constraints/torque_derivatives.hpp"
#include "engine/batch.hpp"

namespace pysim::engine {

/// `rows` rows of the three matrices.
template <class S>
void save_matrices(const States<S>& at, int rows, const constraints::DerivativeMatrices<S>& D) {
  at.save(D.q, at.batch.derivative[0], rows * D.n);
  at.save(D.v, at.batch.derivative[1], rows * D.n);
  at.save(D.a, at.batch.derivative[2], rows * D.n);
}

}  // namespace pysim::engine
