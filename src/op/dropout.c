/* dropout: y = R(x·scale) where the element is kept, else +0. ints {seed, site}, nums {p}, 0 < p < 1; scale = RNE64(1/(1 − p)).
 * Element i is kept iff number site·2^40 + i of stream (seed, dropout, step) is below ⌊(1 − p)·2^32⌋, 1 − p in FP64. Sites
 * tell the dropouts of one step apart. The gradient is the same op on dy: one mask, which nobody stores. */
#include "op/op.h"

enum { SEED, SITE, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 1, 1, INTS, 1) ||
	    !ls_op__expect(program, op, op->ints[SEED] >= 0 && op->ints[SEED] <= UINT32_MAX && op->ints[SITE] >= 0 &&
	                                    op->ints[SITE] < LS_DROPOUT_SITES_MAX, "a seed of 32 bits and a site below 2^20") ||
	    !ls_op__expect(program, op, op->nums[0] > 0 && op->nums[0] < 1, "a share between 0 and 1"))
		return false;
	out[0] = ls_op__f32(program, &ls_op__input(program, op, 0)->shape);
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	ls_op__emit_same(g, 0);
}

ls_dropout ls_dropout_of(const ls_op *op, uint64_t step)
{
	double keep = 1.0 - op->nums[0];
	return (ls_dropout){.stream = {(uint32_t)op->ints[SEED], LS_PURPOSE_DROPOUT, step}, .first = (uint64_t)op->ints[SITE] << 40,
	                    .below = (uint64_t)(keep * 0x1p32), .scale = 1.0 / keep};
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	ls_dropout d = ls_dropout_of(r->op, r->step);
	if (ls_random_u32(&d.stream, d.first + (uint64_t)(r->first + index)) >= d.below)
		return 0;
	return ls_op__round(r, 0, (double)ls_read_f32(r, 0, index) * d.scale);
}

const ls_op_def ls_op__dropout = {
	.kind = "dropout",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.by_sequence = true,
	.int_names = (const char *const[]){"seed", "site", NULL},
	.num_names = (const char *const[]){"p", NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
