// Records of doubles as records of floats.
#pragma once

#include <algorithm>
#include <vector>

#include "tree/model_view.hpp"

namespace pysim::tree {

template <class To, class From>
void copy_numbers(const From* from, std::size_t n, To* to) {
  std::transform(from, from + n, to, [](From x) { return static_cast<To>(x); });
}

template <class Record>
struct NumbersIn;
template <template <class> class Record, class Real>
struct NumbersIn<Record<Real>> {
  static constexpr std::size_t value = sizeof(Record<Real>) / sizeof(Real);
};

/// A record of doubles as a record of floats; both hold nothing but numbers.
template <template <class> class Record>
inline std::vector<Record<float>> rounded(const std::vector<Record<double>>& from) {
  std::vector<Record<float>> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    copy_numbers(reinterpret_cast<const double*>(&from[i]),
                 NumbersIn<Record<double>>::value,
                 reinterpret_cast<float*>(&to[i]));
  }
  return to;
}

inline std::vector<Coupling<float>> rounded(const std::vector<Coupling<double>>& from) {
  std::vector<Coupling<float>> to;
  for (const auto& r : from) {
    to.push_back({r.row,
                  r.first_term,
                  r.terms,
                  r.program,
                  r.derivative,
                  r.first_input,
                  r.inputs,
                  static_cast<float>(r.offset)});
  }
  return to;
}

inline std::vector<Term<float>> rounded(const std::vector<Term<double>>& from) {
  std::vector<Term<float>> to;
  for (const auto& t : from) to.push_back({t.q, t.v, static_cast<float>(t.factor)});
  return to;
}

inline std::vector<Spring<float>> rounded(const std::vector<Spring<double>>& from) {
  std::vector<Spring<float>> to;
  for (const auto& s : from) {
    Spring<float> spring = {s.a, s.b, {}, {}, float(s.stiffness), float(s.damping), float(s.length)};
    copy_numbers(s.at_a, 3, spring.at_a);
    copy_numbers(s.at_b, 3, spring.at_b);
    to.push_back(spring);
  }
  return to;
}

inline std::vector<Mimic<float>> rounded(const std::vector<Mimic<double>>& from) {
  std::vector<Mimic<float>> to;
  for (const auto& c : from) {
    to.push_back({c.own, static_cast<float>(c.ratio), static_cast<float>(c.offset)});
  }
  return to;
}

}  // namespace pysim::tree
