// Mutants of the kernels, compiled into one engine; a test run switches one on.
//
// tests/mutation/sources.py replaces sampled expressions by the functions below. `pysim_mutant` chooses the
// one that computes something else; `pysim_reached` notes which were run (reached), and which have no mutant
// for the types they are used with (exempt).
#pragma once

#include <type_traits>
#include <utility>

extern "C" {
extern volatile int pysim_mutant;
extern unsigned char pysim_reached[];
}

namespace pysim::mutation {

enum Note : unsigned char { reached = 1, exempt = 2 };

#define PYSIM_MUTATED inline __attribute__((always_inline))

PYSIM_MUTATED bool chosen(int k) {
  pysim_reached[k] |= reached;
  return __builtin_expect(pysim_mutant == k, 0);
}

#define PYSIM_MUTATION(name, expression)                                 \
  struct name {                                                          \
    template <class A, class B>                                          \
    PYSIM_MUTATED static auto of(A&& a, B&& b) -> decltype(expression) { \
      return expression;                                                 \
    }                                                                    \
  };
PYSIM_MUTATION(Sum, a + b)
PYSIM_MUTATION(Difference, a - b)
PYSIM_MUTATION(Product, a* b)
PYSIM_MUTATION(NegativeProduct, -(a* b))
PYSIM_MUTATION(Quotient, a / b)
PYSIM_MUTATION(Less, a < b)
PYSIM_MUTATION(AtMost, a <= b)
PYSIM_MUTATION(Greater, a > b)
PYSIM_MUTATION(AtLeast, a >= b)
PYSIM_MUTATION(Equal, a == b)
PYSIM_MUTATION(Unequal, a != b)
#undef PYSIM_MUTATION

#define PYSIM_MUTATION(name, expression)                                        \
  struct name {                                                                 \
    template <class A, class B, class C>                                        \
    PYSIM_MUTATED static auto of(A&& a, B&& b, C&& c) -> decltype(expression) { \
      return expression;                                                        \
    }                                                                           \
  };
PYSIM_MUTATION(Fma, fma(a, b, c))
PYSIM_MUTATION(Fnma, fnma(a, b, c))
PYSIM_MUTATION(Fms, fms(a, b, c))
#undef PYSIM_MUTATION

struct Negative {
  template <class A>
  PYSIM_MUTATED static auto of(A&& a) -> decltype(-a) {
    return -a;
  }
};

struct Identity {
  template <class A>
  PYSIM_MUTATED static auto of(A&& a) -> decltype(-a) {
    return a;
  }
};

template <class T, class Operation, class Arguments, class = void>
constexpr bool returns = false;

template <class T, class Operation, class... A>
constexpr bool returns<T, Operation, void(A...), std::void_t<decltype(Operation::of(std::declval<A>()...))>> =
    std::is_same_v<T, decltype(Operation::of(std::declval<A>()...))>;

/// The expression Original of the arguments, or if mutant K is chosen, the first of Others with its type.
template <int K, class Original, class Other, class... Others, class... A>
PYSIM_MUTATED auto mutate(A&&... a) {
  if constexpr (returns<decltype(Original::of(a...)), Other, void(A & ...)>) {
    return chosen(K) ? Other::of(a...) : Original::of(a...);
  } else if constexpr (sizeof...(Others) > 0) {
    return mutate<K, Original, Others...>(a...);
  } else {
    pysim_reached[K] |= exempt;
    return Original::of(a...);
  }
}

template <class A, class B, class = void>
constexpr bool subtracts = false;

template <class A, class B>
constexpr bool subtracts<A, B, std::void_t<decltype(std::declval<A&>() -= std::declval<const B&>())>> = true;

/// a += b, or a −= b if mutant K is chosen; with `sign` −1 the other way round.
template <int K, int sign, class A, class B>
PYSIM_MUTATED void accumulate(A& a, const B& b) {
  if constexpr (subtracts<A, B>) {
    chosen(K) == (sign > 0) ? void(a -= b) : void(a += b);
  } else {
    pysim_reached[K] |= exempt;
    a += b;
  }
}

}  // namespace pysim::mutation
