// An FMU's instance: variables by reference, communication steps, saved states.
#include "fmu/instance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace pysim::fmu {
namespace {

/// A quaternion x, y, z, w with w ≥ 0 of the rotation in a 4×4 matrix [Shepperd 1978].
void quaternion_of(const double* X, double* q) {
  const double R[3][3] = {{X[0], X[1], X[2]}, {X[4], X[5], X[6]}, {X[8], X[9], X[10]}};
  const double trace = R[0][0] + R[1][1] + R[2][2];
  int largest = 3;
  for (int i = 0; i < 3; ++i) {
    if (R[i][i] > (largest == 3 ? trace : R[largest][largest])) largest = i;
  }
  if (largest == 3) {
    q[3] = 1 + trace;
    q[0] = R[2][1] - R[1][2], q[1] = R[0][2] - R[2][0], q[2] = R[1][0] - R[0][1];
  } else {
    const int i = largest, j = (i + 1) % 3, k = (i + 2) % 3;
    q[i] = 1 + R[i][i] - R[j][j] - R[k][k];
    q[j] = R[j][i] + R[i][j], q[k] = R[k][i] + R[i][k], q[3] = R[k][j] - R[j][k];
  }
  double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (q[3] < 0) norm = -norm;
  for (int i = 0; i < 4; ++i) q[i] /= norm;
}

/// Token of a scene's file under a version of the standard, as pysim/fmu/archive.py writes it.
std::string token_of(std::uint64_t checksum, int version) {
  char text[48];
  std::snprintf(text,
                sizeof(text),
                "{%08x-%04x-%04x-0000-%012x}",
                static_cast<unsigned>(checksum >> 32),
                static_cast<unsigned>(checksum >> 16 & 0xffff),
                static_cast<unsigned>(checksum & 0xffff),
                static_cast<unsigned>(version));
  return text;
}

/// Throws what a call of pysim.h reports.
void require_good(int result) {
  if (result != 0) throw std::runtime_error(pysim_message());
}

}  // namespace

Instance::Instance(const std::string& path, const char* token, int version)
    : scene_(pysim_scene_read(path.c_str())) {
  if (!scene_) throw std::invalid_argument(pysim_message());
  const std::string expected = token_of(scene_->checksum, version);
  if (token == nullptr || token != expected) {
    throw std::invalid_argument("the token is '" + std::string(token == nullptr ? "" : token) + "', but " +
                                expected + " that of " + path + "; take description and files of one FMU");
  }
  worlds_.reset(pysim_worlds_new(scene_.get(), 1));
  if (!worlds_) throw std::invalid_argument(pysim_message());
  inputs_.resize(scene_->numbers[PYSIM_INPUTS].size());
  pysim_worlds_get_inputs(worlds_.get(), 0, inputs_.data());
  parameters_ = scene_->scene.parameters();
  read_states();
}

std::size_t Instance::size(std::uint32_t reference, bool arrays) const {
  const auto& file = scene_->scene.file();
  const std::size_t k = index_of(reference);
  const auto count = [&](Kind kind) -> std::size_t {
    switch (kind) {
      case Kind::time:
        return 1;
      case Kind::input:
        return arrays ? file.inputs.size() : inputs_.size();
      case Kind::q:
        return file.names[engine::SceneFile::q].size();
      case Kind::v:
        return file.names[engine::SceneFile::v].size();
      case Kind::signal:
        return arrays ? file.outputs.size() : scene_->columns.size();
      case Kind::pose:
        return file.names[engine::SceneFile::bodies].size() * (arrays ? 2 : pose_numbers);
      case Kind::force:
        return file.names[engine::SceneFile::pairs].size() * (arrays ? 1 : force_numbers);
      case Kind::parameter:
        return arrays ? file.parameters.size() : parameters_.size();
      case Kind::acceleration:
        return file.names[engine::SceneFile::v].size();
      case Kind::rate:
        return states_.size();
      case Kind::element:
        return worlds_->rates.state_rates().size();
      case Kind::indicator:
        return indicator_count();
    }
    return 0;
  }(kind_of(reference));
  if (k >= count) return 0;
  if (!arrays) return 1;
  switch (kind_of(reference)) {
    case Kind::input:
      return file.inputs[k].places.size();
    case Kind::signal:
      return static_cast<std::size_t>(file.outputs[k].size);
    case Kind::pose:
      return k % 2 == 0 ? 3 : 4;
    case Kind::force:
      return force_numbers;
    case Kind::parameter:
      return file.parameters[k].start.size();
    default:
      return 1;
  }
}

