/* Lockstep: the job. What is to be trained, as a person writes it (job.yaml) and as a client signs it (bytes).
 *
 * job.yaml is YAML without the parts that let one text mean two things: no anchors, aliases, tags, duplicate keys or
 * second document; at most 64 KiB of UTF-8, nested at most 8 deep. Every key is in one table (src/job/schema.c), from
 * which parsing, defaults, overrides, the canonical YAML, the signed bytes and the template all follow. Complaints read
 * "FILE:LINE:COLUMN: KEY: found X, expected Y" and have a hint.
 *
 * Names of models, data formats and optimizers are free words here: the modules that own those tables refuse what they
 * do not know. Options of one model (`hidden`, `pool`) are passed on and judged there too.
 */
#ifndef LOCKSTEP_JOB_H
#define LOCKSTEP_JOB_H

#include <lockstep/op.h>

#define LS_JOB_VERSION 1u            /* of the job format and of the specification a run follows */
#define LS_JOB_BYTES_MAX 65536u      /* of job.yaml, and of the signed bytes */
#define LS_JOB_DEPTH_MAX 8           /* nesting of job.yaml */
#define LS_JOB_NAME_MAX 64           /* bytes of the job's name: letters, digits, '.', '_', '-' */
#define LS_JOB_WORD_MAX 32           /* bytes of a model's, format's or optimizer's name */
#define LS_JOB_DATA_PATH_MAX 1023
#define LS_JOB_DIGEST_LEN 64         /* hex digits of a digest */
#define LS_JOB_LIST_MAX 16
#define LS_JOB_THRESHOLDS_MAX 16     /* kinds of op in a threshold file */
#define LS_JOB_THRESHOLDS_FILE "thresholds.json" /* what canonical YAML calls the threshold file */
#define LS_JOB_REALS_MAX 3
#define LS_JOB_STEPS_MAX (UINT64_C(1) << 40)
#define LS_JOB_SAMPLES_MAX (UINT64_C(1) << 40)

/* The order of each list below is that of the table's choices. */
typedef enum ls_job_mode {
	LS_JOB_LOGGED = 0,
	LS_JOB_PLAIN = 1,
	LS_JOB_EXACT = 2,
	LS_JOB_PINNED = 3
} ls_job_mode;

typedef enum ls_job_pool { LS_JOB_POOL_MAX = 0, LS_JOB_POOL_AVG = 1 } ls_job_pool;
typedef enum ls_job_activation {
	LS_JOB_RELU = 0,
	LS_JOB_TANH = 1,
	LS_JOB_SIGMOID = 2,
	LS_JOB_GELU = 3
} ls_job_activation;
typedef enum ls_job_head { LS_JOB_HEAD_CIFAR = 0, LS_JOB_HEAD_TORCHVISION = 1 } ls_job_head;
typedef enum ls_job_schedule { LS_JOB_CONSTANT = 0, LS_JOB_STEP = 1, LS_JOB_COSINE = 2 } ls_job_schedule;
typedef enum ls_job_compute { LS_JOB_FP64 = 0, LS_JOB_FP32 = 1 } ls_job_compute;
typedef enum ls_job_threshold { LS_JOB_CERTIFIED = 0, LS_JOB_FIXED = 1, LS_JOB_ADAPTIVE = 2 } ls_job_threshold;

typedef struct ls_job_list {
	uint64_t count; /* ≤ LS_JOB_LIST_MAX */
	uint64_t item[LS_JOB_LIST_MAX];
} ls_job_list;

/* One number for all channels, or one for each. */
typedef struct ls_job_reals {
	uint64_t count; /* 1 … LS_JOB_REALS_MAX */
	double item[LS_JOB_REALS_MAX];
} ls_job_reals;

/* Bits of data.augment. */
enum { LS_JOB_AUGMENT_CROP = 1, LS_JOB_AUGMENT_FLIP = 2 };

