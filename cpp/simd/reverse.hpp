// Reverse mode of differentiation: a number that records the operations by which it was made.
//
//     y = f(x, z)        the tape has ∂f/∂x and ∂f/∂z, one edge for each
//     x̄ += ∂f/∂x ȳ      in the reverse order of the operations [Griewank, Walther 2008, section 3.2]
//
// Kernels are templates over their number type. Run with Reverse<S>, one gives products of its Jacobian,
// transposed, with any cotangents, from the text that computes the values. It serves laws and other functions
// of a few numbers; recursions over trees have adjoints of their own (dynamics/rnea_product.hpp).
//
// Comparisons are those of the values, so the derivative is that of the branch that was taken. An edge whose
// cotangent is zero passes nothing on: branches that are not selected may have infinite slopes.
//
// Functions of this file are found where kernels call them by their qualified names only if it is included
// before the kernels.
#pragma once

#include "simd/lookup.hpp"
#include "simd/math.hpp"
#include "simd/parameter.hpp"
#include "simd/random.hpp"

namespace pysim::simd {

/// Edges of the operations so far, and a cotangent for every node. Nodes without edges are inputs, whose
/// cotangents are sums over all that read them; those of other nodes are used up by `pull`.
template <class S>
struct Tape {
  static constexpr int most = 1 << 20;  ///< edges, and nodes

  S* weight;  ///< [most]; what is not used takes no memory
  S* cotangent;
  int *from, *to;
  int edges = 0, nodes = 0;

  bool is_full() const { return edges > most - 4 || nodes > most - 4; }

  PYSIM_INLINE int add_node() {
    const int node = is_full() ? nodes - 1 : nodes++;
    cotangent[node] = all<S>(0);
    return node;
  }

  PYSIM_INLINE void add_edge(int source, S slope) {
    if (!is_full()) put_edge(source, slope);
  }

  /// The same, where there is room.
  PYSIM_INLINE void put_edge(int source, S slope) {
    weight[edges] = slope;
    from[edges] = source;
    to[edges++] = nodes - 1;
  }

  /// Takes cotangents back through the operations [begin, edges), which end at zero.
  void pull(int begin) const {
    const S o = all<S>(0);
    for (int k = edges - 1; k >= begin;) {
      const int node = to[k];
      const S y = cotangent[node];
      const auto none_passes = y == o;
      if (all(none_passes)) {
        while (k >= begin && to[k] == node) --k;
        continue;
      }
      for (; k >= begin && to[k] == node; --k) {
        S& x = cotangent[from[k]];
        x = select(none_passes, x, fma(weight[k], y, x));
      }
      cotangent[node] = o;
    }
  }

  /// Takes cotangents back through operations [begin, end).
  void pull(int begin, int end) const {
    Tape part = *this;
    part.edges = end;
    part.pull(begin);
  }
};

template <class S, bool numbers = false>
struct Reverse;

/// Type of numbers of the model beside numbers on a tape.
template <class S, bool numbers>
struct ParameterOfReverse {
  using type = typename S::Parameter;
};

template <class S>
struct ParameterOfReverse<S, true> {
  using type = Reverse<S, true>;
};

/// A number on a tape, or a constant. `numbers` makes numbers of the model, such as those of laws, numbers on
/// the tape, too.
template <class S, bool numbers>
struct Reverse {
  using Real = typename S::Real;
  using Isa = typename S::Isa;
  using Parameter = typename ParameterOfReverse<S, numbers>::type;
  using Lanes = typename S::Lanes;
  using Integer = typename S::Integer;
  using Bits = typename S::Bits;
  static constexpr int width = S::width;

  S value;
  Tape<S>* tape = nullptr;
  int node = -1;

  Reverse() = default;
  PYSIM_INLINE Reverse(S x, Tape<S>* t, int n) : value(x), tape(t), node(n) {}
  /// Part by part: a load of several parts at once waits for the stores that have just written them.
  PYSIM_INLINE Reverse(const Reverse& x) : value(x.value), tape(x.tape), node(x.node) {}
  PYSIM_INLINE Reverse& operator=(const Reverse& x) {
    value = x.value;
    tape = x.tape;
    node = x.node;
    return *this;
  }
  PYSIM_INLINE explicit Reverse(S x) : value(x) {}
  PYSIM_INLINE explicit Reverse(Lanes x) : value{x} {}
  /// Of the other kind, on the same tape.
  PYSIM_INLINE Reverse(const Reverse<S, !numbers>& x) : value(x.value), tape(x.tape), node(x.node) {}

