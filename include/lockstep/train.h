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
	const uint8_t *nonce; /* 32 bytes, or NULL */
	const ls_key *key;    /* signs heads and is part of the run id; NULL: an unsigned run */
	const ls_watch *watch; /* may be NULL */
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

/* Writes the weights (parameters and running statistics, not what the optimizer keeps) in the state of `from`, an executor of
 * the plan's step program, as a safetensors file (safetensors.h, whose errors these are). */
typedef struct ls_export_result {
	uint64_t tensors, elements;
} ls_export_result;
ls_status ls_export(const ls_job_plan *plan, ls_exec *from, const char *path, bool overwrite, ls_export_result *out,
                    ls_error *err);

#endif
