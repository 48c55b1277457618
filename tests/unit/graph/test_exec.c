// The executor: the bits of the definitions on every platform, under every way to settle products, and what it stops at.
#include "graph/support.h"

#include "platform/platform.h"

#define WIDE_DEPTH (INT64_C(1) << 24) // a bound so wide that a few elements in a hundred are ambiguous

static const char *const platform_names[] = {"native", "naive", "openblas"};
enum { PLATFORMS = 3, STEPS = 4 };

typedef struct fixture {
	ls_program *program;
	uint8_t bytes[NET_SAMPLES * NET_SIDE * NET_SIDE];
	ls_samples samples;
} fixture;

static void fixture_open(fixture *f, int bits)
{
	f->program = net_program(bits);
	f->samples = net_samples(f->bytes);
}

static ls_exec_options options_of(const fixture *f, ls_rounding rounding)
{
	return (ls_exec_options){.program = f->program, .samples = &f->samples, .rounding = rounding, .self_check = true};
}

static bool same_root(const ls_step_result *a, const ls_step_result *b)
{
	assert_true(a->committed && b->committed);
	return ls_hash_equal(&a->state_root, &b->state_root);
}

static ls_op_log *log_of_op(ls_step_log *log, const ls_program *p, const char *output)
{
	return &log->op[ls_program_value(p, ls_program_find(p, output))->op];
}

// ---- the same bits as the definitions ----

/* One step by the interpreter of op/support.h, from the executor's present state; fills the state's next words. */
static void interpret(const fixture *f, ls_exec *e, uint64_t step, bool pinned, scene *s)
{
	*s = (scene){.program = f->program, .samples = &f->samples, .step = step, .pinned = pinned};
	for (int i = 0; i < ls_program_states(f->program); i++)
		memcpy(scene_room(s, i), ls_exec_state(e, i), (size_t)scene_count(s, i) * 4);
	scene_run(s);
}

static void check_against_definitions(const char *name, int bits, ls_rounding rounding)
{
	fixture f;
	ls_platform *platform = platform_named(name);
	bench b;
	int loss;
	ls_exec_options o;
	if (!platform)
		return;
	fixture_open(&f, bits);
	loss = ls_program_find(f.program, "loss");
	o = options_of(&f, rounding);
	o.keep = &loss;
	o.keep_count = 1;
	bench_open(&b, platform, o);
	net_start(b.exec, 1);
	for (uint64_t step = 1; step <= STEPS; step++) {
		const ls_op *commit = ls_program_op(f.program, ls_program_ops(f.program) - 1);
		scene s;
		interpret(&f, b.exec, step, rounding == LS_ROUNDING_PINNED, &s);
		assert_false(bench_step(&b, step).diverged);
		for (int i = 0; i < ls_program_states(f.program); i++)
			assert_true(same_words(ls_exec_state(b.exec, i), s.words[commit->inputs[i]], scene_count(&s, i)));
		assert_true(same_words(ls_exec_value(b.exec, loss), s.words[loss], 1));
		for (int v = 0; v < SCENE_VALUES; v++)
			free(s.words[v]);
	}
	bench_close(&b);
	ls_program_free(f.program);
	ls_platform_free(platform);
}

static void test_every_platform_computes_the_definitions(void **state)
{
	static const int bits[] = {32, 19, 16};
	for (int i = 0; i < PLATFORMS * 3; i++) {
		check_against_definitions(platform_names[i / 3], bits[i % 3], LS_ROUNDING_EXACT);
		check_against_definitions(platform_names[i / 3], bits[i % 3], LS_ROUNDING_PINNED);
	}
}

// ---- recording and following ----

typedef struct pair {
	fixture f;
	ls_platform *platform[2];
	bench trainer, auditor;
} pair;

