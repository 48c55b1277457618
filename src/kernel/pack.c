#include "kernel/pack.h"

enum { RUN_MIN = 16 }; // shorter runs are copied together first

ls_layout ls_kernel__layout(int64_t rows, int width, int lanes, bool balanced, bool joined)
{
	return (ls_layout){.rows = rows, .panels = (rows + width - 1) / width, .width = width, .lanes = joined ? 1 : lanes,
	                   .balanced = balanced, .joined = joined};
}

int64_t ls_kernel__panel_row(const ls_layout *l, int64_t panel)
{
	if (l->balanced)
		return l->rows * panel / l->panels;
	return panel < l->panels ? panel * l->width : l->rows;
}

int ls_kernel__panel_lanes(const ls_layout *l, int64_t panel)
{
	int64_t n = ls_kernel__panel_row(l, panel + 1) - ls_kernel__panel_row(l, panel);
	return (int)((n + l->lanes - 1) / l->lanes * l->lanes);
}

int64_t ls_kernel__layout_lanes(const ls_layout *l)
{
	return ls_kernel__panel_row(l, l->panels - 1) + ls_kernel__panel_lanes(l, l->panels - 1);
}

static void *element(const ls_packers *packers, void *dst, int64_t number)
{
	return (char *)dst + (size_t)number * packers->size;
}

// Rows side by side in memory: copy, one run of constant stride at a time.
static void pack_side_by_side(const ls_packers *packers, const ls_operand *o, const float *x, int64_t row, int64_t k0,
                              ls_panel p)
{
	int64_t left = p.k;
	while (left > 0) {
		int64_t at = k0 % o->inner, run = o->inner - at < left ? o->inner - at : left;
		p.k = run;
		packers->copy(&p, x + row + k0 / o->inner * o->outer_stride + at * o->inner_stride, o->inner_stride);
		p.dst = element(packers, p.dst, run * p.ld);
		k0 += run;
		left -= run;
	}
}

// Rows that are contiguous along k for runs long enough to be transposed where they lie.
static void pack_runs(const ls_packers *packers, const ls_operand *o, const float *x, int64_t row, int64_t k0, ls_panel p)
{
	const float *rows[LS_PANEL_LANES];
	int64_t left = p.k;
	while (left > 0) {
		int64_t at = k0 % o->inner, run = o->inner - at < left ? o->inner - at : left;
		const float *from = x + row * o->row_stride + k0 / o->inner * o->outer_stride + at;
		for (int r = 0; r < p.w; r++)
			rows[r] = from + r * o->row_stride;
		p.k = run;
		packers->transpose(&p, rows);
		p.dst = element(packers, p.dst, run * p.ld);
		k0 += run;
		left -= run;
	}
}

// Rows that are made contiguous along k, where they are not.
static void pack_rows(const ls_packers *packers, const ls_operand *o, const float *x, int64_t row, int64_t k0,
                      const ls_panel *p, ls_pack_space *space)
{
	const float *rows[LS_PANEL_LANES];
	bool direct = o->kind == LS_OPERAND_STRIDED && o->inner_stride == 1 && k0 % o->inner + p->k <= o->inner;
	for (int r = 0; r < p->w; r++) {
		rows[r] = space->stage[r];
		if (r >= p->n)
			memset(space->stage[r], 0, (size_t)p->k * sizeof(float));
		else if (direct)
			rows[r] = x + (row + r) * o->row_stride + k0 / o->inner * o->outer_stride + k0 % o->inner;
		else
			ls_kernel__fetch(o, x, row + r, k0, p->k, space->stage[r]);
	}
	packers->transpose(p, rows);
}

// Lanes of a panel that lie on one line of one image: their elements are side by side for every tap.
struct segment {
	int lane, count;
	int64_t image, y, x; // offset of the image; coordinates of the first lane for tap (0, 0)
};

static int find_segments(const ls_patches *p, int64_t row, int n, struct segment *out)
{
	int count = 0, most = p->step == 1 && p->divisor == 1 ? n : 1;
	int64_t ox = row % p->out_width, oy = row / p->out_width % p->out_height;
	int64_t image = row / p->out_width / p->out_height * p->channels * p->height * p->width;
	for (int lane = 0; lane < n;) {
		int64_t run = p->out_width - ox;
		run = run < n - lane ? run : n - lane;
		run = run < most ? run : most;
		out[count++] = (struct segment){lane, (int)run, image, oy * p->step + p->offset, ox * p->step + p->offset + p->skew};
		lane += (int)run;
		ox += run;
		if (ox == p->out_width) {
			ox = 0;
			if (++oy == p->out_height) {
				oy = 0;
				image += p->channels * p->height * p->width;
			}
		}
	}
	return count;
}

// Appends what a segment reads for the tap that moves it by (dy, dx), joined to the entry before where that lies alike.
static int32_t add_tap(ls_patch_plan *plan, int32_t first, int32_t end, const ls_patches *p, const struct segment *s,
                       int64_t dy, int64_t dx, int64_t channel_offset)
{
	int64_t y = s->y + dy, x = s->x + dx, low = 0, high = s->count, offset;
	uint32_t mask;
	if (p->divisor != 1) {
		if (y < 0 || x < 0 || y % p->divisor || x % p->divisor)
			return end;
		y /= p->divisor;
		x /= p->divisor;
	}
	if (y < 0 || y >= p->height)
		return end;
	if (x < 0)
		low = -x;
	if (x + high > p->width)
		high = p->width - x;
	if (low >= high)
		return end;
	offset = s->image + channel_offset + y * p->width + x - s->lane;
	mask = ((UINT32_C(1) << high) - (UINT32_C(1) << low)) << s->lane;
	if (end > first && plan->tap[end - 1].offset == offset) {
		plan->tap[end - 1].mask |= mask;
		return end;
	}
	plan->tap[end] = (ls_tap){offset, mask};
	return end + 1;
}

