#include "kernel/spread.h"

// One coordinate of the positions with one residue: position residue + stride·i meets taps first + stride·k, k < taps, at
// element i + shift − k of the operand.
typedef struct axis {
	int64_t residue, positions, first, taps, shift;
} axis;

// One part in progress.
struct part {
	ls_spread *s;
	const ls_product_call *call;
	ls_product product;
	axis y, x;
	int64_t images;
};

bool ls_kernel__is_spread(const ls_product *p)
{
	const ls_patches *b = &p->b.patches;
	return p->b.kind == LS_OPERAND_PATCHES && b->divisor > 1 && b->step == 1 && b->tap == -1 && b->offset >= 0 && b->offset + b->skew >= 0 &&
	       p->a.kind == LS_OPERAND_STRIDED && p->a.inner == b->kernel_height * b->kernel_width && p->bias == LS_BIAS_NONE &&
	       p->inner == b->out_height * b->out_width && p->row_stride == p->inner && p->inner_stride == 1;
}

// How many of first, first + stride, …, `taps` of them, are below v.
static int64_t below(int64_t v, int64_t first, int64_t stride, int64_t taps)
{
	int64_t count = v <= first ? 0 : (v - first - 1) / stride + 1;
	return count < taps ? count : taps;
}

int64_t ls_kernel__kept_below(const ls_kept *s, int64_t k)
{
	int64_t area = s->height * s->width, y = k % area / s->width, x = k % area % s->width;
	int64_t lines = below(y, s->first_y, s->stride, s->taps_y);
	bool on_line = below(y + 1, s->first_y, s->stride, s->taps_y) > lines; // line y itself is kept
	int64_t in_area = lines * s->taps_x + (on_line ? below(x, s->first_x, s->stride, s->taps_x) : 0);
	return k / area * s->taps_y * s->taps_x + in_area;
}

static axis axis_of(int64_t residue, int64_t stride, int64_t offset, int64_t extent, int64_t kernel)
{
	axis a = {.residue = residue, .first = (residue + offset) % stride};
	a.positions = residue < extent ? (extent - 1 - residue) / stride + 1 : 0;
	a.taps = a.first < kernel ? (kernel - 1 - a.first) / stride + 1 : 0;
	a.shift = (residue + offset - a.first) / stride;
	return a;
}

static void describe(struct part *t)
{
	const ls_product *p = t->call->product;
	int64_t area = t->y.taps * t->x.taps, pixels = t->y.positions * t->x.positions;
	ls_patches b = p->b.patches;
	b.kernel_height = t->y.taps;
	b.kernel_width = t->x.taps;
	b.out_height = t->y.positions;
	b.out_width = t->x.positions;
	b.offset = t->y.shift;
	b.skew = t->x.shift - t->y.shift;
	b.divisor = 1;
	t->product = (ls_product){
		.rows = p->rows, .columns = t->images * pixels, .terms = b.channels * area,
		.a = {.kind = LS_OPERAND_STRIDED, .input = p->a.input, .row_stride = b.channels * area, .inner = b.channels * area,
		      .inner_stride = 1},
		.b = {.kind = LS_OPERAND_PATCHES, .input = p->b.input, .patches = b},
		.row_stride = pixels, .inner = pixels, .outer_stride = p->rows * pixels, .inner_stride = 1,
	};
}

// Operand a with the part's taps only: row i of (rows, channels, taps).
static void gather_row(void *context, int64_t i, int worker)
{
	const struct part *t = context;
	const ls_product *p = t->call->product;
	const ls_patches *b = &p->b.patches;
	int64_t stride = b->divisor;
	float *to = t->s->weight + i * t->product.terms;
	for (int64_t channel = 0; channel < b->channels; channel++) {
		const float *from = t->call->a + i * p->a.row_stride + channel * p->a.outer_stride;
		for (int64_t ky = 0; ky < t->y.taps; ky++)
			for (int64_t kx = 0; kx < t->x.taps; kx++)
				*to++ = from[((t->y.first + stride * ky) * b->kernel_width + t->x.first + stride * kx) * p->a.inner_stride];
	}
}

// Index in the whole output of pixel `at` of row i of an image of the part.
static int64_t whole_index(const struct part *t, int64_t image, int64_t i, int64_t at)
{
	const ls_product *p = t->call->product;
	const ls_patches *b = &p->b.patches;
	int64_t y = t->y.residue + b->divisor * (at / t->x.positions), x = t->x.residue + b->divisor * (at % t->x.positions);
	return image * p->outer_stride + i * p->row_stride + y * b->out_width + x;
}

static bool is_empty(const struct part *t)
{
	return t->y.taps * t->x.taps == 0;
}

