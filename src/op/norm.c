#include "op/norm.h"

bool ls_op__channels_fit(ls_program *program, const ls_op *op, int image, int first, int last)
{
	const ls_shape *x = &ls_op__input(program, op, image)->shape;
	if (!ls_op__expect(program, op, x->rank == 4, "an image (N,C,H,W)"))
		return false;
	for (int i = first; i <= last; i++) {
		const ls_shape *v = &ls_op__input(program, op, i)->shape;
		if (!ls_op__expect(program, op, v->rank == 1 && v->dim[0] == x->dim[1], "one number per channel"))
			return false;
	}
	return true;
}

int64_t ls_op__channel_size(const ls_shape *x)
{
	return x->dim[0] * x->dim[2] * x->dim[3];
}

int64_t ls_op__channel_of(const ls_shape *x, int64_t index)
{
	return index / (x->dim[2] * x->dim[3]) % x->dim[1];
}

double ls_op__channel_rsum(const ls_reader *r, const ls_shape *x, int64_t channel, ls_op__term term, float context)
{
	int64_t pixels = x->dim[2] * x->dim[3];
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int64_t n = 0; n < x->dim[0]; n++)
		ls_op__add_run(&sum, r, term, context, (n * x->dim[1] + channel) * pixels, pixels);
	return ls_rsum_finish(&sum);
}

int64_t ls_op__channel_parts(const ls_shape *x)
{
	return x->dim[0] * ls_op__blocks(x->dim[2] * x->dim[3]);
}
