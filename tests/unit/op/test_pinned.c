// Mode pinned: the definition of one element against sums of which every step is computed exactly and rounded, and by hand.
#include "op/support.h"

/* The fused multiply-add as what it means: the exact a·b + c, rounded once. */
static float fused(float a, float b, float c)
{
	ls_sum sum;
	ls_sum_init(&sum);
	ls_sum_add(&sum, a, b);
	ls_sum_add(&sum, c, 1);
	return ls_sum_round(&sum, 32);
}

typedef struct row {
	int64_t terms;
	float *a, *b, *bias; // bias NULL: none
} row;

typedef enum sum_rule { PINNED, BLOCKS_OF_128, NO_BLOCKS, UNFUSED, BIAS_AT_THE_END, DESCENDING, RULES } sum_rule;

/* The pinned sum of whole rows, or one of the rules that it is not. */
static float sum_by(sum_rule rule, const row *r)
{
	int64_t block = rule == BLOCKS_OF_128 ? 128 : rule == NO_BLOCKS ? r->terms : 256;
	float total = 0;
	for (int64_t first = 0; first < r->terms; first += block) {
		float acc = 0;
		int64_t end = first + block < r->terms ? first + block : r->terms;
		for (int64_t i = first; i < end; i++) {
			int64_t k = rule == DESCENDING ? first + end - 1 - i : i;
			acc = rule == UNFUSED ? acc + r->a[k] * r->b[k] : fused(r->a[k], r->b[k], acc);
		}
		if (r->bias && end == r->terms && rule != BIAS_AT_THE_END)
			acc = fused(*r->bias, 1, acc);
		total = first ? total + acc : acc;
	}
	return r->bias && rule == BIAS_AT_THE_END ? total + *r->bias : total;
}

static row row_open(int64_t terms, bool bias)
{
	row r = {terms, calloc((size_t)terms, 4), calloc((size_t)terms, 4), bias ? calloc(1, 4) : NULL};
	assert_true(r.a && r.b && (!bias || r.bias));
	return r;
}

static void row_close(row *r)
{
	free(r->a);
	free(r->b);
	free(r->bias);
}

static uint32_t word_of(void *context, int input, int64_t index)
{
	const row *r = context;
	return ls_bits_f32(input == 0 ? r->a[index] : input == 1 ? r->b[index] : r->bias[index]);
}

static ls_product product_of(const row *r)
{
	ls_operand o = {.kind = LS_OPERAND_STRIDED, .row_stride = r->terms, .inner = r->terms, .inner_stride = 1};
	ls_product p = {.rows = 1, .columns = 1, .terms = r->terms, .a = o, .b = o, .row_stride = 1, .inner = 1, .inner_stride = 1};
	p.b.input = 1;
	p.bias = r->bias ? LS_BIAS_COLUMN : LS_BIAS_NONE;
	p.bias_input = 2;
	return p;
}

static float pinned(const row *r, int bits)
{
	ls_reader reader = {.context = (void *)r, .word = word_of};
	ls_product p = product_of(r);
	return ls_product_pinned(&reader, &p, 0, 0, bits);
}

static void fill(row *r, uint64_t seed)
{
	ls_stream stream = {7, LS_PURPOSE_TEST, seed};
	uint64_t n = 0;
	for (int64_t k = 0; k < r->terms; k++) {
		r->a[k] = ls_f32(2 * ls_random_uniform(&stream, n++) - 1);
		r->b[k] = ls_f32(2 * ls_random_uniform(&stream, n++) - 1);
	}
	if (r->bias)
		*r->bias = ls_f32(2 * ls_random_uniform(&stream, n) - 1);
}

static void test_sums_of_every_length(void **state)
{
	static const int64_t lengths[] = {1, 2, 3, 127, 128, 129, 255, 256, 257, 511, 512, 513, 767, 768, 1000, 1025, 2304};
	int differ[RULES] = {0};
	for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			row r = row_open(lengths[i / 2], i % 2);
			fill(&r, 1000 * i + seed);
			float expected = sum_by(PINNED, &r);
			assert_int_equal(ls_bits_f32(pinned(&r, 32)), ls_bits_f32(expected));
			assert_int_equal(ls_bits_f32(pinned(&r, 19)), ls_bits_f32(ls_round_f64((double)expected, 19)));
			for (int rule = 0; rule < RULES; rule++)
				differ[rule] += ls_bits_f32(sum_by((sum_rule)rule, &r)) != ls_bits_f32(expected);
			row_close(&r);
		}
	assert_int_equal(differ[PINNED], 0);
	for (int rule = PINNED + 1; rule < RULES; rule++)
		assert_true(differ[rule] > 20);
}

