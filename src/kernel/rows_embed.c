// Embeddings, and moving columns about.
#include "kernel/rows.h"

enum { GRAIN = 16384, TABLE_ROWS = 1024, BLOCK = 256, COLUMNS = 64 };

static int64_t row_grain(int64_t columns)
{
	return columns >= GRAIN ? 1 : GRAIN / columns;
}

// The numbers of a table are on the state's grid, which may be finer than the output's.
static void copy_row(float *out, const float *in, int64_t n, int bits)
{
	for (int64_t c = 0; c < n; c++)
		out[c] = rows_round((double)in[c], bits);
}

static void embedding(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *table = rows_input_shape(call, 0);
	const int32_t *token = call->in[1];
	int64_t columns = table->dim[1];
	for (int64_t n = begin; n < end; n++) {
		float *out = (float *)call->out[0] + n * columns;
		if (token[n] >= 0 && token[n] < table->dim[0])
			copy_row(out, (const float *)call->in[0] + token[n] * columns, columns, rows_bits(call, 0));
		else
			for (int64_t c = 0; c < columns; c++)
				out[c] = ls_f32_bits(LS_NAN_BITS);
	}
}

bool ls_kernel__rows_embedding(const ls_op_call *call)
{
	const ls_shape *y = rows_output_shape(call, 0);
	ls_kernel__rows_ranges(call, y->dim[0], row_grain(y->dim[1]), embedding);
	return true;
}

// Rows of the table and the positions whose tokens they are, ascending: head[v], then next[n], to −1.
struct chains {
	const ls_op_call *call;
	int32_t *next;
};

// COLUMNS or fewer columns of one row of the table.
static void sum_chain(const struct chains *k, int32_t first, float *out, int64_t column, int64_t count)
{
	const float *dy = k->call->in[0];
	int64_t columns = rows_input_shape(k->call, 0)->dim[1];
	ls_rsum_column blocks[COLUMNS];
	for (int64_t c = 0; c < count; c++)
		ls_rsum_column_init(&blocks[c]);
	for (int32_t n = first; n >= 0;) {
		double sum[COLUMNS] = {0};
		for (int i = 0; i < BLOCK && n >= 0; i++, n = k->next[n])
			for (int64_t c = 0; c < count; c++)
				sum[c] += (double)dy[n * columns + column + c];
		for (int64_t c = 0; c < count; c++)
			ls_rsum_column_push(&blocks[c], sum[c]); // a block's sum is a term one level up
	}
	for (int64_t c = 0; c < count; c++)
		out[column + c] = rows_round(ls_rsum_column_finish(&blocks[c]), rows_bits(k->call, 0));
}

static void sum_row(const struct chains *k, int32_t first, float *out, int64_t columns)
{
	if (first < 0)
		memset(out, 0, (size_t)columns * sizeof *out);
	for (int64_t c = 0; first >= 0 && c < columns; c += COLUMNS)
		sum_chain(k, first, out, c, columns - c < COLUMNS ? columns - c : COLUMNS);
}

static void table_rows(void *context, int64_t index, int worker)
{
	const struct chains *k = context;
	const ls_shape *dy = rows_input_shape(k->call, 0), *table = rows_output_shape(k->call, 0);
	const int32_t *token = k->call->in[1];
	int64_t begin = index * TABLE_ROWS, end = begin + TABLE_ROWS < table->dim[0] ? begin + TABLE_ROWS : table->dim[0];
	int32_t head[TABLE_ROWS];
	for (int i = 0; i < TABLE_ROWS; i++)
		head[i] = -1;
	for (int64_t n = dy->dim[0] - 1; n >= 0; n--) // only this range's positions are written: ranges do not meet
		if (token[n] >= begin && token[n] < end) {
			k->next[n] = head[token[n] - begin];
			head[token[n] - begin] = (int32_t)n;
		}
	for (int64_t v = begin; v < end; v++)
		sum_row(k, head[v - begin], (float *)k->call->out[0] + v * table->dim[1], table->dim[1]);
}

bool ls_kernel__rows_embedding_grad(const ls_op_call *call)
{
	int64_t positions = rows_input_shape(call, 0)->dim[0], rows = rows_output_shape(call, 0)->dim[0];
	struct chains k = {call, NULL};
	if (positions > INT32_MAX)
		return false;
	k.next = ls_alloc((size_t)positions, sizeof *k.next);
	if (!k.next)
		return false;
	ls_pool_run(call->pool, (rows + TABLE_ROWS - 1) / TABLE_ROWS, table_rows, &k);
	ls_free(k.next);
	return true;
}

static void position_add(const ls_op_call *call, int64_t begin, int64_t end)
{
	int64_t columns = rows_input_shape(call, 0)->dim[1], length = call->op->ints[0];
	for (int64_t n = begin; n < end; n++)
		rows_loops(call)->add((float *)call->out[0] + n * columns, (const float *)call->in[0] + n * columns,
		                      (const float *)call->in[1] + n % length * columns, columns, rows_bits(call, 0));
}

bool ls_kernel__rows_position_add(const ls_op_call *call)
{
	const ls_shape *y = rows_output_shape(call, 0);
	ls_kernel__rows_ranges(call, y->dim[0], row_grain(y->dim[1]), position_add);
	return true;
}

static void position_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *dy = rows_input_shape(call, 0);
	int64_t columns = dy->dim[1], length = call->op->ints[0];
	for (int64_t t = begin; t < end; t++)
		for (int64_t c = 0; c < columns; c++) {
			const float *first = (const float *)call->in[0] + t * columns + c;
			double sum = t < length ? ls_rsum_strided_f32(first, dy->dim[0] / length, length * columns) : 0;
			((float *)call->out[0])[t * columns + c] = rows_round(sum, rows_bits(call, 0));
		}
}

bool ls_kernel__rows_position_grad(const ls_op_call *call)
{
	const ls_shape *y = rows_output_shape(call, 0);
	ls_kernel__rows_ranges(call, y->dim[0], row_grain(y->dim[1]), position_grad);
	return true;
}

static void split(const ls_op_call *call, int64_t begin, int64_t end)
{
	int64_t columns = rows_output_shape(call, 0)->dim[1];
	int parts = call->op->output_count;
	for (int64_t n = begin; n < end; n++)
		for (int i = 0; i < parts; i++)
			copy_row((float *)call->out[i] + n * columns, (const float *)call->in[0] + (n * parts + i) * columns, columns,
			         rows_bits(call, i));
}

bool ls_kernel__rows_split_columns(const ls_op_call *call)
{
	const ls_shape *x = rows_input_shape(call, 0);
	ls_kernel__rows_ranges(call, x->dim[0], row_grain(x->dim[1]), split);
	return true;
}

static void join(const ls_op_call *call, int64_t begin, int64_t end)
{
	int64_t columns = rows_input_shape(call, 0)->dim[1];
	int parts = call->op->input_count;
	for (int64_t n = begin; n < end; n++)
		for (int i = 0; i < parts; i++)
			copy_row((float *)call->out[0] + (n * parts + i) * columns, (const float *)call->in[i] + n * columns, columns,
			         rows_bits(call, 0));
}

bool ls_kernel__rows_join_columns(const ls_op_call *call)
{
	const ls_shape *y = rows_output_shape(call, 0);
	ls_kernel__rows_ranges(call, y->dim[0], row_grain(y->dim[1]), join);
	return true;
}
