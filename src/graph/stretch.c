#include "graph/stretch.h"

#include <stdio.h>

/* ---- which ops ---- */

/* How many sequences the op's tensors hold, 0 where it does not work by sequence. */
static int64_t sequences_of(const ls_program *program, const ls_op *op)
{
	const ls_op_def *def = ls_op_find(op->kind);
	const ls_shape *x;
	if (!def->by_sequence)
		return 0;
	for (int i = 0; def->int_names[i]; i++)
		if (!strcmp(def->int_names[i], "batch"))
			return op->ints[i];
	x = &ls_program_value(program, op->inputs[0])->shape;
	return x->rank == 4 && x->dim[2] == x->dim[3] ? x->dim[0] : 0;
}

/* The last op of the run of such ops that begins here. */
static int end_of_run(const ls_program *program, int first, int64_t sequences)
{
	int last = first;
	while (last + 1 < ls_program_ops(program) && sequences_of(program, ls_program_op(program, last + 1)) == sequences)
		last++;
	return last;
}

/* One entry per op: the number of its run, or −1. */
static void number_runs(const ls_program *program, int *run)
{
	int runs = 0;
	for (int i = 0, last; i < ls_program_ops(program); i = last + 1) {
		int64_t sequences = sequences_of(program, ls_program_op(program, i));
		last = sequences ? end_of_run(program, i, sequences) : i;
		for (int j = i; j <= last; j++)
			run[j] = sequences ? runs : -1;
		runs += sequences > 0;
	}
}

static void mark_inside(const ls_program *program, const int *run, const int *keep, int keep_count, bool *inside)
{
	for (int i = 0; i < ls_program_ops(program); i++)
		for (int o = 0; run[i] >= 0 && o < ls_program_op(program, i)->output_count; o++)
			inside[ls_program_op(program, i)->outputs[o]] = true;
	for (int i = 0; i < ls_program_ops(program); i++)
		for (int j = 0; run[i] < 0 && j < ls_program_op(program, i)->input_count; j++)
			inside[ls_program_op(program, i)->inputs[j]] = false;
	for (int i = 0; i < keep_count; i++)
		inside[keep[i]] = false;
}

/* ---- a stretch's program ---- */

typedef struct builder {
	const ls_program *program;
	const bool *inside;
	ls_stretch *stretch;
	bool *needed; // per op up to the last: part of this stretch
	int *local;   // per value: its number in stretch->one, or −1
	int *state;   // the states of `one`, for its commit
} builder;

/* Marks the ops that make what is inside and read here. */
static void mark_needed(const builder *b)
{
	for (int i = b->stretch->last; i >= 0; i--) {
		const ls_op *op = ls_program_op(b->program, i);
		b->needed[i] |= i >= b->stretch->first;
		for (int j = 0; b->needed[i] && j < op->input_count; j++)
			if (b->inside[op->inputs[j]])
				b->needed[ls_program_value(b->program, op->inputs[j])->op] = true;
	}
}

static bool made_here(const builder *b, int value)
{
	int op = ls_program_value(b->program, value)->op;
	return b->inside[value] || (op >= b->stretch->first && op <= b->stretch->last);
}

/* What is read from outside: states of `one`, with one sequence of their elements. */
static void add_states(builder *b)
{
	char name[LS_NAME_MAX];
	for (int i = 0; i <= b->stretch->last; i++) {
		const ls_op *op = ls_program_op(b->program, i);
		for (int j = 0; b->needed[i] && j < op->input_count; j++) {
			int v = op->inputs[j];
			ls_shape shape = ls_program_value(b->program, v)->shape;
			if (b->local[v] >= 0 || made_here(b, v))
				continue;
			shape.dim[0] /= b->stretch->sequences;
			snprintf(name, sizeof name, "%08d", ls_program_states(b->stretch->one));
			b->local[v] = ls_program_add_state(b->stretch->one, name, &shape);
			if (b->local[v] >= 0)
				b->stretch->value[b->local[v]] = v;
		}
	}
}

static void add_op(builder *b, int index)
{
	const ls_op *op = ls_program_op(b->program, index);
	const ls_op_def *def = ls_op_find(op->kind);
	ls_op_spec spec = {.kind = op->kind, .name = ls_program_value(b->program, op->outputs[0])->name, .input_count = op->input_count,
	                   .int_count = op->int_count, .num_count = op->num_count};
	bool again = index < b->stretch->first; // then its outputs must not go where the whole program has them: that may be in use
	int first;
	for (int i = 0; i < op->input_count; i++)
		spec.inputs[i] = b->local[op->inputs[i]];
	for (int i = 0; i < op->int_count; i++)
		spec.ints[i] = strcmp(def->int_names[i], "batch") ? op->ints[i] : 1;
	memcpy(spec.nums, op->nums, sizeof spec.nums);
	first = ls_op_append(b->stretch->one, &spec);
	b->stretch->op[b->stretch->ops++] = index;
	for (int o = 0; o < op->output_count && first >= 0; o++) {
		b->local[op->outputs[o]] = first + o;
		b->stretch->value[first + o] = again || b->inside[op->outputs[o]] ? -1 : op->outputs[o];
	}
}

