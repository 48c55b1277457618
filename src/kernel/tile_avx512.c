// Register tiles of 14 × 16 FP64: 28 accumulators, two registers of b, one broadcast of a.
#include "kernel/table.h"

#include <immintrin.h>

#define TILE_ROWS 14
#define LANES 8
#include "kernel/tile_rows.h"

// `m` and `v` are constants in every call, so that the accumulators live in registers.
static inline __attribute__((always_inline)) void multiply(const int m, const int v, int64_t k, const double *a,
                                                           const double *b, double *c, int64_t ldc, bool add)
{
	__m512d acc[TILE_ROWS][2], bv[2];
#pragma GCC unroll 14
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			acc[i][j] = _mm512_setzero_pd();
#pragma GCC unroll 14
	for (int i = 0; i < m; i++) // of the tile, which is needed in the end
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			__builtin_prefetch(c + i * ldc + j * LANES, 1);
	for (; k > 0; k--, a += m, b += v * LANES) {
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			bv[j] = _mm512_loadu_pd(b + j * LANES);
#pragma GCC unroll 14
		for (int i = 0; i < m; i++)
#pragma GCC unroll 2
			for (int j = 0; j < v; j++)
				acc[i][j] = _mm512_fmadd_pd(_mm512_set1_pd(a[i]), bv[j], acc[i][j]);
	}
#pragma GCC unroll 14
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++) {
			double *to = c + i * ldc + j * LANES;
			_mm512_storeu_pd(to, add ? _mm512_add_pd(_mm512_loadu_pd(to), acc[i][j]) : acc[i][j]);
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

// FP32 in registers of eight, which become one FP64 register each.
static inline __attribute__((always_inline)) void chunk_rows(const int m, const int v, int k, const float *a,
                                                             const float *b, double *c, int64_t ldc, bool add)
{
	__m256 acc[TILE_ROWS][2], bv[2];
#pragma GCC unroll 14
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			acc[i][j] = _mm256_setzero_ps();
	for (; k > 0; k--, a += m, b += v * LANES) {
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			bv[j] = _mm256_loadu_ps(b + j * LANES);
#pragma GCC unroll 14
		for (int i = 0; i < m; i++)
#pragma GCC unroll 2
			for (int j = 0; j < v; j++)
				acc[i][j] = _mm256_add_ps(acc[i][j], _mm256_mul_ps(_mm256_set1_ps(a[i]), bv[j]));
	}
#pragma GCC unroll 14
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++) {
			double *to = c + i * ldc + j * LANES;
			__m512d sum = _mm512_cvtps_pd(acc[i][j]);
			_mm512_storeu_pd(to, add ? _mm512_add_pd(_mm512_loadu_pd(to), sum) : sum);
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

void ls_kernel__tile_avx512(ls_kernel_table *t)
{
	t->mr = TILE_ROWS;
	t->nr = 2 * LANES;
	t->lanes = LANES;
	t->tile = tile;
	t->chunk = chunk;
}
