#include "graph/stretch.h"

#include <limits.h>

typedef struct span {
	int64_t offset, size;
} span;

typedef struct planner {
	const ls_program *program;
	const ls_stretches *stretches; // NULL: none
	ls_plan *plan;
	int *last_use; // op index; INT_MAX: until the end
	span *hole;    // free spans below `plan->arena`, ascending, never adjacent
	int holes;
} planner;

static int64_t bytes_of(const ls_program *program, int value)
{
	return (ls_shape_count(&ls_program_value(program, value)->shape) * 4 + 63) / 64 * 64;
}

static bool is_inside(const planner *p, int value)
{
	return p->stretches && p->stretches->inside[value];
}

static void use_until(planner *p, int value, int op)
{
	if (p->last_use[value] < op)
		p->last_use[value] = op;
}

/* What a stretch has to do with lasts to its end. */
static void use_in_stretch(planner *p, const ls_stretch *s)
{
	for (int i = 0; i < s->ops; i++) {
		const ls_op *op = ls_program_op(p->program, s->op[i]);
		for (int j = 0; j < op->input_count; j++)
			use_until(p, op->inputs[j], s->last);
		for (int o = 0; o < op->output_count && s->op[i] >= s->first; o++)
			use_until(p, op->outputs[o], s->last);
	}
}

static void find_last_uses(planner *p, const int *keep, int keep_count)
{
	for (int v = 0; v < p->plan->values; v++)
		p->last_use[v] = ls_program_value(p->program, v)->op; // its producer, unless somebody reads it
	for (int i = 0; i < ls_program_ops(p->program); i++) {
		const ls_op *op = ls_program_op(p->program, i);
		for (int j = 0; j < op->input_count; j++)
			p->last_use[op->inputs[j]] = i;
	}
	for (int i = 0; p->stretches && i < p->stretches->count; i++)
		use_in_stretch(p, &p->stretches->stretch[i]);
	for (int i = 0; i < keep_count; i++)
		p->last_use[keep[i]] = INT_MAX;
}

/* First fit; grows the arena where no hole is large enough. */
static int64_t take(planner *p, int64_t size)
{
	int64_t offset;
	for (int i = 0; i < p->holes; i++)
		if (p->hole[i].size >= size) {
			offset = p->hole[i].offset;
			p->hole[i].offset += size;
			p->hole[i].size -= size;
			if (!p->hole[i].size) {
				memmove(p->hole + i, p->hole + i + 1, (size_t)(p->holes - i - 1) * sizeof *p->hole);
				p->holes--;
			}
			return offset;
		}
	offset = p->plan->arena;
	if (p->holes && p->hole[p->holes - 1].offset + p->hole[p->holes - 1].size == offset)
		offset = p->hole[--p->holes].offset; // the last hole reaches the end: extend it
	p->plan->arena = offset + size;
	return offset;
}

static void give(planner *p, int64_t offset, int64_t size)
{
	int i = 0;
	while (i < p->holes && p->hole[i].offset < offset)
		i++;
	memmove(p->hole + i + 1, p->hole + i, (size_t)(p->holes - i) * sizeof *p->hole);
	p->hole[i] = (span){offset, size};
	p->holes++;
	if (i + 1 < p->holes && offset + size == p->hole[i + 1].offset) {
		p->hole[i].size += p->hole[i + 1].size;
		memmove(p->hole + i + 1, p->hole + i + 2, (size_t)(p->holes - i - 2) * sizeof *p->hole);
		p->holes--;
	}
	if (i > 0 && p->hole[i - 1].offset + p->hole[i - 1].size == offset) {
		p->hole[i - 1].size += p->hole[i].size;
		memmove(p->hole + i, p->hole + i + 1, (size_t)(p->holes - i - 1) * sizeof *p->hole);
		p->holes--;
	}
}

/* The state tensor whose next value this is, or −1. */
static int state_after(const ls_program *program, int value)
{
	const ls_op *commit = ls_program_op(program, ls_program_ops(program) - 1);
	for (int s = 0; s < ls_program_states(program) && s < commit->input_count; s++)
		if (commit->inputs[s] == value)
			return s;
	return -1;
}

/* Lets an output lie over an input that nobody reads afterwards, where the op allows it. A state tensor may be overwritten
 * only by its own next value. */
