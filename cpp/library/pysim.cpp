// The C interface of worlds, see pysim.h. No exception leaves a function.
#include "library/pysim.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/dispatch.hpp"
#include "library/handles.hpp"

using pysim::library::Number;

namespace {

thread_local std::string message;

/// Steps up to a time that is this share of a step later count.
constexpr double same_time = 1e-6;

template <class Result, class Call>
Result guarded(Result failed, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "failed";
  }
  return failed;
}

}  // namespace

using pysim::library::fail;

const char* pysim_version(void) {
  return PYSIM_VERSION;
}

const char* pysim_message(void) {
  return message.c_str();
}

pysim_scene* pysim_scene_load(const void* bytes, size_t size) {
  return guarded<pysim_scene*>(nullptr, [&] {
    const std::string missing = pysim::engine::missing_kernels();
    if (!missing.empty()) fail(missing);
    const auto* const begin = static_cast<const char*>(bytes);
    auto file = pysim::engine::read_scene_file(begin, size);  // which checks the size first
    return new pysim_scene(std::move(file), pysim::engine::checksum_in(begin));
  });
}

pysim_scene* pysim_scene_read(const char* path) {
  return guarded<pysim_scene*>(nullptr, [&]() -> pysim_scene* {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), &std::fclose);
    if (file == nullptr) fail(std::string(path) + ": cannot be read");
    std::string bytes;
    char part[1 << 16];
    while (const std::size_t count = std::fread(part, 1, sizeof(part), file.get())) bytes.append(part, count);
    return pysim_scene_load(bytes.data(), bytes.size());
  });
}

void pysim_scene_free(pysim_scene* scene) {
  delete scene;
}

const char* pysim_scene_name(const pysim_scene* scene) {
  return scene->scene.file().name.c_str();
}

double pysim_scene_step(const pysim_scene* scene) {
  return scene->scene.file().scheme.step;
}

int pysim_scene_adapts(const pysim_scene* scene) {
  return scene->adapts() ? 1 : 0;
}

int pysim_scene_count(const pysim_scene* scene, pysim_what what) {
  return what < 0 || what >= pysim_scene::kinds ? 0 : static_cast<int>(scene->numbers[what].size());
}

static const Number* number_of(const pysim_scene* scene, pysim_what what, int index) {
  if (index < 0 || index >= pysim_scene_count(scene, what)) {
    message = "index " + std::to_string(index) + ": there are fewer of this kind";
    return nullptr;
  }
  return &scene->numbers[what][static_cast<std::size_t>(index)];
}

const char* pysim_scene_text(const pysim_scene* scene, pysim_what what, int index) {
  const Number* const own = number_of(scene, what, index);
  return own == nullptr ? nullptr : own->name.c_str();
}

const char* pysim_scene_unit(const pysim_scene* scene, pysim_what what, int index) {
  const Number* const own = number_of(scene, what, index);
  return own == nullptr ? nullptr : own->unit.c_str();
}

int pysim_scene_find(const pysim_scene* scene, pysim_what what, const char* name) {
  for (int k = 0; k < pysim_scene_count(scene, what); ++k) {
    if (scene->numbers[what][static_cast<std::size_t>(k)].name == name) return k;
  }
  message = "'" + std::string(name) + "': there is none of this name";
  return -1;
}

pysim_worlds* pysim_worlds_new(const pysim_scene* scene, int count) {
  return guarded<pysim_worlds*>(nullptr, [&] { return new pysim_worlds(scene, count); });
}

void pysim_worlds_free(pysim_worlds* worlds) {
  delete worlds;
}

int pysim_worlds_count(const pysim_worlds* worlds) {
  return static_cast<int>(worlds->worlds->count());
}

int pysim_worlds_begin(pysim_worlds* worlds, int world, const double* inputs) {
  return guarded(-1, [&] {
    worlds->begin(world, inputs);
    return 0;
  });
}

int pysim_worlds_step(pysim_worlds* worlds, int64_t steps, int threads) {
  return guarded(-1, [&] {
    if (worlds->scene->adapts()) fail("the scheme adapts its steps; use pysim_worlds_advance");
    return worlds->step(steps, threads, {});
  });
}

int pysim_worlds_advance(pysim_worlds* worlds, double t, int threads) {
  return guarded(-1, [&] {
    const double* const times = worlds->worlds->parts().t;
    const double begin = times[0], step = pysim_scene_step(worlds->scene);
    if (!std::isfinite(t)) fail("t must be finite [s]");
    if (worlds->scene->adapts()) {
      return t > begin ? worlds->step(1, threads, t - begin) : worlds->step(0, threads, {});
    }
    const double steps = std::floor((t - begin) / step + same_time);
    if (steps >= 1e15) fail("t is more steps away than are counted");
    return worlds->step(steps > 0 ? static_cast<std::int64_t>(steps) : 0, threads, {});
  });
}

double* pysim_worlds_q(pysim_worlds* worlds) {
  return worlds->worlds->parts().q;
}

double* pysim_worlds_v(pysim_worlds* worlds) {
  return worlds->worlds->parts().v;
}

