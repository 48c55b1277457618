/* conv2d_dweight: dw[o,c,ky,kx] = Σ_{n,y,x} dy[n,o,y,x]·x[n,c,y·stride−pad+ky,…], products; padded taps are no terms.
 * ints {stride, pad, KH, KW}. dy (N, O, OH, OW); x (N, C, H, W); dw (O, C, KH, KW). */
#include "op/conv.h"
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *dy, *x;
	const int64_t *a = op->ints;
	if (!ls_op__arity(program, op, 2, 2, 4, 0))
		return false;
	dy = &ls_op__input(program, op, 0)->shape;
	x = &ls_op__input(program, op, 1)->shape;
	if (!ls_op__expect(program, op, dy->rank == 4 && x->rank == 4 && dy->dim[0] == x->dim[0], "dy (N,O,OH,OW) and x (N,C,H,W)") ||
	    !ls_op__expect(program, op, ls_op__fits(x->dim[2], a[LS_CONV_DIM0], a[LS_CONV_STRIDE], a[LS_CONV_PAD], dy->dim[2]) &&
	                                    ls_op__fits(x->dim[3], a[LS_CONV_DIM1], a[LS_CONV_STRIDE], a[LS_CONV_PAD], dy->dim[3]),
	                   "the extent of the forward convolution's output") ||
	    !ls_op__expect(program, op, dy->dim[0] * dy->dim[2] * dy->dim[3] < LS_TERMS_MAX, "fewer than 2^21 terms"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){4, {dy->dim[1], x->dim[1], a[LS_CONV_DIM0], a[LS_CONV_DIM1]}});
	op->output_count = 1;
	return true;
}

static void product(const ls_program *program, const ls_op *op, ls_product *out)
{
	const ls_shape *dy = &ls_op__input(program, op, 0)->shape, *x = &ls_op__input(program, op, 1)->shape;
	int64_t pixels = dy->dim[2] * dy->dim[3], columns = x->dim[1] * op->ints[LS_CONV_DIM0] * op->ints[LS_CONV_DIM1];
	*out = (ls_product){
		.rows = dy->dim[1], .columns = columns, .terms = dy->dim[0] * pixels,
		.a = {.kind = LS_OPERAND_STRIDED, .input = 0, .row_stride = pixels, .inner = pixels, .outer_stride = dy->dim[1] * pixels,
		      .inner_stride = 1}, // row o, term (n, y, x)
		.b = {.kind = LS_OPERAND_PATCHES_T, .input = 1,
		      .patches = ls_op__patches(x, op->ints[LS_CONV_DIM0], op->ints[LS_CONV_DIM1], dy->dim[2], dy->dim[3],
		                                op->ints[LS_CONV_STRIDE], op->ints[LS_CONV_PAD])},
		.row_stride = columns, .inner = columns, .inner_stride = 1,
	};
}

const ls_op_def ls_op__conv2d_dweight = {
	.kind = "conv2d_dweight",
	.class = LS_OP_PRODUCT,
	.int_names = (const char *const[]){"stride", "pad", "kernel_height", "kernel_width", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.product = product,
};
