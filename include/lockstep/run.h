/* Lockstep: the run directory.
 *
 *   job.yaml            the job as ordered, with overrides applied
 *   job.bin             the bytes the client signs; their hash is the job id
 *   thresholds.json     the threshold file, where arithmetic.threshold is adaptive; job.bin holds its digest
 *   nonce               64 hex digits; run id = H(job id, trainer key, nonce)
 *   leaves              the run tree's leaves: u32 length and bytes, leaf 0 first
 *   trainer.pem         the trainer's public key, where it has one
 *   auditor             in an auditor's replay: its public key, or "unsigned"
 *   heads/N             the head over the first N leaves: a C2SP signed note, or only its body where nobody signs
 *   rounding-log/frames per leaf ≥ 1 a block: u64 leaf, u64 length, then per step, product op and frame u32 length and bytes
 *   snapshots/STEP      the state after STEP (ten digits): see spec/run.md
 *   pieces/ROOT[.zst]   up to 4 MiB of a large tensor, under its root: what snapshots have in common is there once
 *   metrics.jsonl       one JSON object per step
 *
 * Reading trusts nothing: what does not verify is reported as damage (a finding, not an error).
 */
#ifndef LOCKSTEP_RUN_H
#define LOCKSTEP_RUN_H

#include <lockstep/commit.h>
#include <lockstep/graph.h>
#include <lockstep/plan.h>
#include <lockstep/signature.h>

typedef struct ls_run ls_run;

#define LS_DAMAGE_FILE_MAX 96 /* bytes of a file's name in a finding, its NUL included */

/* What was found not to verify. */
typedef struct ls_damage {
	bool found;
	char file[LS_DAMAGE_FILE_MAX]; /* relative to the run directory */
	bool has_step;  /* false: it concerns no step, and `step` is 0 */
	uint64_t step;  /* the first step concerned */
	bool tail;      /* behind the last head: bytes that a crash may leave, which `--resume` drops */
	bool withheld;  /* what a head promises is not there: leaves, blocks of the log, or files that whoever serves the run does not give */
	char text[512]; /* found and expected */
} ls_damage;

/* Snapshot policy; step 0 and the end are always kept. */
typedef enum ls_snapshot_kind { LS_SNAPSHOTS_LAST = 0, LS_SNAPSHOTS_EVERY = 1, LS_SNAPSHOTS_ALL = 2 } ls_snapshot_kind;
typedef struct ls_snapshot_policy {
	ls_snapshot_kind kind;
	uint64_t n; /* LAST: how many are kept (one is taken at most every 10 seconds); EVERY: at multiples of n steps */
} ls_snapshot_policy;
#define LS_SNAPSHOTS_LAST_MAX 64 /* most that LAST keeps */
#define LS_SNAPSHOT_POLICY_DEFAULT {LS_SNAPSHOTS_LAST, 2}
/* "all", "every:N", "last:N"; false where the text is anything else. */
bool ls_snapshot_policy_parse(ls_snapshot_policy *out, const char *text);

/* ---- writing ---- */

/* Makes the folder (its parent must exist) and leaf 0's surroundings, and locks it against other writers. LS_ERR_EXISTS where
 * `dir` is there and not empty; with `again`, where it is more than a start that was cut off. `nonce` and the key make the
 * run id; NULL draws 32 random bytes. `key`, borrowed for the run's life, is the trainer's and signs heads; NULL: nobody
 * signs. LS_ERR_INPUT where the job names a trainer and the key is not its. */
ls_status ls_run_create(ls_run **out, const char *dir, const ls_job_plan *plan, const uint8_t nonce[32], bool again,
                        const ls_key *key, ls_error *err);
/* The same for an auditor's replay of `source`, whose run id it keeps; `key` is the auditor's, or NULL. */
ls_status ls_run_create_copy(ls_run **out, const char *dir, const ls_job_plan *plan, const ls_run *source, const ls_key *key,
                             ls_error *err);
/* Whether the folder is missing, empty, or holds what a start leaves that was cut off before its end: there is nothing that
 * could be gone on with, and nothing that would be lost. */
