/* An FMU of FMI 2 that is not pysim's: y = gain (u + x), x' = u, by Euler's method in steps of 1 ms. */
#include <stdlib.h>

#include "fmu/headers/fmi2Functions.h"

typedef struct {
  double t, u, x, gain;
} Model;

enum { U, Y, GAIN };

const char* fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char* fmi2GetVersion(void) { return fmi2Version; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String token, fmi2String resources,
                              const fmi2CallbackFunctions* callbacks, fmi2Boolean visible, fmi2Boolean logs) {
  Model* model = calloc(1, sizeof(Model));
  (void)name, (void)type, (void)token, (void)resources, (void)callbacks, (void)visible, (void)logs;
  model->gain = 1;
  return model;
}

void fmi2FreeInstance(fmi2Component c) { free(c); }

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean d, fmi2Real tol, fmi2Real start, fmi2Boolean s,
                               fmi2Real stop) {
  (void)d, (void)tol, (void)s, (void)stop;
  ((Model*)c)->t = start;
  return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Real x[]) {
  Model* const model = c;
  for (size_t k = 0; k < n; ++k) {
    if (r[k] == Y) return fmi2Error;
    *(r[k] == U ? &model->u : &model->gain) = x[k];
  }
  return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Real x[]) {
  const Model* const model = c;
  for (size_t k = 0; k < n; ++k) {
    x[k] = r[k] == U ? model->u : r[k] == Y ? model->gain * (model->u + model->x) : model->gain;
  }
  return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean keep) {
  Model* const model = c;
  (void)t, (void)keep;
  for (int k = 0; k < (int)(h / 1e-3 + 0.5); ++k) model->x += 1e-3 * model->u;
  model->t += h;
  return fmi2OK;
}

/* Functions of the standard that nobody calls. */
#define ABSENT(name, arguments) \
  fmi2Status name arguments { return fmi2Error; }
#define REFERENCES fmi2Component c, const fmi2ValueReference r[], size_t n
#pragma GCC diagnostic ignored "-Wunused-parameter"
ABSENT(fmi2SetDebugLogging, (fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[]))
ABSENT(fmi2Reset, (fmi2Component c))
ABSENT(fmi2GetInteger, (REFERENCES, fmi2Integer x[]))
ABSENT(fmi2GetBoolean, (REFERENCES, fmi2Boolean x[]))
ABSENT(fmi2GetString, (REFERENCES, fmi2String x[]))
ABSENT(fmi2SetInteger, (REFERENCES, const fmi2Integer x[]))
ABSENT(fmi2SetBoolean, (REFERENCES, const fmi2Boolean x[]))
ABSENT(fmi2SetString, (REFERENCES, const fmi2String x[]))
ABSENT(fmi2GetFMUstate, (fmi2Component c, fmi2FMUstate* s))
ABSENT(fmi2SetFMUstate, (fmi2Component c, fmi2FMUstate s))
ABSENT(fmi2FreeFMUstate, (fmi2Component c, fmi2FMUstate* s))
ABSENT(fmi2SerializedFMUstateSize, (fmi2Component c, fmi2FMUstate s, size_t* n))
ABSENT(fmi2SerializeFMUstate, (fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n))
ABSENT(fmi2DeSerializeFMUstate, (fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate* s))
ABSENT(fmi2GetDirectionalDerivative, (REFERENCES, const fmi2ValueReference k[], size_t m, const fmi2Real x[], fmi2Real y[]))
ABSENT(fmi2SetRealInputDerivatives, (REFERENCES, const fmi2Integer order[], const fmi2Real x[]))
ABSENT(fmi2GetRealOutputDerivatives, (REFERENCES, const fmi2Integer order[], fmi2Real x[]))
ABSENT(fmi2CancelStep, (fmi2Component c))
ABSENT(fmi2GetStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Status* x))
ABSENT(fmi2GetRealStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Real* x))
ABSENT(fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Integer* x))
ABSENT(fmi2GetBooleanStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Boolean* x))
ABSENT(fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind s, fmi2String* x))