std::size_t Instance::first(std::uint32_t reference, bool arrays) const {
  const auto& file = scene_->scene.file();
  const std::size_t k = index_of(reference);
  if (!arrays) return k;
  std::size_t at = 0;
  switch (kind_of(reference)) {
    case Kind::input:
      for (std::size_t i = 0; i < k; ++i) at += file.inputs[i].places.size();
      return at;
    case Kind::signal:
      for (std::size_t i = 0; i < k; ++i) at += static_cast<std::size_t>(file.outputs[i].size);
      return at;
    case Kind::pose:
      return k / 2 * pose_numbers + (k % 2 == 0 ? 0 : 3);
    case Kind::force:
      return k * force_numbers;
    case Kind::parameter:
      for (std::size_t i = 0; i < k; ++i) at += file.parameters[i].start.size();
      return at;
    default:
      return k;
  }
}

const std::vector<double>& Instance::numbers(Kind kind) {
  if (kind == Kind::input) return inputs_;
  if (kind == Kind::parameter) return parameters_;
  auto& row = rows_[static_cast<int>(kind)];
  const std::uint32_t bit = std::uint32_t{1} << static_cast<int>(kind);
  if ((known_ & bit) == 0) compute(kind, row);
  known_ |= bit;
  return row;
}

void Instance::compute(Kind kind, std::vector<double>& row) {
  const auto& parts = worlds_->worlds->parts();
  const auto& file = scene_->scene.file();
  switch (kind) {
    case Kind::time:
      row.assign(1, last_);
      break;
    case Kind::input:
    case Kind::parameter:
      break;
    case Kind::q:
      row.assign(parts.q, parts.q + parts.sizes.q);
      break;
    case Kind::v:
      row.assign(parts.v, parts.v + parts.sizes.v);
      break;
    case Kind::signal:
      row.resize(scene_->columns.size());
      require_good(pysim_worlds_signals(worlds_.get(), 0, row.data()));
      break;
    case Kind::pose:
      poses_.resize(16 * file.names[engine::SceneFile::bodies].size());
      row.resize(pose_numbers * file.names[engine::SceneFile::bodies].size());
      require_good(pysim_worlds_poses(worlds_.get(), 0, poses_.data()));
      for (std::size_t b = 0; b < file.names[engine::SceneFile::bodies].size(); ++b) {
        const double* const X = poses_.data() + 16 * b;
        double* const to = row.data() + pose_numbers * b;
        to[0] = X[3], to[1] = X[7], to[2] = X[11];
        quaternion_of(X, to + 3);
      }
      break;
    case Kind::acceleration:
      row.resize(worlds_->rates.accelerations().size());
      require_good(pysim_worlds_accelerations(worlds_.get(), 0, row.data()));
      break;
    case Kind::rate:
      row.resize(states_.size());
      state_rates(row.data());
      break;
    case Kind::element:
      row.assign(states_.end() - static_cast<std::ptrdiff_t>(worlds_->rates.state_rates().size()),
                 states_.end());
      break;
    case Kind::indicator:
      row.resize(indicator_count());
      indicators(row.data());
      break;
    case Kind::force:
      row.resize(force_numbers * file.names[engine::SceneFile::pairs].size());
      require_good(pysim_worlds_forces(worlds_.get(), 0, row.data()));
      break;
  }
}

void Instance::get(std::uint32_t reference, bool arrays, double* values) {
  const std::size_t count = size(reference, arrays);
  if (count == 0)
    throw std::invalid_argument("there is no variable of reference " + std::to_string(reference));
  const Kind kind = kind_of(reference);
  if (kind != Kind::parameter) accept_parameters();
  const auto& own = numbers(kind);
  std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(first(reference, arrays)), count, values);
}

