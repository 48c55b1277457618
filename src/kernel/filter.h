/* The transforms of minimal filtering (winograd.h), on many matrices at once: additions, subtractions and halves of FP64 numbers
 * in an order that all instruction sets share. */
#ifndef LS_KERNEL_FILTER_H
#define LS_KERNEL_FILTER_H

#include <stdint.h>

/* What becomes of each matrix. 1 × 1 × … stands for rows and columns alike: M·in·Mᵀ. */
typedef enum ls_filter {
	LS_FILTER_IMAGE,   /* Bᵀ d B: 16 places to 16 points */
	LS_FILTER_KERNEL,  /* G g Gᵀ: 9 to 16 */
	LS_FILTER_OUTPUT,  /* A z Aᵀ: 4 to 16 */
	LS_FILTER_TO_OUTPUT, /* Aᵀ m A: 16 to 4 */
	LS_FILTER_TO_KERNEL, /* Gᵀ m G: 16 to 9 */
	LS_FILTERS
} ls_filter;

/* Place p of matrix (i, l), i < count, l < lanes, is in[i·in_step + p·in_place + l]; what comes of it likewise in out, which
 * shares no memory with in. */
typedef struct ls_filter_run {
	const double *in;
	double *out;
	int64_t in_step, in_place, out_step, out_place;
	int64_t count, lanes;
} ls_filter_run;

typedef void (*ls_filter_kernel)(const ls_filter_run *run);

/* LS_FILTERS kernels, by number. */
const ls_filter_kernel *ls_kernel__filters_portable(void);
const ls_filter_kernel *ls_kernel__filters_avx2(void);
const ls_filter_kernel *ls_kernel__filters_avx512(void);

#endif
