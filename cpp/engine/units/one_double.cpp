// Kernels of one state in double precision.
#include "engine/units/double_kernels.hpp"

namespace pysim::engine::PYSIM_ISA {

const StateKernels<double> one_double = state_kernels<OneDouble>();
const ContactKernels one_double_contacts = contact_kernels<OneDouble>();

}  // namespace pysim::engine::PYSIM_ISA
