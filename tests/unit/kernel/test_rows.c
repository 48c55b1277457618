// Row kernels against the definition of their ops, bit for bit.
#include "kernel/rows.h"
#include "kernel/table.h"
#include "kernel/cases.h"

enum { MOST_INPUTS = 8 };

// A program of one op under test, whose inputs are tensors of the state or the outputs of a `load`.
struct fixture {
	ls_program *program;
	random_source random;
	int op;
	int64_t in_count[MOST_INPUTS], out_count[LS_OP_OUTPUTS];
	void *in[MOST_INPUTS], *out[LS_OP_OUTPUTS], *expected[LS_OP_OUTPUTS];
	ls_samples samples;
	uint8_t *bytes;
	int64_t sample_size;
};

static const uint8_t *sample(void *context, int64_t index)
{
	const struct fixture *f = context;
	return f->bytes + index * f->sample_size;
}

static int32_t label(void *context, int64_t index)
{
	return (int32_t)(index * 7 % 10);
}

static void fixture_open(struct fixture *f, uint32_t seed, int bits, int state_bits)
{
	*f = (struct fixture){.random = random_from(seed)};
	f->samples = (ls_samples){f, sample, label};
	assert_int_equal(ls_program_open(&f->program, bits, state_bits, NULL), LS_OK);
}

static int state_2(struct fixture *f, const char *name, int64_t a, int64_t b)
{
	ls_shape shape = {2, {a, b}};
	return ls_program_add_state(f->program, name, &shape);
}

static int state_4(struct fixture *f, const char *name, int64_t n, int64_t c, int64_t h, int64_t w)
{
	ls_shape shape = {4, {n, c, h, w}};
	return ls_program_add_state(f->program, name, &shape);
}

// Labels can only come from a load.
static int labels_from_load(struct fixture *f, int64_t batch)
{
	ls_op_spec spec = {.kind = "load", .name = "batch", .ints = {batch, batch, 0, 0, 1, 1, 1}, .int_count = 7,
	                   .nums = {0, 1}, .num_count = 2};
	return ls_op_append(f->program, &spec) + 1;
}

static void draw_labels(struct fixture *f, int32_t *to, int64_t count, int64_t classes)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = (int32_t)draw(&f->random, i % 11 ? 0 : -1, classes - (i % 7 != 0)); // a few outside
}

static void fixture_append(struct fixture *f, const ls_op_spec *spec, values kind)
{
	int value = ls_op_append(f->program, spec);
	const ls_op *op;
	assert_true(value >= 0);
	f->op = ls_program_value(f->program, value)->op;
	op = ls_program_op(f->program, f->op);
	for (int i = 0; i < op->input_count; i++) {
		const ls_value *v = ls_program_value(f->program, op->inputs[i]);
		f->in_count[i] = ls_shape_count(&v->shape);
		f->in[i] = ls_alloc((size_t)f->in_count[i], 4);
		if (v->dtype == LS_I32)
			draw_labels(f, f->in[i], f->in_count[i], ls_program_value(f->program, op->inputs[0])->shape.dim[1]);
		else
			for (int64_t k = 0; k < f->in_count[i]; k++)
				((float *)f->in[i])[k] = ls_round_f32(draw_value(&f->random, kind), v->bits);
	}
	for (int o = 0; o < op->output_count; o++) {
		f->out_count[o] = ls_shape_count(&ls_program_value(f->program, op->outputs[o])->shape);
		f->out[o] = ls_alloc((size_t)f->out_count[o], 4);
		f->expected[o] = ls_alloc((size_t)f->out_count[o], 4);
		memset(f->out[o], 0xa5, (size_t)f->out_count[o] * 4);
	}
}

static ls_op_call fixture_call(struct fixture *f, ls_pool *pool)
{
	const ls_op *op = ls_program_op(f->program, f->op);
	return (ls_op_call){.program = f->program, .op = op, .def = ls_op_find(op->kind), .step = 3,
	                    .in = (const void *const *)f->in, .out = f->out, .samples = &f->samples, .pool = pool};
}

static bool outputs_equal(const struct fixture *f)
{
	bool equal = true;
	for (int o = 0; o < LS_OP_OUTPUTS && f->out[o]; o++)
		equal = equal && !memcmp(f->out[o], f->expected[o], (size_t)f->out_count[o] * 4);
	return equal;
}

