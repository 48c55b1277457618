#include "kernel/table.h"

#include <immintrin.h>

enum { LANES = 4, CHAINS = 4 }; // chains hide the latency of three dependent operations

// One step of a chain, see num/dot.h.
static inline void step(__m256d a, __m256d b, __m256d *acc, __m256d *low, __m256d *any)
{
	__m256d t = _mm256_fmadd_pd(a, b, *acc), r = _mm256_fmsub_pd(a, b, _mm256_sub_pd(t, *acc));
	*acc = t;
	*low = _mm256_add_pd(*low, r);
	*any = _mm256_or_pd(*any, r);
}

static double join(__m256d v)
{
	__m128d pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
	return _mm_cvtsd_f64(pair) + _mm_cvtsd_f64(_mm_unpackhi_pd(pair, pair));
}

static ls_num__bin_sum fill(double start, const float *a, const float *b, int64_t n)
{
	const __m256d begin = _mm256_set1_pd(start);
	__m256d acc[CHAINS] = {begin, begin, begin, begin}, low[CHAINS] = {{0}}, any[CHAINS] = {{0}};
	__m256d high = _mm256_setzero_pd(), rest = high, seen = high;
	int64_t i = 0;
	for (; i + CHAINS * LANES <= n; i += CHAINS * LANES)
		for (int q = 0; q < CHAINS; q++)
			step(_mm256_cvtps_pd(_mm_loadu_ps(a + i + q * LANES)), _mm256_cvtps_pd(_mm_loadu_ps(b + i + q * LANES)), &acc[q], &low[q],
			     &any[q]);
	for (; i < n; i += LANES) {
		float x[LANES] = {0}, y[LANES] = {0};
		for (int q = 0; q < LANES && i + q < n; q++) {
			x[q] = a[i + q];
			y[q] = b[i + q];
		}
		step(_mm256_cvtps_pd(_mm_loadu_ps(x)), _mm256_cvtps_pd(_mm_loadu_ps(y)), &acc[0], &low[0], &any[0]);
	}
	for (int q = 0; q < CHAINS; q++) {
		high = _mm256_add_pd(high, _mm256_sub_pd(acc[q], begin));
		rest = _mm256_add_pd(rest, low[q]);
		seen = _mm256_or_pd(seen, any[q]);
	}
	// a zero has no bit but its sign
	return (ls_num__bin_sum){.high = join(high), .rest = join(rest),
	                         .exact = _mm256_testz_si256(_mm256_castpd_si256(seen), _mm256_set1_epi64x(INT64_MAX))};
}

void ls_kernel__dot_avx2(ls_kernel_table *t)
{
	t->fill = fill;
}