ls_status ls_run_is_unstarted(bool *out, const char *dir, ls_error *err);
/* ls_run_open, and locked against other writers before anything is read. */
ls_status ls_run_open_to_write(ls_run **out, const char *dir, ls_damage *damage, ls_error *err);
/* The key that signs the heads to come; LS_ERR_INPUT where it is not the one that signed so far (NULL: none). */
ls_status ls_run_continue_with(ls_run *run, const ls_key *key, ls_error *err);
/* Leaves whose blocks of the rounding log are there, too: what a crash spared. */
uint64_t ls_run_usable(const ls_run *run);
/* Heads against leaves, and the first `leaves` leaves against their rounding log and metrics: what a run that is gone on with
 * is built upon. */
ls_status ls_run_check_kept(const ls_run *run, uint64_t leaves, const ls_program *program, ls_encoding encoding,
                            ls_damage *damage, ls_error *err);
/* Goes back to the first `leaves` leaves, 1 ≤ leaves ≤ ls_run_usable; what lies beyond is dropped, and so is what a crash left
 * without a name. */
ls_status ls_run_cut(ls_run *run, uint64_t leaves, ls_error *err);
ls_status ls_run_append_leaf(ls_run *run, const ls_leaf *leaf, ls_error *err);
ls_status ls_run_append_log(ls_run *run, uint64_t leaf, const void *block, size_t len, ls_error *err);
/* Lines as ls_metrics_line writes them. */
ls_status ls_run_append_metrics(ls_run *run, const void *lines, size_t len, ls_error *err);
/* Writes the state of `exec` as the snapshot after `step`. */
ls_status ls_run_write_snapshot(ls_run *run, uint64_t step, ls_exec *exec, ls_error *err);
/* Removes snapshots, and the pieces that none refers to any more. */
ls_status ls_run_drop_snapshots(ls_run *run, const uint64_t *steps, size_t count, ls_error *err);
/* Whether pieces are compressed with zstd. To be said before the first snapshot is written. */
void ls_run_set_compress(ls_run *run, bool compress);
/* Rounding log, metrics and leaves so far are on the disk when this returns. */
ls_status ls_run_sync(ls_run *run, ls_error *err);
/* Writes heads/N over the leaves so far, which must have been synced: what a head promises is on the disk. */
ls_status ls_run_write_head(ls_run *run, ls_error *err);
/* Sync, then the snapshot after `step` (none where exec is NULL), then the head: a snapshot never lies beyond what is on the
 * disk, and a head never promises a leaf that is not. */
ls_status ls_run_seal(ls_run *run, uint64_t step, ls_exec *exec, ls_error *err);
bool ls_run_has_head(const ls_run *run); /* over all its leaves */

/* Seals a run in the background. While it is at work the run may be appended to, and neither cut nor freed. */
typedef struct ls_keeper ls_keeper;
ls_status ls_keeper_open(ls_keeper **out, ls_run *run, ls_error *err);
/* ls_run_seal with the state of `exec` as it is now, which is copied: the steps may go on at once. Waits where the seal before is
 * still being written, whose failure is then reported here. */
ls_status ls_keeper_seal(ls_keeper *k, uint64_t step, ls_exec *exec, ls_error *err);
/* Until everything that was sealed is on the disk; LS_OK only if it is. */
ls_status ls_keeper_wait(ls_keeper *k, ls_error *err);
bool ls_keeper_busy(ls_keeper *k);
void ls_keeper_free(ls_keeper *k); /* waits, too; NULL is allowed */

/* Elements of products in mode exact, by what settled them. */
typedef struct ls_stages {
	uint64_t tested;    /* the rounding test */
	uint64_t certified; /* the exactness certificate */
	uint64_t bin, bins; /* one exact bin; two */
	uint64_t wide;      /* fixed point, or, beside factors that are not finite, the definition */
} ls_stages;

void ls_stages_add(ls_stages *to, const ls_stages *from);

/* One line of metrics.jsonl. */
typedef struct ls_metrics {
	uint64_t step;
	float loss;
	double lr;
	/* Notes of whoever computed the step; not part of the digest. */
	double seconds;
	const char *platform;
	bool counted; /* the stages are: so in mode exact */
	ls_stages stages;
} ls_metrics;

/* ---- reading ---- */

/* Opens and checks job and leaves. LS_OK with `damage->found` where they do not fit together; then `*out` is NULL, except
 * for a broken tail, before which the run is whole. LS_ERR_NOT_FOUND where `dir` is no run. */