// Outputs that may lie over an input do so.
static void check_in_place(struct fixture *f, const ls_op_call *call)
{
	for (int o = 0; o < call->op->output_count; o++) {
		int share = call->def->shares[o] - 1;
		void *kept;
		if (share < 0 || share >= call->op->input_count)
			continue;
		memcpy(f->out[o], f->in[share], (size_t)f->in_count[share] * 4);
		kept = f->in[share];
		f->in[share] = f->out[o];
		assert_true(ls_kernel__rows_run(call));
		f->in[share] = kept;
		if (!outputs_equal(f))
			fail_msg("%s in place differs from its definition", call->op->kind);
	}
}

// Runs the kernel with the loops of every instruction set that is here.
static void check_loops(struct fixture *f, ls_op_call *call)
{
	static const char *const isa[] = {"avx512", "avx2", "portable"};
	for (int i = 0; i < 3; i++) {
		ls_kernel_table table;
		if (ls_kernel__table_init(&table, isa[i], NULL) != LS_OK)
			continue;
		call->loops = table.loops;
		for (int o = 0; o < call->op->output_count; o++)
			memset(f->out[o], 0xa5, (size_t)f->out_count[o] * 4);
		assert_true(ls_kernel__rows_run(call));
		if (!outputs_equal(f))
			fail_msg("%s with %s differs from its definition", call->op->kind, isa[i]);
		check_in_place(f, call);
	}
	call->loops = NULL;
}

// Runs reference and kernel, and then the twin: with other numbers for the first input the answer has to change.
static void fixture_check(struct fixture *f, ls_pool *pool, bool has_kernel)
{
	ls_op_call call = fixture_call(f, pool);
	call.out = f->expected;
	ls_op_reference(&call);
	call.out = f->out;
	assert_int_equal(ls_kernel__rows_run(&call), has_kernel);
	if (!has_kernel)
		return;
	check_loops(f, &call);
	for (int64_t k = 0; call.op->input_count && k < f->in_count[0]; k++)
		((float *)f->in[0])[k] = 1 + 0.125f * (float)(k * 37 % 101);
	assert_true(ls_kernel__rows_run(&call));
	if (call.op->input_count)
		assert_false(outputs_equal(f));
}

static void fixture_close(struct fixture *f)
{
	for (int i = 0; i < MOST_INPUTS; i++)
		ls_free(f->in[i]);
	for (int o = 0; o < LS_OP_OUTPUTS; o++) {
		ls_free(f->out[o]);
		ls_free(f->expected[o]);
	}
	ls_free(f->bytes);
	ls_program_free(f->program);
}

static ls_pool *pool_of_two(void)
{
	ls_pool *pool;
	assert_int_equal(ls_pool_open(&pool, 2, NULL), LS_OK);
	return pool;
}

static const values kinds[] = {NORMAL, WIDE, INTEGERS, SPECIAL};
static const int grids[] = {32, 32, 19, 16};

