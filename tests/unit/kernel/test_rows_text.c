// Row kernels of the ops of models that read text, of clipping and of Adam, against their definitions, bit for bit.
#include "kernel/rows_fixture.h"

static int state_1(struct fixture *f, const char *name, int64_t n)
{
	return ls_program_add_state(f->program, name, &(ls_shape){1, {n}});
}

// Tokens can only come from a load.
static int tokens_from_load(struct fixture *f, int64_t rows, int64_t length)
{
	ls_op_spec spec = {.kind = "load_tokens", .name = "tokens", .ints = {rows, rows, 0, 0, length, 0, rows}, .int_count = 7};
	return ls_op_append(f->program, &spec);
}

// The twin changes the first input; the others stay numbers, and so does some element of it.
static void check(struct fixture *f, const ls_op_spec *spec, values kind, ls_pool *pool)
{
	fixture_append(f, spec, kind);
	for (int i = 0; i < ls_program_op(f->program, f->op)->input_count; i++)
		if (ls_program_value(f->program, ls_program_op(f->program, f->op)->inputs[i])->dtype == LS_F32)
			((float *)f->in[i])[0] = 0.5f + 0.25f * (float)i;
	fixture_check(f, pool, true);
	fixture_close(f);
}

static void test_load_tokens(void **state)
{
	for (uint32_t seed = 0; seed < 12; seed++) {
		struct fixture f;
		fixture_open(&f, seed, 32, 32);
		int64_t batch = draw(&f.random, 2, 9), rows = draw(&f.random, 1, batch - 1);
		ls_op_spec spec = {.kind = "load_tokens", .name = "x", .int_count = 7,
		                   .ints = {batch * 5, batch, 7, seed % 2, draw(&f.random, 1, 40), batch - rows, rows}};
		fixture_append(&f, &spec, NORMAL);
		fixture_check(&f, NULL, true);
		assert_memory_not_equal(f.out[0], f.out[1], (size_t)f.out_count[0] * 4); // labels are one further
		ls_op_call call = fixture_call(&f, NULL);
		call.step++;
		assert_true(ls_kernel__rows_run(&call));
		assert_false(outputs_equal(&f));
		fixture_close(&f);
	}
}

static void test_embedding(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 48; seed++) {
		struct fixture f;
		fixture_open(&f, 100 + seed, grids[seed % 4], 32);
		bool gradient = seed / 4 % 2;
		int64_t rows = draw(&f.random, 1, 40), length = draw(&f.random, 1, seed < 8 ? 400 : 9), columns = draw(&f.random, 2, 150);
		int table = state_2(&f, "a", columns, columns), dy = state_2(&f, "b", rows * length, columns);
		int tokens = tokens_from_load(&f, rows, length);
		ls_op_spec forward = {.kind = "embedding", .name = "y", .inputs = {table, tokens}, .input_count = 2};
		ls_op_spec backward = {.kind = "embedding_grad", .name = "y", .inputs = {dy, tokens}, .input_count = 2,
		                       .ints = {seed < 8 ? 3 : columns}, .int_count = 1};
		fixture_append(&f, gradient ? &backward : &forward, kinds[seed / 8 % 4]);
		((int32_t *)f.in[1])[rows * length - 1] = 0;
		((float *)f.in[0])[gradient ? (rows * length - 1) * columns : 0] = 0.25f;
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_positions(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 48; seed++) {
		struct fixture f;
		fixture_open(&f, 200 + seed, grids[seed % 4], 32);
		int64_t length = draw(&f.random, 1, 9), longest = length + draw(&f.random, 0, 3), columns = draw(&f.random, 1, 80);
		int64_t rows = length * (seed < 8 ? 300 : draw(&f.random, 1, 9));
		int x = state_2(&f, "a", rows, columns), table = state_2(&f, "b", longest, columns);
		ls_op_spec forward = {.kind = "position_add", .name = "y", .inputs = {x, table}, .input_count = 2, .ints = {length},
		                      .int_count = 1};
		ls_op_spec backward = {.kind = "position_grad", .name = "y", .inputs = {x}, .input_count = 1, .ints = {length, longest},
		                       .int_count = 2};
		check(&f, seed / 4 % 2 ? &backward : &forward, kinds[seed / 8 % 4], pool);
	}
	ls_pool_free(pool);
}

