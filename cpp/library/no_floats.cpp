// Tables of kernels that engines of double precision do without: none is called there.
#include "engine/contact_kernels.hpp"
#include "engine/isa_tables.hpp"

namespace pysim::engine::PYSIM_ISA {

const StateKernels<float> floats = {}, one_float = {};
const FloatSteps float_worlds = {}, one_float_world = {}, varied_float_worlds = {}, varied_float_world = {};

}  // namespace pysim::engine::PYSIM_ISA
