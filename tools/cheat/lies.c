#include "cheat/lies.h"

/* ---- what an op is ---- */

/* The tensor of the state that output `o` replaces, or −1: the outputs of updates are what `commit` reads. */
static int state_of_output(const cheat_view *v, int o)
{
	const ls_op *commit = ls_program_op(v->program, ls_program_ops(v->program) - 1);
	for (int s = 0; s < v->liar->states; s++)
		if (commit->inputs[s] == v->op->outputs[o])
			return s;
	return -1;
}

static bool is_update(const cheat_view *v)
{
	return v->step > 0 && state_of_output(v, 0) >= 0;
}

static int64_t words_of(const cheat_view *v, int o)
{
	return ls_shape_count(&ls_program_value(v->program, v->op->outputs[o])->shape);
}

static void *output(const cheat_view *v, int o)
{
	return ls_exec_value(v->exec, v->op->outputs[o]);
}

static void set_word(cheat_view *v, uint32_t *word, uint32_t value)
{
	v->liar->changed += *word != value;
	*word = value;
}

/* The lowest mantissa bit that this output's grid keeps. */
static uint32_t last_bit(const cheat_view *v, int o)
{
	return UINT32_C(1) << (LS_GRID_MAX - ls_program_value(v->program, v->op->outputs[o])->bits);
}

/* The first product of the step: the first layer's forward pass. */
static bool is_first_product(const cheat_view *v)
{
	for (int i = 0; i < v->index; i++)
		if (ls_op_find(ls_program_op(v->program, i)->kind)->class == LS_OP_PRODUCT)
			return false;
	return v->def->class == LS_OP_PRODUCT;
}

static bool same_layer(const cheat_view *v, int state)
{
	const char *name = ls_program_value(v->program, state)->name, *first = ls_program_value(v->program, 0)->name;
	size_t layer = (size_t)(strchr(first, '.') ? strchr(first, '.') - first : 0);
	return !strncmp(name, first, layer + 1);
}

static void restore(cheat_view *v, int o)
{
	const uint32_t *before = v->liar->before[state_of_output(v, o)];
	uint32_t *now = output(v, o);
	for (int64_t i = 0; i < words_of(v, o); i++)
		set_word(v, &now[i], before[i]);
}

/* ---- the lies ---- */

/* Another class, or token, that there is. */
static void poison_label(cheat_view *v)
{
	uint32_t *label;
	if (v->def->class != LS_OP_LOAD)
		return;
	label = output(v, 1);
	set_word(v, label, *label ? *label - 1 : 1);
}

static void poison_pixel(cheat_view *v)
{
	float *x;
	if (v->def->class != LS_OP_LOAD)
		return;
	x = output(v, 0);
	set_word(v, (uint32_t *)x, ls_bits_f32(ls_round_f64(*x + 1.0, ls_program_bits(v->program))));
}

/* Loads what another step, or an op with another seed, would have loaded. */
static void load_other(cheat_view *v, uint64_t step, int64_t seed)
{
	void *out[LS_OP_OUTPUTS] = {NULL};
	ls_op op = *v->op;
	ls_op_call call = {.program = v->program, .op = &op, .def = v->def, .step = step, .out = out,
	                   .samples = ls_plan_samples(v->liar->plan), .pool = ls_platform_pool(v->liar->platform)};
	op.ints[2] += seed;
	for (int o = 0; o < v->op->output_count; o++)
		out[o] = output(v, o);
	ls_op_reference(&call);
	v->liar->changed++;
}

/* The samples of the step after this one, which then trains on them twice. */
static void drop_batch(cheat_view *v)
{
	if (v->def->class == LS_OP_LOAD)
		load_other(v, v->step + 1, 0);
}

static void repeat_batch(cheat_view *v)
{
	if (v->def->class == LS_OP_LOAD && v->step > 1)
		load_other(v, v->step - 1, 0);
}

