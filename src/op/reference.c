#include "op/op.h"

enum { BLOCK = 1024 };

typedef struct whole {
	const ls_op_call *call;
	ls_reader reader;
	int output;
	int64_t count;
} whole;

static uint32_t word(void *context, int input, int64_t index)
{
	const ls_op_call *call = context;
	return ((const uint32_t *)call->in[input])[index];
}

static void one_output(void *context, int64_t block, int worker)
{
	whole *w = context;
	uint32_t *out = w->call->out[w->output];
	int64_t end = (block + 1) * BLOCK < w->count ? (block + 1) * BLOCK : w->count;
	for (int64_t i = block * BLOCK; i < end; i++)
		out[i] = w->call->def->element(&w->reader, w->output, i);
}

/* Outputs may lie over inputs: all words of an index are computed before any is stored. */
static void all_outputs(void *context, int64_t block, int worker)
{
	whole *w = context;
	int64_t end = (block + 1) * BLOCK < w->count ? (block + 1) * BLOCK : w->count;
	for (int64_t i = block * BLOCK; i < end; i++) {
		uint32_t value[LS_OP_OUTPUTS];
		for (int o = 0; o < w->call->op->output_count; o++)
			value[o] = w->call->def->element(&w->reader, o, i);
		for (int o = 0; o < w->call->op->output_count; o++)
			((uint32_t *)w->call->out[o])[i] = value[o];
	}
}

void ls_op_reference(const ls_op_call *call)
{
	bool shares = call->def->shares[0] != 0;
	whole w = {.call = call,
	           .reader = {.program = call->program, .op = call->op, .step = call->step, .context = (void *)call, .word = word,
	                      .samples = call->samples, .imports = call->imports, .first = call->first}};
	for (w.output = 0; w.output < (shares ? 1 : call->op->output_count); w.output++) {
		w.count = ls_shape_count(&ls_program_value(call->program, call->op->outputs[w.output])->shape);
		ls_pool_run(call->pool, (w.count + BLOCK - 1) / BLOCK, shares ? all_outputs : one_output, &w);
	}
}
