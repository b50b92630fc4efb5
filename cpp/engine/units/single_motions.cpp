// Closed mechanisms and their steps, one state at a time.
#include "engine/constraint_operations.hpp"
#include "engine/motion_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

using S = OneDouble;

const Motions<double> single_motions = {PYSIM_MOTIONS(PYSIM_RUN)};
const Steps<double> single_steps = {PYSIM_STEPS(PYSIM_RUN)};

}  // namespace pysim::engine::PYSIM_ISA