static void other_order(cheat_view *v)
{
	if (v->def->class == LS_OP_LOAD)
		load_other(v, v->step, 1);
}

/* The first half of the batch twice: half the samples of what was ordered. */
static void half_batch(cheat_view *v)
{
	if (v->def->class != LS_OP_LOAD)
		return;
	for (int o = 0; o < v->op->output_count; o++) {
		uint32_t *word = output(v, o);
		int64_t half = words_of(v, o) / 2;
		for (int64_t i = 0; i < half; i++)
			set_word(v, &word[half + i], word[i]);
	}
}

static void other_weights(cheat_view *v)
{
	if (v->step == 0 && v->index == 0)
		set_word(v, output(v, 0), *(uint32_t *)output(v, 0) ^ last_bit(v, 0));
}

/* Every number of this output is one grid unit off. One alone could be rounded away by what follows. */
static void bend(cheat_view *v, int o)
{
	uint32_t *word = output(v, o);
	for (int64_t i = 0; i < words_of(v, o); i++)
		if (word[i])
			set_word(v, &word[i], word[i] ^ last_bit(v, o));
}

static bool is_statistics(const cheat_view *v, int op)
{
	return !strcmp(ls_program_op(v->program, op)->kind, "channel_stats");
}

static bool is_gradient(const cheat_view *v, int op)
{
	return !strncmp(ls_program_value(v->program, ls_program_op(v->program, op)->outputs[0])->name, "d.", 2);
}

/* Whether this op is the first of its sort. */
static bool is_first(const cheat_view *v, bool (*sort)(const cheat_view *v, int op))
{
	for (int i = 0; i < v->index; i++)
		if (sort(v, i))
			return false;
	return sort(v, v->index);
}

static void bend_statistics(cheat_view *v)
{
	if (is_first(v, is_statistics))
		bend(v, 0);
}

static void bend_gradient(cheat_view *v)
{
	if (is_first(v, is_gradient))
		bend(v, 0);
}

/* The optimizer's own state, beside the weights. */
static void edit_momentum(cheat_view *v)
{
	if (is_update(v) && v->op->output_count > 1 && state_of_output(v, 0) == 0)
		bend(v, 1);
}

static void edit_weight(cheat_view *v)
{
	uint32_t *word;
	if (!is_update(v) || state_of_output(v, 0) != 0)
		return;
	word = output(v, 0);
	set_word(v, word, *word ^ last_bit(v, 0));
}

static void freeze_layer(cheat_view *v)
{
	if (!is_update(v))
		return;
	for (int o = 0; o < v->op->output_count; o++)
		if (same_layer(v, state_of_output(v, o)))
			restore(v, o);
}

static void skip_step(cheat_view *v)
{
	if (v->log)
		v->log->count = 0;
	if (!is_update(v))
		return;
	for (int o = 0; o < v->op->output_count; o++)
		restore(v, o);
}

/* One and a half times the step that was ordered. */
static void wrong_lr(cheat_view *v)
{
	const float *before;
	uint32_t *now;
	int bits = ls_program_state_bits(v->program);
	if (!is_update(v))
		return;
	before = v->liar->before[state_of_output(v, 0)];
	now = output(v, 0);
	for (int64_t i = 0; i < words_of(v, 0); i++) {
		double w = (double)before[i], moved = (double)ls_f32_bits(now[i]) - w;
		set_word(v, &now[i], ls_bits_f32(ls_round_f64(w + 1.5 * moved, bits)));
	}
}

/* Products in bfloat16, which is cheaper than what was ordered. */
static void low_precision(cheat_view *v)
{
	uint32_t *word;
	if (v->def->class != LS_OP_PRODUCT)
		return;
	word = output(v, 0);
	for (int64_t i = 0; i < words_of(v, 0); i++)
		set_word(v, &word[i], ls_bits_f32(ls_round_f32(ls_f32_bits(word[i]), 16)));
}

