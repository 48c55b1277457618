#include "kernel/exact.h"

#include "kernel/pack.h"

enum {
	TASK = 16,    // elements
	TAPS_MAX = 64 // of a kernel that is read tap by tap; larger ones take the general way
};

// One operand, and how its rows are read.
struct side {
	const ls_operand *operand;
	const float *x;
	int64_t terms;     // without the bias
	bool extra;        // a bias is one more term:
	const float *bias; // of this row, where this side carries it, else 1
	bool direct;       // rows lie in one piece
};

struct ls_exact_element {
	int64_t i, j; // rows of the operands
	bool masked; // without any term
	const ls_flag *flag;
};

// A row that was copied.
struct copy {
	float *x;
	int64_t row; // −1: none yet
};

struct ls_exact_worker {
	struct copy a, b;
	int64_t room; // terms of each
	uint64_t stage[LS_EXACT_STAGES];
};

struct job {
	const ls_exact *space;
	const ls_kernel_table *table;
	const ls_exact_call *call;
	struct side a, b;
};

static bool in_one_piece(const ls_operand *o, int64_t terms)
{
	return o->kind == LS_OPERAND_STRIDED && !o->slicing.rows && o->mask == LS_MASK_NONE && o->inner_stride == 1 && (o->inner >= terms || o->outer_stride == o->inner);
}

static struct side side_of(const ls_operand *o, const float *x, const ls_product *p, const float *bias)
{
	bool extra = p->bias != LS_BIAS_NONE;
	return (struct side){.operand = o, .x = x, .terms = p->terms, .extra = extra, .bias = bias, .direct = !extra && in_one_piece(o, p->terms)};
}

// One coordinate of the element that tap number `tap` meets, or −1.
static int64_t meet(const ls_patches *p, int64_t position, int64_t tap, int64_t offset, int64_t extent)
{
	int64_t at = position * p->step + offset + tap * p->tap;
	if (at < 0 || at % p->divisor || at / p->divisor >= extent)
		return -1;
	return at / p->divisor;
}

// A position of a convolution meets the same places of every channel: they are found once.
static void fetch_position(const ls_patches *p, const float *x, int64_t row, float *dst)
{
	int64_t taps = p->kernel_height * p->kernel_width, plane = p->height * p->width, from[TAPS_MAX], to[TAPS_MAX], met = 0;
	int64_t ox = row % p->out_width, oy = row / p->out_width % p->out_height, image = row / p->out_width / p->out_height;
	const float *channel = x + image * p->channels * plane;
	for (int64_t t = 0; t < taps; t++) {
		int64_t at_y = meet(p, oy, t / p->kernel_width, p->offset, p->height);
		int64_t at_x = meet(p, ox, t % p->kernel_width, p->offset + p->skew, p->width);
		from[met] = at_y * p->width + at_x;
		to[met] = t;
		met += at_y >= 0 && at_x >= 0;
	}
	if (met < taps)
		memset(dst, 0, (size_t)(taps * p->channels) * sizeof *dst);
	for (int64_t c = 0; c < p->channels; c++, channel += plane, dst += taps)
		for (int64_t t = 0; t < met; t++)
			dst[to[t]] = channel[from[t]];
}

static const float *read_row(const struct side *s, int64_t row, struct copy *copy)
{
	const ls_operand *o = s->operand;
	if (s->direct)
		return s->x + row * o->row_stride;
	if (copy->row == row)
		return copy->x;
	if (o->kind == LS_OPERAND_PATCHES && o->patches.kernel_height * o->patches.kernel_width <= TAPS_MAX)
		fetch_position(&o->patches, s->x, row, copy->x);
	else
		ls_kernel__fetch(o, s->x, row, 0, s->terms, copy->x);
	if (s->extra)
		copy->x[s->terms] = s->bias ? s->bias[row] : 1;
	copy->row = row;
	return copy->x;
}

// C and t say how large the terms are at most, unless there was no FP64 sum of finite factors, or t is of others besides.
static float exact_value(const struct job *job, const ls_flag *flag, const float *a, const float *b, int64_t n, uint64_t *stages)
{
	const ls_exact_call *call = job->call;
	ls_num__dot_stage stage;
	float value;
	if (call->bound.kind == LS_BOUND_FP64 && flag->c - flag->c == 0 && flag->t - flag->t == 0)
		value = ls_num__dot_within(a, b, n, ls_bound_norm(call->bound, flag->t), call->bits, job->table->fill, &stage);
	else
		value = ls_num__dot(a, b, n, call->bits, LS_NUM__DOT_PLAIN, &stage);
	stages[stage]++;
	return value;
}

static void run_task(void *context, int64_t index, int worker)
{
	const struct job *job = context;
	const ls_exact_call *call = job->call;
	struct ls_exact_worker *w = &job->space->worker[worker];
	size_t end = (size_t)(index + 1) * TASK < call->count ? (size_t)(index + 1) * TASK : call->count;
	for (size_t n = (size_t)index * TASK; n < end; n++) {
		const struct ls_exact_element *e = &job->space->element[n];
		const float *a, *b;
		if (e->masked) {
			call->out[e->flag->index] = 0;
			continue;
		}
		a = read_row(&job->a, e->i, &w->a);
		b = read_row(&job->b, e->j, &w->b);
		call->out[e->flag->index] = exact_value(job, e->flag, a, b, ls_product_all_terms(call->product), w->stage);
	}
}

