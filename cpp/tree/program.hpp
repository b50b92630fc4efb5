// Joint programs: instructions recorded by tracing a plugin's `placement`, run on packs.
//
// A program is straight-line code over registers of packs. The tracer (pysim/joints) has folded constants,
// shared common subexpressions, and derived the motion subspace and the bias by automatic differentiation;
// this file only loops over instructions, and the cost of the loop is shared by the lanes.
#pragma once

#include "simd/lookup.hpp"
#include "simd/math.hpp"
#include "simd/random.hpp"
#include "tree/implicit_equation.hpp"
#include "tree/model_view.hpp"

namespace pysim::tree {

using simd::all;
using simd::fma;

/// Number of inner knots at or below x: the segment of a piecewise polynomial; NaN of NaN.
template <class S>
S spline_segment(S x, const typename S::Parameter* knots, int count) {
  S index = select(x == x, all<S>(0), x);
  for (int i = 1; i < count - 1; ++i) index += number(x >= all<S>(knots[i]));
  return index;
}

/// Sum of weights times numbers, in four parts that do not wait for one another.
template <class S>
S dot(const typename S::Parameter* weights, const S* x, int count) {
  S part[4] = {all<S>(0), all<S>(0), all<S>(0), all<S>(0)};
  int k = 0;
  for (; k + 4 <= count; k += 4) {
    for (int i = 0; i < 4; ++i) part[i] = fma(all<S>(weights[k + i]), x[k + i], part[i]);
  }
  for (; k < count; ++k) part[0] = fma(all<S>(weights[k]), x[k], part[0]);
  return (part[0] + part[1]) + (part[2] + part[3]);
}

/// Copies the program's constants to the registers after its inputs.
template <class S>
PYSIM_INLINE void load_constants(const ProgramView<typename S::Parameter>& program, S* r) {
  for (int i = 0; i < program.constant_count; ++i) r[i] = all<S>(program.constants[i]);
}

/// Runs instructions [begin, end) on the registers r. One switch has a case for every operation: two, by
/// kinds of operations, would cost each instruction a second jump.
template <class S>
void run(const ProgramView<typename S::Parameter>& program, int begin, int end, S* r) {
  for (int i = begin; i < end; ++i) {
    const Instruction& in = program.code[i];
    const S a = r[in.a];
    S& out = r[in.out];
    switch (in.op) {
      case Op::add:
        out = a + r[in.b];
        break;
      case Op::sub:
        out = a - r[in.b];
        break;
      case Op::mul:
        out = a * r[in.b];
        break;
      case Op::div:
        out = a / r[in.b];
        break;
      case Op::neg:
        out = -a;
        break;
      case Op::sqrt:
        out = simd::sqrt(a);
        break;
      case Op::sincos: {
        S s, c;
        simd::sincos(a, s, c);
        r[in.out] = s;
        r[in.out + 1] = c;
        break;
      }
      case Op::tan:
        out = simd::tan(a);
        break;
      case Op::asin:
        out = simd::asin(a);
        break;
      case Op::acos:
        out = simd::acos(a);
        break;
      case Op::atan:
        out = simd::atan(a);
        break;
      case Op::atan2:
        out = simd::atan2(a, r[in.b]);
        break;
      case Op::exp:
        out = simd::exp(a);
        break;
      case Op::log:
        out = simd::log(a);
        break;
      case Op::tanh:
        out = simd::tanh(a);
        break;
      case Op::pow:
        out = simd::pow(a, r[in.b]);
        break;
      case Op::abs:
        out = simd::abs(a);
        break;
      case Op::floor:
        out = simd::floor(a);
        break;
      case Op::min:
        out = simd::minimum(a, r[in.b]);
        break;
      case Op::max:
        out = simd::maximum(a, r[in.b]);
        break;
      case Op::hypot:
        out = simd::hypot(a, r[in.b]);
        break;
      case Op::less:
        out = number(a < r[in.b]);
        break;
      case Op::less_equal:
        out = number(a <= r[in.b]);
        break;
      case Op::equal:
        out = number(a == r[in.b]);
        break;
      case Op::select:
        out = select(a == all<S>(0), r[in.c], r[in.b]);
        break;
      case Op::sign:
        out = select(a == a, number(a > all<S>(0)) - number(a < all<S>(0)), a);
        break;
      case Op::segment:
        out = spline_segment(a, program.tables + in.b, in.c);
        break;
      case Op::lookup:
        out = simd::lookup(program.tables + in.b, a, in.c, in.rows);
        break;
      case Op::fma:
        out = fma(a, r[in.b], r[in.c]);
        break;
      case Op::fms:
        out = simd::fms(a, r[in.b], r[in.c]);
        break;
      case Op::fnma:
        out = simd::fnma(a, r[in.b], r[in.c]);
        break;
      case Op::copy:
        out = a;
        break;
      case Op::dot:
        out = dot(program.tables + in.b, r + in.a, in.c);
        break;
      case Op::random:
        out = simd::random(a, r[in.b], r[in.c]);
        break;
      case Op::solve:
        solve(program, i, r);
        i += in.c;
        break;
    }
  }
}

}  // namespace pysim::tree
