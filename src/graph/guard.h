/* Internal to graph: noticing words that change in memory between the op that wrote them and one that reads them. */
#ifndef LS_GRAPH_GUARD_H
#define LS_GRAPH_GUARD_H

#include <lockstep/program.h>

/* Two sums over a value, modulo 2^64: of its words, and of its words each times its place counted from the end. A word that
 * changes by δ moves the first by δ and the second by δ times that place: both are seen, and so is which word it was. */
typedef struct ls_sums {
	uint64_t words, places;
} ls_sums;

ls_sums ls_graph__sums(const uint32_t *words, int64_t count);
/* Whether `now` comes of a single word that changed, below 2^31 words: its index and what it was. */
bool ls_graph__locate(const ls_sums *then, const ls_sums *now, const uint32_t *words, int64_t count, int64_t *index, uint32_t *before);

/* Sums by value of a program; those of state tensors stand for the state before the step. */
typedef struct ls_guard {
	const ls_program *program; /* NULL: nothing is guarded */
	ls_sums *sums;
	int *writer; /* the op that wrote it; -1: nobody has yet, -2: a step before */
} ls_guard;

ls_status ls_graph__guard_open(ls_guard *g, const ls_program *program, ls_error *err);
void ls_graph__guard_free(ls_guard *g);
/* The state is about to be another, from elsewhere. */
void ls_graph__guard_forget(ls_guard *g);
void ls_graph__guard_wrote(ls_guard *g, int value, int op, const void *words);
/* The words of `value`, which `op` is about to read, are those that were written: else LS_ERR_NONCONFORMING names the word. */
ls_status ls_graph__guard_check(ls_guard *g, int value, uint64_t step, int op, const void *words, ls_error *err);
/* After a step: the new state's sums are the state's. */
void ls_graph__guard_next(ls_guard *g);

#endif
