// Products of the derivatives of steps with cotangents as an operation on packs of worlds.
#pragma once

#include "engine/gradients.hpp"
#include "engine/signal_start.hpp"
#include "engine/varied_worlds.hpp"

namespace pysim::engine {

/// Makes the next step of worlds on the grid of their scene, beside their records, and takes cotangents of
/// its end, and of signals there, back to its start: through the last of its segments first, to whose start
/// the step is made again.
///
/// Steps<S> are those of a pack of worlds by a scheme, in place. `make(segment)` makes a segment, and
/// `run_blocks(segment, lanes, memory)` runs what is due at its end, and
/// `differentiate(segment, first, memory, use)` calls use(product, good) with the product of one, at whose
/// end they are; `first` ones are the only ones of their step.
template <template <class> class Steps>
struct PullSteps {
  template <class S>
  static void at(States<S> at) {
    PullSteps::at<S>(at, static_cast<const GradientBatch&>(at.batch).contacts.contacts);
  }

  template <class S>
  static void at(States<S> at, const contact::Contacts<typename S::Parameter>& contacts) {
    const auto& batch = static_cast<const GradientBatch&>(at.batch);
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
    simd::Mask<S> ended = simd::nowhere<S>();    ///< whose last segment has gone back
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
          steps_(batch_, first_, model_, contacts, pack_, lanes_, w_),
          segments_(batch_.call, first_, w_) {}

    /// Takes cotangents back through segment n, `is_last` that at the end of the step.
    void pull(int n, bool is_last) {
      stepping::StepSegment<S> segment;
      segments_.next(segment);
      for (int k = 0; k < n; ++k) {
        make(segment);
        segments_.next(segment);
      }
      ends_ = segment.worlds & !outcome_.ended;
      outcome_.ended |= segment.worlds;
      if (batch_.readings != nullptr && any(ends_)) {
        segment.reads = batch_.reads_late ? stepping::ReadSignals::all : stepping::ReadSignals::of_state;
      }
      Workspace<S> w = w_;
      Part part[parts];
      int total = 0;
      S* const packs = place_parts(part, total, w);
      S* const before = take<S>(w, total);
      readings_ = take<S>(w, reading_count());
      const auto pull = [&](auto& product, simd::Mask<S> good) {
        outcome_.good &= good | !segment.worlds;
        outcome_.has_room &= product.has_room();
        if (batch_.matrices != nullptr) {
          outcome_.has_room &= steps_.write_matrices(product, *batch_.matrices, segment.worlds, is_last);
        }
        pull_rows(product, segment.worlds, part, packs, before, total);
      };
      steps_.differentiate(segment, is_last && n == 0, w, pull);
      if (!is_last) return;
      store_end(segment.worlds, steps_.end_q(), lanes_.q, model_.reduced_nq, batch_.end_q);
      store_end(segment.worlds, steps_.end_v(), lanes_.v, model_.reduced_nv, batch_.end_v);
    }

   private:
    int reading_count() const { return batch_.readings == nullptr ? 0 : model_.signals->reading_count; }

    /// Makes a segment, to where the next one starts.
    void make(const stepping::StepSegment<S>& segment) {
      outcome_.good &= steps_.make(segment, w_) | !segment.worlds;
      if (segment.due != 0) steps_.run_blocks(segment, lanes_, w_);
    }

    /// A part of the cotangents: rows of the caller, and packs of one of them.
    struct Part {
      double* rows;
      int count;
      S* packs;
    };
    static constexpr int parts = 11;
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
                                     rows.scheme,
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
                                 rows.scheme == nullptr ? 0 : batch_.carried,
                                 rows.theta == nullptr ? 0 : 10 * model_.bodies,
                                 rows.laws == nullptr ? 0 : Sums::per_law * contacts_.pairs,
                                 batch_.varied == nullptr ? 0 : batch_.varied->count,
                                 rows.switches == nullptr ? 0 : batch_.switches.count()};
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
    template <class Product>
    void pull_rows(
        Product& product, simd::Mask<S> worlds, const Part (&part)[parts], S* packs, S* before, int total) {
      const auto at = [&](int k) { return part[k].packs; };
      const int count = reading_count();
      const stepping::StateCotangents<S> bar = {at(0), at(1), at(2), at(3), at(4), at(5), at(6), readings_};
      const Sums sums = {at(7), at(8), at(9), stepping::SwitchCounts<S>::in(at(10), batch_.switches)};
      for (int r = 0; r < batch_.rows; ++r) {
        const std::ptrdiff_t row = first_ * batch_.rows + r;
        const auto stride = [&](const Part& own) { return std::ptrdiff_t{batch_.rows} * own.count; };
        for (const Part& own : part) {
          simd::load_rows(own.rows + row * own.count, own.count, stride(own), own.packs);
        }
        simd::load_rows(batch_.readings + row * count, count, std::ptrdiff_t{batch_.rows} * count, readings_);
        for (int i = 0; i < count; ++i) readings_[i] = select(ends_, readings_[i], simd::all<S>(0));
        if (!all(worlds)) simd::copy_each<S>(static_cast<const S*>(packs), total, before);
        outcome_.has_room &= product.pull(bar, sums);
        if (!all(worlds)) simd::copy_where<S>(!worlds, before, total, packs);
        for (const Part& own : part) {
          simd::store_rows(own.packs, own.count, own.rows + row * own.count, stride(own));
        }
      }
    }

    /// The state at the end of a segment of some worlds, in which the others are where they were.
    void store_end(simd::Mask<S> worlds, const S* end, const S* start, int count, double* to) {
      Workspace<S> w = w_;
      S* const packs = take<S>(w, count);
      for (int i = 0; i < count; ++i) packs[i] = select(worlds, end[i], start[i]);
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
    Steps<S> steps_;
    stepping::StepSegments<S> segments_;
    S* readings_ = nullptr;                    ///< cotangents of signals
    simd::Mask<S> ends_ = simd::nowhere<S>();  ///< where the segment is the last one of the step
  };
};

/// The same of worlds that may differ in numbers.
template <class Pull, class S>
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
                          Pull::template at<S>(at, contacts);
                        }
                      });
}

}  // namespace pysim::engine
