#include "op/op.h"

/* One coordinate of a tap: −1 where the tap falls outside or between the elements. */
static int64_t coordinate(int64_t position, int64_t tap_index, int64_t extent, int64_t offset, const ls_patches *p)
{
	int64_t y = position * p->step + offset + tap_index * p->tap;
	if (y < 0 || y % p->divisor)
		return -1;
	y /= p->divisor;
	return y < extent ? y : -1;
}

static int64_t patch_index(const ls_patches *p, int64_t position, int64_t tap)
{
	int64_t image = position / (p->out_height * p->out_width), at = position % (p->out_height * p->out_width);
	int64_t channel = tap / (p->kernel_height * p->kernel_width), in = tap % (p->kernel_height * p->kernel_width);
	int64_t y = coordinate(at / p->out_width, in / p->kernel_width, p->height, p->offset, p);
	int64_t x = coordinate(at % p->out_width, in % p->kernel_width, p->width, p->offset + p->skew, p);
	if (y < 0 || x < 0)
		return -1;
	return ((image * p->channels + channel) * p->height + y) * p->width + x; // (N, C, H, W)
}

int64_t ls_slice_offset(const ls_slicing *s, int64_t slice)
{
	return slice / s->group * s->outer_stride + slice % s->group * s->inner_stride;
}

static int64_t strided_index(const ls_operand *o, int64_t row, int64_t k)
{
	int64_t start = 0;
	if (o->slicing.rows) {
		start = ls_slice_offset(&o->slicing, row / o->slicing.rows);
		row %= o->slicing.rows;
	}
	if ((o->mask == LS_MASK_UPTO && k > row) || (o->mask == LS_MASK_FROM && k < row))
		return -1;
	return start + row * o->row_stride + k / o->inner * o->outer_stride + k % o->inner * o->inner_stride;
}

int64_t ls_operand_index(const ls_operand *o, int64_t row, int64_t k)
{
	switch (o->kind) {
	case LS_OPERAND_STRIDED: return strided_index(o, row, k);
	case LS_OPERAND_PATCHES: return patch_index(&o->patches, row, k);
	case LS_OPERAND_PATCHES_T: return patch_index(&o->patches, k, row);
	}
	return -1;
}

int64_t ls_product_b_row(const ls_product *p, int64_t i, int64_t j)
{
	return p->slicing.rows ? i / p->slicing.rows * p->columns + j : j;
}

int64_t ls_product_b_rows(const ls_product *p)
{
	return p->slicing.rows ? p->rows / p->slicing.rows * p->columns : p->columns;
}

bool ls_product_masked(const ls_product *p, int64_t i, int64_t j)
{
	return p->causal && j > (p->slicing.rows ? i % p->slicing.rows : i);
}

int64_t ls_product_out_index(const ls_product *p, int64_t i, int64_t j)
{
	int64_t start = 0;
	if (p->slicing.rows) {
		start = ls_slice_offset(&p->slicing, i / p->slicing.rows);
		i %= p->slicing.rows;
	}
	return start + i * p->row_stride + j / p->inner * p->outer_stride + j % p->inner * p->inner_stride;
}

/* Slices lie one behind the other, (outer, inner, row, column), or side by side, (outer, row, inner, column). */
static void locate_in_slices(const ls_product *p, int64_t index, int64_t *i, int64_t *j)
{
	const ls_slicing *s = &p->slicing;
	int64_t outer = index / s->outer_stride, inner, row, rest = index % s->outer_stride;
	if (s->group == 1) { // one slice is both
		inner = 0;
		row = rest / p->row_stride;
		*j = rest % p->row_stride;
	} else if (s->inner_stride >= p->row_stride) {
		inner = rest / s->inner_stride;
		row = rest % s->inner_stride / p->row_stride;
		*j = rest % p->row_stride;
	} else {
		row = rest / p->row_stride;
		inner = rest % p->row_stride / s->inner_stride;
		*j = rest % s->inner_stride;
	}
	*i = (outer * s->group + inner) * s->rows + row;
}

/* The layouts of outputs are (rows, columns), (columns, rows) or (outer, rows, inner): all are undone by division. */
void ls_product_locate(const ls_product *p, int64_t out_index, int64_t *i, int64_t *j)
{
	if (p->slicing.rows) {
		locate_in_slices(p, out_index, i, j);
	} else if (p->inner == p->columns && (p->row_stride < p->inner_stride || p->rows == 1)) {
		*i = out_index % p->inner_stride / p->row_stride;
		*j = out_index / p->inner_stride;
	} else if (p->inner == p->columns) {
		*i = out_index / p->row_stride;
		*j = out_index % p->row_stride / p->inner_stride;
	} else {
		*i = out_index % p->outer_stride / p->row_stride;
		*j = out_index / p->outer_stride * p->inner + out_index % p->row_stride / p->inner_stride;
	}
}

