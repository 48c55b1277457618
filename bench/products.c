/* lockstep-products: the products of a model's step, one by one, beside the processor's peak.
 *
 *     lockstep-products ARCH [BATCH [RUNS [ZEROS]]]
 *
 * ARCH is a model for pictures of 32 × 32 pixels (vgg11, resnet50, …). Products of one shape are measured once, on factors
 * of which a share of ZEROS (default 0.5) is zero, as behind a ReLU. Columns: what one such product takes in modes plain,
 * logged and exact, all in FP64, and in mode pinned, in FP32: milliseconds (the best of RUNS, default 5, by the thread's own
 * time) and the share of peak that the definition's operations come to: minimal filtering, in mode exact, makes do with fewer.
 * Elements that are computed exactly afterwards are not among them. The first line is the register tiles alone, on operands in the first cache.
 */
#include "rates.h"

#include "kernel/gemm.h"

#include <lockstep/model.h>

#include <stdio.h>
#include <stdlib.h>

enum { SHAPES_MAX = 256, PLAIN = 0, LOGGED, EXACT, PINNED, WAYS, TILE_TERMS = 64, TILE_REPEATS = 20000 };

struct shape {
	const char *kind;
	ls_product product;
	int count;
};

struct bench {
	int runs;
	double zeros, peak64, peak32;
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
	ls_flag_list flags;
	struct shape shape[SHAPES_MAX];
	int shapes;
	double seconds[WAYS], flops; /* of all products of a step */
};

static ls_status open_model(ls_model **out, const char *arch, int64_t batch, ls_error *err)
{
	ls_model_options o = LS_MODEL_OPTIONS_INIT;
	o.arch = arch;
	o.classes = 10;
	o.channels = 3;
	o.height = o.width = 32;
	for (int c = 0; c < 3; c++)
		o.std[c] = 255;
	o.samples = o.batch = batch;
	o.bits = o.state_bits = LS_GRID_MAX;
	o.optim.name = "sgd";
	o.optim.schedule = (ls_schedule){.lr = 0.1, .gamma = 1, .every = 1, .steps = 10};
	return ls_model_open(out, &o, err);
}

static void add_shape(struct bench *b, const char *kind, const ls_product *p)
{
	for (int i = 0; i < b->shapes; i++)
		if (b->shape[i].kind == kind && !memcmp(&b->shape[i].product, p, sizeof *p)) {
			b->shape[i].count++;
			return;
		}
	if (b->shapes < SHAPES_MAX)
		b->shape[b->shapes++] = (struct shape){kind, *p, 1};
}

static void list_shapes(struct bench *b, const ls_program *program)
{
	for (int op = 0; op < ls_program_ops(program); op++) {
		const ls_op_def *def = ls_op_find(ls_program_op(program, op)->kind);
		ls_product p;
		if (def->class != LS_OP_PRODUCT)
			continue;
		memset(&p, 0, sizeof p);
		def->product(program, ls_program_op(program, op), &p);
		add_shape(b, def->kind, &p);
	}
}

/* As many numbers as an operand's tensor has. */
static int64_t extent(const ls_operand *o, int64_t rows, int64_t terms)
{
	const ls_patches *p = &o->patches;
	if (o->kind == LS_OPERAND_STRIDED)
		return (rows - 1) * o->row_stride + (terms - 1) / o->inner * o->outer_stride + (o->inner - 1) * o->inner_stride + 1;
	return (o->kind == LS_OPERAND_PATCHES ? rows : terms) / (p->out_height * p->out_width) * p->channels * p->height * p->width;
}

static float *numbers(double zeros, int64_t count, uint32_t seed)
{
	ls_stream stream = {.seed = seed, .purpose = LS_PURPOSE_TEST};
	float *x = ls_alloc((size_t)count, sizeof *x);
	for (int64_t i = 0; x && i < count; i++) {
		double u = ls_random_uniform(&stream, (uint64_t)i);
		x[i] = u < zeros ? 0 : (float)(u * 2 - 1);
	}
	return x;
}

/* The best time of a way. */
static ls_status measure(struct bench *b, ls_product_call call, int way, double *best, ls_error *err)
{
	ls_status status = LS_OK;
	call.test = way == LOGGED || way == EXACT;
	call.any_sum = call.certify = way == EXACT;
	call.pinned = way == PINNED;
	for (int run = 0; run <= b->runs && status == LS_OK; run++) {
		double start = rates_now(), seconds;
		status = ls_kernel__gemm_run(b->gemm, &call, err);
		seconds = rates_now() - start;
		if (run == 1 || (run > 1 && seconds < *best))
			*best = seconds;
	}
	return status;
}

