// Convolutions by minimal filtering: what is not flagged is R(E), and every sum lies within its flag's t of E.
#include "kernel/exact.h"
#include "kernel/engine.h"
#include "kernel/winograd.h"

// Odd and even images, every padding, one block of terms and more, in all three directions.
static product_case convolution(uint32_t seed)
{
	random_source r = random_from(seed);
	product_case c = {.kind = (values)(seed / 3 % VALUE_KINDS)};
	int64_t channels = draw(&r, 0, 3) ? 40 : 150;
	conv_shape s = {.images = draw(&r, 1, 3), .in = draw(&r, 16, channels), .out = draw(&r, 16, 40), .kh = 3, .kw = 3, .stride = 1,
	                .pad = draw(&r, 0, 2)};
	s.h = draw(&r, 3, 12);
	s.w = draw(&r, 3, 12);
	if (seed % 3 == 2) // enough terms for the gradient of a kernel
		s.images = 257 / ((s.h + 2 * s.pad - 2) * (s.w + 2 * s.pad - 2)) + draw(&r, 1, 3);
	case_conv_of(&c, &r, (int)(seed % 3), &s);
	case_fill(&c, &r);
	return c;
}

static ls_product_call call_of(const product_case *c, ls_flag_list *flags, int64_t depth)
{
	ls_product_call call = case_call(c, flags);
	if (depth)
		call.bound = ls_bound_fp64(depth);
	call.any_sum = true;
	call.bias = c->bias; // also where the product has none: whoever calls may have one at hand
	return call;
}

static void locate_all(const ls_product *p, int64_t *row, int64_t *column)
{
	for (int64_t i = 0; i < p->rows; i++)
		for (int64_t j = 0; j < p->columns; j++) {
			int64_t index = ls_product_out_index(p, i, j);
			row[index] = i;
			column[index] = j;
		}
}

struct counts {
	size_t elements, flags, off, beyond; // off: C is not E; beyond: by more than t/1024
};

static void check(const product_case *c, const ls_product_call *call, struct counts *counts)
{
	const ls_flag *flag = call->flags->flag, *end = flag + call->flags->count;
	int64_t *row = ls_alloc((size_t)c->out_count, sizeof *row), *column = ls_alloc((size_t)c->out_count, sizeof *column);
	locate_all(&c->product, row, column);
	for (int64_t index = 0; index < c->out_count; index++) {
		ls_sum sum;
		case_sum(c, row[index], column[index], &sum);
		counts->elements++;
		if (flag == end || flag->index != index) {
			assert_false(sum.non_finite);
			assert_int_equal(ls_bits_f32(call->out[index]), ls_bits_f32(ls_sum_round(&sum, call->bits)));
			continue;
		}
		assert_int_equal(ls_bits_f32(call->out[index]), ls_bits_f32(ls_round_f64(flag->c, call->bits)));
		if (sum.non_finite)
			assert_false(flag->c - flag->c == 0);
		else if (flag->c - flag->c == 0 && flag->t - flag->t == 0) { // not where a tile's other places are not finite
			assert_true(ls_sum_near(&sum, flag->c, flag->t));
			counts->off += !ls_sum_near(&sum, flag->c, 0);
			counts->beyond += !ls_sum_near(&sum, flag->c, flag->t / 1024);
		}
		counts->flags++;
		flag++;
	}
	assert_true(flag == end);
	ls_free(row);
	ls_free(column);
}

// With the flagged elements computed exactly all are R(E), also where t is of places that an element has no part in.
static void settle(struct engine *e, const product_case *c, const ls_product_call *call)
{
	ls_exact space = {0};
	uint64_t stages[LS_EXACT_STAGES] = {0};
	ls_exact_call exact = {.product = call->product, .a = call->a, .b = call->b, .bias = call->bias, .out = call->out, .bits = call->bits,
	                       .bound = call->bound, .flag = call->flags->flag, .count = call->flags->count, .stage = stages};
	assert_int_equal(ls_kernel__exact_run(&space, &e->table, &exact, e->pool, NULL), LS_OK);
	for (int64_t i = 0; i < c->product.rows; i++)
		for (int64_t j = 0; j < c->product.columns; j++) {
			float value = call->out[ls_product_out_index(&c->product, i, j)];
			ls_sum sum;
			case_sum(c, i, j, &sum);
			if (!sum.non_finite && (value == value || c->kind != SPECIAL)) // NaN: beside a place that is no term
				assert_int_equal(ls_bits_f32(value), ls_bits_f32(ls_sum_round(&sum, call->bits)));
		}
	ls_kernel__exact_free(&space);
}

static void test_what_is_settled_is_right_and_t_covers_the_error(void **state)
{
	for (int isa = 0; isa < ISAS; isa++) {
		struct engine e;
		struct counts few = {0}, all = {0};
		ls_flag_list flags = {0};
		if (!engine_open(&e, isa_names[isa], 1 + isa))
			continue;
		for (uint32_t seed = 0; seed < 60; seed++) {
			product_case c = convolution(seed + 100 * (uint32_t)isa);
			ls_product_call call = call_of(&c, &flags, 0);
			assert_true(ls_kernel__winograd_takes(&call));
			call.bits = seed % 4 == 3 ? 26 : 32;
			call.sample = c.out_count / 2;
			assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
			check(&c, &call, &few);
			settle(&e, &c, &call);
			case_free(&c);
		}
		for (uint32_t seed = 0; seed < 15; seed++) { // every element shows its sum, but what t is of d = 513 is divided out again
			product_case c = convolution(seed + 1000);
			ls_product_call call = call_of(&c, &flags, DEPTH_FLAGS_ALL);
			double shrink = (double)ls_kernel__winograd_depth(&c.product) / (double)DEPTH_FLAGS_ALL;
			assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
			for (size_t f = 0; f < flags.count; f++)
				flags.flag[f].t *= shrink;
			check(&c, &call, &all);
			case_free(&c);
		}
		print_message("%s: %zu of %zu elements flagged; of %zu sums %zu are not exact, %zu off by more than t/1024\n", isa_names[isa], few.flags,
		              few.elements, all.flags, all.off, all.beyond);
		assert_true(few.flags < few.elements / 2 && all.off > all.flags / 4 && all.beyond > 0);
		ls_flag_list_free(&flags);
		engine_close(&e);
	}
}

