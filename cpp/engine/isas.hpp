// Instruction sets of this build.
#pragma once

#if defined(PYSIM_ISA_BASELINE)
#define PYSIM_FOR_BASELINE(entry) entry(baseline)
#else
#define PYSIM_FOR_BASELINE(entry)
#endif
#if defined(PYSIM_ISA_AVX2)
#define PYSIM_FOR_AVX2(entry) entry(avx2)
#else
#define PYSIM_FOR_AVX2(entry)
#endif
#if defined(PYSIM_ISA_AVX512)
#define PYSIM_FOR_AVX512(entry) entry(avx512)
#else
#define PYSIM_FOR_AVX512(entry)
#endif

/// entry(isa) of each, narrowest first.
#define PYSIM_FOR_EACH_ISA(entry) PYSIM_FOR_BASELINE(entry) PYSIM_FOR_AVX2(entry) PYSIM_FOR_AVX512(entry)
