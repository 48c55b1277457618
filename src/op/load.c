/* load: one batch of samples. ints {samples, batch, seed, shuffle, C, H, W} and, where samples are changed on their way,
 * {crop, flip}; nums {mean…, std…} per channel, in bytes' unit.
 * Outputs: x (batch, C, H, W) = R((RNE32(byte) − mean)/std); labels (batch) i32.
 *
 * crop P > 0: the sample is framed by P bytes of 0 on each side, and H × W of it are taken, dy rows and dx columns from the
 * corner; dy and dx are uniform over 0…2P. flip 1: the columns then change their order for every other sample. Numbers 3b, 3b+1
 * (dy, dx) and 3b+2 (flip where it is below 2^31) of the stream (seed, augment, step) belong to sample b of the batch. */
#include "op/op.h"

enum { SAMPLES, BATCH, SEED, SHUFFLE, C, H, W, PLAIN_INTS, CROP = PLAIN_INTS, FLIP, INTS };

#define CROP_MAX 256

/* One form for each meaning: the last two attributes are there only where one of them does something. */
static bool augmentation_fits(ls_program *program, const ls_op *op)
{
	int64_t crop = op->ints[CROP], flip = op->ints[FLIP];
	if (op->int_count == PLAIN_INTS)
		return true;
	return ls_op__expect(program, op, crop >= 0 && crop <= CROP_MAX && (flip == 0 || flip == 1) && (crop || flip),
	                     "a crop of at most 256 bytes, or a flip");
}

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const int64_t *a = op->ints;
	ls_shape x = {4, {a[BATCH], a[C], a[H], a[W]}}, labels = {1, {a[BATCH]}};
	if (!ls_op__expect(program, op, a[C] >= 1 && a[C] <= LS_OP_NUMS / 2, "1 to 6 channels") ||
	    !ls_op__arity(program, op, 0, 0, op->int_count == INTS ? INTS : PLAIN_INTS, 2 * (int)a[C]) ||
	    !ls_op__expect(program, op, a[BATCH] >= 1 && a[BATCH] <= a[SAMPLES], "a batch no larger than the data set") ||
	    !ls_op__expect(program, op, a[SEED] >= 0 && a[SEED] <= UINT32_MAX, "a seed of 32 bits") || !augmentation_fits(program, op))
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
int64_t ls_op__sample_at(const ls_reader *r, int64_t in_batch)
{
	const int64_t *a = r->op->ints;
	uint64_t per_epoch = (uint64_t)(a[SAMPLES] / a[BATCH]), step = r->step - 1;
	uint64_t position = step % per_epoch * (uint64_t)a[BATCH] + (uint64_t)in_batch;
	if (!a[SHUFFLE])
		return (int64_t)position;
	return (int64_t)ls_shuffle((uint32_t)a[SEED], step / per_epoch, position, (uint64_t)a[SAMPLES]);
}

/* The byte of the raw sample that stands at (channel, y, x) of the changed one. */
static uint8_t augmented(const ls_reader *r, const uint8_t *sample, int64_t in_batch, int64_t channel, int64_t y, int64_t x)
{
	const int64_t *a = r->op->ints;
	ls_stream stream = {(uint32_t)a[SEED], LS_PURPOSE_AUGMENT, r->step};
	uint64_t first = 3 * (uint64_t)in_batch;
	if (a[FLIP] && ls_random_u32(&stream, first + 2) < UINT32_C(1) << 31)
		x = a[W] - 1 - x;
	if (a[CROP]) {
		y += ls_random_below(&stream, first, (uint32_t)(2 * a[CROP] + 1)) - a[CROP];
		x += ls_random_below(&stream, first + 1, (uint32_t)(2 * a[CROP] + 1)) - a[CROP];
		if (y < 0 || y >= a[H] || x < 0 || x >= a[W])
			return 0;
	}
	return sample[(channel * a[H] + y) * a[W] + x];
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const int64_t *a = r->op->ints;
	int64_t size = a[C] * a[H] * a[W], in_batch = index / size, channel, y, x;
	const uint8_t *sample;
	double byte;
	if (output == 1)
		return (uint32_t)r->samples->label(r->samples->context, ls_op__sample_at(r, index));
	channel = index % size / (a[H] * a[W]);
	y = index / a[W] % a[H];
	x = index % a[W];
	sample = r->samples->sample(r->samples->context, ls_op__sample_at(r, in_batch));
	byte = (double)(r->op->int_count == INTS ? augmented(r, sample, in_batch, channel, y, x) : sample[index % size]);
	return ls_op__round(r, 0, (byte - r->op->nums[channel]) / r->op->nums[a[C] + channel]);
}

const ls_op_def ls_op__load = {
	.kind = "load",
	.class = LS_OP_LOAD,
	.int_names = (const char *const[]){"samples", "batch", "seed", "shuffle", "channels", "height", "width", "crop", "flip", NULL},
	.num_names = (const char *const[]){"mean, then std, per channel", NULL},
	.output_names = (const char *const[]){"", ".labels"},
	.infer = infer,
	.element = element,
};
