// Products of the derivatives of convex steps with cotangents as an operation on packs of worlds.
#pragma once

#include "engine/contact_operations.hpp"
#include "engine/gradients.hpp"
#include "engine/reading_product.hpp"
#include "engine/signal_start.hpp"
#include "engine/varied_worlds.hpp"
#include "stepping/convex/derivatives.hpp"

namespace pysim::engine {

/// Makes the next step of worlds on the grid of their scene, beside their records, and takes cotangents of
/// its end back to its start: through the last of its segments first, to whose start the step is made again.
/// Or takes those of signals back to the states that the worlds have.
struct PullConvexSteps {
  template <class S>
  static void at(States<S> at) {
    PullConvexSteps::at<S>(at, static_cast<const GradientBatch&>(at.batch).contacts.contacts);
  }

  template <class S>
  static void at(States<S> at, const contact::Contacts<typename S::Parameter>& contacts) {
    const auto& batch = static_cast<const GradientBatch&>(at.batch);
    if (batch.readings != nullptr) return ReadingProduct<S>(at, batch).pull();
    Workspace<S> w = at.w;
    const int count = stepping::StepSegments<S>(batch.call, at.first, w).count();
    Outcome<S> outcome;
    for (int n = count - 1; n >= 0; --n) PulledSegment<S>(at, contacts, outcome).pull(n, n == count - 1);
    const S made = outcome.has_room ? simd::number(outcome.good) : all<S>(-1);
    simd::store_rows(&made, 1, batch.good + at.first, 1);
  }

 private:
  template <class S>
  struct Outcome {
    simd::Mask<S> good = simd::everywhere<S>();  ///< where segments were solved in one part
    bool has_room = true;                        ///< on the tapes
  };

  /// The worlds of a pack before one segment of their step.
  template <class S>
  class PulledSegment {
   public:
    PulledSegment(States<S> at, const contact::Contacts<typename S::Parameter>& contacts, Outcome<S>& outcome)
        : batch_(static_cast<const GradientBatch&>(at.batch)),
          first_(at.first),
          model_(at.model),
          contacts_(contacts),
          outcome_(outcome),
          w_(at.w),
          pack_(batch_.call, first_),
          lanes_(pack_.load_all(model_, batch_.call.worlds, w_)),
          places_(contact::memory_of(contacts, model_.nv)),
          live_(places_, w_),
          start_{lanes_.q, lanes_.v, lanes_.loop_q, live_.memory[0], live_.report[0], &live_},
          end_{take<S>(w_, model_.reduced_nq),
               take<S>(w_, model_.reduced_nv),
               take<S>(w_, model_.loop_nq()),
               live_.memory[1],
               live_.report[1],
               &live_},
          held_{model_, *batch_.actuation, w_, lanes_.loop_q},
          segments_(batch_.call, first_, w_) {
      AdvanceConvexWorlds::load_contacts(batch_, first_, pack_, start_);
      held_.signals = lanes_.signals;
      held_.workspace = w_;
    }

    /// Takes cotangents back through segment n, `is_last` that at the end of the step.
    void pull(int n, bool is_last) {
      stepping::StepSegment<S> segment;
      segments_.next(segment);
      for (int k = 0; k < n; ++k) {
        make(segment);
        segments_.next(segment);
      }
      Workspace<S> w = w_;
      Part part[parts];
      int total = 0;
      S* const packs = place_parts(part, total, w);
      S* const before = take<S>(w, total);
      stepping::System<S> system = held_;
      system.signals = held_.with_own_signals(w).signals;
      contact::PairSchedule<S> schedule(contacts_, model_.bodies, w);
      const auto run = run_with(schedule);
      begin();
      contact::Solution<S> known = {};
      const bool is_known = is_last && n == 0 && batch_.solutions != nullptr;
      if (is_known) known = load_solution(w);
      stepping::ConvexStepProduct<S> product(system, run, batch_.varied, segment.length, w);
      outcome_.good &= product.make(segment, start_, end_, is_known ? &known : nullptr) | !segment.worlds;
      outcome_.has_room &= product.has_room();
      if (batch_.matrices != nullptr) {
        outcome_.has_room &= write_matrices(product, *batch_.matrices, segment.worlds, is_last);
      }
      pull_rows(product, segment.worlds, part, packs, before, total);
      if (!is_last) return;
      for (int i = 0; i < model_.reduced_nq; ++i) end_.q[i] = select(segment.worlds, end_.q[i], start_.q[i]);
      for (int i = 0; i < model_.reduced_nv; ++i) end_.v[i] = select(segment.worlds, end_.v[i], start_.v[i]);
      store(end_.q, model_.reduced_nq, batch_.end_q);
      store(end_.v, model_.reduced_nv, batch_.end_v);
    }