static bool pair_open(pair *p, const char *trainer, const char *auditor, int bits, int64_t depth)
{
	ls_exec_options o;
	p->platform[0] = platform_named(trainer);
	p->platform[1] = platform_named(auditor);
	if (!p->platform[0] || !p->platform[1]) {
		ls_platform_free(p->platform[0]);
		ls_platform_free(p->platform[1]);
		return false;
	}
	fixture_open(&p->f, bits);
	o = options_of(&p->f, LS_ROUNDING_RECORD);
	o.arithmetic.depth = depth;
	bench_open(&p->trainer, p->platform[0], o);
	o.rounding = LS_ROUNDING_FOLLOW;
	bench_open(&p->auditor, p->platform[1], o);
	net_start(p->trainer.exec, 1);
	net_start(p->auditor.exec, 1);
	return true;
}

static void pair_close(pair *p)
{
	bench_close(&p->trainer);
	bench_close(&p->auditor);
	ls_program_free(p->f.program);
	ls_platform_free(p->platform[0]);
	ls_platform_free(p->platform[1]);
}

/* The auditor's step under the trainer's log. */
static ls_step_result follow(pair *p, uint64_t step, ls_step_log *log)
{
	ls_error err = LS_ERROR_INIT;
	ls_step_result r;
	assert_ok(ls_exec_step(p->auditor.exec, step, log, true, &r, &err));
	return r;
}

static void check_pair(const char *trainer, const char *auditor, int bits, int64_t depth)
{
	pair p;
	ls_op_stats t, a;
	if (!pair_open(&p, trainer, auditor, bits, depth))
		return;
	for (uint64_t step = 1; step <= STEPS; step++) {
		ls_step_result ours = bench_step(&p.trainer, step), theirs = follow(&p, step, &p.trainer.log);
		assert_false(theirs.forgery.found);
		assert_true(same_root(&ours, &theirs));
	}
	t = bench_totals(&p.trainer);
	a = bench_totals(&p.auditor);
	assert_true(t.entries > 50);
	assert_int_equal(t.entries, a.entries);
	assert_int_equal(t.elements, a.elements);
	assert_true(t.ambiguous >= t.entries && t.elements > 5 * t.entries);
	*(float *)ls_exec_state(p.auditor.exec, 1) += 0x1p-10f; // the roots are able to differ
	ls_step_result ours = bench_step(&p.trainer, STEPS + 1);
	ls_step_result theirs = follow(&p, STEPS + 1, NULL);
	assert_false(same_root(&ours, &theirs));
	pair_close(&p);
}

static void test_one_platform_follows_another(void **state)
{
	for (int i = 0; i < PLATFORMS; i++)
		for (int j = 0; j < PLATFORMS; j++) {
			check_pair(platform_names[i], platform_names[j], 32, WIDE_DEPTH);
			check_pair(platform_names[i], platform_names[j], 24, WIDE_DEPTH << 8);
		}
}

static void test_exact_is_following_an_empty_log(void **state)
{
	for (int i = 0; i < PLATFORMS; i++) {
		pair p;
		bench exact;
		ls_exec_options o;
		if (!pair_open(&p, "naive", platform_names[i], 32, WIDE_DEPTH))
			continue;
		o = options_of(&p.f, LS_ROUNDING_EXACT);
		o.arithmetic.depth = WIDE_DEPTH;
		bench_open(&exact, p.platform[0], o);
		net_start(exact.exec, 1);
		for (uint64_t step = 1; step <= STEPS; step++) {
			ls_step_result a = bench_step(&exact, step), b = follow(&p, step, step % 2 ? &p.auditor.log : NULL);
			assert_true(same_root(&a, &b));
		}
		assert_int_equal(bench_totals(&p.auditor).entries, 0);
		assert_true(bench_totals(&p.auditor).exact > 50);
		bench_close(&exact);
		pair_close(&p);
	}
}

// ---- entries that are not the trainer's ----

/* Marks which elements of an op's output have an entry. */
static bool has_entry(const ls_op_log *log, int64_t element)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->entry[i].index == element)
			return true;
	return false;
}

