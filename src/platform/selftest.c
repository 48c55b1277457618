// What a platform has to show before it may be believed: that this processor, as it is set up now, computes as IEEE 754
// says, and that the platform's products lie within the bound that everything else relies on.
#include "platform/platform.h"

#include <stdio.h>

struct report {
	ls_check_fn fn;
	void *context;
	bool passed;
};

static void say(struct report *r, const char *check, bool passed, const char *detail)
{
	r->passed = r->passed && passed;
	if (r->fn)
		r->fn(r->context, check, passed, detail);
}

// ---- arithmetic ----

static bool same64(double got, uint64_t expected)
{
	return ls_bits_f64(got) == expected;
}

static bool same32(float got, uint32_t expected)
{
	return ls_bits_f32(got) == expected;
}

// Volatile: the compiler must not answer for the processor.
static bool rounds_to_nearest(void)
{
	volatile double one = 1, half = 0x1p-53, more = 0x1.8p-53;
	volatile float one32 = 1, half32 = 0x1p-24f, more32 = 0x1.8p-24f;
	return same64(one + half, UINT64_C(0x3ff0000000000000)) && same64(one + more, UINT64_C(0x3ff0000000000001)) &&
	       same64(-one - half, UINT64_C(0xbff0000000000000)) && same64(-one - more, UINT64_C(0xbff0000000000001)) &&
	       same32(one32 + half32, 0x3f800000) && same32(one32 + more32, 0x3f800001);
}

static bool keeps_subnormals(void)
{
	volatile double smallest = 0x1p-1022, half = 0.5, tiny = 0x1p-1074;
	volatile float smallest32 = 0x1p-126f, half32 = 0.5f, tiny32 = 0x1p-149f;
	return same64(smallest * half, UINT64_C(0x0008000000000000)) && same64(tiny + tiny, 2) &&
	       same32(smallest32 * half32, 0x00400000) && same32(tiny32 + tiny32, 2) &&
	       same64((double)tiny32, UINT64_C(0x36a0000000000000)) && same32((float)(volatile double){0x1p-149}, 1);
}

static bool fuses(void)
{
	volatile double a = 1 + 0x1p-30, b = -(1 + 0x1p-29), big = 0x1p1000;
	return same64(ls_fma(a, a, b), ls_bits_f64(0x1p-60)) &&
	       same64(ls_fma(big, big, -big), ls_bits_f64(__builtin_inf())) && same64(ls_fma(a, a, -a * a), ls_bits_f64(0x1p-60));
}

static bool takes_roots(void)
{
	return same64(ls_sqrt(2), UINT64_C(0x3ff6a09e667f3bcd)) && same64(ls_sqrt(0x1p-1074), UINT64_C(0x1e60000000000000));
}

static bool knows_functions(void)
{
	return same32(ls_exp(1), 0x402df854) && same32(ls_exp(-1), 0x3ebc5ab2) && same32(ls_exp(-104), 0) &&
	       same32(ls_log(2), 0x3f317218) && same32(ls_log(10), 0x40135d8e) && same32(ls_log(0), 0xff800000);
}

static bool rounds_to_grids(void)
{
	return same32(ls_round_f64(1 + 0x1p-24, 32), 0x3f800000) && same32(ls_round_f64(1 + 0x1.8p-23, 32), 0x3f800002) &&
	       same32(ls_round_f64(0x1p-150, 32), 0) && same32(ls_round_f64(0x1.00001p-150, 32), 1) &&
	       same32(ls_round_f64(-0.0, 32), 0) && same32(ls_round_f64(1 + 0x1p-8, 16), 0x3f800000) &&
	       same32(ls_round_f64(1 + 0x1.8p-7, 16), 0x3f820000);
}

static void check_arithmetic(struct report *r)
{
	say(r, "control word", ls_platform_control_ok(), "round to nearest, subnormals kept");
	say(r, "rounding", rounds_to_nearest(), "1 + u and its neighbours");
	say(r, "subnormals", keeps_subnormals(), "FP32 and FP64 below the normal range");
	say(r, "fused multiply-add", fuses(), "known answers");
	say(r, "square root", takes_roots(), "known answers");
	say(r, "functions", knows_functions(), "exp and log, known answers");
	say(r, "grids", rounds_to_grids(), "known answers");
}

// ---- products ----

typedef enum values { NORMAL, CANCELLING, WIDE } values;

struct trial {
	const char *name;
	ls_product product;
	values values;
	int64_t a_count, b_count;
};

#define MATRIX(rows_at, k_at, terms) \
	{.kind = LS_OPERAND_STRIDED, .row_stride = rows_at, .inner = terms, .inner_stride = k_at}
