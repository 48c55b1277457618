// Ops of attention, computed one sequence after the other: the bits, the rounding log and the findings are those of ops that are
// computed one by one, and no square of a batch is ever in memory.
#include "graph/support.h"

#include "graph/stretch.h"

#define WIDE_DEPTH (INT64_C(1) << 24) // a bound so wide that a few elements in a hundred are ambiguous

enum { B = 3, T = 5, H = 2, C = 6, ROWS = B * T, STEPS = 3 }; // T·T·H is no multiple of 4, in which dropout draws

static const ls_shape shapes[] = {{2, {3 * C, NET_SIDE * NET_SIDE}}, {2, {3 * C, C}}, {2, {NET_CLASSES, C}}};
enum { WEIGHTS = 3 };

static int named(ls_program *p, const char *kind, const char *layer, const char *part, const int *inputs, int input_count, double num,
                 const int64_t *ints, int int_count)
{
	char name[LS_NAME_MAX];
	ls_op_spec spec = {.kind = kind, .name = name, .input_count = input_count, .int_count = int_count, .num_count = num != 0, .nums = {num}};
	snprintf(name, sizeof name, "%s.%s", layer, part);
	memcpy(spec.inputs, inputs, (size_t)input_count * sizeof *inputs);
	if (int_count)
		memcpy(spec.ints, ints, (size_t)int_count * sizeof *ints);
	return ls_op_append(p, &spec);
}

static int attention(ls_program *p, int x, const char *layer, int64_t site)
{
	int q = named(p, "split_columns", layer, "q", &x, 1, 0, (int64_t[]){3}, 1), y;
	y = named(p, "attention_scores", layer, "products", (int[]){q, q + 1}, 2, 0, (int64_t[]){B, H}, 2);
	y = named(p, "scale", layer, "scores", &y, 1, 0.7, NULL, 0);
	y = named(p, "causal_softmax", layer, "softmax", &y, 1, 0, NULL, 0);
	y = named(p, "dropout", layer, "dropout", &y, 1, 0.3, (int64_t[]){4, site}, 2);
	return named(p, "attention_mix", layer, "mix", (int[]){y, q + 2}, 2, 0, (int64_t[]){0}, 1);
}

/* load, dense, attention, dense, attention, dense, loss, backward, SGD. */
static ls_program *attention_program(int bits)
{
	static const char *const names[] = {"fc1.w", "fc2.w", "fc3.w"};
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	int w[WEIGHTS], g[WEIGHTS], next[WEIGHTS], x, y, loss;
	assert_ok(ls_program_open(&p, bits, 32, &err));
	for (int i = 0; i < WEIGHTS; i++)
		w[i] = ls_program_add_state(p, names[i], &shapes[i]);
	x = append_load(p, ROWS, NET_SIDE);
	y = append(p, "reshape", "flat", &x, 1, INTS(ROWS, NET_SIDE * NET_SIDE));
	y = append(p, "matmul", "fc1", (int[]){y, w[0]}, 2, INTS(0, 1));
	y = attention(p, y, "a", 0);
	y = append(p, "matmul", "fc2", (int[]){y, w[1]}, 2, INTS(0, 1));
	y = attention(p, y, "b", 1);
	y = append(p, "matmul", "fc3", (int[]){y, w[2]}, 2, INTS(0, 1));
	loss = append_loss(p, y, x + 1);
	ls_autodiff(p, loss, w, WEIGHTS, g);
	for (int i = 0; i < WEIGHTS; i++)
		next[i] = ls_op_append(p, &(ls_op_spec){.kind = "sgd", .name = names[i], .inputs = {w[i], g[i]}, .input_count = 2,
		                                        .ints = {0, 0, 1, 0, 100}, .int_count = 5, .nums = {0.1, 0, 0.001, 0}, .num_count = 4});
	append_commit_of(p, next, WEIGHTS);
	assert_ok(ls_program_finish(p, &err));
	return p;
}

static void start(ls_exec *e, uint32_t seed)
{
	for (int i = 0; i < WEIGHTS; i++)
		for (int64_t k = 0; k < ls_shape_count(&shapes[i]); k++)
			((float *)ls_exec_state(e, i))[k] =
				ls_f32((2 * ls_random_uniform(&(ls_stream){seed, LS_PURPOSE_TEST, (uint64_t)i}, (uint64_t)k) - 1) * 0.4);
}

