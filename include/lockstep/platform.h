/* Lockstep: platforms, the different ways to compute ops. Products may differ between platforms before rounding (that is
 * what rounding log and exact recomputation settle); everything else returns the bits of the op's definition.
 */
#ifndef LOCKSTEP_PLATFORM_H
#define LOCKSTEP_PLATFORM_H

#include <lockstep/kernel.h>

typedef struct ls_platform ls_platform;

typedef struct ls_platform_options {
	int version; /* LS_PLATFORM_OPTIONS_VERSION */
	int threads;
	const char *isa; /* NULL: environment LOCKSTEP_ISA, else the best found */
} ls_platform_options;
#define LS_PLATFORM_OPTIONS_VERSION 1
#define LS_PLATFORM_OPTIONS_INIT {LS_PLATFORM_OPTIONS_VERSION, 1, NULL}

/* Opens by name. LS_ERR_NOT_FOUND: no such platform; LS_ERR_UNSUPPORTED: its library or instructions are not here. */
ls_status ls_platform_open(ls_platform **out, const char *name, const ls_platform_options *options, ls_error *err);
void ls_platform_free(ls_platform *platform);
const char *ls_platform_name(const ls_platform *platform);
/* "native avx512", "openblas SkylakeX": what metrics and statements record. */
const char *ls_platform_describe(const ls_platform *platform);
ls_pool *ls_platform_pool(ls_platform *platform);
/* Names of all platforms this build knows; index ≥ count gives NULL. */
const char *ls_platform_at(int index);

/* Whether the platform's sums keep within the job's depth in every product that it bounds; LS_ERR_INPUT, with the depth that
 * would do, where they do not. */
ls_status ls_platform_check_depth(const char *name, const ls_program *program, const ls_arithmetic *arithmetic, ls_error *err);
/* Computes a product; flags are complete and sorted on return. No allocation once sizes have been seen. */
ls_status ls_platform_product(ls_platform *platform, const ls_product_call *call, ls_error *err);
/* Computes any other op (not commit): the table's kernel where there is one, else the reference. */
ls_status ls_platform_run(ls_platform *platform, const ls_op_call *call, ls_error *err);

/* Rounding mode, FTZ/DAZ, FMA, known answers, products within their bound. LS_OK with `*passed`, and one line per check
 * through `report` (may be NULL). */
typedef void (*ls_check_fn)(void *context, const char *check, bool passed, const char *detail);
ls_status ls_platform_selftest(ls_platform *platform, bool *passed, ls_check_fn report, void *context, ls_error *err);
/* The processor's control word: true iff round-to-nearest, no flush to zero, no denormals-are-zero in this thread. Cheap:
 * called every step. */
bool ls_platform_control_ok(void);

#endif
