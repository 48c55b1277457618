/* Internal to src/graph: settling the elements of a product that the platform's sum does not settle (spec/arithmetic.md). */
#ifndef LS_GRAPH_ROUNDING_H
#define LS_GRAPH_ROUNDING_H

#include <lockstep/graph.h>

/* Which factors of a row are not zero, one bit a term: two rows without a common bit have the sum 0, exactly. Sparse
 * gradients and activations have millions of such elements, and a 0 is never settled by C alone. */
typedef struct ls_supports {
	uint64_t *word;  /* those of A's rows, then those of B's */
	size_t capacity; /* words; products that need more do without */
	bool known;      /* for the present product */
} ls_supports;

/* Room for the two rows of operands whose products make one element. */
typedef struct ls_gathered {
	float *a, *b; /* terms and bias */
	int64_t row;  /* the row of A that `a` holds, or −1 */
	ls_supports supports;
	ls_flag_list exact; /* elements that are to be computed exactly, all at once */
} ls_gathered;

typedef struct ls_settle {
	ls_platform *platform;
	const ls_reader *reader; /* of the op's inputs */
	const ls_product *product;
	const ls_flag_list *flags;
	float *out; /* R(C) on entry, the canonical values on return */
	int bits;
	ls_bound bound;   /* of the rule */
	ls_bound promise; /* of the platform */
	int op;
	int64_t first;   /* what element 0 of `out` is in the op's whole output, by which the log and forgeries count */
	int64_t count;   /* elements of `out` */
	int64_t checked; /* an element whose sum is to be verified against the promise, or −1 */
	ls_op_log *log;  /* written or read; may be NULL for EXACT */
	ls_op_stats *stats;
	ls_forgery *forgery;
	const float *a, *b, *bias; /* the operands' tensors */
	ls_gathered *gathered;
} ls_settle;

ls_status ls_graph__settle(const ls_settle *s, ls_rounding rounding, ls_error *err);

/* Mode pinned: elements whose sum is not finite take the definition's value, and the checked one must have it. Reads
 * neither bounds nor log. */
ls_status ls_graph__settle_pinned(const ls_settle *s, ls_error *err);

#endif
