#include "kernel/gemm.h"

#include "kernel/winograd.h"

enum {
	TILE_ROWS = 224,      // a block of 224 × 256 FP64 is half an L2 cache of 1 MiB
	TILE_COLUMNS = 1024,
	TILE_ELEMENTS = 131072 // the tile itself: 1 MiB
};

struct worker {
	double *memory; // everything below is cut from it
	size_t capacity;
	double *a, *b, *c, *total, *spare;
	ls_findings rows, columns; // of the tile; NULL where nobody asks
	ls_pack *pack;             // of a, and of b
	ls_finish_space finish;
	ls_status status;
};

struct ls_gemm {
	const ls_kernel_table *table;
	const ls_engine *engine;
	ls_pool *pool;
	int workers;
	struct worker *worker;
	ls_spread spread;
	ls_pinned pinned;
	ls_image image_a, image_b;
	ls_winograd winograd;
};

// One product in progress.
struct job {
	ls_gemm *gemm;
	const ls_product_call *call;
	ls_source a, b;
	ls_tiles tiles;
};

// ---- the native engine ----

static void multiply_native(const ls_engine *engine, const ls_kernel_table *table, const ls_block *k)
{
	for (int64_t q = 0; q < k->columns->panels; q++) {
		int64_t column = ls_kernel__panel_row(k->columns, q);
		int n = ls_kernel__panel_lanes(k->columns, q);
		for (int64_t p = 0; p < k->rows->panels; p++) {
			int64_t row = ls_kernel__panel_row(k->rows, p);
			table->tile(ls_kernel__panel_lanes(k->rows, p), n, k->k, k->a + row * k->k, k->b + column * k->k,
			            k->c + row * k->ldc + column, k->ldc, k->add);
		}
	}
}

// Packed FP32 numbers became FP64 without loss; this takes them back, in place.
static float *narrow(double *x, int64_t count)
{
	float *out = (float *)x;
	for (int64_t i = 0; i < count; i++) {
		float v = (float)x[i];
		memcpy(out + i, &v, sizeof v); // always behind what is still to be read
	}
	return out;
}

void ls_kernel__narrow_block(const ls_block *k, const float **a, const float **b)
{
	*a = narrow(k->a, ls_kernel__layout_lanes(k->rows) * k->k);
	*b = narrow(k->b, ls_kernel__layout_lanes(k->columns) * k->k);
}

// The tile of one pair of panels, chunk by chunk.
static void multiply_chunks(const ls_kernel_table *table, const ls_block *k, const float *a, const float *b, int m, int n,
                            double *c)
{
	for (int64_t at = 0; at < k->k; at += LS_CHUNK_TERMS) {
		int terms = (int)(k->k - at < LS_CHUNK_TERMS ? k->k - at : LS_CHUNK_TERMS);
		table->chunk(m, n, terms, a + at * m, b + at * n, c, k->ldc, k->add || at);
	}
}

static void multiply32_native(const ls_engine *engine, const ls_kernel_table *table, const ls_block *k)
{
	const float *a, *b;
	ls_kernel__narrow_block(k, &a, &b);
	for (int64_t q = 0; q < k->columns->panels; q++) {
		int64_t column = ls_kernel__panel_row(k->columns, q);
		int n = ls_kernel__panel_lanes(k->columns, q);
		for (int64_t p = 0; p < k->rows->panels; p++) {
			int64_t row = ls_kernel__panel_row(k->rows, p);
			multiply_chunks(table, k, a + row * k->k, b + column * k->k, ls_kernel__panel_lanes(k->rows, p), n,
			                k->c + row * k->ldc + column);
		}
	}
}

const ls_engine ls_kernel__native_engine = {.block = 256, .group = 64, .multiply = multiply_native, .multiply32 = multiply32_native};

int64_t ls_kernel__engine_depth(const ls_engine *e, int64_t terms, bool bias)
{
	int64_t blocks = (terms + e->block - 1) / e->block, groups = (blocks + e->group - 1) / e->group;
	int64_t full = blocks > 1 ? e->block : terms, rest = terms - (blocks - 1) * e->block;
	int64_t first = full - 1 + (blocks < e->group ? blocks : e->group) - 1 + groups - 1;
	int64_t last = rest - 1 + bias + (blocks > 1) + (groups > 1);
	return first > last ? first : last;
}

// ---- one tile ----

static ls_layout row_layout(const ls_gemm *g, int64_t rows)
{
	return ls_kernel__layout(rows, g->table->mr, 1, true, g->engine->joined);
}