static void test_columns(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 48; seed++) {
		struct fixture f;
		fixture_open(&f, 300 + seed, grids[seed % 4], 32);
		int64_t parts = draw(&f.random, 2, 4), rows = draw(&f.random, 1, 50), columns = draw(&f.random, 1, 50);
		int whole = state_2(&f, "a", rows, parts * columns);
		ls_op_spec split = {.kind = "split_columns", .name = "y", .inputs = {whole}, .input_count = 1, .ints = {parts}, .int_count = 1};
		ls_op_spec join = {.kind = "join_columns", .name = "y", .input_count = (int)parts};
		for (int i = 0; i < parts; i++)
			join.inputs[i] = state_2(&f, (char[]){(char)('b' + i), 0}, rows, columns);
		check(&f, seed / 4 % 2 ? &join : &split, kinds[seed / 8 % 4], pool);
	}
	ls_pool_free(pool);
}

static void test_factors(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 64; seed++) {
		struct fixture f;
		fixture_open(&f, 400 + seed, grids[seed % 4], 32);
		int64_t rows = draw(&f.random, 1, 60), columns = seed < 16 ? 700 : draw(&f.random, 1, 60);
		int x = state_2(&f, "a", rows, columns), s = state_1(&f, "b", 1);
		ls_op_spec scale = {.kind = "scale", .name = "y", .inputs = {x}, .input_count = 1, .nums = {-0.3}, .num_count = 1};
		ls_op_spec by = {.kind = "scale_by", .name = "y", .inputs = {x, s}, .input_count = 2};
		ls_op_spec drop = {.kind = "dropout", .name = "y", .inputs = {x}, .input_count = 1, .ints = {5, seed}, .int_count = 2,
		                   .nums = {seed % 3 ? 0.1 : 0.75}, .num_count = 1};
		ls_op_spec square = {.kind = "square_sum", .name = "y", .inputs = {x}, .input_count = 1};
		check(&f, (const ls_op_spec *[]){&scale, &by, &drop, &square}[seed / 4 % 4], seed / 4 % 4 == 3 ? NORMAL : kinds[seed / 16 % 4], pool);
	}
	ls_pool_free(pool);
}

static void test_layer_norm(void **state)
{
	static const int64_t widths[] = {1, 7, 255, 256, 257, 768};
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 96; seed++) {
		struct fixture f;
		fixture_open(&f, 500 + seed, grids[seed % 4], 32);
		int64_t rows = draw(&f.random, 1, 30), columns = widths[seed / 4 % 6];
		int x = state_2(&f, "a", rows, columns), normal = state_2(&f, "b", rows, columns);
		int gamma = state_1(&f, "c", columns), beta = state_1(&f, "d", columns);
		int mean = state_1(&f, "e", rows), r = state_1(&f, "f", rows), s = state_1(&f, "g", rows);
		ls_op_spec specs[] = {
			{.kind = "row_stats", .name = "y", .inputs = {x}, .input_count = 1},
			{.kind = "layer_norm", .name = "y", .inputs = {x, gamma, beta, mean, r}, .input_count = 5},
			{.kind = "layer_norm_sums", .name = "y", .inputs = {x, normal, gamma}, .input_count = 3},
			{.kind = "layer_norm_dinput", .name = "y", .inputs = {x, normal, gamma, r, mean, s}, .input_count = 6},
			{.kind = "channel_dot", .name = "y", .inputs = {x, normal}, .input_count = 2},
		};
		fixture_append(&f, &specs[seed % 5], kinds[seed / 24 % 4]);
		for (int i = 1; i < specs[seed % 5].input_count; i++) // the twin replaces what is not finite in the first input only
			for (int64_t k = 0; k < f.in_count[i]; k++)
				((float *)f.in[i])[k] = draw_value(&f.random, NORMAL);
		fixture_check(&f, pool, true);
		fixture_close(&f);
	}
	ls_pool_free(pool);
}

