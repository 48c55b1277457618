/* matmul: C = op(A)·op(B) [+ bias], products. ints {transpose_a, transpose_b}.
 * A (R, K) or, transposed, (K, R); B (K, N) or, transposed, (N, K); bias (N); C (R, N).
 * Gradients, with G that of C: of A  G·Bᵀ, of B  AᵀG, each stored the way A and B are; of bias the column sums of G. */
#include "op/op.h"

enum { TRANSPOSE_A, TRANSPOSE_B, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *a, *b;
	int64_t ta = op->ints[TRANSPOSE_A], tb = op->ints[TRANSPOSE_B];
	ls_shape c = {.rank = 2};
	if (!ls_op__arity(program, op, 2, 3, INTS, 0))
		return false;
	a = &ls_op__input(program, op, 0)->shape;
	b = &ls_op__input(program, op, 1)->shape;
	if (!ls_op__expect(program, op, a->rank == 2 && b->rank == 2, "two matrices") ||
	    !ls_op__expect(program, op, (ta | tb) >> 1 == 0, "transpose attributes of 0 or 1") ||
	    !ls_op__expect(program, op, a->dim[!ta] == b->dim[tb], "matrices whose inner sizes agree") ||
	    !ls_op__expect(program, op, a->dim[!ta] + (op->input_count == 3) < LS_TERMS_MAX, "fewer than 2^21 terms"))
		return false;
	c.dim[0] = a->dim[ta];
	c.dim[1] = b->dim[!tb];
	if (op->input_count == 3) {
		const ls_shape *bias = &ls_op__input(program, op, 2)->shape;
		if (!ls_op__expect(program, op, bias->rank == 1 && bias->dim[0] == c.dim[1], "one bias per column"))
			return false;
	}
	out[0] = ls_op__f32(program, &c);
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	int a = g->op->inputs[0], b = g->op->inputs[1], dc = g->out_grad[0];
	int64_t ta = g->op->ints[TRANSPOSE_A], tb = g->op->ints[TRANSPOSE_B];
	ls_op__emit_grad(g, 0, "matmul", ta ? (int[]){b, dc} : (int[]){dc, b}, 2, ta ? (int64_t[]){tb, 1} : (int64_t[]){0, !tb}, 2);
	ls_op__emit_grad(g, 1, "matmul", tb ? (int[]){dc, a} : (int[]){a, dc}, 2, tb ? (int64_t[]){1, ta} : (int64_t[]){!ta, 0}, 2);
	if (g->op->input_count == 3)
		ls_op__emit_grad(g, 2, "channel_sum", &dc, 1, NULL, 0);
}

static ls_operand matrix(int input, int64_t row_stride, int64_t k_stride, int64_t terms)
{
	return (ls_operand){.kind = LS_OPERAND_STRIDED, .input = input, .row_stride = row_stride, .inner = terms, .inner_stride = k_stride};
}

static void product(const ls_program *program, const ls_op *op, ls_product *out)
{
	const ls_shape *a = &ls_op__input(program, op, 0)->shape, *b = &ls_op__input(program, op, 1)->shape;
	int ta = (int)op->ints[TRANSPOSE_A], tb = (int)op->ints[TRANSPOSE_B];
	int64_t rows = a->dim[ta], columns = b->dim[!tb], terms = a->dim[!ta];
	*out = (ls_product){
		.rows = rows, .columns = columns, .terms = terms,
		.a = ta ? matrix(0, 1, rows, terms) : matrix(0, terms, 1, terms),
		.b = tb ? matrix(1, terms, 1, terms) : matrix(1, 1, columns, terms),
		.bias = op->input_count == 3 ? LS_BIAS_COLUMN : LS_BIAS_NONE,
		.bias_input = 2,
		.row_stride = columns, .inner = columns, .inner_stride = 1,
	};
}

const ls_op_def ls_op__matmul = {
	.kind = "matmul",
	.class = LS_OP_PRODUCT,
	.int_names = (const char *const[]){"transpose_a", "transpose_b", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.product = product,
};
