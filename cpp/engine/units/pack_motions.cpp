// Closed mechanisms and their steps in packs of doubles.
#include "engine/constraint_operations.hpp"
#include "engine/motion_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

using S = Doubles;

const Motions<double> pack_motions = {PYSIM_MOTIONS(PYSIM_RUN)};
const Steps<double> pack_steps = {PYSIM_STEPS(PYSIM_RUN)};

}  // namespace pysim::engine::PYSIM_ISA
