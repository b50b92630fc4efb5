// Algorithms of one state in double precision.
#include "engine/algorithm_operations.hpp"
#include "engine/frame_operations.hpp"
#include "engine/inertia_operations.hpp"
#include "engine/regressor_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

template <class S>
constexpr Algorithms<double> make_algorithms() {
  return {PYSIM_ALGORITHMS(PYSIM_RUN)};
}

const PackAndSingle<Algorithms<double>> algorithms = {make_algorithms<Doubles>(),
                                                      make_algorithms<OneDouble>()};

}  // namespace pysim::engine::PYSIM_ISA

PYSIM_SHARED_FUNCTIONS(template, Doubles)
PYSIM_SHARED_FUNCTIONS(template, OneDouble)