/* All fields, defaults filled in. A field that the chosen mode or schedule does not read holds its default. */
typedef struct ls_job_spec {
	uint64_t version;
	char name[LS_JOB_NAME_MAX + 1];
	struct {
		char arch[LS_JOB_WORD_MAX + 1];
		uint64_t classes;
		ls_job_list hidden; /* widths of hidden layers; empty where not given */
		uint32_t pool;      /* ls_job_pool */
		uint32_t activation; /* ls_job_activation */
		double width;       /* factor of channels */
		uint32_t head;      /* ls_job_head */
		/* safetensors file that the weights start from; empty where not given; never part of the signed bytes, which
		 * hold the root of what it says (ls_job_binding) */
		char init_from[LS_JOB_DATA_PATH_MAX + 1];
	} model;
	struct {
		char format[LS_JOB_WORD_MAX + 1];
		char path[LS_JOB_DATA_PATH_MAX + 1]; /* empty where not given; never part of the signed bytes */
		uint64_t limit;                      /* use the first so many samples; 0 all */
		ls_job_list shape;                   /* channels, height, width of a sample; empty where not given */
		ls_job_reals mean, std;              /* of bytes: a sample enters the program as (byte − mean)/std */
		uint32_t augment;                    /* LS_JOB_AUGMENT_CROP | LS_JOB_AUGMENT_FLIP */
	} data;
	struct {
		uint64_t steps, epochs; /* one of them is 0: not given */
		uint64_t batch;
		uint64_t seed; /* < 2^32 */
		uint64_t commit_every;
	} train;
	struct {
		char name[LS_JOB_WORD_MAX + 1];
		double lr, momentum, weight_decay;
		bool nesterov;
	} optimizer;
	struct {
		uint32_t name;   /* ls_job_schedule */
		uint64_t warmup; /* steps */
		double gamma;    /* schedule step only */
		uint64_t every;  /* steps; schedule step only, else 0 */
	} schedule;
	struct {
		uint32_t mode; /* ls_job_mode */
		uint64_t grid, state_grid;
		uint32_t compute;   /* ls_job_compute */
		uint32_t threshold; /* ls_job_threshold */
		double tau;         /* threshold fixed; else 0 */
		char threshold_file[LS_JOB_DATA_PATH_MAX + 1]; /* adaptive: as given; never part of the signed bytes */
		char threshold_digest[LS_JOB_DIGEST_LEN + 1];  /* adaptive: of the file's bytes, in hex; empty until it was read */
		uint32_t encoding;  /* ls_encoding of num.h */
		uint64_t depth;     /* 0: ls_depth_default */
	} arithmetic;
} ls_job_spec;

typedef struct ls_job ls_job;

/* True where the job's runs have a rounding log: elsewhere no value depends on anybody's choice. */
static inline bool ls_job_keeps_log(const ls_job_spec *spec)
{
	return spec->arithmetic.mode == LS_JOB_LOGGED;
}

/* True where the bounds of the rounding log are the paper's thresholds: a match proves nothing about platforms that were
 * not tried, and a mismatch may be no one's fault. */
static inline bool ls_job_uncertified(const ls_job_spec *spec)
{
	return spec->arithmetic.threshold != LS_JOB_CERTIFIED;
}

/* Reads job.yaml, then applies `sets` ("train.batch=64", the value in YAML) in order; the last one wins. Setting
 * train.steps removes train.epochs and the other way round. LS_ERR_INPUT, LS_ERR_LIMIT, LS_ERR_UNSUPPORTED (a choice
 * that is known but not in this version), or what reading a file gives. A threshold file is read, too; its path counts from
 * the folder of the job. */
ls_status ls_job_read(ls_job **out, const char *path, const char *const *sets, size_t set_count, ls_error *err);
/* The same from memory, without the threshold file; `label` stands for the file in complaints. `text` need not end with
 * NUL. */
