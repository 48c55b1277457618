/* Sums in the one canonical order. Level 0 takes terms, level k+1 the block sums of level k; a level that holds a
 * single term hands it on unchanged, so "until one is left" needs no special case. */
#include <lockstep/num.h>

#define ACCUMULATORS 16

/* Destroys `lane`. */
static double join(double lane[ACCUMULATORS])
{
	for (int width = ACCUMULATORS / 2; width > 0; width /= 2) {
		for (int l = 0; l < width; l++)
			lane[l] += lane[l + width];
	}
	return lane[0];
}

void ls_rsum_init(ls_rsum *r)
{
	memset(r, 0, sizeof *r);
}

static void push(ls_rsum *r, int level, double term);

static void close_block(ls_rsum *r, int level)
{
	double sum = join(r->lane[level]);
	memset(r->lane[level], 0, sizeof r->lane[level]);
	r->fill[level] = 0;
	r->blocks[level]++;
	push(r, level + 1, sum);
}

static void push(ls_rsum *r, int level, double term)
{
	r->lane[level][r->fill[level] % ACCUMULATORS] += term;
	r->fill[level]++;
	/* The highest level would fill after 2^64 terms. */
	if (r->fill[level] == LS_RSUM_BLOCK && level + 1 < LS_RSUM_LEVELS)
		close_block(r, level);
}

void ls_rsum_push(ls_rsum *r, double term)
{
	push(r, 0, term);
}

void ls_rsum_push_block(ls_rsum *r, double sum)
{
	r->blocks[0]++;
	push(r, 1, sum);
}

void ls_rsum_end_run(ls_rsum *r)
{
	if (r->fill[0] > 0)
		close_block(r, 0);
}

double ls_rsum_finish(const ls_rsum *r)
{
	double carried = 0;
	bool have = false;
	for (int level = 0; level < LS_RSUM_LEVELS; level++) {
		double lane[ACCUMULATORS];
		memcpy(lane, r->lane[level], sizeof lane);
		if (have)
			lane[r->fill[level] % ACCUMULATORS] += carried;
		if (have || r->fill[level] > 0) {
			carried = join(lane);
			have = true;
		}
		if (r->blocks[level] == 0)
			break; /* nothing has ever reached the levels above */
	}
	return carried;
}

static double block_f32(const float *terms, int64_t n)
{
	double lane[ACCUMULATORS] = {0};
	int64_t i = 0;
	for (; i + ACCUMULATORS <= n; i += ACCUMULATORS) {
		for (int l = 0; l < ACCUMULATORS; l++)
			lane[l] += (double)terms[i + l];
	}
	for (int l = 0; i < n; i++, l++)
		lane[l] += (double)terms[i];
	return join(lane);
}

double ls_rsum_f32(const float *terms, int64_t n)
{
	if (n <= 0)
		return 0;
	if (n <= LS_RSUM_BLOCK)
		return block_f32(terms, n);
	ls_rsum sums; /* of the blocks: its level 0 is the sum's level 1 */
	ls_rsum_init(&sums);
	for (int64_t i = 0; i < n; i += LS_RSUM_BLOCK)
		ls_rsum_push(&sums, block_f32(terms + i, n - i < LS_RSUM_BLOCK ? n - i : LS_RSUM_BLOCK));
	return ls_rsum_finish(&sums);
}

void ls_rsum_column_init(ls_rsum_column *r)
{
	memset(r, 0, sizeof *r);
}

static void push_column(ls_rsum_column *r, int level, double term)
{
	for (;; level++) {
		r->acc[level] += term;
		r->fill[level]++;
		if (r->fill[level] < LS_RSUM_BLOCK || level + 1 == LS_RSUM_LEVELS)
			return;
		term = r->acc[level];
		r->acc[level] = 0;
		r->fill[level] = 0;
		r->blocks[level]++;
	}
}

void ls_rsum_column_push(ls_rsum_column *r, double term)
{
	push_column(r, 0, term);
}

void ls_rsum_column_push_block(ls_rsum_column *r, double sum)
{
	r->blocks[0]++;
	push_column(r, 1, sum);
}

double ls_rsum_column_finish(const ls_rsum_column *r)
{
	double carried = 0;
	for (int level = 0; level < LS_RSUM_LEVELS; level++) {
		carried = r->acc[level] + carried;
		if (r->blocks[level] == 0)
			break;
	}
	return carried;
}

double ls_rsum_strided_f32(const float *x, int64_t rows, int64_t stride)
{
	ls_rsum_column column;
	ls_rsum_column_init(&column);
	for (int64_t i = 0; i < rows; i += LS_RSUM_BLOCK) {
		int64_t end = rows - i < LS_RSUM_BLOCK ? rows : i + LS_RSUM_BLOCK;
		for (int64_t k = i; k < end; k++)
			ls_rsum_column_push(&column, (double)x[k * stride]);
	}
	return ls_rsum_column_finish(&column);
}
