#include "kernel/winograd.h"

#include "kernel/finish.h"
#include "kernel/pack.h"
#include "kernel/tiles.h"

enum {
	TAPS = 9,
	PLACES = 16,   // of a tile of an image
	POINTS = 16,
	BLOCK = 64,    // terms that are summed before the sum moves to the tile
	CHUNK = 32,    // channels that are packed at a time: LS_BLOCK_TERMS places
	ROWS = 224,    // of a tile of the product, whose 16 points share the second and third cache with a block of operands
	COLUMNS = 128,
	GROUP = 28,    // rows that are finished at a time
	WIDEST = 256,  // image
	CHANNELS_MIN = 16,
	GRADIENT_TERMS_MIN = 257 // sums of fewer terms are often empty (finish.h), which only the direct way finds out for nothing
};

// What becomes one factor at every point.
struct side {
	ls_operand operand[PLACES];
	ls_source source[PLACES];
	int sources; // one whose terms are channels with all their places; or one for each place
	int places;
	bool backwards; // places from the last one on
	ls_filter filter;
};

// One product in progress.
struct job {
	const ls_kernel_table *table;
	ls_product_call call; // with the bound of this computation
	struct ls_winograd_worker *worker;
	struct side rows, columns;
	bool gradient; // of the kernel
	int64_t terms; // of a point: channels, or for gradients all images' tiles
	int64_t lines, line; // columns of a point come in lines that are not cut: a row of an image's tiles, or a channel
	int64_t tile_rows, tile_lines, across; // of a tile of the product; how many lie side by side
};

struct ls_winograd_worker {
	double *memory; // everything below is cut from it
	size_t capacity;
	double *a, *b, *stage; // a block of rows at all points; a panel of columns; places before they are transformed
	double *c;             // sums at all points
	double *planes, *out;  // of a row, of a group of rows
	ls_findings rows, columns, elements; // squares only
	ls_pack pack_rows[PLACES], pack_columns[PLACES];
	ls_finish_space finish;
	int64_t packed; // rows from here on are in `a` with all their terms; or −1
	ls_status status;
};

// ---- what is taken ----

static bool is_kernel(const ls_patches *p)
{
	return p->kernel_height == 3 && p->kernel_width == 3 && p->step == 1 && p->divisor == 1 && (p->tap == 1 || p->tap == -1) &&
	       p->out_width <= WIDEST;
}

// A channel's taps lie side by side in the weights.
static bool is_convolution(const ls_product *p)
{
	const ls_patches *image = &p->b.patches;
	return p->b.kind == LS_OPERAND_PATCHES && is_kernel(image) && p->a.inner_stride == 1 && p->a.inner % TAPS == 0 &&
	       p->bias != LS_BIAS_COLUMN && p->rows >= CHANNELS_MIN && p->terms / TAPS >= CHANNELS_MIN;
}

// The output's gradient is one tensor of images.
static bool is_gradient(const ls_product *p)
{
	const ls_patches *image = &p->b.patches;
	int64_t plane = image->out_height * image->out_width;
	return p->b.kind == LS_OPERAND_PATCHES_T && is_kernel(image) && image->tap == 1 && p->bias == LS_BIAS_NONE &&
	       p->a.inner_stride == 1 && p->a.inner == plane && p->a.row_stride == plane && p->a.outer_stride == p->rows * plane &&
	       p->terms >= GRADIENT_TERMS_MIN && p->rows >= CHANNELS_MIN && image->channels >= CHANNELS_MIN;
}

bool ls_kernel__winograd_takes(const ls_product_call *call)
{
	const ls_product *p = call->product;
	return call->any_sum && call->test && !call->fp32 && !call->kept && call->bound.kind == LS_BOUND_FP64 &&
	       p->a.kind == LS_OPERAND_STRIDED && !p->a.slicing.rows && p->a.mask == LS_MASK_NONE && (is_convolution(p) || is_gradient(p));
}

static int64_t half(int64_t extent)
{
	return ls_kernel__divide_up(extent, 2);
}

static int64_t images_of(const ls_product *p)
{
	const ls_patches *image = &p->b.patches;
	return (p->b.kind == LS_OPERAND_PATCHES ? p->columns : p->terms) / (image->out_height * image->out_width);
}