static void insert(ls_op_log *log, uint32_t element, int bit)
{
	size_t at;
	assert_int_equal(ls_op_log_push(log, (ls_entry){0}), LS_OK);
	for (at = log->count - 1; at > 0 && log->entry[at - 1].index > element; at--)
		log->entry[at] = log->entry[at - 1];
	log->entry[at] = (ls_entry){element, (uint8_t)bit};
}

/* Copies the state's words out, for comparison. */
static uint32_t *copy_state(ls_exec *e)
{
	const ls_program *p = ls_exec_program(e);
	uint32_t *copy = malloc(1 << 16);
	size_t at = 0;
	for (int s = 0; s < ls_program_states(p); s++) {
		size_t count = (size_t)ls_shape_count(&ls_program_value(p, s)->shape);
		memcpy(copy + at, ls_exec_state(e, s), count * 4);
		at += count;
	}
	return copy;
}

typedef struct grabbed {
	const char *name;
	float words[4096];
	int64_t count;
} grabbed;

static void grab(void *context, ls_exec *e, uint64_t step, int op, ls_step_log *log)
{
	grabbed *g = context;
	const ls_program *p = ls_exec_program(e);
	int value = ls_program_op(p, op)->outputs[0];
	if (!strcmp(ls_program_value(p, value)->name, g->name)) {
		g->count = ls_shape_count(&ls_program_value(p, value)->shape);
		memcpy(g->words, ls_exec_value(e, value), (size_t)g->count * 4);
	}
}

/* A trainer whose values of one op can be looked at, and an auditor in the same state. */
static void forge_in(const char *output)
{
	pair p;
	grabbed g = {.name = output};
	ls_watch watch = {&g, grab};
	ls_exec_options o;
	ls_op_log *log;
	ls_step_result r;
	uint32_t *before, *after, element = 0;
	int bit;
	assert_true(pair_open(&p, "native", "naive", 32, 0)); // a narrow bound: an element without entry has one value
	bench_close(&p.trainer);
	o = options_of(&p.f, LS_ROUNDING_RECORD);
	o.watch = &watch;
	bench_open(&p.trainer, p.platform[0], o);
	net_start(p.trainer.exec, 1);
	bench_step(&p.trainer, 1);
	log = log_of_op(&p.trainer.log, p.f.program, output);
	while (has_entry(log, element))
		element++;
	assert_true(element < g.count);
	bit = ls_grid_last_bit(g.words[element], 32);
	insert(log, element, !bit);
	before = copy_state(p.auditor.exec);
	r = follow(&p, 1, &p.trainer.log);
	after = copy_state(p.auditor.exec);
	assert_true(r.forgery.found);
	assert_string_equal(ls_program_value(p.f.program, ls_program_op(p.f.program, r.forgery.op)->outputs[0])->name, output);
	assert_int_equal(r.forgery.element, element);
	assert_int_equal(r.forgery.entry_bit, !bit);
	assert_int_equal(ls_bits_f32(r.forgery.admissible), ls_bits_f32(g.words[element]));
	assert_false(r.committed);
	assert_memory_equal(before, after, 1000); // and nothing of the state has moved
	free(before);
	free(after);
	pair_close(&p);
}

static void test_forged_entries_are_found(void **state)
{
	forge_in("fc1");
	forge_in("conv");
	forge_in("fc2");
	forge_in("d.conv.w");
	forge_in("d.fc2.w");
}

