// Steps of worlds with the records before them: cotangents of rows, inputs and readings on their way back.
#include "engine/recorded_steps.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace pysim::engine {

/// Cotangents on their way back through steps.
class RecordedSteps::Pull {
 public:
  Pull(RecordedSteps& steps, Selection states, GradientBatch& batch, const RowCotangents* rows)
      : steps_(steps),
        worlds_(steps.worlds_),
        states_(states),
        batch_(batch),
        rows_(rows),
        nq_(worlds_.parts().sizes.q),
        nv_(worlds_.parts().sizes.v),
        end_q_(numbers(states.count, nq_)),
        end_v_(numbers(states.count, nv_)),
        solutions_(numbers(states.count, solution_size(worlds_))),
        readings_(numbers(states.count, rows == nullptr ? 0 : worlds_.reading_count())),
        good_(numbers(states.count, 1)) {
    batch.end_q = end_q_.data();
    batch.end_v = end_v_.data();
    batch.good = good_.data();
    batch.solutions = solutions_.data();
  }

  /// Takes them back through step n, at whose end the worlds are, to its start.
  bool step(std::ptrdiff_t n, int threads) {
    if (rows_ != nullptr) add_rows(n);
    const auto& parts = worlds_.parts();
    q_.assign(parts.q, parts.q + worlds_.count() * nq_);
    v_.assign(parts.v, parts.v + worlds_.count() * nv_);
    steps_.put_back(n);
    gather(steps_.at(n).solution.data(), solution_size(worlds_), solutions_.data());
    pull_step(worlds_, states_, batch_, threads);
    if (!std::all_of(good_.begin(), good_.end(), [](double x) { return x == 1; })) return false;
    return ends_where_it_did();
  }

  /// Moves cotangents of the inputs of step n from those of the signals to the caller's.
  void take_inputs(std::ptrdiff_t n, const InputCotangents& inputs) {
    const std::size_t count = inputs.inputs.size();
    each(states_, [&](std::ptrdiff_t state, std::ptrdiff_t world) {
      double* const bar = batch_.bar.signals + state * worlds_.parts().sizes.signals;
      double* const to = inputs.to + (world * steps_.count_ + n) * static_cast<std::ptrdiff_t>(count);
      for (std::size_t i = 0; i < count; ++i) {
        if (state < worlds_.count()) to[i] = bar[inputs.inputs[i]];
        bar[inputs.inputs[i]] = 0;
      }
    });
  }

  const std::vector<double>& good() const { return good_; }

 private:
  static std::vector<double> numbers(std::ptrdiff_t states, std::ptrdiff_t of_a_state) {
    return std::vector<double>(static_cast<std::size_t>(states * of_a_state));
  }

  /// Adds cotangents of the row after step n, if there is one, and those of signals to what is read there.
  void add_rows(std::ptrdiff_t n) {
    batch_.readings = nullptr;
    const std::ptrdiff_t row = n - steps_.count_ + rows_->rows;
    if (row < 0) return;
    const auto add = [&](const double* from, std::ptrdiff_t numbers, double* to) {
      each(states_, [&](std::ptrdiff_t state, std::ptrdiff_t world) {
        const double* const own = from + (world * rows_->rows + row) * numbers;
        for (std::ptrdiff_t i = 0; i < numbers; ++i) to[state * numbers + i] += own[i];
      });
    };
    const int nv = worlds_.nv();
    add(rows_->q, nv, batch_.bar.q);
    add(rows_->v, nv, batch_.bar.v);
    add_readings(row);
  }

  void add_readings(std::ptrdiff_t row) {
    const auto columns = static_cast<std::ptrdiff_t>(rows_->column.size());
    const std::ptrdiff_t count = worlds_.reading_count();
    std::fill(readings_.begin(), readings_.end(), 0.0);
    each(states_, [&](std::ptrdiff_t state, std::ptrdiff_t world) {
      const double* const own = rows_->signals + (world * rows_->rows + row) * columns;
      for (std::ptrdiff_t i = 0; i < columns; ++i) {
        readings_[static_cast<std::size_t>(state * count + rows_->column[static_cast<std::size_t>(i)])] +=
            own[i];
        if (own[i] != 0) batch_.readings = readings_.data();
      }
    });
  }

  /// Copies rows of worlds to their states.
  void gather(const double* from, std::ptrdiff_t numbers, double* to) const {
    each(states_, [&](std::ptrdiff_t state, std::ptrdiff_t world) {
      std::copy_n(from + world * numbers, numbers, to + state * numbers);
    });
  }

  bool ends_where_it_did() {
    bool same = true;
    each(states_, [&](std::ptrdiff_t state, std::ptrdiff_t world) {
      const auto equal = [&](const std::vector<double>& made, const std::vector<double>& again, int count) {
        return std::equal(
            again.data() + state * count, again.data() + (state + 1) * count, made.data() + world * count);
      };
      if (equal(q_, end_q_, nq_) && equal(v_, end_v_, nv_)) return;
      good_[static_cast<std::size_t>(state)] = Pulled::elsewhere;
      same = false;
    });
    return same;
  }

  RecordedSteps& steps_;
  Worlds<double>& worlds_;
  const Selection states_;
  GradientBatch& batch_;
  const RowCotangents* const rows_;
  const int nq_, nv_;
  std::vector<double> end_q_, end_v_, solutions_, readings_, good_;  ///< of the states
  std::vector<double> q_, v_;                                        ///< of the worlds, after the step
};

const RecordedSteps::Step& RecordedSteps::at(std::ptrdiff_t n) const {
  const auto found = steps_.find(n);
  if (found == steps_.end()) throw std::invalid_argument("step " + std::to_string(n) + " has no record");
  return found->second;
}

/// Numbers of the solutions of a step of all worlds.
std::size_t RecordedSteps::solution_numbers() const {
  return static_cast<std::size_t>(worlds_.count() * solution_size(worlds_));
}

std::size_t RecordedSteps::bytes() const {
  std::size_t sum = 0;
  for (const auto& [n, step] : steps_) sum += step.record.size() + sizeof(double) * step.solution.size();
  return sum;
}

void RecordedSteps::save(std::ptrdiff_t n) {
  auto& record = steps_[n].record;
  record.resize(worlds_.saved_size(worlds_.all()));
  worlds_.save(worlds_.all(), record.data());
}

void RecordedSteps::put_back(std::ptrdiff_t n) {
  const Step& step = at(n);
  if (step.record.empty()) throw std::invalid_argument("step " + std::to_string(n) + " has no record");
  worlds_.put_back(step.record.data(), worlds_.all());
}

void RecordedSteps::make(std::ptrdiff_t n, const std::function<void()>& step) {
  auto& solution = steps_[n].solution;
  solution.resize(solution_numbers());
  worlds_.take_solutions(solution.data(), step);
}

Pulled RecordedSteps::pull(std::ptrdiff_t first,
                           std::ptrdiff_t end,
                           Selection states,
                           GradientBatch& batch,
                           const RowCotangents* rows,
                           const InputCotangents* inputs,
                           double wall,
                           int threads) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Pull pull(*this, states, batch, rows);
  put_back(end);
  std::ptrdiff_t n = end;
  while (n > first && (n == end || Clock::now() - begin < std::chrono::duration<double>(wall))) {
    if (at(n - 1).solution.size() != solution_numbers()) {
      throw std::invalid_argument("step " + std::to_string(n - 1) + " has no solution");
    }
    if (!pull.step(n - 1, threads)) break;
    --n;
    if (inputs != nullptr) pull.take_inputs(n, *inputs);
  }
  return {end - n, pull.good()};
}

}  // namespace pysim::engine
