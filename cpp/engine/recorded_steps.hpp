// Steps of worlds with the records before them, through which cotangents are taken back.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "engine/gradients.hpp"

namespace pysim::engine {

/// Cotangents of rows of all worlds after the last of their steps.
struct RowCotangents {
  std::ptrdiff_t rows;      ///< the last one is after the last step
  const double *q, *v;      ///< (worlds, rows, nv), q along δ of q ⊕ δ
  const double* signals;    ///< (worlds, rows, columns)
  std::vector<int> column;  ///< places of the signals' numbers among the readings
};

/// Cotangents of inputs in every step, which take over what has reached the states' signals.
struct InputCotangents {
  double* to;               ///< (worlds, steps, inputs)
  std::vector<int> inputs;  ///< places among the numbers of the signals
};

/// How taking cotangents back ended: numbers of `GradientBatch::good`, and one more.
struct Pulled {
  static constexpr double elsewhere = -2;  ///< a step does not end where it did when it was made
  std::ptrdiff_t steps;                    ///< that were taken back
  std::vector<double> good;  ///< (states) of the step before these; all 1 if there is time for more
};

/// Records of all worlds before some of their steps, with the inputs of these, and what solved their
/// contacts.
class RecordedSteps {
 public:
  /// The first `count` steps of worlds, which outlive them.
  RecordedSteps(Worlds<double>& worlds, std::ptrdiff_t count) : worlds_(worlds), count_(count) {}

  std::ptrdiff_t count() const { return count_; }
  const Worlds<double>& worlds() const { return worlds_; }

  /// Bytes of all records and solutions.
  std::size_t bytes() const;

  /// Records the worlds before step n, or after the last one.
  void save(std::ptrdiff_t n);

  /// Puts the worlds back to where step n begins.
  void put_back(std::ptrdiff_t n);

  /// Makes step n by step(), and keeps what solved its contacts.
  void make(std::ptrdiff_t n, const std::function<void()>& step);

  void forget(std::ptrdiff_t n) { steps_.erase(n); }

  /// Takes cotangents of `states`, whole packs, back through steps [first, end), whose records and solutions
  /// are there, as is the record after them: through as many as the wall time [s] allows, the last one first.
  /// Rows and inputs, null for none, have one cotangent of every state.
  Pulled pull(std::ptrdiff_t first,
              std::ptrdiff_t end,
              Selection states,
              GradientBatch& batch,
              const RowCotangents* rows,
              const InputCotangents* inputs,
              double wall,
              int threads);

 private:
  class Pull;

  struct Step {
    std::vector<char> record;
    std::vector<double> solution;
  };

  const Step& at(std::ptrdiff_t n) const;
  std::size_t solution_numbers() const;

  Worlds<double>& worlds_;
  const std::ptrdiff_t count_;
  std::map<std::ptrdiff_t, Step> steps_;
};

}  // namespace pysim::engine