static void watch_nothing(void *context, ls_exec *e, uint64_t step, int op, ls_step_log *log)
{
}

typedef struct fixture {
	ls_program *program;
	uint8_t bytes[NET_SAMPLES * NET_SIDE * NET_SIDE];
	ls_samples samples;
	ls_platform *platform;
} fixture;

static bool fixture_open(fixture *f, const char *platform, int bits)
{
	f->platform = platform_named(platform);
	if (!f->platform)
		return false;
	f->program = attention_program(bits);
	f->samples = net_samples(f->bytes);
	return true;
}

static void fixture_close(fixture *f)
{
	ls_program_free(f->program);
	ls_platform_free(f->platform);
}

/* With a watcher ops run one by one. */
static void open(bench *b, const fixture *f, ls_rounding rounding, bool watched, uint32_t seed)
{
	static const ls_watch watch = {NULL, watch_nothing};
	bench_open(b, f->platform, (ls_exec_options){.program = f->program, .samples = &f->samples, .rounding = rounding, .self_check = true,
	                                             .arithmetic.depth = WIDE_DEPTH, .watch = watched ? &watch : NULL});
	start(b->exec, seed);
}

static bool same_logs(const ls_step_log *a, const ls_step_log *b)
{
	bool same = a->ops == b->ops;
	for (int i = 0; i < a->ops && same; i++) {
		same = a->op[i].count == b->op[i].count;
		for (size_t e = 0; same && e < a->op[i].count; e++)
			same = a->op[i].entry[e].index == b->op[i].entry[e].index && a->op[i].entry[e].bit == b->op[i].entry[e].bit;
	}
	return same;
}

static bool same_stats(const fixture *f, const bench *a, const bench *b)
{
	bool same = true;
	for (int i = 0; i < ls_program_ops(f->program); i++) {
		const ls_op_stats *x = ls_exec_stats(a->exec, i), *y = ls_exec_stats(b->exec, i);
		same &= x->elements == y->elements && x->ambiguous == y->ambiguous && x->entries == y->entries;
	}
	return same;
}

static void check_mode(const char *platform, int bits, ls_rounding rounding)
{
	fixture f;
	bench whole, pieces;
	ls_step_result a, b;
	if (!fixture_open(&f, platform, bits))
		return;
	open(&whole, &f, rounding, true, 1);
	open(&pieces, &f, rounding, false, 1);
	for (uint64_t step = 1; step <= STEPS; step++) {
		a = bench_step(&whole, step);
		b = bench_step(&pieces, step);
		assert_true(ls_hash_equal(&a.state_root, &b.state_root));
		assert_true(same_logs(&whole.log, &pieces.log));
	}
	assert_true(same_stats(&f, &whole, &pieces));
	if (rounding == LS_ROUNDING_RECORD)
		assert_true(bench_totals(&pieces).entries > 20);
	b = bench_step(&pieces, STEPS + 2); // another step drops others
	a = bench_step(&whole, STEPS + 1);
	assert_false(ls_hash_equal(&a.state_root, &b.state_root));
	bench_close(&whole);
	bench_close(&pieces);
	fixture_close(&f);
}

static void test_the_bits_are_those_of_single_ops(void **state)
{
	static const char *const platforms[] = {"native", "naive", "openblas"};
	static const ls_rounding modes[] = {LS_ROUNDING_PLAIN, LS_ROUNDING_RECORD, LS_ROUNDING_EXACT, LS_ROUNDING_PINNED};
	for (int i = 0; i < 3; i++)
		for (int m = 0; m < 4; m++) {
			check_mode(platforms[i], 32, modes[m]);
			check_mode(platforms[i], 24, modes[m]);
		}
}

// ---- auditors ----

static ls_step_result follow(bench *b, uint64_t step, ls_step_log *log)
{
	ls_error err = LS_ERROR_INIT;
	ls_step_result r;
	assert_ok(ls_exec_step(b->exec, step, log, true, &r, &err));
	return r;
}