static ls_layout column_layout(const ls_gemm *g, int64_t columns)
{
	return ls_kernel__layout(columns, g->table->nr, g->table->lanes, false, g->engine->joined);
}

static void add_tile(double *to, const double *from, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		to[i] += from[i];
}

// Where a tile lies, and its terms k0 … k0+k−1.
struct piece {
	int64_t i0, j0, k0, k;
	const ls_layout *rows, *columns;
};

/* Adds a block of terms to a tile. A panel of columns meets every row once and is then done with: it is packed when its turn
 * comes, and never leaves the first caches. */
static void add_by_panels(const struct job *job, struct worker *w, const struct piece *p, const ls_block *block)
{
	const ls_gemm *g = job->gemm;
	ls_block part = *block;
	ls_layout one = *p->columns;
	part.columns = &one;
	one.panels = 1;
	for (int64_t q = 0; q < p->columns->panels; q++) {
		int64_t column = ls_kernel__panel_row(p->columns, q);
		one.rows = ls_kernel__panel_row(p->columns, q + 1) - column;
		ls_kernel__pack_panel(&w->pack[1], p->j0, p->columns, q, w->b, &w->columns);
		part.c = block->c + column;
		g->engine->multiply(g->engine, g->table, &part);
	}
}

static void add_block(const struct job *job, struct worker *w, const struct piece *p, double *c, int64_t ldc, bool add)
{
	const ls_gemm *g = job->gemm;
	const ls_engine *e = g->engine;
	ls_block block = {.rows = p->rows, .columns = p->columns, .a = w->a, .b = w->b, .c = c, .ldc = ldc, .spare = w->spare, .add = add};
	ls_kernel__pack_begin(&w->pack[0], &g->table->wide, &job->a, p->k0, p->k);
	ls_kernel__pack_begin(&w->pack[1], &g->table->wide, &job->b, p->k0, p->k);
	block.k = w->pack[0].all;
	ls_kernel__pack_rows(&w->pack[0], p->i0, p->rows, w->a, &w->rows);
	if (!e->joined && !job->call->fp32) {
		add_by_panels(job, w, p, &block);
		return;
	}
	ls_kernel__pack_rows(&w->pack[1], p->j0, p->columns, w->b, &w->columns);
	(job->call->fp32 ? e->multiply32 : e->multiply)(e, g->table, &block);
}

// Sums of the tile over all terms, in w->c.
static void sum_tile(const struct job *job, struct worker *w, struct piece p, int64_t ldc)
{
	const ls_engine *e = job->gemm->engine;
	int64_t terms = job->call->product->terms, number = 0;
	double *c = w->c;
	for (; p.k0 < terms; p.k0 += e->block, number++) {
		p.k = terms - p.k0 < e->block ? terms - p.k0 : e->block;
		if (number == e->group)
			c = w->total; // the first group's sum stays in w->c until the second is complete
		add_block(job, w, &p, c, ldc, number % e->group != 0);
		if (c != w->c && (number % e->group == e->group - 1 || p.k0 + p.k == terms))
			add_tile(w->c, w->total, p.rows->rows * ldc);
	}
}

static void run_tile(void *context, int64_t index, int worker)
{
	struct job *job = context;
	struct worker *w = &job->gemm->worker[worker];
	const ls_product *p = job->call->product;
	int64_t i0 = index / job->tiles.across * job->tiles.rows, j0 = index % job->tiles.across * job->tiles.columns;
	int64_t m = p->rows - i0 < job->tiles.rows ? p->rows - i0 : job->tiles.rows;
	int64_t n = p->columns - j0 < job->tiles.columns ? p->columns - j0 : job->tiles.columns;
	ls_layout rows = row_layout(job->gemm, m), columns = column_layout(job->gemm, n);
	ls_sums sums = {.i0 = i0, .j0 = j0, .m = m, .n = n, .ldc = ls_kernel__layout_lanes(&columns),
	                .rows = &w->rows, .columns = &w->columns};
	if (w->status != LS_OK)
		return;
	if (job->call->test) {
		memset(w->rows.squares, 0, (size_t)m * sizeof(double));
		memset(w->columns.squares, 0, (size_t)n * sizeof(double));
	}
	sum_tile(job, w, (struct piece){.i0 = i0, .j0 = j0, .rows = &rows, .columns = &columns}, sums.ldc);
	sums.c = w->c;
	w->status = ls_kernel__finish(job->gemm->table, job->call, &sums, &w->finish);
}

