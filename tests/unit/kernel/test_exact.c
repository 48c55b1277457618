// R(E) of single elements: every instruction set and number of threads, every kind of operand, against fixed-point sums.
#include "kernel/exact.h"
#include "kernel/gemm.h"
#include "kernel/cases.h"

#define ISAS 3
static const char *const isa_names[ISAS] = {"portable", "avx2", "avx512"};

struct subject {
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
	ls_exact exact;
	uint64_t stage[LS_EXACT_STAGES];
};

// False where this processor has not got the instruction set.
static bool subject_open(struct subject *s, const char *isa, int threads)
{
	*s = (struct subject){.exact = {0}};
	if (ls_kernel__table_init(&s->table, isa, NULL) != LS_OK)
		return false;
	assert_int_equal(ls_pool_open(&s->pool, threads, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&s->gemm, &s->table, &ls_kernel__native_engine, s->pool, NULL), LS_OK);
	return true;
}

static void subject_close(struct subject *s)
{
	ls_kernel__exact_free(&s->exact);
	ls_kernel__gemm_free(s->gemm);
	ls_pool_free(s->pool);
}

// No op has a turned output, and ls_product_locate does not know of it.
static void straighten(product_case *c)
{
	ls_product *p = &c->product;
	if (p->inner == p->columns) {
		p->row_stride = p->columns;
		p->inner_stride = 1;
	}
}

// Every element that has terms is flagged by its FP64 sum, and then computed exactly, `step` flags at a time.
static void compute(struct subject *s, product_case *c, int bits, int64_t depth, size_t step, ls_flag_list *flags)
{
	ls_product_call call = case_call(c, flags);
	ls_exact_call exact = {.product = call.product, .a = call.a, .b = call.b, .bias = call.bias, .out = c->out, .bits = bits,
	                       .stage = s->stage};
	call.bits = bits;
	call.bound = exact.bound = ls_bound_fp64(depth);
	assert_int_equal(ls_kernel__gemm_run(s->gemm, &call, NULL), LS_OK);
	for (size_t at = 0; at < flags->count; at += step) {
		exact.flag = flags->flag + at;
		exact.count = flags->count - at < step ? flags->count - at : step;
		assert_int_equal(ls_kernel__exact_run(&s->exact, &s->table, &exact, s->pool, NULL), LS_OK);
	}
}

struct tally {
	int64_t elements, moved, nans;
};

// What the exact sums say, and how many elements the FP64 sums alone would have got wrong.
static void check(const product_case *c, int bits, const ls_flag_list *flags, struct tally *n)
{
	for (size_t f = 0; f < flags->count; f++) {
		const ls_flag *flag = &flags->flag[f];
		uint32_t found = ls_bits_f32(c->out[flag->index]), want;
		int64_t i, j;
		ls_sum sum;
		ls_product_locate(&c->product, flag->index, &i, &j);
		case_sum(c, i, j, &sum);
		want = ls_bits_f32(ls_sum_round(&sum, bits));
		n->nans += found == LS_NAN_BITS;
		if (c->kind == SPECIAL && found == LS_NAN_BITS) // perhaps for a factor beside a place that is no term
			continue;
		assert_int_equal(found, want);
		n->elements++;
		n->moved += ls_bits_f32(ls_round_f64(flag->c, bits)) != want;
	}
}

static void test_values_are_exact(void **state)
{
	for (int isa = 0; isa < ISAS; isa++)
		for (int threads = 1; threads <= 3; threads += 2) {
			struct subject s;
			struct tally n = {0, 0, 0};
			uint64_t stages = 0;
			if (!subject_open(&s, isa_names[isa], threads))
				continue;
			for (uint32_t seed = 0; seed < 150; seed++) {
				product_case c = case_random(4000 + seed);
				ls_flag_list flags = {0};
				straighten(&c);
				compute(&s, &c, seed % 3 ? 32 : 17, DEPTH_FLAGS_ALL, seed % 2 ? 7 : 100000, &flags);
				check(&c, seed % 3 ? 32 : 17, &flags, &n);
				for (int stage = 0; stage < LS_EXACT_STAGES; stage++)
					stages += s.stage[stage];
				assert_int_equal(stages, flags.count); // each is counted once
				stages = 0;
				memset(s.stage, 0, sizeof s.stage);
				ls_flag_list_free(&flags);
				case_free(&c);
			}
			assert_true(n.elements > 20000 && n.moved > 10 && n.nans > 100);
			subject_close(&s);
		}
}

