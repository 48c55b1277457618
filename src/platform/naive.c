// Textbook loops that share no code with the other platforms: every element by itself, its products summed in halves,
// which is deliberately another order than theirs. For comparison, not for speed.
#include "platform/platform.h"

#include "kernel/finish.h"
#include "num/odd.h"

#include <stdio.h>

enum { ROWS = 16, COLUMNS = 64 }; // of a task

struct worker {
	float *a, *b; // ROWS rows and one row, of `capacity` terms each
	int64_t capacity;
	ls_finish_space space; // only its list of flags
	ls_status status;
};

struct naive {
	int workers;
	struct worker *worker;
	ls_finish_space **spaces;
};

struct job {
	const ls_product_call *call;
	struct naive *naive;
	int64_t across;
};

static void collect(const ls_operand *o, const float *x, int64_t row, int64_t terms, float *dst)
{
	for (int64_t k = 0; k < terms; k++) {
		int64_t at = ls_operand_index(o, row, k);
		dst[k] = at < 0 ? 0 : x[at]; // 0·b adds nothing where b is finite, see kernel/finish.h
	}
}

static double sum_halves(const float *a, const float *b, int64_t n)
{
	if (n == 1)
		return (double)a[0] * (double)b[0];
	return sum_halves(a, b, n / 2) + sum_halves(a + n / 2, b + n / 2, n - n / 2);
}

static float sum_halves32(const float *a, const float *b, int64_t n)
{
	if (n == 1)
		return a[0] * b[0];
	return sum_halves32(a, b, n / 2) + sum_halves32(a + n / 2, b + n / 2, n - n / 2);
}

// Chunks in FP32, their sums in halves, too, but in FP64.
static double sum_chunks(const float *a, const float *b, int64_t n)
{
	int64_t chunks = (n + LS_CHUNK_TERMS - 1) / LS_CHUNK_TERMS, half = chunks / 2 * LS_CHUNK_TERMS;
	if (chunks == 1)
		return (double)sum_halves32(a, b, n);
	return sum_chunks(a, b, half) + sum_chunks(a + half, b + half, n - half);
}

// Mode pinned, with the fused multiply-add made of other operations: where the others have an instruction, both must agree.
static float sum_pinned(const float *a, const float *b, int64_t n, const float *bias)
{
	float sum = 0;
	for (int64_t first = 0; first < n; first += LS_PINNED_BLOCK) {
		float block = 0;
		for (int64_t k = first; k < n && k < first + LS_PINNED_BLOCK; k++)
			block = ls_num__fma_f32_portable(a[k], b[k], block);
		if (bias && first + LS_PINNED_BLOCK >= n)
			block = ls_num__fma_f32_portable(*bias, 1, block);
		sum = first ? sum + block : block;
	}
	return sum;
}

static double norm(const float *a, int64_t n)
{
	double sum = 0;
	for (int64_t k = 0; k < n; k++)
		sum += (double)a[k] * (double)a[k];
	return ls_sqrt(sum);
}

static void one_pinned(const ls_product_call *call, struct worker *w, int64_t i, int64_t j, const float *a)
{
	const ls_product *p = call->product;
	const float *bias = p->bias == LS_BIAS_NONE ? NULL : &call->bias[p->bias == LS_BIAS_ROW ? i : j];
	float sum = sum_pinned(a, w->b, p->terms, bias);
	ls_flag flag = {.index = ls_product_out_index(p, i, j), .c = sum};
	call->out[flag.index] = ls_round_f32(sum, call->bits);
	if ((flag.index == call->sample || sum - sum != 0) && ls_kernel__push_flag(&w->space.flags, &flag) != LS_OK)
		w->status = LS_ERR_NOMEM;
}

static void one_element(const ls_product_call *call, struct worker *w, int64_t i, int64_t j, const float *a,
                        double norm_a, double norm_b)
{
	const ls_product *p = call->product;
	double c = call->fp32 ? sum_chunks(a, w->b, p->terms) : sum_halves(a, w->b, p->terms), t;
	ls_flag flag = {.index = ls_product_out_index(p, i, j)};
	float bias = p->bias == LS_BIAS_NONE ? 0 : call->bias[p->bias == LS_BIAS_ROW ? i : j];
	if (p->bias != LS_BIAS_NONE)
		c += (double)bias;
	call->out[flag.index] = ls_round_f64(c, call->bits);
	if (!call->test)
		return;
	if (call->bound.kind == LS_BOUND_WINDOW)
		t = ls_bound_window_t(call->bound, c, call->bits);
	else
		t = ls_bound_t(call->bound, norm_a * norm_b + __builtin_fabs((double)bias)) + ls_bound_floor(call->bound);
	if (flag.index != call->sample && !ls_ambiguous(c, t, call->bits))
		return;
	flag.c = c;
	flag.t = t;
	if (ls_kernel__push_flag(&w->space.flags, &flag) != LS_OK)
		w->status = LS_ERR_NOMEM;
}