ls_status ls_run_open(ls_run **out, const char *dir, ls_damage *damage, ls_error *err);
/* Where a run's large parts come from when they do not lie in its folder: fetched when they are asked for, never kept, and
 * verified by the reader like a file's. A name that is not there is LS_ERR_NOT_FOUND, a longer one than `max` LS_ERR_LIMIT. */
typedef struct ls_run_source {
	void *context;
	/* Where in rounding-log/frames the blocks of `count` leaves from `first` ≥ 1 lie: their bytes, without header. */
	ls_status (*blocks)(void *context, uint64_t first, uint64_t count, uint64_t *at, uint64_t *len, ls_error *err);
	ls_status (*read_log)(void *context, uint64_t at, void *data, size_t len, ls_error *err);
	/* A snapshot or a piece; `*out` is freed by ls_free. */
	ls_status (*file)(void *context, const char *name, uint64_t max, uint8_t **out, size_t *len, ls_error *err);
	ls_status (*snapshots)(void *context, uint64_t **steps, size_t *count, ls_error *err);
	/* Brings newer heads and leaves into the folder; says whether a trainer is at work, and how far it is. */
	ls_status (*look)(void *context, bool *being_written, uint64_t *written_step, ls_error *err);
} ls_run_source;
/* ls_run_open of a folder that holds all but rounding log, snapshots and pieces; with `live` as ls_run_open_live. */
ls_status ls_run_open_from(ls_run **out, const char *dir, const ls_run_source *source, bool live, ls_damage *damage, ls_error *err);
/* A run that a trainer may be writing: what its newest head promises, and nothing behind. `*out` is NULL without damage where
 * there is no head yet. */
ls_status ls_run_open_live(ls_run **out, const char *dir, ls_damage *damage, ls_error *err);
/* Takes over the leaves of a newer head, if there is one: they must continue those there were, and all of them hash to it. */
ls_status ls_run_refresh(ls_run *run, ls_damage *damage, ls_error *err);
bool ls_run_is_being_written(ls_run *run); /* a trainer has locked it */
/* The last step whose leaf is in the file, promised or not: how far the trainer is. */
ls_status ls_run_written_step(ls_run *run, uint64_t *step, ls_error *err);
void ls_run_free(ls_run *run);

const char *ls_run_dir(const ls_run *run);
const ls_hash *ls_run_job_id(const ls_run *run);
const ls_hash *ls_run_id_of(const ls_run *run);
const ls_job *ls_run_job(const ls_run *run); /* opened runs: from job.yaml */
const ls_job_binding *ls_run_binding(const ls_run *run);
const uint8_t *ls_run_nonce(const ls_run *run);       /* 32 bytes */
const uint8_t *ls_run_trainer_key(const ls_run *run); /* 32 bytes, zero where the trainer has none */
bool ls_run_is_replay(const ls_run *run);             /* made by an auditor */
const uint8_t *ls_run_signer(const ls_run *run);      /* whose signature heads bear: trainer or auditor; zero: nobody's */
/* heads/N for N = size; LS_ERR_NOT_FOUND where there is none. Its signature is not verified (ls_run_check_heads does). */
ls_status ls_run_read_head(const ls_run *run, uint64_t size, ls_signed_head *out, ls_error *err);
/* Sizes of the heads there are, ascending; freed by ls_free. */
ls_status ls_run_heads(const ls_run *run, uint64_t **sizes, size_t *count, ls_error *err);
uint64_t ls_run_leaves(const ls_run *run);
/* Leaf i < ls_run_leaves, from the file. What was there when the run was opened or written is what comes back: where the file holds
 * something else by now, LS_ERR_IO. One caller at a time. */
ls_status ls_run_read_leaf(const ls_run *run, uint64_t i, ls_leaf *out, ls_error *err);
/* The step of the last leaf. */
uint64_t ls_run_last_step(const ls_run *run);
/* Head over the first `size` leaves. */
ls_status ls_run_root(const ls_run *run, uint64_t size, ls_hash *out, ls_error *err);
bool ls_run_complete(const ls_run *run); /* has all ⌈N/k⌉ + 1 leaves */
uint64_t ls_run_log_bytes(const ls_run *run); /* of rounding-log/frames */
/* Where in rounding-log/frames the block of leaf ≥ 1 lies, without its header of LS_RUN_BLOCK_HEADER bytes. */
#define LS_RUN_BLOCK_HEADER 16 /* u64 leaf, u64 length */
ls_status ls_run_block_place(const ls_run *run, uint64_t leaf, uint64_t *at, uint64_t *len, ls_error *err);
/* Checks that the job of this run is the plan's. A difference is named as damage, of job.yaml with the first field that
 * differs, or of one of these that are no files: */