/* Entries for everything, all saying what R(E) says. */
static void test_redundant_entries_are_accepted(void **state)
{
	static const char *const products[] = {"conv", "fc1", "fc2"};
	pair p;
	ls_step_result plain, r;
	bench exact;
	grabbed g[3];
	assert_true(pair_open(&p, "native", "naive", 32, WIDE_DEPTH));
	for (int i = 0; i < 3; i++) {
		ls_watch watch = {&g[i], grab};
		ls_exec_options o = options_of(&p.f, LS_ROUNDING_EXACT);
		g[i].name = products[i];
		o.watch = &watch;
		bench_open(&exact, p.platform[0], o);
		net_start(exact.exec, 1);
		plain = bench_step(&exact, 1);
		bench_close(&exact);
	}
	ls_step_log_clear(&p.trainer.log);
	for (int i = 0; i < 3; i++)
		for (int64_t k = 0; k < g[i].count; k++)
			assert_int_equal(ls_op_log_push(log_of_op(&p.trainer.log, p.f.program, products[i]),
			                                (ls_entry){(uint32_t)k, (uint8_t)ls_grid_last_bit(g[i].words[k], 32)}), LS_OK);
	r = follow(&p, 1, &p.trainer.log);
	assert_false(r.forgery.found);
	assert_true(same_root(&plain, &r));
	assert_int_equal(bench_totals(&p.auditor).corrections, 0);
	assert_int_equal(bench_totals(&p.auditor).entries, g[0].count + g[1].count + g[2].count);
	pair_close(&p);
}

/* The other admissible end of an ambiguous element is taken, counted, and gives another state; auditors agree on it. */
static void test_overrides_are_taken_and_counted(void **state)
{
	pair p, q;
	ls_step_result ours, theirs, others = {0};
	int overrides = 0, moved = 0;
	assert_true(pair_open(&p, "native", "naive", 32, WIDE_DEPTH));
	assert_true(pair_open(&q, "naive", "native", 32, WIDE_DEPTH));
	ours = bench_step(&p.trainer, 1);
	for (int op = 0; op < p.trainer.log.ops; op++)
		for (size_t i = 0; i < p.trainer.log.op[op].count; i++) {
			ls_entry *e = &p.trainer.log.op[op].entry[i];
			e->bit ^= 1;
			net_start(p.auditor.exec, 1);
			theirs = follow(&p, 1, &p.trainer.log);
			if (!theirs.forgery.found) {
				overrides++;
				net_start(q.auditor.exec, 1);
				others = follow(&q, 1, &p.trainer.log);
				assert_true(same_root(&theirs, &others));
				moved += !same_root(&theirs, &ours); // some are lost again, in a maximum or below zero
				i = p.trainer.log.op[op].count - 1; // one per op is enough
			} else {
				assert_int_equal(theirs.forgery.op, op);
				assert_int_equal(theirs.forgery.element, e->index);
			}
			e->bit ^= 1;
		}
	assert_true(overrides >= 3 && moved >= 2);
	assert_int_equal(bench_totals(&p.auditor).corrections, overrides);
	pair_close(&p);
	pair_close(&q);
}

// ---- what stops a step ----

/* A platform whose products are wrong in the tenth bit, bounds included. */
static ls_status lie(ls_platform *platform, const ls_product_call *call, ls_error *err)
{
	ls_status status = ls_platform_product(platform->state, call, err);
	for (int64_t i = 0; i < call->product->rows * call->product->columns; i++)
		call->out[i] *= 1.0009765625f;
	for (size_t i = 0; call->flags && i < call->flags->count; i++)
		call->flags->flag[i].c *= 1.0009765625;
	return status;
}

static ls_status run_liar(ls_rounding rounding, bool self_check, bool honest, char text[LS_ERROR_TEXT_MAX])
{
	static const ls_platform_def def = {.name = "liar", .row_kernels = false, .product = lie};
	ls_error err = LS_ERROR_INIT;
	ls_platform *truth = platform_named("native"), liar = *truth;
	ls_step_result r;
	fixture f;
	bench b;
	ls_exec_options o;
	ls_status status = LS_OK;
	fixture_open(&f, 32);
	o = options_of(&f, rounding);
	o.self_check = self_check;
	liar.def = &def;
	liar.state = truth;
	bench_open(&b, honest ? truth : &liar, o);
	net_start(b.exec, 1);
	for (uint64_t step = 1; step <= STEPS && status == LS_OK; step++)
		status = ls_exec_step(b.exec, step, &b.log, true, &r, &err);
	memcpy(text, err.text, LS_ERROR_TEXT_MAX);
	bench_close(&b);
	ls_program_free(f.program);
	ls_platform_free(truth);
	return status;
}