// ---- memory ----

// Takes `count` doubles, rounded up to whole cache lines, from the worker's memory. Without memory it only counts.
static double *cut(struct worker *w, size_t *used, int64_t count)
{
	double *at = w->memory ? w->memory + *used : NULL;
	*used += ((size_t)count + 7) / 8 * 8;
	return at;
}

static bool looks_at_supports(const ls_product_call *call)
{
	return call->test && call->product->bias == LS_BIAS_NONE && call->product->terms <= LS_SUPPORT_TERMS_MAX;
}

static ls_findings cut_findings(struct worker *w, size_t *used, const ls_product_call *call, int64_t rows)
{
	ls_findings f = {.words = ls_kernel__divide_up(call->product->terms, 64), .stride = rows + LS_PANEL_LANES};
	f.squares = call->test ? cut(w, used, rows + LS_PANEL_LANES) : NULL;
	f.support = looks_at_supports(call) ? (uint64_t *)cut(w, used, (rows + LS_PANEL_LANES) * f.words) : NULL;
	return f;
}

static size_t lay_out(struct worker *w, const struct job *job)
{
	const ls_engine *e = job->gemm->engine;
	int64_t m = job->tiles.rows, n = job->tiles.columns + LS_PANEL_LANES, k = e->block + 1;
	size_t used = 0;
	w->a = cut(w, &used, m * k);
	w->b = cut(w, &used, n * k);
	w->c = cut(w, &used, m * n);
	w->total = ls_kernel__divide_up(job->call->product->terms, e->block) > e->group ? cut(w, &used, m * n) : NULL;
	w->spare = e->spare ? cut(w, &used, m * n) : NULL;
	w->rows = cut_findings(w, &used, job->call, m);
	w->columns = cut_findings(w, &used, job->call, n);
	w->finish.row = cut(w, &used, m);
	w->finish.row_bias = cut(w, &used, m);
	w->finish.column = cut(w, &used, n);
	w->finish.column_bias = cut(w, &used, n);
	w->finish.value = (float *)cut(w, &used, (n + 1) / 2);
	w->finish.hit = (uint32_t *)cut(w, &used, (n + 1) / 2);
	return used;
}

static ls_status reserve_worker(struct worker *w, const struct job *job, ls_error *err)
{
	struct worker counted = {0};
	size_t need = lay_out(&counted, job);
	if (need > w->capacity) {
		ls_free(w->memory);
		w->capacity = 0;
		w->memory = ls_alloc(need, sizeof(double));
		if (!w->memory)
			return ls_error_set(err, LS_ERR_NOMEM, "out of memory for a tile of %lld x %lld", (long long)job->tiles.rows,
			                    (long long)job->tiles.columns);
		w->capacity = need;
	}
	lay_out(w, job);
	w->status = LS_OK;
	w->finish.flags.count = w->finish.flags.certified = 0;
	return LS_OK;
}

// ---- life ----

ls_status ls_kernel__gemm_open(ls_gemm **out, const ls_kernel_table *table, const ls_engine *engine, ls_pool *pool,
                               ls_error *err)
{
	ls_gemm *g = *out = ls_alloc(1, sizeof *g);
	if (!g)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	g->table = table;
	g->engine = engine;
	g->pool = pool;
	g->workers = ls_pool_threads(pool);
	g->worker = ls_alloc((size_t)g->workers, sizeof *g->worker);
	for (int i = 0; g->worker && i < g->workers; i++)
		if (!(g->worker[i].pack = ls_alloc(2, sizeof *g->worker[i].pack)))
			break;
	if (!g->worker || !g->worker[g->workers - 1].pack) {
		ls_kernel__gemm_free(g);
		*out = NULL;
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	}
	return LS_OK;
}

void ls_kernel__gemm_free(ls_gemm *g)
{
	if (!g)
		return;
	for (int i = 0; g->worker && i < g->workers; i++) {
		ls_free(g->worker[i].memory);
		ls_free(g->worker[i].pack);
		ls_kernel__finish_free(&g->worker[i].finish);
	}
	ls_free(g->worker);
	ls_kernel__spread_free(&g->spread);
	ls_kernel__pinned_free(&g->pinned);
	ls_kernel__image_free(&g->image_a);
	ls_kernel__image_free(&g->image_b);
	ls_kernel__winograd_free(&g->winograd);
	ls_free(g);
}

