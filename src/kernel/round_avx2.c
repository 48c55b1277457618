#include "kernel/table.h"

#include <lockstep/num.h>

#include <immintrin.h>

// Conversion rounds to nearest even with gradual underflow; adding +0 turns −0 into +0.
static inline __m128 narrow(__m256d x)
{
	return _mm_add_ps(_mm256_cvtpd_ps(x), _mm_setzero_ps());
}

static void round_row(float *out, const double *c, int64_t n)
{
	const __m128 nan = _mm_castsi128_ps(_mm_set1_epi32((int)LS_NAN_BITS));
	int64_t j = 0;
	for (; j + 4 <= n; j += 4) {
		__m128 v = narrow(_mm256_loadu_pd(c + j));
		_mm_storeu_ps(out + j, _mm_blendv_ps(v, nan, _mm_cmpunord_ps(v, v)));
	}
	for (; j < n; j++)
		out[j] = ls_f32(c[j]);
}

static inline unsigned test_four(float *out, __m256d x, __m256d t)
{
	__m128 low = narrow(_mm256_sub_pd(x, t)), high = narrow(_mm256_add_pd(x, t));
	_mm_storeu_ps(out, low);
	return (unsigned)_mm_movemask_ps(_mm_cmpneq_ps(low, high));
}

static int64_t test_row(float *out, const double *c, const ls_bound_row *b, int64_t n, uint32_t *hit)
{
	const __m256d row = _mm256_set1_pd(b->row), row_bias = _mm256_set1_pd(b->row_bias);
	int64_t hits = 0, j = 0;
	for (; j < n; j += 4) {
		int left = n - j < 4 ? (int)(n - j) : 4;
		__m256i have = _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_setr_epi64x(0, 1, 2, 3));
		__m256d x = _mm256_maskload_pd(c + j, have);
		__m256d t = _mm256_add_pd(_mm256_mul_pd(row, _mm256_maskload_pd(b->column + j, have)), row_bias);
		t = _mm256_add_pd(t, _mm256_maskload_pd(b->column_bias + j, have));
		t = _mm256_fmadd_pd(x, _mm256_setzero_pd(), t); // NaN where c is not finite, else nothing
		float four[4];
		unsigned differ = test_four(left == 4 ? out + j : four, x, t) & ((1u << left) - 1);
		for (int i = 0; left < 4 && i < left; i++)
			out[j + i] = four[i];
		for (; __builtin_expect(differ, 0); differ &= differ - 1) {
			int64_t at = j + __builtin_ctz(differ);
			if (ls_kernel__is_empty(b, at, c[at]))
				out[at] = 0;
			else
				hit[hits++] = (uint32_t)at;
		}
	}
	return hits;
}

void ls_kernel__round_avx2(ls_kernel_table *t)
{
	t->round = round_row;
	t->test = test_row;
}