int64_t ls_product_all_terms(const ls_product *p)
{
	return p->terms + (p->bias != LS_BIAS_NONE);
}

ls_bound ls_product_promise(const ls_arithmetic *a, const ls_product *p)
{
	int64_t terms = ls_product_all_terms(p);
	if (a->fp32)
		return ls_bound_fp32(terms);
	return ls_bound_fp64(a->depth ? a->depth : ls_depth_default(terms));
}

ls_bound ls_product_bound(const ls_arithmetic *a, const char *kind, const ls_product *p)
{
	for (int i = 0; i < a->threshold_count; i++)
		if (!a->thresholds[i].kind[0] || !strcmp(a->thresholds[i].kind, kind))
			return ls_bound_window(a->thresholds[i].tau);
	return ls_product_promise(a, p);
}

/* One term of the pinned sum; a factor that is not finite is remembered, because the sum could hide it. */
static float pinned_term(float a, float b, float acc, bool *finite)
{
	*finite &= a - a == 0 && b - b == 0;
	return ls_fma_f32(a, b, acc);
}

void ls_product_pinned_terms(const ls_reader *r, const ls_product *p, int64_t i, int64_t j, int64_t first, int64_t count, ls_pinned_state *s)
{
	int64_t b_row = ls_product_b_row(p, i, j);
	if (ls_product_masked(p, i, j))
		return;
	for (int64_t k = first; k < first + count; k++) {
		int64_t a = k < p->terms ? ls_operand_index(&p->a, i, k) : -1, b = k < p->terms ? ls_operand_index(&p->b, b_row, k) : -1;
		if (k && k < p->terms && k % LS_PINNED_BLOCK == 0) {
			s->sum = k == LS_PINNED_BLOCK ? s->acc : s->sum + s->acc;
			s->acc = 0;
		}
		if (k == p->terms)
			s->acc = pinned_term(ls_read_f32(r, p->bias_input, p->bias == LS_BIAS_ROW ? i : j), 1.0f, s->acc, &s->finite);
		else if (a >= 0 && b >= 0)
			s->acc = pinned_term(ls_read_f32(r, p->a.input, a), ls_read_f32(r, p->b.input, b), s->acc, &s->finite);
	}
}

float ls_product_pinned_end(const ls_product *p, const ls_pinned_state *s, int bits)
{
	float value = p->terms > LS_PINNED_BLOCK ? s->sum + s->acc : s->acc;
	return s->finite ? ls_round_f32(value, bits) : ls_f32_bits(LS_NAN_BITS);
}

float ls_product_pinned(const ls_reader *r, const ls_product *p, int64_t i, int64_t j, int bits)
{
	ls_pinned_state s = LS_PINNED_STATE_START;
	if (ls_product_masked(p, i, j))
		return 0;
	ls_product_pinned_terms(r, p, i, j, 0, ls_product_all_terms(p), &s);
	return ls_product_pinned_end(p, &s, bits);
}

void ls_product_sum_terms(const ls_reader *r, const ls_product *p, int64_t i, int64_t j, int64_t first, int64_t count, ls_sum *out)
{
	int64_t b_row = ls_product_b_row(p, i, j);
	ls_sum_init(out);
	if (ls_product_masked(p, i, j))
		return;
	for (int64_t k = first; k < first + count; k++) {
		int64_t a = k < p->terms ? ls_operand_index(&p->a, i, k) : -1, b = k < p->terms ? ls_operand_index(&p->b, b_row, k) : -1;
		if (k == p->terms)
			ls_sum_add(out, ls_read_f32(r, p->bias_input, p->bias == LS_BIAS_ROW ? i : j), 1.0f);
		else if (a >= 0 && b >= 0)
			ls_sum_add(out, ls_read_f32(r, p->a.input, a), ls_read_f32(r, p->b.input, b));
	}
}

void ls_product_sum(const ls_reader *r, const ls_product *p, int64_t i, int64_t j, ls_sum *out)
{
	ls_product_sum_terms(r, p, i, j, 0, ls_product_all_terms(p), out);
}