static int64_t terms_of(const ls_product *p)
{
	if (p->b.kind == LS_OPERAND_PATCHES)
		return p->terms / TAPS;
	return images_of(p) * half(p->b.patches.out_height) * half(p->b.patches.out_width);
}

int64_t ls_kernel__winograd_depth(const ls_product *p)
{
	int64_t terms = terms_of(p), tree = (terms < BLOCK ? terms : BLOCK) - 1 + ls_kernel__divide_up(terms, BLOCK) - 1;
	return p->b.kind == LS_OPERAND_PATCHES ? 12 * (tree + 12) : 27 * (tree + 10);
}

// ---- operands ----

// A kernel that is read backwards from a place is read forwards from the place of its last tap.
static ls_patches image_tiles(const ls_patches *image)
{
	ls_patches t = *image;
	t.offset += image->tap < 0 ? -2 : 0;
	t.tap = 1;
	t.step = 2;
	t.kernel_height = t.kernel_width = 4;
	t.out_height = half(image->out_height);
	t.out_width = half(image->out_width);
	return t;
}

static ls_patches output_tiles(const ls_product *p)
{
	const ls_patches *image = &p->b.patches;
	return (ls_patches){.channels = p->rows, .height = image->out_height, .width = image->out_width, .kernel_height = 2, .kernel_width = 2,
	                    .out_height = half(image->out_height), .out_width = half(image->out_width), .step = 2, .tap = 1, .divisor = 1};
}

// For each place an operand of what all tiles have there.
static void split_places(struct side *s, const ls_operand *tiles, const float *x, int64_t terms)
{
	int64_t width = tiles->patches.kernel_width;
	s->sources = s->places;
	for (int i = 0; i < s->places; i++) {
		ls_patches *p = &s->operand[i].patches;
		s->operand[i] = *tiles;
		s->operand[i].kind = LS_OPERAND_PATCHES_T;
		p->kernel_height = p->kernel_width = 1;
		p->offset += i / width;
		p->skew += i % width - i / width;
		s->source[i] = (ls_source){.operand = &s->operand[i], .x = x, .terms = terms};
	}
}

static ls_status open_gradient(struct job *job, ls_winograd *space, ls_pool *pool, ls_error *err)
{
	const ls_product *p = job->call.product;
	ls_operand output = {.kind = LS_OPERAND_PATCHES, .patches = output_tiles(p)};
	ls_operand image = {.kind = LS_OPERAND_PATCHES, .patches = image_tiles(&p->b.patches)};
	const float *z = job->call.a, *x = job->call.b;
	ls_status status;
	LS_TRY(ls_kernel__image_surround(&space->rows, &output, &z, job->terms, pool, err));
	LS_TRY(ls_kernel__image_surround(&space->columns, &image, &x, job->terms, pool, err));
	job->rows = (struct side){.places = 4, .filter = LS_FILTER_OUTPUT};
	job->columns = (struct side){.places = PLACES, .filter = LS_FILTER_IMAGE};
	split_places(&job->rows, &output, z, job->terms);
	split_places(&job->columns, &image, x, job->terms);
	job->lines = image.patches.channels;
	job->line = 1;
done:
	return status;
}

static ls_status open_convolution(struct job *job, ls_winograd *space, ls_pool *pool, ls_error *err)
{
	const ls_product *p = job->call.product;
	ls_operand *image = &job->columns.operand[0], *kernel = &job->rows.operand[0];
	const float *x = job->call.b;
	ls_status status;
	job->rows = (struct side){.sources = 1, .places = TAPS, .backwards = p->b.patches.tap < 0, .filter = LS_FILTER_KERNEL};
	job->columns = (struct side){.sources = 1, .places = PLACES, .filter = LS_FILTER_IMAGE};
	*kernel = p->a;
	*image = (ls_operand){.kind = LS_OPERAND_PATCHES, .patches = image_tiles(&p->b.patches)};
	job->lines = images_of(p) * image->patches.out_height;
	job->line = image->patches.out_width;
	LS_TRY(ls_kernel__image_surround(&space->columns, image, &x, job->lines * job->line, pool, err));
	job->rows.source[0] = (ls_source){.operand = kernel, .x = job->call.a, .terms = p->terms};
	job->columns.source[0] = (ls_source){.operand = image, .x = x, .terms = job->terms * PLACES};
done:
	return status;
}