static void test_elementwise(void **state)
{
	static const struct {
		const char *kind;
		int inputs;
	} maps[] = {{"add", 2}, {"relu", 1}, {"relu_grad", 2}, {"tanh", 1}, {"tanh_grad", 2}, {"sigmoid", 1}, {"sigmoid_grad", 2},
	            {"gelu", 1}, {"gelu_grad", 2}};
	enum { MAPS = sizeof maps / sizeof *maps };
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 16 * MAPS; seed++) {
		struct fixture f;
		fixture_open(&f, seed, grids[seed / MAPS % 4], 32);
		int64_t n = seed < MAPS ? 20000 : draw(&f.random, 1, 70);
		int a = state_2(&f, "a", 2, n), b = state_2(&f, "b", 2, n), inputs = maps[seed % MAPS].inputs;
		ls_op_spec spec = {.kind = maps[seed % MAPS].kind, .name = "y", .inputs = {a, b}, .input_count = inputs};
		fixture_append(&f, &spec, kinds[seed / MAPS / 4 % 4]);
		((float *)f.in[0])[0] = 0.5f; // so that the twin meets an element that shows
		if (inputs == 2)
			((float *)f.in[1])[0] = 0.75f;
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_reshape(void **state)
{
	struct fixture f;
	fixture_open(&f, 5, 32, 32);
	int a = state_4(&f, "a", 2, 3, 4, 5);
	ls_op_spec spec = {.kind = "reshape", .name = "y", .inputs = {a}, .input_count = 1, .ints = {2, 60},
	                   .int_count = 2};
	fixture_append(&f, &spec, NORMAL);
	fixture_check(&f, NULL, true);
	fixture_close(&f);
}

static void test_sgd(void **state)
{
	for (uint32_t seed = 0; seed < 40; seed++) {
		struct fixture f;
		fixture_open(&f, 100 + seed, 32, seed % 5 ? 32 : 19);
		int64_t n = draw(&f.random, 1, 300);
		int w = state_2(&f, "a", 1, n), g = state_2(&f, "b", 1, n), m = state_2(&f, "c", 1, n);
		ls_op_spec spec = {.kind = "sgd", .name = "w", .inputs = {w, g, m}, .input_count = seed % 2 ? 3 : 2,
		                   .ints = {seed % 4 == 3, seed % 3, 2, 1, 20}, .int_count = 5,
		                   .nums = {0.1, 0.9, seed % 3 ? 5e-4 : 0, 0.5}, .num_count = 4};
		fixture_append(&f, &spec, kinds[seed % 4]);
		((float *)f.in[0])[0] = 1;
		((float *)f.in[1])[0] = 0.25f;
		fixture_check(&f, NULL, true);
		fixture_close(&f);
	}
}

static void test_pools(void **state)
{
	static const char *const kind[] = {"maxpool", "maxpool_grad", "avgpool", "avgpool_grad"};
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 120; seed++) {
		struct fixture f;
		fixture_open(&f, 200 + seed, grids[seed / 4 % 4], 32);
		int64_t k = draw(&f.random, 1, 4), stride = draw(&f.random, 1, 4), pad = draw(&f.random, 0, k / 2);
		int64_t h = k + draw(&f.random, 0, 8), w = k + draw(&f.random, 0, 8);
		int64_t n = draw(&f.random, 1, 3), c = draw(&f.random, 1, 4);
		int64_t oh = (h + 2 * pad - k) / stride + 1, ow = (w + 2 * pad - k) / stride + 1;
		int x = state_4(&f, "a", n, c, h, w), dy = state_4(&f, "b", n, c, oh, ow);
		bool gradient = seed % 2, average = seed % 4 >= 2;
		ls_op_spec spec = {.kind = kind[seed % 4], .name = "y", .inputs = {gradient ? dy : x, x},
		                   .input_count = gradient && !average ? 2 : 1, .ints = {k, stride, pad, h, w},
		                   .int_count = gradient && average ? 5 : 3};
		fixture_append(&f, &spec, kinds[seed % 4 == 3 ? seed / 4 % 4 : seed / 8 % 4]);
		fixture_check(&f, pool, !gradient || stride >= k);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_softmax(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 40; seed++) {
		struct fixture f;
		fixture_open(&f, 400 + seed, grids[seed % 4], 32);
		int x = state_2(&f, "a", draw(&f.random, 1, 9), seed == 0 ? 500 : draw(&f.random, 2, 40));
		ls_op_spec spec = {.kind = "softmax", .name = "p", .inputs = {x}, .input_count = 1};
		fixture_append(&f, &spec, kinds[seed / 4 % 4]);
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_cross_entropy(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 60; seed++) {
		struct fixture f;
		fixture_open(&f, 500 + seed, grids[seed % 4], 32);
		int64_t n = seed < 2 ? 700 : draw(&f.random, 1, 40), d = draw(&f.random, 2, 12);
		int x = state_2(&f, "a", n, d), p = state_2(&f, "b", n, d);
		int m = state_2(&f, "c", n, 1), s = state_2(&f, "d", n, 1);
		int labels = labels_from_load(&f, n);
		ls_op_spec loss = {.kind = "cross_entropy", .name = "loss", .inputs = {x, p, m, s, labels}, .input_count = 5};
		ls_op_spec grad = {.kind = "cross_entropy_grad", .name = "dx", .inputs = {p, labels}, .input_count = 2};
		fixture_append(&f, seed % 2 ? &grad : &loss, kinds[seed / 8 % 4]);
		if (seed % 2 == 0) { // the twin needs a loss that is a number
			((float *)f.in[2])[n - 1] = 1;
			((float *)f.in[3])[n - 1] = 2;
			((float *)f.in[0])[n * d - 1] = 0.5f;
			((int32_t *)f.in[4])[n - 1] = (int32_t)d - 1;
		} else {
			((float *)f.in[0])[0] = 0.5f;
		}
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_channel_sum(void **state)
{
	static const int64_t rows[] = {1, 2, 255, 256, 257, 512, 700, 65536 + 300};
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 64; seed++) {
		struct fixture f;
		fixture_open(&f, 600 + seed, grids[seed % 4], 32);
		int64_t n = rows[seed / 2 % 8];
		bool large = n > 1000;
		int64_t images = large ? 300 : draw(&f.random, 1, 5), c = draw(&f.random, 1, 3), h = draw(&f.random, 1, 20);
		int x = seed % 2 ? state_2(&f, "a", n, large ? 3 : draw(&f.random, 1, 150))
		                 : state_4(&f, "a", images, c, h, large ? 1 : n);
		ls_op_spec spec = {.kind = "channel_sum", .name = "db", .inputs = {x}, .input_count = 1};
		fixture_append(&f, &spec, kinds[seed / 16 % 4]);
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

// Planes around a block of rsum, and small ones.
static void draw_images(struct fixture *f, int *a, int *b)
{
	static const int64_t heights[] = {1, 2, 15, 16, 17, 255, 256, 257, 300};
	int64_t n = draw(&f->random, 1, 4), c = draw(&f->random, 1, 5), h = heights[draw(&f->random, 0, 8)];
	int64_t w = draw(&f->random, 1, h > 100 ? 2 : 9);
	*a = state_4(f, "a", n, c, h, w);
	*b = state_4(f, "b", n, c, h, w);
}

static void test_channel_sums(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 64; seed++) {
		struct fixture f;
		int a, b;
		fixture_open(&f, 900 + seed, grids[seed % 4], 32);
		draw_images(&f, &a, &b);
		ls_op_spec stats = {.kind = "channel_stats", .name = "s", .inputs = {a}, .input_count = 1};
		ls_op_spec dot = {.kind = "channel_dot", .name = "s", .inputs = {a, b}, .input_count = 2};
		fixture_append(&f, seed / 4 % 2 ? &dot : &stats, kinds[seed / 8 % 4]);
		for (int64_t i = 0; f.in[1] && i < f.in_count[1]; i++) // the twin replaces what is not finite in the first input only
			((float *)f.in[1])[i] = draw_value(&f.random, NORMAL);
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_batch_norm(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 96; seed++) {
		struct fixture f;
		int a, b, p[4];
		fixture_open(&f, 1000 + seed, grids[seed % 4], 32);
		draw_images(&f, &a, &b);
		for (int i = 0; i < 4; i++) {
			char name[2] = {(char)('c' + i), 0};
			p[i] = ls_program_add_state(f.program, name, &(ls_shape){1, {ls_program_value(f.program, a)->shape.dim[1]}});
		}
		ls_op_spec forward = {.kind = "batch_norm", .name = "y", .inputs = {a, p[0], p[1], p[2], p[3]}, .input_count = 5};
		ls_op_spec backward = {.kind = "batch_norm_dinput", .name = "y", .inputs = {a, b, p[0], p[1], p[2], p[3]}, .input_count = 6};
		fixture_append(&f, seed / 4 % 2 ? &backward : &forward, kinds[seed / 8 % 4]);
		for (int i = 0; i < ls_program_op(f.program, f.op)->input_count; i++)
			((float *)f.in[i])[0] = 0.5f + (float)i;
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

// Two by two, the kind with loops of its own, over odd and even extents.
static void test_max2x2(void **state)
{
	for (uint32_t seed = 0; seed < 64; seed++) {
		struct fixture f;
		fixture_open(&f, 1200 + seed, grids[seed / 2 % 4], 32);
		int64_t n = draw(&f.random, 1, 3), c = draw(&f.random, 1, 3), h = draw(&f.random, 2, 9), w = draw(&f.random, 2, 80);
		int x = state_4(&f, "a", n, c, h, w), dy = state_4(&f, "b", n, c, h / 2, w / 2);
		ls_op_spec forward = {.kind = "maxpool", .name = "y", .inputs = {x}, .input_count = 1, .ints = {2, 2, 0}, .int_count = 3};
		ls_op_spec backward = {.kind = "maxpool_grad", .name = "y", .inputs = {dy, x}, .input_count = 2, .ints = {2, 2, 0},
		                       .int_count = 3};
		fixture_append(&f, seed % 2 ? &backward : &forward, kinds[seed / 8 % 4]);
		fixture_check(&f, NULL, true);
		fixture_close(&f);
	}
}

static void test_adaptive_pools(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 80; seed++) {
		struct fixture f;
		fixture_open(&f, 1300 + seed, grids[seed / 2 % 4], 32);
		bool whole = seed % 8 < 4, gradient = seed % 2;
		int64_t n = draw(&f.random, 1, 3), c = draw(&f.random, 1, 3), h = draw(&f.random, 1, 20), w = draw(&f.random, 1, 20);
		int64_t oh = whole ? 1 : draw(&f.random, 1, 8), ow = whole ? 1 : draw(&f.random, 1, 8);
		int x = state_4(&f, "a", n, c, h, w), dy = state_4(&f, "b", n, c, oh, ow);
		ls_op_spec forward = {.kind = "adaptive_avgpool", .name = "y", .inputs = {x}, .input_count = 1, .ints = {oh, ow},
		                      .int_count = 2};
		ls_op_spec backward = {.kind = "adaptive_avgpool_grad", .name = "y", .inputs = {dy}, .input_count = 1, .ints = {h, w},
		                       .int_count = 2};
		fixture_append(&f, gradient ? &backward : &forward, kinds[seed / 8 % 4]);
		((float *)f.in[0])[0] = 0.5f;
		fixture_check(&f, pool, !gradient || (h % oh == 0 && w % ow == 0));
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

// No inputs: the twin is another seed.
static void test_inits(void **state)
{
	for (uint32_t seed = 0; seed < 12; seed++) {
		struct fixture f;
		fixture_open(&f, 1400 + seed, 32, grids[seed % 4]);
		ls_op_spec spec = {.kind = seed % 2 ? "init_normal" : "init_uniform", .name = "y",
		                   .ints = {5, 3, 7, seed < 2 ? 5001 : draw(&f.random, 1, 9)}, .int_count = 4, .nums = {0.3},
		                   .num_count = 1};
		fixture_append(&f, &spec, NORMAL);
		fixture_check(&f, NULL, true);
		spec.name = "twin";
		spec.ints[0] = 6;
		int twin = ls_op_append(f.program, &spec);
		ls_op_call call = fixture_call(&f, NULL);
		call.op = ls_program_op(f.program, ls_program_value(f.program, twin)->op);
		assert_true(ls_kernel__rows_run(&call));
		assert_false(outputs_equal(&f));
		fixture_close(&f);
	}
}

// A load of 2-channel samples: crop < 0 leaves out the attributes of augmentation.
static void load_fixture(struct fixture *f, uint32_t seed, int64_t crop, int64_t flip)
{
	fixture_open(f, seed, grids[seed % 4], 32);
	int64_t samples = draw(&f->random, 9, 40), h = draw(&f->random, 1, 9), w = draw(&f->random, 2, 9);
	ls_op_spec spec = {.kind = "load", .name = "x", .ints = {samples, 9, 5, seed % 2, 2, h, w, crop, flip},
	                   .int_count = crop < 0 ? 7 : 9, .nums = {120.5, 33, 64.25, 71}, .num_count = 4};
	f->sample_size = 2 * h * w;
	f->bytes = ls_alloc((size_t)samples, (size_t)f->sample_size);
	for (int64_t i = 0; i < samples * f->sample_size; i++)
		f->bytes[i] = (uint8_t)draw(&f->random, 0, 255);
	fixture_append(f, &spec, NORMAL);
}

static void test_load(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 12; seed++) {
		struct fixture f;
		load_fixture(&f, 700 + seed, -1, 0);
		fixture_check(&f, pool, true);
		for (int64_t i = 0; i < ls_program_op(f.program, f.op)->ints[0] * f.sample_size; i++)
			f.bytes[i] ^= 1;
		ls_op_call call = fixture_call(&f, pool);
		assert_true(ls_kernel__rows_run(&call));
		assert_false(outputs_equal(&f));
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_load_augmented(void **state)
{
	static const int64_t crops[] = {0, 1, 4, 12};
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 24; seed++) {
		struct fixture f, plain;
		int64_t crop = crops[seed / 2 % 4], flip = !crop || seed % 2;
		load_fixture(&f, 800 + seed, crop, flip);
		fixture_check(&f, pool, true);
		load_fixture(&plain, 800 + seed, -1, 0); // the same samples as they are
		fixture_check(&plain, pool, true);
		assert_memory_equal(f.out[1], plain.out[1], (size_t)f.out_count[1] * 4);
		assert_memory_not_equal(f.out[0], plain.out[0], (size_t)f.out_count[0] * 4);
		ls_op_call call = fixture_call(&f, pool);
		call.step++; // other numbers, and other samples
		assert_true(ls_kernel__rows_run(&call));
		assert_false(outputs_equal(&f));
		fixture_close(&plain);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elementwise), cmocka_unit_test(test_reshape),       cmocka_unit_test(test_sgd),
		cmocka_unit_test(test_pools),       cmocka_unit_test(test_softmax),       cmocka_unit_test(test_cross_entropy),
		cmocka_unit_test(test_channel_sum), cmocka_unit_test(test_load),
		cmocka_unit_test(test_load_augmented),
		cmocka_unit_test(test_channel_sums), cmocka_unit_test(test_batch_norm), cmocka_unit_test(test_max2x2),
		cmocka_unit_test(test_adaptive_pools), cmocka_unit_test(test_inits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
