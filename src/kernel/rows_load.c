// load: a byte has 256 values, so a channel is a table.
#include "kernel/rows.h"

// The attributes of load, in its order; the last two may be absent.
enum { SAMPLES, BATCH, SEED, SHUFFLE, C, H, W, PLAIN_INTS, CROP = PLAIN_INTS, FLIP, INTS };

static int64_t sample_at(const ls_op_call *call, int64_t in_batch)
{
	const int64_t *a = call->op->ints;
	uint64_t per_epoch = (uint64_t)(a[SAMPLES] / a[BATCH]), step = call->step - 1;
	uint64_t position = step % per_epoch * (uint64_t)a[BATCH] + (uint64_t)in_batch;
	if (!a[SHUFFLE])
		return (int64_t)position;
	return (int64_t)ls_shuffle((uint32_t)a[SEED], step / per_epoch, position, (uint64_t)a[SAMPLES]);
}

// What happens to one sample: it moves by (dy, dx), then its columns change order.
struct change {
	int64_t dy, dx;
	bool flip;
};

static struct change change_of(const ls_op_call *call, int64_t in_batch)
{
	const int64_t *a = call->op->ints;
	ls_stream stream = {(uint32_t)a[SEED], LS_PURPOSE_AUGMENT, call->step};
	uint64_t first = 3 * (uint64_t)in_batch;
	struct change change = {0};
	if (call->op->int_count != INTS)
		return change;
	if (a[CROP]) {
		uint32_t places = (uint32_t)(2 * a[CROP] + 1);
		change.dy = ls_random_below(&stream, first, places) - a[CROP];
		change.dx = ls_random_below(&stream, first + 1, places) - a[CROP];
	}
	change.flip = a[FLIP] && ls_random_u32(&stream, first + 2) < UINT32_C(1) << 31;
	return change;
}

// One row of `width` numbers; `from` is the row of the sample, NULL where it lies in the frame of zeros.
static void load_row(float *out, const uint8_t *from, int64_t width, const struct change *change, const float value[256])
{
	for (int64_t x = 0; x < width; x++) {
		int64_t at = (change->flip ? width - 1 - x : x) + change->dx;
		out[x] = value[from && at >= 0 && at < width ? from[at] : 0];
	}
}

static void load(const ls_op_call *call, int64_t begin, int64_t end)
{
	const int64_t *a = call->op->ints;
	const double *mean = call->op->nums, *std = call->op->nums + a[C];
	int bits = rows_bits(call, 0);
	for (int64_t i = begin; i < end; i++) {
		const uint8_t *sample = call->samples->sample(call->samples->context, sample_at(call, i));
		struct change change = change_of(call, i);
		float *out = (float *)call->out[0] + i * a[C] * a[H] * a[W];
		for (int64_t c = 0; c < a[C]; c++, sample += a[H] * a[W]) {
			float value[256];
			for (int byte = 0; byte < 256; byte++)
				value[byte] = rows_round(((double)byte - mean[c]) / std[c], bits);
			for (int64_t y = 0; y < a[H]; y++, out += a[W]) {
				int64_t from = y + change.dy;
				load_row(out, from >= 0 && from < a[H] ? sample + from * a[W] : NULL, a[W], &change, value);
			}
		}
	}
}

bool ls_kernel__rows_load(const ls_op_call *call)
{
	const int64_t *a = call->op->ints;
	int32_t *label = call->out[1];
	if ((call->op->int_count != INTS && call->op->int_count != PLAIN_INTS) || call->op->num_count != 2 * a[C])
		return false;
	for (int64_t i = 0; i < a[BATCH]; i++)
		label[i] = call->samples->label(call->samples->context, sample_at(call, i));
	ls_kernel__rows_ranges(call, a[BATCH], 4, load);
	return true;
}

bool ls_kernel__rows_load_tokens(const ls_op_call *call)
{
	enum { SEQUENCE_LENGTH = 4, FIRST, ROWS }; // behind those that it shares with load
	const int64_t *a = call->op->ints;
	int32_t *tokens = call->out[0], *labels = call->out[1];
	for (int64_t i = 0; i < a[ROWS]; i++) {
		int64_t start = sample_at(call, a[FIRST] + i) * a[SEQUENCE_LENGTH];
		for (int64_t t = 0; t < a[SEQUENCE_LENGTH]; t++) {
			*tokens++ = call->samples->token(call->samples->context, start + t);
			*labels++ = call->samples->token(call->samples->context, start + t + 1);
		}
	}
	return true;
}
