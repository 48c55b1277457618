/* conv2d: y[n,o,·,·] = Σ_{c,ky,kx} w[o,c,ky,kx]·x[n,c,y·stride−pad+ky,…] [+ bias[o]], products. ints {stride, pad}.
 * x (N, C, H, W); w (O, C, KH, KW); bias (O); y (N, O, ⌊(H+2pad−KH)/stride⌋+1, …). Padded taps are no terms. */
#include "op/conv.h"
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x, *w;
	int64_t stride = op->ints[LS_CONV_STRIDE], pad = op->ints[LS_CONV_PAD];
	if (!ls_op__arity(program, op, 2, 3, 2, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	w = &ls_op__input(program, op, 1)->shape;
	if (!ls_op__expect(program, op, x->rank == 4 && w->rank == 4 && x->dim[1] == w->dim[1], "x (N,C,H,W) and w (O,C,KH,KW)") ||
	    !ls_op__expect(program, op, stride >= 1 && stride <= 1024 && pad >= 0 && pad < w->dim[2] && pad < w->dim[3],
	                   "1 ≤ stride and 0 ≤ pad < kernel") ||
	    !ls_op__expect(program, op, x->dim[2] + 2 * pad >= w->dim[2] && x->dim[3] + 2 * pad >= w->dim[3],
	                   "an image no smaller than the kernel") ||
	    !ls_op__expect(program, op, w->dim[1] * w->dim[2] * w->dim[3] + (op->input_count == 3) < LS_TERMS_MAX,
	                   "fewer than 2^21 terms"))
		return false;
	if (op->input_count == 3) {
		const ls_shape *bias = &ls_op__input(program, op, 2)->shape;
		if (!ls_op__expect(program, op, bias->rank == 1 && bias->dim[0] == w->dim[0], "one bias per output channel"))
			return false;
	}
	out[0] = ls_op__f32(program, &(ls_shape){4, {x->dim[0], w->dim[0], ls_op__extent(x->dim[2], w->dim[2], stride, pad),
	                                             ls_op__extent(x->dim[3], w->dim[3], stride, pad)}});
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	const ls_value *x = ls_op__input(g->program, g->op, 0), *w = ls_op__input(g->program, g->op, 1);
	int64_t stride = g->op->ints[LS_CONV_STRIDE], pad = g->op->ints[LS_CONV_PAD];
	int64_t input[] = {stride, pad, x->shape.dim[2], x->shape.dim[3]}, weight[] = {stride, pad, w->shape.dim[2], w->shape.dim[3]};
	ls_op__emit_grad(g, 0, "conv2d_dinput", (int[]){g->out_grad[0], g->op->inputs[1]}, 2, input, 4);
	ls_op__emit_grad(g, 1, "conv2d_dweight", (int[]){g->out_grad[0], g->op->inputs[0]}, 2, weight, 4);
	if (g->op->input_count == 3)
		ls_op__emit_grad(g, 2, "channel_sum", (int[]){g->out_grad[0]}, 1, NULL, 0);
}

static void product(const ls_program *program, const ls_op *op, ls_product *out)
{
	const ls_shape *x = &ls_op__input(program, op, 0)->shape, *w = &ls_op__input(program, op, 1)->shape;
	const ls_shape *y = &ls_program_value(program, op->outputs[0])->shape;
	int64_t terms = w->dim[1] * w->dim[2] * w->dim[3], pixels = y->dim[2] * y->dim[3];
	*out = (ls_product){
		.rows = w->dim[0], .columns = x->dim[0] * pixels, .terms = terms,
		.a = {.kind = LS_OPERAND_STRIDED, .input = 1, .row_stride = terms, .inner = terms, .inner_stride = 1},
		.b = {.kind = LS_OPERAND_PATCHES, .input = 0,
		      .patches = ls_op__patches(x, w->dim[2], w->dim[3], y->dim[2], y->dim[3], op->ints[LS_CONV_STRIDE], op->ints[LS_CONV_PAD])},
		.bias = op->input_count == 3 ? LS_BIAS_ROW : LS_BIAS_NONE,
		.bias_input = 2,
		.row_stride = pixels, .inner = pixels, .outer_stride = w->dim[0] * pixels, .inner_stride = 1,
	};
}

const ls_op_def ls_op__conv2d = {
	.kind = "conv2d",
	.class = LS_OP_PRODUCT,
	.int_names = (const char *const[]){"stride", "pad", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.product = product,
};
