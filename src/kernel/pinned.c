#include "kernel/pinned.h"

#include "kernel/pack.h"

enum {
	ROWS = 32, // of a task
	COLUMNS = 64,
	TERMS = LS_PINNED_BLOCK + 1 // of a block, with the bias
};

struct ls_pinned_worker {
	float row[LS_PINNED_BLOCK]; // of b, before it is turned
	float a[ROWS][TERMS];
	float b[TERMS][COLUMNS];
	float acc[COLUMNS];
	float sum[ROWS][COLUMNS];
	ls_finish_space found; // only its list of flags
	ls_status status;
};

struct job {
	const ls_pinned *space;
	const ls_kernel_table *table;
	const ls_product_call *call;
	int64_t across;
};

// Rows and columns of a task.
struct area {
	int64_t i0, j0, m, n;
};

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

// Brings terms k0 … k0+k−1 together; returns their number, which the bias raises by one where they are the last.
static int64_t pack(struct ls_pinned_worker *w, const ls_product_call *call, const struct area *t, int64_t k0, int64_t k)
{
	const ls_product *p = call->product;
	for (int64_t i = 0; i < t->m; i++)
		ls_kernel__fetch(&p->a, call->a, t->i0 + i, k0, k, w->a[i]);
	for (int64_t j = 0; j < t->n; j++) {
		ls_kernel__fetch(&p->b, call->b, t->j0 + j, k0, k, w->row);
		for (int64_t q = 0; q < k; q++)
			w->b[q][j] = w->row[q];
	}
	if (p->bias == LS_BIAS_NONE || k0 + k < p->terms)
		return k;
	for (int64_t i = 0; i < t->m; i++)
		w->a[i][k] = p->bias == LS_BIAS_ROW ? call->bias[t->i0 + i] : 1;
	for (int64_t j = 0; j < t->n; j++)
		w->b[k][j] = p->bias == LS_BIAS_COLUMN ? call->bias[t->j0 + j] : 1;
	return k + 1;
}

static void add_block(struct ls_pinned_worker *w, const struct job *job, const struct area *t, int64_t k0)
{
	int64_t k = smaller(job->call->product->terms - k0, LS_PINNED_BLOCK), terms = pack(w, job->call, t, k0, k);
	for (int64_t i = 0; i < t->m; i++) {
		memset(w->acc, 0, sizeof w->acc);
		job->table->pin(t->n, terms, w->a[i], w->b[0], COLUMNS, w->acc);
		for (int64_t j = 0; j < t->n; j++)
			w->sum[i][j] = k0 ? w->sum[i][j] + w->acc[j] : w->acc[j];
	}
}

static void put(struct ls_pinned_worker *w, const ls_product_call *call, const struct area *t, int64_t i, int64_t j)
{
	float sum = w->sum[i][j];
	int64_t index = ls_product_out_index(call->product, t->i0 + i, t->j0 + j);
	call->out[index] = ls_round_f32(sum, call->bits);
	if ((index == call->sample || sum - sum != 0) &&
	    ls_kernel__push_flag(&w->found.flags, &(ls_flag){.index = index, .c = sum}) != LS_OK)
		w->status = LS_ERR_NOMEM;
}

static void run_task(void *context, int64_t index, int worker)
{
	const struct job *job = context;
	const ls_product *p = job->call->product;
	struct ls_pinned_worker *w = &job->space->worker[worker];
	struct area t = {.i0 = index / job->across * ROWS, .j0 = index % job->across * COLUMNS};
	t.m = smaller(p->rows - t.i0, ROWS);
	t.n = smaller(p->columns - t.j0, COLUMNS);
	for (int64_t k0 = 0; k0 < p->terms; k0 += LS_PINNED_BLOCK)
		add_block(w, job, &t, k0);
	for (int64_t i = 0; i < t.m; i++)
		for (int64_t j = 0; j < t.n; j++)
			put(w, job->call, &t, i, j);
}

static ls_status reserve(ls_pinned *s, int workers, ls_error *err)
{
	if (!s->worker)
		s->worker = ls_alloc((size_t)workers, sizeof *s->worker);
	if (!s->worker)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory for products in mode pinned");
	s->workers = workers;
	for (int i = 0; i < workers; i++) {
		s->worker[i].status = LS_OK;
		s->worker[i].found.flags.count = 0;
	}
	return LS_OK;
}

ls_status ls_kernel__pinned_run(ls_pinned *s, const ls_kernel_table *table, const ls_product_call *call, ls_pool *pool,
                                ls_error *err)
{
	const ls_product *p = call->product;
	struct job job = {.space = s, .table = table, .call = call, .across = (p->columns + COLUMNS - 1) / COLUMNS};
	ls_finish_space *spaces[LS_POOL_THREADS_MAX];
	ls_status status = reserve(s, ls_pool_threads(pool), err);
	if (status != LS_OK)
		return status;
	ls_pool_run(pool, (p->rows + ROWS - 1) / ROWS * job.across, run_task, &job);
	for (int i = 0; i < s->workers; i++) {
		spaces[i] = &s->worker[i].found;
		if (s->worker[i].status != LS_OK)
			status = s->worker[i].status;
	}
	if (status == LS_OK)
		status = ls_kernel__gather_flags(call->flags, spaces, s->workers);
	if (status != LS_OK)
		ls_error_set(err, status, "out of memory for the elements whose sums are not finite");
	return status;
}

void ls_kernel__pinned_free(ls_pinned *s)
{
	for (int i = 0; s->worker && i < s->workers; i++)
		ls_flag_list_free(&s->worker[i].found.flags);
	ls_free(s->worker);
	*s = (ls_pinned){0};
}
