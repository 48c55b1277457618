// ctest: timeout=300
/* Disputes over tiny runs: right step, op and element; every byte of the evidence counts; transcripts that stop blame nobody;
 * long sums; what a judge reads of a job. */
#include "audit/support.h"

#include "judge/job.h"

#include <lockstep/dispute.h>

/* A lie: bit `bit` of word `element` of the first output of the op that makes `value`, in step `step`. */
typedef struct flip {
	const char *value;
	uint64_t step;
	int64_t element;
	uint32_t bit;
} flip;

static void tell(void *context, ls_exec *exec, uint64_t step, int op, ls_step_log *log)
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

static ls_run *opened(const tiny *t, const char *name)
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

/* One trains, the other replays; `lie` (may be NULL) is the trainer's or the auditor's. */
static settled dispute(tiny *t, flip *lie, bool by_trainer, const ls_key *trainer_key, const ls_key *auditor_key)
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
	o.trainer_lie = lie && by_trainer ? &watch : NULL;
	o.auditor_lie = lie && !by_trainer ? &watch : NULL;
	ls_buf_init(&s.evidence, LS_EVIDENCE_BYTES_MAX);
	assert_ok(ls_dispute(&o, &s.found, &s.evidence, &s.decision, &err));
	ls_run_free(run);
	ls_run_free(replay);
	ls_platform_free(platform);
	return s;
}

static ls_decision judged(const void *bytes, size_t len)
{
	ls_error err = LS_ERROR_INIT;
	ls_decision d;
	assert_ok(ls_judge(bytes, len, &d, &err));
	return d;
}

static void check_lie(const char *const *sets, flip lie, bool by_trainer, const char *kind)
{
	tiny t;
	settled s;
	ls_decision again;
	ls_ruling expected = by_trainer ? LS_RULING_TRAINER_WRONG : LS_RULING_AUDITOR_WRONG;
	tiny_open(&t, sets);
	s = dispute(&t, &lie, by_trainer, NULL, NULL);
	if (!s.found)
		print_message("%s: nothing differs\n", lie.value);
	assert_true(s.found);
	again = judged(s.evidence.data, s.evidence.len);
	if (again.ruling != expected || strcmp(again.kind, kind))
		print_message("%s: %s, %s: %s\n", lie.value, ls_ruling_text(again.ruling), again.kind, again.reason);
	assert_int_equal(again.ruling, expected);
	assert_int_equal(again.ruling, s.decision.ruling);
	assert_string_equal(again.kind, kind);
	assert_string_equal(again.name, lie.value);
	assert_int_equal(again.step, lie.step);
	assert_int_equal(again.element, lie.element);
	assert_true(again.has_words && again.trainer_word != again.auditor_word);
	assert_false(again.trainer_signed || again.auditor_signed);
	ls_buf_free(&s.evidence);
	tiny_close(&t);
}

/* Each class of op, in each mode; the trainer lies, and the auditor lies in just the same way. */
static void test_every_lie_is_pinned_to_its_element(void **state)
{
	static const char *const modes[] = {"arithmetic.mode=logged", "arithmetic.mode=exact", "arithmetic.mode=pinned"};
	for (int m = 0; m < 3; m++)
		for (int by_trainer = 0; by_trainer < 2; by_trainer++) {
			const char *const *sets = SETS(modes[m], m ? "train.seed=3" : "arithmetic.depth=0", "model.arch=mlp", "model.hidden=[9]");
			check_lie(sets, (flip){"x", 3, 700, 29}, by_trainer, "load");
			check_lie(sets, (flip){"x.labels", 2, 3, 0}, by_trainer, "load");
			check_lie(sets, (flip){"fc1", 3, 17, 24}, by_trainer, "matmul"); // 145 terms: a tree of partial sums
			check_lie(sets, (flip){"fc2", 1, 5, 21}, by_trainer, "matmul"); // 10 terms: none
			check_lie(sets, (flip){"softmax", 3, 5, 22}, by_trainer, "softmax");
			check_lie(sets, (flip){"loss", 4, 0, 0}, by_trainer, "cross_entropy");
			check_lie(sets, (flip){"d.fc1.bias", 4, 2, 22}, by_trainer, "channel_sum");
			check_lie(sets, (flip){"fc1.weight.next", 7, 1200, 0}, by_trainer, "sgd");
		}
}

