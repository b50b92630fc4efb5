// FMI 3.0.2, co-simulation and model exchange, over an Instance.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "fmu/headers/fmi3Functions.h"
#include "fmu/instance.hpp"
#include "fmu/saved_state.hpp"

namespace {

using pysim::fmu::Instance;

struct Component {
  fmi3InstanceEnvironment environment = nullptr;
  fmi3LogMessageCallback callback = nullptr;
  std::unique_ptr<Instance> instance;
  double start = 0;

  void log(fmi3Status status, const std::string& text) const {
    if (callback != nullptr) callback(environment, status, "logStatusError", text.c_str());
  }
};

template <class Call>
fmi3Status guarded(fmi3Instance c, const Call& call) noexcept {
  return pysim::fmu::guarded<Component>(c, fmi3OK, fmi3Error, call);
}

fmi3Status refuse(fmi3Instance c) {
  if (c != nullptr) static_cast<Component*>(c)->log(fmi3Error, "this function is not provided");
  return fmi3Error;
}

/// Calls f(reference, values) for every variable, whose numbers lie one after the other.
template <class Value, class F>
void each_variable(const Instance& instance,
                   const fmi3ValueReference* references,
                   std::size_t count,
                   Value* values,
                   std::size_t numbers,
                   const F& f) {
  std::size_t at = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t size = instance.size(references[k], true);
    if (size > numbers - at)
      throw std::invalid_argument("there are fewer values than numbers of the variables");
    f(references[k], values + at);
    at += size;
  }
}

}  // namespace

#include "fmu/fmi3_absent.hpp"

const char* fmi3GetVersion(void) {
  return fmi3Version;
}

fmi3Status fmi3SetDebugLogging(fmi3Instance, fmi3Boolean, size_t, const fmi3String[]) {
  return fmi3OK;
}

static fmi3Instance instantiate(fmi3String token,
                                fmi3String resources,
                                fmi3InstanceEnvironment environment,
                                fmi3LogMessageCallback callback) {
  auto component = std::make_unique<Component>();
  component->environment = environment;
  component->callback = callback;
  if (resources == nullptr) {
    component->log(fmi3Error, "needs its folder of resources");
    return nullptr;
  }
  if (guarded(component.get(), [&](Component& c) {
        std::string path = resources;
        if (!path.empty() && path.back() != '/') path += '/';
        c.instance = std::make_unique<Instance>(path + "scene.pysim", token, 3);
      }) != fmi3OK) {
    return nullptr;
  }
  return component.release();
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String,
                                         fmi3String token,
                                         fmi3String resources,
                                         fmi3Boolean,
                                         fmi3Boolean,
                                         fmi3Boolean,
                                         fmi3Boolean,
                                         const fmi3ValueReference[],
                                         size_t,
                                         fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback callback,
                                         fmi3IntermediateUpdateCallback) {
  return instantiate(token, resources, environment, callback);
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String,
                                          fmi3String token,
                                          fmi3String resources,
                                          fmi3Boolean,
                                          fmi3Boolean,
                                          fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback callback) {
  return instantiate(token, resources, environment, callback);
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String,
                                               fmi3String,
                                               fmi3String,
                                               fmi3Boolean,
                                               fmi3Boolean,
                                               fmi3InstanceEnvironment,
                                               fmi3LogMessageCallback,
                                               fmi3ClockUpdateCallback,
                                               fmi3LockPreemptionCallback,
                                               fmi3UnlockPreemptionCallback) {
  return nullptr;
}

void fmi3FreeInstance(fmi3Instance c) {
  delete static_cast<Component*>(c);
}

fmi3Status fmi3EnterInitializationMode(
    fmi3Instance c, fmi3Boolean, fmi3Float64, fmi3Float64 start, fmi3Boolean, fmi3Float64) {
  static_cast<Component*>(c)->start = start;
  return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
  return guarded(c, [](Component& own) { own.instance->begin(own.start); });
}

fmi3Status fmi3Terminate(fmi3Instance) {
  return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance c) {
  return guarded(c, [](Component& own) { own.instance->reset(); });
}

fmi3Status fmi3GetFloat64(fmi3Instance c,
                          const fmi3ValueReference references[],
                          size_t count,
                          fmi3Float64 values[],
                          size_t numbers) {
  return guarded(c, [&](Component& own) {
    each_variable(*own.instance, references, count, values, numbers, [&](fmi3ValueReference r, double* to) {
      own.instance->get(r, true, to);
    });
  });
}