static void test_the_trainer_checks_its_platform(void **state)
{
	char text[LS_ERROR_TEXT_MAX];
	static const ls_rounding rounding[] = {LS_ROUNDING_RECORD, LS_ROUNDING_EXACT, LS_ROUNDING_PINNED};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(run_liar(rounding[i], true, false, text), LS_ERR_NONCONFORMING);
		assert_non_null(strstr(text, i == 2 ? "in the pinned order" : "expected it within the bound"));
		assert_int_equal(run_liar(rounding[i], true, true, text), LS_OK);
		assert_int_equal(run_liar(rounding[i], false, false, text), LS_OK); // unchecked, nobody notices here
	}
}

static void test_divergence_is_reported(void **state)
{
	fixture f;
	ls_platform *platform = platform_named("native");
	bench b;
	fixture_open(&f, 32);
	bench_open(&b, platform, options_of(&f, LS_ROUNDING_RECORD));
	net_start(b.exec, 1);
	assert_false(bench_step(&b, 1).diverged);
	assert_true(ls_exec_state_finite(b.exec));
	((float *)ls_exec_state(b.exec, 3))[5] = __builtin_inff(); // a momentum
	assert_false(ls_exec_state_finite(b.exec));
	assert_true(bench_step(&b, 2).diverged);
	bench_close(&b);
	ls_program_free(f.program);
	ls_platform_free(platform);
}

static void spoil(void *context, ls_exec *e, uint64_t step, int op, ls_step_log *log)
{
	const ls_program *p = ls_exec_program(e);
	int value = ls_program_op(p, op)->outputs[0];
	if (step == *(uint64_t *)context && !strcmp(ls_program_value(p, value)->name, "conv.w.next"))
		*(float *)ls_exec_value(e, value) += 0.25f;
}

static void test_a_watcher_may_change_values(void **state)
{
	fixture f;
	ls_platform *platform = platform_named("native");
	uint64_t when = 2;
	ls_watch watch = {&when, spoil};
	bench honest, liar;
	ls_exec_options o;
	fixture_open(&f, 32);
	o = options_of(&f, LS_ROUNDING_EXACT);
	bench_open(&honest, platform, o);
	o.watch = &watch;
	bench_open(&liar, platform, o);
	net_start(honest.exec, 1);
	net_start(liar.exec, 1);
	for (uint64_t step = 1; step <= 3; step++) {
		ls_step_result a = bench_step(&honest, step), b = bench_step(&liar, step);
		assert_int_equal(same_root(&a, &b), step < when);
	}
	bench_close(&honest);
	bench_close(&liar);
	ls_program_free(f.program);
	ls_platform_free(platform);
}

