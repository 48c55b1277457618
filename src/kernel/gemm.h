/* Products by tiles: the loop that packs blocks of both operands, has an engine multiply them, and finishes the tile.
 * The whole FP64 matrix never exists: a worker holds one tile of it.
 *
 * The sum of an element. K is cut into blocks of `block` terms, the bias is one more term of the last. Blocks are added
 * in ascending order, `group` of them; the sums of groups in ascending order again. An element's sum depends on nothing
 * else, so neither the tiles' sizes nor the number of threads change a bit. Depth of that tree, n = ⌈K/block⌉ blocks in
 * g = ⌈n/group⌉ groups, for any order inside a block (m terms: at most m−1 additions; an addition to +0 is exact):
 *   a term of the first block: (block−1) + (min(n, group)−1) + (g−1)
 *   a term of the last block:  (terms of it, bias included, −1) + [n > 1] + [g > 1]
 * and spec/arithmetic.md asks for at most d−2, by default 510 + ⌈K'/512⌉ with K' = K + bias.
 * Own kernels, 256 in groups of 64: 255 + 63 + ⌈K/16384⌉−1 and 256 + 2, both below 510 for every K < 2^21.
 * A BLAS, 512 in one group: 511 + ⌈K/512⌉−1 = 510 + ⌈K/512⌉; and for the last block, of m ≤ 512 terms, m−1 + bias +
 * [n > 1]. n = 1: at most 511, and 512 only where m = 512 with bias, so K' = 513, which allows 512. n > 1: at most 512,
 * which n ≥ 2 allows, and 513 only where m = 512 with bias, so K' = 512n+1, which allows 511+n.
 *
 * Under FP32 compute the terms of a block, whose number is a multiple of 32 except at the end, are taken in chunks of 32;
 * chunk sums are added in FP64, ⌈K'/32⌉−1 additions in all however they are grouped, which is what that bound asks for.
 */
#ifndef LS_KERNEL_GEMM_H
#define LS_KERNEL_GEMM_H

#include "kernel/finish.h"
#include "kernel/image.h"
#include "kernel/pack.h"
#include "kernel/pinned.h"
#include "kernel/spread.h"
#include "kernel/tiles.h"

/* One block of a tile: c = add ? c + a·b : a·b. Layouts as packed. What a and b hold is lost. */
typedef struct ls_block {
	const ls_layout *rows, *columns;
	int64_t k; /* terms, with the bias */
	double *a, *b;
	double *c;
	int64_t ldc;
	double *spare; /* as large as c, where the engine asked for it */
	bool add;
} ls_block;

typedef struct ls_engine {
	int64_t block, group; /* block: a multiple of LS_CHUNK_TERMS */
	bool joined; /* operands as k × m and k × n matrices instead of panels */
	bool spare;
	void (*multiply)(const struct ls_engine *engine, const ls_kernel_table *table, const ls_block *block);
	/* The same in chunks of LS_CHUNK_TERMS, summed in FP32. */
	void (*multiply32)(const struct ls_engine *engine, const ls_kernel_table *table, const ls_block *block);
	const void *context;
} ls_engine;

/* The block's operands as FP32, in the same layouts and the same memory. */
void ls_kernel__narrow_block(const ls_block *block, const float **a, const float **b);

/* Blocks of 256 by the table's register tiles. */
extern const ls_engine ls_kernel__native_engine;

/* Depth of the tree above. */
int64_t ls_kernel__engine_depth(const ls_engine *engine, int64_t terms, bool bias);

typedef struct ls_gemm ls_gemm;

/* Borrows table, engine and pool. */
ls_status ls_kernel__gemm_open(ls_gemm **out, const ls_kernel_table *table, const ls_engine *engine, ls_pool *pool,
                               ls_error *err);
void ls_kernel__gemm_free(ls_gemm *gemm);
ls_status ls_kernel__gemm_run(ls_gemm *gemm, const ls_product_call *call, ls_error *err);

#endif
