/* Internal to src/graph: where each value of a program lies in memory. */
#ifndef LS_GRAPH_PLAN_H
#define LS_GRAPH_PLAN_H

#include <lockstep/op.h>

/* Values of the state have buffers of their own; all others share one arena, and a value's bytes are used again once its
 * last reader has run. Offsets are multiples of 64 bytes. */
typedef struct ls_place {
	int state;      /* ≥ 0: lies in that state tensor's buffer */
	int64_t offset; /* else: at this offset of the arena, or nowhere where negative: inside a stretch (stretch.h) */
} ls_place;

typedef struct ls_plan {
	ls_place *place; /* one per value */
	int values;
	int64_t arena, unplanned; /* bytes with and without sharing */
} ls_plan;

ls_status ls_graph__plan(ls_plan *out, const ls_program *program, const int *keep, int keep_count, ls_error *err);
/* The same where the ops of a stretch run together, again and again: what they read and write from outside is there throughout. */
struct ls_stretches;
ls_status ls_graph__plan_stretches(ls_plan *out, const ls_program *program, const struct ls_stretches *stretches, const int *keep,
                                   int keep_count, ls_error *err);
void ls_graph__plan_free(ls_plan *plan);

#endif
