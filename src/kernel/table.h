/* The kernels that differ between instruction sets. A table starts as a copy of the portable one and is overridden row
 * by row; every row returns the same bits on every instruction set, so a choice of table is a choice of speed only.
 *
 * Lanes: a panel holds `n` rows of an operand side by side, k ascending: element (k, r) lies at dst[k·ld + r].
 */
#ifndef LS_KERNEL_TABLE_H
#define LS_KERNEL_TABLE_H

#include <lockstep/base.h>

#include "kernel/filter.h"
#include "kernel/loops.h"
#include "num/dot.h"

#define LS_PANEL_LANES 16  /* most rows of a panel, on any instruction set */
#define LS_BLOCK_TERMS 512 /* most terms of a K block, for any engine */

/* Where a piece of an operand is packed to, and what is found out on the way. */
typedef struct ls_panel {
	void *dst;         /* numbers of the packers' size */
	int64_t ld;        /* distance of successive k, ≥ w */
	int n, w;          /* rows there are; lanes to write, the lanes n … w−1 with zero */
	double *squares;   /* LS_PANEL_LANES running sums of squares, k ascending, or NULL; FP64 only */
	uint64_t *support; /* receives, for row r, at support[k/64 · stride + r] in bit k mod 64, whether element (k, r) is other than
	                    * zero; or NULL; FP64 only */
	int64_t stride;
} ls_panel;

/* Eight successive terms, by where a row has them. */
typedef enum ls_group {
	LS_GROUP_RUN,      /* side by side */
	LS_GROUP_NEAR,     /* from the first one to 15 numbers behind it */
	LS_GROUP_WIDE,     /* the same to 31 */
	LS_GROUP_HALVES,   /* two times four side by side */
	LS_GROUP_SCATTERED
} ls_group;
#define LS_GROUP_TERMS 8

/* A block of terms of an operand whose element (row, k) is x[offset of the row + offset of k]. */
typedef struct ls_terms {
	int64_t count;
	int64_t offset[LS_BLOCK_TERMS];
	uint8_t group[LS_BLOCK_TERMS / LS_GROUP_TERMS]; /* ls_group; of an incomplete one, of the terms that there are */
	int cost;                                       /* instructions that read one term of eight rows by groups, about */
} ls_terms;

/* What writes panels of numbers of one size, k ascending. Element (k, r) is x[row[r] + terms->offset[k]]; nothing else of x
 * is read, and nothing but the lanes of the panel is written. */
typedef struct ls_packers {
	size_t size; /* of a number: FP64, or FP32 */
	int lanes;   /* most lanes of one call */
	void (*pack)(const ls_panel *p, const float *x, const int64_t *row, const ls_terms *terms);
} ls_packers;

/* Products in mode pinned: FP32 panels, FP32 sums. */
typedef struct ls_pinned_kernels {
	int mr, nr, lanes; /* as below */
	/* As `tile` below, with acc = fma(a, b, acc) rounded to FP32 in each step, and c + acc in FP32. The bits of a NaN are
	 * unspecified. */
	void (*tile)(int m, int n, int64_t k, const float *a, const float *b, float *c, int64_t ldc, bool add);
	/* out[j] = R(c[j]) to the grid of `bits`; false where some c[j] is not finite, whose out[j] is unspecified. */
	bool (*round)(float *out, const float *c, int64_t n, int bits);
} ls_pinned_kernels;

/* Which factors of a row or column are other than zero: bit k mod 64 of word[k/64 · stride]. */
typedef struct ls_support {
	const uint64_t *word; /* of row or column 0; the next one's is beside it */
	int64_t stride;
} ls_support;

/* Bound of a row in columns j: t = (row·column[j] + row_bias) + column_bias[j]. */
typedef struct ls_bound_row {
	double row, row_bias;
	const double *column, *column_bias;
	int64_t words;             /* of supports; 0: nobody knows them, or a bias is a term */
	ls_support rows, columns;  /* of the row; of column 0 */
} ls_bound_row;

/* Is c the sum of no term but zeros? C = 0 proves that all factors are finite. */
static inline bool ls_kernel__is_empty(const ls_bound_row *b, int64_t j, double c)
{
	uint64_t common = 0;
	if (c != 0 || !b->words)
		return false;
	for (int64_t w = 0; w < b->words; w++)
		common |= b->rows.word[w * b->rows.stride] & b->columns.word[w * b->columns.stride + j];
	return !common;
}

typedef struct ls_kernel_table {
	const char *isa;
	int mr, nr, lanes; /* rows and columns of a register tile; columns come in multiples of `lanes` */

	/* For each of m ≤ mr rows and n ≤ nr columns (n a multiple of lanes): acc = +0; acc = acc + a·b for k ascending;
	 * c = add ? c + acc : acc. `a` is a panel with ld = m, `b` one with ld = n. Products of two FP32 numbers are exact
	 * in FP64, so a fused multiply-add and a multiplication followed by an addition give the same bits; of other numbers,
	 * which minimal filtering multiplies, it may be either. */
	void (*tile)(int m, int n, int64_t k, const double *a, const double *b, double *c, int64_t ldc, bool add);

	/* The same with FP32 panels and FP32 sums of at most LS_CHUNK_TERMS terms: acc = +0; acc = acc + a·b, both operations
	 * rounded, for k ascending; c = add ? c + acc : acc in FP64. Not fused, so that every instruction set has the same
	 * bits without a fused multiply-add. */
	void (*chunk)(int m, int n, int k, const float *a, const float *b, double *c, int64_t ldc, bool add);

	ls_pinned_kernels pinned;

	ls_packers wide, narrow; /* write FP64 and FP32 */

	/* out[j] = R(c[j]) to FP32. */
	void (*round)(float *out, const double *c, int64_t n);
	/* Writes R(c[j]) to FP32 for all j where R(c−t) = R(c+t), or where the sum is empty, and leaves the numbers of the others
	 * in hit[]; what it writes for those is unspecified. Returns how many there are. Anything not finite is a hit. */
	int64_t (*test)(float *out, const double *c, const ls_bound_row *bound, int64_t n, uint32_t *hit);

	/* Exact sums of products, see num/dot.h. */
	ls_num__fill fill;

	const ls_filter_kernel *filter; /* LS_FILTERS of them */

	const ls_loops *loops; /* of the ops that are no products */
} ls_kernel_table;

/* Names: portable, avx2, avx512, neon. NULL: environment LOCKSTEP_ISA, else the best that this processor runs.
 * LS_ERR_UNSUPPORTED where the processor or this build lacks it, LS_ERR_USAGE for an unknown name. */
ls_status ls_kernel__table_init(ls_kernel_table *out, const char *isa, ls_error *err);

/* `round` of ls_pinned_kernels on any grid. */
bool ls_kernel__pinned_round_grid(float *out, const float *c, int64_t n, int bits);

void ls_kernel__portable(ls_kernel_table *table);
void ls_kernel__pinned_portable(ls_kernel_table *table);
void ls_kernel__pack_avx2(ls_kernel_table *table);
void ls_kernel__pinned_avx2(ls_kernel_table *table);
void ls_kernel__tile_avx2(ls_kernel_table *table);
void ls_kernel__round_avx2(ls_kernel_table *table);
void ls_kernel__dot_avx2(ls_kernel_table *table);
void ls_kernel__pack_avx512(ls_kernel_table *table);
void ls_kernel__pinned_avx512(ls_kernel_table *table);
void ls_kernel__tile_avx512(ls_kernel_table *table);
void ls_kernel__round_avx512(ls_kernel_table *table);
void ls_kernel__dot_avx512(ls_kernel_table *table);

#endif
