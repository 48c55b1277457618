#include <lockstep/graph.h>

#include "graph/plan.h"
#include "graph/rounding.h"

enum { SELF_CHECKS = 4, SUPPORT_WORDS_MAX = 1 << 22 };

struct ls_exec {
	ls_exec_options options;
	ls_plan plan;
	uint8_t *arena;
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
};

void *ls_exec_value(ls_exec *e, int value)
{
	const ls_place *place = &e->plan.place[value];
	return place->state >= 0 ? e->state[place->state] : e->arena + place->offset;
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
	*planned = e->plan.arena;
	*unplanned = e->plan.unplanned;
}

void ls_exec_free(ls_exec *e)
{
	if (!e)
		return;
	for (int i = 0; e->state && i < ls_program_states(e->options.program); i++)
		ls_free(e->state[i]);
	ls_graph__plan_free(&e->plan);
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
	uint64_t need = e->options.state_only ? 0 : (uint64_t)e->plan.arena, have = ls_memory_bytes();
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
	e->arena = ls_alloc(e->options.state_only ? 0 : (size_t)e->plan.arena, 1);
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
		int64_t support = (p->rows + p->columns) * ((p->terms + 63) / 64);
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
	LS_TRY(ls_graph__plan(&e->plan, options->program, options->keep, options->keep_count, err));
	LS_TRY(check_memory(e, err));
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

static uint32_t word(void *context, int input, int64_t index)
{
	return ((const uint32_t *const *)context)[input][index];
}

/* Which element of this op the step's self-check recomputes, or −1. */
static int64_t element_to_check(const ls_exec *e, uint64_t step, int op, int64_t elements)
{
	ls_stream stream = {0, LS_PURPOSE_TEST, step};
	if (!e->options.self_check || e->options.rounding == LS_ROUNDING_PLAIN)
		return -1;
	for (uint64_t i = 0; i < SELF_CHECKS; i++)
		if (e->products[ls_random_below(&stream, 2 * i, (uint32_t)e->product_count)] == op)
			return (int64_t)(ls_random_u32(&stream, 2 * i + 1) % (uint64_t)elements);
	return -1;
}

static ls_status product_op(ls_exec *e, const ls_reader *reader, int op, ls_op_log *log, ls_forgery *forgery, ls_error *err)
{
	const ls_product *p = &e->product[op];
	const ls_value *value = ls_reader_output(reader, 0);
	const ls_arithmetic *arithmetic = &e->options.arithmetic;
	bool pinned = e->options.rounding == LS_ROUNDING_PINNED;
	ls_bound promise = ls_product_promise(arithmetic, p), bound = promise;
	ls_product_call call = {.product = p, .bits = value->bits, .fp32 = arithmetic->fp32 && !pinned, .flags = &e->flags, .sample = -1,
	                        .a = e->in[p->a.input], .b = e->in[p->b.input],
	                        .bias = p->bias == LS_BIAS_NONE ? NULL : e->in[p->bias_input],
	                        .out = ls_exec_value(e, reader->op->outputs[0]),
	                        .test = e->options.rounding != LS_ROUNDING_PLAIN && !pinned, .pinned = pinned};
	ls_settle settle = {.reader = reader, .product = p, .flags = &e->flags, .out = call.out, .bits = call.bits, .promise = promise,
	                    .op = op, .log = log, .stats = &e->stats[op], .forgery = forgery, .a = call.a, .b = call.b, .bias = call.bias,
	                    .gathered = &e->gathered};
	int64_t elements = ls_shape_count(&value->shape);
	ls_status status;
	if (e->options.rounding == LS_ROUNDING_RECORD || e->options.rounding == LS_ROUNDING_FOLLOW)
		bound = ls_product_bound(arithmetic, reader->op->kind, p); // R(E) everywhere needs a proof
	call.bound = settle.bound = bound;
	e->flags.count = 0;
	e->gathered.row = -1;
	e->stats[op].elements += (uint64_t)elements;
	call.sample = settle.checked = element_to_check(e, reader->step, op, elements);
	status = ls_platform_product(e->options.platform, &call, err);
	if (status != LS_OK || e->options.rounding == LS_ROUNDING_PLAIN)
		return status;
	return pinned ? ls_graph__settle_pinned(&settle, err) : ls_graph__settle(&settle, e->options.rounding, err);
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

static ls_status run_op(ls_exec *e, uint64_t step, int index, ls_step_log *log, ls_step_result *result, ls_error *err)
{
	const ls_op *op = ls_program_op(e->options.program, index);
	ls_reader reader = {.program = e->options.program, .op = op, .step = step, .context = e->in, .word = word,
	                    .samples = e->options.samples, .imports = e->options.imports};
	void *out[LS_OP_OUTPUTS];
	ls_op_call call = {.program = e->options.program, .op = op, .def = e->def[index], .step = step, .in = e->in, .out = out,
	                   .samples = e->options.samples, .imports = e->options.imports, .pool = ls_platform_pool(e->options.platform)};
	for (int i = 0; i < op->input_count; i++)
		e->in[i] = ls_exec_value(e, op->inputs[i]);
	for (int o = 0; o < op->output_count; o++)
		out[o] = ls_exec_value(e, op->outputs[o]);
	if (e->def[index]->class == LS_OP_PRODUCT)
		return product_op(e, &reader, index, log ? &log->op[index] : NULL, &result->forgery, err);
	return ls_platform_run(e->options.platform, &call, err);
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
		double start = ls_clock_seconds();
		LS_TRY(run_op(e, step, i, log, result, err));
		e->stats[i].seconds += ls_clock_seconds() - start;
		if (result->forgery.found)
			goto done;
		if (e->options.watch)
			e->options.watch->after_op(e->options.watch->context, e, step, i, log);
	}
	if (commit_now) {
		double start = ls_clock_seconds();
		LS_TRY(commit(e, true, &result->state_root, err));
		e->stats[ops - 1].seconds += ls_clock_seconds() - start;
		result->committed = true;
	}
	take_over_state(e);
	result->diverged = !ls_exec_state_finite(e);
done:
	return status;
}