static bool share(planner *p, const ls_op *op, const ls_op_def *def, int index, int output)
{
	int from = def->shares[output] - 1, value = op->outputs[output], input;
	if (from < 0 || from >= op->input_count)
		return false;
	input = op->inputs[from];
	if (p->last_use[input] != index || bytes_of(p->program, input) != bytes_of(p->program, value))
		return false;
	for (int j = 0; j < op->input_count; j++)
		if (j != from && op->inputs[j] == input) // read at another place by the same op
			return false;
	if (p->plan->place[input].state >= 0 && p->plan->place[input].state != state_after(p->program, value))
		return false;
	p->plan->place[value] = p->plan->place[input];
	p->last_use[input] = -1; // its bytes have a new owner: not to be given back
	return true;
}

/* Gives back values that `op` reads for the last time, and outputs that nobody reads, `index` being the last op of those that
 * run now. */
static void give_back(planner *p, const ls_op *op, int index)
{
	for (int j = 0; j < op->input_count + op->output_count; j++) {
		int v = j < op->input_count ? op->inputs[j] : op->outputs[j - op->input_count];
		if (p->last_use[v] == index && p->plan->place[v].state < 0 && !is_inside(p, v)) {
			give(p, p->plan->place[v].offset, bytes_of(p->program, v));
			p->last_use[v] = -1;
		}
	}
}

/* The ops of a stretch run for one sequence after the other: nothing may lie over what another of them still reads. */
static void place_stretch(planner *p, const ls_stretch *s)
{
	for (int i = s->first; i <= s->last; i++)
		for (int o = 0; o < ls_program_op(p->program, i)->output_count; o++) {
			int v = ls_program_op(p->program, i)->outputs[o];
			p->plan->unplanned += bytes_of(p->program, v);
			p->plan->place[v] = (ls_place){-1, is_inside(p, v) ? -1 : take(p, bytes_of(p->program, v))};
		}
	for (int i = 0; i < s->ops; i++)
		give_back(p, ls_program_op(p->program, s->op[i]), s->last);
}

static void place_op(planner *p, int index)
{
	const ls_op *op = ls_program_op(p->program, index);
	const ls_op_def *def = ls_op_find(op->kind);
	for (int o = 0; o < op->output_count; o++) {
		int v = op->outputs[o];
		p->plan->unplanned += bytes_of(p->program, v);
		if (!share(p, op, def, index, o))
			p->plan->place[v] = (ls_place){-1, take(p, bytes_of(p->program, v))};
	}
	give_back(p, op, index);
}

ls_status ls_graph__plan(ls_plan *out, const ls_program *program, const int *keep, int keep_count, ls_error *err)
{
	return ls_graph__plan_stretches(out, program, NULL, keep, keep_count, err);
}

ls_status ls_graph__plan_stretches(ls_plan *out, const ls_program *program, const ls_stretches *stretches, const int *keep,
                                   int keep_count, ls_error *err)
{
	ls_status status = LS_OK;
	int values = ls_program_values(program);
	planner p = {.program = program, .stretches = stretches, .plan = out};
	*out = (ls_plan){.values = values};
	out->place = ls_alloc((size_t)values, sizeof *out->place);
	p.last_use = ls_alloc((size_t)values, sizeof *p.last_use);
	p.hole = ls_alloc((size_t)values + 2, sizeof *p.hole);
	if (!out->place || !p.last_use || !p.hole) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory to plan %d values", values);
		goto done;
	}
	find_last_uses(&p, keep, keep_count);
	for (int s = 0; s < ls_program_states(program); s++)
		out->place[s] = (ls_place){s, 0};
	for (int i = 0; i < ls_program_ops(program); i++) {
		const ls_stretch *s = stretches ? ls_graph__stretch_at(stretches, i) : NULL;
		if (s)
			place_stretch(&p, s);
		else
			place_op(&p, i);
		i = s ? s->last : i;
	}
done:
	ls_free(p.last_use);
	ls_free(p.hole);
	if (status != LS_OK)
		ls_graph__plan_free(out);
	return status;
}

void ls_graph__plan_free(ls_plan *plan)
{
	ls_free(plan->place);
	*plan = (ls_plan){0};
}
