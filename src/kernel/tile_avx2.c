// Register tiles of 6 × 8 FP64: 12 accumulators, two registers of b, one broadcast of a.
#include "kernel/table.h"

#include <immintrin.h>

#define TILE_ROWS 6
#define LANES 4
#include "kernel/tile_rows.h"

// `m` and `v` are constants in every call, so that the accumulators live in registers.
static inline __attribute__((always_inline)) void multiply(const int m, const int v, int64_t k, const double *a,
                                                           const double *b, double *c, int64_t ldc, bool add)
{
	__m256d acc[TILE_ROWS][2], bv[2];
#pragma GCC unroll 6
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			acc[i][j] = _mm256_setzero_pd();
	for (; k > 0; k--, a += m, b += v * LANES) {
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			bv[j] = _mm256_loadu_pd(b + j * LANES);
#pragma GCC unroll 6
		for (int i = 0; i < m; i++)
#pragma GCC unroll 2
			for (int j = 0; j < v; j++)
				acc[i][j] = _mm256_fmadd_pd(_mm256_set1_pd(a[i]), bv[j], acc[i][j]);
	}
#pragma GCC unroll 6
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++) {
			double *to = c + i * ldc + j * LANES;
			_mm256_storeu_pd(to, add ? _mm256_add_pd(_mm256_loadu_pd(to), acc[i][j]) : acc[i][j]);
		}
}

static void tile(int m, int n, int64_t k, const double *a, const double *b, double *c, int64_t ldc, bool add)
{
#define NARROW(rows) multiply(rows, 1, k, a, b, c, ldc, add)
#define WIDE(rows) multiply(rows, 2, k, a, b, c, ldc, add)
	if (n == LANES)
		LS_TILE_BY_ROWS(m, NARROW)
	else
		LS_TILE_BY_ROWS(m, WIDE)
#undef NARROW
#undef WIDE
}

// FP32 in registers of four, which become one FP64 register each.
static inline __attribute__((always_inline)) void chunk_rows(const int m, const int v, int k, const float *a,
                                                             const float *b, double *c, int64_t ldc, bool add)
{
	__m128 acc[TILE_ROWS][2], bv[2];
#pragma GCC unroll 6
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			acc[i][j] = _mm_setzero_ps();
	for (; k > 0; k--, a += m, b += v * LANES) {
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			bv[j] = _mm_loadu_ps(b + j * LANES);
#pragma GCC unroll 6
		for (int i = 0; i < m; i++)
#pragma GCC unroll 2
			for (int j = 0; j < v; j++)
				acc[i][j] = _mm_add_ps(acc[i][j], _mm_mul_ps(_mm_set1_ps(a[i]), bv[j]));
	}
#pragma GCC unroll 6
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++) {
			double *to = c + i * ldc + j * LANES;
			__m256d sum = _mm256_cvtps_pd(acc[i][j]);
			_mm256_storeu_pd(to, add ? _mm256_add_pd(_mm256_loadu_pd(to), sum) : sum);
		}
}

static void chunk(int m, int n, int k, const float *a, const float *b, double *c, int64_t ldc, bool add)
{
#define NARROW(rows) chunk_rows(rows, 1, k, a, b, c, ldc, add)
#define WIDE(rows) chunk_rows(rows, 2, k, a, b, c, ldc, add)
	if (n == LANES)
		LS_TILE_BY_ROWS(m, NARROW)
	else
		LS_TILE_BY_ROWS(m, WIDE)
#undef NARROW
#undef WIDE
}

void ls_kernel__tile_avx2(ls_kernel_table *t)
{
	t->mr = TILE_ROWS;
	t->nr = 2 * LANES;
	t->lanes = LANES;
	t->tile = tile;
	t->chunk = chunk;
}
