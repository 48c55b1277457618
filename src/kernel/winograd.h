/* Convolutions of 3 × 3 taps by minimal filtering (Winograd 1980; Lavin and Gray 2015, F(2×2, 3×3)): 16 multiplications where
 * the definition has 36. Only for callers who take any sum whose error its flags' t covers (ls_product_call.any_sum).
 *
 * With B, G and A as below, one image and one kernel of one channel give
 *     y = Aᵀ[(G g Gᵀ) ∘ (Bᵀ d B)]A        d: 4 × 4 of the image, g: the kernel, y: 2 × 2 of the output
 * and, as the same trilinear form read from its other side, the kernel's gradient is
 *     w = Gᵀ[(A z Aᵀ) ∘ (Bᵀ d B)]G        z: 2 × 2 of the output's gradient, w: 3 × 3.
 * Sums over channels, or over tiles, are made of the 16 points of ∘: 16 matrix products with a ninth of the terms.
 *
 *     Bᵀ = 1  0 −1  0     G = 1   0   0     Aᵀ = 1  1  1  0
 *          0  1  1  0         ½   ½   ½          0  1 −1 −1
 *          0 −1  1  0         ½  −½   ½
 *          0  1  0 −1         0   0   1
 *
 * The bound (spec/arithmetic.md, section 3.10, has the proof). All is computed in FP64; ½ and conversions are exact. On its way to an
 * element a term is rounded at most 4 times in G g Gᵀ (2 in A z Aᵀ), 2 in Bᵀ d B, once as a product, `tree` times in the sum,
 * 4 times in Aᵀ[·]A (in Gᵀ[·]G), and once by a bias: r = tree + 12, without a bias 11 (9 for w). So, with |M| for M's absolute values,
 *     |C − E| ≤ ((1+u)^r − 1)·Σ (|G||g||Gᵀ|) ∘ (|Bᵀ||d||B|),    as no entry of A, or of G, exceeds 1,
 *             ≤ ((1+u)^r − 1)·σ²(|G|)·σ²(|B|)·‖g‖·‖d‖           (Cauchy–Schwarz; σ: the largest singular value)
 * where ‖g‖ and ‖d‖ are over all channels, resp. over all tiles. σ²(|G|) < 2.2809, σ²(|B|) < 5.2361, σ²(|A|) = 5: factors of 11.95 and
 * 26.19, which 12 and 27 exceed by more than the second-order terms of (1+u)^r. A tile holds its patches, so ‖d‖ is at least the
 * norm that finish.h has there, and takes its place.
 *
 * Non-terms are zeros, as there. Every factor of an element's patch enters a sum that makes the element, so a finite C proves
 * that they are finite; a tile's other factors may make C infinite or NaN where E is finite, which flags the element.
 */
#ifndef LS_KERNEL_WINOGRAD_H
#define LS_KERNEL_WINOGRAD_H

#include "kernel/image.h"
#include "kernel/table.h"

#include <lockstep/kernel.h>

/* Room to work in. Start from {0}; memory grows as needed and is kept. */
typedef struct ls_winograd {
	struct ls_winograd_worker *worker;
	int workers;
	ls_image rows, columns; /* images with room around them */
} ls_winograd;

/* Is this a convolution, or a gradient of one, that is computed here? Where it has too few terms to gain by it, it is not. */
bool ls_kernel__winograd_takes(const ls_product_call *call);

/* d of the bound |C − E| ≤ d·2^-53·‖g‖·‖d‖ (+ |bias|), for what is taken. */
int64_t ls_kernel__winograd_depth(const ls_product *product);

/* As ls_kernel__gemm_run, of what is taken. */
ls_status ls_kernel__winograd_run(ls_winograd *space, const ls_kernel_table *table, const ls_product_call *call, ls_pool *pool,
                                  ls_error *err);
void ls_kernel__winograd_free(ls_winograd *space);

#endif