static void test_auditors_follow_either_way(void **state)
{
	fixture t, a;
	bench trainer, whole, pieces;
	assert_true(fixture_open(&t, "native", 32) && fixture_open(&a, "naive", 32));
	open(&trainer, &t, LS_ROUNDING_RECORD, false, 1);
	open(&whole, &a, LS_ROUNDING_FOLLOW, true, 1);
	open(&pieces, &a, LS_ROUNDING_FOLLOW, false, 1);
	for (uint64_t step = 1; step <= STEPS; step++) {
		ls_step_result ours = bench_step(&trainer, step), x = follow(&whole, step, &trainer.log), y = follow(&pieces, step, &trainer.log);
		assert_false(x.forgery.found || y.forgery.found);
		assert_true(ls_hash_equal(&ours.state_root, &x.state_root) && ls_hash_equal(&ours.state_root, &y.state_root));
	}
	assert_true(bench_totals(&pieces).entries > 20);
	assert_int_equal(bench_totals(&pieces).entries, bench_totals(&trainer).entries);
	bench_close(&trainer);
	bench_close(&whole);
	bench_close(&pieces);
	fixture_close(&t);
	fixture_close(&a);
}

/* The log with those entries turned: what is found and named is what single ops find. */
static void forge_and_compare(const fixture *f, ls_step_log *log, const int *op, const size_t *entry, int count, int *forged)
{
	bench whole, pieces;
	ls_step_result x, y;
	open(&whole, f, LS_ROUNDING_FOLLOW, true, 1);
	open(&pieces, f, LS_ROUNDING_FOLLOW, false, 1);
	for (int i = 0; i < count; i++)
		log->op[op[i]].entry[entry[i]].bit ^= 1;
	x = follow(&whole, 1, log);
	y = follow(&pieces, 1, log);
	for (int i = 0; i < count; i++)
		log->op[op[i]].entry[entry[i]].bit ^= 1;
	assert_int_equal(x.forgery.found, y.forgery.found);
	assert_int_equal(x.forgery.op, y.forgery.op);
	assert_int_equal(x.forgery.element, y.forgery.element);
	assert_int_equal(x.forgery.entry_bit, y.forgery.entry_bit);
	*forged += x.forgery.found;
	bench_close(&whole);
	bench_close(&pieces);
}

static int op_named(const fixture *f, const char *output)
{
	return ls_program_value(f->program, ls_program_find(f->program, output))->op;
}

/* An entry for an element of the last sequence of one op, and one for the first sequence of a later op. Either bit: one of them is
 * forged unless both values are admissible. */
static void test_the_first_forged_entry_is_named(void **state)
{
	fixture f;
	bench trainer;
	int forged = 0, scores, mix;
	assert_true(fixture_open(&f, "native", 32));
	open(&trainer, &f, LS_ROUNDING_RECORD, true, 1);
	bench_step(&trainer, 1);
	scores = op_named(&f, "b.products");
	mix = op_named(&f, "b.mix");
	for (uint32_t k = 0; k < 2; k++)
		for (int bit = 0; bit < 2; bit++) {
			uint32_t last = B * H * T * T - 1 - k;
			ls_step_log_clear(&trainer.log);
			assert_int_equal(ls_op_log_push(&trainer.log.op[scores], (ls_entry){last, (uint8_t)bit}), LS_OK);
			assert_int_equal(ls_op_log_push(&trainer.log.op[mix], (ls_entry){k, (uint8_t)bit}), LS_OK);
			forge_and_compare(&f, &trainer.log, NULL, NULL, 0, &forged);
			forge_and_compare(&f, &trainer.log, (int[]){scores}, (size_t[]){0}, 1, &forged);
			forge_and_compare(&f, &trainer.log, (int[]){scores, mix}, (size_t[]){0, 0}, 2, &forged);
		}
	assert_true(forged > 2 && forged <= 12);
	bench_close(&trainer);
	fixture_close(&f);
}

// ---- memory ----

static bool is_square(const ls_program *p, int v)
{
	const ls_shape *s = &ls_program_value(p, v)->shape;
	return s->rank == 4 && s->dim[2] == T && s->dim[3] == T;
}

static void test_squares_are_inside(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p = attention_program(32);
	ls_stretches s;
	int squares = 0, kept = ls_program_find(p, "a.dropout");
	assert_ok(ls_graph__find_stretches(&s, p, NULL, 0, &err));
	for (int v = 0; v < ls_program_values(p); v++)
		if (is_square(p, v)) {
			assert_true(s.inside[v]);
			squares++;
		}
	assert_int_equal(squares, 2 * 8);
	assert_int_equal(s.count, 4); // of each layer one forward, one back
	for (int i = 0; i < s.count; i++)
		assert_int_equal(s.stretch[i].sequences, B);
	assert_true(s.scratch < 6 * (H * T * T * 4 + 64)); // of one sequence, and not of all
	assert_false(s.inside[ls_program_find(p, "fc2")] || s.inside[ls_program_find(p, "a.mix")] || s.inside[ls_program_find(p, "a.q")]);
	ls_graph__stretches_free(&s);
	assert_ok(ls_graph__find_stretches(&s, p, &kept, 1, &err)); // but what is to be kept is kept
	assert_false(s.inside[kept]);
	ls_graph__stretches_free(&s);
	ls_program_free(p);
}

