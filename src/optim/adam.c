/* Adam and, with the weight decay beside the gradient instead of in it, AdamW (op `adam`). Decay is for matrices only: biases and
 * the factors of normalisation, tensors of one dimension, are left alone, as is usual for GPT-2. */
#include "optim/optim.h"

static int slots(const ls_optim_options *options, const char *suffix[LS_OPTIM_SLOTS])
{
	suffix[0] = ".moment1";
	suffix[1] = ".moment2";
	return 2;
}

static void update(ls_program *program, const ls_optim_options *o, int parameter, int gradient, const int slot[LS_OPTIM_SLOTS])
{
	const ls_schedule *s = &o->schedule;
	const ls_value *w = ls_program_value(program, parameter);
	char name[LS_NAME_MAX];
	ls_op_spec spec = {
		.kind = "adam", .name = name, .inputs = {parameter, gradient, slot[0], slot[1]}, .input_count = 4,
		.ints = {!strcmp(o->name, "adamw"), s->kind, s->every, s->warmup, s->steps}, .int_count = 5,
		.nums = {s->lr, o->beta1, o->beta2, o->epsilon, w->shape.rank > 1 ? o->weight_decay : 0, s->gamma}, .num_count = 6,
	};
	memcpy(name, w->name, sizeof name);
	ls_op_append(program, &spec);
}

const ls_optim_def ls_optim__adam = {.name = "adam", .slots = slots, .update = update};
const ls_optim_def ls_optim__adamw = {.name = "adamw", .slots = slots, .update = update};
