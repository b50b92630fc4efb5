// Derivatives of the dynamics in single precision.
#include "engine/derivative_operations.hpp"
#include "engine/differential_operation.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

template <class S>
constexpr Derivatives<float> make_derivatives() {
  return {PYSIM_DERIVATIVES(PYSIM_RUN)};
}

const PackAndSingle<Derivatives<float>> float_derivatives = {make_derivatives<Floats>(),
                                                             make_derivatives<OneFloat>()};

}  // namespace pysim::engine::PYSIM_ISA
