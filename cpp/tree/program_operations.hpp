// Operations of traced programs, by name: one list for the engine, its enum in Python and the tracer.
#pragma once

namespace pysim::tree {

/// Operands are the registers a, b, c; truth values are the numbers 1 and 0. Operations with other operands:
///
///     sincos    out = sin a, out + 1 = cos a
///     select    b where a is not 0, else c
///     segment   index of the spline segment of a: its c knots begin at b in the tables; NaN for NaN
///     min, max  NaN where an operand is NaN
///     lookup    table[b + c · index a], the nearest row of the tables for an index beyond them, NaN for NaN
///     fma, fms, fnma      a b + c, a b − c, c − a b
///     copy      a
///     dot       Σ table[b + k] register[a + k] over c numbers
///     random    number within (0, 1) of stream c and key b at the whole number a, see simd/random.hpp
///     solve     root of register b, with the slope in b + 1, which the next c instructions compute from out;
///               guess, lower and upper bound in a, a + 1, a + 2, see tree/implicit_equation.hpp
// clang-format off
#define PYSIM_OPS(op) \
  op(add) op(sub) op(mul) op(div) op(neg) op(sqrt) op(sincos) op(tan) op(asin) op(acos) op(atan) op(atan2) \
  op(exp) op(log) op(tanh) op(pow) op(abs) op(floor) op(min) op(max) op(hypot) \
  op(less) op(less_equal) op(equal) op(select) op(sign) op(segment) op(lookup) \
  op(fma) op(fms) op(fnma) op(copy) op(dot) op(random) op(solve)
// clang-format on

#define PYSIM_MEMBER(name) name,
enum class Op : int { PYSIM_OPS(PYSIM_MEMBER) };
#undef PYSIM_MEMBER

}  // namespace pysim::tree