static void run_block(void *context, int64_t index, int worker)
{
	struct job *job = context;
	const ls_product_call *call = job->call;
	const ls_product *p = call->product;
	struct worker *w = &job->naive->worker[worker];
	int64_t i0 = index / job->across * ROWS, j0 = index % job->across * COLUMNS;
	int64_t i1 = i0 + ROWS < p->rows ? i0 + ROWS : p->rows, j1 = j0 + COLUMNS < p->columns ? j0 + COLUMNS : p->columns;
	double norm_a[ROWS], norm_b;
	for (int64_t i = i0; i < i1; i++) {
		collect(&p->a, call->a, i, p->terms, w->a + (i - i0) * p->terms);
		norm_a[i - i0] = norm(w->a + (i - i0) * p->terms, p->terms);
	}
	for (int64_t j = j0; j < j1; j++) {
		collect(&p->b, call->b, j, p->terms, w->b);
		norm_b = norm(w->b, p->terms);
		for (int64_t i = i0; i < i1; i++)
			if (call->pinned)
				one_pinned(call, w, i, j, w->a + (i - i0) * p->terms);
			else
				one_element(call, w, i, j, w->a + (i - i0) * p->terms, norm_a[i - i0], norm_b);
	}
}

static ls_status reserve(struct worker *w, int64_t terms, ls_error *err)
{
	w->status = LS_OK;
	w->space.flags.count = 0;
	if (terms <= w->capacity)
		return LS_OK;
	ls_free(w->a);
	ls_free(w->b);
	w->capacity = 0;
	w->a = ls_alloc((size_t)terms, ROWS * sizeof *w->a);
	w->b = ls_alloc((size_t)terms, sizeof *w->b);
	if (!w->a || !w->b)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory for %lld terms", (long long)terms);
	w->capacity = terms;
	return LS_OK;
}

static int64_t depth(const ls_product *p)
{
	int64_t levels = 0;
	while (INT64_C(1) << levels < p->terms)
		levels++;
	return levels + (p->bias != LS_BIAS_NONE);
}

static ls_status product(ls_platform *platform, const ls_product_call *call, ls_error *err)
{
	struct naive *naive = platform->state;
	const ls_product *p = call->product;
	struct job job = {call, naive, (p->columns + COLUMNS - 1) / COLUMNS};
	ls_status status = ls_kernel__check_call(call, depth(p), err);
	for (int i = 0; status == LS_OK && i < naive->workers; i++)
		status = reserve(&naive->worker[i], p->terms, err);
	if (status != LS_OK)
		return status;
	ls_pool_run(platform->pool, (p->rows + ROWS - 1) / ROWS * job.across, run_block, &job);
	for (int i = 0; i < naive->workers; i++)
		if (naive->worker[i].status != LS_OK)
			status = naive->worker[i].status;
	if (status == LS_OK && (call->test || call->pinned))
		status = ls_kernel__gather_flags(call->flags, naive->spaces, naive->workers);
	if (status != LS_OK)
		ls_error_set(err, status, "out of memory for the elements whose rounding is not settled");
	return status;
}

static void close_naive(ls_platform *platform)
{
	struct naive *naive = platform->state;
	for (int i = 0; naive->worker && i < naive->workers; i++) {
		ls_free(naive->worker[i].a);
		ls_free(naive->worker[i].b);
		ls_flag_list_free(&naive->worker[i].space.flags);
	}
	ls_free(naive->worker);
	ls_free(naive->spaces);
	ls_free(naive);
}

static ls_status open_naive(ls_platform *platform, ls_error *err)
{
	struct naive *naive = platform->state = ls_alloc(1, sizeof *naive);
	if (!naive)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	naive->workers = ls_pool_threads(platform->pool);
	naive->worker = ls_alloc((size_t)naive->workers, sizeof *naive->worker);
	naive->spaces = ls_alloc((size_t)naive->workers, sizeof *naive->spaces);
	if (!naive->worker || !naive->spaces) {
		close_naive(platform);
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	}
	for (int i = 0; i < naive->workers; i++)
		naive->spaces[i] = &naive->worker[i].space;
	snprintf(platform->description, sizeof platform->description, "naive");
	return LS_OK;
}

const ls_platform_def ls_platform__naive = {
	.name = "naive", .row_kernels = false, .open = open_naive, .close = close_naive, .product = product,
	.depth = depth,
};