#define BLOCKS(rows_at, size, outer) \
	{.kind = LS_OPERAND_STRIDED, .row_stride = rows_at, .inner = size, .outer_stride = outer, .inner_stride = 1}
#define OUT(row, size, outer) .row_stride = row, .inner = size, .outer_stride = outer, .inner_stride = 1

// Two images of 3 channels, 9 × 10, kernels of 3 × 3, padding 1: forward with stride 1 or 2, and backward with stride 2.
#define PATCHES(kind_, ...) {.kind = kind_, .patches = {3, 9, 10, 3, 3, __VA_ARGS__}}

// Channels enough for minimal filtering: one image of 17 or 18 channels, 7 × 6; six of them for the gradient of the weights.
#define MANY(kind_, channels, ...) {.kind = kind_, .patches = {channels, 7, 6, 3, 3, 7, 6, __VA_ARGS__}}

static const struct trial trials[] = {
	{"product, rows by rows",
	 {.rows = 100, .columns = 70, .terms = 600, .bias = LS_BIAS_COLUMN, OUT(70, 70, 0),
	  .a = MATRIX(600, 1, 600), .b = MATRIX(600, 1, 600)}, NORMAL, 60000, 42000},
	{"product, columns by columns",
	 {.rows = 17, .columns = 33, .terms = 1025, .bias = LS_BIAS_ROW, OUT(33, 33, 0),
	  .a = MATRIX(1, 17, 1025), .b = MATRIX(1, 33, 1025)}, NORMAL, 17425, 33825},
	{"product, cancelling",
	 {.rows = 15, .columns = 40, .terms = 700, OUT(40, 40, 0),
	  .a = MATRIX(700, 1, 700), .b = MATRIX(700, 1, 700)}, CANCELLING, 10500, 28000},
	{"product, all exponents",
	 {.rows = 31, .columns = 9, .terms = 130, OUT(9, 9, 0),
	  .a = MATRIX(130, 1, 130), .b = MATRIX(1, 9, 130)}, WIDE, 4030, 1170},
	{"convolution",
	 {.rows = 5, .columns = 180, .terms = 27, .bias = LS_BIAS_ROW, OUT(90, 90, 450),
	  .a = MATRIX(27, 1, 27), .b = PATCHES(LS_OPERAND_PATCHES, 9, 10, 1, -1, 1, 1)}, NORMAL, 135, 540},
	{"convolution, gradient of the input",
	 {.rows = 5, .columns = 2 * 17 * 19, .terms = 27, OUT(323, 323, 1615),
	  .a = MATRIX(27, 1, 27), .b = PATCHES(LS_OPERAND_PATCHES, 17, 19, 1, 1, -1, 2)}, CANCELLING, 135, 540},
	{"convolution, gradient of the weights",
	 {.rows = 4, .columns = 27, .terms = 50, OUT(27, 27, 0),
	  .a = BLOCKS(25, 25, 100), .b = PATCHES(LS_OPERAND_PATCHES_T, 5, 5, 2, -1, 1, 1)}, NORMAL, 200, 540},
	{"convolution, many channels",
	 {.rows = 18, .columns = 42, .terms = 153, .bias = LS_BIAS_ROW, OUT(42, 42, 756),
	  .a = MATRIX(153, 1, 153), .b = MANY(LS_OPERAND_PATCHES, 17, 1, -1, 1, 1)}, WIDE, 2754, 714},
	{"convolution, gradient of many channels",
	 {.rows = 17, .columns = 42, .terms = 162, OUT(42, 42, 714),
	  .a = BLOCKS(9, 9, 153), .b = MANY(LS_OPERAND_PATCHES, 18, 1, 1, -1, 1)}, CANCELLING, 2754, 756},
	{"convolution, gradient of many weights",
	 {.rows = 18, .columns = 153, .terms = 294, OUT(153, 153, 0),
	  .a = BLOCKS(42, 42, 756), .b = MANY(LS_OPERAND_PATCHES_T, 17, 1, -1, 1, 1)}, CANCELLING, 5292, 4998},
};
#define TRIAL_COUNT (sizeof trials / sizeof *trials)

static float value_at(const ls_stream *stream, values kind, uint64_t i)
{
	uint32_t bits = ls_random_u32(stream, i);
	float v = ls_f32(2 * ls_random_uniform(stream, i) - 1);
	if (kind == WIDE)
		return ls_round_f32(ls_f32_bits(bits & UINT32_C(0xbfffffff)), 32); // below 2, subnormals among them
	if (kind == CANCELLING && i % 2) // the number before, negated, but for its last bits
		return -ls_f32_bits(ls_bits_f32(ls_f32(2 * ls_random_uniform(stream, i - 1) - 1)) ^ (bits & 3));
	return v;
}

