// Number types of one instruction set, and the tables that its translation units fill.
//
// CMake compiles every file of this folder once for each instruction set, with its flags and
//
//     PYSIM_ISA     baseline, avx2 or avx512: the namespace of the definitions
//     PYSIM_WIDTH   doubles in a register
//
// A unit includes kernels only: any other inline function compiled here could end up being called on a
// processor that lacks the instruction set.
#pragma once

#include "engine/isa_tables.hpp"
#include "engine/run.hpp"

namespace pysim::engine::PYSIM_ISA {

struct Tag;

using Doubles = simd::Pack<double, PYSIM_WIDTH, Tag>;
using Floats = simd::Pack<float, 2 * PYSIM_WIDTH, Tag>;
using TwoRegisters = simd::Pack<double, 2 * PYSIM_WIDTH, Tag>;
using OneDouble = simd::Pack<double, 1, Tag>;
using OneFloat = simd::Pack<float, 1, Tag>;
using VariedDoubles = simd::Pack<double, PYSIM_WIDTH, simd::Varied<Tag>>;

/// Entry of a table for the number type S; the tables list theirs in the same order (kernels.hpp).
#define PYSIM_RUN(name, Operation) &run<Operation, S>,

}  // namespace pysim::engine::PYSIM_ISA
