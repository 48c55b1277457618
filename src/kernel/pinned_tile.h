/* What the vector kernels of mode pinned have in common. Include it behind TILE_ROWS, LANES (of a register) and
 * `multiply`, whose numbers of rows and registers it makes constants. */
#ifndef LS_KERNEL_PINNED_TILE_H
#define LS_KERNEL_PINNED_TILE_H

static inline __attribute__((always_inline)) void by_rows(int m, const int v, int64_t k, const float *a, const float *b,
                                                          float *c, int64_t ldc, bool add)
{
	switch (m) {
	case 1: multiply(1, v, k, a, b, c, ldc, add); break;
	case 2: multiply(2, v, k, a, b, c, ldc, add); break;
	case 3: multiply(3, v, k, a, b, c, ldc, add); break;
	case 4: multiply(4, v, k, a, b, c, ldc, add); break;
	case 5: multiply(5, v, k, a, b, c, ldc, add); break;
	case 6: multiply(6, v, k, a, b, c, ldc, add); break;
#if TILE_ROWS > 6
	case 7: multiply(7, v, k, a, b, c, ldc, add); break;
	case 8: multiply(8, v, k, a, b, c, ldc, add); break;
	case 9: multiply(9, v, k, a, b, c, ldc, add); break;
	case 10: multiply(10, v, k, a, b, c, ldc, add); break;
	case 11: multiply(11, v, k, a, b, c, ldc, add); break;
	case 12: multiply(12, v, k, a, b, c, ldc, add); break;
	case 13: multiply(13, v, k, a, b, c, ldc, add); break;
	case 14: multiply(14, v, k, a, b, c, ldc, add); break;
#endif
	}
}

static void tile(int m, int n, int64_t k, const float *a, const float *b, float *c, int64_t ldc, bool add)
{
	if (n == LANES)
		by_rows(m, 1, k, a, b, c, ldc, add);
	else
		by_rows(m, 2, k, a, b, c, ldc, add);
}

#endif