const double* pysim_worlds_t(const pysim_worlds* worlds) {
  return worlds->worlds->parts().t;
}

int pysim_worlds_set_inputs(pysim_worlds* worlds, int world, const double* values) {
  return guarded(-1, [&] {
    double* const numbers = worlds->signals(world);
    bool changed = false;
    for (const auto& input : worlds->scene->scene.file().inputs) {
      for (const int place : input.places) {
        if (!std::isfinite(*values)) fail("input '" + input.name + "' must be finite");
        changed |= numbers[place] != *values;
        numbers[place] = *values++;
      }
    }
    const auto& scheme = worlds->worlds->scheme().integrator;  // those that carry accelerations
    const bool carries = scheme == "generalized_alpha" || scheme == "dopri5";
    if (changed && carries) worlds->worlds->parts().jumped[world] = 1;
    return 0;
  });
}

int pysim_worlds_get_inputs(const pysim_worlds* worlds, int world, double* values) {
  return guarded(-1, [&] {
    const double* const numbers = worlds->signals(world);
    for (const auto& input : worlds->scene->scene.file().inputs) {
      for (const int place : input.places) *values++ = numbers[place];
    }
    return 0;
  });
}

int pysim_worlds_set_parameters(pysim_worlds* worlds, int world, const double* values) {
  return guarded(-1, [&] {
    worlds->set_parameters(world, values);
    return 0;
  });
}

int pysim_worlds_get_parameters(const pysim_worlds* worlds, int world, double* values) {
  return guarded(-1, [&] {
    worlds->one(world);
    const auto count = worlds->scene->scene.parameters().size();
    std::copy_n(worlds->parameters.data() + count * static_cast<std::size_t>(world), count, values);
    return 0;
  });
}

int pysim_worlds_signals(pysim_worlds* worlds, int world, double* values) {
  return guarded(-1, [&] {
    worlds->one(world);
    std::vector<double> row(static_cast<std::size_t>(worlds->worlds->reading_count()));
    if (!row.empty()) worlds->readings(world, row.data());
    for (const int column : worlds->scene->columns) *values++ = row[static_cast<std::size_t>(column)];
    return 0;
  });
}

int pysim_worlds_poses(pysim_worlds* worlds, int world, double* poses) {
  return guarded(-1, [&] {
    worlds->one(world);
    std::copy_n(worlds->rates.poses(world), 16 * worlds->worlds->model().nbodies(), poses);
    return 0;
  });
}

int pysim_worlds_forces(pysim_worlds* worlds, int world, double* forces) {
  return guarded(-1, [&] {
    worlds->one(world);
    worlds->late.forces(world, forces);
    return 0;
  });
}

int pysim_worlds_accelerations(pysim_worlds* worlds, int world, double* accelerations) {
  return guarded(-1, [&] {
    worlds->one(world);
    worlds->rates.compute(world);
    const auto& a = worlds->rates.accelerations();
    std::copy(a.begin(), a.end(), accelerations);
    return 0;
  });
}

int pysim_worlds_status(const pysim_worlds* worlds, int world) {
  return guarded(-1, [&] {
    worlds->one(world);
    return static_cast<int>(worlds->worlds->status()[world]);
  });
}

const char* pysim_status_text(int status) {
  using pysim::stepping::WorldStatus;
  switch (static_cast<WorldStatus>(status)) {
    case WorldStatus::running:
      return "goes on";
    case WorldStatus::unsolved:
      return "Newton's method found no solution of a step; make the step shorter";
    case WorldStatus::diverged:
      return "a step ended at numbers that are not finite, or with open loops; make the step shorter";
    case WorldStatus::written:
      return "its state was set to one that it cannot have";
    case WorldStatus::underflow:
      return "a step of adapted size became too short";
    case WorldStatus::blurred:
      return "its tolerances are finer than its numbers";
    case WorldStatus::ended:
      return "has ended at an event";
  }
  return "unknown";
}

size_t pysim_worlds_saved_size(pysim_worlds* worlds, int world) {
  return guarded<size_t>(0, [&] {
    worlds->worlds->accept(worlds->one(world));
    return worlds->worlds->saved_size(worlds->one(world));
  });
}

int pysim_worlds_save(pysim_worlds* worlds, int world, void* bytes) {
  return guarded(-1, [&] {
    worlds->worlds->accept(worlds->one(world));
    worlds->worlds->save(worlds->one(world), static_cast<char*>(bytes));
    return 0;
  });
}

int pysim_worlds_load(pysim_worlds* worlds, int world, const void* bytes, size_t size) {
  return guarded(-1, [&] {
    worlds->worlds->load(static_cast<const char*>(bytes), size, worlds->one(world));
    worlds->worlds->see(worlds->one(world));
    return 0;
  });
}

int pysim_worlds_copy(pysim_worlds* worlds, int source, int target) {
  return guarded(-1, [&] {
    worlds->worlds->accept(worlds->one(source));
    worlds->worlds->copy(worlds->one(source), worlds->one(target));
    worlds->worlds->see(worlds->one(target));
    return 0;
  });
}
