// Quantiles of distributions.
#include "engine/distributions.hpp"

#include <cmath>

#include "simd/exponential.hpp"

namespace pysim::engine {

namespace {

struct Portable;  // the tag of what is no kernel
using One = simd::Pack<double, 1, Portable>;

One one(double x) {
  return simd::all<One>(x);
}

/// Quantile of the standard normal distribution, within 1e-15 [Wichura 1988].
double normal_quantile(double u) {
  constexpr double middle[2][8] = {{2509.0809287301226727,
                                    33430.575583588128105,
                                    67265.770927008700853,
                                    45921.953931549871457,
                                    13731.693765509461125,
                                    1971.5909503065514427,
                                    133.14166789178437745,
                                    3.387132872796366608},
                                   {5226.495278852545925,
                                    28729.085735721942674,
                                    39307.89580009271061,
                                    21213.794301586595867,
                                    5394.1960214247511077,
                                    687.1870074920579083,
                                    42.313330701600911252,
                                    1}};
  constexpr double tail[2][8] = {{7.7454501427834140764e-4,
                                  .0227238449892691845833,
                                  .24178072517745061177,
                                  1.27045825245236838258,
                                  3.64784832476320460504,
                                  5.7694972214606914055,
                                  4.6303378461565452959,
                                  1.42343711074968357734},
                                 {1.05075007164441684324e-9,
                                  5.475938084995344946e-4,
                                  .0151986665636164571966,
                                  .14810397642748007459,
                                  .68976733498510000455,
                                  1.6763848301838038494,
                                  2.05319162663775882187,
                                  1}};
  constexpr double far[2][8] = {{2.01033439929228813265e-7,
                                 2.71155556874348757815e-5,
                                 .0012426609473880784386,
                                 .026532189526576123093,
                                 .29656057182850489123,
                                 1.7848265399172913358,
                                 5.4637849111641143699,
                                 6.6579046435011037772},
                                {2.04426310338993978564e-15,
                                 1.4215117583164458887e-7,
                                 1.8463183175100546818e-5,
                                 7.868691311456132591e-4,
                                 .0148753612908506148525,
                                 .13692988092273580531,
                                 .59983220655588793769,
                                 1}};
  const auto ratio = [](const double (&p)[2][8], double r) {
    double value[2] = {p[0][0], p[1][0]};
    for (int i = 1; i < 8; ++i) {
      for (int k = 0; k < 2; ++k) value[k] = value[k] * r + p[k][i];
    }
    return value[0] / value[1];
  };
  const double q = u - 0.5;
  if (std::abs(q) <= 0.425) return q * ratio(middle, 0.180625 - q * q);
  const double r = std::sqrt(-simd::lane(simd::log(one(q < 0 ? u : 1 - u)), 0));
  return std::copysign(r <= 5 ? ratio(tail, r - 1.6) : ratio(far, r - 5), q);
}

double triangular_quantile(double u, double lower, double mode, double upper) {
  const double width = upper - lower;
  if (u * width < mode - lower) return lower + std::sqrt(u * width * (mode - lower));
  return upper - std::sqrt((1 - u) * width * (upper - mode));
}

}  // namespace

double quantile(const Distribution& distribution, double u) {
  const auto& [a, b, c] = distribution.argument;
  switch (distribution.kind) {
    case DistributionKind::uniform:
      return a + u * (b - a);
    case DistributionKind::loguniform:
      return a * simd::lane(simd::pow(one(b / a), one(u)), 0);
    case DistributionKind::triangular:
      return triangular_quantile(u, a, b, c);
    case DistributionKind::normal:
      return a + b * normal_quantile(u);
    default:
      return a;
  }
}

}  // namespace pysim::engine
