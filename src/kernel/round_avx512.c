#include "kernel/table.h"

#include <lockstep/num.h>

#include <immintrin.h>

// Conversion rounds to nearest even with gradual underflow; adding +0 turns −0 into +0.
static inline __m256 narrow(__m512d x)
{
	return _mm256_add_ps(_mm512_cvtpd_ps(x), _mm256_setzero_ps());
}

// Masked stores are many times as slow as plain ones on some processors: what is left at a row's end goes through memory of
// its own.
static inline __attribute__((always_inline)) void put(float *out, __m256 v, int64_t left)
{
	float last[8];
	if (left >= 8) {
		_mm256_storeu_ps(out, v);
		return;
	}
	_mm256_storeu_ps(last, v);
	for (int64_t j = 0; j < left; j++)
		out[j] = last[j];
}

static inline __attribute__((always_inline)) __mmask8 first(int64_t left)
{
	return left >= 8 ? 0xff : (__mmask8)((1u << left) - 1);
}

static void round_row(float *out, const double *c, int64_t n)
{
	const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int)LS_NAN_BITS));
	for (int64_t j = 0; j < n; j += 8) {
		__m256 v = narrow(_mm512_maskz_loadu_pd(first(n - j), c + j));
		put(out + j, _mm256_mask_mov_ps(v, _mm256_cmp_ps_mask(v, v, _CMP_UNORD_Q), nan), n - j);
	}
}

// Which of the lanes of sums j … j+7 are empty (ls_kernel__is_empty).
static inline unsigned empty_lanes(const ls_bound_row *b, int64_t j, __m512d x, unsigned lanes)
{
	unsigned empty = b->words ? _mm512_mask_cmp_pd_mask((__mmask8)lanes, x, _mm512_setzero_pd(), _CMP_EQ_OQ) : 0;
	const uint64_t *row = b->rows.word, *column = b->columns.word + j;
	for (int64_t w = 0; empty && w < b->words; w++, row += b->rows.stride, column += b->columns.stride)
		empty &= ~(unsigned)_mm512_test_epi64_mask(_mm512_set1_epi64((int64_t)*row), _mm512_maskz_loadu_epi64((__mmask8)empty, column));
	return empty;
}

static int64_t test_row(float *out, const double *c, const ls_bound_row *b, int64_t n, uint32_t *hit)
{
	const __m512d row = _mm512_set1_pd(b->row), row_bias = _mm512_set1_pd(b->row_bias);
	int64_t hits = 0;
	for (int64_t j = 0; j < n; j += 8) {
		__mmask8 have = first(n - j);
		__m512d x = _mm512_maskz_loadu_pd(have, c + j);
		__m512d t = _mm512_add_pd(_mm512_mul_pd(row, _mm512_maskz_loadu_pd(have, b->column + j)), row_bias);
		t = _mm512_add_pd(t, _mm512_maskz_loadu_pd(have, b->column_bias + j));
		t = _mm512_fmadd_pd(x, _mm512_setzero_pd(), t); // NaN where c is not finite, else nothing
		__m256 low = narrow(_mm512_sub_pd(x, t)), high = narrow(_mm512_add_pd(x, t));
		unsigned differ = _mm256_mask_cmp_ps_mask(have, low, high, _CMP_NEQ_UQ), empty = 0;
		if (__builtin_expect(differ, 0))
			empty = empty_lanes(b, j, x, differ);
		put(out + j, _mm256_maskz_mov_ps((__mmask8)~empty, low), n - j);
		differ &= ~empty;
		for (; __builtin_expect(differ, 0); differ &= differ - 1)
			hit[hits++] = (uint32_t)(j + __builtin_ctz(differ));
	}
	return hits;
}

void ls_kernel__round_avx512(ls_kernel_table *t)
{
	t->round = round_row;
	t->test = test_row;
}