static ls_status bench_shape(struct bench *b, const struct shape *s, ls_error *err)
{
	const ls_product *p = &s->product;
	double flops = 2e-9 * (double)p->rows * (double)p->columns * (double)p->terms, seconds[WAYS] = {0};
	float *a = numbers(b->zeros, extent(&p->a, p->rows, p->terms), 1), *x = numbers(b->zeros, extent(&p->b, p->columns, p->terms), 2);
	float *bias = numbers(0, p->rows + p->columns, 3), *out = ls_alloc((size_t)(p->rows * p->columns), sizeof *out);
	ls_product_call call = {.product = p, .a = a, .b = x, .bias = bias, .out = out, .bits = LS_GRID_MAX, .sample = -1,
	                        .bound = ls_bound_fp64(ls_depth_default(ls_product_all_terms(p))), .flags = &b->flags};
	ls_status status = a && x && bias && out ? LS_OK : ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	for (int way = 0; way < WAYS && status == LS_OK; way++) {
		status = measure(b, call, way, &seconds[way], err);
		b->seconds[way] += s->count * seconds[way];
	}
	b->flops += s->count * flops;
	printf("%-16s %6lld %6lld %6lld x%-3d", s->kind, (long long)p->rows, (long long)p->columns, (long long)p->terms, s->count);
	for (int way = 0; way < WAYS; way++)
		printf("  %8.3f %5.1f %%", 1e3 * seconds[way], 100 * flops / seconds[way] / (way == PINNED ? b->peak32 : b->peak64));
	printf("\n");
	ls_free(a);
	ls_free(x);
	ls_free(bias);
	ls_free(out);
	return status;
}

/* One register tile over and over, its operands in the first cache: what a product comes to at most. */
static void bench_tile(const struct bench *b)
{
	static _Alignas(64) double a[LS_PANEL_LANES * TILE_TERMS], x[4 * LS_PANEL_LANES * TILE_TERMS], c[LS_PANEL_LANES * 4 * LS_PANEL_LANES];
	const ls_kernel_table *t = &b->table;
	double start = rates_now(), wide, narrow;
	for (int i = 0; i < TILE_REPEATS; i++)
		t->tile(t->mr, t->nr, TILE_TERMS, a, x, c, t->nr, true);
	wide = 2e-9 * t->mr * t->nr * TILE_TERMS * TILE_REPEATS / (rates_now() - start);
	start = rates_now();
	for (int i = 0; i < TILE_REPEATS; i++)
		t->pinned.tile(t->pinned.mr, t->pinned.nr, TILE_TERMS, (float *)a, (float *)x, (float *)c, t->pinned.nr, true);
	narrow = 2e-9 * t->pinned.mr * t->pinned.nr * TILE_TERMS * TILE_REPEATS / (rates_now() - start);
	printf("tile %dx%dx%d: %.1f %% of %.1f GFLOP/s in FP64; %dx%d: %.1f %% of %.1f GFLOP/s in FP32\n", t->mr, t->nr, TILE_TERMS,
	       100 * wide / b->peak64, b->peak64, t->pinned.mr, t->pinned.nr, 100 * narrow / b->peak32, b->peak32);
}

static ls_status run(struct bench *b, const ls_program *program, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_kernel__table_init(&b->table, NULL, err));
	LS_TRY(ls_pool_open(&b->pool, 1, err));
	LS_TRY(ls_kernel__gemm_open(&b->gemm, &b->table, &ls_kernel__native_engine, b->pool, err));
	b->peak64 = rates_fp64();
	b->peak32 = rates_fp32();
	bench_tile(b);
	printf("%-16s %6s %6s %6s %4s  %18s %18s %18s %18s\n", "", "rows", "cols", "terms", "", "plain", "logged", "exact", "pinned");
	list_shapes(b, program);
	for (int i = 0; i < b->shapes; i++)
		LS_TRY(bench_shape(b, &b->shape[i], err));
	printf("%-42s", "all of a step");
	for (int way = 0; way < WAYS; way++)
		printf("  %8.1f %5.1f %%", 1e3 * b->seconds[way], 100 * b->flops / b->seconds[way] / (way == PINNED ? b->peak32 : b->peak64));
	printf("\n");
done:
	return status;
}

int main(int argc, char **argv)
{
	struct bench *b = ls_alloc(1, sizeof *b);
	ls_error err = LS_ERROR_INIT;
	ls_model *model = NULL;
	ls_status status;
	if (argc < 2 || argc > 5 || !b) {
		fprintf(stderr, "usage: lockstep-products ARCH [BATCH [RUNS [ZEROS]]]\n");
		return 2;
	}
	b->runs = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 5;
	b->zeros = argc > 4 ? strtod(argv[4], NULL) : 0.5;
	status = open_model(&model, argv[1], argc > 2 ? strtoll(argv[2], NULL, 10) : 16, &err);
	if (status == LS_OK)
		status = run(b, ls_model_step(model), &err);
	if (status != LS_OK)
		fprintf(stderr, "lockstep-products: %s\n", err.text);
	ls_model_free(model);
	ls_kernel__gemm_free(b->gemm);
	ls_pool_free(b->pool);
	ls_flag_list_free(&b->flags);
	ls_free(b);
	return status == LS_OK ? 0 : 1;
}