/* 2^24 + 1 is a tie that goes to 2^24: ones are lost behind it in its block, and count in the next. */
static void test_blocks_by_hand(void **state)
{
	row r = row_open(600, true);
	for (int64_t k = 0; k < r.terms; k++)
		r.a[k] = r.b[k] = 1;
	r.a[0] = 0x1p24f;
	*r.bias = 3;
	// 2^24, then 256 ones, then 88 ones and the bias
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), ls_bits_f32(0x1p24f + 256 + 92)); // 91, to even
	r.a[0] = 0;
	r.a[255] = 0x1p24f; // the 254 ones before it count
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), ls_bits_f32(0x1p24f + 254 + 256 + 90)); // 91, to even
	r.a[255] = 1;
	r.a[256] = 0x1p24f; // the second block is 2^24: all its ones are lost, and 255 and 91 go to even
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), ls_bits_f32(0x1p24f + 256 + 92));
	row_close(&r);
}

static void test_one_zero_and_one_nan(void **state)
{
	const float inf = __builtin_inff();
	row r = row_open(300, true);
	for (int64_t k = 0; k < r.terms; k++)
		r.a[k] = 1;
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), 0);
	*r.bias = -0.0f;
	r.a[3] = -0x1p-100f;
	r.b[3] = 0x1p-100f; // rounds to −0
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), 0);
	r.b[10] = inf;
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), LS_NAN_BITS);
	r.b[10] = 0;
	r.a[10] = inf;
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), LS_NAN_BITS);
	r.a[10] = 0;
	*r.bias = -inf; // its term is as every other
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), LS_NAN_BITS);
	*r.bias = 1;
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), ls_bits_f32(1));
	row_close(&r);
}

/* Finite factors whose sum overflows: infinite, and NaN where blocks overflow both ways. */
static void test_overflow(void **state)
{
	row r = row_open(300, false);
	r.a[0] = r.a[1] = 0x1p127f;
	r.b[0] = r.b[1] = 1;
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), ls_bits_f32(__builtin_inff()));
	r.a[2] = -0x1p127f; // too late
	r.b[2] = 1.5f;
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), ls_bits_f32(__builtin_inff()));
	r.a[290] = r.a[291] = -0x1p127f;
	r.b[290] = r.b[291] = 1;
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), LS_NAN_BITS);
	r.b[1] = r.b[2] = r.b[291] = 0; // and where only the sum of blocks is in question, they cancel
	assert_int_equal(ls_bits_f32(pinned(&r, 32)), 0);
	row_close(&r);
}

/* A tap that is none keeps its place in the blocks, and what lies beside it is not looked at. */
static void test_taps_that_are_none(void **state)
{
	ls_patches patches = {.channels = 300, .height = 1, .width = 1, .kernel_height = 1, .kernel_width = 2, .out_height = 1,
	                      .out_width = 1, .step = 1, .offset = 0, .tap = 1, .divisor = 1};
	row r = row_open(600, false), packed = row_open(300, false);
	ls_reader reader = {.context = &r, .word = word_of};
	ls_product p = product_of(&r);
	float value;
	int differ = 0;
	p.b = (ls_operand){.kind = LS_OPERAND_PATCHES, .input = 1, .patches = patches};
	for (uint64_t seed = 0; seed < 50; seed++) {
		row whole = row_open(600, false);
		fill(&r, seed);
		for (int64_t c = 0; c < 300; c++) { // tap 2c meets element c, tap 2c+1 none
			whole.a[2 * c] = packed.a[c] = r.a[2 * c];
			whole.b[2 * c] = packed.b[c] = r.b[c];
			r.a[2 * c + 1] = __builtin_inff();
		}
		value = ls_product_pinned(&reader, &p, 0, 0, 32);
		assert_int_equal(ls_bits_f32(value), ls_bits_f32(sum_by(PINNED, &whole)));
		differ += ls_bits_f32(value) != ls_bits_f32(sum_by(PINNED, &packed)); // as if only terms counted
		row_close(&whole);
	}
	assert_true(differ > 5);
	row_close(&r);
	row_close(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_of_every_length), cmocka_unit_test(test_blocks_by_hand), cmocka_unit_test(test_one_zero_and_one_nan),
		cmocka_unit_test(test_overflow), cmocka_unit_test(test_taps_that_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
