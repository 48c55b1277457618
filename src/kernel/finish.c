#include "kernel/finish.h"

#include <stdlib.h>

void ls_flag_list_free(ls_flag_list *list)
{
	ls_free(list->flag);
	*list = (ls_flag_list){0};
}

static ls_status reserve(ls_flag_list *list, size_t count)
{
	size_t capacity = list->capacity ? list->capacity : 256;
	ls_flag *grown;
	if (count <= list->capacity)
		return LS_OK;
	while (capacity < count)
		capacity *= 2;
	grown = ls_alloc(capacity, sizeof *grown);
	if (!grown)
		return LS_ERR_NOMEM;
	if (list->count)
		memcpy(grown, list->flag, list->count * sizeof *grown);
	ls_free(list->flag);
	list->flag = grown;
	list->capacity = capacity;
	return LS_OK;
}

ls_status ls_kernel__push_flag(ls_flag_list *list, const ls_flag *flag)
{
	ls_status status = reserve(list, list->count + 1);
	if (status == LS_OK)
		list->flag[list->count++] = *flag;
	return status;
}

void ls_kernel__finish_free(ls_finish_space *space)
{
	ls_flag_list_free(&space->flags);
	ls_kernel__certificate_free(&space->certificate);
}

static int by_index(const void *a, const void *b)
{
	int64_t x = ((const ls_flag *)a)->index, y = ((const ls_flag *)b)->index;
	return (x > y) - (x < y);
}

// Flags arrive in ascending pieces. They are dealt into buckets of neighbouring indices, where hardly anything is left to do.
enum { BUCKETS = 2048, SMALL = 64 };

static int64_t bucket_width(ls_finish_space *const *spaces, int count)
{
	int64_t most = 0;
	for (int i = 0; i < count; i++)
		for (size_t f = 0; f < spaces[i]->flags.count; f++)
			if (spaces[i]->flags.flag[f].index > most)
				most = spaces[i]->flags.flag[f].index;
	return most / BUCKETS + 1;
}

static void sort_bucket(ls_flag *flag, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		ls_flag moved = flag[i];
		size_t at = i;
		if (flag[i - 1].index <= moved.index)
			continue;
		if (count > SMALL) {
			qsort(flag, count, sizeof *flag, by_index);
			return;
		}
		for (; at > 0 && flag[at - 1].index > moved.index; at--)
			flag[at] = flag[at - 1];
		flag[at] = moved;
	}
}

static void deal(ls_flag *out, ls_finish_space *const *spaces, int count)
{
	size_t end[BUCKETS + 1] = {0}; // first of bucket b at end[b], which moves to the bucket's end
	int64_t width = bucket_width(spaces, count);
	for (int i = 0; i < count; i++)
		for (size_t f = 0; f < spaces[i]->flags.count; f++)
			end[spaces[i]->flags.flag[f].index / width + 1]++;
	for (int b = 1; b <= BUCKETS; b++)
		end[b] += end[b - 1];
	for (int i = 0; i < count; i++)
		for (size_t f = 0; f < spaces[i]->flags.count; f++)
			out[end[spaces[i]->flags.flag[f].index / width]++] = spaces[i]->flags.flag[f];
	for (int b = 0; b < BUCKETS; b++) {
		size_t first = b ? end[b - 1] : 0;
		sort_bucket(out + first, end[b] - first);
	}
}

ls_status ls_kernel__gather_flags(ls_flag_list *out, ls_finish_space *const *spaces, int count)
{
	size_t total = 0;
	ls_status status;
	for (int i = 0; i < count; i++)
		total += spaces[i]->flags.count;
	out->count = 0;
	out->certified = 0;
	status = reserve(out, total);
	if (status == LS_OK && total) {
		deal(out->flag, spaces, count);
		out->count = total;
	}
	for (int i = 0; i < count; i++) {
		out->certified += spaces[i]->flags.certified;
		spaces[i]->flags.count = spaces[i]->flags.certified = 0;
	}
	return status;
}