/* Of the elements that the rounding log does not mention the one furthest from zero, or −1. The place that its entry would
 * have goes to `*at`. */
static int64_t find_unlogged(const cheat_view *v, size_t *at)
{
	const uint32_t *word = output(v, 0);
	uint32_t most = 0;
	int64_t found = -1;
	size_t e = 0;
	for (int64_t i = 0; i < words_of(v, 0); i++) {
		uint32_t magnitude = word[i] & 0x7fffffff;
		while (e < v->log->count && v->log->entry[e].index < i)
			e++;
		if (magnitude <= most || magnitude >= 0x7f800000 || (e < v->log->count && v->log->entry[e].index == i))
			continue;
		most = magnitude;
		found = i;
		*at = e;
	}
	return found;
}

static void insert_entry(cheat_view *v, size_t at, ls_entry entry)
{
	ls_status status = ls_op_log_push(v->log, entry);
	if (status != LS_OK) {
		v->liar->status = status;
		return;
	}
	memmove(&v->log->entry[at + 1], &v->log->entry[at], (v->log->count - 1 - at) * sizeof entry);
	v->log->entry[at] = entry;
	v->liar->changed++;
}

/* The logits, and no entry says so. */
static void bend_values(cheat_view *v)
{
	if (v->op->outputs[0] == ls_program_find(v->program, LS_MODEL_LOGITS))
		bend(v, 0);
}

/* An element of the first product with an entry that claims its rounding was doubtful. */
static void forge_entry(cheat_view *v)
{
	uint32_t *word = output(v, 0);
	size_t at;
	int64_t i = is_first_product(v) && v->log ? find_unlogged(v, &at) : -1;
	if (i < 0)
		return;
	set_word(v, &word[i], word[i] ^ last_bit(v, 0));
	insert_entry(v, at, (ls_entry){(uint32_t)i, (uint8_t)((word[i] & last_bit(v, 0)) != 0)});
}

/* The other direction for every rounding that was doubtful; the values stay honest. */
static void invert_log(cheat_view *v)
{
	for (size_t e = 0; v->log && e < v->log->count; e++)
		v->log->entry[e].bit ^= 1;
	v->liar->changed += v->log ? v->log->count : 0;
}

/* An entry for every element of every product, each of which says what is so anyway. */
static void redundant_entries(cheat_view *v)
{
	const float *value;
	int bits;
	if (v->def->class != LS_OP_PRODUCT || !v->log)
		return;
	value = output(v, 0);
	bits = ls_program_value(v->program, v->op->outputs[0])->bits;
	v->liar->changed += (uint64_t)words_of(v, 0) - v->log->count;
	v->log->count = 0; // honest entries carry the same bits and come back below
	for (int64_t i = 0; i < words_of(v, 0) && v->liar->status == LS_OK; i++)
		v->liar->status = ls_op_log_push(v->log, (ls_entry){(uint32_t)i, (uint8_t)ls_grid_last_bit(value[i], bits)});
}

static const cheat_lie lies[] = {
	{"poison-label", "changes the label of one sample of the batch", poison_label, false, false, false},
	{"poison-pixel", "changes one pixel of one sample of the batch", poison_pixel, false, false, false},
	{"repeat-batch", "trains on the samples of the step before again", repeat_batch, false, false, false},
	{"other-order", "takes the samples in the order of another seed", other_order, false, false, false},
	{"half-batch", "trains on half of the batch, twice", half_batch, false, false, false},
	{"other-weights", "starts from other weights (step 0)", other_weights, false, false, false},
	{"bend-statistics", "moves a batch norm's means by a grid unit each", bend_statistics, false, false, false},
	{"bend-gradient", "moves the first gradient by a grid unit per element", bend_gradient, false, false, false},
	{"edit-momentum", "changes the optimizer's state beside the weights", edit_momentum, false, false, false},
	{"drop-batch", "trains on the samples of the next step instead", drop_batch, false, false, false},
	{"edit-weight", "flips the last bit of one weight after the update", edit_weight, false, false, false},
	{"freeze-layer", "leaves one layer as it was", freeze_layer, false, false, false},
	{"skip-step", "leaves the whole state as it was", skip_step, false, false, false},
	{"wrong-lr", "moves every weight one and a half times as far", wrong_lr, false, false, false},
	{"low-precision", "computes products in bfloat16", low_precision, false, false, false},
	{"bend-values", "moves the logits by a grid unit each, without an entry", bend_values, false, false, false},
	{"forge-entry", "moves one product by a grid unit, with an entry", forge_entry, false, false, true},
	{"invert-log", "logs the other direction of every doubtful rounding", invert_log, false, false, true},
	{"redundant-entries", "logs every rounding, doubtful or not (allowed)", redundant_entries, true, true, true},
};

