/* Lockstep: the step loop. ls_replay executes steps and makes leaves; ls_train is a replay that writes a run; an audit is a
 * replay that compares (audit.h).
 */
#ifndef LOCKSTEP_TRAIN_H
#define LOCKSTEP_TRAIN_H

#include <lockstep/run.h>

typedef struct ls_replay ls_replay;

typedef struct ls_replay_options {
	int version;
	const ls_job_plan *plan; /* borrowed */
	ls_platform *platform;   /* borrowed */
	bool follow;             /* auditor: reads the rounding log; trainer: writes it */
	bool self_check;
	bool guard; /* as ls_exec_options */
	const ls_watch *watch; /* may be NULL */
} ls_replay_options;
#define LS_REPLAY_OPTIONS_VERSION 1
#define LS_REPLAY_OPTIONS_INIT {.version = LS_REPLAY_OPTIONS_VERSION}

/* How a job's mode settles products, for an auditor who follows or for a trainer. */
ls_rounding ls_replay_rounding(const ls_job_spec *spec, bool follow);

ls_status ls_replay_open(ls_replay **out, const ls_replay_options *options, ls_error *err);
void ls_replay_free(ls_replay *r);
ls_exec *ls_replay_exec(ls_replay *r);
/* Step 0: makes the initial state. */
ls_status ls_replay_init(ls_replay *r, ls_hash *state_root, ls_error *err);

typedef struct ls_leaf_result {
	ls_leaf leaf;
	uint64_t steps;      /* executed */
	ls_forgery forgery;  /* follow only */
	uint64_t forged_step;
	bool malformed_log;  /* follow only: the block does not decode */
	bool diverged;
} ls_leaf_result;

typedef void (*ls_step_fn)(void *context, const ls_metrics *metrics);

/* Executes steps first…last and fills the leaf after them. `block`: appended to (trainer) or read from (auditor). */
ls_status ls_replay_leaf(ls_replay *r, const ls_hash *run_id, uint64_t first, uint64_t last, ls_buf *block_out,
                         ls_cursor *block_in, ls_step_fn on_step, void *context, ls_leaf_result *out, ls_error *err);

/* Sums over ops. */
void ls_replay_totals(const ls_replay *r, ls_op_stats *out);

#define LS_NOTE_MAX 1024 /* bytes of a note, its NUL included */

typedef struct ls_train_options {
	int version;
	const char *dir;
	ls_snapshot_policy snapshots;
	bool resume;
	bool compress; /* snapshots' pieces with zstd */
	const uint8_t *nonce; /* 32 bytes, or NULL */
	const ls_key *key;    /* signs heads and is part of the run id; NULL: an unsigned run */
	const ls_watch *watch; /* may be NULL */
	bool guard;            /* as ls_exec_options: notices memory that changes by itself */
	bool no_self_check;    /* do not recompute random elements exactly */
	/* Polled after each step; true asks to stop after the present leaf. */
	bool (*stop)(void *context);
	ls_step_fn on_step;
	/* What was dropped or passed over on the way back into a run: one sentence, for people. */
	void (*on_note)(void *context, const char *text);
	void *context;
} ls_train_options;
#define LS_TRAIN_OPTIONS_VERSION 1
#define LS_TRAIN_OPTIONS_INIT {.version = LS_TRAIN_OPTIONS_VERSION, .snapshots = LS_SNAPSHOT_POLICY_DEFAULT}

typedef struct ls_train_result {
	ls_hash root, state_root, run_id;
	uint64_t steps; /* done, in all */
	uint64_t log_bytes, log_entries, elements;
	ls_stages stages; /* mode exact: over the whole run */
	bool complete, diverged, stopped;
	double seconds; /* of this call */
	float loss;     /* of the last step */
} ls_train_result;

ls_status ls_train(const ls_job_plan *plan, ls_platform *platform, const ls_train_options *options, ls_train_result *out,
                   ls_error *err);

/* Loss and accuracy of a state on the test split (plan opened with eval), products rounded exactly. `exec_state` words are
 * read from `from`, an executor of the plan's step program. */
typedef struct ls_eval_result {
	double loss, accuracy;
	int64_t samples;
} ls_eval_result;
ls_status ls_eval(const ls_job_plan *plan, ls_platform *platform, ls_exec *from, ls_eval_result *out, ls_error *err);

/* Text that a model writes, token after token. The numbers behind it are those of eval, the random ones those of the seed: the
 * same text everywhere. */
typedef struct ls_sample_options {
	int version;
	const uint16_t *prompt; /* tokens, count ≥ 1; of more than the model has positions for the last are read */
	size_t count;
	int64_t tokens;     /* to write at most, ≥ 1 */
	double temperature; /* logits are divided by it; 0 takes the likeliest token, the first of equals */
	int64_t top_k;      /* only so many of the likeliest tokens; 0: all */
	uint32_t seed;
	int32_t vocabulary; /* tokens from this number on are never written */
	int32_t end;        /* ends the text; −1: none */
	/* Called with each token; false ends the text. */
	bool (*on_token)(void *context, int32_t token);
	void *context;
} ls_sample_options;
#define LS_SAMPLE_OPTIONS_VERSION 1
#define LS_SAMPLE_OPTIONS_INIT {.version = LS_SAMPLE_OPTIONS_VERSION, .tokens = 200, .temperature = 1, .seed = 1, .end = -1}

/* `from` as in ls_eval; the plan may be an offline one. */
ls_status ls_sample(const ls_job_plan *plan, ls_platform *platform, ls_exec *from, const ls_sample_options *options, ls_error *err);

/* Writes the weights (parameters and running statistics, not what the optimizer keeps) in the state of `from`, an executor of
 * the plan's step program, as a safetensors file (safetensors.h, whose errors these are). */
typedef struct ls_export_result {
	uint64_t tensors, elements;
} ls_export_result;
ls_status ls_export(const ls_job_plan *plan, ls_exec *from, const char *path, bool overwrite, ls_export_result *out,
                    ls_error *err);

#endif