#define LS_RUN_FILE_DATA "data"       /* the plan's data set is another */
#define LS_RUN_FILE_WEIGHTS "weights" /* the weights that training starts from are others */
#define LS_RUN_FILE_PROGRAM "program" /* this build expands the same job to another program */
void ls_run_compare_plan(const ls_run *run, const ls_job_plan *plan, ls_damage *damage);
/* The leaf that covers `step` ≥ 1: ⌈step/k⌉. */
uint64_t ls_run_leaf_of_step(const ls_run *run, uint64_t step);
/* First and last step of leaf ≥ 1. */
void ls_run_leaf_steps(const ls_run *run, uint64_t leaf, uint64_t *first, uint64_t *last);

/* Steps of the snapshots there are, ascending; the caller frees `*steps` with ls_free. */
ls_status ls_run_snapshots(const ls_run *run, uint64_t **steps, size_t *count, ls_error *err);
/* Reads the snapshot after `step` into the executor's state and checks it against the leaf's state root. */
ls_status ls_run_read_snapshot(const ls_run *run, uint64_t step, ls_exec *exec, ls_damage *damage, ls_error *err);
/* Every file among the pieces belongs to a snapshot; that each holds what its name says, reading the snapshots checks. */
ls_status ls_run_check_pieces(const ls_run *run, ls_damage *damage, ls_error *err);
/* The block of leaf ≥ 1, checked against the leaf's log root for that program: `*block` is freed by ls_free. */
ls_status ls_run_read_log(const ls_run *run, uint64_t leaf, const ls_program *program, ls_encoding encoding, uint8_t **block,
                          size_t *len, ls_damage *damage, ls_error *err);
/* What the rounding log holds, counted from its bytes. */
typedef struct ls_log_statistics {
	uint64_t bytes;    /* with frames' lengths and block headers; 0 in modes without a log */
	uint64_t entries;
	uint64_t elements; /* covered: what a dense log would store */
} ls_log_statistics;
ls_status ls_run_log_statistics(const ls_run *run, const ls_program *program, ls_log_statistics *out, ls_error *err);

/* Calls fn for each line of metrics.jsonl that is one, in order; nothing is checked against the leaves. */
typedef void (*ls_metrics_fn)(void *context, const ls_metrics *metrics);
ls_status ls_run_read_metrics(const ls_run *run, ls_metrics_fn fn, void *context, ls_error *err);
/* Checks metrics.jsonl line by line against the metrics digests of the leaves. */
ls_status ls_run_check_metrics(const ls_run *run, ls_damage *damage, ls_error *err);
/* Checks heads/ and their signatures against the leaves. */
ls_status ls_run_check_heads(const ls_run *run, ls_damage *damage, ls_error *err);

/* ---- blocks of the rounding log ---- */

/* Appends one step's frames to `block` and their leaves to `tree`. */
ls_status ls_log_write_step(ls_buf *block, ls_tree *tree, const ls_program *program, uint64_t step, const ls_step_log *log,
                            ls_encoding encoding);
/* Decodes the next step's frames from `block` into `log` (cleared first) and pushes their leaves. LS_ERR_INPUT where the
 * bytes are not what ls_log_write_step writes, LS_ERR_NOMEM. */
ls_status ls_log_read_step(ls_cursor *block, ls_tree *tree, const ls_program *program, uint64_t step, ls_step_log *log,
                      ls_encoding encoding);

/* ---- metrics ---- */

/* What the metrics digest of a leaf hashes: per step u64 step, u32 loss bits, u64 lr bits. */
void ls_metrics_encode(ls_buf *out, const ls_metrics *m);
void ls_metrics_line(ls_buf *out, const ls_metrics *m); /* appends one line of JSON, with its newline */

#endif