// ---- one block of terms ----

// Terms k0 … k0+k−1 of a tile of the product: its rows, and columns at a point.
struct block {
	int64_t k0, k;
	int64_t i0, j0;
	ls_layout rows, columns;
};

static void begin(const struct job *job, const struct side *s, ls_pack *pack, const struct block *b)
{
	for (int i = 0; s->sources > 1 && i < s->sources; i++)
		ls_kernel__pack_begin(&pack[i], &job->table->wide, &s->source[i], b->k0, b->k);
	for (int64_t k = 0; s->sources == 1 && k < b->k; k += CHUNK) {
		int64_t channels = b->k - k < CHUNK ? b->k - k : CHUNK;
		ls_kernel__pack_begin(pack++, &job->table->wide, &s->source[0], (b->k0 + k) * s->places, channels * s->places);
	}
}

// A panel of rows or columns on its way to all points: its number (k, lane) comes to to[point·distance + k·lanes + lane].
struct panel {
	const struct side *side;
	const ls_layout *layout;
	ls_pack *pack;
	int64_t row0, number, k;
	double *stage, *to;
	int64_t distance;
	const ls_findings *findings;
};

// The stage has the places of a channel one below the other, and channels behind each other.
static void fill_by_channels(const ls_filter_kernel *filter, const struct panel *p)
{
	const struct side *s = p->side;
	int64_t lanes = ls_kernel__panel_lanes(p->layout, p->number), last = (s->places - 1) * lanes;
	ls_filter_run run = {.in = p->stage + (s->backwards ? last : 0), .in_place = s->backwards ? -lanes : lanes, .in_step = s->places * lanes,
	                     .out = p->to, .out_place = p->distance, .out_step = lanes, .lanes = lanes};
	for (int64_t k = 0; k < p->k; k += CHUNK, run.out += CHUNK * lanes) {
		ls_kernel__pack_panel(&p->pack[k / CHUNK], p->row0, p->layout, p->number, p->stage, p->findings);
		run.count = p->k - k < CHUNK ? p->k - k : CHUNK;
		filter[s->filter](&run);
	}
}

// The stage has all tiles of a place, and places behind each other.
static void fill_by_places(const ls_filter_kernel *filter, const struct panel *p)
{
	const struct side *s = p->side;
	int64_t numbers = p->k * ls_kernel__panel_lanes(p->layout, p->number);
	ls_filter_run run = {.in = p->stage, .in_place = numbers, .out = p->to, .out_place = p->distance, .count = 1, .lanes = numbers};
	for (int i = 0; i < s->places; i++)
		ls_kernel__pack_panel(&p->pack[i], p->row0, p->layout, p->number, p->stage + i * numbers, p->findings);
	filter[s->filter](&run);
}

static void fill(const struct job *job, const struct panel *p)
{
	if (p->side->sources == 1)
		fill_by_channels(job->table->filter, p);
	else
		fill_by_places(job->table->filter, p);
}

static void fill_rows(const struct job *job, struct ls_winograd_worker *w, const struct block *b)
{
	struct panel p = {.side = &job->rows, .layout = &b->rows, .pack = w->pack_rows, .row0 = b->i0, .k = b->k, .stage = w->stage,
	                  .distance = b->rows.rows * b->k, .findings = &w->rows};
	begin(job, &job->rows, w->pack_rows, b);
	for (; p.number < b->rows.panels; p.number++) {
		p.to = w->a + ls_kernel__panel_row(&b->rows, p.number) * b->k;
		fill(job, &p);
	}
}