// A call's flags, and whether the twin's are the same.
static bool agree(struct engine *e, const ls_product_call *call, struct engine *other, const ls_product_call *twin)
{
	assert_int_equal(ls_kernel__gemm_run(e->gemm, call, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_run(other->gemm, twin, NULL), LS_OK);
	return same_flags(call->flags, twin->flags);
}

static void test_threads_change_nothing_and_the_direct_way_does(void **state)
{
	struct engine one, three;
	int moved = 0;
	assert_true(engine_open(&one, NULL, 1) && engine_open(&three, NULL, 3));
	for (uint32_t seed = 0; seed < 24; seed++) {
		product_case c = convolution(seed);
		ls_flag_list flags = {0}, others = {0};
		ls_product_call call = call_of(&c, &flags, DEPTH_FLAGS_ALL), twin = call;
		twin.flags = &others;
		assert_true(agree(&one, &call, &three, &twin));
		twin.any_sum = false;
		assert_false(ls_kernel__winograd_takes(&twin));
		moved += !agree(&one, &call, &three, &twin);
		case_free(&c);
		ls_flag_list_free(&flags);
		ls_flag_list_free(&others);
	}
	assert_true(moved > 12); // small integers have the same sums
	engine_close(&one);
	engine_close(&three);
}

static void refuse(ls_product_call call, const char *what)
{
	if (ls_kernel__winograd_takes(&call))
		fail_msg("%s: taken", what);
}

static void test_nothing_else_is_taken(void **state)
{
	product_case c = convolution(0), gradient = convolution(2);
	ls_flag_list flags = {0};
	ls_product_call call = call_of(&c, &flags, 0);
	const ls_product p = c.product, g = gradient.product;
	assert_true(ls_kernel__winograd_takes(&call));
	refuse((call.test = false, call), "no test");
	call.test = true;
	refuse((call.bound.kind = LS_BOUND_WINDOW, call), "a window");
	call.bound.kind = LS_BOUND_FP64;
	refuse((c.product.b.patches.step = 2, call), "a stride");
	c.product = p;
	refuse((c.product.b.patches.divisor = 2, call), "a divisor");
	c.product = p;
	refuse((c.product.b.patches.kernel_width = 4, call), "a wider kernel");
	c.product = p;
	refuse((c.product.terms = 15 * 9, call), "few channels");
	c.product = p;
	refuse((c.product.rows = 15, call), "few rows");
	c.product = p;
	refuse((c.product.a.mask = LS_MASK_UPTO, call), "a mask");
	c.product = p;
	call.product = &gradient.product;
	assert_true(ls_kernel__winograd_takes(&call));
	refuse((gradient.product.terms = 256, call), "a small gradient");
	gradient.product = g;
	refuse((gradient.product.a.outer_stride++, call), "a tensor with gaps");
	gradient.product = g;
	case_free(&c);
	case_free(&gradient);
}

enum { COUNT = 3, LANES = 21, NUMBERS = 16 * COUNT * LANES };

static void run_filter(const ls_kernel_table *t, int filter, const double *in, double *out)
{
	ls_filter_run run = {.in = in, .out = out, .in_step = 16 * LANES, .in_place = LANES, .out_step = 16 * LANES, .out_place = LANES, .count = COUNT,
	                     .lanes = LANES};
	memset(out, 0, NUMBERS * sizeof *out);
	t->filter[filter](&run);
	run.lanes = 3; // fewer than a register
	run.in += LANES * 16 * (COUNT - 1);
	run.out += LANES * 16 * (COUNT - 1) + 3;
	run.count = 1;
	t->filter[filter](&run);
}

static void test_transforms_have_the_same_bits_on_every_isa(void **state)
{
	static double in[NUMBERS], expected[NUMBERS], got[NUMBERS];
	random_source r = random_from(1);
	ls_kernel_table portable, other;
	assert_int_equal(ls_kernel__table_init(&portable, "portable", NULL), LS_OK);
	for (int i = 0; i < NUMBERS; i++)
		in[i] = (double)draw_value(&r, NORMAL) * (1 + 0x1p-40 * (double)draw_value(&r, NORMAL));
	for (int filter = 0; filter < LS_FILTERS; filter++)
		for (int isa = 1; isa < ISAS; isa++) {
			if (ls_kernel__table_init(&other, isa_names[isa], NULL) != LS_OK)
				continue;
			run_filter(&portable, filter, in, expected);
			run_filter(&other, filter, in, got);
			assert_memory_equal(expected, got, sizeof got);
			in[LANES + 5] *= 2;
			run_filter(&other, filter, in, got);
			assert_memory_not_equal(expected, got, sizeof got);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_settled_is_right_and_t_covers_the_error),
		cmocka_unit_test(test_threads_change_nothing_and_the_direct_way_does),
		cmocka_unit_test(test_nothing_else_is_taken),
		cmocka_unit_test(test_transforms_have_the_same_bits_on_every_isa),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
