// Kernels of packs of doubles.
#include "engine/units/double_kernels.hpp"

namespace pysim::engine::PYSIM_ISA {

const StateKernels<double> doubles = state_kernels<Doubles>();
const ContactKernels double_contacts = contact_kernels<Doubles>();

}  // namespace pysim::engine::PYSIM_ISA