static void fill(float *x, int64_t count, uint64_t step, values kind)
{
	ls_stream stream = {.seed = 1, .purpose = LS_PURPOSE_TEST, .step = step};
	for (int64_t i = 0; i < count; i++)
		x[i] = value_at(&stream, kind, (uint64_t)i);
}

typedef enum way { FP64, FP32, EXACT, PINNED } way;
static const char *const way_names[] = {"", ", FP32", ", any sum", ", pinned"};
static const int passes[] = {2, 2, 1, 1};

// First so that every sum is flagged, by a wide bound or a grid finer than the bound; then as training does it.
static void set_pass(ls_product_call *call, int pass)
{
	int64_t terms = ls_product_all_terms(call->product);
	bool as_training = pass || call->any_sum;
	call->bits = pass && call->fp32 ? 19 : 32;
	call->bound = call->fp32 ? ls_bound_fp32(terms) : ls_bound_fp64(as_training ? ls_depth_default(terms) : INT64_C(1) << 54);
}

// Flags are ascending, so a cursor finds each element's.
static const ls_flag *flag_at(const ls_flag_list *flags, size_t *at, int64_t index)
{
	while (*at < flags->count && flags->flag[*at].index < index)
		++*at;
	return *at < flags->count && flags->flag[*at].index == index ? &flags->flag[*at] : NULL;
}

// What the platform promises of a flagged sum: B, or, of any sum, t.
static bool keeps_promise(const ls_product_call *call, const ls_sum *sum, const ls_flag *flag)
{
	int64_t terms = ls_product_all_terms(call->product);
	if (call->any_sum)
		return ls_sum_near(sum, flag->c, flag->t);
	return ls_sum_within(sum, flag->c, call->fp32 ? ls_bound_fp32(terms) : ls_bound_fp64(ls_depth_default(terms)), call->bits);
}

// Every flagged sum as promised; every other element equal to R(E). `sums` has E and S by element.
static bool elements_hold(const ls_product_call *call, const ls_sum *sums, char *detail, size_t detail_size)
{
	const ls_product *p = call->product;
	size_t at = 0;
	for (int64_t index = 0; index < p->rows * p->columns; index++) {
		const ls_sum *sum = &sums[index];
		const ls_flag *flag = flag_at(call->flags, &at, index);
		int64_t i, j;
		if (flag ? keeps_promise(call, sum, flag)
		         : ls_bits_f32(call->out[index]) == ls_bits_f32(ls_sum_round(sum, call->bits)))
			continue;
		ls_product_locate(p, index, &i, &j);
		snprintf(detail, detail_size, "element (%lld, %lld): found %a, expected %a", (long long)i, (long long)j,
		         flag ? flag->c : (double)call->out[index], (double)ls_sum_round(sum, call->bits));
		return false;
	}
	snprintf(detail, detail_size, "%lld elements within the bound, %zu of them by their sum",
	         (long long)(p->rows * p->columns), call->flags->count);
	return true;
}

// ---- products in the pinned order ----

struct tensors {
	const float *input[3];
};

static uint32_t word(void *context, int input, int64_t index)
{
	return ls_bits_f32(((const struct tensors *)context)->input[input][index]);
}

// The trials' values are finite and no sum overflows, so every element has to be right as it stands.
static bool order_holds(const ls_product_call *call, char *detail, size_t detail_size)
{
	ls_product p = *call->product;
	struct tensors tensors = {{call->a, call->b, call->bias}};
	ls_reader reader = {.context = &tensors, .word = word};
	p.b.input = 1;
	p.bias_input = 2;
	for (int64_t index = 0; index < p.rows * p.columns; index++) {
		int64_t i, j;
		float expected;
		ls_product_locate(&p, index, &i, &j);
		expected = ls_product_pinned(&reader, &p, i, j, call->bits);
		if (ls_bits_f32(call->out[index]) != ls_bits_f32(expected)) {
			snprintf(detail, detail_size, "element (%lld, %lld): found %a, expected %a", (long long)i, (long long)j,
			         (double)call->out[index], (double)expected);
			return false;
		}
	}
	snprintf(detail, detail_size, "%lld elements equal to the definition", (long long)(p.rows * p.columns));
	return true;
}

// A trial with its inputs. Exact sums take most of the time of a self-test, and are the same in every way to sum.
struct bench {
	const struct trial *trial;
	float *a, *b, *bias, *out;
	ls_sum *sums;
};

