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

/* Terms k0 … k0+k−1 of an operand, and the bias term behind them if that is the end of the terms. One per worker and
 * operand; large. */
typedef struct ls_pack {
	const ls_packers *packers;
	const ls_source *source;
	int64_t k0, k;
	int64_t all;  /* terms with the bias */
	bool direct;  /* terms.offset counts from a row's place in the tensor; else rows are fetched to `stage` first */
	ls_terms terms;
	float stage[LS_PANEL_LANES][LS_BLOCK_TERMS];
} ls_pack;

/* What packing finds out about rows, by their number in the layout. Arrays have room for LS_PANEL_LANES rows more; each may
 * be NULL. */
typedef struct ls_findings {
	double *squares;   /* the row's squares are added to its number; the bias is no part of them */
	uint64_t *support; /* row r: support[k/64 · stride + r], see ls_panel */
	int64_t stride, words;
} ls_findings;

void ls_kernel__pack_begin(ls_pack *pack, const ls_packers *packers, const ls_source *source, int64_t k0, int64_t k);

/* Packs rows row0 … row0+layout.rows−1. Panel p begins at number panel_row(p)·all of dst (joined: at panel_row(p)). */
void ls_kernel__pack_rows(ls_pack *pack, int64_t row0, const ls_layout *layout, void *dst, const ls_findings *findings);

/* The same for panel number `panel` alone, which begins at dst. */
void ls_kernel__pack_panel(ls_pack *pack, int64_t row0, const ls_layout *layout, int64_t panel, void *dst,
                           const ls_findings *findings);

/* Row `row` of an operand, terms k0 … k0+k−1, as FP32; zero where there is no term. */
void ls_kernel__fetch(const ls_operand *operand, const float *x, int64_t row, int64_t k0, int64_t k, float *dst);

/* Which of the row's `terms` factors are not zero: bit k mod 64 of out[k/64]. `scratch` holds `terms` numbers. */
void ls_kernel__support(const ls_operand *operand, const float *x, int64_t row, int64_t terms, float *scratch, uint64_t *out);

#endif
