// Mode pinned in register tiles of 14 × 32 FP32: 28 accumulators, two registers of b, one broadcast of a.
#include "kernel/table.h"

#include <immintrin.h>
#include <lockstep/num.h>

#define TILE_ROWS 14
#define LANES 16
#include "kernel/tile_rows.h"

// `m` and `v` are constants in every call, so that the accumulators live in registers.
static inline __attribute__((always_inline)) void multiply(const int m, const int v, int64_t k, const float *a, const float *b,
                                                           float *c, int64_t ldc, bool add)
{
	__m512 acc[TILE_ROWS][2], bv[2];
#pragma GCC unroll 14
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			acc[i][j] = _mm512_setzero_ps();
#pragma GCC unroll 14
	for (int i = 0; i < m; i++) // of the tile, which is needed in the end
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			__builtin_prefetch(c + i * ldc + j * LANES, 1);
	for (; k > 0; k--, a += m, b += v * LANES) {
#pragma GCC unroll 2
		for (int j = 0; j < v; j++)
			bv[j] = _mm512_loadu_ps(b + j * LANES);
#pragma GCC unroll 14
		for (int i = 0; i < m; i++)
#pragma GCC unroll 2
			for (int j = 0; j < v; j++)
				acc[i][j] = _mm512_fmadd_ps(_mm512_set1_ps(a[i]), bv[j], acc[i][j]);
	}
#pragma GCC unroll 14
	for (int i = 0; i < m; i++)
#pragma GCC unroll 2
		for (int j = 0; j < v; j++) {
			float *to = c + i * ldc + j * LANES;
			_mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), acc[i][j]) : acc[i][j]);
		}
}

static void tile(int m, int n, int64_t k, const float *a, const float *b, float *c, int64_t ldc, bool add)
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

// Masked stores are many times as slow as plain ones on some processors: what is left at a row's end goes through memory of
// its own.
static inline __attribute__((always_inline)) void put(float *out, __m512 v, int64_t left)
{
	float last[LANES];
	if (left >= LANES) {
		_mm512_storeu_ps(out, v);
		return;
	}
	_mm512_storeu_ps(last, v);
	for (int64_t j = 0; j < left; j++)
		out[j] = last[j];
}

static bool round_row(float *out, const float *c, int64_t n, int bits)
{
	const __m512 zero = _mm512_setzero_ps();
	__mmask16 bad = 0;
	if (bits != LS_GRID_MAX)
		return ls_kernel__pinned_round_grid(out, c, n, bits);
	for (int64_t j = 0; j < n; j += LANES) {
		__mmask16 have = n - j >= LANES ? 0xffff : (__mmask16)((1u << (n - j)) - 1);
		__m512 v = _mm512_maskz_loadu_ps(have, c + j);
		put(out + j, _mm512_add_ps(v, zero), n - j); // −0 + 0 is +0
		bad |= _mm512_fpclass_ps_mask(v, 0x99);      // quiet NaN, ±inf, signalling NaN
	}
	return !bad;
}

void ls_kernel__pinned_avx512(ls_kernel_table *t)
{
	t->pinned = (ls_pinned_kernels){.mr = TILE_ROWS, .nr = 2 * LANES, .lanes = LANES, .tile = tile, .round = round_row};
}