void Instance::set(std::uint32_t reference, bool arrays, const double* values) {
  const std::size_t count = size(reference, arrays);
  const bool is_input = kind_of(reference) == Kind::input;
  if (count == 0 || !(is_input || kind_of(reference) == Kind::parameter)) {
    throw std::invalid_argument("the variable of reference " + std::to_string(reference) +
                                " is neither an input nor a parameter");
  }
  if (!std::all_of(values, values + count, [](double x) { return std::isfinite(x); })) {
    throw std::invalid_argument("inputs and parameters must be finite");
  }
  auto& numbers = is_input ? inputs_ : parameters_;
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(first(reference, arrays));
  has_new_parameters_ |= !is_input && !std::equal(values, values + count, at);
  std::copy_n(values, count, at);
  known_ = 0;
  if (is_input && is_running_) pysim_worlds_set_inputs(worlds_.get(), 0, inputs_.data());
}

void Instance::accept_parameters() {
  if (!has_new_parameters_) return;
  if (pysim_worlds_set_parameters(worlds_.get(), 0, parameters_.data()) != 0) {
    throw std::invalid_argument(pysim_message());
  }
  has_new_parameters_ = false;
  known_ = 0;
}

void Instance::begin(double start_time) {
  accept_parameters();
  if (pysim_worlds_begin(worlds_.get(), 0, inputs_.data()) != 0) throw std::runtime_error(pysim_message());
  start_ = last_ = start_time;
  is_running_ = true;
  read_states();
}

void Instance::reset() {
  parameters_ = scene_->scene.parameters();
  has_new_parameters_ = true;
  accept_parameters();
  if (pysim_worlds_begin(worlds_.get(), 0, nullptr) != 0) throw std::runtime_error(pysim_message());
  pysim_worlds_get_inputs(worlds_.get(), 0, inputs_.data());
  is_running_ = false;
  read_states();
}

void Instance::advance(double t) {
  accept_parameters();
  const int lost = pysim_worlds_advance(worlds_.get(), t - start_, 1);
  if (lost < 0) throw std::runtime_error(pysim_message());
  if (lost > 0) {
    const double at = start_ + worlds_->worlds->parts().t[0];
    throw std::runtime_error("the step after t = " + std::to_string(at) +
                             " s failed: " + pysim_status_text(pysim_worlds_status(worlds_.get(), 0)));
  }
  last_ = t;
  read_states();
}

std::vector<char> Instance::save() {
  accept_parameters();
  std::vector<double> numbers = {start_, last_, is_running_ ? 1.0 : 0.0};
  for (const auto* const own : {&inputs_, &parameters_, &states_}) {
    numbers.insert(numbers.end(), own->begin(), own->end());
  }
  const std::size_t begin = numbers.size() * sizeof(double);
  std::vector<char> bytes(begin + pysim_worlds_saved_size(worlds_.get(), 0));
  std::memcpy(bytes.data(), numbers.data(), begin);
  pysim_worlds_save(worlds_.get(), 0, bytes.data() + begin);
  return bytes;
}

void Instance::load(const char* bytes, std::size_t size) {
  std::vector<double> numbers(3 + inputs_.size() + parameters_.size() + states_.size());
  const std::size_t begin = numbers.size() * sizeof(double);
  if (size < begin) throw std::invalid_argument("the saved state ends early");
  std::memcpy(numbers.data(), bytes, begin);
  for (const double number : numbers) {
    if (!std::isfinite(number))
      throw std::invalid_argument("the saved state has numbers that are not finite");
  }
  const auto inputs = numbers.begin() + 3, parameters = inputs + static_cast<std::ptrdiff_t>(inputs_.size()),
             states = parameters + static_cast<std::ptrdiff_t>(parameters_.size());
  const std::vector<double> before = parameters_;
  try {
    parameters_.assign(parameters, states);
    has_new_parameters_ = true;
    accept_parameters();
    if (pysim_worlds_load(worlds_.get(), 0, bytes + begin, size - begin) != 0) {
      throw std::invalid_argument(pysim_message());
    }
  } catch (...) {
    parameters_ = before;
    has_new_parameters_ = true;  // accepted by the next call that steps or reads
    throw;
  }
  inputs_.assign(inputs, parameters);
  states_.assign(states, numbers.end());
  start_ = numbers[0], last_ = numbers[1], is_running_ = numbers[2] != 0;
  known_ = 0;
}

}  // namespace pysim::fmu