static ls_status describe_products(ls_stretch *s, ls_error *err)
{
	s->product = ls_alloc((size_t)s->ops, sizeof *s->product);
	if (!s->product)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %d products", s->ops);
	for (int i = 0; i < s->ops; i++) {
		const ls_op *op = ls_program_op(s->one, i);
		if (ls_op_find(op->kind)->class == LS_OP_PRODUCT)
			ls_op_find(op->kind)->product(s->one, op, &s->product[i]);
	}
	return LS_OK;
}

static ls_status build(builder *b, ls_error *err)
{
	ls_stretch *s = b->stretch;
	int count;
	ls_status status;
	LS_TRY(ls_program_open(&s->one, ls_program_bits(b->program), ls_program_bits(b->program), err));
	mark_needed(b);
	add_states(b);
	count = ls_program_states(s->one);
	for (int i = 0; i <= s->last; i++)
		if (b->needed[i])
			add_op(b, i);
	for (int i = 0; i < count; i++)
		b->state[i] = i;
	ls_op_append(s->one, &(ls_op_spec){.kind = "commit", .name = "outside", .more_inputs = b->state, .input_count = count});
	LS_TRY(ls_program_finish(s->one, err));
	LS_TRY(ls_graph__plan(&s->plan, s->one, NULL, 0, err));
	status = describe_products(s, err);
done:
	return status;
}

static ls_status open_stretch(ls_stretches *all, const ls_program *program, int first, int last, ls_error *err)
{
	ls_stretch *s = &all->stretch[all->count++];
	size_t ops = (size_t)ls_program_ops(program), values = (size_t)ls_program_values(program);
	builder b = {.program = program, .inside = all->inside, .stretch = s};
	ls_status status;
	*s = (ls_stretch){.first = first, .last = last, .sequences = sequences_of(program, ls_program_op(program, first))};
	s->op = ls_alloc(ops, sizeof *s->op);
	s->value = ls_alloc(values + 1, sizeof *s->value);
	b.needed = ls_alloc(ops, sizeof *b.needed);
	b.local = ls_alloc(values, sizeof *b.local);
	b.state = ls_alloc(values, sizeof *b.state);
	if (!s->op || !s->value || !b.needed || !b.local || !b.state) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for ops that are computed by sequence");
		goto done;
	}
	for (size_t v = 0; v < values; v++)
		b.local[v] = -1;
	LS_TRY(build(&b, err));
	if (s->plan.arena > all->scratch)
		all->scratch = s->plan.arena;
done:
	ls_free(b.needed);
	ls_free(b.local);
	ls_free(b.state);
	return status;
}

/* A run is worth it where something stays inside. */
static bool has_inside(const ls_program *program, const bool *inside, int first, int last)
{
	for (int i = first; i <= last; i++)
		for (int o = 0; o < ls_program_op(program, i)->output_count; o++)
			if (inside[ls_program_op(program, i)->outputs[o]])
				return true;
	return false;
}

ls_status ls_graph__find_stretches(ls_stretches *out, const ls_program *program, const int *keep, int keep_count, ls_error *err)
{
	int ops = ls_program_ops(program), *run = ls_alloc((size_t)ops, sizeof *run);
	ls_status status = LS_OK;
	*out = (ls_stretches){0};
	out->inside = ls_alloc((size_t)ls_program_values(program), sizeof *out->inside);
	out->stretch = ls_alloc((size_t)ops, sizeof *out->stretch);
	if (!run || !out->inside || !out->stretch) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for ops that are computed by sequence");
		goto done;
	}
	number_runs(program, run);
	mark_inside(program, run, keep, keep_count, out->inside);
	for (int i = 0, last; i < ops; i = last + 1) {
		for (last = i; run[i] >= 0 && last + 1 < ops && run[last + 1] == run[i];)
			last++;
		if (run[i] >= 0 && has_inside(program, out->inside, i, last))
			LS_TRY(open_stretch(out, program, i, last, err));
	}
done:
	ls_free(run);
	if (status != LS_OK)
		ls_graph__stretches_free(out);
	return status;
}

void ls_graph__stretches_free(ls_stretches *all)
{
	for (int i = 0; i < all->count; i++) {
		ls_stretch *s = &all->stretch[i];
		ls_program_free(s->one);
		ls_graph__plan_free(&s->plan);
		ls_free(s->op);
		ls_free(s->value);
		ls_free(s->product);
	}
	ls_free(all->stretch);
	ls_free(all->inside);
	*all = (ls_stretches){0};
}

const ls_stretch *ls_graph__stretch_at(const ls_stretches *all, int op)
{
	for (int i = 0; i < all->count; i++)
		if (all->stretch[i].first == op)
			return &all->stretch[i];
	return NULL;
}
