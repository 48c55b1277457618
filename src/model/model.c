#include <lockstep/graph.h>

#include "model/net.h"

#include <stdio.h>
#include <stdlib.h>

struct ls_model {
	ls_program *init, *step, *eval;
	bool *weight; // one per tensor of step's state
	int64_t parameters;
};

/* ---- the state: parameters, buffers and the optimizer's tensors, ascending by name ---- */

typedef struct state_list {
	ls_parameter *tensor; // in order of name; an optimizer's tensors start at zero
	int count;
} state_list;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const ls_parameter *)a)->name, ((const ls_parameter *)b)->name);
}

static ls_status list_state(state_list *out, const ls_net *net, const ls_optim_def *optim, ls_error *err)
{
	const char *suffix[LS_OPTIM_SLOTS];
	int slots = optim ? optim->slots(&net->options->optim, suffix) : 0;
	out->tensor = ls_alloc((size_t)net->count * (size_t)(1 + slots), sizeof *out->tensor);
	if (!out->tensor)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the list of parameters");
	for (int i = 0; i < net->count; i++) {
		out->tensor[out->count++] = net->parameter[i];
		for (int s = 0; s < slots && !net->parameter[i].buffer; s++) {
			ls_parameter *p = &out->tensor[out->count++];
			*p = net->parameter[i];
			p->init = (ls_init){LS_INIT_CONST, 0};
			p->slot = true;
			if (snprintf(p->name, sizeof p->name, "%s%s", net->parameter[i].name, suffix[s]) >= (int)sizeof p->name)
				return ls_error_set(err, LS_ERR_INPUT, "the name '%s%s' is too long", net->parameter[i].name, suffix[s]);
		}
	}
	qsort(out->tensor, (size_t)out->count, sizeof *out->tensor, by_name);
	return LS_OK;
}

/* ---- pieces of programs ---- */

static int load(ls_net *net, int64_t samples, int64_t batch, bool shuffle)
{
	const ls_model_options *o = net->options;
	ls_op_spec spec = {.kind = "load", .name = "x", .num_count = 2 * (int)o->channels,
	                   .ints = {samples, batch, o->seed, shuffle, o->channels, o->height, o->width}, .int_count = 7};
	if (shuffle && (o->crop || o->flip)) { // the training program's load
		spec.ints[spec.int_count++] = o->crop;
		spec.ints[spec.int_count++] = o->flip;
	}
	if (o->channels < 1 || o->channels > LS_MODEL_CHANNELS_MAX)
		return ls_program_fail(net->program, LS_ERR_INPUT, "data: found %lld channels, expected 1 to 3", (long long)o->channels);
	for (int64_t c = 0; c < o->channels; c++) {
		spec.nums[c] = o->mean[c];
		spec.nums[o->channels + c] = o->std[c];
	}
	return ls_op_append(net->program, &spec);
}

/* load, forward, loss; returns the loss. */
static int forward(ls_net *net, const ls_model_def *def, int64_t samples, int64_t batch, bool training)
{
	int x = load(net, samples, batch, training), logits, p;
	ls_shape shape;
	net->training = training;
	logits = x < 0 ? -1 : def->build(net, x);
	if (logits < 0)
		return -1;
	shape = ls_program_value(net->program, logits)->shape;
	logits = ls_op_append(net->program, &(ls_op_spec){.kind = "reshape", .name = LS_MODEL_LOGITS, .inputs = {logits},
	                                                  .input_count = 1, .ints = {shape.dim[0], shape.dim[1]}, .int_count = 2});
	p = ls_op_append(net->program, &(ls_op_spec){.kind = "softmax", .name = "softmax", .inputs = {logits}, .input_count = 1});
	return ls_op_append(net->program, &(ls_op_spec){.kind = "cross_entropy", .name = LS_MODEL_LOSS,
	                                                .inputs = {logits, p, p + 1, p + 2, x + 1}, .input_count = 5});
}

static void append_commit(ls_program *program, const int *values, int count)
{
	ls_op_append(program, &(ls_op_spec){.kind = "commit", .name = "state", .more_inputs = values, .input_count = count});
}

static ls_status discover(ls_net *net, const ls_model_def *def, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_program_open(&net->program, net->options->bits, net->options->state_bits, err));
	net->discovering = true;
	forward(net, def, net->options->samples, net->options->batch, true);
	net->discovering = false;
	if (ls_program_failed(net->program))
		status = ls_program_finish(net->program, err);
done:
	ls_program_free(net->program);
	net->program = NULL;
	return status;
}

