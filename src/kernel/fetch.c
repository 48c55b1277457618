// One row of an operand as contiguous FP32.
#include "kernel/pack.h"

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

// Lines are short (a row of an image), where a call to memcpy costs more than the copy: whole pieces, the last of which
// overlaps the one before.
static inline void copy(float *dst, const float *src, int64_t n)
{
	enum { WIDE = 8, NARROW = 4 };
	if (n >= WIDE) {
		for (int64_t i = 0; i + WIDE < n; i += WIDE)
			memcpy(dst + i, src + i, WIDE * sizeof *dst);
		memcpy(dst + n - WIDE, src + n - WIDE, WIDE * sizeof *dst);
	} else if (n >= NARROW) {
		memcpy(dst, src, NARROW * sizeof *dst);
		memcpy(dst + n - NARROW, src + n - NARROW, NARROW * sizeof *dst);
	} else {
		for (int64_t i = 0; i < n; i++)
			dst[i] = src[i];
	}
}

static void fetch_strided(const ls_operand *o, const float *x, int64_t row, int64_t k0, int64_t k, float *dst)
{
	while (k > 0) {
		int64_t at = k0 % o->inner, run = smaller(k, o->inner - at);
		const float *src = x + row * o->row_stride + k0 / o->inner * o->outer_stride + at * o->inner_stride;
		if (o->inner_stride == 1)
			copy(dst, src, run);
		else
			for (int64_t i = 0; i < run; i++)
				dst[i] = src[i * o->inner_stride];
		k0 += run;
		k -= run;
		dst += run;
	}
}

// A line of positions ox0 … ox0+run−1 that reads line `src` of an image, for the tap with x = ox·step + shift.
static void fetch_line(const ls_patches *p, const float *src, int64_t x, int64_t run, float *dst)
{
	if (p->step == 1 && p->divisor == 1) {
		int64_t low = smaller(x < 0 ? -x : 0, run), high = p->width - x;
		high = high > run ? run : high < low ? low : high;
		if (low)
			memset(dst, 0, (size_t)low * sizeof *dst);
		copy(dst + low, src + x + low, high - low);
		if (high < run)
			memset(dst + high, 0, (size_t)(run - high) * sizeof *dst);
		return;
	}
	for (int64_t i = 0; i < run; i++, x += p->step)
		dst[i] = x >= 0 && x % p->divisor == 0 && x / p->divisor < p->width ? src[x / p->divisor] : 0;
}

static void fetch_taps(const ls_patches *p, const float *x, int64_t row, int64_t k0, int64_t k, float *dst)
{
	int64_t ky = row / p->kernel_width % p->kernel_height, kx = row % p->kernel_width;
	int64_t channel = row / p->kernel_width / p->kernel_height, plane = p->height * p->width;
	int64_t ox = k0 % p->out_width, oy = k0 / p->out_width % p->out_height, n = k0 / p->out_width / p->out_height;
	while (k > 0) {
		int64_t run = smaller(k, p->out_width - ox), y = oy * p->step + p->offset + ky * p->tap;
		if (y >= 0 && y % p->divisor == 0 && y / p->divisor < p->height)
			fetch_line(p, x + (n * p->channels + channel) * plane + y / p->divisor * p->width,
			           ox * p->step + p->offset + p->skew + kx * p->tap, run, dst);
		else
			memset(dst, 0, (size_t)run * sizeof *dst);
		k -= run;
		dst += run;
		ox = 0;
		if (++oy == p->out_height) {
			oy = 0;
			n++;
		}
	}
}

void ls_kernel__fetch(const ls_operand *o, const float *x, int64_t row, int64_t k0, int64_t k, float *dst)
{
	switch (o->kind) {
	case LS_OPERAND_STRIDED:
		fetch_strided(o, x, row, k0, k, dst);
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
