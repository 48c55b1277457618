/* cross_entropy: loss_t = R((m − x_y) + log(s)); loss = R(rsum(loss_t)/n), n the labels other than −1. Inputs x (N, D), softmax's
 * p (N, D), m (N), s (N), labels (N in all). Outputs loss (1), loss_t (N). Label −1 says that the row does not count: its
 * loss_t is +0. Another label outside 0 … D−1 gives NaN, and so does n = 0. The gradient of the loss (taken as 1) reaches x
 * through cross_entropy_grad.
 *
 * ints {} or {parts}, parts ≥ 2: the loss of one of so many micro-batches, R(rsum(loss_t)/(n·parts)). */
#include "op/op.h"

enum { X, P, M, S, LABELS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	if (!ls_op__arity(program, op, 5, 5, op->int_count == 1, 0) || !ls_op__parts_fit(program, op))
		return false;
	x = &ls_op__input(program, op, X)->shape;
	if (!ls_op__expect(program, op, x->rank == 2 && ls_shape_equal(x, &ls_op__input(program, op, P)->shape), "x and p (N,D)"))
		return false;
	for (int i = M; i <= LABELS; i++)
		if (!ls_op__expect(program, op, ls_shape_count(&ls_op__input(program, op, i)->shape) == x->dim[0], "one of each per row"))
			return false;
	if (!ls_op__expect(program, op, ls_op__input(program, op, LABELS)->dtype == LS_I32, "integer labels"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){1, {1}});
	out[1] = ls_op__f32(program, &(ls_shape){1, {x->dim[0]}});
	op->output_count = 2;
	return true;
}

static void gradient(ls_op_grad *g)
{
	if (g->out_grad[0] >= 0 || g->out_grad[1] >= 0) {
		ls_program_fail(g->program, LS_ERR_UNSUPPORTED, "cross_entropy: its loss must be what is differentiated, not an input of it");
		return;
	}
	ls_op__emit_grad(g, X, "cross_entropy_grad", (int[]){g->op->inputs[P], g->op->inputs[LABELS]}, 2, g->op->ints,
	                 g->op->int_count);
}

bool ls_op__parts_fit(ls_program *program, const ls_op *op)
{
	return ls_op__expect(program, op, op->int_count == 0 || (op->ints[0] >= 2 && op->ints[0] <= INT32_MAX), "2 or more parts");
}

double ls_loss_divisor(const ls_op *op, double counted)
{
	return op->int_count ? counted * (double)op->ints[0] : counted;
}

int64_t ls_labels_counted(const int32_t *labels, int64_t count)
{
	int64_t counted = 0;
	for (int64_t i = 0; i < count; i++)
		counted += labels[i] != LS_LABEL_IGNORED;
	return counted;
}

int64_t ls_op__labels_counted(const ls_reader *r, int input)
{
	int64_t count = ls_shape_count(&ls_reader_input(r, input)->shape), counted = 0;
	for (int64_t i = 0; i < count; i++)
		counted += ls_read_i32(r, input, i) != LS_LABEL_IGNORED;
	return counted;
}

static uint32_t term(const ls_reader *r, int64_t row)
{
	int64_t width = ls_reader_input(r, X)->shape.dim[1];
	int32_t label = ls_read_i32(r, LABELS, row);
	if (label == LS_LABEL_IGNORED)
		return 0;
	if (label < 0 || label >= width)
		return LS_NAN_BITS;
	return ls_op__round(r, 1, ((double)ls_read_f32(r, M, row) - (double)ls_read_f32(r, X, row * width + label)) +
	                              (double)ls_log(ls_read_f32(r, S, row)));
}

static double term_of(const ls_reader *r, float unused, int64_t row)
{
	return ls_f32_bits(term(r, row));
}

static double counts(const ls_reader *r, float unused, int64_t row)
{
	return ls_read_i32(r, LABELS, row) != LS_LABEL_IGNORED;
}

/* The number of rows that count is a sum, too: whole numbers, which are exact in any order. */
static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t rows = ls_reader_input(r, X)->shape.dim[0];
	ls_rsum sum, counted;
	if (output == 1)
		return term(r, index);
	ls_rsum_init(&counted);
	ls_op__add_run(&counted, r, counts, 0, 0, rows);
	ls_rsum_init(&sum);
	ls_op__add_run(&sum, r, term_of, 0, 0, rows);
	return ls_op__round(r, 0, ls_rsum_finish(&sum) / ls_loss_divisor(r->op, ls_rsum_finish(&counted)));
}

static int64_t parts(const ls_program *program, const ls_op *op, int output)
{
	return output ? 0 : 2 * ls_op__blocks(ls_op__input(program, op, X)->shape.dim[0]);
}

const ls_op_def ls_op__cross_entropy = {
	.kind = "cross_entropy",
	.class = LS_OP_SUM,
	.integers = 1u << LABELS,
	.int_names = (const char *const[]){"parts", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){"", ".terms"},
	.infer = infer,
	.gradient = gradient,
	.element = element,
	.parts = parts,
};
