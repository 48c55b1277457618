#include <lockstep/graph.h>

#include "graph/guard.h"
#include "graph/rounding.h"
#include "graph/stretch.h"

enum { SELF_CHECKS = 4, SUPPORT_WORDS_MAX = 1 << 22 };

struct ls_exec {
	ls_exec_options options;
	ls_stretches stretches;
	ls_plan plan;
	uint8_t *arena;     // and behind it, at plan.arena, room for what is inside a stretch
	void **state;       // one buffer per tensor of the state
	ls_product *product; // one per op; used for products
	const ls_op_def **def;
	ls_op_stats *stats;
	int *products; // the ops that are products, ascending
	int product_count;
	ls_flag_list flags;
	ls_tensor_entry *entries; // the state as commit hashes it
	ls_tensor_words *words;   // and where it lies
	const void **in;          // pointers of one op's inputs
	ls_gathered gathered;
	ls_guard guard;
};

void *ls_exec_value(ls_exec *e, int value)
{
	const ls_place *place = &e->plan.place[value];
	if (place->state >= 0)
		return e->state[place->state];
	return place->offset < 0 ? NULL : e->arena + place->offset;
}

void *ls_exec_state(ls_exec *e, int state)
{
	return e->state[state];
}

const ls_op_stats *ls_exec_stats(const ls_exec *e, int op)
{
	return &e->stats[op];
}

const ls_program *ls_exec_program(const ls_exec *e)
{
	return e->options.program;
}

void ls_exec_memory(const ls_exec *e, int64_t *planned, int64_t *unplanned)
{
	*planned = e->plan.arena + e->stretches.scratch;
	*unplanned = e->plan.unplanned;
}

void ls_exec_free(ls_exec *e)
{
	if (!e)
		return;
	for (int i = 0; e->state && i < ls_program_states(e->options.program); i++)
		ls_free(e->state[i]);
	ls_graph__plan_free(&e->plan);
	ls_graph__stretches_free(&e->stretches);
	ls_graph__guard_free(&e->guard);
	ls_free(e->arena);
	ls_free(e->state);
	ls_free(e->product);
	ls_free(e->def);
	ls_free(e->stats);
	ls_free(e->products);
	ls_free(e->flags.flag);
	ls_free(e->entries);
	ls_free(e->words);
	ls_free(e->in);
	ls_free(e->gathered.a);
	ls_free(e->gathered.b);
	ls_free(e->gathered.supports.word);
	ls_flag_list_free(&e->gathered.exact);
	ls_free(e);
}

static int most_inputs(const ls_program *program)
{
	int most = 1;
	for (int i = 0; i < ls_program_ops(program); i++)
		if (ls_program_op(program, i)->input_count > most)
			most = ls_program_op(program, i)->input_count;
	return most;
}

/* A job may come from anybody: what cannot fit is refused before the system is asked for it. */
static ls_status check_memory(const ls_exec *e, ls_error *err)
{
	uint64_t need = e->options.state_only ? 0 : (uint64_t)(e->plan.arena + e->stretches.scratch), have = ls_memory_bytes();
	for (int i = 0; i < ls_program_states(e->options.program); i++)
		need += 4 * (uint64_t)ls_shape_count(&ls_program_value(e->options.program, i)->shape);
	if (need <= have)
		return LS_OK;
	return ls_error_set(err, LS_ERR_NOMEM, "values and state: found %llu bytes, expected at most this machine's %llu\n"
	                    "  hint: a smaller train.batch or model needs less", (unsigned long long)need, (unsigned long long)have);
}

static bool allocate(ls_exec *e)
{
	const ls_program *p = e->options.program;
	size_t ops = (size_t)ls_program_ops(p), states = (size_t)ls_program_states(p);
	e->arena = ls_alloc(e->options.state_only ? 0 : (size_t)(e->plan.arena + e->stretches.scratch), 1);
	e->state = ls_alloc(states, sizeof *e->state);
	e->product = ls_alloc(ops, sizeof *e->product);
	e->def = ls_alloc(ops, sizeof *e->def);
	e->stats = ls_alloc(ops, sizeof *e->stats);
	e->products = ls_alloc(ops, sizeof *e->products);
	e->entries = ls_alloc((size_t)ls_program_op(p, (int)ops - 1)->input_count, sizeof *e->entries);
	e->words = ls_alloc((size_t)ls_program_op(p, (int)ops - 1)->input_count, sizeof *e->words);
	e->in = ls_alloc((size_t)most_inputs(p), sizeof *e->in);
	if (!e->arena || !e->state || !e->product || !e->def || !e->stats || !e->products || !e->entries || !e->words || !e->in)
		return false;
	for (size_t i = 0; i < states; i++) {
		e->state[i] = ls_alloc((size_t)ls_shape_count(&ls_program_value(p, (int)i)->shape), 4);
		if (!e->state[i])
			return false;
	}
	return true;
}

