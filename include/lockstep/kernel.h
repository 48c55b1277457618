/* Lockstep: what a product is asked for and what it answers, whoever computes it. The kernels under src/kernel work
 * from this; programs use it through platform.h.
 */
#ifndef LOCKSTEP_KERNEL_H
#define LOCKSTEP_KERNEL_H

#include <lockstep/op.h>

/* An output element whose value R(C) is not settled by C alone, or that was asked for. */
typedef struct ls_flag {
	int64_t index; /* in the output tensor */
	double c, t;   /* the platform's sum, and t ≥ B, which is not below the sum's error; with any_sum t alone is not below it;
	                * under WINDOW, ls_bound_window_t. Not to be used where c is not finite. */
} ls_flag;

/* Start from {0}; memory grows as needed and is kept from call to call. Release with ls_flag_list_free. */
typedef struct ls_flag_list {
	ls_flag *flag; /* ascending by index */
	size_t count, capacity;
	uint64_t certified; /* elements without a flag because their sum was proved to be exact (certify) */
} ls_flag_list;

/* Frees the memory and leaves an empty list that may be used again. */
void ls_flag_list_free(ls_flag_list *list);

typedef struct ls_product_call {
	const ls_product *product;
	const float *a, *b, *bias; /* the operands' tensors; bias NULL where the product has none */
	float *out;                /* receives R(C) of every element */
	int bits;                  /* grid of the output */
	bool fp32;                 /* sum chunks of LS_CHUNK_TERMS terms in FP32 and the chunks in FP64; else all in FP64 */
	ls_bound bound;            /* B of the flags; where certified, of the same precision */
	bool test;                 /* false in modes plain and pinned: no bound */
	bool certify;              /* with `test`, FP64 and a certified bound: of many elements in doubt, try to prove that their sums
	                            * are exact. What is flagged then depends on how the work was cut; R(E) does not. */
	bool any_sum;              /* with `test`, FP64 and a certified bound: C may come from other operations than a tree of sums over the
	                            * products, if t covers its error: |C − E| ≤ t, which may exceed what the bound asks for. What is
	                            * flagged then depends on the platform; R(E) does not */
	bool pinned;               /* mode pinned: C is the FP32 sum in the order of ls_product_pinned, which out equals
	                            * wherever C is finite. Neither with `test` nor with `fp32` */
	int64_t kept;              /* 0, or how many columns of row 0 count, and of every further row one more: what lies behind them is
	                            * overwritten by the caller, so it is neither certified nor, with `test`, flagged */
	int64_t sample;            /* an element to flag whatever its value, or −1; not in mode plain */
	ls_flag_list *flags;       /* out: elements with R(C−t) ≠ R(C+t) (`test`), those whose C is not finite, and the
	                            * sample; replaces what was there. Untouched in mode plain, and may be NULL there. */
} ls_product_call;

/* How an element's R(E) was found: an FP64 sum with its bound, one exact bin, two, or fixed point as wide as FP32 goes. */
typedef enum ls_exact_stage {
	LS_EXACT_PLAIN = 0,
	LS_EXACT_BIN = 1,
	LS_EXACT_BINS = 2,
	LS_EXACT_WIDE = 3,
	LS_EXACT_STAGES = 4
} ls_exact_stage;

/* Flagged elements of a product whose R(E) is wanted. */
typedef struct ls_exact_call {
	const ls_product *product;
	const float *a, *b, *bias; /* as in the product's call */
	float *out;                /* receives the values; the one NaN where a factor is not finite, even beside a place that is
	                            * no term: which that is, only the definition knows */
	int bits;
	ls_bound bound;            /* that the flags' t stand for */
	const ls_flag *flag;       /* any order */
	size_t count;
	uint64_t *stage;           /* LS_EXACT_STAGES counters, added to */
} ls_exact_call;

#endif
