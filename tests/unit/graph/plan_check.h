/* Checks a memory plan by brute force: plays the program over an array that says which value each 64 bytes hold. */
#ifndef LS_TEST_GRAPH_PLAN_CHECK_H
#define LS_TEST_GRAPH_PLAN_CHECK_H

#include "graph/plan.h"

#include <stdlib.h>

typedef struct plan_memory {
	const ls_program *program;
	const ls_plan *plan;
	int **owner; // one array per state tensor, then the arena's; entries are value numbers, −1 for nothing yet
	int64_t *blocks;
	int states;
} plan_memory;

static inline int64_t plan_blocks(const plan_memory *m, int value)
{
	return (ls_shape_count(&ls_program_value(m->program, value)->shape) * 4 + 63) / 64;
}

/* The owner entries of a value's bytes, or NULL where they do not lie inside their buffer. */
static inline int *plan_owners(const plan_memory *m, int value)
{
	const ls_place *at = &m->plan->place[value];
	int buffer = at->state >= 0 ? at->state : m->states;
	int64_t first = at->state >= 0 ? 0 : at->offset / 64;
	if (buffer > m->states || at->offset % 64 || first < 0 || first + plan_blocks(m, value) > m->blocks[buffer])
		return NULL;
	return m->owner[buffer] + first;
}

static inline bool plan_holds(const plan_memory *m, int value)
{
	const int *owner = plan_owners(m, value);
	for (int64_t b = 0; owner && b < plan_blocks(m, value); b++)
		if (owner[b] != value)
			return false;
	return owner != NULL;
}

/* An output may lie over an input of its own op only where the op's table row says so, and then exactly over it. */
static inline bool plan_may_overwrite(const plan_memory *m, const ls_op *op, int output, int input)
{
	int share = ls_op_find(op->kind) ? ls_op_find(op->kind)->shares[output] : 0, uses = 0;
	for (int j = 0; j < op->input_count; j++)
		uses += op->inputs[j] == input;
	return share && share <= op->input_count && op->inputs[share - 1] == input && uses == 1 &&
	       plan_owners(m, op->outputs[output]) == plan_owners(m, input) &&
	       plan_blocks(m, input) == plan_blocks(m, op->outputs[output]);
}

static inline bool plan_write(const plan_memory *m, const ls_op *op, int output)
{
	int *owner = plan_owners(m, op->outputs[output]);
	for (int64_t b = 0; owner && b < plan_blocks(m, op->outputs[output]); b++) {
		for (int o = 0; o < output; o++)
			if (owner[b] == op->outputs[o])
				return false;
		for (int j = 0; j < op->input_count; j++)
			if (owner[b] == op->inputs[j] && !plan_may_overwrite(m, op, output, op->inputs[j]))
				return false;
		owner[b] = op->outputs[output];
	}
	return owner != NULL;
}

static inline bool plan_play(const plan_memory *m, const int *keep, int keep_count)
{
	for (int i = 0; i < ls_program_ops(m->program); i++) {
		const ls_op *op = ls_program_op(m->program, i);
		for (int j = 0; j < op->input_count; j++)
			if (!plan_holds(m, op->inputs[j]))
				return false;
		for (int o = 0; o < op->output_count; o++)
			if (!plan_write(m, op, o))
				return false;
	}
	for (int i = 0; i < keep_count; i++)
		if (!plan_holds(m, keep[i]))
			return false;
	return true;
}

/* After a step each state buffer may hold its old value or its own next one, never anything else. */
static inline bool plan_states_keep_place(const plan_memory *m)
{
	const ls_op *commit = ls_program_op(m->program, ls_program_ops(m->program) - 1);
	for (int s = 0; s < m->states; s++)
		for (int64_t b = 0; b < m->blocks[s]; b++)
			if (m->owner[s][b] != s && m->owner[s][b] != commit->inputs[s])
				return false;
	return true;
}

/* True iff no live value is ever overwritten and all bytes lie inside their buffers. */
static inline bool plan_is_sound(const ls_program *program, const ls_plan *plan, const int *keep, int keep_count)
{
	plan_memory m = {.program = program, .plan = plan, .states = ls_program_states(program)};
	bool sound;
	m.owner = calloc((size_t)m.states + 1, sizeof *m.owner);
	m.blocks = calloc((size_t)m.states + 1, sizeof *m.blocks);
	for (int s = 0; s <= m.states; s++) {
		m.blocks[s] = s < m.states ? plan_blocks(&m, s) : plan->arena / 64;
		m.owner[s] = malloc((size_t)(m.blocks[s] + 1) * sizeof **m.owner);
		for (int64_t b = 0; b < m.blocks[s]; b++)
			m.owner[s][b] = s < m.states ? s : -1;
	}
	sound = plan_play(&m, keep, keep_count) && plan_states_keep_place(&m);
	for (int s = 0; s <= m.states; s++)
		free(m.owner[s]);
	free(m.owner);
	free(m.blocks);
	return sound;
}

#endif