ls_status ls_job_parse(ls_job **out, const char *label, const void *text, size_t len, const char *const *sets,
                       size_t set_count, ls_error *err);
void ls_job_free(ls_job *job);
/* Borrowed; lives as long as the job. */
const ls_job_spec *ls_job_spec_of(const ls_job *job);

/* Threshold files: JSON (or YAML) with the keys `lockstep_thresholds: 1`, `grid` and `compute` as the job has them, `tau`, a
 * mapping of op kinds to 0 < τ < 0.5, and, for people, `platforms` (a list) and `trials`. */

/* Reads the threshold file of a job that has one (else does nothing); a relative path counts from `folder`. */
ls_status ls_job_load_thresholds(ls_job *job, const char *folder, ls_error *err);
/* The same from memory; the bytes are copied. */
ls_status ls_job_set_thresholds(ls_job *job, const char *label, const void *text, size_t len, ls_error *err);
/* Bytes of the threshold file; NULL where there is none, or it was not read. Borrowed. */
const uint8_t *ls_job_thresholds_bytes(const ls_job *job, size_t *len);
/* What decides B (op.h). Borrows from the job. LS_ERR_INPUT where a threshold file is needed that was not read. */
ls_status ls_job_arithmetic(const ls_job *job, ls_arithmetic *out, ls_error *err);

/* Appends the canonical YAML: every field that is read, in table order, defaults written out, no comments. Parsing it
 * gives an equal job, but for the threshold file, which is called LS_JOB_THRESHOLDS_FILE. The buffer's sticky status is
 * returned. */
ls_status ls_job_emit_yaml(const ls_job *job, ls_buf *out);
/* Appends a commented job.yaml for `lockstep init` in which every field appears; it parses as it stands.
 * LS_ERR_INPUT where `name` or `arch` is not acceptable. */
ls_status ls_job_template(ls_buf *out, const char *name, const char *arch, ls_error *err);

/* Steps of the run for a data set of `samples` (after data.limit): train.steps, or epochs · ⌊samples/batch⌋.
 * LS_ERR_INPUT where there are fewer samples than one batch, more than the limit, or too many steps. */
ls_status ls_job_steps(const ls_job *job, uint64_t samples, uint64_t *steps, ls_error *err);

/* What ties the fields to one program, one data set and two parties. */
typedef struct ls_job_binding {
	uint8_t program[32]; /* digest of the training program */
	uint8_t init[32];    /* digest of the program that makes the initial state */
	uint8_t data[32];    /* data root */
	uint8_t import[32];  /* state root over the imported weights; zero where the init program makes them all */
	uint64_t shape[3];   /* channels, height, width of a sample: with the fields, enough to build the programs */
	uint64_t samples;
	uint64_t steps;       /* as ls_job_steps says */
	uint8_t trainer[32];  /* public keys; zero where none is named */
	uint8_t referee[32];
} ls_job_binding;

/* Appends the bytes that the client signs and whose hash is the job id: "ls1/job", u32 version, each field but
 * `lockstep`, `model.init_from` and `data.path` in table order as one type byte and its value, then the binding in the
 * order above.
 *   'u' u64   'r' FP64 bits as u64   'b' one byte 0 or 1   's' u32 length and bytes
 *   'l' u32 count and that many u64   'v' u32 count and that many FP64 bits   'w' u32 count and that many strings
 * Choices are written as their words; after `fixed` comes τ ('r'), after `adaptive` the digest of the threshold file
 * ('s'). LS_ERR_INPUT where binding.steps is not what ls_job_steps gives. */
ls_status ls_job_encode(const ls_job *job, const ls_job_binding *binding, ls_buf *out, ls_error *err);
/* The inverse. Accepts only bytes that ls_job_encode would write. `data.path` comes back empty. */
ls_status ls_job_decode(ls_job **out, ls_job_binding *binding, const void *data, size_t len, ls_error *err);

#endif
