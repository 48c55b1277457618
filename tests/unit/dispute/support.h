/* Disputes over tiny runs, one of whose players lies. */
#ifndef LS_TEST_DISPUTE_SUPPORT_H
#define LS_TEST_DISPUTE_SUPPORT_H

#include "audit/support.h"

#include <lockstep/dispute.h>

/* A lie: bit `bit` of word `element` of the first output of the op that makes `value`, in step `step`. */
typedef struct flip {
	const char *value;
	uint64_t step;
	int64_t element;
	uint32_t bit;
} flip;

static inline void tell(void *context, ls_exec *exec, uint64_t step, int op, ls_step_log *log)
{
	const flip *f = context;
	const ls_program *p = ls_exec_program(exec);
	int value = ls_program_find(p, f->value);
	if (step != f->step)
		return;
	assert_true(value >= 0);
	if (ls_program_value(p, value)->op == op)
		((uint32_t *)ls_exec_value(exec, value))[f->element] ^= UINT32_C(1) << f->bit;
}

typedef struct settled {
	bool found;
	ls_decision decision;
	ls_buf evidence;
} settled;

static inline ls_run *opened(const tiny *t, const char *name)
{
	ls_error err = LS_ERROR_INIT;
	char dir[TEST_PATH];
	ls_damage damage;
	ls_run *run;
	path_in(dir, t->dir, name);
	assert_ok(ls_run_open(&run, dir, &damage, &err));
	assert_false(damage.found);
	return run;
}

/* Whom the job names as referee, in tests that have one. */
static inline void name_referee(tiny *t, const ls_key *referee)
{
	ls_plan_options o = LS_PLAN_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	uint8_t key[LS_KEY_BYTES];
	ls_key_public(referee, key);
	o.data_dir = t->data;
	o.referee = key;
	ls_plan_free(t->plan);
	assert_ok(ls_plan_open(&t->plan, t->job, &o, &err));
}

/* One trains, the other replays; `lie` (may be NULL) is the trainer's or the auditor's. */
static inline settled refereed(tiny *t, flip *lie, bool by_trainer, const ls_key *trainer_key, const ls_key *auditor_key, const ls_key *referee)
{
	ls_watch watch = {lie, tell};
	ls_error err = LS_ERROR_INIT;
	char kept[TEST_PATH];
	settled s = {0};
	ls_dispute_options o = LS_DISPUTE_OPTIONS_INIT;
	ls_platform *platform = platform_named("native");
	ls_run *run, *replay;
	path_in(kept, t->dir, "kept");
	trained(t, "native", "run", (ls_train_options){.watch = lie && by_trainer ? &watch : NULL, .no_self_check = true, .key = trainer_key});
	audited(t, "naive", "run", (ls_audit_options){.keep = kept, .watch = lie && !by_trainer ? &watch : NULL, .key = auditor_key});
	run = opened(t, "run");
	replay = opened(t, "kept");
	o.run = run;
	o.replay = replay;
	o.plan = t->plan;
	o.platform = platform;
	o.trainer_key = trainer_key;
	o.auditor_key = auditor_key;
	o.referee_key = referee;
	o.trainer_lie = lie && by_trainer ? &watch : NULL;
	o.auditor_lie = lie && !by_trainer ? &watch : NULL;
	ls_buf_init(&s.evidence, LS_EVIDENCE_BYTES_MAX);
	assert_ok(ls_dispute(&o, &s.found, &s.evidence, &s.decision, &err));
	ls_run_free(run);
	ls_run_free(replay);
	ls_platform_free(platform);
	return s;
}

static inline settled dispute(tiny *t, flip *lie, bool by_trainer, const ls_key *trainer_key, const ls_key *auditor_key)
{
	return refereed(t, lie, by_trainer, trainer_key, auditor_key, NULL);
}

static inline ls_decision judged(const void *bytes, size_t len)
{
	ls_error err = LS_ERROR_INIT;
	ls_decision d;
	assert_ok(ls_judge(bytes, len, &d, &err));
	return d;
}

#endif
