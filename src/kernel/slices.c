#include "kernel/slices.h"

#include "kernel/pack.h"

enum { BLOCK_ROWS = 256 };

// Rows first … first+rows−1 of a slice, their columns from 0 and their terms k0 … k0+terms−1.
typedef struct part {
	ls_slices *s;
	const ls_product_call *call;
	int64_t slice, first, k0;
	int64_t out; // where the part's element (0, 0) lies
	ls_product product;
} part;

bool ls_kernel__is_sliced(const ls_product *p)
{
	return p->slicing.rows || p->causal || p->a.mask != LS_MASK_NONE;
}

static int64_t rows_of_slice(const ls_product *p)
{
	return p->slicing.rows ? p->slicing.rows : p->rows;
}

static int64_t start_of(const ls_slicing *s, int64_t slice)
{
	return s->rows ? ls_slice_offset(s, slice) : 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void describe(part *t)
{
	const ls_product *p = t->call->product;
	int64_t last = smaller(t->first + BLOCK_ROWS, rows_of_slice(p)), end = p->terms;
	if (p->a.mask == LS_MASK_UPTO)
		end = smaller(last, p->terms);
	t->k0 = p->a.mask == LS_MASK_FROM ? smaller(t->first, p->terms - 1) / BLOCK_ROWS * BLOCK_ROWS : 0;
	t->product = *p;
	t->product.rows = last - t->first;
	t->product.columns = p->causal ? smaller(last, p->columns) : p->columns;
	t->product.terms = end - t->k0;
	t->product.a.slicing = t->product.b.slicing = t->product.slicing = (ls_slicing){0};
	t->product.a.mask = LS_MASK_NONE;
	t->product.causal = false;
	t->product.inner = t->product.columns;
	t->product.outer_stride = 0;
	t->product.a.inner = t->product.b.inner = t->product.terms;
	t->out = start_of(&p->slicing, t->slice) + t->first * p->row_stride;
}

static bool grow(ls_slices *s, int64_t need)
{
	if (need <= s->a_room)
		return true;
	ls_free(s->a);
	s->a = ls_alloc((size_t)need, sizeof *s->a);
	s->a_room = s->a ? need : 0;
	return s->a != NULL;
}

// Operand a of the part, copied where some of it is no term.
static bool find_a(part *t, ls_product_call *call)
{
	const ls_operand *a = &t->call->product->a;
	ls_product *p = &t->product;
	int64_t row = t->slice * rows_of_slice(t->call->product) + t->first;
	if (a->mask == LS_MASK_NONE) {
		call->a = t->call->a + start_of(&a->slicing, t->slice) + t->first * a->row_stride;
		return true;
	}
	if (!grow(t->s, p->rows * p->terms))
		return false;
	for (int64_t i = 0; i < p->rows; i++)
		ls_kernel__fetch(a, t->call->a, row + i, t->k0, p->terms, t->s->a + i * p->terms);
	p->a.row_stride = p->terms;
	p->a.inner_stride = 1;
	call->a = t->s->a;
	return true;
}

// Where the call's sample lies in the part's output, or −1.
static int64_t sample_in(const part *t)
{
	int64_t i, j, first = t->slice * rows_of_slice(t->call->product) + t->first;
	if (t->call->sample < 0)
		return -1;
	ls_product_locate(t->call->product, t->call->sample, &i, &j);
	if (i < first || i >= first + t->product.rows || ls_product_masked(t->call->product, i, j))
		return -1;
	return (i - first) * t->product.row_stride + j;
}

// Elements without terms are +0. The part's square is computed whole, and its upper half is overwritten here.
static void clear_masked(const part *t)
{
	const ls_product *p = t->call->product;
	for (int64_t i = 0; p->causal && i < t->product.rows; i++) {
		float *row = t->call->out + t->out + i * p->row_stride;
		for (int64_t j = t->first + i + 1; j < p->columns; j++)
			row[j] = 0;
	}
}

static bool gives_flags(const ls_product_call *call)
{
	return call->test || call->pinned;
}

static ls_status take_flags(const part *t)
{
	ls_status status = LS_OK;
	t->s->found.flags.certified += t->s->part.certified;
	for (size_t f = 0; f < t->s->part.count && status == LS_OK; f++) {
		ls_flag flag = t->s->part.flag[f];
		int64_t i = flag.index / t->product.row_stride, j = flag.index % t->product.row_stride;
		if (t->call->product->causal && j > t->first + i)
			continue;
		flag.index += t->out;
		status = ls_kernel__push_flag(&t->s->found.flags, &flag);
	}
	return status;
}

static ls_status run_part(part *t, ls_slices_run run, void *context, ls_error *err)
{
	const ls_operand *b = &t->call->product->b;
	ls_product_call call = *t->call;
	ls_status status = LS_OK;
	if (!find_a(t, &call))
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory for masked rows of a product");
	call.b += start_of(&b->slicing, t->slice) + t->k0 * b->inner_stride;
	call.product = &t->product;
	call.out += t->out;
	call.kept = t->call->product->causal ? t->first + 1 : 0;
	call.sample = sample_in(t);
	call.flags = &t->s->part;
	t->s->part.count = t->s->part.certified = 0;
	LS_TRY(run(context, &call, err));
	clear_masked(t);
	if (gives_flags(&call) && take_flags(t) != LS_OK)
		status = ls_error_set(err, LS_ERR_NOMEM, "out of memory for the elements whose rounding is not settled");
done:
	return status;
}

// What is cut here has no bias, and simple layouts.
static ls_status check(const ls_product *p, ls_error *err)
{
	int64_t rows = rows_of_slice(p);
	if (p->bias == LS_BIAS_NONE && p->a.kind == LS_OPERAND_STRIDED && p->b.kind == LS_OPERAND_STRIDED &&
	    p->b.mask == LS_MASK_NONE && p->a.inner == p->terms && p->b.inner == p->terms && p->inner == p->columns &&
	    p->inner_stride == 1 && p->rows % rows == 0)
		return LS_OK;
	return ls_error_set(err, LS_ERR_USAGE, "product: found slices with a bias or of another layout than rows and columns");
}

ls_status ls_kernel__slices_run(ls_slices *s, const ls_product_call *call, ls_slices_run run, void *context, ls_error *err)
{
	const ls_product *p = call->product;
	ls_finish_space *found = &s->found;
	int64_t rows = rows_of_slice(p), i, j;
	part t = {.s = s, .call = call};
	ls_status status;
	LS_TRY(check(p, err));
	s->found.flags.count = s->found.flags.certified = 0;
	for (t.slice = 0; t.slice < p->rows / rows; t.slice++)
		for (t.first = 0; t.first < rows; t.first += BLOCK_ROWS) {
			describe(&t);
			LS_TRY(run_part(&t, run, context, err));
		}
	if (gives_flags(call) && call->sample >= 0) {
		ls_product_locate(p, call->sample, &i, &j);
		if (ls_product_masked(p, i, j))
			status = ls_kernel__push_flag(&s->found.flags, &(ls_flag){call->sample, 0, 0});
	}
	if (gives_flags(call) && status == LS_OK)
		status = ls_kernel__gather_flags(call->flags, &found, 1);
	if (status != LS_OK)
		ls_error_set(err, status, "out of memory for the elements whose rounding is not settled");
done:
	return status;
}

void ls_kernel__slices_free(ls_slices *s)
{
	ls_free(s->a);
	ls_flag_list_free(&s->part);
	ls_flag_list_free(&s->found.flags);
	*s = (ls_slices){0};
}
