// Tapes in the workspace, and the cotangents of numbers on them.
#pragma once

#include "simd/reverse.hpp"
#include "tree/workspace.hpp"

namespace pysim::tree {

using simd::Reverse;
using simd::Tape;

/// An empty tape.
template <class S, class W>
Tape<S> take_tape(Workspace<W>& w) {
  constexpr int most = Tape<S>::most;
  Tape<S> tape = {};
  tape.weight = take<S>(w, most);
  tape.cotangent = take<S>(w, most);
  tape.from = take<int>(w, most);
  tape.to = take<int>(w, most);
  return tape;
}

/// Numbers on a tape whose cotangents are requested.
template <class S, bool n = false>
Reverse<S, n>* take_inputs(const S* values, int count, Tape<S>& tape, Workspace<S>& w) {
  using R = Reverse<S, n>;
  R* const inputs = take<R>(w, count);
  for (int i = 0; i < count; ++i) inputs[i] = R(values[i], &tape, tape.add_node());
  return inputs;
}

/// Adds to the cotangent of a number on a tape.
template <class S, bool n>
PYSIM_INLINE void seed(const Reverse<S, n>& x, S bar) {
  if (!x.is_constant()) x.tape->cotangent[x.node] += bar;
}

/// The cotangent of an input; it is zero from now on.
template <class S, bool n>
PYSIM_INLINE S take_cotangent(const Reverse<S, n>& x) {
  const S bar = x.tape->cotangent[x.node];
  x.tape->cotangent[x.node] = simd::all<S>(0);
  return bar;
}

}  // namespace pysim::tree