static void test_honest_runs_leave_nothing_to_dispute(void **state)
{
	for (int i = 0; i < 2; i++) {
		tiny t;
		settled s;
		tiny_open(&t, SETS(i ? "train.commit_every=3" : "train.commit_every=1"));
		s = dispute(&t, NULL, true, NULL, NULL);
		assert_false(s.found);
		assert_int_equal(s.evidence.len, 0);
		tiny_close(&t);
	}
}

/* The digest at the end, made to fit. */
static void mend(uint8_t *bytes, size_t len)
{
	ls_hash digest;
	assert_int_equal(ls_hash_tagged(&digest, "ls1/evidence", bytes, len - 32), LS_OK);
	memcpy(bytes + len - 32, digest.byte, 32);
}

static void test_every_byte_of_signed_evidence_counts(void **state)
{
	tiny t;
	settled s;
	ls_error err = LS_ERROR_INIT;
	ls_key *trainer, *auditor;
	flip lie = {"fc1", 2, 7, 31}; // the sign: whichever it was, one of the two is cut off by relu
	uint8_t *copy;
	assert_ok(ls_key_generate(&trainer, &err));
	assert_ok(ls_key_generate(&auditor, &err));
	tiny_open(&t, SETS("model.arch=mlp", "model.hidden=[2]", "arithmetic.depth=0"));
	s = dispute(&t, &lie, true, trainer, auditor);
	print_message("%s %s\n", ls_ruling_text(s.decision.ruling), s.decision.reason);
	assert_int_equal(s.decision.ruling, LS_RULING_TRAINER_WRONG);
	assert_true(s.decision.trainer_signed && s.decision.auditor_signed);
	copy = malloc(s.evidence.len + 1);
	for (size_t i = 0; i < s.evidence.len; i++) {
		memcpy(copy, s.evidence.data, s.evidence.len);
		copy[i] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(judged(copy, s.evidence.len).ruling, LS_RULING_EVIDENCE_INVALID);
		if (i >= s.evidence.len - 32 || (i > 500 && i % 13))
			continue; // signatures take their time, so of the many bytes behind the terms only some
		mend(copy, s.evidence.len); // somebody who knows how the file is made
		if (judged(copy, s.evidence.len).ruling != LS_RULING_EVIDENCE_INVALID)
			print_message("byte %zu of %zu\n", i, s.evidence.len);
		assert_int_equal(judged(copy, s.evidence.len).ruling, LS_RULING_EVIDENCE_INVALID);
	}
	for (size_t len = 0; len < s.evidence.len; len++)
		assert_int_equal(judged(s.evidence.data, len).ruling, LS_RULING_EVIDENCE_INVALID);
	memcpy(copy, s.evidence.data, s.evidence.len);
	copy[s.evidence.len] = 0;
	mend(copy, s.evidence.len + 1);
	assert_int_equal(judged(copy, s.evidence.len + 1).ruling, LS_RULING_EVIDENCE_INVALID);
	assert_int_equal(judged(s.evidence.data, s.evidence.len).ruling, LS_RULING_TRAINER_WRONG); // the twin: nothing changed
	free(copy);
	ls_buf_free(&s.evidence);
	ls_key_free(trainer);
	ls_key_free(auditor);
	tiny_close(&t);
}

/* The same file with fewer of its turns. */
static void cut_turns(ls_buf *out, const ls_buf *evidence, uint32_t turns)
{
	ls_cursor c = ls_cursor_over(evidence->data, evidence->len - 32);
	ls_buf terms, *turn = calloc(turns + 1, sizeof *turn);
	uint32_t len;
	ls_cursor_take(&c, strlen("ls1/evidence"));
	len = ls_cursor_u32(&c);
	ls_buf_init(&terms, 1 << 20);
	ls_buf_bytes(&terms, ls_cursor_take(&c, len), len);
	ls_cursor_u32(&c);
	for (uint32_t i = 0; i < turns; i++) {
		len = ls_cursor_u32(&c);
		ls_buf_init(&turn[i], 1 << 20);
		ls_buf_bytes(&turn[i], ls_cursor_take(&c, len), len);
	}
	assert_int_equal(ls_evidence_encode(out, &terms, turn, turns), LS_OK);
	for (uint32_t i = 0; i < turns; i++)
		ls_buf_free(&turn[i]);
	free(turn);
	ls_buf_free(&terms);
}