static void test_attention(void **state)
{
	ls_pool *pool = pool_of_two();
	for (uint32_t seed = 0; seed < 72; seed++) {
		struct fixture f;
		fixture_open(&f, 700 + seed, grids[seed % 4], 32);
		int64_t batch = draw(&f.random, 1, 3), heads = draw(&f.random, 1, 3), width = draw(&f.random, 1, 40);
		int64_t length = seed < 6 ? 300 : draw(&f.random, 1, 20);
		int z = state_4(&f, "a", batch, heads, length, length), p = state_4(&f, "b", batch, heads, length, length);
		int dot = ls_program_add_state(f.program, "c", &(ls_shape){3, {batch, heads, length}});
		int x = state_2(&f, "d", batch * length, heads * width), y = state_2(&f, "e", batch * length, heads * width);
		ls_op_spec softmax = {.kind = "causal_softmax", .name = "y", .inputs = {z}, .input_count = 1};
		ls_op_spec grad = {.kind = "causal_softmax_grad", .name = "y", .inputs = {z, p, dot}, .input_count = 3};
		ls_op_spec sum = {.kind = "head_dot", .name = "y", .inputs = {x, y}, .input_count = 2, .ints = {batch, heads}, .int_count = 2};
		check(&f, (const ls_op_spec *[]){&softmax, &grad, &sum}[seed % 3], kinds[seed / 12 % 4], pool);
	}
	ls_pool_free(pool);
}

static void test_adam(void **state)
{
	for (uint32_t seed = 0; seed < 48; seed++) {
		struct fixture f;
		fixture_open(&f, 800 + seed, 32, seed % 5 ? 32 : 19);
		int64_t n = seed < 4 ? 20000 : draw(&f.random, 1, 300);
		int w = state_1(&f, "a", n), g = state_1(&f, "b", n), m = state_1(&f, "c", n), v = state_1(&f, "d", n);
		ls_op_spec spec = {.kind = "adam", .name = "w", .inputs = {w, g, m, v}, .input_count = 4,
		                   .ints = {seed % 2, seed / 2 % 4, 2, 1, 20}, .int_count = 5,
		                   .nums = {0.01, 0.9, 0.999, 1e-8, seed % 3 ? 0.1 : 0, 0.5}, .num_count = 6};
		check(&f, &spec, kinds[seed / 8 % 4], NULL);
	}
}

static void test_ignored_labels(void **state)
{
	for (int parts = 1; parts < 4; parts++)
		for (int gradient = 0; gradient < 2; gradient++) {
			struct fixture f;
			fixture_open(&f, 900 + (uint32_t)parts, 32, 32);
			int x = state_2(&f, "a", 12, 5), p = state_2(&f, "b", 12, 5), m = state_2(&f, "c", 12, 1), s = state_2(&f, "d", 12, 1);
			int labels = tokens_from_load(&f, 4, 3);
			ls_op_spec loss = {.kind = "cross_entropy", .name = "loss", .inputs = {x, p, m, s, labels}, .input_count = 5,
			                   .ints = {parts}, .int_count = parts > 1};
			ls_op_spec grad = {.kind = "cross_entropy_grad", .name = "dx", .inputs = {p, labels}, .input_count = 2, .ints = {parts},
			                   .int_count = parts > 1};
			fixture_append(&f, gradient ? &grad : &loss, NORMAL);
			int32_t *label = f.in[gradient ? 1 : 4];
			for (int i = 0; i < 12; i++)
				label[i] = i % 3 ? i % 5 : -1;
			for (int i = 0; !gradient && i < 12; i++)
				((float *)f.in[3])[i] = 1.5f;
			fixture_check(&f, NULL, true);
			fixture_close(&f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_tokens), cmocka_unit_test(test_embedding),  cmocka_unit_test(test_positions),
		cmocka_unit_test(test_columns),     cmocka_unit_test(test_factors),    cmocka_unit_test(test_layer_norm),
		cmocka_unit_test(test_attention),   cmocka_unit_test(test_adam),       cmocka_unit_test(test_ignored_labels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
