// Convex steps of a pack of worlds, whose cotangents are taken back.
#pragma once

#include "engine/contact_operations.hpp"
#include "engine/gradient_operations.hpp"
#include "stepping/convex/derivatives.hpp"

namespace pysim::engine {

/// As PullSteps has them.
template <class S>
class PulledConvexSteps {
 public:
  using Product = stepping::ConvexStepProduct<S>;

  PulledConvexSteps(const GradientBatch& batch,
                    std::ptrdiff_t first,
                    const ModelOf<S>& model,
                    const contact::Contacts<typename S::Parameter>& contacts,
                    const PackOfWorlds<S>& pack,
                    const WorldLanes<S>& lanes,
                    Workspace<S>& w)
      : batch_(batch),
        first_(first),
        model_(model),
        contacts_(contacts),
        places_(contact::memory_of(contacts, model.nv)),
        live_(places_, w),
        start_{lanes.q, lanes.v, lanes.loop_q, live_.memory[0], live_.report[0], &live_},
        end_{take<S>(w, model.reduced_nq),
             take<S>(w, model.reduced_nv),
             take<S>(w, model.loop_nq()),
             live_.memory[1],
             live_.report[1],
             &live_},
        system_{model, *batch.actuation, w, lanes.loop_q} {
    AdvanceConvexWorlds::load_contacts(batch, first, pack, start_);
    system_.signals = lanes.signals;
    system_.workspace = w;
  }

  const S* end_q() const { return end_.q; }
  const S* end_v() const { return end_.v; }

  simd::Mask<S> make(const stepping::StepSegment<S>& segment, Workspace<S> w) {
    stepping::System<S> system = system_;
    system.signals = system_.with_own_signals(w).signals;
    contact::PairSchedule<S> schedule(contacts_, model_.bodies, w);
    const auto run = run_with(schedule);
    begin();
    stepping::ConvexStep<S> step(system, run, segment.length, w);
    const auto good = step.make(segment.worlds, segment.time, end_);
    stepping::copy_state<S>(model_, places_, end_, start_, [&](const S* from, int count, S* to) {
      simd::copy_where<S>(segment.worlds, from, count, to);
    });
    system_.keep_signals(segment.worlds, system);
    return good;
  }

  /// Runs the blocks that are due at the end of a segment, which was made.
  void run_blocks(const stepping::StepSegment<S>& segment,
                  const WorldLanes<S>& lanes,
                  const Workspace<S>& w) {
    const BlocksAfterContacts<S> blocks = {system_, lanes, contacts_, batch_.contacts.sensors, start_, w};
    blocks(segment.end, segment.due, [&](int block) { return segment.is_due(block); });
  }

  template <class Use>
  void differentiate(const stepping::StepSegment<S>& segment, bool first, Workspace<S> w, const Use& use) {
    stepping::System<S> system = system_;
    system.signals = system_.with_own_signals(w).signals;
    contact::PairSchedule<S> schedule(contacts_, model_.bodies, w);
    const auto run = run_with(schedule);
    begin();
    contact::Solution<S> known = {};
    const bool is_known = first && batch_.solutions != nullptr;
    auto is_good = simd::everywhere<S>();
    if (is_known) known = load_solution(is_good, w);
    Product product(system, run, batch_.varied, segment.length, w);
    is_good &= product.make(segment, start_, end_, is_known ? &known : nullptr);
    use(product, is_good);
  }

  /// Writes the derivatives of a segment of some worlds, times those of the segments behind it, which have
  /// been written unless it `is_last`. Returns whether the tape had room.
  bool write_matrices(Product& product,
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

 private:
  /// Writes the product of the derivatives of the segments behind one, identities if it `is_last`, with
  /// those of the segment, where it is made.
  void compose(const StepMatrices& matrices,
               simd::Mask<S> worlds,
               bool is_last,
               const S* matrix,
               S* touching,
               Workspace<S> w) const {
    const int rows = matrices.rows, columns = matrices.columns;
    const S o = all<S>(0), e = all<S>(1);
    S *const behind = take<S>(w, rows * columns), *const product = take<S>(w, rows * columns),
             *const touched = take<S>(w, contacts_.points);
    for (int i = 0; i < rows * columns; ++i) behind[i] = i % columns == i / columns ? e : o;
    for (int k = 0; k < contacts_.points; ++k) touched[k] = o;
    if (!is_last) {
      load(matrices.to, rows * columns, behind);
      load(matrices.touching, contacts_.points, touched);
    }
    for (int i = 0; i < rows; ++i) {
      S *const to = product + i * columns, *const from = behind + i * columns;
      for (int c = 0; c < columns; ++c) to[c] = c < rows ? o : from[c];
      for (int k = 0; k < rows; ++k) {
        for (int c = 0; c < columns; ++c) to[c] = fma(from[k], matrix[k * columns + c], to[c]);
      }
      for (int c = 0; c < columns; ++c) to[c] = select(worlds, to[c], from[c]);
    }
    for (int k = 0; k < contacts_.points; ++k) {
      touching[k] = max(touched[k], select(worlds, touching[k], o));
    }
    store(product, rows * columns, matrices.to);
    store(touching, contacts_.points, matrices.touching);
  }

  void load(const double* from, int count, S* packs) const {
    simd::load_rows(from + first_ * count, count, count, packs);
  }

  /// The solution of a step of one segment.
  contact::Solution<S> load_solution(simd::Mask<S>& is_good, Workspace<S>& w) const {
    const int nv = model_.nv, count = contact::solution_numbers(nv);
    S* const numbers = take<S>(w, count);
    simd::load_rows(batch_.solutions + first_ * count, count, count, numbers);
    const S o = all<S>(0);
    is_good &= numbers[2 * nv + 1] > o;
    return {numbers, {numbers + nv, numbers[2 * nv] > o}};
  }

  stepping::ConvexRun<S> run_with(contact::PairSchedule<S>& schedule) const {
    stepping::ConvexRun<S> run = {
        contacts_, batch_.contacts.passes, batch_.contacts.tolerance, schedule, batch_.contacts.work};
    run.sensors = batch_.contacts.sensors;
    return run;
  }

  /// Lets the end be a copy of the start.
  void begin() const {
    stepping::copy_state<S>(model_, places_, start_, end_, [](const S* from, int count, S* to) {
      simd::copy_each(from, count, to);
    });
  }

  void store(const S* packs, int count, double* to) const {
    simd::store_rows(packs, count, to + first_ * count, count);
  }

  const GradientBatch& batch_;
  const std::ptrdiff_t first_;
  const ModelOf<S>& model_;
  const contact::Contacts<typename S::Parameter>& contacts_;
  const contact::ContactMemory places_;
  contact::LivePoints<S> live_;
  const contact::ContactState<S> start_, end_;
  stepping::System<S> system_;  ///< whose signals are those at the start
};

}  // namespace pysim::engine