   private:
    /// The solution of a step of one segment.
    contact::Solution<S> load_solution(Workspace<S>& w) const {
      const int nv = model_.nv, count = contact::solution_numbers(nv);
      S* const numbers = take<S>(w, count);
      simd::load_rows(batch_.solutions + first_ * count, count, count, numbers);
      const S o = all<S>(0);
      outcome_.good &= numbers[2 * nv + 1] > o;
      return {numbers, {numbers + nv, numbers[2 * nv] > o}};
    }

    stepping::ConvexRun<S> run_with(contact::PairSchedule<S>& schedule) const {
      return {contacts_, batch_.contacts.passes, batch_.contacts.tolerance, schedule, batch_.contacts.work};
    }

    /// Lets the end be a copy of the start.
    void begin() const {
      stepping::copy_state<S>(model_, places_, start_, end_, [](const S* from, int count, S* to) {
        simd::copy_each(from, count, to);
      });
    }

    /// Makes a segment, to where the next one starts.
    void make(const stepping::StepSegment<S>& segment) {
      Workspace<S> w = w_;
      stepping::System<S> system = held_;
      system.signals = held_.with_own_signals(w).signals;
      contact::PairSchedule<S> schedule(contacts_, model_.bodies, w);
      const auto run = run_with(schedule);
      begin();
      stepping::ConvexStep<S> step(system, run, segment.length, w);
      outcome_.good &= step.make(segment.worlds, segment.time, end_) | !segment.worlds;
      stepping::copy_state<S>(model_, places_, end_, start_, [&](const S* from, int count, S* to) {
        simd::copy_where<S>(segment.worlds, from, count, to);
      });
      held_.keep_signals(segment.worlds, system);
      if (segment.due == 0) return;
      const DueBlocks<S> blocks = {held_, lanes_, w_};
      blocks(segment.end, segment.due, [&](int block) { return segment.is_due(block); });
    }

    /// A part of the cotangents: rows of the caller, and packs of one of them.
    struct Part {
      double* rows;
      int count;
      S* packs;
    };
    static constexpr int parts = 10;
    using Sums = stepping::ParameterCotangents<S>;

    /// The parts, with `total` packs one after the other; the product takes the memory behind them.
    S* place_parts(Part (&part)[parts], int& total, Workspace<S>& w) const {
      const Cotangents& rows = batch_.bar;
      const int nv = model_.reduced_nv;
      const int signals = lanes_.signals.numbers == nullptr ? 0 : batch_.call.worlds.sizes.signals;
      double* const arrays[parts] = {rows.q,
                                     rows.v,
                                     rows.deflections,
                                     rows.turnings,
                                     rows.coordinates,
                                     rows.signals,
                                     rows.theta,
                                     rows.laws,
                                     rows.numbers,
                                     rows.switches};
      const int counts[parts] = {nv,
                                 nv,
                                 3 * contacts_.points,
                                 3 * contacts_.turning_points,
                                 contacts_.coordinates,
                                 signals,
                                 rows.theta == nullptr ? 0 : 10 * model_.bodies,
                                 rows.laws == nullptr ? 0 : Sums::per_law * contacts_.pairs,
                                 batch_.varied == nullptr ? 0 : batch_.varied->count,
                                 rows.switches == nullptr ? 0 : batch_.switches};
      total = 0;
      for (const int count : counts) total += count;
      S* const packs = take<S>(w, total);
      S* next = packs;
      for (int k = 0; k < parts; ++k) {
        part[k] = {arrays[k], counts[k], arrays[k] == nullptr ? nullptr : next};
        next += counts[k];
      }
      return packs;
    }

    /// Takes every world's cotangents back through a segment of some worlds.
    void pull_rows(stepping::ConvexStepProduct<S>& product,
                   simd::Mask<S> worlds,
                   const Part (&part)[parts],
                   S* packs,
                   S* before,
                   int total) {
      const auto at = [&](int k) { return part[k].packs; };
      const stepping::StateCotangents<S> bar = {at(0), at(1), at(2), at(3), at(4), at(5)};
      const Sums sums = {
          at(6), at(7), at(8), stepping::SwitchCounts<S>::in(at(9), contacts_.pairs, contacts_.coordinates)};
      for (int r = 0; r < batch_.rows; ++r) {
        const std::ptrdiff_t row = first_ * batch_.rows + r;
        const auto stride = [&](const Part& own) { return std::ptrdiff_t{batch_.rows} * own.count; };
        for (const Part& own : part) {
          simd::load_rows(own.rows + row * own.count, own.count, stride(own), own.packs);
        }
        if (!all(worlds)) simd::copy_each<S>(static_cast<const S*>(packs), total, before);
        outcome_.has_room &= product.pull(bar, sums);
        if (!all(worlds)) simd::copy_where<S>(!worlds, before, total, packs);
        for (const Part& own : part) {
          simd::store_rows(own.packs, own.count, own.rows + row * own.count, stride(own));
        }
      }
    }

