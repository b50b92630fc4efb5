// Distributions of random numbers, by their quantiles.
#pragma once

namespace pysim::engine {

enum class DistributionKind : int { constant, uniform, loguniform, triangular, normal };
constexpr const char* distribution_names[] = {"constant", "uniform", "loguniform", "triangular", "normal"};

/// A distribution and its arguments, in the order of scene files; a constant is the first of them.
struct Distribution {
  DistributionKind kind;
  double argument[3];
};

/// The quantile at u, between 0 and 1.
double quantile(const Distribution& distribution, double u);

}  // namespace pysim::engine