/* Scratch for settling elements, as large as the largest product needs. */
static bool allocate_gathered(ls_exec *e)
{
	int64_t terms = 1, words = 1;
	for (int i = 0; i < e->product_count && !e->options.state_only; i++) {
		const ls_product *p = &e->product[e->products[i]];
		int64_t support = (p->rows + ls_product_b_rows(p)) * ((p->terms + 63) / 64);
		if (ls_product_all_terms(p) > terms)
			terms = ls_product_all_terms(p);
		if (support > words && support <= SUPPORT_WORDS_MAX)
			words = support;
	}
	e->gathered.supports.capacity = (size_t)words;
	e->gathered.supports.word = ls_alloc((size_t)words, sizeof(uint64_t));
	e->gathered.a = ls_alloc((size_t)terms, sizeof(float));
	e->gathered.b = ls_alloc((size_t)terms, sizeof(float));
	return e->gathered.supports.word && e->gathered.a && e->gathered.b;
}

static void describe_ops(ls_exec *e)
{
	const ls_program *p = e->options.program;
	for (int i = 0; i < ls_program_ops(p); i++) {
		e->def[i] = ls_op_find(ls_program_op(p, i)->kind);
		if (e->def[i]->class != LS_OP_PRODUCT)
			continue;
		e->def[i]->product(p, ls_program_op(p, i), &e->product[i]);
		e->products[e->product_count++] = i;
	}
}

static bool imports_missing(const ls_exec_options *options)
{
	for (int i = 0; !options->imports && i < ls_program_ops(options->program); i++)
		if (!strcmp(ls_program_op(options->program, i)->kind, "import"))
			return true;
	return false;
}

ls_status ls_exec_open(ls_exec **out, const ls_exec_options *options, ls_error *err)
{
	ls_status status = LS_OK;
	ls_exec *e = NULL;
	bool room;
	*out = NULL;
	if (options->version != LS_EXEC_OPTIONS_VERSION || !options->program || !options->platform || !options->hasher)
		return ls_error_set(err, LS_ERR_USAGE, "executor: program, platform and hasher must be given");
	LS_TRY(ls_program_finish(options->program, err));
	if (imports_missing(options))
		return ls_error_set(err, LS_ERR_USAGE, "executor: the program imports tensors, and none are given");
	if (options->rounding != LS_ROUNDING_PLAIN && options->rounding != LS_ROUNDING_PINNED)
		LS_TRY(ls_platform_check_depth(ls_platform_name(options->platform), options->program, &options->arithmetic, err));
	e = ls_alloc(1, sizeof *e);
	if (!e)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for an executor");
	e->options = *options;
	if (!options->watch && !options->guard) // these look at every value
		LS_TRY(ls_graph__find_stretches(&e->stretches, options->program, options->keep, options->keep_count, err));
	LS_TRY(ls_graph__plan_stretches(&e->plan, options->program, e->stretches.inside ? &e->stretches : NULL, options->keep,
	                                options->keep_count, err));
	LS_TRY(check_memory(e, err));
	if (options->guard)
		LS_TRY(ls_graph__guard_open(&e->guard, options->program, err));
	room = allocate(e);
	if (room) {
		describe_ops(e);
		room = allocate_gathered(e);
	}
	if (!room) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for %lld bytes of values\n  hint: a smaller train.batch needs less",
		                      (long long)e->plan.arena);
		goto done;
	}
	*out = e;
	e = NULL;
done:
	ls_exec_free(e);
	return status;
}

/* What is computed at once: an op, or of an op in a stretch one sequence. Its inputs are e->in. */
typedef struct task {
	const ls_program *program; // the whole one, or the stretch's
	const ls_op *op;
	const ls_op_def *def;
	const ls_product *product;
	int index;     // of the op in the whole program
	int64_t first; // what element 0 of its first output is in the whole output
	bool again;    // computed before in this step
	void *out[LS_OP_OUTPUTS];
} task;

static uint32_t word(void *context, int input, int64_t index)
{
	return ((const uint32_t *const *)context)[input][index];
}

