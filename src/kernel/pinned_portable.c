// Mode pinned on every processor, and the packers of its panels.
#include "kernel/table.h"

#include <lockstep/num.h>

#define TILE_ROWS 4
#define TILE_COLUMNS 8

// One instruction where the target is known to have it. Elsewhere a function, which may find one at run time.
static inline float multiply_add(float a, float b, float c)
{
#if defined(__FMA__) || defined(__aarch64__)
	return __builtin_fmaf(a, b, c);
#else
	return ls_fma_f32(a, b, c);
#endif
}

static void tile(int m, int n, int64_t k, const float *a, const float *b, float *c, int64_t ldc, bool add)
{
	float acc[TILE_ROWS][TILE_COLUMNS] = {{0}};
	for (int64_t q = 0; q < k; q++, a += m, b += TILE_COLUMNS)
		for (int i = 0; i < m; i++)
			for (int j = 0; j < TILE_COLUMNS; j++)
				acc[i][j] = multiply_add(a[i], b[j], acc[i][j]);
	for (int i = 0; i < m; i++, c += ldc)
		for (int j = 0; j < TILE_COLUMNS; j++)
			c[j] = add ? c[j] + acc[i][j] : acc[i][j];
}

bool ls_kernel__pinned_round_grid(float *out, const float *c, int64_t n, int bits)
{
	bool finite = true;
	for (int64_t j = 0; j < n; j++) {
		out[j] = ls_round_f32(c[j], bits);
		finite &= c[j] - c[j] == 0;
	}
	return finite;
}

static void pack(const ls_panel *p, const float *x, const int64_t *row, const ls_terms *terms)
{
	float *dst = p->dst;
	for (int64_t k = 0; k < terms->count; k++, dst += p->ld)
		for (int r = 0; r < p->w; r++)
			dst[r] = r < p->n ? x[row[r] + terms->offset[k]] : 0;
}

void ls_kernel__pinned_portable(ls_kernel_table *t)
{
	t->pinned = (ls_pinned_kernels){.mr = TILE_ROWS, .nr = TILE_COLUMNS, .lanes = TILE_COLUMNS, .tile = tile, .round = ls_kernel__pinned_round_grid};
	t->narrow = (ls_packers){sizeof(float), LS_PANEL_LANES, pack};
}