static void test_the_root_is_that_of_the_state(void **state)
{
	ls_error err = LS_ERROR_INIT;
	fixture f;
	ls_platform *platform = platform_named("native");
	bench b;
	ls_hash root, before;
	ls_step_result r;
	fixture_open(&f, 32);
	bench_open(&b, platform, options_of(&f, LS_ROUNDING_EXACT));
	net_start(b.exec, 1);
	assert_ok(ls_exec_state_root(b.exec, &before, &err));
	r = bench_step(&b, 1);
	assert_ok(ls_exec_state_root(b.exec, &root, &err));
	assert_true(ls_hash_equal(&root, &r.state_root));
	assert_false(ls_hash_equal(&root, &before));
	ls_tensor_entry entries[2 * NET_PARAMETERS] = {0};
	for (int s = 0; s < 2 * NET_PARAMETERS; s++) {
		const ls_value *v = ls_program_value(f.program, s);
		entries[s] = (ls_tensor_entry){.name = v->name, .dtype = LS_F32, .rank = (uint8_t)v->shape.rank};
		memcpy(entries[s].dims, v->shape.dim, sizeof v->shape.dim);
		assert_ok(ls_tensor_root(&entries[s].root, ls_exec_state(b.exec, s), ls_shape_count(&v->shape), NULL, b.hasher));
	}
	assert_ok(ls_state_root(&root, entries, 2 * NET_PARAMETERS, b.hasher, &err));
	assert_true(ls_hash_equal(&root, &r.state_root));
	assert_ok(ls_exec_step(b.exec, 2, NULL, false, &r, &err));
	assert_false(r.committed);
	bench_close(&b);
	ls_program_free(f.program);
	ls_platform_free(platform);
}

static void test_wrong_use_is_refused(void **state)
{
	ls_error err = LS_ERROR_INIT;
	fixture f;
	ls_platform *platform = platform_named("native");
	bench b;
	ls_step_result r;
	ls_exec *e;
	ls_step_log small;
	ls_program *unfinished;
	ls_exec_options o;
	fixture_open(&f, 32);
	bench_open(&b, platform, options_of(&f, LS_ROUNDING_RECORD));
	net_start(b.exec, 1);
	assert_int_equal(ls_exec_step(b.exec, 1, NULL, true, &r, &err), LS_ERR_USAGE);
	assert_ok(ls_step_log_open(&small, 3, &err));
	assert_int_equal(ls_exec_step(b.exec, 1, &small, true, &r, &err), LS_ERR_USAGE);
	ls_step_log_free(&small);
	assert_false(bench_step(&b, 1).diverged);
	o = options_of(&f, LS_ROUNDING_EXACT);
	o.platform = platform;
	o.hasher = b.hasher;
	assert_int_equal(ls_exec_open(&e, &o, &err), LS_ERR_USAGE); // no version
	o.version = LS_EXEC_OPTIONS_VERSION;
	o.hasher = NULL;
	assert_int_equal(ls_exec_open(&e, &o, &err), LS_ERR_USAGE);
	o.hasher = b.hasher;
	assert_ok(ls_program_open(&unfinished, 32, 32, &err));
	append_load(unfinished, 1, NET_SIDE);
	o.program = unfinished;
	assert_int_equal(ls_exec_open(&e, &o, &err), LS_ERR_INTERNAL);
	assert_null(e);
	ls_program_free(unfinished);
	ls_exec_free(NULL);
	bench_close(&b);
	ls_program_free(f.program);
	ls_platform_free(platform);
}

static void test_memory_is_shared(void **state)
{
	fixture f;
	ls_platform *platform = platform_named("native");
	bench b;
	int64_t planned, unplanned;
	fixture_open(&f, 32);
	bench_open(&b, platform, options_of(&f, LS_ROUNDING_EXACT));
	ls_exec_memory(b.exec, &planned, &unplanned);
	assert_true(planned > 0 && planned < unplanned);
	bench_close(&b);
	ls_program_free(f.program);
	ls_platform_free(platform);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_platform_computes_the_definitions), cmocka_unit_test(test_one_platform_follows_another),
		cmocka_unit_test(test_exact_is_following_an_empty_log), cmocka_unit_test(test_forged_entries_are_found),
		cmocka_unit_test(test_redundant_entries_are_accepted), cmocka_unit_test(test_overrides_are_taken_and_counted),
		cmocka_unit_test(test_the_trainer_checks_its_platform), cmocka_unit_test(test_divergence_is_reported),
		cmocka_unit_test(test_a_watcher_may_change_values), cmocka_unit_test(test_the_root_is_that_of_the_state),
		cmocka_unit_test(test_wrong_use_is_refused), cmocka_unit_test(test_memory_is_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
