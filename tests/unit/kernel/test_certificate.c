// The exactness certificate: sums that FP64 holds are settled though they are ties, others are not.
#include "kernel/certificate.h"
#include "kernel/gemm.h"
#include "kernel/slices.h"
#include "kernel/cases.h"

enum { M = 60, N = 70, K = 90, SLICES = 2 };

struct factors {
	float a[M][K], b[N][K], bias[N], out[M][N];
};

// Small integers behind a 2^24 each, so that half of the sums are ties. `crumb` is added to one factor of every row of b.
static struct factors *draw_factors(float crumb)
{
	struct factors *f = ls_alloc(1, sizeof *f);
	random_source r = random_from(5);
	for (int64_t i = 0; i < M + N; i++)
		for (int64_t k = 0; k < K; k++)
			*(i < M ? &f->a[i][k] : &f->b[i - M][k]) = k == 0 ? (i < M ? 16777216.0f : 1) : (float)draw(&r, -9, 9);
	for (int64_t j = 0; j < N; j++) {
		f->b[j][3] = crumb != 0 ? crumb : f->b[j][3];
		f->bias[j] = (float)draw(&r, -5, 5);
	}
	return f;
}

static void run(struct factors *f, bool certify, bool bias, int64_t sample, int threads, ls_flag_list *flags)
{
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
	ls_product p = {.rows = M, .columns = N, .terms = K, .row_stride = N, .inner = N, .inner_stride = 1, .bias = bias ? LS_BIAS_COLUMN : LS_BIAS_NONE,
	                .a = {.kind = LS_OPERAND_STRIDED, .row_stride = K, .inner = K, .inner_stride = 1},
	                .b = {.kind = LS_OPERAND_STRIDED, .input = 1, .row_stride = K, .inner = K, .inner_stride = 1}};
	ls_product_call call = {.product = &p, .a = f->a[0], .b = f->b[0], .bias = bias ? f->bias : NULL, .out = f->out[0], .bits = 32,
	                        .test = true, .certify = certify, .sample = sample, .bound = ls_bound_fp64(512), .flags = flags};
	assert_int_equal(ls_kernel__table_init(&table, NULL, NULL), LS_OK);
	assert_int_equal(ls_pool_open(&pool, threads, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&gemm, &table, &ls_kernel__native_engine, pool, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_run(gemm, &call, NULL), LS_OK);
	ls_kernel__gemm_free(gemm);
	ls_pool_free(pool);
}

static bool is_flagged(const ls_flag_list *flags, int64_t index)
{
	for (size_t f = 0; f < flags->count; f++)
		if (flags->flag[f].index == index)
			return true;
	return false;
}

// Whatever is not flagged has the value of the exact sum.
static void check(const struct factors *f, bool bias, const ls_flag_list *flags)
{
	for (int64_t index = 0; index < M * N; index++) {
		ls_sum sum;
		if (is_flagged(flags, index))
			continue;
		ls_sum_init(&sum);
		for (int64_t k = 0; k < K; k++)
			ls_sum_add(&sum, f->a[index / N][k], f->b[index % N][k]);
		if (bias)
			ls_sum_add(&sum, f->bias[index % N], 1);
		assert_int_equal(ls_bits_f32(f->out[index / N][index % N]), ls_bits_f32(ls_sum_round(&sum, 32)));
	}
}

static void test_ties_of_integers_are_settled(void **state)
{
	for (int bias = 0; bias < 2; bias++)
		for (int threads = 1; threads <= 3; threads += 2) {
			struct factors *f = draw_factors(0);
			ls_flag_list without = {0}, with = {0};
			run(f, false, bias, -1, threads, &without);
			assert_true(without.count > M * N / 6 && without.certified == 0);
			run(f, true, bias, -1, threads, &with);
			assert_int_equal(with.count + with.certified, without.count);
			assert_true(with.certified > without.count / 4);
			check(f, bias, &with);
			ls_flag_list_free(&without);
			ls_flag_list_free(&with);
			ls_free(f);
		}
}

// The element asked for stays flagged, and is not counted twice.
static void test_the_sample_is_flagged(void **state)
{
	struct factors *f = draw_factors(0);
	ls_flag_list without = {0}, with = {0};
	run(f, true, false, -1, 1, &without);
	for (int64_t sample = M * N - 1; sample > M * N - 40; sample--) {
		bool before = is_flagged(&without, sample);
		run(f, true, false, sample, 1, &with);
		assert_true(is_flagged(&with, sample));
		assert_true(before || with.count + with.certified == without.count + without.certified ||
		            with.count + with.certified == without.count + without.certified + 1);
	}
	ls_flag_list_free(&without);
	ls_flag_list_free(&with);
	ls_free(f);
}

// With one crumb per column the sums have more bits than FP64: nothing is certified, and the ties, which are none, are flagged.
static void test_longer_sums_are_not(void **state)
{
	struct factors *f = draw_factors(0x1.000002p-22f);
	ls_flag_list flags = {0};
	run(f, true, false, -1, 1, &flags);
	assert_int_equal(flags.certified, 0);
	assert_true(flags.count > M * N / 8);
	check(f, false, &flags);
	ls_flag_list_free(&flags);
	ls_free(f);
}

// ---- products in slices ----

static ls_status run_part(void *gemm, const ls_product_call *part, ls_error *err)
{
	return ls_kernel__gemm_run(gemm, part, err);
}

// Two squares M × M; `causal`: of row i only columns 0 … i.
static void run_slices(const float *a, const float *b, float *out, bool causal, bool certify, ls_flag_list *flags)
{
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
	ls_slices slices = {0};
	ls_operand rows = {.kind = LS_OPERAND_STRIDED, .row_stride = K, .inner = K, .inner_stride = 1, .slicing = {M, 1, M * K, 0}};
	ls_product p = {.rows = SLICES * M, .columns = M, .terms = K, .a = rows, .b = rows, .row_stride = M, .inner = M, .inner_stride = 1,
	                .slicing = {M, 1, M * M, 0}, .causal = causal};
	ls_product_call call = {.product = &p, .a = a, .b = b, .out = out, .bits = 32, .test = true, .certify = certify, .sample = -1,
	                        .bound = ls_bound_fp64(512), .flags = flags};
	p.b.input = 1;
	assert_int_equal(ls_kernel__table_init(&table, NULL, NULL), LS_OK);
	assert_int_equal(ls_pool_open(&pool, 1, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&gemm, &table, &ls_kernel__native_engine, pool, NULL), LS_OK);
	assert_int_equal(ls_kernel__slices_run(&slices, &call, run_part, gemm, NULL), LS_OK);
	ls_kernel__slices_free(&slices);
	ls_kernel__gemm_free(gemm);
	ls_pool_free(pool);
}

// Each element in doubt is flagged or counted as certified, once; behind the mask none is either.
static void test_slices_count_what_they_certify(void **state)
{
	size_t certified[2];
	for (int causal = 0; causal < 2; causal++) {
		struct factors *f[SLICES] = {draw_factors(0), draw_factors(0)};
		float *factor = ls_alloc(2 * SLICES * M * K, sizeof *factor), *b = factor + SLICES * M * K, *out = ls_alloc(SLICES * M * M, sizeof *out);
		ls_flag_list without = {0}, with = {0};
		for (int s = 0; s < SLICES; s++) {
			memcpy(factor + s * M * K, f[s]->a, M * K * sizeof *factor);
			memcpy(b + s * M * K, f[s]->b, M * K * sizeof *b);
			ls_free(f[s]);
		}
		run_slices(factor, b, out, causal, false, &without);
		run_slices(factor, b, out, causal, true, &with);
		assert_int_equal(without.certified, 0);
		assert_int_equal(with.count + with.certified, without.count);
		assert_true(with.certified > without.count / 4);
		for (size_t n = 0; n < without.count && causal; n++)
			assert_true(without.flag[n].index % M <= without.flag[n].index / M % M);
		certified[causal] = with.certified;
		ls_flag_list_free(&without);
		ls_flag_list_free(&with);
		ls_free(factor);
		ls_free(out);
	}
	assert_true(certified[1] < certified[0]); // the twin: without the mask there are more
}

// S just below 2^53 units, and not; the smallest unit counts, on either side and of the bias; zeros have none.
static void test_the_limit(void **state)
{
	static float a[2][3] = {{0x1.8p3f, 0, -0x1p-149f}, {0, 0, 0}}, b[1][3] = {{0x1p20f, 0x1.000002p0f, 0}}, bias[2];
	ls_product p = {.rows = 2, .columns = 1, .terms = 3, .row_stride = 1, .inner = 1, .inner_stride = 1,
	                .a = {.kind = LS_OPERAND_STRIDED, .row_stride = 3, .inner = 3, .inner_stride = 1},
	                .b = {.kind = LS_OPERAND_STRIDED, .row_stride = 3, .inner = 3, .inner_stride = 1}};
	ls_product_call call = {.product = &p, .a = a[0], .b = b[0], .bias = bias, .bits = 32, .bound = ls_bound_fp64(100)};
	ls_certificate c = {0};
	double unit = 0x1p-149 * 0x1p-23;
	assert_true(ls_kernel__certificate_find(&c, &call, 0, 2, 0, 1));
	assert_int_equal(c.row[0], -149);
	assert_int_equal(c.row[1], LS_KERNEL__NO_UNIT);
	assert_int_equal(c.column[0], -23);
	assert_true(ls_kernel__certificate_holds(&c, &call, 0, 0, 0, 0, ls_bound_t(call.bound, unit * 0x1.ffffp52)));
	assert_false(ls_kernel__certificate_holds(&c, &call, 0, 0, 0, 0, ls_bound_t(call.bound, unit * 0x1p53)));
	assert_true(ls_kernel__certificate_holds(&c, &call, 0, 1, 0, 0, 1e300));
	p.bias = LS_BIAS_ROW;
	bias[0] = 0x1p-100f;
	bias[1] = 0x1p-3f;
	assert_true(ls_kernel__certificate_holds(&c, &call, 0, 0, 0, 0, ls_bound_t(call.bound, unit * 0x1.ffffp52)));
	assert_true(ls_kernel__certificate_holds(&c, &call, 0, 1, 0, 0, ls_bound_t(call.bound, 0x1.ffffp49)));
	assert_false(ls_kernel__certificate_holds(&c, &call, 0, 1, 0, 0, ls_bound_t(call.bound, 0x1p50)));
	ls_kernel__certificate_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ties_of_integers_are_settled),
		cmocka_unit_test(test_the_sample_is_flagged),
		cmocka_unit_test(test_longer_sums_are_not),
		cmocka_unit_test(test_slices_count_what_they_certify),
		cmocka_unit_test(test_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
