/* Internal to src/dispute: a step executed again. */
#ifndef LS_DISPUTE_RERUN_H
#define LS_DISPUTE_RERUN_H

#include <lockstep/dispute.h>

typedef struct ls_dispute__record {
	ls_hash state;
	uint32_t loss;
	uint64_t rate;
} ls_dispute__record;

typedef struct ls_rerun {
	const ls_player_options *o;
	const ls_program *program[2]; /* init, step */
	ls_exec *exec[2];
	ls_hasher *hasher;
	ls_step_log log;
	ls_schedule schedule;
	ls_encoding encoding;
	ls_watch watch;
	int loss;
	/* the state that a step begins with */
	bool known;
	uint64_t at;    /* after this step */
	void **state;
	/* what the watcher gathers, in step `wanted_step` only */
	bool gathers;
	uint64_t wanted_step;
	int done;        /* ops of it that ran */
	ls_hash *root;   /* LS_OP_OUTPUTS per op; NULL: not asked for */
	void **value;    /* per value: a copy, where `wanted` says so */
	bool *wanted;
	ls_status status;
	ls_forgery forgery; /* of the last execution */
} ls_rerun;

ls_status ls_dispute__rerun_open(ls_rerun *r, const ls_player_options *o, ls_error *err);
void ls_dispute__rerun_close(ls_rerun *r);
/* Executes the steps of `leaf` ≥ 1, from first on, until `last` or a forged entry; fills a record for each that ended.
 * `leaf` is also the one that snapshots must lie before. */
ls_status ls_dispute__rerun_leaf(ls_rerun *r, uint64_t leaf, uint64_t last, ls_dispute__record *out, uint64_t *count, ls_error *err);
/* Executes `step` of `leaf` again and keeps, as asked, every root or the values of `op` and of its inputs. */
ls_status ls_dispute__rerun_roots(ls_rerun *r, uint64_t leaf, uint64_t step, ls_error *err);
ls_status ls_dispute__rerun_values(ls_rerun *r, uint64_t leaf, uint64_t step, int op, ls_error *err);
/* The words of a value after ls_dispute__rerun_values, or of the state before the step. NULL where it was not computed. */
const uint32_t *ls_dispute__rerun_words(const ls_rerun *r, uint64_t step, int value);
/* The block of the trainer's rounding log; freed by ls_free. */
ls_status ls_dispute__read_block(const ls_rerun *r, uint64_t leaf, uint8_t **block, size_t *len, ls_error *err);

#endif
