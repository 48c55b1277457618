/* Lockstep: the plan. A job together with what it resolves to: the data set, the programs, the number of steps, the bytes
 * that the client signs and their hash, the job id.
 */
#ifndef LOCKSTEP_PLAN_H
#define LOCKSTEP_PLAN_H

#include <lockstep/data.h>
#include <lockstep/job.h>
#include <lockstep/model.h>

typedef struct ls_plan_options {
	int version;
	/* Where the data lies; NULL: data.path, below environment LOCKSTEP_DATA where that is set, the path is relative and
	 * exists there. */
	const char *data_dir;
	bool eval; /* also open the test split and build the eval program */
	/* Where the weights lie that the run starts from; NULL: model.init_from, found as data.path is. */
	const char *init_from;
	/* Of a run that is there; NULL: none. With it, weights that are not at hand are no error as long as nothing has to
	 * execute step 0: their root is taken from here. So are the keys that the job names. */
	const ls_job_binding *run;
	/* Public keys that the job is to name, 32 bytes each; NULL: those of `run`, or none. */
	const uint8_t *trainer, *referee;
} ls_plan_options;
#define LS_PLAN_OPTIONS_VERSION 1
#define LS_PLAN_OPTIONS_INIT {.version = LS_PLAN_OPTIONS_VERSION}

typedef struct ls_job_plan ls_job_plan;

/* Opens data, builds programs, encodes. The job is borrowed and must outlive the plan. */
ls_status ls_plan_open(ls_job_plan **out, const ls_job *job, const ls_plan_options *options, ls_error *err);
/* The same from the binding alone: no data is read, so nothing can be executed, but programs are there to check a run's
 * bytes with. LS_ERR_INPUT where they do not have the binding's digests. */
ls_status ls_plan_open_offline(ls_job_plan **out, const ls_job *job, const ls_job_binding *binding, ls_error *err);
void ls_plan_free(ls_job_plan *plan);

const ls_job_spec *ls_plan_spec(const ls_job_plan *plan);
const ls_job *ls_plan_job(const ls_job_plan *plan);
const ls_job_binding *ls_plan_binding(const ls_job_plan *plan);
const ls_hash *ls_plan_job_id(const ls_job_plan *plan);
const uint8_t *ls_plan_bytes(const ls_job_plan *plan, size_t *len); /* what the client signs */
const ls_model *ls_plan_model(const ls_job_plan *plan);
const ls_dataset *ls_plan_data(const ls_job_plan *plan);      /* the training split; NULL offline */
const ls_dataset *ls_plan_eval_data(const ls_job_plan *plan); /* NULL unless asked for */
const ls_samples *ls_plan_samples(const ls_job_plan *plan);   /* of the training split, as `load` reads them */
const ls_samples *ls_plan_eval_samples(const ls_job_plan *plan);
/* What `import` reads; NULL where the job imports nothing, or nothing is at hand (offline, ls_plan_options.run). */
const ls_imports *ls_plan_imports(const ls_job_plan *plan);
int64_t ls_plan_eval_batch(const ls_job_plan *plan); /* divides the number of test samples */
const char *ls_plan_data_path(const ls_job_plan *plan);

/* The job's model with an eval program of one sequence of `length` tokens, whose state has the names of the step program's.
 * Free with ls_model_free. LS_ERR_INPUT where the model reads no text, or not so much of it. */
ls_status ls_plan_sampling_model(const ls_job_plan *plan, int64_t length, ls_model **out, ls_error *err);
/* Where data.vocab lies, found as data.path is. */
ls_status ls_plan_vocab_path(const ls_job_plan *plan, char out[LS_PATH_MAX], ls_error *err);

/* The run's learning-rate schedule. */
void ls_plan_schedule(const ls_job_plan *plan, ls_schedule *out);

/* What one step takes, from shapes alone. */
typedef struct ls_plan_cost {
	double product_terms;   /* multiply-adds of all products of a step */
	int64_t elements;       /* outputs of products: what the rounding log covers */
	int64_t parameters;     /* elements of parameters */
	int64_t state_bytes;    /* one snapshot */
	int64_t dense_log_bytes; /* per step, dense coding */
	int ops, products;
} ls_plan_cost;
void ls_plan_estimate(const ls_job_plan *plan, ls_plan_cost *out);

#endif
