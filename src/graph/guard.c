#include "graph/guard.h"

#include <stdio.h>

enum { NOBODY = -1, EARLIER = -2 };

ls_sums ls_graph__sums(const uint32_t *words, int64_t count)
{
	ls_sums s = {0, 0};
	for (int64_t i = 0; i < count; i++) {
		s.words += words[i];
		s.places += s.words; // word i is added count − i times in all
	}
	return s;
}

bool ls_graph__locate(const ls_sums *then, const ls_sums *now, const uint32_t *words, int64_t count, int64_t *index, uint32_t *before)
{
	int64_t changed = (int64_t)(now->words - then->words), moved = (int64_t)(now->places - then->places), old;
	if (!changed || changed > UINT32_MAX || -changed > UINT32_MAX || moved % changed)
		return false;
	*index = count - moved / changed;
	if (*index < 0 || *index >= count)
		return false;
	old = (int64_t)words[*index] - changed;
	*before = (uint32_t)old;
	return old >= 0 && old <= UINT32_MAX;
}

ls_status ls_graph__guard_open(ls_guard *g, const ls_program *program, ls_error *err)
{
	size_t values = (size_t)ls_program_values(program);
	g->program = program;
	g->sums = ls_alloc(values, sizeof *g->sums);
	g->writer = ls_alloc(values, sizeof *g->writer);
	if (!g->sums || !g->writer)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the sums of %zu values", values);
	ls_graph__guard_forget(g);
	return LS_OK;
}

void ls_graph__guard_free(ls_guard *g)
{
	ls_free(g->sums);
	ls_free(g->writer);
}

void ls_graph__guard_forget(ls_guard *g)
{
	for (int v = 0; g->program && v < ls_program_values(g->program); v++)
		g->writer[v] = NOBODY;
}

static int64_t count_of(const ls_guard *g, int value)
{
	return ls_shape_count(&ls_program_value(g->program, value)->shape);
}

void ls_graph__guard_wrote(ls_guard *g, int value, int op, const void *words)
{
	if (!g->program)
		return;
	g->sums[value] = ls_graph__sums(words, count_of(g, value));
	g->writer[value] = op;
}

/* "op 3 (relu)"; "a step before" for the state. */
static void name_writer(char out[64], const ls_guard *g, int value)
{
	int op = g->writer[value];
	if (op == EARLIER)
		snprintf(out, 64, "the step before");
	else
		snprintf(out, 64, "op %d (%s)", op, ls_program_op(g->program, op)->kind);
}

static ls_status complain(const ls_guard *g, int value, uint64_t step, int op, const uint32_t *words, const ls_sums *now, ls_error *err)
{
	char writer[64], what[128];
	int64_t index = 0;
	uint32_t before = 0;
	name_writer(writer, g, value);
	if (ls_graph__locate(&g->sums[value], now, words, count_of(g, value), &index, &before))
		snprintf(what, sizeof what, "element %lld: found %08x, expected %08x", (long long)index, words[index], before);
	else
		snprintf(what, sizeof what, "several elements are not those that were written");
	return ls_error_set(err, LS_ERR_NONCONFORMING,
	                    "step %llu, value '%s' of %s, before op %d (%s): %s\n"
	                    "  hint: the memory of this machine changed by itself: test it; what is on the disk is sound, train --resume goes on",
	                    (unsigned long long)step, ls_program_value(g->program, value)->name, writer, op,
	                    ls_program_op(g->program, op)->kind, what);
}

ls_status ls_graph__guard_check(ls_guard *g, int value, uint64_t step, int op, const void *words, ls_error *err)
{
	ls_sums now;
	if (!g->program)
		return LS_OK;
	now = ls_graph__sums(words, count_of(g, value));
	if (g->writer[value] == NOBODY) { // the state that the first step finds
		g->sums[value] = now;
		g->writer[value] = EARLIER;
	}
	if (now.words == g->sums[value].words && now.places == g->sums[value].places)
		return LS_OK;
	return complain(g, value, step, op, words, &now, err);
}

void ls_graph__guard_next(ls_guard *g)
{
	const ls_op *commit;
	if (!g->program)
		return;
	commit = ls_program_op(g->program, ls_program_ops(g->program) - 1);
	for (int i = 0; i < ls_program_states(g->program); i++) {
		g->sums[i] = g->sums[commit->inputs[i]];
		g->writer[i] = EARLIER;
	}
}
