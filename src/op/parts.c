/* Long sums, block by block: a dispute shows the sums of blocks first, and the terms of one of them only. */
#include "op/op.h"

int64_t ls_op__blocks(int64_t n)
{
	return (n + LS_RSUM_BLOCK - 1) / LS_RSUM_BLOCK;
}

static int64_t block_of(int64_t at, int64_t n)
{
	return n - at < LS_RSUM_BLOCK ? n - at : LS_RSUM_BLOCK;
}

void ls_op__add_run(ls_rsum *sum, const ls_reader *r, ls_op__term term, float context, int64_t first, int64_t n)
{
	for (int64_t at = 0; at < n; at += LS_RSUM_BLOCK) {
		double part;
		ls_rsum block;
		if (!r->parts) {
			for (int64_t i = 0; i < block_of(at, n); i++)
				ls_rsum_push(sum, term(r, context, first + at + i));
			continue;
		}
		if (!r->parts->given(r->parts->context, &part)) {
			ls_rsum_init(&block);
			for (int64_t i = 0; i < block_of(at, n); i++)
				ls_rsum_push(&block, term(r, context, first + at + i));
			part = ls_rsum_finish(&block);
			r->parts->made(r->parts->context, part);
		}
		ls_rsum_push_block(sum, part);
	}
	ls_rsum_end_run(sum);
}

double ls_op__value(const ls_reader *r, float unused, int64_t index)
{
	return ls_read_f32(r, 0, index);
}

double ls_op__centred_square(const ls_reader *r, float mean, int64_t index)
{
	double c = ls_f32((double)ls_read_f32(r, 0, index) - (double)mean);
	return c * c;
}

double ls_op__column_sum(const ls_reader *r, ls_op__term term, int64_t first, int64_t rows, int64_t stride)
{
	ls_rsum_column sum;
	ls_rsum_column_init(&sum);
	for (int64_t at = 0; at < rows; at += LS_RSUM_BLOCK) {
		double part = 0;
		bool given = r->parts && r->parts->given(r->parts->context, &part);
		for (int64_t i = at; !given && i < at + block_of(at, rows); i++)
			part += term(r, 0, first + i * stride);
		if (r->parts && !given)
			r->parts->made(r->parts->context, part);
		ls_rsum_column_push_block(&sum, part);
	}
	return ls_rsum_column_finish(&sum);
}