// All rows by one panel of columns, at every point.
static void multiply(const struct job *job, struct ls_winograd_worker *w, const struct block *b, int64_t panel, int64_t ldc)
{
	int n = ls_kernel__panel_lanes(&b->columns, panel);
	for (int64_t point = 0; point < POINTS; point++) {
		const double *a = w->a + point * b->rows.rows * b->k, *x = w->b + point * b->k * n;
		double *c = w->c + point * b->rows.rows * ldc + ls_kernel__panel_row(&b->columns, panel);
		for (int64_t i = 0; i < b->rows.panels; i++) {
			int64_t row = ls_kernel__panel_row(&b->rows, i);
			job->table->tile(ls_kernel__panel_lanes(&b->rows, i), n, b->k, a + row * b->k, x, c + row * ldc, ldc, b->k0 > 0);
		}
	}
}

static void add_block(const struct job *job, struct ls_winograd_worker *w, const struct block *b, int64_t ldc)
{
	struct panel p = {.side = &job->columns, .layout = &b->columns, .pack = w->pack_columns, .row0 = b->j0, .k = b->k, .stage = w->stage,
	                  .to = w->b, .findings = &w->columns};
	begin(job, &job->columns, w->pack_columns, b);
	for (; p.number < b->columns.panels; p.number++) {
		p.distance = b->k * ls_kernel__panel_lanes(&b->columns, p.number);
		fill(job, &p);
		multiply(job, w, b, p.number, ldc);
	}
}

// Sums of the tile at every point, in w->c. Rows that one block holds stay packed for the tiles beside this one.
static void sum_tile(const struct job *job, struct ls_winograd_worker *w, struct block *b, int64_t ldc)
{
	bool there = job->terms <= BLOCK && w->packed == b->i0;
	memset(w->columns.squares, 0, (size_t)b->columns.rows * sizeof(double));
	if (!there)
		memset(w->rows.squares, 0, (size_t)b->rows.rows * sizeof(double));
	for (; b->k0 < job->terms; b->k0 += BLOCK) {
		b->k = job->terms - b->k0 < BLOCK ? job->terms - b->k0 : BLOCK;
		if (!there)
			fill_rows(job, w, b);
		add_block(job, w, b, ldc);
	}
	w->packed = b->i0;
}

// ---- from points to elements ----

// The first column of the product that is made of this line.
static int64_t first_element(const struct job *job, int64_t line)
{
	const ls_patches *image = &job->call.product->b.patches;
	int64_t lines = half(image->out_height);
	if (job->gradient)
		return line * TAPS;
	return (line / lines * image->out_height + line % lines * 2) * image->out_width;
}

/* Elements of a row, or of whatever they have in common, in their order: of tile or channel t, element e lies at
 * planes[e·distance + t]. */
struct elements {
	const double *planes;
	int64_t distance;
	double bias;
	double *to;
};

static void put_taps(const struct elements *e, int64_t channels)
{
	for (int tap = 0; tap < TAPS; tap++)
		for (int64_t c = 0; c < channels; c++)
			e->to[c * TAPS + tap] = e->planes[tap * e->distance + c];
}

// A line of tiles is two lines of the image, or one at its end; a tile at the end of a line may be half a one.
static void put_lines(const struct job *job, const struct elements *e, int64_t line, int64_t lines)
{
	const ls_patches *image = &job->call.product->b.patches;
	int64_t down = half(image->out_height), width = image->out_width, pairs = width / 2, first = first_element(job, line);
	for (int64_t l = 0; l < lines; l++)
		for (int64_t y = 0; y < 2 && (line + l) % down * 2 + y < image->out_height; y++) {
			const double *left = e->planes + 2 * y * e->distance + l * job->line, *right = left + e->distance;
			double *to = e->to + first_element(job, line + l) - first + y * width;
			for (int64_t x = 0; x < pairs; x++) {
				to[2 * x] = left[x] + e->bias;
				to[2 * x + 1] = right[x] + e->bias;
			}
			if (width % 2)
				to[width - 1] = left[pairs] + e->bias;
		}
}

static void put(const struct job *job, const struct elements *e, int64_t line, int64_t lines)
{
	if (job->gradient)
		put_taps(e, lines);
	else
		put_lines(job, e, line, lines);
}

