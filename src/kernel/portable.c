// The portable table: what every other instruction set must equal.
#include "kernel/table.h"

#include <lockstep/num.h>

// Two lanes: one register on every processor with 128-bit vectors, plain scalars elsewhere.
typedef double pair __attribute__((vector_size(16)));

#define TILE_ROWS 4
#define TILE_COLUMNS 4

// `m` is a constant in every call, so that the accumulators live in registers.
static inline __attribute__((always_inline)) void multiply(const int m, int64_t k, const double *a, const double *b,
                                                           double *c, int64_t ldc, bool add)
{
	pair acc[TILE_ROWS][2] = {{{0}}};
	for (; k > 0; k--, a += m, b += TILE_COLUMNS) {
		pair b0 = {b[0], b[1]}, b1 = {b[2], b[3]};
		for (int i = 0; i < m; i++) {
			pair ai = {a[i], a[i]};
			acc[i][0] += ai * b0;
			acc[i][1] += ai * b1;
		}
	}
	for (int i = 0; i < m; i++, c += ldc)
		for (int j = 0; j < TILE_COLUMNS; j++)
			c[j] = add ? c[j] + acc[i][j / 2][j % 2] : acc[i][j / 2][j % 2];
}

static void tile(int m, int n, int64_t k, const double *a, const double *b, double *c, int64_t ldc, bool add)
{
	switch (m) {
	case 1: multiply(1, k, a, b, c, ldc, add); break;
	case 2: multiply(2, k, a, b, c, ldc, add); break;
	case 3: multiply(3, k, a, b, c, ldc, add); break;
	default: multiply(4, k, a, b, c, ldc, add); break;
	}
}

static void chunk(int m, int n, int k, const float *a, const float *b, double *c, int64_t ldc, bool add)
{
	for (int i = 0; i < m; i++, c += ldc) {
		float acc[TILE_COLUMNS] = {0};
		for (int q = 0; q < k; q++)
			for (int j = 0; j < TILE_COLUMNS; j++)
				acc[j] += a[q * m + i] * b[q * TILE_COLUMNS + j];
		for (int j = 0; j < TILE_COLUMNS; j++)
			c[j] = add ? c[j] + (double)acc[j] : (double)acc[j];
	}
}

static void note(const ls_panel *p, int64_t k, int r, double v)
{
	if (p->squares)
		p->squares[r] += v * v;
	if (p->support && k % 64 == 0)
		p->support[k / 64 * p->stride + r] = 0;
	if (p->support)
		p->support[k / 64 * p->stride + r] |= (uint64_t)(v != 0) << (k % 64);
}

static void pack(const ls_panel *p, const float *x, const int64_t *row, const ls_terms *terms)
{
	double *dst = p->dst;
	for (int64_t k = 0; k < terms->count; k++, dst += p->ld)
		for (int r = 0; r < p->w; r++) {
			dst[r] = r < p->n ? (double)x[row[r] + terms->offset[k]] : 0;
			if (r < p->n)
				note(p, k, r, dst[r]);
		}
}

static void round_row(float *out, const double *c, int64_t n)
{
	for (int64_t j = 0; j < n; j++)
		out[j] = ls_f32(c[j]);
}

static int64_t test_row(float *out, const double *c, const ls_bound_row *b, int64_t n, uint32_t *hit)
{
	int64_t hits = 0;
	for (int64_t j = 0; j < n; j++) {
		double t = (b->row * b->column[j] + b->row_bias) + b->column_bias[j];
		t += 0 * c[j]; // NaN where c is not finite, else nothing
		float low = ls_f32(c[j] - t), high = ls_f32(c[j] + t);
		out[j] = low;
		if (low == high) // neither is −0, and NaN must count
			continue;
		if (ls_kernel__is_empty(b, j, c[j]))
			out[j] = 0;
		else
			hit[hits++] = (uint32_t)j;
	}
	return hits;
}

void ls_kernel__portable(ls_kernel_table *t)
{
	*t = (ls_kernel_table){
		.isa = "portable", .mr = TILE_ROWS, .nr = TILE_COLUMNS, .lanes = TILE_COLUMNS,
		.tile = tile, .chunk = chunk, .wide = {sizeof(double), LS_PANEL_LANES, pack},
		.round = round_row, .test = test_row, .fill = ls_num__fill_portable, .filter = ls_kernel__filters_portable(), .loops = ls_kernel__loops_portable(),
	};
	ls_kernel__pinned_portable(t);
}
