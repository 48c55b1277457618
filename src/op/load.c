/* load: one batch of samples. ints {samples, batch, seed, shuffle, C, H, W}, nums {mean…, std…} per channel, in bytes' unit.
 * Outputs: x (batch, C, H, W) = R((RNE32(byte) − mean)/std); labels (batch) i32. */
#include "op/op.h"

enum { SAMPLES, BATCH, SEED, SHUFFLE, C, H, W, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const int64_t *a = op->ints;
	ls_shape x = {4, {a[BATCH], a[C], a[H], a[W]}}, labels = {1, {a[BATCH]}};
	if (!ls_op__expect(program, op, a[C] >= 1 && a[C] <= LS_OP_NUMS / 2, "1 to 6 channels") ||
	    !ls_op__arity(program, op, 0, 0, INTS, 2 * (int)a[C]) ||
	    !ls_op__expect(program, op, a[BATCH] >= 1 && a[BATCH] <= a[SAMPLES], "a batch no larger than the data set") ||
	    !ls_op__expect(program, op, a[SEED] >= 0 && a[SEED] <= UINT32_MAX, "a seed of 32 bits"))
		return false;
	for (int c = 0; c < a[C]; c++)
		if (!ls_op__expect(program, op, op->nums[a[C] + c] > 0, "a positive std"))
			return false;
	out[0] = ls_op__f32(program, &x);
	out[1] = (ls_value){.dtype = LS_I32, .bits = 32, .shape = labels};
	op->output_count = 2;
	return true;
}

/* Steps 1…⌊samples/batch⌋ are epoch 0, and so on; samples left over at an epoch's end are dropped. */
static int64_t sample_at(const ls_reader *r, int64_t in_batch)
{
	const int64_t *a = r->op->ints;
	uint64_t per_epoch = (uint64_t)(a[SAMPLES] / a[BATCH]), step = r->step - 1;
	uint64_t position = step % per_epoch * (uint64_t)a[BATCH] + (uint64_t)in_batch;
	if (!a[SHUFFLE])
		return (int64_t)position;
	return (int64_t)ls_shuffle((uint32_t)a[SEED], step / per_epoch, position, (uint64_t)a[SAMPLES]);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const int64_t *a = r->op->ints;
	int64_t size = a[C] * a[H] * a[W], channel;
	double byte;
	if (output == 1)
		return (uint32_t)r->samples->label(r->samples->context, sample_at(r, index));
	channel = index % size / (a[H] * a[W]);
	byte = (double)r->samples->sample(r->samples->context, sample_at(r, index / size))[index % size];
	return ls_op__round(r, 0, (byte - r->op->nums[channel]) / r->op->nums[a[C] + channel]);
}

const ls_op_def ls_op__load = {
	.kind = "load",
	.class = LS_OP_LOAD,
	.int_names = (const char *const[]){"samples", "batch", "seed", "shuffle", "channels", "height", "width", NULL},
	.num_names = (const char *const[]){"mean, then std, per channel", NULL},
	.output_names = (const char *const[]){"", ".labels"},
	.infer = infer,
	.element = element,
};
