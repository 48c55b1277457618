/* Stochastic gradient descent with momentum, weight decay and Nesterov's variant (op `sgd`). */
#include "optim/optim.h"

static int slots(const ls_optim_options *options, const char *suffix[LS_OPTIM_SLOTS])
{
	suffix[0] = ".momentum";
	return options->momentum > 0 ? 1 : 0;
}

static void update(ls_program *program, const ls_optim_options *options, int parameter, int gradient,
                   const int slot[LS_OPTIM_SLOTS])
{
	const ls_schedule *s = &options->schedule;
	char name[LS_NAME_MAX];
	ls_op_spec spec = {
		.kind = "sgd", .name = name,
		.inputs = {parameter, gradient, slot[0]}, .input_count = options->momentum > 0 ? 3 : 2,
		.ints = {options->nesterov, s->kind, s->every, s->warmup, s->steps}, .int_count = 5,
		.nums = {s->lr, options->momentum, options->weight_decay, s->gamma}, .num_count = 4,
	};
	memcpy(name, ls_program_value(program, parameter)->name, sizeof name);
	ls_op_append(program, &spec);
}

const ls_optim_def ls_optim__sgd = {.name = "sgd", .slots = slots, .update = update};
