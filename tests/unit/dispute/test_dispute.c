// ctest: timeout=300
/* Disputes over tiny runs: right step, op and element; every byte of the evidence counts; transcripts that stop blame nobody;
 * long sums; what a judge reads of a job. */
#include "dispute/support.h"

#include "dispute/player.h"
#include "judge/job.h"

static void check_lie_in(tiny *t, flip lie, bool by_trainer, const char *kind)
{
	settled s = dispute(t, &lie, by_trainer, NULL, NULL);
	ls_decision again;
	ls_ruling expected = by_trainer ? LS_RULING_TRAINER_WRONG : LS_RULING_AUDITOR_WRONG;
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
}

static void check_lie(const char *const *sets, flip lie, bool by_trainer, const char *kind)
{
	tiny t;
	tiny_open(&t, sets);
	check_lie_in(&t, lie, by_trainer, kind);
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
static void mend_as(uint8_t *bytes, size_t len, const char *tag)
{
	ls_hash digest;
	assert_int_equal(ls_hash_tagged(&digest, tag, bytes, len - 32), LS_OK);
	memcpy(bytes + len - 32, digest.byte, 32);
}

static void mend(uint8_t *bytes, size_t len)
{
	mend_as(bytes, len, "ls1/evidence");
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

/* ---- receipts and silence ---- */

/* The terms of a file, and its turns one by one. */
typedef struct file_reader {
	ls_cursor c;
	const uint8_t *terms;
	uint32_t terms_len, turns;
} file_reader;

static file_reader over(const ls_buf *evidence)
{
	file_reader f = {.c = ls_cursor_over(evidence->data, evidence->len - 32)};
	ls_cursor_take(&f.c, strlen("ls1/evidence"));
	f.terms_len = ls_cursor_u32(&f.c);
	f.terms = ls_cursor_take(&f.c, f.terms_len);
	f.turns = ls_cursor_u32(&f.c);
	return f;
}

static const uint8_t *next_turn(file_reader *f, uint32_t *len)
{
	*len = ls_cursor_u32(&f->c);
	return ls_cursor_take(&f->c, *len);
}

static void test_silence_loses_by_the_referees_receipts(void **state)
{
	tiny t;
	settled s;
	ls_error err = LS_ERROR_INIT;
	ls_key *trainer, *auditor, *referee;
	flip lie = {"fc1", 2, 7, 31};
	file_reader f;
	assert_ok(ls_key_generate(&trainer, &err));
	assert_ok(ls_key_generate(&auditor, &err));
	assert_ok(ls_key_generate(&referee, &err));
	tiny_open(&t, SETS("model.arch=mlp", "model.hidden=[2]", "arithmetic.depth=0"));
	name_referee(&t, referee);
	s = refereed(&t, &lie, true, trainer, auditor, referee);
	assert_int_equal(s.decision.ruling, LS_RULING_TRAINER_WRONG);
	assert_true(s.decision.refereed);
	f = over(&s.evidence);
	for (uint32_t n = 1; n < f.turns; n++) {
		file_reader r = over(&s.evidence);
		ls_game *game;
		ls_game_view v;
		ls_decision d;
		ls_buf silence;
		uint64_t due;
		ls_buf_init(&silence, 4096);
		assert_ok(ls_game_open(&game, r.terms, r.terms_len, &err));
		assert_int_not_equal(ls_silence_make(&silence, game, UINT64_MAX, referee, NULL), LS_OK); // nobody has begun
		for (uint32_t i = 0; i < n; i++) {
			uint32_t len;
			const uint8_t *turn = next_turn(&r, &len);
			assert_ok(ls_game_take(game, turn, len, &err));
		}
		ls_game_look(game, &v);
		due = ls_game_clock(game) + LS_DISPUTE_DEADLINE;
		assert_int_not_equal(ls_silence_make(&silence, game, due - 1, referee, NULL), LS_OK);
		assert_ok(ls_silence_make(&silence, game, due, auditor, &err)); // the accuser cannot say it
		assert_int_not_equal(ls_game_take(game, silence.data, silence.len, NULL), LS_OK);
		ls_buf_reset(&silence);
		assert_ok(ls_silence_make(&silence, game, due, referee, &err));
		assert_ok(ls_game_take(game, silence.data, silence.len, &err));
		ls_game_decision(game, &d);
		assert_int_equal(d.ruling, v.role == LS_ROLE_TRAINER ? LS_RULING_TRAINER_WRONG : LS_RULING_AUDITOR_WRONG);
		assert_non_null(strstr(d.reason, "silent"));
		ls_buf_free(&silence);
		ls_game_free(game);
	}
	ls_buf_free(&s.evidence);
	ls_key_free(trainer);
	ls_key_free(auditor);
	ls_key_free(referee);
	tiny_close(&t);
}

/* ---- equivocation ---- */

static void test_two_turns_for_one_place_are_equivocation(void **state)
{
	tiny t;
	settled s;
	ls_error err = LS_ERROR_INIT;
	ls_key *trainer, *auditor;
	flip lie = {"fc1", 2, 7, 31};
	file_reader f;
	ls_buf terms, turn[2], file;
	ls_game *game;
	bool due;
	uint32_t len;
	const uint8_t *first;
	assert_ok(ls_key_generate(&trainer, &err));
	assert_ok(ls_key_generate(&auditor, &err));
	tiny_open(&t, SETS("model.arch=mlp", "model.hidden=[2]", "arithmetic.depth=0"));
	s = dispute(&t, &lie, true, trainer, auditor);
	f = over(&s.evidence);
	ls_buf_init(&terms, 1 << 17);
	ls_buf_bytes(&terms, f.terms, f.terms_len);
	assert_ok(ls_game_open(&game, f.terms, f.terms_len, &err));
	first = next_turn(&f, &len);
	for (int i = 0; i < 2; i++)
		ls_buf_init(&turn[i], 1 << 20);
	ls_buf_init(&file, 1 << 20);
	ls_buf_bytes(&turn[0], first, len - LS_RECEIPT_BYTES);
	assert_ok(ls_turn_is_signed(&due, game, turn[0].data, turn[0].len, &err));
	assert_true(due);
	turn[0].data[turn[0].len - 1] ^= 1;
	assert_ok(ls_turn_is_signed(&due, game, turn[0].data, turn[0].len, &err));
	assert_false(due);
	turn[0].data[turn[0].len - 1] ^= 1;
	assert_ok(ls_turn_make(&turn[1], game, "another claim", 13, auditor, &err));
	assert_int_equal(ls_two_turns_encode(&file, &terms, turn), LS_OK);
	assert_int_equal(judged(file.data, file.len).ruling, LS_RULING_AUDITOR_WRONG);
	ls_buf_reset(&file); // the twins: one turn twice, and a turn that somebody else signed
	assert_int_equal(ls_two_turns_encode(&file, &terms, (ls_buf[2]){turn[0], turn[0]}), LS_OK);
	assert_int_equal(judged(file.data, file.len).ruling, LS_RULING_EVIDENCE_INVALID);
	ls_buf_reset(&turn[1]);
	ls_buf_reset(&file);
	assert_ok(ls_turn_make(&turn[1], game, "another claim", 13, trainer, &err));
	assert_int_equal(ls_two_turns_encode(&file, &terms, turn), LS_OK);
	assert_int_equal(judged(file.data, file.len).ruling, LS_RULING_EVIDENCE_INVALID);
	ls_game_free(game);
	ls_buf_free(&turn[0]);
	ls_buf_free(&turn[1]);
	ls_buf_free(&file);
	ls_buf_free(&terms);
	ls_buf_free(&s.evidence);
	ls_key_free(trainer);
	ls_key_free(auditor);
	tiny_close(&t);
}

/* Fills what is about one of the two heads. */
static void show_leaf(ls_two_heads *h, int i, const ls_run *run)
{
	ls_error err = LS_ERROR_INIT;
	ls_hash hash[16];
	ls_hasher *hasher;
	uint64_t leaves = ls_run_leaves(run);
	assert_ok(ls_hasher_open(&hasher, 1, &err));
	for (uint64_t n = 0; n < leaves; n++) {
		ls_leaf its;
		ls_buf leaf;
		ls_buf_init(&leaf, LS_LEAF_BYTES_MAX);
		assert_ok(ls_run_read_leaf(run, n, &its, &err));
		assert_int_equal(ls_leaf_encode(&leaf, &its), LS_OK);
		assert_int_equal(ls_hash_leaf(&hash[n], leaf.data, leaf.len, hasher), LS_OK);
		ls_buf_free(&leaf);
	}
	assert_ok(ls_run_read_head(run, leaves, &h->head[i], &err));
	h->hash[i] = hash[h->leaf];
	assert_int_equal(ls_inclusion_make(h->proof[i], &h->proof_count[i], hash, leaves, h->leaf, hasher), LS_OK);
	ls_hasher_free(hasher);
}

static void test_two_heads_that_disagree_are_equivocation(void **state)
{
	tiny t;
	ls_error err = LS_ERROR_INIT;
	ls_key *trainer;
	flip lie = {"logits", 3, 1, 22};
	ls_watch watch = {&lie, tell};
	ls_run *run[2];
	ls_two_heads h = {.leaf = 2};
	ls_buf file;
	assert_ok(ls_key_generate(&trainer, &err));
	tiny_open(&t, SETS("arithmetic.depth=0"));
	trained(&t, "native", "one", (ls_train_options){.key = trainer});
	trained(&t, "native", "two", (ls_train_options){.key = trainer, .watch = &watch, .no_self_check = true});
	run[0] = opened(&t, "one");
	run[1] = opened(&t, "two");
	h.job = ls_plan_bytes(t.plan, &h.job_len);
	memcpy(h.trainer, ls_run_trainer_key(run[0]), 32);
	memcpy(h.signer, ls_run_trainer_key(run[0]), 32);
	memcpy(h.nonce, ls_run_nonce(run[0]), 32);
	ls_buf_init(&file, 1 << 17);
	for (h.leaf = 2; h.leaf < 4; h.leaf++) { // the runs part with leaf 3; leaf 2 is the twin
		ls_buf_reset(&file);
		show_leaf(&h, 0, run[0]);
		show_leaf(&h, 1, run[1]);
		assert_int_equal(ls_two_heads_encode(&file, &h), LS_OK);
		assert_int_equal(judged(file.data, file.len).ruling, h.leaf == 2 ? LS_RULING_EVIDENCE_INVALID : LS_RULING_TRAINER_WRONG);
	}
	for (size_t i = 0; i + 32 < file.len; i++) {
		file.data[i] ^= 1;
		mend_as(file.data, file.len, "ls1/two-heads");
		assert_int_equal(judged(file.data, file.len).ruling, LS_RULING_EVIDENCE_INVALID);
		file.data[i] ^= 1;
	}
	ls_buf_free(&file);
	ls_run_free(run[0]);
	ls_run_free(run[1]);
	ls_key_free(trainer);
	tiny_close(&t);
}

/* ---- false accusations ---- */

/* Plays on with the trainer of `run`; ends where a player has nothing to say that the game would take. */
static ls_decision accuse(tiny *t, const ls_forgery *forgery, uint64_t leaf)
{
	ls_error err = LS_ERROR_INIT;
	ls_platform *platform = platform_named("native");
	ls_run *run = opened(t, "run"), *replay = opened(t, "kept");
	ls_player_options o = LS_PLAYER_OPTIONS_INIT;
	ls_player *player[2];
	ls_terms terms = {0};
	ls_game *game;
	ls_game_view v;
	ls_decision d;
	ls_buf bytes;
	o.plan = t->plan;
	o.platform = platform;
	o.trainer = run;
	for (int i = 0; i < 2; i++) {
		o.run = i ? replay : run;
		o.role = i ? LS_ROLE_AUDITOR : LS_ROLE_TRAINER;
		assert_ok(ls_player_open(&player[i], &o, &err));
		assert_ok(ls_run_read_head(o.run, ls_run_leaves(o.run), &terms.head[i], &err));
	}
	player[1]->entry_road = true;
	player[1]->leaf = leaf;
	player[1]->step = leaf;
	player[1]->forgery = *forgery;
	terms.job = ls_plan_bytes(t->plan, &terms.job_len);
	memcpy(terms.nonce, ls_run_nonce(run), 32);
	ls_buf_init(&bytes, 1 << 20);
	assert_ok(ls_terms_encode(&bytes, &terms, &err));
	assert_ok(ls_game_open(&game, bytes.data, bytes.len, &err));
	for (ls_game_look(game, &v); v.role != LS_ROLE_NONE; ls_game_look(game, &v)) {
		ls_buf_reset(&bytes);
		assert_ok(ls_player_turn(player[v.role == LS_ROLE_AUDITOR], game, &bytes, &err));
		assert_ok(ls_turn_countersign(&bytes, game, 0, NULL, &err));
		assert_ok(ls_game_take(game, bytes.data, bytes.len, &err));
	}
	ls_game_decision(game, &d);
	ls_buf_free(&bytes);
	ls_game_free(game);
	ls_player_free(player[0]);
	ls_player_free(player[1]);
	ls_run_free(run);
	ls_run_free(replay);
	ls_platform_free(platform);
	return d;
}

static void test_entries_that_are_not_forged_are_no_accusation(void **state)
{
	tiny t;
	char kept[TEST_PATH];
	int op = -1;
	tiny_open(&t, SETS("model.arch=mlp", "model.hidden=[3]")); // wide bounds: many entries
	path_in(kept, t.dir, "kept");
	trained(&t, "native", "run", (ls_train_options){.no_self_check = true});
	audited(&t, "naive", "run", (ls_audit_options){.keep = kept});
	for (int i = 0; i < ls_program_ops(ls_model_step(ls_plan_model(t.plan))); i++)
		if (op < 0 && !strcmp(ls_program_op(ls_model_step(ls_plan_model(t.plan)), i)->kind, "matmul"))
			op = i;
	for (int64_t element = 0; element < 24; element++) { // some with an entry, some without
		ls_decision d = accuse(&t, &(ls_forgery){.found = true, .op = op, .element = element}, 2);
		assert_int_equal(d.ruling, LS_RULING_AUDITOR_WRONG);
	}
	tiny_close(&t);
}

/* ---- long sums that are no sums of products ---- */

static void test_long_sums_are_opened_block_by_block(void **state)
{
	const char *const *sets = SETS("model.arch=resnet18", "model.width=0.05", "arithmetic.mode=pinned", "train.seed=3", "train.steps=2");
	check_lie(sets, (flip){"bn1.mean", 2, 1, 20}, true, "channel_stats");
	check_lie(sets, (flip){"bn1.var", 1, 0, 20}, false, "channel_stats");
}

/* A text model: 288 rows, so that the loss is a sum of two blocks and needs the number of rows that count; heads of 160 elements,
 * so that scores are sums of two parts; gradients whose squares are long sums. */
static const char text_yaml[] = "lockstep: 1\n"
                                "name: text\n"
                                "model: {arch: gpt2, layers: 1, heads: 1, embedding: 160, context: 48, vocab: 256}\n"
                                "data: {format: text, path: \"builtin:verses\", length: 48}\n"
                                "train: {steps: 2, batch: 6, seed: 3, commit_every: 1}\n"
                                "optimizer: {name: adamw, lr: 0.01, clip: 0.5}\n";

static void check_text_lie(const char *mode, flip lie, bool by_trainer, const char *kind)
{
	ls_error err = LS_ERROR_INIT;
	ls_plan_options o = LS_PLAN_OPTIONS_INIT;
	tiny t = {0};
	scratch_make(t.dir);
	assert_ok(ls_job_parse(&t.job, "text", text_yaml, strlen(text_yaml), SETS(mode), 1, &err));
	assert_ok(ls_plan_open(&t.plan, t.job, &o, &err));
	check_lie_in(&t, lie, by_trainer, kind);
	tiny_close(&t);
}

static void test_long_sums_of_text_models(void **state)
{
	for (int by_trainer = 0; by_trainer < 2; by_trainer++) {
		check_text_lie("arithmetic.mode=exact", (flip){"loss", 2, 0, 20}, by_trainer, "cross_entropy");
		check_text_lie("arithmetic.mode=pinned", (flip){"d.transformer.h.0.mlp.c_fc.weight.square", 1, 0, 20}, by_trainer, "square_sum");
		check_text_lie("arithmetic.mode=pinned", (flip){"transformer.h.0.attn.products", 1, 49, 20}, by_trainer, "attention_scores");
		check_text_lie("arithmetic.mode=logged", (flip){"transformer.h.0.attn.products", 1, 49, 20}, by_trainer, "attention_scores");
	}
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
		cmocka_unit_test(test_silence_loses_by_the_referees_receipts),
		cmocka_unit_test(test_two_turns_for_one_place_are_equivocation),
		cmocka_unit_test(test_two_heads_that_disagree_are_equivocation),
		cmocka_unit_test(test_entries_that_are_not_forged_are_no_accusation),
		cmocka_unit_test(test_long_sums_are_opened_block_by_block), cmocka_unit_test(test_long_sums_of_text_models),
		cmocka_unit_test(test_the_judge_reads_jobs_as_the_job_module_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