// ---- the order of work ----

static void list_elements(struct ls_exact_element *out, const ls_exact_call *call)
{
	for (size_t n = 0; n < call->count; n++) {
		out[n].flag = &call->flag[n];
		ls_product_locate(call->product, call->flag[n].index, &out[n].i, &out[n].j);
		out[n].masked = ls_product_masked(call->product, out[n].i, out[n].j);
		out[n].j = ls_product_b_row(call->product, out[n].i, out[n].j);
	}
}

/* Elements side by side that share a row which must be copied: of a, or of b where a's lie in one piece or there are fewer of b.
 * Not worth it where hardly any two share one. */
static bool choose_order(const struct job *job, bool *by_row, int64_t *keys)
{
	const ls_product *p = job->call->product;
	*by_row = !job->a.direct && (job->b.direct || p->rows <= ls_product_b_rows(p));
	*keys = *by_row ? p->rows : ls_product_b_rows(p);
	return !(*by_row ? job->a.direct : job->b.direct) && job->call->count >= (size_t)*keys / 4;
}

static void order_elements(ls_exact *s, const struct ls_exact_element *from, size_t count, bool by_row, int64_t keys)
{
	memset(s->position, 0, ((size_t)keys + 1) * sizeof *s->position);
	for (size_t n = 0; n < count; n++)
		s->position[(by_row ? from[n].i : from[n].j) + 1]++;
	for (int64_t k = 0; k < keys; k++)
		s->position[k + 1] += s->position[k];
	for (size_t n = 0; n < count; n++)
		s->element[s->position[by_row ? from[n].i : from[n].j]++] = from[n];
}

// ---- room ----

static bool reserve_rows(struct ls_exact_worker *w, int64_t terms)
{
	*w = (struct ls_exact_worker){.a.x = w->a.x, .b.x = w->b.x, .room = w->room};
	w->a.row = w->b.row = -1;
	if (terms <= w->room)
		return true;
	ls_free(w->a.x);
	ls_free(w->b.x);
	w->a.x = ls_alloc((size_t)terms, sizeof(float));
	w->b.x = ls_alloc((size_t)terms, sizeof(float));
	w->room = w->a.x && w->b.x ? terms : 0;
	return w->room > 0;
}

// The list twice over: as the flags come, behind it in the order of work.
static bool reserve_list(ls_exact *s, size_t count, size_t positions)
{
	if (2 * count > s->elements) {
		ls_free(s->element);
		s->element = ls_alloc(4 * count, sizeof *s->element);
		s->elements = s->element ? 4 * count : 0;
	}
	if (positions > s->positions) {
		ls_free(s->position);
		s->position = ls_alloc(positions, sizeof *s->position);
		s->positions = s->position ? positions : 0;
	}
	return s->element && (s->position || !positions);
}

static bool reserve(ls_exact *s, int workers, const struct job *job, size_t positions)
{
	bool good;
	if (!s->worker) {
		s->worker = ls_alloc((size_t)workers, sizeof *s->worker);
		s->workers = s->worker ? workers : 0;
	}
	good = s->worker && reserve_list(s, job->call->count, positions);
	for (int i = 0; i < workers && good; i++)
		good = reserve_rows(&s->worker[i], ls_product_all_terms(job->call->product));
	return good;
}

ls_status ls_kernel__exact_run(ls_exact *s, const ls_kernel_table *table, const ls_exact_call *call, ls_pool *pool, ls_error *err)
{
	const ls_product *p = call->product;
	struct job job = {.space = s, .table = table, .call = call,
	                  .a = side_of(&p->a, call->a, p, p->bias == LS_BIAS_ROW ? call->bias : NULL),
	                  .b = side_of(&p->b, call->b, p, p->bias == LS_BIAS_COLUMN ? call->bias : NULL)};
	int64_t keys;
	bool by_row, ordered = choose_order(&job, &by_row, &keys);
	if (call->count == 0)
		return LS_OK;
	if (!reserve(s, ls_pool_threads(pool), &job, ordered ? (size_t)keys + 1 : 0))
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory for the elements that are computed exactly");
	list_elements(ordered ? s->element + call->count : s->element, call);
	if (ordered)
		order_elements(s, s->element + call->count, call->count, by_row, keys);
	ls_pool_run(pool, (int64_t)((call->count + TASK - 1) / TASK), run_task, &job);
	for (int i = 0; i < s->workers; i++)
		for (int stage = 0; stage < LS_EXACT_STAGES; stage++)
			call->stage[stage] += s->worker[i].stage[stage];
	return LS_OK;
}

void ls_kernel__exact_free(ls_exact *s)
{
	for (int i = 0; s->worker && i < s->workers; i++) {
		ls_free(s->worker[i].a.x);
		ls_free(s->worker[i].b.x);
	}
	ls_free(s->worker);
	ls_free(s->element);
	ls_free(s->position);
	*s = (ls_exact){0};
}
