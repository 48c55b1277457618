/* The exactness certificate: sums that FP64 holds without rounding, in whatever order it adds.
 *
 * Let every factor of row i be a multiple of 2^α, every one of column j a multiple of 2^β, and the bias a multiple of
 * 2^(α+β) (else take its unit). Then all products, and all sums of some of them, are multiples of unit = 2^(α+β), and none
 * exceeds S. Where S < 2^53·unit each is a number that FP64 has: no addition rounds, C = E, and R(C) = R(E) even where it is
 * a tie, as half of all sums of small integers are.
 *
 * Whoever asks has an element that the rounding test left in doubt, and its t, from which ls_bound_norm gives an upper limit
 * of S. Most elements in doubt are no such sums, and finding units costs as much as reading both operands, so a tile's units
 * are looked for once many of its elements are in doubt. Which elements are settled here thus depends on tiles and threads;
 * their values do not, but a rounding log would: only mode exact asks.
 */
#ifndef LS_KERNEL_CERTIFICATE_H
#define LS_KERNEL_CERTIFICATE_H

#include <lockstep/kernel.h>

/* Of one tile at a time. Start from {0}; memory grows as needed and is kept. */
typedef struct ls_certificate {
	int *row, *column; /* exponents of units; LS_KERNEL__NO_UNIT for a row of zeros */
	float *factors;
	size_t lines, terms; /* room: of exponents, of factors */
} ls_certificate;

enum { LS_KERNEL__NO_UNIT = 4096 };

/* Finds the units of rows i0 … i0+m−1 and columns j0 … j0+n−1. False where there is no memory to do so. */
bool ls_kernel__certificate_find(ls_certificate *certificate, const ls_product_call *call, int64_t i0, int64_t m, int64_t j0,
                                 int64_t n);
/* True only where C = E, given that C is finite. (i, j): in the tile that units were found for, at (i0, j0); t: the element's. */
bool ls_kernel__certificate_holds(const ls_certificate *certificate, const ls_product_call *call, int64_t i0, int64_t i, int64_t j0,
                                  int64_t j, double t);
void ls_kernel__certificate_free(ls_certificate *certificate);

#endif