ls_status ls_kernel__check_call(const ls_product_call *call, int64_t depth, ls_error *err)
{
	const ls_product *p = call->product;
	if (p->rows < 1 || p->columns < 1 || p->terms < 1 || ls_product_all_terms(p) >= LS_TERMS_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "product: found %lld x %lld with %lld terms, expected fewer than 2^21",
		                    (long long)p->rows, (long long)p->columns, (long long)p->terms);
	if (call->bits < LS_GRID_MIN || call->bits > LS_GRID_MAX || (p->bias != LS_BIAS_NONE && !call->bias) ||
	    ((call->test || call->pinned) && !call->flags))
		return ls_error_set(err, LS_ERR_USAGE, "product: found a call without grid, bias or list of flags");
	if (call->pinned && (call->test || call->fp32))
		return ls_error_set(err, LS_ERR_USAGE, "product: found a call for the pinned order and another one");
	if (call->certify && (!call->test || call->bound.kind != LS_BOUND_FP64))
		return ls_error_set(err, LS_ERR_USAGE, "product: found a call for certificates without FP64 and its bound");
	if (!call->test || call->bound.kind == LS_BOUND_WINDOW)
		return LS_OK;
	if (call->fp32 != (call->bound.kind == LS_BOUND_FP32) || (call->fp32 && call->bound.terms < ls_product_all_terms(p)))
		return ls_error_set(err, LS_ERR_USAGE, "product: found the bound of another precision or of fewer terms");
	if (!call->fp32 && depth > call->bound.depth - 2)
		return ls_error_set(err, LS_ERR_USAGE, "product: found depth %lld, expected at least %lld for %lld terms",
		                    (long long)call->bound.depth, (long long)depth + 2, (long long)p->terms);
	return LS_OK;
}

// A tile on its way out.
struct tile {
	const ls_kernel_table *table;
	const ls_product_call *call;
	const ls_sums *sums;
	ls_finish_space *space;
	int64_t sample_i, sample_j; // −1 where there is none
	int64_t doubtful;           // elements so far that the test did not settle
	bool units;                 // of its rows and columns are known
};

// Finding units reads m + n rows; computing an element exactly reads two.
static bool is_certified(struct tile *t, int64_t i, int64_t j, double c, double bound)
{
	const ls_sums *s = t->sums;
	ls_certificate *certificate = &t->space->certificate;
	if (!t->call->certify)
		return false;
	if (++t->doubtful == 2 * (s->m + s->n))
		t->units = ls_kernel__certificate_find(certificate, t->call, s->i0, s->m, s->j0, s->n);
	if (!t->units || c - c != 0 || !ls_kernel__certificate_holds(certificate, t->call, s->i0, i, s->j0, j, bound))
		return false;
	t->space->flags.certified++;
	return true;
}

static ls_bound_row bound_at(const struct tile *t, int64_t i, int64_t at)
{
	const ls_finish_space *s = t->space;
	const ls_findings *rows = t->sums->rows, *columns = t->sums->columns;
	ls_bound_row b = {.row = s->row[i], .row_bias = s->row_bias[i], .column = s->column + at, .column_bias = s->column_bias + at};
	if (rows->support) {
		b.words = rows->words;
		b.rows = (ls_support){rows->support + i, rows->stride};
		b.columns = (ls_support){columns->support + at, columns->stride};
	}
	return b;
}

static double t_at(const struct tile *tile, double c, const ls_bound_row *b, int64_t k)
{
	if (tile->call->bound.kind == LS_BOUND_WINDOW)
		return ls_bound_window_t(tile->call->bound, c, tile->call->bits);
	return (b->row * b->column[k] + b->row_bias) + b->column_bias[k];
}

static int64_t test_on_grid(const struct tile *tile, float *out, const double *c, const ls_bound_row *b, int64_t n)
{
	int bits = tile->call->bits;
	int64_t hits = 0;
	for (int64_t j = 0; j < n; j++) {
		double t = t_at(tile, c[j], b, j);
		out[j] = ls_round_f64(c[j], bits);
		tile->space->hit[hits] = (uint32_t)j;
		hits += ls_ambiguous(c[j], t, bits) && !ls_kernel__is_empty(b, j, c[j]);
	}
	return hits;
}

static void round_plain(const struct tile *t, float *out, const double *c, int64_t n)
{
	if (t->call->bits == 32) {
		t->table->round(out, c, n);
		return;
	}
	for (int64_t j = 0; j < n; j++)
		out[j] = ls_round_f64(c[j], t->call->bits);
}

static ls_status push(const struct tile *tile, int64_t i, int64_t j, double c, const ls_bound_row *b, int64_t k)
{
	ls_flag flag = {ls_product_out_index(tile->call->product, i, j), c, t_at(tile, c, b, k)};
	return ls_kernel__push_flag(&tile->space->flags, &flag);
}