  PYSIM_INLINE bool is_constant() const { return node < 0; }
  /// A number that differs from this one by a constant: both have one node.
  PYSIM_INLINE Reverse with(const S& y) const { return {y, tape, node}; }

  PYSIM_NOINLINE friend Reverse operator-(const Reverse& a) { return unary(-a.value, a, all<S>(-1)); }
  PYSIM_NOINLINE friend Reverse operator+(const Reverse& a, const Reverse& b) {
    const S y = a.value + b.value;
    if (b.is_constant()) return a.with(y);
    if (a.is_constant()) return b.with(y);
    return binary(y, a, all<S>(1), b, all<S>(1));
  }
  PYSIM_NOINLINE friend Reverse operator-(const Reverse& a, const Reverse& b) {
    const S y = a.value - b.value;
    if (b.is_constant()) return a.with(y);
    return binary(y, a, all<S>(1), b, all<S>(-1));
  }
  PYSIM_NOINLINE friend Reverse operator*(const Reverse& a, const Reverse& b) {
    return binary(a.value * b.value, a, b.value, b, a.value);
  }
  PYSIM_NOINLINE friend Reverse operator/(const Reverse& a, const Reverse& b) {
    const S inverse = all<S>(1) / b.value, y = a.value / b.value;
    return binary(y, a, inverse, b, -(y * inverse));
  }
  PYSIM_INLINE friend Mask<Reverse> operator<(const Reverse& a, const Reverse& b) {
    return {(a.value < b.value).lanes};
  }
  PYSIM_INLINE friend Mask<Reverse> operator>(const Reverse& a, const Reverse& b) {
    return {(a.value > b.value).lanes};
  }
  PYSIM_INLINE friend Mask<Reverse> operator<=(const Reverse& a, const Reverse& b) {
    return {(a.value <= b.value).lanes};
  }
  PYSIM_INLINE friend Mask<Reverse> operator>=(const Reverse& a, const Reverse& b) {
    return {(a.value >= b.value).lanes};
  }
  PYSIM_INLINE friend Mask<Reverse> operator==(const Reverse& a, const Reverse& b) {
    return {(a.value == b.value).lanes};
  }
  PYSIM_INLINE Reverse& operator+=(const Reverse& b) { return *this = *this + b; }
  PYSIM_INLINE Reverse& operator-=(const Reverse& b) { return *this = *this - b; }
  PYSIM_INLINE Reverse& operator*=(const Reverse& b) { return *this = *this * b; }
};

template <class S, bool numbers>
inline constexpr bool is_on_tape<Reverse<S, numbers>> = true;

/// What is the same in all worlds beside numbers on the tape is not on it.
template <class S>
struct FixedOf<Reverse<S, true>> {
  using type = typename S::Real;
};

/// Records y with its slopes by numbers that are not constant; that by c is 1. Operations that do so are out
/// of line: functions of a few hundred would take minutes to compile.
template <class S>
PYSIM_INLINE int record(Tape<S>& tape, int a, const S& by_a, int b, const S& by_b, int c = -1) {
  const int node = tape.add_node();
  if (PYSIM_UNLIKELY(tape.is_full())) return node;
  if (a >= 0) tape.put_edge(a, by_a);
  if (b >= 0) tape.put_edge(b, by_b);
  if (c >= 0) tape.put_edge(c, all<S>(1));
  return node;
}

/// y with its slope by a.
template <class S, bool n>
PYSIM_INLINE Reverse<S, n> unary(const S& y, const Reverse<S, n>& a, const S& by_a) {
  if (a.is_constant()) return Reverse<S, n>(y);
  return {y, a.tape, record(*a.tape, a.node, by_a, -1, by_a)};
}

/// y with its slopes by a and b.
template <class S, bool n>
PYSIM_INLINE Reverse<S, n> binary(
    const S& y, const Reverse<S, n>& a, const S& by_a, const Reverse<S, n>& b, const S& by_b) {
  if (a.is_constant() && b.is_constant()) return Reverse<S, n>(y);
  Tape<S>* const tape = a.is_constant() ? b.tape : a.tape;
  return {y, tape, record(*tape, a.node, by_a, b.node, by_b)};
}

/// y = ± a b + c with its slopes.
template <class S, bool n>
PYSIM_INLINE Reverse<S, n> sum_with_product(const S& y,
                                            const Reverse<S, n>& a,
                                            const S& by_a,
                                            const Reverse<S, n>& b,
                                            const S& by_b,
                                            const Reverse<S, n>& c) {
  if (a.is_constant() && b.is_constant()) return c.with(y);
  Tape<S>* const tape = a.is_constant() ? b.tape : a.tape;
  return {y, tape, record(*tape, a.node, by_a, b.node, by_b, c.node)};
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> fma(const Reverse<S, n>& a, const Reverse<S, n>& b, const Reverse<S, n>& c) {
  return sum_with_product(fma(a.value, b.value, c.value), a, b.value, b, a.value, c);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> fnma(const Reverse<S, n>& a, const Reverse<S, n>& b, const Reverse<S, n>& c) {
  return sum_with_product(fnma(a.value, b.value, c.value), a, -b.value, b, -a.value, c);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> fms(const Reverse<S, n>& a, const Reverse<S, n>& b, const Reverse<S, n>& c) {
  return fma(a, b, -c);
}

/// `select` of numbers that are not both constant. Where all worlds choose the same, the other has no edge;
/// cotangents are summed in the same order.
template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> record_selection(Mask<S> of_a, const Reverse<S, n>& a, const Reverse<S, n>& b) {
  if (all(of_a)) return unary(a.value, a, all<S>(1));
  if (none(of_a)) return unary(b.value, b, all<S>(1));
  return binary(select(of_a, a.value, b.value), a, number(of_a), b, number(!of_a));
}

template <class S, bool n>
PYSIM_INLINE Reverse<S, n> select(Mask<Reverse<S, n>> mask, const Reverse<S, n>& a, const Reverse<S, n>& b) {
  const Mask<S> of_a = {mask.lanes};
  if (a.is_constant() && b.is_constant()) return Reverse<S, n>(select(of_a, a.value, b.value));
  return record_selection(of_a, a, b);
}

template <class S, bool n>
PYSIM_INLINE Reverse<S, n> minimum(const Reverse<S, n>& a, const Reverse<S, n>& b) {
  return select((a < b) | !(a == a), a, b);
}

template <class S, bool n>
PYSIM_INLINE Reverse<S, n> maximum(const Reverse<S, n>& a, const Reverse<S, n>& b) {
  return select((a > b) | !(a == a), a, b);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> sqrt(const Reverse<S, n>& a) {
  const S y = sqrt(a.value);
  return unary(y, a, all<S>(0.5) / y);
}

template <class S, bool n>
PYSIM_NOINLINE void sincos(const Reverse<S, n>& a, Reverse<S, n>& s, Reverse<S, n>& c) {
  S sine, cosine;
  sincos(a.value, sine, cosine);
  s = unary(sine, a, cosine);
  c = unary(cosine, a, -sine);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> sin(const Reverse<S, n>& a) {
  return unary(sin(a.value), a, cos(a.value));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> cos(const Reverse<S, n>& a) {
  return unary(cos(a.value), a, -sin(a.value));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> tan(const Reverse<S, n>& a) {
  const S y = tan(a.value);
  return unary(y, a, fma(y, y, all<S>(1)));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> asin(const Reverse<S, n>& a) {
  return unary(asin(a.value), a, all<S>(1) / sqrt(fnma(a.value, a.value, all<S>(1))));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> acos(const Reverse<S, n>& a) {
  return unary(acos(a.value), a, all<S>(-1) / sqrt(fnma(a.value, a.value, all<S>(1))));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> atan(const Reverse<S, n>& a) {
  return unary(atan(a.value), a, all<S>(1) / fma(a.value, a.value, all<S>(1)));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> atan2(const Reverse<S, n>& y, const Reverse<S, n>& x) {
  const S inverse = all<S>(1) / fma(x.value, x.value, y.value * y.value);
  return binary(atan2(y.value, x.value), y, x.value * inverse, x, -(y.value * inverse));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> exp(const Reverse<S, n>& a) {
  const S y = exp(a.value);
  return unary(y, a, y);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> log(const Reverse<S, n>& a) {
  return unary(log(a.value), a, all<S>(1) / a.value);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> tanh(const Reverse<S, n>& a) {
  const S y = tanh(a.value);
  return unary(y, a, fnma(y, y, all<S>(1)));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> pow(const Reverse<S, n>& a, const Reverse<S, n>& b) {
  const S y = pow(a.value, b.value);
  return binary(y, a, b.value * pow(a.value, b.value - all<S>(1)), b, y * log(a.value));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> hypot(const Reverse<S, n>& a, const Reverse<S, n>& b) {
  const S y = hypot(a.value, b.value), inverse = all<S>(1) / y;
  return binary(y, a, a.value * inverse, b, b.value * inverse);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> flip_sign(const Reverse<S, n>& a, const Reverse<S, n>& b) {
  return unary(flip_sign(a.value, b.value), a, flip_sign(all<S>(1), b.value));
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> magnitude(const Reverse<S, n>& a) {
  return flip_sign(a, a);
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> floor(const Reverse<S, n>& a) {
  return Reverse<S, n>(floor(a.value));
}

/// Rows of tables are chosen by whole numbers, on which nothing depends continuously.
template <class S, bool n, class Entry>
PYSIM_NOINLINE Reverse<S, n> lookup(const Entry* table, const Reverse<S, n>& index, int stride, int rows) {
  return Reverse<S, n>(lookup(table, index.value, stride, rows));
}

/// The same from entries on the tape, on which y depends by world.
template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> lookup(const Reverse<S, n>* table,
                                    const Reverse<S, n>& index,
                                    int stride,
                                    int rows) {
  S y = index.value;
  int node = -1;
  Tape<S>* tape = nullptr;
  const S row = nearest_row(index.value, rows);
  for (int k = 0; k < S::width; ++k) {
    const bool is_number = lane(index.value, k) == lane(index.value, k);
    const Reverse<S, n>& entry = table[stride * (is_number ? static_cast<int>(lane(row, k)) : 0)];
    if (is_number) set_lane(y, k, lane(entry.value, k));
    if (!is_number || entry.is_constant()) continue;
    S own = all<S>(0);
    set_lane(own, k, 1);
    tape = entry.tape;
    if (node < 0) node = tape->add_node();
    tape->add_edge(entry.node, own);
  }
  return {y, tape, node};
}

template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> random(const Reverse<S, n>& a, const Reverse<S, n>& b, const Reverse<S, n>& c) {
  return Reverse<S, n>(random(a.value, b.value, c.value));
}

/// Σ weight x over many numbers, one node. [weights] may be on the tape.
template <class S, bool n>
PYSIM_NOINLINE Reverse<S, n> dot(const typename Reverse<S, n>::Parameter* weights,
                                 const Reverse<S, n>* x,
                                 int count) {
  const auto weight = [&](int k) { return all<Reverse<S, n>>(weights[k]); };
  S y = all<S>(0);
  Tape<S>* tape = nullptr;
  for (int k = 0; k < count; ++k) {
    y = fma(weight(k).value, x[k].value, y);
    if (!x[k].is_constant()) tape = x[k].tape;
    if (!weight(k).is_constant()) tape = weight(k).tape;
  }
  if (tape == nullptr) return Reverse<S, n>(y);
  const int node = tape->add_node();
  for (int k = 0; k < count; ++k) {
    if (!x[k].is_constant()) tape->add_edge(x[k].node, weight(k).value);
    if (!weight(k).is_constant()) tape->add_edge(weight(k).node, x[k].value);
  }
  return {y, tape, node};
}

template <class S, bool n>
PYSIM_INLINE typename S::Real lane(const Reverse<S, n>& a, int k) {
  return lane(a.value, k);
}

template <class S, bool n>
PYSIM_INLINE bool is_there(const Reverse<S, n>& x) {
  return any(!(x.value == all<S>(0)));
}

template <class S, bool n>
PYSIM_INLINE bool is_finite(const Reverse<S, n>& x) {
  return any(abs(x.value) < all<S>(typename S::Real(infinity)));
}

}  // namespace pysim::simd
