// FMI 2.0.4, co-simulation and model exchange, over an Instance.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "fmu/headers/fmi2Functions.h"
#include "fmu/instance.hpp"
#include "fmu/saved_state.hpp"

namespace {

using pysim::fmu::Instance;

struct Component {
  std::string name;
  fmi2CallbackFunctions callbacks;
  std::unique_ptr<Instance> instance;
  double start = 0;

  void log(fmi2Status status, const std::string& text) const {
    if (callbacks.logger == nullptr) return;
    callbacks.logger(
        callbacks.componentEnvironment, name.c_str(), status, "logStatusError", "%s", text.c_str());
  }
};

/// A path from a URI "file:///…", with %xx decoded.
std::string path_of(std::string uri) {
  for (const char* const prefix : {"file://localhost", "file://", "file:"}) {
    if (uri.compare(0, std::strlen(prefix), prefix) != 0) continue;
    uri.erase(0, std::strlen(prefix));
    break;
  }
  std::string path;
  for (std::size_t k = 0; k < uri.size(); ++k) {
    const bool is_code = uri[k] == '%' && k + 2 < uri.size() &&
                         std::isxdigit(static_cast<unsigned char>(uri[k + 1])) &&
                         std::isxdigit(static_cast<unsigned char>(uri[k + 2]));
    if (!is_code) {
      path += uri[k];
      continue;
    }
    path += static_cast<char>(std::stoi(uri.substr(k + 1, 2), nullptr, 16));
    k += 2;
  }
  if (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

template <class Call>
fmi2Status guarded(fmi2Component c, const Call& call) noexcept {
  return pysim::fmu::guarded<Component>(c, fmi2OK, fmi2Error, call);
}

fmi2Status refuse(fmi2Component c, std::size_t count, const char* text) {
  if (count == 0) return fmi2OK;
  static_cast<Component*>(c)->log(fmi2Error, text);
  return fmi2Error;
}

}  // namespace

const char* fmi2GetTypesPlatform(void) {
  return fmi2TypesPlatform;
}

const char* fmi2GetVersion(void) {
  return fmi2Version;
}

fmi2Status fmi2SetDebugLogging(fmi2Component, fmi2Boolean, size_t, const fmi2String[]) {
  return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name,
                              fmi2Type type,
                              fmi2String token,
                              fmi2String resources,
                              const fmi2CallbackFunctions* callbacks,
                              fmi2Boolean,
                              fmi2Boolean) {
  auto component = std::make_unique<Component>();
  component->name = name == nullptr ? "" : name;
  if (callbacks != nullptr) component->callbacks = *callbacks;
  (void)type;  // both are one model
  if (resources == nullptr) {
    component->log(fmi2Error, "needs its folder of resources");
    return nullptr;
  }
  if (guarded(component.get(), [&](Component& c) {
        c.instance = std::make_unique<Instance>(path_of(resources) + "/scene.pysim", token, 2);
      }) != fmi2OK) {
    return nullptr;
  }
  return component.release();
}

void fmi2FreeInstance(fmi2Component c) {
  delete static_cast<Component*>(c);
}

fmi2Status fmi2SetupExperiment(
    fmi2Component c, fmi2Boolean, fmi2Real, fmi2Real start, fmi2Boolean, fmi2Real) {
  static_cast<Component*>(c)->start = start;
  return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component) {
  return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
  return guarded(c, [](Component& own) { own.instance->begin(own.start); });
}

fmi2Status fmi2Terminate(fmi2Component) {
  return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c) {
  return guarded(c, [](Component& own) { own.instance->reset(); });
}

fmi2Status fmi2GetReal(fmi2Component c,
                       const fmi2ValueReference references[],
                       size_t count,
                       fmi2Real values[]) {
  return guarded(c, [&](Component& own) {
    for (size_t k = 0; k < count; ++k) own.instance->get(references[k], false, values + k);
  });
}

fmi2Status fmi2SetReal(fmi2Component c,
                       const fmi2ValueReference references[],
                       size_t count,
                       const fmi2Real values[]) {
  return guarded(c, [&](Component& own) {
    for (size_t k = 0; k < count; ++k) own.instance->set(references[k], false, values + k);
  });
}

#define PYSIM_REFUSED_TYPE(Type)                                                                            \
  fmi2Status fmi2Get##Type(fmi2Component c, const fmi2ValueReference[], size_t count, fmi2##Type[]) {       \
    return refuse(c, count, "all variables are real numbers");                                              \
  }                                                                                                         \
  fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference[], size_t count, const fmi2##Type[]) { \
    return refuse(c, count, "all variables are real numbers");                                              \
  }

