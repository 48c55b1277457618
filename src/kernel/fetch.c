// One row of an operand as contiguous FP32.
#include "kernel/pack.h"

#include "kernel/line.h"

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

// Terms k0 … k0+k−1 of a row of a slice, where some are none.
static void clear_masked(ls_mask mask, int64_t row, int64_t k0, int64_t k, float *dst)
{
	int64_t first = clamp((mask == LS_MASK_UPTO ? row + 1 : row) - k0, 0, k); // UPTO: the first that is no term; FROM: that is one
	if (mask == LS_MASK_UPTO)
		ls_line_clear(dst + first, k - first);
	else if (mask == LS_MASK_FROM)
		ls_line_clear(dst, first);
}

static void fetch_strided(const ls_operand *o, const float *x, int64_t row, int64_t k0, int64_t k, float *dst)
{
	int64_t at = k0 % o->inner;
	const float *src = x + row * o->row_stride + k0 / o->inner * o->outer_stride;
	for (int64_t run; k > 0; k -= run, dst += run, at = 0, src += o->outer_stride) {
		const float *from = src + at * o->inner_stride;
		run = smaller(k, o->inner - at);
		if (o->inner_stride == 1)
			ls_line_copy(dst, from, run);
		else
			for (int64_t i = 0; i < run; i++)
				dst[i] = from[i * o->inner_stride];
	}
}

// A line of positions ox0 … ox0+run−1 that reads line `src` of an image, for the tap with x = ox·step + shift.
static void fetch_line(const ls_patches *p, const float *src, int64_t x, int64_t run, float *dst)
{
	if (p->step == 1 && p->divisor == 1) {
		int64_t low = smaller(x < 0 ? -x : 0, run), high = p->width - x;
		high = high > run ? run : high < low ? low : high;
		ls_line_clear(dst, low);
		ls_line_copy(dst + low, src + x + low, high - low);
		ls_line_clear(dst + high, run - high);
		return;
	}
	if (p->divisor == 1) {
		for (int64_t i = 0; i < run; i++, x += p->step)
			dst[i] = x >= 0 && x < p->width ? src[x] : 0;
		return;
	}
	for (int64_t i = 0; i < run; i++, x += p->step)
		dst[i] = x >= 0 && x % p->divisor == 0 && x / p->divisor < p->width ? src[x / p->divisor] : 0;
}

// Line y of an image, or NULL where there is none. Divisions are slow, and most patches have no use for them.
static inline const float *line_at(const ls_patches *p, const float *image, int64_t y)
{
	if (y < 0 || (p->divisor != 1 && y % p->divisor))
		return NULL;
	if (p->divisor != 1)
		y /= p->divisor;
	return y < p->height ? image + y * p->width : NULL;
}

static void fetch_taps(const ls_patches *p, const float *x, int64_t row, int64_t k0, int64_t k, float *dst)
{
	int64_t ky = row / p->kernel_width % p->kernel_height, kx = row % p->kernel_width;
	int64_t channel = row / p->kernel_width / p->kernel_height, plane = p->height * p->width;
	int64_t ox = k0 % p->out_width, oy = k0 / p->out_width % p->out_height, n = k0 / p->out_width / p->out_height;
	int64_t top = p->offset + ky * p->tap, left = p->offset + p->skew + kx * p->tap;
	const float *image = x + (n * p->channels + channel) * plane;
	for (int64_t run; k > 0; k -= run, dst += run, ox = 0) {
		const float *line = line_at(p, image, oy * p->step + top);
		run = smaller(k, p->out_width - ox);
		if (line)
			fetch_line(p, line, ox * p->step + left, run, dst);
		else
			ls_line_clear(dst, run);
		if (++oy == p->out_height) {
			oy = 0;
			image += p->channels * plane;
		}
	}
}

void ls_kernel__fetch(const ls_operand *o, const float *x, int64_t row, int64_t k0, int64_t k, float *dst)
{
	switch (o->kind) {
	case LS_OPERAND_STRIDED:
		if (o->slicing.rows) {
			x += ls_slice_offset(&o->slicing, row / o->slicing.rows);
			row %= o->slicing.rows;
		}
		fetch_strided(o, x, row, k0, k, dst);
		clear_masked(o->mask, row, k0, k, dst);
		return;
	case LS_OPERAND_PATCHES_T:
		fetch_taps(&o->patches, x, row, k0, k, dst);
		return;
	case LS_OPERAND_PATCHES:
		for (int64_t i = 0; i < k; i++) {
			int64_t at = ls_operand_index(o, row, k0 + i);
			dst[i] = at < 0 ? 0 : x[at];
		}
		return;
	}
}

void ls_kernel__support(const ls_operand *o, const float *x, int64_t row, int64_t terms, float *scratch, uint64_t *out)
{
	ls_kernel__fetch(o, x, row, 0, terms, scratch);
	for (int64_t k = 0; k < terms; k += 64) {
		uint64_t bits = 0;
		for (int64_t i = 0; i < 64 && k + i < terms; i++)
			bits |= (uint64_t)(scratch[k + i] != 0) << i;
		out[k / 64] = bits;
	}
}
