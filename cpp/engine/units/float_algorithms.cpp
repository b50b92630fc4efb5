// Algorithms of one state in single precision.
#include "engine/algorithm_operations.hpp"
#include "engine/frame_operations.hpp"
#include "engine/inertia_operations.hpp"
#include "engine/regressor_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

template <class S>
constexpr Algorithms<float> make_algorithms() {
  return {PYSIM_ALGORITHMS(PYSIM_RUN)};
}

const PackAndSingle<Algorithms<float>> float_algorithms = {make_algorithms<Floats>(),
                                                           make_algorithms<OneFloat>()};

}  // namespace pysim::engine::PYSIM_ISA

PYSIM_SHARED_FUNCTIONS(template, Floats)
PYSIM_SHARED_FUNCTIONS(template, OneFloat)