    /// Writes the derivatives of a segment of some worlds, times those of the segments behind it, which have
    /// been written unless it `is_last`. Returns whether the tape had room.
    bool write_matrices(stepping::ConvexStepProduct<S>& product,
                        const StepMatrices& matrices,
                        simd::Mask<S> worlds,
                        bool is_last) const {
      Workspace<S> w = product.free_memory();
      const stepping::StateList list = {matrices.points,
                                        matrices.coordinates,
                                        matrices.numbers,
                                        matrices.point_count,
                                        matrices.coordinate_count,
                                        matrices.state_count,
                                        matrices.input_count};
      const int count = matrices.rows * matrices.columns;
      S *const packs = take<S>(w, count), *const touching = take<S>(w, contacts_.points);
      stepping::ConvexStepDerivatives<S> derivatives(product, list, w);
      const bool has_room = product.has_room() && derivatives.evaluate(packs);
      product.contacts().list_touching(touching);
      if (is_last && all(worlds)) {
        store(packs, count, matrices.to);
        store(touching, contacts_.points, matrices.touching);
      } else {
        compose(matrices, worlds, is_last, packs, touching, w);
      }
      return has_room;
    }

    /// Writes the product of the derivatives of the segments behind one, identities if it `is_last`, with
    /// those of the segment, where it is made.
    void compose(const StepMatrices& matrices,
                 simd::Mask<S> worlds,
                 bool is_last,
                 const S* own,
                 S* touching,
                 Workspace<S> w) const {
      const int rows = matrices.rows, columns = matrices.columns;
      const S o = all<S>(0), e = all<S>(1);
      S *const behind = take<S>(w, rows * columns), *const both = take<S>(w, rows * columns),
               *const touched = take<S>(w, contacts_.points);
      for (int i = 0; i < rows * columns; ++i) behind[i] = i % columns == i / columns ? e : o;
      for (int k = 0; k < contacts_.points; ++k) touched[k] = o;
      if (!is_last) {
        load(matrices.to, rows * columns, behind);
        load(matrices.touching, contacts_.points, touched);
      }
      for (int i = 0; i < rows; ++i) {
        S *const to = both + i * columns, *const from = behind + i * columns;
        for (int c = 0; c < columns; ++c) to[c] = c < rows ? o : from[c];
        for (int k = 0; k < rows; ++k) {
          for (int c = 0; c < columns; ++c) to[c] = fma(from[k], own[k * columns + c], to[c]);
        }
        for (int c = 0; c < columns; ++c) to[c] = select(worlds, to[c], from[c]);
      }
      for (int k = 0; k < contacts_.points; ++k) {
        touching[k] = max(touched[k], select(worlds, touching[k], o));
      }
      store(both, rows * columns, matrices.to);
      store(touching, contacts_.points, matrices.touching);
    }

    void load(const double* from, int count, S* packs) const {
      simd::load_rows(from + first_ * count, count, count, packs);
    }

    void store(const S* packs, int count, double* to) const {
      simd::store_rows(packs, count, to + first_ * count, count);
    }

    const GradientBatch& batch_;
    const std::ptrdiff_t first_;
    const ModelOf<S>& model_;
    const contact::Contacts<typename S::Parameter>& contacts_;
    Outcome<S>& outcome_;
    Workspace<S> w_;
    const PackOfWorlds<S> pack_;
    const WorldLanes<S> lanes_;
    const contact::ContactMemory places_;
    contact::LivePoints<S> live_;
    const contact::ContactState<S> start_, end_;
    stepping::System<S> held_;  ///< whose signals are those at the start
    stepping::StepSegments<S> segments_;
  };
};

/// The same of worlds that may differ in numbers.
template <class S>
void pull_varied_packs(const tree::ModelView<double>& model,
                       const Batch<double>& batch,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch) {
  each_varied_pack<S>(model,
                      static_cast<const WorldBatch<double>&>(batch),
                      begin,
                      end,
                      scratch,
                      [&](const auto& own, const auto& contacts, std::ptrdiff_t first, Workspace<S> w) {
                        const States<S> at = {own, batch, first, w};
                        const auto& own_batch = static_cast<const GradientBatch&>(batch);
                        if (own_batch.start.is_pulled) {
                          SignalStartProduct<S>(at, own_batch).pull();
                        } else {
                          PullConvexSteps::at<S>(at, contacts);
                        }
                      });
}

}  // namespace pysim::engine
