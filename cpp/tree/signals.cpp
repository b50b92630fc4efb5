// Signals of a model: their programs, and the tables of what these read and change.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tree/model.hpp"

namespace pysim::tree {

/// Velocities of all ports.
int Model::velocities_of_ports() const {
  int motions = 0;
  for (const auto& port : double_.ports) motions += port_motions(port.kind);
  return motions;
}

/// How many numbers programs of signals can read of a source.
int Model::signal_sources(SignalSource source, const Signals& signals) const {
  switch (source) {
    case SignalSource::time:
      return 1;
    case SignalSource::q:
      return reduced_nq_;
    case SignalSource::v:
    case SignalSource::mean_v:
    case SignalSource::acceleration:
      return reduced_nv_;
    case SignalSource::state:
      return signals.carried();
    case SignalSource::port:
    case SignalSource::mean_port: {
      int numbers = 0;
      for (const auto& port : double_.ports) numbers += port_numbers(port.kind);
      return numbers;
    }
    case SignalSource::port_acceleration:
      return 6 * static_cast<int>(double_.ports.size());
    case SignalSource::reaction:
      return 6 * nbodies();
  }
  return 0;
}

SignalProgram Model::add_signal_program(const std::optional<SignalProgramDescription>& d,
                                        std::size_t outputs,
                                        SignalTables& tables) {
  if (!d) return {-1, 0, 0, 0, 0, 0, false, {}, {}};
  if (d->input_registers < 0) throw std::invalid_argument("signals: reads a number that does not exist");
  SignalProgram program = {keep_program(d->program, d->input_registers, outputs, "signals"),
                           static_cast<int>(tables.inputs.size()),
                           static_cast<int>(d->inputs.size()),
                           d->input_registers,
                           static_cast<int>(tables.calls.size()),
                           static_cast<int>(d->calls.size()),
                           false,
                           {},
                           {}};
  for (const SignalInput& input : d->inputs) {
    if (input.index < 0 || input.index >= signal_sources(input.source, tables.signals) || input.to < 0 ||
        input.to >= d->program.registers) {
      throw std::invalid_argument("signals: reads a number that does not exist");
    }
    program.after_dynamics = program.after_dynamics || input.source >= SignalSource::acceleration;
    tables.inputs.push_back(input);
  }
  for (const auto& call : d->calls) {
    const int numbers = call.kind == SignalCallKind::inverse      ? reduced_nv_
                        : call.kind == SignalCallKind::inverse_at ? reduced_nq_ + 2 * reduced_nv_
                                                                  : 0;
    const auto arguments = static_cast<std::size_t>(numbers);
    if (call.kind == SignalCallKind::inverse_at && callback_numbers_ > 0) {
      throw std::invalid_argument(
          "signals: uses inverse dynamics at a q of its own, which joints that call Python do not allow");
    }
    if (call.to < 0 || call.to > d->input_registers - reduced_nv_ || call.arguments.size() != arguments ||
        std::any_of(call.arguments.begin(), call.arguments.end(), [&](int r) {
          return r < 0 || r >= d->program.registers;
        })) {
      throw std::invalid_argument("signals: uses inverse dynamics with the wrong numbers");
    }
    tables.calls.push_back({call.kind, call.to, static_cast<int>(tables.arguments.size())});
    tables.arguments.insert(tables.arguments.end(), call.arguments.begin(), call.arguments.end());
  }
  program.placed = list_placed(program, SignalSource::port, 0, tables);
  program.mean = list_placed(program, SignalSource::mean_port, 0, tables);
  return program;
}

/// Lists the first `driven` ports and those whose numbers of a source a program reads, and their bodies.
PlacedList Model::list_placed(const SignalProgram& program,
                              SignalSource source,
                              int driven,
                              SignalTables& tables) {
  std::vector<char> body(joints_.size());
  PlacedList list = {static_cast<int>(tables.placed.size()), 0, 0, 0};
  int begin = 0;  // of the port's numbers
  for (std::size_t k = 0; k < double_.ports.size(); ++k) {
    const Element<double>& port = double_.ports[k];
    const int end = begin + port_numbers(port.kind);
    const auto reads = [=](const SignalInput& input) {
      return input.source == source && input.index >= begin && input.index < end;
    };
    const auto first = tables.inputs.begin() + program.first_input;
    begin = end;
    if (static_cast<int>(k) >= driven && std::none_of(first, first + program.inputs, reads)) continue;
    tables.placed.push_back(static_cast<int>(k));
    ++list.ports;
    const auto mark = [&](int b) {
      for (; b >= 0; b = joints_[static_cast<std::size_t>(b)].parent) body[static_cast<std::size_t>(b)] = 1;
    };
    mark(port.a);
    mark(port.b);
    for (int n = 0; n < port.count; ++n) {
      mark(double_.path_points[static_cast<std::size_t>(port.first + n)].body);
    }
  }
  list.first_body = static_cast<int>(tables.placed.size());
  for (std::size_t b = 0; b < body.size(); ++b) {
    if (body[b] != 0) tables.placed.push_back(static_cast<int>(b));
  }
  list.bodies = static_cast<int>(tables.placed.size()) - list.first_body;
  return list;
}

/// Requires that slopes are of `rows`, along inputs that exist.
void Model::check_slopes(const std::vector<SignalSlope>& slopes, int rows, const Signals& signals) const {
  const int motions = velocities_of_ports();
  for (const SignalSlope& slope : slopes) {
    const bool of_port = slope.along == SignalMotion::port_position || slope.along == SignalMotion::port_rate;
    const int count = of_port ? motions : slope.along == SignalMotion::state ? signals.states : reduced_nv_;
    if (slope.row >= 0 && slope.row < rows && slope.index >= 0 && slope.index < count) continue;
    throw std::invalid_argument("signals: a slope is of a row or along an input that does not exist");
  }
}

namespace {

/// How many ports there are up to the last one along whose motion a slope is.
int ports_with_slopes(const SignalsDescription& d) {
  int motions = 0;  // of the ports so far
  int count = 0;
  for (std::size_t k = 0; k < d.ports.size(); ++k) {
    const int next = motions + port_motions(d.ports[k].kind);
    const bool has_slope = std::any_of(d.slope_places.begin(), d.slope_places.end(), [=](const auto& slope) {
      const bool is_port =
          slope.along == SignalMotion::port_position || slope.along == SignalMotion::port_rate;
      return is_port && slope.index >= motions && slope.index < next;
    });
    if (has_slope) count = static_cast<int>(k) + 1;
    motions = next;
  }
  return count;
}

/// Lets signals refer to their tables, which are complete.
void refer_to(const SignalTables& tables, Signals& signals) {
  signals.input = tables.inputs.data();
  signals.call = tables.calls.data();
  signals.argument = tables.arguments.data();
  signals.placed = tables.placed.data();
  signals.coordinates = static_cast<int>(tables.coordinates.size());
  signals.coordinate = tables.coordinates.data();
  signals.slope_count = static_cast<int>(tables.slopes.size());
  signals.slope = tables.slopes.data();
  signals.bounded = static_cast<int>(tables.bounded.size());
  signals.bounded_row = tables.bounded.data();
  signals.bounded_slope_count = static_cast<int>(tables.bounded_slopes.size());
  signals.bounded_slope = tables.bounded_slopes.data();
  signals.blocks = static_cast<int>(tables.blocks.size());
  signals.block = tables.blocks.data();
  signals.sampled = tables.sampled.data();
  signals.sampled_count = static_cast<int>(tables.sampled.size());
}

}  // namespace

void Model::add_signals(const SignalsDescription& d) {
  constexpr int most_blocks = 64;  // bits of those that are due
  auto tables = std::make_shared<SignalTables>();
  Signals& signals = tables->signals;
  signals.states = d.states;
  signals.held_numbers = d.held_numbers;
  signals.integrals = d.integrals;
  if (d.states < 0 || d.held_numbers < 0 || d.integrals < 0 || d.integrals > d.states) {
    throw std::invalid_argument("signals: more integrals than states");
  }
  if (d.driven < 0 || static_cast<std::size_t>(d.driven) > d.ports.size() || d.blocks.size() > most_blocks) {
    throw std::invalid_argument("signals: more driven ports than ports, or more than 64 blocks");
  }
  for (const auto& port : d.ports) add_port(port);
  std::size_t efforts = 0;
  for (int k = 0; k < d.driven; ++k) {
    efforts += static_cast<std::size_t>(port_motions(d.ports[static_cast<std::size_t>(k)].kind));
  }
  tables->coordinates = d.coordinates;
  for (const int k : d.coordinates) {
    if (k < 0 || k >= reduced_nv_) throw std::invalid_argument("signals: no such coordinate");
  }
  tables->slopes = d.slope_places;
  const std::size_t rows = d.coordinates.size() + efforts + static_cast<std::size_t>(d.states);
  signals.forces = add_signal_program(d.forces, rows, *tables);
  if (d.forces) signals.forces.placed = list_placed(signals.forces, SignalSource::port, d.driven, *tables);
  check_slopes(d.slope_places, static_cast<int>(rows), signals);
  check_slopes(d.bounded_slope_places, static_cast<int>(d.bounded.size()), signals);
  tables->bounded = d.bounded;
  tables->bounded_slopes = d.bounded_slope_places;
  for (const int row : d.bounded) {
    if (row < 0 || row >= static_cast<int>(d.coordinates.size())) {
      throw std::invalid_argument("signals: no such bounded force");
    }
  }
  const std::size_t slopes =
      d.slope_places.size() + SignalBounds::count * d.bounded.size() + d.bounded_slope_places.size();
  signals.slopes = add_signal_program(d.slopes, efforts + slopes, *tables);
  signals.reading_count = d.readings ? static_cast<int>(d.readings->program.outputs.size()) : 0;
  signals.readings = add_signal_program(d.readings, static_cast<std::size_t>(signals.reading_count), *tables);
  for (const auto& block : d.blocks) {
    const SignalProgram program = add_signal_program(block, block.places.size(), *tables);
    tables->blocks.push_back({program, static_cast<int>(tables->sampled.size())});
    for (const int place : block.places) {
      if (place < 0 || place >= d.states + d.held_numbers)
        throw std::invalid_argument("signals: no such state");
      tables->sampled.push_back(place);
    }
  }
  signals.driven = d.driven;
  signals.slope_ports = std::max(d.driven, ports_with_slopes(d));
  refer_to(*tables, signals);
  signals_ = tables;
}

/// Requires that the places of works are those of states.
void Model::check_work() const {
  const int states = signals_ ? signals_->signals.states : 0;
  const auto check = [states](int place) {
    if (place < -1 || place >= states) throw std::invalid_argument("work: a place that is no state");
  };
  for (const Loop& loop : loops_) check(loop.work);
  for (const auto& coupling : double_.couplings) check(coupling.work);
}

}  // namespace pysim::tree