/* Which element of what is computed now the step's self-check recomputes, or −1. */
static int64_t element_to_check(const ls_exec *e, uint64_t step, const task *t, int64_t elements)
{
	ls_stream stream = {0, LS_PURPOSE_TEST, step};
	const ls_op *whole = ls_program_op(e->options.program, t->index);
	int64_t all = ls_shape_count(&ls_program_value(e->options.program, whole->outputs[0])->shape), at;
	if (!e->options.self_check || e->options.rounding == LS_ROUNDING_PLAIN)
		return -1;
	for (uint64_t i = 0; i < SELF_CHECKS; i++)
		if (e->products[ls_random_below(&stream, 2 * i, (uint32_t)e->product_count)] == t->index) {
			at = (int64_t)(ls_random_u32(&stream, 2 * i + 1) % (uint64_t)all) - t->first;
			return at >= 0 && at < elements ? at : -1;
		}
	return -1;
}

static ls_status product_op(ls_exec *e, const ls_reader *reader, const task *t, ls_op_log *log, ls_forgery *forgery, ls_error *err)
{
	const ls_product *p = t->product;
	ls_op_stats unread = {0}, *stats = t->again ? &unread : &e->stats[t->index];
	ls_rounding rounding = t->again && e->options.rounding == LS_ROUNDING_RECORD ? LS_ROUNDING_FOLLOW : e->options.rounding;
	const ls_value *value = ls_reader_output(reader, 0);
	int64_t elements = ls_shape_count(&value->shape);
	const ls_arithmetic *arithmetic = &e->options.arithmetic;
	bool pinned = rounding == LS_ROUNDING_PINNED;
	ls_bound promise = ls_product_promise(arithmetic, p), bound = promise;
	ls_product_call call = {.product = p, .bits = value->bits, .fp32 = arithmetic->fp32 && !pinned, .flags = &e->flags, .sample = -1,
	                        .a = e->in[p->a.input], .b = e->in[p->b.input],
	                        .bias = p->bias == LS_BIAS_NONE ? NULL : e->in[p->bias_input],
	                        .out = t->out[0], .test = rounding != LS_ROUNDING_PLAIN && !pinned, .pinned = pinned};
	ls_settle settle = {.platform = e->options.platform, .reader = reader, .product = p, .flags = &e->flags, .out = call.out, .bits = call.bits, .promise = promise,
	                    .op = t->index, .first = t->first, .count = elements, .log = log, .stats = stats, .forgery = forgery, .a = call.a, .b = call.b, .bias = call.bias,
	                    .gathered = &e->gathered};
	ls_status status;
	if (rounding == LS_ROUNDING_RECORD || rounding == LS_ROUNDING_FOLLOW)
		bound = ls_product_bound(arithmetic, reader->op->kind, p); // R(E) everywhere needs a proof
	else if (rounding == LS_ROUNDING_EXACT && !arithmetic->fp32) {
		bound = ls_platform_bound(e->options.platform, p);
		call.certify = call.any_sum = true;
	}
	call.bound = settle.bound = bound;
	e->flags.count = e->flags.certified = 0;
	e->gathered.row = -1;
	stats->elements += (uint64_t)elements;
	call.sample = settle.checked = element_to_check(e, reader->step, t, elements);
	status = ls_platform_product(e->options.platform, &call, err);
	if (status != LS_OK || rounding == LS_ROUNDING_PLAIN)
		return status;
	stats->certified += e->flags.certified;
	return pinned ? ls_graph__settle_pinned(&settle, err) : ls_graph__settle(&settle, rounding, err);
}

/* The state root over the inputs of `commit`, under the state's names. */
static ls_status commit(ls_exec *e, bool after, ls_hash *out, ls_error *err)
{
	const ls_program *p = e->options.program;
	const ls_op *op = ls_program_op(p, ls_program_ops(p) - 1);
	int states = ls_program_states(p);
	int count = after ? op->input_count : states;
	ls_status status;
	for (int i = 0; i < count; i++) {
		const ls_value *v = ls_program_value(p, states ? i : op->inputs[i]);
		const void *words = after ? ls_exec_value(e, op->inputs[i]) : e->state[i];
		e->entries[i] = (ls_tensor_entry){.name = v->name, .dtype = (uint8_t)v->dtype, .rank = (uint8_t)v->shape.rank};
		memcpy(e->entries[i].dims, v->shape.dim, sizeof v->shape.dim);
		e->words[i] = (ls_tensor_words){.words = words, .count = ls_shape_count(&v->shape)};
	}
	status = ls_tensor_roots(e->words, (size_t)count, ls_platform_pool(e->options.platform), e->options.hasher);
	if (status != LS_OK)
		return ls_error_set(err, status, "could not hash the state: %s", ls_status_text(status));
	for (int i = 0; i < count; i++)
		e->entries[i].root = e->words[i].root;
	return ls_state_root(out, e->entries, (size_t)count, e->options.hasher, err);
}

