// Derivatives of the dynamics in double precision.
#include "engine/derivative_operations.hpp"
#include "engine/differential_operation.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

template <class S>
constexpr Derivatives<double> make_derivatives() {
  return {PYSIM_DERIVATIVES(PYSIM_RUN)};
}

const PackAndSingle<Derivatives<double>> derivatives = {make_derivatives<Doubles>(),
                                                        make_derivatives<OneDouble>()};

}  // namespace pysim::engine::PYSIM_ISA
