/* The text of the transforms, for filter_portable.c, filter_avx2.c and filter_avx512.c, each of which includes it once, behind
 * LANES: how many FP64 numbers a register holds. */
#ifndef LS_KERNEL_FILTER_BODY_H
#define LS_KERNEL_FILTER_BODY_H

#include "kernel/filter.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef double vec __attribute__((vector_size(8 * LANES)));

// ---- one row or column: `s` is the distance of its numbers ----

INLINE void image_line(const vec *d, int s, vec *out, int so)
{
	vec d1 = d[s], d2 = d[2 * s];
	out[0] = d[0] - d2;
	out[so] = d1 + d2;
	out[2 * so] = d2 - d1;
	out[3 * so] = d1 - d[3 * s];
}

INLINE void kernel_line(const vec *g, int s, vec *out, int so)
{
	vec outer = g[0] + g[2 * s];
	out[0] = g[0];
	out[so] = 0.5 * (outer + g[s]);
	out[2 * so] = 0.5 * (outer - g[s]);
	out[3 * so] = g[2 * s];
}

INLINE void output_line(const vec *z, int s, vec *out, int so)
{
	out[0] = z[0];
	out[so] = z[0] + z[s];
	out[2 * so] = z[0] - z[s];
	out[3 * so] = -z[s];
}

INLINE void to_output_line(const vec *m, int s, vec *out, int so)
{
	vec m1 = m[s], m2 = m[2 * s];
	out[0] = m[0] + m1 + m2;
	out[so] = m1 - m2 - m[3 * s];
}

INLINE void to_kernel_line(const vec *m, int s, vec *out, int so)
{
	vec half = 0.5 * (m[s] + m[2 * s]);
	out[0] = m[0] + half;
	out[so] = 0.5 * (m[s] - m[2 * s]);
	out[2 * so] = half + m[3 * s];
}

// ---- one matrix per lane: columns first, then rows; `n` lanes are there ----

typedef void (*line)(const vec *in, int s, vec *out, int so);

INLINE vec load(const double *x, int n)
{
	double padded[LANES] = {0};
	vec v;
	if (n == LANES) {
		memcpy(&v, x, sizeof v);
		return v;
	}
	memcpy(padded, x, (size_t)n * sizeof *x);
	memcpy(&v, padded, sizeof v);
	return v;
}

INLINE void transform(line along, const int from, const int to, const ls_filter_run *r, const double *in, double *out, const int n)
{
	vec m[16], half[16], done[16];
#pragma GCC unroll 16
	for (int p = 0; p < from * from; p++)
		m[p] = load(in + p * r->in_place, n);
#pragma GCC unroll 4
	for (int x = 0; x < from; x++)
		along(m + x, from, half + x, from);
#pragma GCC unroll 4
	for (int y = 0; y < to; y++)
		along(half + y * from, 1, done + y * to, 1);
#pragma GCC unroll 16
	for (int p = 0; p < to * to; p++)
		memcpy(out + p * r->out_place, &done[p], (size_t)n * sizeof *out);
}

// The last register overlaps the one before: what both write is the same.
INLINE void transform_all(line along, const int from, const int to, const ls_filter_run *r)
{
	const double *in = r->in;
	double *out = r->out;
	int64_t whole = r->lanes - LANES;
	for (int64_t i = 0; i < r->count; i++, in += r->in_step, out += r->out_step) {
		for (int64_t l = 0; l < whole; l += LANES)
			transform(along, from, to, r, in + l, out + l, LANES);
		if (whole >= 0)
			transform(along, from, to, r, in + whole, out + whole, LANES);
		else
			transform(along, from, to, r, in, out, (int)r->lanes);
	}
}

static void image(const ls_filter_run *r)
{
	transform_all(image_line, 4, 4, r);
}

static void kernel(const ls_filter_run *r)
{
	transform_all(kernel_line, 3, 4, r);
}

static void output(const ls_filter_run *r)
{
	transform_all(output_line, 2, 4, r);
}

static void to_output(const ls_filter_run *r)
{
	transform_all(to_output_line, 4, 2, r);
}

static void to_kernel(const ls_filter_run *r)
{
	transform_all(to_kernel_line, 4, 3, r);
}

static const ls_filter_kernel filters_here[LS_FILTERS] = {
	[LS_FILTER_IMAGE] = image, [LS_FILTER_KERNEL] = kernel, [LS_FILTER_OUTPUT] = output,
	[LS_FILTER_TO_OUTPUT] = to_output, [LS_FILTER_TO_KERNEL] = to_kernel,
};

#undef INLINE

#endif