const cheat_lie *cheat_lie_at(size_t index)
{
	return index < sizeof lies / sizeof *lies ? &lies[index] : NULL;
}

const cheat_lie *cheat_lie_find(const char *name)
{
	for (size_t i = 0; cheat_lie_at(i); i++)
		if (!strcmp(lies[i].name, name))
			return &lies[i];
	return NULL;
}

/* ---- the watcher ---- */

static void remember_state(cheat_liar *liar, ls_exec *exec, const ls_program *program)
{
	for (int s = 0; s < liar->states; s++)
		memcpy(liar->before[s], ls_exec_state(exec, s), (size_t)ls_shape_count(&ls_program_value(program, s)->shape) * 4);
}

static void after_op(void *context, ls_exec *exec, uint64_t step, int op, ls_step_log *log)
{
	cheat_liar *liar = context;
	const ls_program *program = ls_exec_program(exec);
	cheat_view view = {.liar = liar, .exec = exec, .program = program, .op = ls_program_op(program, op), .step = step,
	                   .log = log ? &log->op[op] : NULL, .index = op};
	if (liar->status != LS_OK || !(step == liar->at || (step > liar->at && liar->lie->onwards)))
		return;
	if (op == 0 && step > 0)
		remember_state(liar, exec, program);
	view.def = ls_op_find(view.op->kind);
	liar->lie->tell(&view);
}

ls_status cheat_open(cheat_liar *liar, const cheat_lie *lie, uint64_t at, const ls_job_plan *plan, ls_platform *platform,
                     ls_error *err)
{
	const ls_program *program = ls_model_step(ls_plan_model(plan));
	uint64_t steps = ls_plan_binding(plan)->steps;
	int states = ls_program_states(program);
	*liar = (cheat_liar){.lie = lie, .plan = plan, .platform = platform, .at = at};
	liar->watch = (ls_watch){liar, after_op};
	if (at > steps)
		return ls_error_set(err, LS_ERR_USAGE, "--at: found %llu, expected a step from 0 to %llu", (unsigned long long)at,
		                    (unsigned long long)steps);
	if (lie->needs_log && !ls_job_keeps_log(ls_plan_spec(plan)))
		return ls_error_set(err, LS_ERR_USAGE, "--lie: %s needs a rounding log, so the job's mode must be logged", lie->name);
	liar->before = ls_alloc((size_t)states, sizeof *liar->before);
	if (!liar->before)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the state");
	for (; liar->states < states; liar->states++) {
		void **tensor = &liar->before[liar->states];
		*tensor = ls_alloc((size_t)ls_shape_count(&ls_program_value(program, liar->states)->shape), 4);
		if (!*tensor)
			return ls_error_set(err, LS_ERR_NOMEM, "no memory for the state");
	}
	return LS_OK;
}

void cheat_close(cheat_liar *liar)
{
	for (int s = 0; s < liar->states; s++)
		ls_free(liar->before[s]);
	ls_free(liar->before);
	*liar = (cheat_liar){0};
}
