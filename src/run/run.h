/* Internal to src/run. */
#ifndef LS_RUN_RUN_H
#define LS_RUN_RUN_H

#include "run/leaves.h"

#include <lockstep/run.h>

struct ls_run {
	char dir[LS_PATH_MAX];
	ls_hash job_id, id;
	uint8_t nonce[32];
	uint8_t trainer[32]; /* public key, or zero */
	uint8_t signer[32];  /* of heads */
	bool replay;         /* an auditor's */
	const ls_key *key;   /* that signs heads; NULL: none, or the run was opened for reading */
	ls_job *job; /* owned where the run was opened for reading */
	ls_job_binding binding;
	uint64_t commit_every;
	ls_leaves *leaf; /* as many as there are in `leaves` */
	uint64_t leaves;
	uint64_t leaf_end; /* where the record of the last of them ends; kept by reading only */
	bool live;         /* only what the newest head promises counts: a trainer is writing the rest */
	uint64_t promised; /* leaves under the largest head there is: all of them were synced before it was written */
	ls_file *leaf_file, *log_file, *metrics_file;
	ls_blocks *block; /* block i is that of leaf i + 1 */
	ls_hasher *hasher;
	struct ls_pieces *pieces; /* opened with the first piece that is written */
	bool compress;
	struct ls_places *places; /* that the source gave last */
	ls_run_source source;  /* of what does not lie in the folder; `file` is NULL where all does */
	bool written;          /* what the source said last: a trainer is at work, */
	uint64_t written_step; /* and has come so far */
	ls_tree tree; /* over all leaves */
};

/* Path of a file of the run, or LS_ERR_LIMIT. */
ls_status ls_run__path(const ls_run *run, const char *name, char out[LS_PATH_MAX], ls_error *err);
/* The run id, from job id, trainer's key and nonce. */
ls_status ls_run__identify(ls_run *run, ls_error *err);
/* Records damage of `file`. */
void ls_run__damage(ls_damage *damage, const char *file, uint64_t step, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
ls_status ls_run__push_leaf(ls_tree *tree, const ls_leaf *leaf, ls_error *err);
/* What a run needs before its first leaf. */
ls_status ls_run__open_leaves(ls_run *run, ls_error *err);
ls_status ls_run__remember_leaf(ls_run *run, const ls_leaf *leaf, ls_error *err);
/* Goes on reading leaves, up to `limit` of them in all; stops at the first that does not fit, which `damage` then names. */
ls_status ls_run__read_leaves(ls_run *run, uint64_t limit, ls_damage *damage, ls_error *err);
/* The same for the blocks of rounding-log/frames, of which there should be one for each leaf but the first. */
ls_status ls_run__scan_log(ls_run *run, uint64_t limit, ls_damage *damage, ls_error *err);
/* The newest head, read: its root. */
ls_status ls_run__read_head(const ls_run *run, uint64_t size, ls_hash *root, ls_damage *damage, ls_error *err);
/* Keeps the first `leaves` leaves and their blocks, in memory only. */
ls_status ls_run__forget_behind(ls_run *run, uint64_t leaves, ls_error *err);

/* Checks the lines of the first `leaves` leaves; `*end` is where they end. */
ls_status ls_run__check_metrics(const ls_run *run, uint64_t leaves, uint64_t *end, ls_damage *damage, ls_error *err);
typedef enum ls_run__use {
	LS_RUN__READ,
	LS_RUN__WRITE, /* locked against other writers */
	LS_RUN__LIVE   /* only what the newest head promises; without a head no run and no damage */
} ls_run__use;
/* Opens a run, with `source` (else NULL) for ls_run_open_from. */
ls_status ls_run__open(ls_run **out, const char *dir, ls_run__use use, const ls_run_source *source, ls_damage *damage, ls_error *err);
/* Reads a snapshot or a piece, from wherever it lies. */
ls_status ls_run__load(const ls_run *run, const char *name, uint64_t max, uint8_t **out, size_t *len, ls_error *err);
/* Writes a file of the run as a whole. */
ls_status ls_run__write_file(const ls_run *run, const char *name, const void *data, size_t len, ls_error *err);
/* Every head there is against the leaves; whether there is one over all of them is not asked. */
ls_status ls_run__check_promises(const ls_run *run, ls_damage *damage, ls_error *err);

#define LS_RUN__TRAINER "trainer.pem"
#define LS_RUN__AUDITOR "auditor"
#define LS_RUN__UNSIGNED "unsigned\n" /* what LS_RUN__AUDITOR holds where the auditor has no key */

#define LS_RUN__SNAPSHOT_NAME 64
#define LS_RUN__SNAPSHOT_MAX (UINT64_C(1) << 36) /* bytes */
/* Writes the state `words`, one pointer per tensor of the program's state, as the snapshot after `step`. */
ls_status ls_run__write_state(ls_run *run, uint64_t step, const ls_program *program, const void *const *words, ls_error *err);

/* A head over all leaves so far, and the file it goes into. */
typedef struct ls_run__head_file {
	char name[64], text[LS_SIGNED_HEAD_TEXT_SIZE];
} ls_run__head_file;
ls_status ls_run__encode_head(const ls_run *run, ls_run__head_file *out, ls_error *err);
void ls_run__snapshot_name(char out[LS_RUN__SNAPSHOT_NAME], uint64_t step);

#endif
