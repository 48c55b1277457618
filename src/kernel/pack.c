#include "kernel/pack.h"

#include "kernel/image.h"

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

// ---- where the elements of an operand lie: a row's offset and a term's, added ----

static void strided_terms(const ls_operand *o, int64_t k, int64_t count, int64_t *out)
{
	int64_t inner = k % o->inner, base = k / o->inner * o->outer_stride;
	for (int64_t i = 0; i < count; i++) {
		out[i] = base + inner * o->inner_stride;
		if (++inner == o->inner) {
			inner = 0;
			base += o->outer_stride;
		}
	}
}

// Of tap (0, 0) of a channel 0, at positions first … first+count−1.
static void positions(const ls_patches *p, int64_t first, int64_t count, int64_t *out)
{
	int64_t x = first % p->out_width, y = first / p->out_width % p->out_height, plane = p->height * p->width;
	int64_t image = first / p->out_width / p->out_height * p->channels * plane + p->offset * p->width + p->offset + p->skew;
	for (int64_t i = 0; i < count; i++) {
		out[i] = image + (y * p->width + x) * p->step;
		if (++x < p->out_width)
			continue;
		x = 0;
		if (++y == p->out_height) {
			y = 0;
			image += p->channels * plane;
		}
	}
}

static void taps(const ls_patches *p, int64_t first, int64_t count, int64_t *out)
{
	int64_t x = first % p->kernel_width, y = first / p->kernel_width % p->kernel_height, plane = p->height * p->width;
	int64_t channel = first / p->kernel_width / p->kernel_height * plane;
	for (int64_t i = 0; i < count; i++) {
		out[i] = channel + (y * p->width + x) * p->tap;
		if (++x < p->kernel_width)
			continue;
		x = 0;
		if (++y == p->kernel_height) {
			y = 0;
			channel += plane;
		}
	}
}

static void row_offsets(const ls_operand *o, int64_t row, int n, int64_t *out)
{
	if (o->kind == LS_OPERAND_PATCHES)
		positions(&o->patches, row, n, out);
	else if (o->kind == LS_OPERAND_PATCHES_T)
		taps(&o->patches, row, n, out);
	else
		for (int r = 0; r < n; r++)
			out[r] = (row + r) * o->row_stride;
}

static void term_offsets(const ls_operand *o, int64_t k, int64_t count, int64_t *out)
{
	if (o->kind == LS_OPERAND_PATCHES)
		taps(&o->patches, k, count, out);
	else if (o->kind == LS_OPERAND_PATCHES_T)
		positions(&o->patches, k, count, out);
	else
		strided_terms(o, k, count, out);
}

static bool is_direct(const ls_operand *o)
{
	if (o->kind == LS_OPERAND_STRIDED)
		return !o->slicing.rows && o->mask == LS_MASK_NONE;
	return ls_kernel__is_inside(&o->patches);
}

static bool side_by_side(const int64_t *offset, int64_t n)
{
	for (int64_t i = 1; i < n; i++)
		if (offset[i] != offset[0] + i)
			return false;
	return true;
}

static bool is_near(const int64_t *offset, int64_t n, int64_t most)
{
	for (int64_t i = 1; i < n; i++)
		if (offset[i] < offset[0] || offset[i] > offset[0] + most)
			return false;
	return true;
}

static ls_group group_of(const int64_t *offset, int64_t n)
{
	if (side_by_side(offset, n))
		return LS_GROUP_RUN;
	if (is_near(offset, n, 15))
		return LS_GROUP_NEAR;
	if (n == LS_GROUP_TERMS && side_by_side(offset, 4) && side_by_side(offset + 4, 4))
		return LS_GROUP_HALVES;
	return is_near(offset, n, 31) ? LS_GROUP_WIDE : LS_GROUP_SCATTERED;
}