ls_status ls_exec_state_root(ls_exec *e, ls_hash *out, ls_error *err)
{
	return commit(e, false, out, err);
}

static bool all_finite(const uint32_t *words, int64_t count)
{
	uint32_t any = 0;
	for (int64_t i = 0; i < count; i++)
		any |= (words[i] & 0x7f800000u) == 0x7f800000u;
	return !any;
}

/* New values of the state that an op computed elsewhere move into the state's buffers. */
static void take_over_state(ls_exec *e)
{
	const ls_program *p = e->options.program;
	const ls_op *op = ls_program_op(p, ls_program_ops(p) - 1);
	for (int i = 0; i < ls_program_states(p); i++) {
		int64_t count = ls_shape_count(&ls_program_value(p, i)->shape);
		const void *from = ls_exec_value(e, op->inputs[i]);
		if (from != e->state[i])
			memcpy(e->state[i], from, (size_t)count * 4);
	}
}

bool ls_exec_state_finite(const ls_exec *e)
{
	const ls_program *p = e->options.program;
	bool finite = true;
	for (int i = 0; i < ls_program_states(p) && finite; i++)
		finite = all_finite(e->state[i], ls_shape_count(&ls_program_value(p, i)->shape));
	return finite;
}

static ls_status run_task(ls_exec *e, uint64_t step, const task *t, ls_step_log *log, ls_forgery *forgery, ls_error *err)
{
	ls_reader reader = {.program = t->program, .op = t->op, .step = step, .context = e->in, .word = word,
	                    .samples = e->options.samples, .imports = e->options.imports, .first = t->first};
	ls_op_call call = {.program = t->program, .op = t->op, .def = t->def, .step = step, .in = e->in, .out = t->out,
	                   .samples = e->options.samples, .imports = e->options.imports, .pool = ls_platform_pool(e->options.platform),
	                   .first = t->first};
	if (t->def->class == LS_OP_PRODUCT)
		return product_op(e, &reader, t, log ? &log->op[t->index] : NULL, forgery, err);
	return ls_platform_run(e->options.platform, &call, err);
}

static ls_status run_op(ls_exec *e, uint64_t step, int index, ls_step_log *log, ls_step_result *result, ls_error *err)
{
	task t = {.program = e->options.program, .op = ls_program_op(e->options.program, index), .def = e->def[index],
	          .product = &e->product[index], .index = index};
	for (int i = 0; i < t.op->input_count; i++)
		e->in[i] = ls_exec_value(e, t.op->inputs[i]);
	for (int o = 0; o < t.op->output_count; o++)
		t.out[o] = ls_exec_value(e, t.op->outputs[o]);
	return run_task(e, step, &t, log, &result->forgery, err);
}

/* Where a stretch has a value of its program for this sequence. */
static void *value_of_sequence(ls_exec *e, const ls_stretch *s, int64_t sequence, int value)
{
	int64_t count = ls_shape_count(&ls_program_value(s->one, value)->shape);
	if (s->value[value] < 0)
		return e->arena + e->plan.arena + s->plan.place[value].offset;
	return (uint32_t *)ls_exec_value(e, s->value[value]) + sequence * count;
}

static ls_status run_op_of_sequence(ls_exec *e, const ls_stretch *s, uint64_t step, int64_t sequence, int index, ls_step_log *log,
                                    ls_forgery *forgery, ls_error *err)
{
	const ls_op *op = ls_program_op(s->one, index);
	task t = {.program = s->one, .op = op, .def = e->def[s->op[index]], .product = &s->product[index], .index = s->op[index],
	          .first = sequence * ls_shape_count(&ls_program_value(s->one, op->outputs[0])->shape), .again = s->op[index] < s->first};
	ls_status status;
	for (int i = 0; i < op->input_count; i++)
		e->in[i] = value_of_sequence(e, s, sequence, op->inputs[i]);
	for (int o = 0; o < op->output_count; o++)
		t.out[o] = value_of_sequence(e, s, sequence, op->outputs[o]);
	status = run_task(e, step, &t, log, forgery, err);
	if (status == LS_OK && t.again && forgery->found)
		status = ls_error_set(err, LS_ERR_NONCONFORMING, "op %d, element %lld: found another sum than before, expected the same\n"
		                      "  hint: the platform or the hardware computed wrongly; run `lockstep platforms`", t.index,
		                      (long long)forgery->element);
	return status;
}