static void test_a_game_that_is_not_over_blames_nobody(void **state)
{
	tiny t;
	settled s;
	flip lie = {"fc1", 2, 7, 31}; // the sign: whichever it was, one of the two is cut off by relu
	uint32_t turns;
	tiny_open(&t, SETS("model.arch=mlp", "model.hidden=[2]", "arithmetic.depth=0"));
	s = dispute(&t, &lie, true, NULL, NULL);
	turns = ls_get_le32(s.evidence.data + 12 + 4 + ls_get_le32(s.evidence.data + 12));
	assert_true(turns > 8);
	for (uint32_t n = 0; n < turns; n++) {
		ls_buf cut;
		ls_decision d;
		ls_buf_init(&cut, LS_EVIDENCE_BYTES_MAX);
		cut_turns(&cut, &s.evidence, n);
		d = judged(cut.data, cut.len);
		assert_int_equal(d.ruling, LS_RULING_UNDECIDED);
		assert_non_null(strstr(d.reason, "is missing"));
		ls_buf_free(&cut);
	}
	ls_buf_free(&s.evidence);
	tiny_close(&t);
}

/* The judge steps over fields that it does not know; what it takes must be what the job says. */
static void test_the_judge_reads_jobs_as_the_job_module_does(void **state)
{
	const char *const *const jobs[] = {
		SETS("arithmetic.mode=logged", "arithmetic.depth=0"),
		SETS("arithmetic.mode=exact"),
		SETS("arithmetic.mode=pinned", "model.arch=mlp", "model.hidden=[3, 4, 5]"),
		SETS("arithmetic.grid=19", "arithmetic.depth=0", "arithmetic.compute=fp32", "arithmetic.encoding=dense"),
		SETS("arithmetic.threshold={fixed: 0.4}", "arithmetic.depth=0", "arithmetic.state_grid=26"),
	};
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		tiny t;
		ls_judge__job job;
		size_t len;
		const uint8_t *bytes;
		const ls_job_spec *spec;
		const ls_job_binding *b;
		tiny_open(&t, jobs[i]);
		bytes = ls_plan_bytes(t.plan, &len);
		spec = ls_plan_spec(t.plan);
		b = ls_plan_binding(t.plan);
		assert_true(ls_judge__job_read(&job, bytes, len));
		assert_int_equal(job.mode, spec->arithmetic.mode == LS_JOB_LOGGED ? LS_JUDGE__LOGGED : spec->arithmetic.mode == LS_JOB_EXACT ? LS_JUDGE__EXACT : LS_JUDGE__PINNED);
		assert_int_equal(job.bits, spec->arithmetic.grid);
		assert_int_equal(job.state_bits, spec->arithmetic.state_grid);
		assert_int_equal(job.fp32, spec->arithmetic.compute == LS_JOB_FP32);
		assert_int_equal(job.empirical, spec->arithmetic.threshold != LS_JOB_CERTIFIED);
		assert_int_equal(job.encoding, spec->arithmetic.encoding);
		assert_int_equal(job.depth, spec->arithmetic.depth);
		assert_memory_equal(job.program.byte, b->program, 32);
		assert_memory_equal(job.init.byte, b->init, 32);
		assert_memory_equal(job.data.byte, b->data, 32);
		assert_memory_equal(job.import.byte, b->import, 32);
		assert_memory_equal(job.trainer, b->trainer, 32);
		assert_false(ls_judge__job_read(&job, bytes, len - 1));
		tiny_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_lie_is_pinned_to_its_element),
		cmocka_unit_test(test_honest_runs_leave_nothing_to_dispute),
		cmocka_unit_test(test_every_byte_of_signed_evidence_counts),
		cmocka_unit_test(test_a_game_that_is_not_over_blames_nobody),
		cmocka_unit_test(test_the_judge_reads_jobs_as_the_job_module_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