static void find_groups(ls_terms *t)
{
	static const int cost[] = {[LS_GROUP_RUN] = 4, [LS_GROUP_NEAR] = 5, [LS_GROUP_WIDE] = 7, [LS_GROUP_HALVES] = 6,
	                           [LS_GROUP_SCATTERED] = 16};
	int64_t sum = 0, groups = (t->count + LS_GROUP_TERMS - 1) / LS_GROUP_TERMS;
	for (int64_t g = 0; g < groups; g++) {
		int64_t n = t->count - g * LS_GROUP_TERMS;
		ls_group group = group_of(t->offset + g * LS_GROUP_TERMS, n < LS_GROUP_TERMS ? n : LS_GROUP_TERMS);
		t->group[g] = (uint8_t)group;
		sum += cost[group];
	}
	t->cost = (int)(sum / groups);
}

void ls_kernel__pack_begin(ls_pack *pack, const ls_packers *packers, const ls_source *source, int64_t k0, int64_t k)
{
	pack->packers = packers;
	pack->source = source;
	pack->k0 = k0;
	pack->k = pack->terms.count = k;
	pack->all = k + (source->extra && k0 + k == source->terms);
	pack->direct = is_direct(source->operand);
	if (pack->direct)
		term_offsets(source->operand, k0, k, pack->terms.offset);
	for (int64_t i = 0; i < k && !pack->direct; i++)
		pack->terms.offset[i] = i;
	find_groups(&pack->terms);
}

// ---- panels ----

static void pack_strip(ls_pack *pack, int64_t row, const ls_panel *p)
{
	const ls_source *s = pack->source;
	int64_t offset[LS_PANEL_LANES];
	if (pack->direct) {
		row_offsets(s->operand, row, p->n, offset);
		pack->packers->pack(p, s->x, offset, &pack->terms);
		return;
	}
	for (int r = 0; r < p->n; r++) {
		offset[r] = r * LS_BLOCK_TERMS;
		ls_kernel__fetch(s->operand, s->x, row + r, pack->k0, pack->k, pack->stage[r]);
	}
	pack->packers->pack(p, pack->stage[0], offset, &pack->terms);
}

static void *element(const ls_packers *packers, void *dst, int64_t number)
{
	return (char *)dst + (size_t)number * packers->size;
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

static int clamp(int v, int low, int high)
{
	return v < low ? low : v > high ? high : v;
}

// A panel of more lanes than a packer takes is written in strips, one beside the other.
void ls_kernel__pack_panel(ls_pack *pack, int64_t row0, const ls_layout *l, int64_t panel, void *dst, const ls_findings *f)
{
	const ls_packers *packers = pack->packers;
	int64_t row = ls_kernel__panel_row(l, panel);
	int n = (int)(ls_kernel__panel_row(l, panel + 1) - row), w = ls_kernel__panel_lanes(l, panel);
	for (int lane = 0; lane < w; lane += packers->lanes, row += packers->lanes) {
		ls_panel p = {.dst = element(packers, dst, lane), .ld = l->joined ? l->rows : w, .n = clamp(n - lane, 0, packers->lanes),
		              .w = clamp(w - lane, 0, packers->lanes), .stride = f->stride};
		p.squares = f->squares ? f->squares + row : NULL;
		p.support = f->support ? f->support + pack->k0 / 64 * f->stride + row : NULL;
		pack_strip(pack, row0 + row, &p);
		if (pack->all > pack->k)
			pack_bias(packers, pack->source, row0 + row, &p, element(packers, p.dst, pack->k * p.ld));
	}
}

void ls_kernel__pack_rows(ls_pack *pack, int64_t row0, const ls_layout *l, void *dst, const ls_findings *f)
{
	for (int64_t i = 0; i < l->panels; i++) {
		int64_t row = ls_kernel__panel_row(l, i);
		ls_kernel__pack_panel(pack, row0, l, i, element(pack->packers, dst, l->joined ? row : row * pack->all), f);
	}
}
