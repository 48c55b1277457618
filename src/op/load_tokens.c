/* load_tokens: a batch of sequences of the committed stream of tokens, and their labels, which are the tokens one place further
 * on. ints {samples, batch, seed, shuffle, length, first, rows}. Sequence i of the stream begins at token i·length; which
 * one stands where in the batch is as in load.c. Rows first … first+rows−1 of the batch are loaded: a micro-batch, or all.
 * Outputs tokens and labels (rows, length), int32. */
#include "op/op.h"

enum { SAMPLES, BATCH, SEED, SHUFFLE, LENGTH, FIRST, ROWS, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const int64_t *a = op->ints;
	if (!ls_op__arity(program, op, 0, 0, INTS, 0) ||
	    !ls_op__expect(program, op, a[BATCH] >= 1 && a[BATCH] <= a[SAMPLES], "a batch no larger than the data set") ||
	    !ls_op__expect(program, op, a[SAMPLES] <= INT64_C(1) << 40 && a[LENGTH] >= 1 && a[LENGTH] <= INT64_C(1) << 20,
	                   "sequences of 1 to 2^20 tokens") ||
	    !ls_op__expect(program, op, a[SEED] >= 0 && a[SEED] <= UINT32_MAX, "a seed of 32 bits") ||
	    !ls_op__expect(program, op, a[FIRST] >= 0 && a[ROWS] >= 1 && a[FIRST] <= a[BATCH] - a[ROWS], "rows of the batch"))
		return false;
	out[0] = out[1] = (ls_value){.dtype = LS_I32, .bits = 32, .shape = {2, {a[ROWS], a[LENGTH]}}};
	op->output_count = 2;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const int64_t *a = r->op->ints;
	int64_t sequence = ls_op__sample_at(r, a[FIRST] + index / a[LENGTH]);
	return (uint32_t)r->samples->token(r->samples->context, sequence * a[LENGTH] + index % a[LENGTH] + (output == 1));
}

const ls_op_def ls_op__load_tokens = {
	.kind = "load_tokens",
	.class = LS_OP_LOAD,
	.int_names = (const char *const[]){"samples", "batch", "seed", "shuffle", "length", "first", "rows", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){"", ".labels"},
	.infer = infer,
	.element = element,
};
