#include "kernel/table.h"

#include <immintrin.h>

enum { LANES = 8, CHAINS = 4 }; // chains hide the latency of three dependent operations

// One step of a chain, see num/dot.h.
static inline void step(__m512d a, __m512d b, __m512d *acc, __m512d *low, __m512i *any)
{
	__m512d t = _mm512_fmadd_pd(a, b, *acc), r = _mm512_fmsub_pd(a, b, _mm512_sub_pd(t, *acc));
	*acc = t;
	*low = _mm512_add_pd(*low, r);
	*any = _mm512_or_si512(*any, _mm512_castpd_si512(r));
}

static inline __mmask8 first(int64_t n)
{
	return n >= LANES ? 0xff : (__mmask8)((1u << n) - 1);
}

static ls_num__bin_sum fill(double start, const float *a, const float *b, int64_t n)
{
	const __m512d begin = _mm512_set1_pd(start);
	__m512d acc[CHAINS] = {begin, begin, begin, begin}, high = _mm512_setzero_pd(), rest = high;
	__m512d low[CHAINS] = {rest, rest, rest, rest};
	__m512i any[CHAINS] = {{0}}, seen = _mm512_setzero_si512();
	int64_t i = 0;
	for (; i + CHAINS * LANES <= n; i += CHAINS * LANES)
		for (int q = 0; q < CHAINS; q++)
			step(_mm512_cvtps_pd(_mm256_loadu_ps(a + i + q * LANES)), _mm512_cvtps_pd(_mm256_loadu_ps(b + i + q * LANES)), &acc[q],
			     &low[q], &any[q]);
	for (; i < n; i += LANES) {
		__mmask8 have = first(n - i);
		step(_mm512_cvtps_pd(_mm256_maskz_loadu_ps(have, a + i)), _mm512_cvtps_pd(_mm256_maskz_loadu_ps(have, b + i)), &acc[0],
		     &low[0], &any[0]);
	}
	for (int q = 0; q < CHAINS; q++) {
		high = _mm512_add_pd(high, _mm512_sub_pd(acc[q], begin));
		rest = _mm512_add_pd(rest, low[q]);
		seen = _mm512_or_si512(seen, any[q]);
	}
	// a zero has no bit but its sign
	return (ls_num__bin_sum){.high = _mm512_reduce_add_pd(high), .rest = _mm512_reduce_add_pd(rest),
	                         .exact = _mm512_test_epi64_mask(seen, _mm512_set1_epi64(INT64_MAX)) == 0};
}

void ls_kernel__dot_avx512(ls_kernel_table *t)
{
	t->fill = fill;
}