/* A forged entry ends its sequence; that the first one of the first op is named, as where ops run one by one, later sequences
 * are still looked through up to there. */
static ls_status run_stretch(ls_exec *e, const ls_stretch *s, uint64_t step, ls_step_log *log, ls_step_result *result, ls_error *err)
{
	int end = s->ops;
	ls_status status = LS_OK;
	for (int64_t b = 0; b < s->sequences; b++)
		for (int i = 0; i < end; i++) {
			double start = ls_clock_seconds();
			ls_forgery forgery = {0};
			LS_TRY(run_op_of_sequence(e, s, step, b, i, log, &forgery, err));
			e->stats[s->op[i]].seconds += ls_clock_seconds() - start;
			if (forgery.found) {
				result->forgery = forgery;
				end = i;
			}
		}
done:
	return status;
}

/* The op, with whatever runs together with it; `*last` receives the last op that has run. */
static ls_status run_next(ls_exec *e, uint64_t step, int index, ls_step_log *log, ls_step_result *result, int *last, ls_error *err)
{
	const ls_stretch *s = ls_graph__stretch_at(&e->stretches, index);
	double start = ls_clock_seconds();
	ls_status status;
	*last = s ? s->last : index;
	if (s)
		return run_stretch(e, s, step, log, result, err);
	status = run_op(e, step, index, log, result, err);
	e->stats[index].seconds += ls_clock_seconds() - start;
	return status;
}

static ls_status check_inputs(ls_exec *e, uint64_t step, int index, ls_error *err)
{
	const ls_op *op = ls_program_op(e->options.program, index);
	ls_status status = LS_OK;
	for (int i = 0; i < op->input_count && e->guard.program && status == LS_OK; i++)
		status = ls_graph__guard_check(&e->guard, op->inputs[i], step, index, ls_exec_value(e, op->inputs[i]), err);
	return status;
}

static void note_outputs(ls_exec *e, int index)
{
	const ls_op *op = ls_program_op(e->options.program, index);
	for (int o = 0; o < op->output_count && e->guard.program; o++)
		ls_graph__guard_wrote(&e->guard, op->outputs[o], index, ls_exec_value(e, op->outputs[o]));
}

void ls_exec_state_replaced(ls_exec *e)
{
	ls_graph__guard_forget(&e->guard);
}

ls_status ls_exec_step(ls_exec *e, uint64_t step, ls_step_log *log, bool commit_now, ls_step_result *result, ls_error *err)
{
	ls_status status = LS_OK;
	int ops = ls_program_ops(e->options.program);
	*result = (ls_step_result){0};
	if ((!log && e->options.rounding == LS_ROUNDING_RECORD) || (log && log->ops != ops))
		return ls_error_set(err, LS_ERR_USAGE, "step %llu: a rounding log of as many ops as the program must be given",
		                    (unsigned long long)step);
	if (!ls_platform_control_ok())
		return ls_error_set(err, LS_ERR_NONCONFORMING,
		                    "step %llu: the processor does not round to nearest, or flushes subnormal numbers\n"
		                    "  hint: something in this process changed the floating-point control word", (unsigned long long)step);
	if (log && e->options.rounding == LS_ROUNDING_RECORD)
		ls_step_log_clear(log);
	for (int i = 0; i < ops - 1; i++) {
		LS_TRY(check_inputs(e, step, i, err));
		LS_TRY(run_next(e, step, i, log, result, &i, err));
		note_outputs(e, i);
		if (result->forgery.found)
			goto done;
		if (e->options.watch)
			e->options.watch->after_op(e->options.watch->context, e, step, i, log);
	}
	LS_TRY(check_inputs(e, step, ops - 1, err));
	if (commit_now) {
		double start = ls_clock_seconds();
		LS_TRY(commit(e, true, &result->state_root, err));
		e->stats[ops - 1].seconds += ls_clock_seconds() - start;
		result->committed = true;
	}
	take_over_state(e);
	ls_graph__guard_next(&e->guard);
	result->diverged = !ls_exec_state_finite(e);
done:
	return status;
}