static void make_plan(ls_patch_plan *plan, const ls_patches *p, int64_t row, int n, int64_t k0, int64_t k)
{
	struct segment segment[LS_PANEL_LANES];
	int segments = find_segments(p, row, n, segment);
	int64_t taps = p->kernel_height * p->kernel_width, tap = k0 % taps, channel = k0 / taps;
	int64_t ky = tap / p->kernel_width, kx = tap % p->kernel_width;
	int32_t end = 0;
	plan->plane = p->height * p->width;
	plan->slots = taps < k ? taps : k;
	for (int64_t slot = 0; slot < plan->slots; slot++) {
		int32_t first = plan->start[slot] = end;
		for (int s = 0; s < segments; s++)
			end = add_tap(plan, first, end, p, &segment[s], ky * p->tap, kx * p->tap, channel * plan->plane);
		if (++kx == p->kernel_width) {
			kx = 0;
			if (++ky == p->kernel_height) {
				ky = 0;
				channel++;
			}
		}
	}
	plan->start[plan->slots] = end;
}

// Patches of one pixel, on one line or on lines that join: plain rows, a plane apart.
static bool is_one_run(const ls_patch_plan *plan, int n)
{
	return plan->slots == 1 && plan->start[1] == 1 && plan->tap[0].mask == (UINT32_C(1) << n) - 1;
}

static void pack_panel(const ls_packers *packers, const ls_source *s, int64_t row, int64_t k0, const ls_panel *p,
                       ls_pack_space *space)
{
	const ls_operand *o = s->operand;
	if (o->kind == LS_OPERAND_PATCHES) {
		make_plan(&space->plan, &o->patches, row, p->n, k0, p->k);
		if (is_one_run(&space->plan, p->n))
			packers->copy(p, s->x + space->plan.tap[0].offset, space->plan.plane);
		else
			packers->expand(p, s->x, &space->plan);
	} else if (o->kind == LS_OPERAND_STRIDED && o->row_stride == 1 && (o->inner_stride != 1 || p->n > 1)) {
		pack_side_by_side(packers, o, s->x, row, k0, *p);
	} else if (o->kind == LS_OPERAND_STRIDED && o->inner_stride == 1 && o->inner >= RUN_MIN && p->n == p->w) {
		pack_runs(packers, o, s->x, row, k0, *p);
	} else {
		pack_rows(packers, o, s->x, row, k0, p, space);
	}
}

static void pack_bias(const ls_packers *packers, const ls_source *s, int64_t row, const ls_panel *p, void *dst)
{
	for (int r = 0; r < p->w; r++) {
		float v = r >= p->n ? 0 : s->bias ? s->bias[row + r] : 1;
		if (packers->size == sizeof v)
			((float *)dst)[r] = v;
		else
			((double *)dst)[r] = v;
	}
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

// A panel of more lanes than a packer takes is written in strips, one beside the other.
static void pack_one(const ls_packers *packers, const ls_source *s, int64_t row0, const ls_layout *l, int64_t i, int64_t k0,
                     int64_t k, void *dst, double *squares, ls_pack_space *space)
{
	int64_t row = ls_kernel__panel_row(l, i);
	int n = (int)(ls_kernel__panel_row(l, i + 1) - row), w = ls_kernel__panel_lanes(l, i);
	int64_t ld = l->joined ? l->rows : w;
	for (int lane = 0; lane < w; lane += packers->lanes, row += packers->lanes) {
		ls_panel p = {.dst = element(packers, dst, lane), .ld = ld, .n = smaller(n - lane, packers->lanes),
		              .w = smaller(w - lane, packers->lanes), .k = k, .squares = squares ? squares + row : NULL};
		p.n = p.n < 0 ? 0 : p.n;
		pack_panel(packers, s, row0 + row, k0, &p, space);
		if (s->extra && k0 + k == s->terms)
			pack_bias(packers, s, row0 + row, &p, element(packers, p.dst, k * p.ld));
	}
}

int64_t ls_kernel__pack_panel(const ls_packers *packers, const ls_source *s, int64_t row0, const ls_layout *l, int64_t panel,
                              int64_t k0, int64_t k, void *dst, double *squares, ls_pack_space *space)
{
	pack_one(packers, s, row0, l, panel, k0, k, dst, squares, space);
	return k + (s->extra && k0 + k == s->terms);
}

int64_t ls_kernel__pack(const ls_packers *packers, const ls_source *s, int64_t row0, const ls_layout *l, int64_t k0, int64_t k,
                        void *dst, double *squares, ls_pack_space *space)
{
	int64_t all = k + (s->extra && k0 + k == s->terms);
	for (int64_t i = 0; i < l->panels; i++) {
		int64_t row = ls_kernel__panel_row(l, i);
		pack_one(packers, s, row0, l, i, k0, k, element(packers, dst, l->joined ? row : row * all), squares, space);
	}
	return all;
}
