/* Lockstep: audits. A run is replayed on the auditor's platform under the trainer's rounding log, leaf by leaf. */
#ifndef LOCKSTEP_AUDIT_H
#define LOCKSTEP_AUDIT_H

#include <lockstep/train.h>

typedef enum ls_verdict {
	LS_VERDICT_MATCH = 0,
	LS_VERDICT_MISMATCH = 1,
	LS_VERDICT_FORGED_LOG = 2,
	LS_VERDICT_DAMAGED = 3,
	LS_VERDICT_NOT_REPRODUCIBLE = 4, /* a plain run that ended differently: nobody can be blamed */
	LS_VERDICT_WITHHELD = 5          /* leaves that a head promises are not there */
} ls_verdict;

/* "match", "mismatch", "forged-rounding-log", "damaged", "not-reproducible", "withheld" */
const char *ls_verdict_text(ls_verdict verdict);

typedef struct ls_audit_options {
	int version;
	/* 0: the whole run; else steps first…last, widened to whole leaves. `last` 0: to the run's end, which then has to be the
	 * one that was ordered. */
	uint64_t first, last;
	/* Follows a run that grows (ls_run_open_live): called when everything there is has been compared and agrees. It waits for
	 * more and takes it over (ls_run_refresh); `*grown` false ends the audit. NULL: the run is what it is. */
	ls_status (*more)(void *context, bool *grown, ls_damage *damage, ls_error *err);
	bool guard;           /* as ls_exec_options */
	const char *keep;     /* where to write the auditor's own run; NULL: nowhere */
	const ls_key *key;    /* the auditor's: signs the heads of what is kept; NULL: unsigned */
	const ls_watch *watch; /* a test's lying auditor; NULL */
	bool (*stop)(void *context);
	ls_step_fn on_step;
	void *context;
} ls_audit_options;
#define LS_AUDIT_OPTIONS_VERSION 1
#define LS_AUDIT_OPTIONS_INIT {.version = LS_AUDIT_OPTIONS_VERSION}

typedef struct ls_audit_result {
	ls_verdict verdict;
	ls_hash root;          /* the trainer's */
	/* Over the same leaves with the replayed ones in place, so that it equals `root` iff those agree. With a forged or damaged
	 * rounding log there is no leaf to put in place: then over the leaves before. */
	ls_hash replayed_root;
	bool has_bad_step;       /* a match has none, nor has damage that concerns no step */
	uint64_t first_bad_step; /* 0 without; step 0 itself where the initial state differs */
	uint64_t first, last;  /* steps replayed */
	uint64_t corrections, entries, elements, exact;
	char file[LS_DAMAGE_FILE_MAX]; /* DAMAGED, WITHHELD */
	char text[512];        /* what was found and expected, in words; empty with a match */
	bool stopped;          /* by `stop`: the verdict covers the steps replayed so far */
	double seconds;
} ls_audit_result;

/* `plan` is made by the caller from the run's job and its own data; a difference between the plan's binding and the run's
 * is a verdict, too. Per-op statistics through `on_op` may be NULL. */
typedef void (*ls_op_stats_fn)(void *context, const char *op, const char *kind, const ls_op_stats *stats);
ls_status ls_audit(const ls_run *run, const ls_job_plan *plan, ls_platform *platform, const ls_audit_options *options,
                   ls_audit_result *out, ls_op_stats_fn on_op, ls_error *err);

/* Every byte of a run against its root: leaves, heads, rounding log, snapshots, metrics. Nothing is recomputed. */
ls_status ls_verify_run(const char *dir, ls_damage *damage, ls_hash *root, ls_error *err);

#endif