// Small integers around a 2^24 each: half of all sums are ties. With opposite factors behind them, nothing or a crumb is left.
static product_case tied_case(bool cancelling)
{
	enum { M = 24, N = 24, K = 300 };
	random_source r = random_from(61);
	product_case c = {.kind = INTEGERS};
	case_matmul(&c, &r, M, N, K);
	straighten(&c);
	c.product.bias = LS_BIAS_NONE;
	case_fill(&c, &r);
	for (int64_t i = 0; i < M; i++) {
		c.a[ls_operand_index(&c.product.a, i, 0)] = 16777216.0f;
		for (int64_t k = 1; cancelling && k < K; k += 2)
			c.a[ls_operand_index(&c.product.a, i, k)] = -c.a[ls_operand_index(&c.product.a, i, k - 1)];
	}
	for (int64_t j = 0; j < N; j++) {
		c.b[ls_operand_index(&c.product.b, j, 0)] = (float)draw(&r, 1, 3);
		for (int64_t k = 1; cancelling && k < K; k += 2)
			c.b[ls_operand_index(&c.product.b, j, k)] = c.b[ls_operand_index(&c.product.b, j, k - 1)];
		if (cancelling)
			c.b[ls_operand_index(&c.product.b, j, K - 1)] += draw(&r, 0, 1) ? 0x1p-60f : 0x1p-20f;
	}
	return c;
}

static void test_ties_and_cancelled_sums(void **state)
{
	for (int isa = 0; isa < ISAS; isa++)
		for (int cancelling = 0; cancelling < 2; cancelling++) {
			struct subject s;
			struct tally n = {0, 0, 0};
			product_case c = tied_case(cancelling);
			ls_flag_list flags = {0};
			if (!subject_open(&s, isa_names[isa], 2))
				continue;
			compute(&s, &c, 32, 1024, 100000, &flags); // a depth that a job would have
			check(&c, 32, &flags, &n);
			assert_true(n.elements > c.out_count / 4);
			ls_flag_list_free(&flags);
			case_free(&c);
			subject_close(&s);
		}
}

// Exponents from one end of FP32 to the other, so that the first bin sees next to nothing of what is left.
static void test_every_stage_is_needed(void **state)
{
	struct subject s;
	struct tally n = {0, 0, 0};
	assert_true(subject_open(&s, NULL, 1));
	for (uint32_t seed = 0; seed < 200; seed++) {
		random_source r = random_from(8000 + seed);
		product_case c = {.kind = WIDE};
		ls_flag_list flags = {0};
		case_matmul(&c, &r, 6, 6, draw(&r, 2, 60) * 2);
		straighten(&c);
		c.product.bias = LS_BIAS_NONE;
		case_fill(&c, &r);
		for (int64_t k = 0, half = c.product.terms / 2; k + 1 < half; k++) // all but two terms cancel in the end
			for (int64_t i = 0; i < 6; i++) {
				c.a[ls_operand_index(&c.product.a, i, k + half)] = -c.a[ls_operand_index(&c.product.a, i, k)];
				c.b[ls_operand_index(&c.product.b, i, k + half)] = c.b[ls_operand_index(&c.product.b, i, k)];
			}
		compute(&s, &c, 32, DEPTH_FLAGS_ALL, 100000, &flags);
		check(&c, 32, &flags, &n);
		ls_flag_list_free(&flags);
		case_free(&c);
	}
	for (int stage = LS_EXACT_BIN; stage < LS_EXACT_STAGES; stage++)
		assert_true(s.stage[stage] > 20);
	assert_true(n.moved > 500);
	subject_close(&s);
}

// A changed factor changes the answer, and an element that is not asked for keeps its value.
static void test_twin(void **state)
{
	struct subject s;
	ls_flag_list flags = {0};
	product_case c = case_random(4001);
	ls_exact_call call = {.product = &c.product, .a = c.a, .b = c.b, .bias = c.product.bias ? c.bias : NULL, .out = c.out, .bits = 32,
	                      .bound = ls_bound_fp64(DEPTH_FLAGS_ALL)};
	float before;
	straighten(&c);
	assert_true(subject_open(&s, NULL, 1));
	compute(&s, &c, 32, DEPTH_FLAGS_ALL, 100000, &flags);
	assert_true(flags.count > 2);
	before = c.out[flags.flag[0].index];
	for (int64_t k = 0; k < c.a_count; k++)
		c.a[k] = 3 * c.a[k] + 1;
	call.stage = s.stage;
	call.flag = flags.flag;
	call.count = 1;
	call.bound = ls_bound_fp32(ls_product_all_terms(&c.product)); // no help from t, which belongs to other factors
	c.out[flags.flag[1].index] = 12345;
	assert_int_equal(ls_kernel__exact_run(&s.exact, &s.table, &call, s.pool, NULL), LS_OK);
	assert_int_not_equal(ls_bits_f32(before), ls_bits_f32(c.out[flags.flag[0].index]));
	assert_int_equal(ls_bits_f32(c.out[flags.flag[1].index]), ls_bits_f32(12345));
	call.count = 0;
	assert_int_equal(ls_kernel__exact_run(&s.exact, &s.table, &call, s.pool, NULL), LS_OK);
	ls_flag_list_free(&flags);
	case_free(&c);
	subject_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_exact),
		cmocka_unit_test(test_ties_and_cancelled_sums),
		cmocka_unit_test(test_every_stage_is_needed),
		cmocka_unit_test(test_twin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