static bool is_overwritten(const ls_product_call *call, int64_t row, int64_t column)
{
	return call->kept && column >= call->kept + row;
}

// Row i of the tile, n columns from number `at` on. `out` receives their values side by side.
static ls_status test_run(struct tile *t, float *out, int64_t i, int64_t at, int64_t n)
{
	const double *c = t->sums->c + i * t->sums->ldc + at;
	int64_t row = t->sums->i0 + i, column = t->sums->j0 + at, hits;
	ls_bound_row b = bound_at(t, i, at);
	bool sample = row == t->sample_i && t->sample_j >= column && t->sample_j < column + n;
	ls_status status = LS_OK;
	if (t->call->bits == 32 && t->call->bound.kind != LS_BOUND_WINDOW)
		hits = t->table->test(out, c, &b, n, t->space->hit);
	else
		hits = test_on_grid(t, out, c, &b, n);
	for (int64_t h = 0; h < hits && status == LS_OK; h++) {
		uint32_t k = t->space->hit[h];
		out[k] = ls_round_f64(c[k], t->call->bits);
		if (is_overwritten(t->call, row, column + k))
			continue;
		if (!(sample && column + k == t->sample_j) && is_certified(t, i, at + k, c[k], t_at(t, c[k], &b, k)))
			continue;
		sample = sample && column + k != t->sample_j;
		status = push(t, row, column + k, c[k], &b, k);
	}
	if (sample && status == LS_OK)
		status = push(t, row, t->sample_j, c[t->sample_j - column], &b, t->sample_j - column);
	return status;
}

// n columns from number `at` on, between two jumps of the output's layout.
static ls_status finish_run(struct tile *t, int64_t at, int64_t n)
{
	const ls_product *p = t->call->product;
	const ls_sums *s = t->sums;
	float *out = t->call->out + ls_product_out_index(p, s->i0, s->j0 + at);
	ls_status status = LS_OK;
	for (int64_t i = 0; i < s->m && status == LS_OK; i++, out += p->row_stride) {
		float *value = p->inner_stride == 1 ? out : t->space->value;
		if (t->call->test)
			status = test_run(t, value, i, at, n);
		else
			round_plain(t, value, s->c + i * s->ldc + at, n);
		for (int64_t k = 0; value != out && k < n; k++)
			out[k * p->inner_stride] = value[k];
	}
	return status;
}

static void make_bounds(const ls_product_call *call, const ls_sums *s, ls_finish_space *space)
{
	ls_bias bias = call->product->bias;
	ls_bound bound = call->bound;
	for (int64_t i = 0; i < s->m; i++) {
		space->row[i] = ls_bound_t(bound, ls_sqrt(s->rows->squares[i]));
		space->row_bias[i] = ls_bound_floor(bound);
		if (bias == LS_BIAS_ROW)
			space->row_bias[i] += ls_bound_t(bound, __builtin_fabs(call->bias[s->i0 + i]));
	}
	for (int64_t j = 0; j < s->n; j++)
		space->column[j] = __builtin_sqrt(s->columns->squares[j]); // one instruction, and so several at a time
	for (int64_t j = 0; j < s->n; j++)
		space->column_bias[j] = bias != LS_BIAS_COLUMN ? 0 : ls_bound_t(bound, __builtin_fabs(call->bias[s->j0 + j]));
}

ls_status ls_kernel__finish(const ls_kernel_table *table, const ls_product_call *call, const ls_sums *sums,
                            ls_finish_space *space)
{
	struct tile t = {.table = table, .call = call, .sums = sums, .space = space, .sample_i = -1, .sample_j = -1};
	int64_t inner = call->product->inner;
	ls_status status = LS_OK;
	if (call->test && call->bound.kind != LS_BOUND_WINDOW)
		make_bounds(call, sums, space);
	if (call->test && call->sample >= 0)
		ls_product_locate(call->product, call->sample, &t.sample_i, &t.sample_j);
	for (int64_t at = 0; at < sums->n && status == LS_OK;) {
		int64_t run = inner - (sums->j0 + at) % inner;
		run = run < sums->n - at ? run : sums->n - at;
		status = finish_run(&t, at, run);
		at += run;
	}
	return status;
}
