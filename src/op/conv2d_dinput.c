/* conv2d_dinput: dx[n,c,y,x] = Σ_{o,ky,kx} w[o,c,ky,kx]·dy[n,o,(y+pad−ky)/stride,…], products; a tap that does not divide
 * is no term. ints {stride, pad, H, W}. dy (N, O, OH, OW); w (O, C, KH, KW); dx (N, C, H, W). */
#include "op/conv.h"
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *dy, *w;
	const int64_t *a = op->ints;
	if (!ls_op__arity(program, op, 2, 2, 4, 0))
		return false;
	dy = &ls_op__input(program, op, 0)->shape;
	w = &ls_op__input(program, op, 1)->shape;
	if (!ls_op__expect(program, op, dy->rank == 4 && w->rank == 4 && dy->dim[1] == w->dim[0], "dy (N,O,OH,OW) and w (O,C,KH,KW)") ||
	    !ls_op__expect(program, op, ls_op__fits(a[LS_CONV_DIM0], w->dim[2], a[LS_CONV_STRIDE], a[LS_CONV_PAD], dy->dim[2]) &&
	                                    ls_op__fits(a[LS_CONV_DIM1], w->dim[3], a[LS_CONV_STRIDE], a[LS_CONV_PAD], dy->dim[3]),
	                   "the extent of the forward convolution's output") ||
	    !ls_op__expect(program, op, w->dim[0] * w->dim[2] * w->dim[3] < LS_TERMS_MAX, "fewer than 2^21 terms"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){4, {dy->dim[0], w->dim[1], a[LS_CONV_DIM0], a[LS_CONV_DIM1]}});
	op->output_count = 1;
	return true;
}

static void product(const ls_program *program, const ls_op *op, ls_product *out)
{
	const ls_shape *dy = &ls_op__input(program, op, 0)->shape, *w = &ls_op__input(program, op, 1)->shape;
	int64_t taps = w->dim[2] * w->dim[3], pixels = op->ints[LS_CONV_DIM0] * op->ints[LS_CONV_DIM1];
	*out = (ls_product){
		.rows = w->dim[1], .columns = dy->dim[0] * pixels, .terms = w->dim[0] * taps,
		.a = {.kind = LS_OPERAND_STRIDED, .input = 1, .row_stride = taps, .inner = taps, .outer_stride = w->dim[1] * taps,
		      .inner_stride = 1}, // row c, term (o, ky, kx)
		.b = {.kind = LS_OPERAND_PATCHES, .input = 0,
		      .patches = {.channels = dy->dim[1], .height = dy->dim[2], .width = dy->dim[3], .kernel_height = w->dim[2],
		                  .kernel_width = w->dim[3], .out_height = op->ints[LS_CONV_DIM0], .out_width = op->ints[LS_CONV_DIM1],
		                  .step = 1, .offset = op->ints[LS_CONV_PAD], .tap = -1, .divisor = op->ints[LS_CONV_STRIDE]}},
		.row_stride = pixels, .inner = pixels, .outer_stride = w->dim[1] * pixels, .inner_stride = 1,
	};
}

const ls_op_def ls_op__conv2d_dinput = {
	.kind = "conv2d_dinput",
	.class = LS_OP_PRODUCT,
	.int_names = (const char *const[]){"stride", "pad", "height", "width", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.product = product,
};