fmi3Status fmi3SetFloat64(fmi3Instance c,
                          const fmi3ValueReference references[],
                          size_t count,
                          const fmi3Float64 values[],
                          size_t numbers) {
  return guarded(c, [&](Component& own) {
    each_variable(
        *own.instance, references, count, values, numbers, [&](fmi3ValueReference r, const double* from) {
          own.instance->set(r, true, from);
        });
  });
}

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState* state) {
  return guarded(c, [&](Component& own) { pysim::fmu::save(*own.instance, state); });
}

fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state) {
  return guarded(c, [&](Component& own) { pysim::fmu::restore(*own.instance, state); });
}

fmi3Status fmi3FreeFMUState(fmi3Instance, fmi3FMUState* state) {
  pysim::fmu::free_state(state);
  return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance, fmi3FMUState state, size_t* size) {
  *size = pysim::fmu::size_of(state);
  return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size) {
  return guarded(c, [&](Component&) { pysim::fmu::serialize(state, bytes, size); });
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState* state) {
  return guarded(c, [&](Component&) { *state = pysim::fmu::deserialize(bytes, size); });
}

fmi3Status fmi3DoStep(fmi3Instance c,
                      fmi3Float64 t,
                      fmi3Float64 step,
                      fmi3Boolean,
                      fmi3Boolean* needs_events,
                      fmi3Boolean* ends,
                      fmi3Boolean* returns_early,
                      fmi3Float64* last) {
  *needs_events = *ends = *returns_early = fmi3False;
  const fmi3Status status = guarded(c, [&](Component& own) { own.instance->advance(t + step); });
  *last = static_cast<Component*>(c)->instance->time();
  return status;
}

// -------------------------------------------------------------------------------------------- model exchange

fmi3Status fmi3EnterEventMode(fmi3Instance) {
  return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance,
                                    fmi3Boolean* needs_another,
                                    fmi3Boolean* ends,
                                    fmi3Boolean* nominals_changed,
                                    fmi3Boolean* values_changed,
                                    fmi3Boolean* has_next_time,
                                    fmi3Float64* next_time) {
  *needs_another = *ends = *nominals_changed = *values_changed = *has_next_time = fmi3False;
  *next_time = 0;
  return fmi3OK;
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance) {
  return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance,
                                       fmi3Boolean,
                                       fmi3Boolean* enters_event_mode,
                                       fmi3Boolean* ends) {
  *enters_event_mode = *ends = fmi3False;
  return fmi3OK;
}

fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 t) {
  return guarded(c, [&](Component& own) { own.instance->set_time(t); });
}

fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 states[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->state_count());
    own.instance->set_states(states);
  });
}

fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 states[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->state_count());
    std::copy(own.instance->states().begin(), own.instance->states().end(), states);
  });
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 rates[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->state_count());
    own.instance->state_rates(rates);
  });
}

fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 indicators[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->indicator_count());
    own.instance->indicators(indicators);
  });
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance, fmi3Float64 nominals[], size_t count) {
  std::fill_n(nominals, count, 1.0);
  return fmi3OK;
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c,
                                        const fmi3ValueReference unknowns[],
                                        size_t unknown_count,
                                        const fmi3ValueReference knowns[],
                                        size_t known_count,
                                        const fmi3Float64 seed[],
                                        size_t seed_count,
                                        fmi3Float64 slopes[],
                                        size_t slope_count) {
  return guarded(c, [&](Component& own) {
    const auto numbers = [&](const fmi3ValueReference* references, size_t count) {
      size_t sum = 0;
      for (size_t k = 0; k < count; ++k) sum += own.instance->size(references[k], true);
      return sum;
    };
    pysim::fmu::check_count(seed_count, numbers(knowns, known_count));
    pysim::fmu::check_count(slope_count, numbers(unknowns, unknown_count));
    own.instance->slopes(
        {unknowns, unknowns + unknown_count}, {knowns, knowns + known_count}, true, seed, slopes);
  });
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t* count) {
  return guarded(c, [&](Component& own) { *count = own.instance->indicator_count(); });
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t* count) {
  return guarded(c, [&](Component& own) { *count = own.instance->state_count(); });
}