static void test_a_program_without_attention_has_none(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p = net_program(32);
	ls_stretches s;
	assert_ok(ls_graph__find_stretches(&s, p, NULL, 0, &err));
	assert_int_equal(s.count, 0);
	assert_int_equal(s.scratch, 0);
	for (int v = 0; v < ls_program_values(p); v++)
		assert_false(s.inside[v]);
	ls_graph__stretches_free(&s);
	ls_program_free(p);
}

typedef struct player {
	const ls_program *p;
	const ls_plan *plan;
	const ls_stretches *s;
	int *owner; // of each 64 bytes of the arena
} player;

static int64_t blocks_of(const player *m, int v)
{
	return (ls_shape_count(&ls_program_value(m->p, v)->shape) * 4 + 63) / 64;
}

static void write_value(player *m, int v)
{
	const ls_place *at = &m->plan->place[v];
	for (int64_t b = 0; at->state < 0 && !m->s->inside[v] && b < blocks_of(m, v); b++)
		m->owner[at->offset / 64 + b] = v;
}

static bool holds(const player *m, int v)
{
	const ls_place *at = &m->plan->place[v];
	for (int64_t b = 0; at->state < 0 && !m->s->inside[v] && b < blocks_of(m, v); b++)
		if (m->owner[at->offset / 64 + b] != v)
			return false;
	return true;
}

/* Plays the program; of a stretch everything is written first, as its first sequence does, and then read, as its last one does. */
static bool sound(player *m)
{
	bool good = true;
	for (int i = 0; i < ls_program_ops(m->p); i++) {
		const ls_stretch *s = ls_graph__stretch_at(m->s, i);
		const ls_op *op = ls_program_op(m->p, i);
		for (int j = 0; !s && j < op->input_count; j++)
			good &= holds(m, op->inputs[j]);
		for (int k = i; k <= (s ? s->last : i); k++)
			for (int o = 0; o < ls_program_op(m->p, k)->output_count; o++)
				write_value(m, ls_program_op(m->p, k)->outputs[o]);
		for (int k = 0; s && k < s->ops; k++) {
			op = ls_program_op(m->p, s->op[k]);
			for (int j = 0; j < op->input_count; j++)
				good &= holds(m, op->inputs[j]);
			for (int o = 0; s->op[k] >= s->first && o < op->output_count; o++)
				good &= holds(m, op->outputs[o]);
		}
		i = s ? s->last : i;
	}
	return good;
}

static void test_nothing_is_overwritten(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p = attention_program(32);
	ls_stretches s;
	ls_plan plan, single;
	player m = {.p = p, .plan = &plan, .s = &s};
	assert_ok(ls_graph__find_stretches(&s, p, NULL, 0, &err));
	assert_ok(ls_graph__plan_stretches(&plan, p, &s, NULL, 0, &err));
	assert_ok(ls_graph__plan(&single, p, NULL, 0, &err));
	m.owner = calloc((size_t)(plan.arena > single.arena ? plan.arena : single.arena) / 64, sizeof *m.owner);
	assert_true(sound(&m));
	for (int v = 0; v < ls_program_values(p); v++) // a plan for single ops would not do
		if (s.inside[v])
			single.place[v].offset = -1;
	m.plan = &single;
	assert_false(sound(&m));
	free(m.owner);
	ls_graph__plan_free(&plan);
	ls_graph__plan_free(&single);
	ls_graph__stretches_free(&s);
	ls_program_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_bits_are_those_of_single_ops), cmocka_unit_test(test_auditors_follow_either_way),
		cmocka_unit_test(test_the_first_forged_entry_is_named), cmocka_unit_test(test_squares_are_inside),
		cmocka_unit_test(test_a_program_without_attention_has_none), cmocka_unit_test(test_nothing_is_overwritten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