// Rows i0 … of a tile whose columns are all elements of `lines` lines from `line` on.
static void make_rows(const struct job *job, struct ls_winograd_worker *w, const struct block *b, const ls_sums *sums, int64_t line, int64_t lines)
{
	int64_t ldc = ls_kernel__layout_lanes(&b->columns), first = sums->i0 - b->i0;
	const ls_filter_kernel *filter = job->table->filter;
	bool biased = job->call.product->bias == LS_BIAS_ROW;
	for (int64_t i = 0; i < sums->m; i++) {
		ls_filter_run run = {.in = w->c + (first + i) * ldc, .in_place = b->rows.rows * ldc, .out = w->planes, .out_place = ldc, .count = 1, .lanes = ldc};
		struct elements e = {w->planes, ldc, biased ? job->call.bias[sums->i0 + i] : 0, w->out + i * sums->ldc};
		filter[job->gradient ? LS_FILTER_TO_KERNEL : LS_FILTER_TO_OUTPUT](&run);
		put(job, &e, line, lines);
	}
}

static ls_status finish_tile(const struct job *job, struct ls_winograd_worker *w, const struct block *b, int64_t line, int64_t lines)
{
	int64_t j0 = first_element(job, line), n = first_element(job, line + lines) - j0;
	ls_status status = LS_OK;
	put(job, &(struct elements){.planes = w->columns.squares, .to = w->elements.squares}, line, lines);
	for (int64_t i = 0; i < b->rows.rows && status == LS_OK; i += GROUP) {
		ls_findings rows = {.squares = w->rows.squares + i};
		ls_sums sums = {.i0 = b->i0 + i, .j0 = j0, .m = b->rows.rows - i < GROUP ? b->rows.rows - i : GROUP, .n = n, .c = w->out, .ldc = n,
		                .rows = &rows, .columns = &w->elements};
		make_rows(job, w, b, &sums, line, lines);
		status = ls_kernel__finish(job->table, &job->call, &sums, &w->finish);
	}
	return status;
}

static void run_tile(void *context, int64_t index, int worker)
{
	struct job *job = context;
	struct ls_winograd_worker *w = &job->worker[worker];
	int64_t line = index % job->across * job->tile_lines;
	int64_t lines = job->lines - line < job->tile_lines ? job->lines - line : job->tile_lines;
	struct block b = {.i0 = index / job->across * job->tile_rows, .j0 = line * job->line};
	int64_t m = job->call.product->rows - b.i0 < job->tile_rows ? job->call.product->rows - b.i0 : job->tile_rows;
	if (w->status != LS_OK)
		return;
	b.rows = ls_kernel__layout(m, job->table->mr, 1, true, false);
	b.columns = ls_kernel__layout(lines * job->line, job->table->nr, job->table->lanes, false, false);
	sum_tile(job, w, &b, ls_kernel__layout_lanes(&b.columns));
	w->status = finish_tile(job, w, &b, line, lines);
}

// ---- memory ----

// Takes `count` doubles, rounded up to whole cache lines, from the worker's memory. Without memory it only counts.
static double *cut(struct ls_winograd_worker *w, size_t *used, int64_t count)
{
	double *at = w->memory ? w->memory + *used : NULL;
	*used += ((size_t)count + 7) / 8 * 8;
	return at;
}

static size_t lay_out(struct ls_winograd_worker *w, const struct job *job)
{
	int64_t m = job->tile_rows, n = job->tile_lines * job->line + LS_PANEL_LANES, elements = n * (job->gradient ? TAPS : 4);
	size_t used = 0;
	w->a = cut(w, &used, POINTS * BLOCK * m);
	w->b = cut(w, &used, POINTS * BLOCK * LS_PANEL_LANES);
	w->stage = cut(w, &used, PLACES * BLOCK * LS_PANEL_LANES);
	w->c = cut(w, &used, POINTS * m * n);
	w->planes = cut(w, &used, TAPS * n);
	w->out = cut(w, &used, GROUP * elements);
	w->rows.squares = cut(w, &used, m + LS_PANEL_LANES);
	w->columns.squares = cut(w, &used, n);
	w->elements.squares = cut(w, &used, elements);
	w->finish.row = cut(w, &used, GROUP);
	w->finish.row_bias = cut(w, &used, GROUP);
	w->finish.column = cut(w, &used, elements);
	w->finish.column_bias = cut(w, &used, elements);
	w->finish.value = (float *)cut(w, &used, elements);
	w->finish.hit = (uint32_t *)cut(w, &used, elements);
	return used;
}

