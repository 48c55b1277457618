/* Packing: a block of an operand, as FP64 or FP32, as panels for the register tiles or as one matrix for a BLAS. */
#ifndef LS_KERNEL_PACK_H
#define LS_KERNEL_PACK_H

#include "kernel/table.h"

#include <lockstep/kernel.h>

/* One operand with its tensor. A bias is one more term behind the last: on one side its value, on the other 1. */
typedef struct ls_source {
	const ls_operand *operand;
	const float *x;
	int64_t terms;
	bool extra;         /* the product has a bias */
	const float *bias;  /* one per row where this side carries it, else NULL: 1 */
} ls_source;

/* How `rows` rows are cut into panels. Panels are `width` wide at most. */
typedef struct ls_layout {
	int64_t rows, panels;
	int width;
	int lanes;     /* panels are padded with zero lanes to a multiple of this */
	bool balanced; /* panels of equal width up to one, rather than full ones and a rest */
	bool joined;   /* one matrix: panels side by side, ld = rows */
} ls_layout;

ls_layout ls_kernel__layout(int64_t rows, int width, int lanes, bool balanced, bool joined);
/* First row of a panel; of panel number `panels`: rows. */
int64_t ls_kernel__panel_row(const ls_layout *layout, int64_t panel);
/* Lanes a panel takes in memory, padding included. */
int ls_kernel__panel_lanes(const ls_layout *layout, int64_t panel);
/* Lanes of all panels together: what a block of k terms needs is k times this. */
int64_t ls_kernel__layout_lanes(const ls_layout *layout);

/* What packing needs to work with: one per worker. */
typedef struct ls_pack_space {
	float stage[LS_PANEL_LANES][LS_BLOCK_TERMS];
	ls_patch_plan plan;
} ls_pack_space;

/* Packs rows row0 … row0+layout.rows−1, terms k0 … k0+k−1, and the bias term behind them if that is the end of the
 * terms. Panel p begins at number panel_row(p)·K of dst, K the terms with bias (joined: at panel_row(p)); dst has room for
 * LS_PACK_SPILL numbers more. Adds the squares of row r to squares[r], r < layout.rows (which has room for LS_PANEL_LANES
 * more), unless NULL; the bias is no part of them. Returns K. */
int64_t ls_kernel__pack(const ls_packers *packers, const ls_source *source, int64_t row0, const ls_layout *layout, int64_t k0,
                        int64_t k, void *dst, double *squares, ls_pack_space *space);

/* The same for panel number `panel` alone, which begins at dst. */
int64_t ls_kernel__pack_panel(const ls_packers *packers, const ls_source *source, int64_t row0, const ls_layout *layout,
                              int64_t panel, int64_t k0, int64_t k, void *dst, double *squares, ls_pack_space *space);

/* Row `row` of an operand, terms k0 … k0+k−1, as FP32; zero where there is no term. */
void ls_kernel__fetch(const ls_operand *operand, const float *x, int64_t row, int64_t k0, int64_t k, float *dst);

/* Which of the row's `terms` factors are not zero: bit k mod 64 of out[k/64]. `scratch` holds `terms` numbers. */
void ls_kernel__support(const ls_operand *operand, const float *x, int64_t row, int64_t terms, float *scratch, uint64_t *out);

#endif
