#include "kernel/table.h"

#include <lockstep/num.h>

#include <immintrin.h>

// Conversion rounds to nearest even with gradual underflow; adding +0 turns −0 into +0.
static inline __m256 narrow(__m512d x)
{
	return _mm256_add_ps(_mm512_cvtpd_ps(x), _mm256_setzero_ps());
}

static __mmask8 first(int64_t n)
{
	return n >= 8 ? 0xff : (__mmask8)((1u << n) - 1);
}

static void round_row(float *out, const double *c, int64_t n)
{
	const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int)LS_NAN_BITS));
	for (int64_t j = 0; j < n; j += 8) {
		__mmask8 have = first(n - j);
		__m256 v = narrow(_mm512_maskz_loadu_pd(have, c + j));
		v = _mm256_mask_mov_ps(v, _mm256_cmp_ps_mask(v, v, _CMP_UNORD_Q), nan);
		_mm256_mask_storeu_ps(out + j, have, v);
	}
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
		_mm256_mask_storeu_ps(out + j, have, low);
		unsigned differ = _mm256_mask_cmp_ps_mask(have, low, high, _CMP_NEQ_UQ);
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