static ls_status reserve_worker(struct ls_winograd_worker *w, const struct job *job, ls_error *err)
{
	double *memory = w->memory;
	size_t need;
	w->memory = NULL; // to count
	need = lay_out(w, job);
	w->memory = memory;
	if (need > w->capacity) {
		ls_free(w->memory);
		w->memory = ls_alloc(need, sizeof(double));
		w->capacity = w->memory ? need : 0;
	}
	if (!w->memory)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory for a tile of %lld x %lld at %d points", (long long)job->tile_rows,
		                    (long long)(job->tile_lines * job->line), POINTS);
	lay_out(w, job);
	w->packed = -1;
	w->status = LS_OK;
	w->finish.flags.count = w->finish.flags.certified = 0;
	return LS_OK;
}

static ls_status reserve(ls_winograd *space, struct job *job, int workers, ls_error *err)
{
	ls_status status = LS_OK;
	if (!space->worker) {
		space->worker = ls_alloc((size_t)workers, sizeof *space->worker);
		space->workers = space->worker ? workers : 0;
	}
	if (!space->worker)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	job->worker = space->worker;
	for (int i = 0; i < workers && status == LS_OK; i++)
		status = reserve_worker(&space->worker[i], job, err);
	return status;
}

static void cut_tiles(struct job *job, int workers)
{
	ls_product points = {.rows = job->call.product->rows, .columns = job->lines * job->line};
	ls_tiles t = ls_kernel__tiles(&points, &(ls_tile_wish){workers, job->table->mr, job->table->nr, ROWS, COLUMNS, ROWS * COLUMNS});
	job->tile_rows = t.rows;
	job->tile_lines = t.columns < 2 * job->line ? 1 : t.columns / job->line;
	job->across = ls_kernel__divide_up(job->lines, job->tile_lines);
}

static ls_status gather(const ls_winograd *space, const ls_product_call *call, ls_error *err)
{
	ls_finish_space *spaces[LS_POOL_THREADS_MAX];
	ls_status status = LS_OK;
	for (int i = 0; i < space->workers; i++) {
		spaces[i] = &space->worker[i].finish;
		if (space->worker[i].status != LS_OK)
			status = space->worker[i].status;
	}
	if (status == LS_OK)
		status = ls_kernel__gather_flags(call->flags, spaces, space->workers);
	if (status != LS_OK)
		ls_error_set(err, status, "out of memory for the elements whose rounding is not settled");
	return status;
}

ls_status ls_kernel__winograd_run(ls_winograd *space, const ls_kernel_table *table, const ls_product_call *call, ls_pool *pool,
                                  ls_error *err)
{
	const ls_product *p = call->product;
	struct job job = {.table = table, .call = *call, .gradient = p->b.kind == LS_OPERAND_PATCHES_T, .terms = terms_of(p)};
	int64_t depth = ls_kernel__winograd_depth(p);
	ls_status status;
	job.call.certify = false; // sums that are no tree of the products
	if (job.call.bound.depth < depth)
		job.call.bound.depth = depth;
	LS_TRY((job.gradient ? open_gradient : open_convolution)(&job, space, pool, err));
	cut_tiles(&job, ls_pool_threads(pool));
	LS_TRY(reserve(space, &job, ls_pool_threads(pool), err));
	ls_pool_run(pool, ls_kernel__divide_up(p->rows, job.tile_rows) * job.across, run_tile, &job);
	LS_TRY(gather(space, call, err));
done:
	return status;
}

void ls_kernel__winograd_free(ls_winograd *space)
{
	for (int i = 0; i < space->workers; i++) {
		ls_free(space->worker[i].memory);
		ls_kernel__finish_free(&space->worker[i].finish);
	}
	ls_free(space->worker);
	ls_kernel__image_free(&space->rows);
	ls_kernel__image_free(&space->columns);
	*space = (ls_winograd){0};
}