PYSIM_REFUSED_TYPE(Integer)
PYSIM_REFUSED_TYPE(Boolean)
PYSIM_REFUSED_TYPE(String)

#undef PYSIM_REFUSED_TYPE

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate* state) {
  return guarded(c, [&](Component& own) { pysim::fmu::save(*own.instance, state); });
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
  return guarded(c, [&](Component& own) { pysim::fmu::restore(*own.instance, state); });
}

fmi2Status fmi2FreeFMUstate(fmi2Component, fmi2FMUstate* state) {
  pysim::fmu::free_state(state);
  return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component, fmi2FMUstate state, size_t* size) {
  *size = pysim::fmu::size_of(state);
  return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
  return guarded(c, [&](Component&) { pysim::fmu::serialize(state, bytes, size); });
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c,
                                   const fmi2Byte bytes[],
                                   size_t size,
                                   fmi2FMUstate* state) {
  return guarded(c, [&](Component&) { *state = pysim::fmu::deserialize(bytes, size); });
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c,
                                        const fmi2ValueReference unknowns[],
                                        size_t unknown_count,
                                        const fmi2ValueReference knowns[],
                                        size_t known_count,
                                        const fmi2Real seed[],
                                        fmi2Real slopes[]) {
  return guarded(c, [&](Component& own) {
    own.instance->slopes(
        {unknowns, unknowns + unknown_count}, {knowns, knowns + known_count}, false, seed, slopes);
  });
}

fmi2Status fmi2SetRealInputDerivatives(
    fmi2Component c, const fmi2ValueReference[], size_t count, const fmi2Integer[], const fmi2Real[]) {
  return refuse(c, count, "inputs are held during a communication step");
}

fmi2Status fmi2GetRealOutputDerivatives(
    fmi2Component c, const fmi2ValueReference[], size_t count, const fmi2Integer[], fmi2Real[]) {
  return refuse(c, count, "derivatives of outputs are not provided");
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real step, fmi2Boolean) {
  return guarded(c, [&](Component& own) { own.instance->advance(t + step); });
}

fmi2Status fmi2CancelStep(fmi2Component c) {
  return refuse(c, 1, "no step is pending");
}

fmi2Status fmi2GetStatus(fmi2Component, const fmi2StatusKind, fmi2Status*) {
  return fmi2Discard;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real* value) {
  if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
  *value = static_cast<Component*>(c)->instance->time();
  return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component, const fmi2StatusKind, fmi2Integer*) {
  return fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component, const fmi2StatusKind kind, fmi2Boolean* value) {
  if (kind != fmi2Terminated) return fmi2Discard;
  *value = fmi2False;
  return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component, const fmi2StatusKind, fmi2String*) {
  return fmi2Discard;
}

// -------------------------------------------------------------------------------------------- model exchange

fmi2Status fmi2EnterEventMode(fmi2Component) {
  return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component, fmi2EventInfo* info) {
  *info = {};
  return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component) {
  return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component,
                                       fmi2Boolean,
                                       fmi2Boolean* enters_event_mode,
                                       fmi2Boolean* ends) {
  *enters_event_mode = *ends = fmi2False;
  return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t) {
  return guarded(c, [&](Component& own) { own.instance->set_time(t); });
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real states[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->state_count());
    own.instance->set_states(states);
  });
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real states[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->state_count());
    std::copy(own.instance->states().begin(), own.instance->states().end(), states);
  });
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real rates[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->state_count());
    own.instance->state_rates(rates);
  });
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t count) {
  return guarded(c, [&](Component& own) {
    pysim::fmu::check_count(count, own.instance->indicator_count());
    own.instance->indicators(indicators);
  });
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component, fmi2Real nominals[], size_t count) {
  std::fill_n(nominals, count, 1.0);
  return fmi2OK;
}
