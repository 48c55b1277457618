#include "kernel/pinned.h"

#include "kernel/pack.h"
#include "kernel/tiles.h"

enum {
	TILE_ROWS = 224, // a block of 224 × 256 FP32 is a quarter of an L2 cache of 1 MiB
	TILE_COLUMNS = 1024,
	TILE_ELEMENTS = 131072,
	CACHE_LINE = 16 // numbers
};

struct ls_pinned_worker {
	float *memory; // everything below up to `pack` is cut from it
	size_t capacity;
	float *a, *b, *c, *value;
	ls_pack *pack; // of a, and of b
	ls_finish_space found; // only its list of flags
	ls_status status;
};

struct job {
	const ls_pinned *space;
	const ls_kernel_table *table;
	const ls_product_call *call;
	const ls_kept *kept;
	ls_source a, b;
	ls_tiles tiles;
	int64_t sample_i, sample_j; // −1 where there is none
};

// A tile: rows i0 …, columns j0 …
struct tile {
	const struct job *job;
	struct ls_pinned_worker *w;
	int64_t i0, j0, m, n;
	ls_layout rows, columns;
	int64_t ldc;
};

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

// Terms of the product in its first `number` blocks.
static int64_t terms_of_blocks(const struct job *job, int64_t number)
{
	int64_t k = number * LS_PINNED_BLOCK;
	return smaller(job->kept ? ls_kernel__kept_below(job->kept, k) : k, job->call->product->terms);
}

// Adds the sums of terms k0 … k0+k−1 to the tile. A panel of columns meets every row once and is then done with.
static void add_block(const struct tile *t, int64_t k0, int64_t k)
{
	const ls_pinned_kernels *kernels = &t->job->table->pinned;
	const ls_packers *packers = &t->job->table->narrow;
	struct ls_pinned_worker *w = t->w;
	const ls_findings none = {0};
	int64_t terms;
	ls_kernel__pack_begin(&w->pack[0], packers, &t->job->a, k0, k);
	ls_kernel__pack_begin(&w->pack[1], packers, &t->job->b, k0, k);
	terms = w->pack[0].all;
	ls_kernel__pack_rows(&w->pack[0], t->i0, &t->rows, w->a, &none);
	for (int64_t q = 0; q < t->columns.panels; q++) {
		float *c = w->c + ls_kernel__panel_row(&t->columns, q);
		int n = ls_kernel__panel_lanes(&t->columns, q);
		ls_kernel__pack_panel(&w->pack[1], t->j0, &t->columns, q, w->b, &none);
		for (int64_t p = 0; p < t->rows.panels; p++) {
			int64_t row = ls_kernel__panel_row(&t->rows, p);
			kernels->tile(ls_kernel__panel_lanes(&t->rows, p), n, terms, w->a + row * terms, w->b, c + row * t->ldc, t->ldc, k0 > 0);
		}
	}
}

static void sum_tile(const struct tile *t)
{
	int64_t terms = t->job->call->product->terms, k0 = 0;
	for (int64_t number = 1; k0 < terms; number++) {
		int64_t end = terms_of_blocks(t->job, number);
		if (end > k0)
			add_block(t, k0, end - k0);
		k0 = end;
	}
}

static void flag(const struct tile *t, int64_t i, int64_t j, float sum)
{
	ls_flag f = {.index = ls_product_out_index(t->job->call->product, i, j), .c = sum};
	if (ls_kernel__push_flag(&t->w->found.flags, &f) != LS_OK)
		t->w->status = LS_ERR_NOMEM;
}

// Row i of the tile, n columns from number `at` on, to `value`.
static void finish_row(const struct tile *t, int64_t i, int64_t at, int64_t n, float *value)
{
	const struct job *job = t->job;
	const float *c = t->w->c + i * t->ldc + at;
	int64_t row = t->i0 + i, column = t->j0 + at;
	bool finite = job->table->pinned.round(value, c, n, job->call->bits);
	if (finite && row != job->sample_i)
		return;
	for (int64_t j = 0; j < n; j++)
		if (c[j] - c[j] != 0 || (row == job->sample_i && column + j == job->sample_j))
			flag(t, row, column + j, c[j]);
}

// n columns from number `at` on, between two jumps of the output's layout.
static void finish_run(const struct tile *t, int64_t at, int64_t n)
{
	const ls_product *p = t->job->call->product;
	float *out = t->job->call->out + ls_product_out_index(p, t->i0, t->j0 + at);
	for (int64_t i = 0; i < t->m; i++, out += p->row_stride) {
		float *value = p->inner_stride == 1 ? out : t->w->value;
		finish_row(t, i, at, n, value);
		for (int64_t k = 0; value != out && k < n; k++)
			out[k * p->inner_stride] = value[k];
	}
}

