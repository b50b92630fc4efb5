// Distances of pairs of shapes in double precision.
#include "engine/contact_kernels.hpp"
#include "engine/distance_kernels.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

const DistanceMap distances = {&engine::distances<Doubles, OneDouble>};

}  // namespace pysim::engine::PYSIM_ISA
