#include "rates.h"

#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { RUNS = 7, CHAINS = 12, LENGTH = 1 << 20 };

double rates_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Independent chains, long enough to hide the latency of one addition; the result keeps them from being left out. */
#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double chains_avx512(void)
{
	__m512d acc[CHAINS], a = _mm512_set1_pd(0.5), b = _mm512_set1_pd(1);
	for (int i = 0; i < CHAINS; i++)
		acc[i] = _mm512_set1_pd(i);
	for (int k = 0; k < LENGTH; k++)
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++)
			acc[i] = _mm512_fmadd_pd(acc[i], a, b);
	for (int i = 1; i < CHAINS; i++)
		acc[0] = _mm512_add_pd(acc[0], acc[i]);
	return _mm512_cvtsd_f64(acc[0]);
}

__attribute__((target("avx512f"))) static double chains32_avx512(void)
{
	__m512 acc[CHAINS], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1);
	for (int i = 0; i < CHAINS; i++)
		acc[i] = _mm512_set1_ps((float)i);
	for (int k = 0; k < LENGTH; k++)
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++)
			acc[i] = _mm512_fmadd_ps(acc[i], a, b);
	for (int i = 1; i < CHAINS; i++)
		acc[0] = _mm512_add_ps(acc[0], acc[i]);
	return (double)_mm512_cvtss_f32(acc[0]);
}

__attribute__((target("avx2,fma"))) static double chains32_avx2(void)
{
	__m256 acc[CHAINS], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1);
	for (int i = 0; i < CHAINS; i++)
		acc[i] = _mm256_set1_ps((float)i);
	for (int k = 0; k < LENGTH; k++)
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++)
			acc[i] = _mm256_fmadd_ps(acc[i], a, b);
	for (int i = 1; i < CHAINS; i++)
		acc[0] = _mm256_add_ps(acc[0], acc[i]);
	return (double)_mm256_cvtss_f32(acc[0]);
}

__attribute__((target("avx2,fma"))) static double chains_avx2(void)
{
	__m256d acc[CHAINS], a = _mm256_set1_pd(0.5), b = _mm256_set1_pd(1);
	for (int i = 0; i < CHAINS; i++)
		acc[i] = _mm256_set1_pd(i);
	for (int k = 0; k < LENGTH; k++)
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++)
			acc[i] = _mm256_fmadd_pd(acc[i], a, b);
	for (int i = 1; i < CHAINS; i++)
		acc[0] = _mm256_add_pd(acc[0], acc[i]);
	return _mm256_cvtsd_f64(acc[0]);
}
#endif

static double chains_portable(void)
{
	double acc[CHAINS];
	for (int i = 0; i < CHAINS; i++)
		acc[i] = i;
	for (int k = 0; k < LENGTH; k++)
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++)
			acc[i] = acc[i] * 0.5 + 1;
	for (int i = 1; i < CHAINS; i++)
		acc[0] += acc[i];
	return acc[0];
}

static double chains32_portable(void)
{
	float acc[CHAINS];
	for (int i = 0; i < CHAINS; i++)
		acc[i] = (float)i;
	for (int k = 0; k < LENGTH; k++)
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++)
			acc[i] = acc[i] * 0.5f + 1;
	for (int i = 1; i < CHAINS; i++)
		acc[0] += acc[i];
	return (double)acc[0];
}

// 10⁹ operations a second of chains that work on so many numbers at once.
static double best_rate(double (*run)(void), int lanes)
{
	double best = 0, sum = 0;
	for (int i = 0; i < RUNS; i++) {
		double start = rates_now(), rate;
		sum += run();
		rate = 2e-9 * LENGTH * CHAINS * lanes / (rates_now() - start);
		if (rate > best)
			best = rate;
	}
	return sum > 0 ? best : 0;
}

double rates_fp64(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return best_rate(chains_avx512, 8);
	if (__builtin_cpu_supports("fma"))
		return best_rate(chains_avx2, 4);
#endif
	return best_rate(chains_portable, 1);
}

double rates_fp32(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return best_rate(chains32_avx512, 16);
	if (__builtin_cpu_supports("fma"))
		return best_rate(chains32_avx2, 8);
#endif
	return best_rate(chains32_portable, 1);
}