static ls_product_call call_of(const struct bench *b, way how, ls_flag_list *flags)
{
	return (ls_product_call){.product = &b->trial->product, .a = b->a, .b = b->b, .bias = b->bias, .out = b->out, .fp32 = how == FP32,
	                         .test = how != PINNED, .any_sum = how == EXACT, .pinned = how == PINNED, .bits = 32, .sample = -1, .flags = flags};
}

// Where the terms of each row or column lie; negative where a tap falls outside the picture.
static int64_t *term_places(const ls_operand *operand, int64_t rows, int64_t terms)
{
	int64_t *place = ls_alloc((size_t)(rows * terms), sizeof *place);
	for (int64_t i = 0; place && i < rows; i++)
		for (int64_t k = 0; k < terms; k++)
			place[i * terms + k] = ls_operand_index(operand, i, k);
	return place;
}

static bool compute_sums(const struct bench *b)
{
	const ls_product *p = &b->trial->product;
	bool done;
	int64_t *a_place = term_places(&p->a, p->rows, p->terms), *b_place = term_places(&p->b, p->columns, p->terms);
	for (int64_t index = 0; a_place && b_place && index < p->rows * p->columns; index++) {
		ls_sum *sum = &b->sums[index];
		int64_t i, j;
		ls_product_locate(p, index, &i, &j);
		ls_sum_init(sum);
		for (int64_t k = 0; k < p->terms; k++) {
			int64_t at = a_place[i * p->terms + k], bt = b_place[j * p->terms + k];
			if (at >= 0 && bt >= 0)
				ls_sum_add(sum, b->a[at], b->b[bt]);
		}
		if (p->bias != LS_BIAS_NONE)
			ls_sum_add(sum, b->bias[p->bias == LS_BIAS_ROW ? i : j], 1);
	}
	done = a_place && b_place;
	ls_free(a_place);
	ls_free(b_place);
	return done;
}

static ls_status open_bench(struct bench *b, const struct trial *trial, ls_error *err)
{
	const ls_product *p = &trial->product;
	size_t elements = (size_t)(p->rows * p->columns);
	*b = (struct bench){trial, ls_alloc((size_t)trial->a_count, sizeof *b->a), ls_alloc((size_t)trial->b_count, sizeof *b->b),
	                    ls_alloc((size_t)(p->rows + p->columns), sizeof *b->bias), ls_alloc(elements, sizeof *b->out),
	                    ls_alloc(elements, sizeof *b->sums)};
	if (!b->a || !b->b || !b->bias || !b->out || !b->sums)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a self-test");
	fill(b->a, trial->a_count, 1, trial->values);
	fill(b->b, trial->b_count, 2, trial->values == CANCELLING ? NORMAL : trial->values);
	fill(b->bias, p->rows + p->columns, 3, NORMAL);
	return compute_sums(b) ? LS_OK : ls_error_set(err, LS_ERR_NOMEM, "no memory for the sums of a self-test");
}

static void close_bench(struct bench *b)
{
	ls_free(b->a);
	ls_free(b->b);
	ls_free(b->bias);
	ls_free(b->out);
	ls_free(b->sums);
}

static ls_status check_product(ls_platform *platform, const struct bench *b, way how, struct report *r, ls_error *err)
{
	ls_status status = LS_OK;
	ls_flag_list flags = {0};
	ls_product_call call = call_of(b, how, &flags);
	bool held = true;
	char detail[160], name[96];
	for (int pass = 0; pass < passes[how] && held; pass++) {
		if (how != PINNED)
			set_pass(&call, pass);
		LS_TRY(ls_platform_product(platform, &call, err));
		held = how == PINNED ? order_holds(&call, detail, sizeof detail) : elements_hold(&call, b->sums, detail, sizeof detail);
	}
	snprintf(name, sizeof name, "%s%s", b->trial->name, way_names[how]);
	say(r, name, held, detail);
done:
	ls_flag_list_free(&flags);
	return status;
}

ls_status ls_platform_selftest(ls_platform *platform, bool *passed, ls_check_fn report, void *context, ls_error *err)
{
	struct report r = {report, context, true};
	struct bench bench[TRIAL_COUNT] = {{0}};
	ls_status status = LS_OK;
	*passed = false;
	check_arithmetic(&r);
	for (size_t i = 0; i < TRIAL_COUNT; i++)
		LS_TRY(open_bench(&bench[i], &trials[i], err));
	for (int how = FP64; how <= PINNED; how++)
		for (size_t i = 0; i < TRIAL_COUNT; i++)
			LS_TRY(check_product(platform, &bench[i], (way)how, &r, err));
	*passed = r.passed;
done:
	for (size_t i = 0; i < TRIAL_COUNT; i++)
		close_bench(&bench[i]);
	return status;
}