// Row i of the part's output, all images, to its places; without taps there is nothing to add up.
static void scatter_row(void *context, int64_t i, int worker)
{
	const struct part *t = context;
	const ls_product *p = &t->product;
	for (int64_t image = 0; image < t->images; image++) {
		const float *from = is_empty(t) ? NULL : t->s->out + image * p->outer_stride + i * p->row_stride;
		for (int64_t y = 0; y < t->y.positions; y++) {
			float *to = t->call->out + whole_index(t, image, i, y * t->x.positions);
			for (int64_t x = 0; x < t->x.positions; x++)
				to[x * t->call->product->b.patches.divisor] = from ? *from++ : 0.0f;
		}
	}
}

// Where the call's sample lies in the part's output, or −1.
static int64_t sample_in(const struct part *t)
{
	const ls_product *p = t->call->product;
	const ls_patches *b = &p->b.patches;
	int64_t index = t->call->sample, pixel, y, x;
	if (index < 0)
		return -1;
	pixel = index % p->row_stride;
	y = pixel / b->out_width;
	x = pixel % b->out_width;
	if (y % b->divisor != t->y.residue || x % b->divisor != t->x.residue)
		return -1;
	return index / p->outer_stride * t->product.outer_stride + index % p->outer_stride / p->row_stride * t->product.row_stride +
	       y / b->divisor * t->x.positions + x / b->divisor;
}

static bool has_flags(const ls_product_call *call)
{
	return call->test || call->pinned;
}

static ls_status take_flags(const struct part *t, int64_t sample)
{
	const ls_product *p = &t->product;
	ls_status status = LS_OK;
	for (size_t f = 0; f < t->s->part.count && status == LS_OK; f++) {
		ls_flag flag = t->s->part.flag[f];
		flag.index = whole_index(t, flag.index / p->outer_stride, flag.index % p->outer_stride / p->row_stride,
		                         flag.index % p->row_stride);
		status = ls_kernel__push_flag(&t->s->found.flags, &flag);
	}
	if (is_empty(t) && sample >= 0 && status == LS_OK)
		status = ls_kernel__push_flag(&t->s->found.flags, &(ls_flag){t->call->sample, 0, 0});
	return status;
}

static ls_status run_one(struct part *t, ls_pool *pool, ls_spread_run run, void *engine, ls_error *err)
{
	const ls_patches *b = &t->call->product->b.patches;
	ls_kept kept = {b->divisor, b->kernel_height, b->kernel_width, t->y.first, t->y.taps, t->x.first, t->x.taps};
	ls_product_call call = *t->call;
	ls_status status = LS_OK;
	int64_t sample = sample_in(t);
	t->s->part.count = 0;
	if (!is_empty(t)) {
		ls_pool_run(pool, t->product.rows, gather_row, t);
		call.product = &t->product;
		call.a = t->s->weight;
		call.out = t->s->out;
		call.sample = sample;
		call.flags = &t->s->part;
		LS_TRY(run(engine, &call, &kept, err));
	}
	ls_pool_run(pool, t->product.rows, scatter_row, t);
	if (has_flags(t->call) && take_flags(t, sample) != LS_OK)
		status = ls_error_set(err, LS_ERR_NOMEM, "out of memory for the elements whose rounding is not settled");
done:
	return status;
}

static bool grow(float **memory, int64_t *room, int64_t need)
{
	if (need <= *room)
		return true;
	ls_free(*memory);
	*memory = ls_alloc((size_t)need, sizeof **memory);
	*room = *memory ? need : 0;
	return *memory != NULL;
}

ls_status ls_kernel__spread_run(ls_spread *s, const ls_product_call *call, ls_pool *pool, ls_spread_run run, void *engine,
                                ls_error *err)
{
	const ls_patches *b = &call->product->b.patches;
	ls_finish_space *found = &s->found;
	ls_status status = LS_OK;
	struct part t = {.s = s, .call = call, .images = call->product->columns / call->product->inner};
	s->found.flags.count = 0;
	for (int64_t i = 0; i < b->divisor * b->divisor; i++) {
		t.y = axis_of(i / b->divisor, b->divisor, b->offset, b->out_height, b->kernel_height);
		t.x = axis_of(i % b->divisor, b->divisor, b->offset + b->skew, b->out_width, b->kernel_width);
		describe(&t);
		if (t.product.columns == 0)
			continue;
		if (!grow(&s->weight, &s->weight_room, t.product.rows * t.product.terms) ||
		    !grow(&s->out, &s->out_room, t.product.rows * t.product.columns))
			return ls_error_set(err, LS_ERR_NOMEM, "out of memory for a part of a strided convolution's gradient");
		LS_TRY(run_one(&t, pool, run, engine, err));
	}
	if (has_flags(call))
		status = ls_kernel__gather_flags(call->flags, &found, 1);
done:
	return status;
}

void ls_kernel__spread_free(ls_spread *s)
{
	ls_free(s->weight);
	ls_free(s->out);
	ls_flag_list_free(&s->part);
	ls_flag_list_free(&s->found.flags);
	*s = (ls_spread){0};
}