static const char *const init_kinds[] = {[LS_INIT_UNIFORM] = "init_uniform", [LS_INIT_CONST] = "init_const",
                                         [LS_INIT_NORMAL] = "init_normal"};

/* The op that makes a tensor in step 0: drawn, constant, or, for weights of a job that says so, taken from elsewhere. */
static ls_op_spec init_op(const ls_model_options *o, const ls_parameter *p, int weight)
{
	ls_op_spec spec = {.kind = init_kinds[p->init.kind], .name = p->name,
	                   .ints = {o->seed, p->number}, .int_count = 2, .nums = {p->init.value}, .num_count = 1};
	if (o->import && !p->slot) {
		spec = (ls_op_spec){.kind = "import", .name = p->name, .int_count = 5};
		for (int i = 0; i < 4; i++)
			spec.ints[i] = (int64_t)ls_get_le64(o->import + 8 * i);
		spec.ints[4] = weight;
	}
	for (int d = 0; d < p->shape.rank; d++)
		spec.ints[spec.int_count++] = p->shape.dim[d];
	return spec;
}

static ls_status list_weights(ls_model *m, const state_list *state, ls_error *err)
{
	m->weight = ls_alloc((size_t)state->count, sizeof *m->weight);
	if (!m->weight)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a model");
	for (int i = 0; i < state->count; i++)
		m->weight[i] = !state->tensor[i].slot;
	return LS_OK;
}

static ls_status build_init(ls_model *m, const ls_net *net, const state_list *state, ls_error *err)
{
	ls_status status;
	int *values = ls_alloc((size_t)state->count, sizeof *values), weights = 0;
	if (!values)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the program of step 0");
	LS_TRY(ls_program_open(&m->init, net->options->bits, net->options->state_bits, err));
	for (int i = 0; i < state->count; i++) {
		ls_op_spec spec = init_op(net->options, &state->tensor[i], weights);
		weights += !state->tensor[i].slot;
		values[i] = ls_op_append(m->init, &spec);
	}
	append_commit(m->init, values, state->count);
	status = ls_program_finish(m->init, err);
done:
	ls_free(values);
	return status;
}

/* One op that makes the next value of each parameter. */
static void update(ls_program *program, const ls_net *net, const ls_optim_def *optim, const int *wanted, const int *grads)
{
	const char *suffix[LS_OPTIM_SLOTS];
	int slots = optim->slots(&net->options->optim, suffix), n = 0;
	char name[LS_NAME_MAX];
	for (int i = 0; i < net->count && !ls_program_failed(program); i++) {
		int slot[LS_OPTIM_SLOTS] = {0};
		if (net->parameter[i].buffer)
			continue;
		for (int s = 0; s < slots; s++) {
			snprintf(name, sizeof name, "%.80s%s", net->parameter[i].name, suffix[s]);
			slot[s] = ls_program_find(program, name);
		}
		optim->update(program, &net->options->optim, wanted[n], grads[n], slot);
		n++;
	}
}

/* Gradients of all parameters, then one update op each, then commit of the whole new state. */
static void backward(ls_program *program, const ls_net *net, const ls_optim_def *optim, const state_list *state, int loss)
{
	int count = 0;
	int *wanted = ls_alloc((size_t)net->count, sizeof *wanted), *grads = ls_alloc((size_t)net->count, sizeof *grads);
	int *next = ls_alloc((size_t)state->count, sizeof *next);
	char name[LS_NAME_MAX];
	if (!wanted || !grads || !next) {
		ls_program_fail(program, LS_ERR_NOMEM, "no memory for %d gradients", net->count);
		goto done;
	}
	for (int i = 0; i < net->count; i++)
		if (!net->parameter[i].buffer)
			wanted[count++] = ls_program_find(program, net->parameter[i].name);
	ls_autodiff(program, loss, wanted, count, grads);
	update(program, net, optim, wanted, grads);
	for (int i = 0; i < state->count; i++) {
		snprintf(name, sizeof name, "%.88s.next", state->tensor[i].name);
		next[i] = ls_program_find(program, name);
	}
	if (!ls_program_failed(program))
		append_commit(program, next, state->count);
done:
	ls_free(wanted);
	ls_free(grads);
	ls_free(next);
}

static ls_status declare(ls_net *net, ls_program **program, const state_list *state, ls_error *err)
{
	ls_status status = ls_program_open(program, net->options->bits, net->options->state_bits, err);
	if (status != LS_OK)
		return status;
	net->program = *program;
	for (int i = 0; i < state->count; i++)
		ls_program_add_state(*program, state->tensor[i].name, &state->tensor[i].shape);
	return LS_OK;
}