static void run_tile(void *context, int64_t index, int worker)
{
	const struct job *job = context;
	const ls_product *p = job->call->product;
	const ls_pinned_kernels *kernels = &job->table->pinned;
	struct tile t = {.job = job, .w = &job->space->worker[worker],
	                 .i0 = index / job->tiles.across * job->tiles.rows, .j0 = index % job->tiles.across * job->tiles.columns};
	t.m = smaller(p->rows - t.i0, job->tiles.rows);
	t.n = smaller(p->columns - t.j0, job->tiles.columns);
	t.rows = ls_kernel__layout(t.m, kernels->mr, 1, true, false);
	t.columns = ls_kernel__layout(t.n, kernels->nr, kernels->lanes, false, false);
	t.ldc = ls_kernel__layout_lanes(&t.columns);
	sum_tile(&t);
	for (int64_t at = 0, run; at < t.n; at += run) {
		run = smaller(p->inner - (t.j0 + at) % p->inner, t.n - at);
		finish_run(&t, at, run);
	}
}

static float *cut(struct ls_pinned_worker *w, size_t *used, int64_t count)
{
	float *at = w->memory ? w->memory + *used : NULL;
	*used += ((size_t)count + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	return at;
}

static size_t lay_out(struct ls_pinned_worker *w, const struct job *job)
{
	int64_t terms = LS_PINNED_BLOCK + 1, nr = job->table->pinned.nr;
	size_t used = 0;
	w->a = cut(w, &used, job->tiles.rows * terms);
	w->b = cut(w, &used, nr * terms);
	w->c = cut(w, &used, job->tiles.rows * (job->tiles.columns + nr));
	w->value = cut(w, &used, job->tiles.columns);
	return used;
}

static bool reserve_worker(struct ls_pinned_worker *w, const struct job *job)
{
	size_t need = lay_out(&(struct ls_pinned_worker){0}, job);
	if (!w->pack)
		w->pack = ls_alloc(2, sizeof *w->pack);
	if (need > w->capacity) {
		ls_free(w->memory);
		w->memory = ls_alloc(need, sizeof *w->memory);
		w->capacity = w->memory ? need : 0;
	}
	w->status = LS_OK;
	w->found.flags.count = 0;
	lay_out(w, job);
	return w->memory && w->pack;
}

static ls_status reserve(ls_pinned *s, const struct job *job, int workers, ls_error *err)
{
	if (!s->worker)
		s->worker = ls_alloc((size_t)workers, sizeof *s->worker);
	s->workers = s->worker ? workers : 0;
	for (int i = 0; i < workers; i++)
		if (!s->worker || !reserve_worker(&s->worker[i], job))
			return ls_error_set(err, LS_ERR_NOMEM, "out of memory for products in mode pinned");
	return LS_OK;
}

static ls_status gather(const ls_pinned *s, ls_flag_list *flags, ls_error *err)
{
	ls_finish_space *spaces[LS_POOL_THREADS_MAX];
	ls_status status = LS_OK;
	for (int i = 0; i < s->workers; i++) {
		spaces[i] = &s->worker[i].found;
		if (s->worker[i].status != LS_OK)
			status = s->worker[i].status;
	}
	if (status == LS_OK)
		status = ls_kernel__gather_flags(flags, spaces, s->workers);
	if (status != LS_OK)
		ls_error_set(err, status, "out of memory for the elements whose sums are not finite");
	return status;
}

ls_status ls_kernel__pinned_run(ls_pinned *s, const ls_kernel_table *table, const ls_product_call *call, const ls_source *a,
                                const ls_source *b, const ls_kept *kept, ls_pool *pool, ls_error *err)
{
	int workers = ls_pool_threads(pool);
	ls_tile_wish wish = {workers, table->pinned.mr, table->pinned.nr, TILE_ROWS, TILE_COLUMNS, TILE_ELEMENTS};
	struct job job = {.space = s, .table = table, .call = call, .kept = kept, .sample_i = -1, .sample_j = -1,
	                  .a = *a, .b = *b, .tiles = ls_kernel__tiles(call->product, &wish)};
	ls_status status = reserve(s, &job, workers, err);
	if (status != LS_OK)
		return status;
	if (call->sample >= 0)
		ls_product_locate(call->product, call->sample, &job.sample_i, &job.sample_j);
	ls_pool_run(pool, job.tiles.down * job.tiles.across, run_tile, &job);
	return gather(s, call->flags, err);
}

void ls_kernel__pinned_free(ls_pinned *s)
{
	for (int i = 0; s->worker && i < s->workers; i++) {
		ls_free(s->worker[i].memory);
		ls_free(s->worker[i].pack);
		ls_flag_list_free(&s->worker[i].found.flags);
	}
	ls_free(s->worker);
	*s = (ls_pinned){0};
}
