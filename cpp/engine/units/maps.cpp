// Maps of rows, pairs of rows and meshes.
#include "engine/mesh_kernels.hpp"
#include "engine/pair_kernels.hpp"
#include "engine/spatial_kernels.hpp"
#include "engine/units/unit.hpp"
#include "simd/finite.hpp"

namespace pysim::engine::PYSIM_ISA {

const Maps maps = {make_spatial_kernels<Doubles, OneDouble>(),
                   make_spatial_kernels<Floats, OneFloat>(),
                   make_pair_kernels<Doubles, OneDouble>(),
                   make_pair_kernels<Floats, OneFloat>(),
                   make_mesh_kernels<Doubles, OneDouble>(),
                   &simd::all_finite<Doubles>,
                   &simd::all_finite<Floats>};

}  // namespace pysim::engine::PYSIM_ISA
