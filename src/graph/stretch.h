/* Internal to src/graph: stretches, runs of ops that are computed one sequence after the other, so that what holds T numbers for
 * each of T positions (the squares of attention) is there for one sequence at a time and never for a batch.
 *
 * Values that only such ops read are *inside*: they have no place in memory of their own. A later stretch that reads one, as
 * the backward pass reads what the forward pass had, computes it again. It is the same op on the same words, so the bits are
 * the same; the rounding log is then read, not written. A value's definition and its judgement know nothing of this.
 */
#ifndef LS_GRAPH_STRETCH_H
#define LS_GRAPH_STRETCH_H

#include "graph/plan.h"

typedef struct ls_stretch {
	int first, last;   /* the program's ops that it stands for, without a gap */
	int64_t sequences;
	ls_program *one;   /* these ops over one sequence, behind those that are computed again; what they read from outside is its state */
	ls_plan plan;      /* where the values of `one` lie that have no place in the whole program's memory */
	int ops;           /* of `one`, without the commit */
	int *op;           /* of each of them, the op of the program that it is a piece of */
	int *value;        /* of each value of `one` that lies in the whole program's memory its value, or −1 */
	ls_product *product;
} ls_stretch;

typedef struct ls_stretches {
	ls_stretch *stretch; /* ascending */
	int count;
	bool *inside;    /* of each value of the program */
	int64_t scratch; /* bytes that the largest stretch needs for what is inside */
} ls_stretches;

/* `keep`: values that must lie in memory. An empty list, and no values inside, where the program has nothing of the kind. */
ls_status ls_graph__find_stretches(ls_stretches *out, const ls_program *program, const int *keep, int keep_count, ls_error *err);
void ls_graph__stretches_free(ls_stretches *stretches);

/* The stretch that begins with this op, or NULL. */
const ls_stretch *ls_graph__stretch_at(const ls_stretches *stretches, int op);

#endif
