/* Lockstep: autodiff, memory plan and executor: what turns a program into computed steps. `train`, `audit` and `eval` run the
 * same executor; they differ in how it treats the rounding log (ls_rounding) and in who watches.
 */
#ifndef LOCKSTEP_GRAPH_H
#define LOCKSTEP_GRAPH_H

#include <lockstep/op.h>
#include <lockstep/platform.h>

/* Appends the backward ops of `loss` (one element, gradient 1). wanted[i] are values; grads[i] receives the value that is
 * the gradient of wanted[i]. A value with several uses gets their gradients added in reverse order of use. Failures,
 * among them a wanted value without a gradient, are sticky on the program. */
void ls_autodiff(ls_program *program, int loss, const int *wanted, int count, int *grads);

/* ---- rounding log of one step, in memory ---- */

typedef struct ls_op_log {
	ls_entry *entry; /* ascending by index within the op's output */
	size_t count, capacity;
} ls_op_log;

/* One ls_op_log per op of the program; those of ops without products stay empty. */
typedef struct ls_step_log {
	ls_op_log *op;
	int ops;
	ls_entry *frame; /* room for one frame of entries, for those who code and decode */
} ls_step_log;

ls_status ls_step_log_open(ls_step_log *log, int ops, ls_error *err);
void ls_step_log_free(ls_step_log *log);
void ls_step_log_clear(ls_step_log *log); /* keeps the memory */
/* Appends an entry; the caller keeps the order. */
ls_status ls_op_log_push(ls_op_log *log, ls_entry entry);

/* ---- executor ---- */

/* How the value of a product is settled (spec/arithmetic.md). */
typedef enum ls_rounding {
	LS_ROUNDING_PLAIN = 0,  /* R(C): mode plain */
	LS_ROUNDING_RECORD = 1, /* logged, trainer: writes entries */
	LS_ROUNDING_FOLLOW = 2, /* logged, auditor: reads entries, judges the doubtful */
	LS_ROUNDING_EXACT = 3,  /* R(E) always */
	LS_ROUNDING_PINNED = 4  /* the FP32 sum in the pinned order */
} ls_rounding;

/* Called after each op, with its outputs and its part of the rounding log in place (`log` is NULL where the step has
 * none). A watcher may read values, and, being a test's liar, change them and the log. */
typedef struct ls_exec ls_exec;
typedef struct ls_watch {
	void *context;
	void (*after_op)(void *context, ls_exec *exec, uint64_t step, int op, ls_step_log *log);
} ls_watch;

typedef struct ls_exec_options {
	int version;
	const ls_program *program; /* borrowed, as are all of these, for the executor's life */
	ls_platform *platform;
	ls_hasher *hasher; /* at least as many workers as the platform has threads */
	const ls_samples *samples; /* NULL where no op loads */
	const ls_imports *imports; /* NULL where no op imports; else LS_ERR_USAGE without */
	ls_rounding rounding;
	ls_arithmetic arithmetic; /* thresholds count under RECORD and FOLLOW only; PINNED reads none of it, EXACT needs FP64 */
	bool self_check; /* recompute a few random elements from the definition in every step, and stop where |C − E| > B, or,
	                  * under PINNED, where a bit differs */
	const int *keep; /* values that must still be readable after the step */
	int keep_count;
	const ls_watch *watch; /* may be NULL */
	bool state_only; /* no step will run: only the state's buffers are made, for reading snapshots */
} ls_exec_options;
#define LS_EXEC_OPTIONS_VERSION 1
#define LS_EXEC_OPTIONS_INIT {.version = LS_EXEC_OPTIONS_VERSION}

/* LS_ERR_INPUT where the platform's sums are deeper than arithmetic.depth allows (ls_platform_check_depth). */
ls_status ls_exec_open(ls_exec **out, const ls_exec_options *options, ls_error *err);
void ls_exec_free(ls_exec *exec);

/* Per op, summed over the steps since ls_exec_open. */
typedef struct ls_op_stats {
	uint64_t elements;    /* outputs of products */
	uint64_t ambiguous;   /* R(C−t) ≠ R(C+t) */
	uint64_t entries;     /* written or read */
	uint64_t corrections; /* entries that overrode this platform's own R(C) */
	uint64_t exact;       /* elements recomputed exactly */
	double seconds;
} ls_op_stats;

/* A forged entry. */
typedef struct ls_forgery {
	bool found;
	int op;
	int64_t element;
	int entry_bit;
	float admissible; /* R(E) */
} ls_forgery;

typedef struct ls_step_result {
	ls_forgery forgery; /* FOLLOW only; the step stopped there and changed no state */
	bool diverged;      /* the new state holds a non-finite value */
	bool committed;
	ls_hash state_root; /* where committed */
} ls_step_result;

/* Executes step `step` on the state in place. `log`, opened for as many ops as the program has, is written (RECORD: must be
 * given) or read (FOLLOW: NULL stands for no entries). `commit` false skips the state root. */
ls_status ls_exec_step(ls_exec *exec, uint64_t step, ls_step_log *log, bool commit, ls_step_result *result, ls_error *err);

/* The state root of the present state. */
ls_status ls_exec_state_root(ls_exec *exec, ls_hash *out, ls_error *err);
/* False where some number of the state is infinite or NaN. */
bool ls_exec_state_finite(const ls_exec *exec);
/* Words of state tensor i; may be written between steps. */
void *ls_exec_state(ls_exec *exec, int state);
/* Words of a value: of a kept one after the step, of any while a watcher runs after its op. */
void *ls_exec_value(ls_exec *exec, int value);
const ls_op_stats *ls_exec_stats(const ls_exec *exec, int op);
const ls_program *ls_exec_program(const ls_exec *exec);
/* Bytes of all values under the memory plan, and the bytes they would take without it. */
void ls_exec_memory(const ls_exec *exec, int64_t *planned, int64_t *unplanned);

/* ---- calibration of thresholds (the paper's Algorithm 3) ---- */

#define LS_CALIBRATIONS_MAX 16

/* What was found for one kind of product op. */
typedef struct ls_calibration {
	char kind[LS_THRESHOLD_KIND_MAX + 1];
	uint64_t elements;  /* computed by every platform */
	uint64_t differing; /* pairs of platforms and elements that rounded differently */
	double closest;     /* least |C − R(C)|/s of those; 0.5 where there were none */
	double tau;         /* the largest multiple of 2^-13 in (¼, ½ − 2^-10] under which none would be without an entry, or
	                     * the least of them */
	uint64_t escaped;   /* of the differing, counted once per platform: without an entry even so */
} ls_calibration;

typedef struct ls_calibrate_options {
	int version;
	const ls_program *program;     /* whose products' shapes are used */
	ls_platform *const *platforms; /* two or more */
	int platform_count;
	bool fp32;  /* as ls_arithmetic */
	int trials; /* standard normal inputs per op, 1…65536 */
} ls_calibrate_options;
#define LS_CALIBRATE_OPTIONS_VERSION 1
#define LS_CALIBRATE_BYTES_MAX (INT64_C(2) << 30) /* of the sums of one op's elements on all platforms, which are held at once */
#define LS_CALIBRATE_OPTIONS_INIT {.version = LS_CALIBRATE_OPTIONS_VERSION, .trials = 4}

/* Fills one row per kind, in the order of the program. LS_ERR_LIMIT where there are too many kinds, or an op is too large
 * for LS_CALIBRATE_BYTES_MAX: before anything is computed. */
ls_status ls_calibrate(ls_calibration rows[LS_CALIBRATIONS_MAX], int *count, const ls_calibrate_options *options, ls_error *err);

#endif