static ls_status gather(ls_gemm *g, const ls_product_call *call)
{
	ls_finish_space *spaces[LS_POOL_THREADS_MAX];
	ls_status status = LS_OK;
	for (int i = 0; i < g->workers; i++) {
		spaces[i] = &g->worker[i].finish;
		if (g->worker[i].status != LS_OK)
			status = g->worker[i].status;
	}
	if (status == LS_OK && call->test)
		status = ls_kernel__gather_flags(call->flags, spaces, g->workers);
	return status;
}

// A product's operands in another form, and what describes them.
struct operands {
	ls_operand a, b;
	ls_source from_a, from_b;
};

// Taps of a kernel of one pixel at every position are rows of a plane each.
static ls_operand simplest(const ls_operand *o)
{
	const ls_patches *p = &o->patches;
	int64_t plane = p->height * p->width;
	if (o->kind != LS_OPERAND_PATCHES_T || p->kernel_height != 1 || p->kernel_width != 1 || p->step != 1 || p->divisor != 1 ||
	    p->offset != 0 || p->skew != 0 || p->out_height != p->height || p->out_width != p->width)
		return *o;
	return (ls_operand){.kind = LS_OPERAND_STRIDED, .input = o->input, .row_stride = plane, .inner = plane,
	                    .outer_stride = p->channels * plane, .inner_stride = 1};
}

/* The operands as they are packed: in their simplest form, and patches inside their images. */
static ls_status prepare(ls_gemm *g, const ls_product_call *call, struct operands *o, ls_error *err)
{
	const ls_product *p = call->product;
	bool extra = p->bias != LS_BIAS_NONE;
	ls_status status;
	o->a = simplest(&p->a);
	o->b = simplest(&p->b);
	o->from_a = (ls_source){&o->a, call->a, p->terms, extra, p->bias == LS_BIAS_ROW ? call->bias : NULL};
	o->from_b = (ls_source){&o->b, call->b, p->terms, extra, p->bias == LS_BIAS_COLUMN ? call->bias : NULL};
	LS_TRY(ls_kernel__image_surround(&g->image_a, &o->a, &o->from_a.x, o->a.kind == LS_OPERAND_PATCHES ? p->rows : p->terms, g->pool, err));
	LS_TRY(ls_kernel__image_surround(&g->image_b, &o->b, &o->from_b.x, o->b.kind == LS_OPERAND_PATCHES ? p->columns : p->terms, g->pool, err));
done:
	return status;
}

static ls_status run_pinned(ls_gemm *g, const ls_product_call *call, const ls_kept *kept, ls_error *err)
{
	struct operands o;
	ls_status status = prepare(g, call, &o, err);
	if (status == LS_OK)
		status = ls_kernel__pinned_run(&g->pinned, g->table, call, &o.from_a, &o.from_b, kept, g->pool, err);
	return status;
}

static ls_status run_part(void *context, const ls_product_call *part, const ls_kept *kept, ls_error *err)
{
	return part->pinned ? run_pinned(context, part, kept, err) : ls_kernel__gemm_run(context, part, err);
}

ls_status ls_kernel__gemm_run(ls_gemm *g, const ls_product_call *call, ls_error *err)
{
	const ls_product *p = call->product;
	struct job job = {.gemm = g, .call = call};
	struct operands o;
	ls_status status = LS_OK;
	LS_TRY(ls_kernel__check_call(call, ls_kernel__engine_depth(g->engine, p->terms, p->bias != LS_BIAS_NONE), err));
	if (ls_kernel__is_spread(p))
		return ls_kernel__spread_run(&g->spread, call, g->pool, run_part, g, err);
	if (call->pinned)
		return run_pinned(g, call, NULL, err);
	if (!g->engine->joined && ls_kernel__winograd_takes(call))
		return ls_kernel__winograd_run(&g->winograd, g->table, call, g->pool, err);
	LS_TRY(prepare(g, call, &o, err));
	job.a = o.from_a;
	job.b = o.from_b;
	job.tiles = ls_kernel__tiles(p, &(ls_tile_wish){g->workers, g->table->mr, g->table->nr, TILE_ROWS, TILE_COLUMNS, TILE_ELEMENTS});
	for (int i = 0; i < g->workers; i++)
		LS_TRY(reserve_worker(&g->worker[i], &job, err));
	ls_pool_run(g->pool, job.tiles.down * job.tiles.across, run_tile, &job);
	status = gather(g, call);
	if (status != LS_OK)
		ls_error_set(err, status, "out of memory for the elements whose rounding is not settled");
done:
	return status;
}
