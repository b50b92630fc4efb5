// Closed mechanisms in single precision.
#include "engine/constraint_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

template <class S>
constexpr Motions<float> make_motions() {
  return {PYSIM_MOTIONS(PYSIM_RUN)};
}

const PackAndSingle<Motions<float>> float_motions = {make_motions<Floats>(), make_motions<OneFloat>()};

}  // namespace pysim::engine::PYSIM_ISA