static ls_status build_step(ls_model *m, ls_net *net, const ls_model_def *def, const ls_optim_def *optim,
                            const state_list *state, ls_error *err)
{
	ls_status status;
	int loss;
	LS_TRY(declare(net, &m->step, state, err));
	loss = forward(net, def, net->options->samples, net->options->batch, true);
	if (loss >= 0)
		backward(m->step, net, optim, state, loss);
	status = ls_program_finish(m->step, err);
done:
	return status;
}

static ls_status build_eval(ls_model *m, ls_net *net, const ls_model_def *def, ls_error *err)
{
	ls_status status;
	state_list state = {0};
	int *same = NULL;
	LS_TRY(list_state(&state, net, NULL, err));
	LS_TRY(declare(net, &m->eval, &state, err));
	forward(net, def, net->options->eval_samples, net->options->eval_batch, false);
	same = ls_alloc((size_t)state.count, sizeof *same);
	for (int i = 0; same && i < state.count; i++)
		same[i] = i;
	if (same && !ls_program_failed(m->eval))
		append_commit(m->eval, same, state.count);
	status = same ? ls_program_finish(m->eval, err) : ls_error_set(err, LS_ERR_NOMEM, "no memory for the eval program");
done:
	ls_free(same);
	ls_free(state.tensor);
	return status;
}

static ls_status check_options(const ls_model_options *o, const ls_model_def *def, ls_error *err)
{
	const struct {
		const char *name;
		bool given;
		unsigned bit;
	} option[] = {
		{"hidden", o->hidden_count > 0, LS_READS_HIDDEN},
		{"pool", o->average_pool, LS_READS_POOL},
		{"activation", o->activation != LS_MODEL_RELU, LS_READS_ACTIVATION},
		{"width", o->width_scale < 1 || o->width_scale > 1, LS_READS_WIDTH},
		{"head", o->head != LS_MODEL_HEAD_CIFAR, LS_READS_HEAD},
	};
	for (size_t i = 0; i < sizeof option / sizeof *option; i++)
		if (option[i].given && !(def->reads & option[i].bit))
			return ls_error_set(err, LS_ERR_INPUT, "model.%s: found a value, expected none: %s does not read it\n  hint: remove it",
			                    option[i].name, def->name);
	return LS_OK;
}

ls_status ls_model_open(ls_model **out, const ls_model_options *options, ls_error *err)
{
	ls_status status;
	const ls_model_def *def = options->version == LS_MODEL_OPTIONS_VERSION && options->arch ? ls_model__find(options->arch, err) : NULL;
	const ls_optim_def *optim;
	ls_net net = {.options = options};
	state_list state = {0};
	ls_model *m = NULL;
	*out = NULL;
	if (options->version != LS_MODEL_OPTIONS_VERSION || !options->arch)
		return ls_error_set(err, LS_ERR_USAGE, "model options of version %d, or without a name", options->version);
	if (!def)
		return LS_ERR_NOT_FOUND;
	LS_TRY(check_options(options, def, err));
	LS_TRY(ls_optim_find(&optim, &options->optim, err));
	m = ls_alloc(1, sizeof *m);
	if (!m)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a model");
	LS_TRY(discover(&net, def, err));
	LS_TRY(list_state(&state, &net, optim, err));
	LS_TRY(list_weights(m, &state, err));
	for (int i = 0; i < net.count; i++)
		if (!net.parameter[i].buffer)
			m->parameters += ls_shape_count(&net.parameter[i].shape);
	LS_TRY(build_init(m, &net, &state, err));
	LS_TRY(build_step(m, &net, def, optim, &state, err));
	if (options->eval_samples)
		LS_TRY(build_eval(m, &net, def, err));
	*out = m;
	m = NULL;
done:
	ls_model_free(m);
	ls_free(net.parameter);
	ls_free(state.tensor);
	return status;
}

void ls_model_free(ls_model *m)
{
	if (!m)
		return;
	ls_program_free(m->init);
	ls_program_free(m->step);
	ls_program_free(m->eval);
	ls_free(m->weight);
	ls_free(m);
}

const ls_program *ls_model_init(const ls_model *m) { return m->init; }
const ls_program *ls_model_step(const ls_model *m) { return m->step; }
const ls_program *ls_model_eval(const ls_model *m) { return m->eval; }
bool ls_model_is_weight(const ls_model *m, int state) { return m->weight[state]; }
int64_t ls_model_parameters(const ls_model *m) { return m->parameters; }
