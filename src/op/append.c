#include "op/op.h"

#include <stdio.h>

const ls_value *ls_op__input(const ls_program *program, const ls_op *op, int input)
{
	return ls_program_value(program, op->inputs[input]);
}

bool ls_op__expect(ls_program *program, const ls_op *op, bool condition, const char *what)
{
	char shape[3][64] = {{0}};
	if (condition)
		return true;
	for (int i = 0; i < 3 && i < op->input_count; i++)
		ls_shape_text(shape[i], sizeof shape[i], &ls_op__input(program, op, i)->shape);
	ls_program_fail(program, LS_ERR_INPUT, "op '%s' of inputs %s %s %s: expected %s", op->kind, shape[0], shape[1], shape[2],
	                what);
	return false;
}

bool ls_op__arity(ls_program *program, const ls_op *op, int least, int most, int ints, int nums)
{
	return ls_op__expect(program, op, op->input_count >= least && op->input_count <= most, "another number of inputs") &&
	       ls_op__expect(program, op, op->int_count == ints && op->num_count == nums, "another number of attributes");
}

ls_value ls_op__f32(const ls_program *program, const ls_shape *shape)
{
	return (ls_value){.dtype = LS_F32, .bits = ls_program_bits(program), .shape = *shape};
}

static bool infer_map(ls_program *program, ls_op *op, ls_value *out, int inputs)
{
	const ls_shape *shape;
	if (!ls_op__arity(program, op, inputs, inputs, 0, 0))
		return false;
	shape = &ls_op__input(program, op, 0)->shape;
	for (int i = 1; i < inputs; i++)
		if (!ls_op__expect(program, op, ls_shape_equal(shape, &ls_op__input(program, op, i)->shape), "two tensors of one shape"))
			return false;
	out[0] = ls_op__f32(program, shape);
	op->output_count = 1;
	return true;
}

bool ls_op__infer_map(ls_program *program, ls_op *op, ls_value *out)
{
	return infer_map(program, op, out, 1);
}

bool ls_op__infer_map_of_two(ls_program *program, ls_op *op, ls_value *out)
{
	return infer_map(program, op, out, 2);
}

uint32_t ls_op__round(const ls_reader *r, int output, double x)
{
	return ls_bits_f32(ls_round_f64(x, ls_reader_output(r, output)->bits));
}

const ls_value *ls_reader_input(const ls_reader *r, int input)
{
	return ls_program_value(r->program, r->op->inputs[input]);
}

const ls_value *ls_reader_output(const ls_reader *r, int output)
{
	return ls_program_value(r->program, r->op->outputs[output]);
}

static bool name_outputs(ls_program *program, const ls_op_def *def, const ls_op_spec *spec, const ls_op *op, ls_value *outputs)
{
	for (int o = 0; o < op->output_count; o++)
		if (snprintf(outputs[o].name, sizeof outputs[o].name, "%s%s", spec->name, def->output_names[o]) >= LS_NAME_MAX) {
			ls_program_fail(program, LS_ERR_INPUT, "the name '%s%s' is too long", spec->name, def->output_names[o]);
			return false;
		}
	return true;
}

/* Everything is FP32 but the labels that the loss reads, and the state root, which nothing reads. */
static bool may_read(const ls_op_def *def, int input, ls_dtype dtype)
{
	bool labels = (def == &ls_op__cross_entropy && input == 4) || (def == &ls_op__cross_entropy_grad && input == 1);
	return dtype == (labels ? LS_I32 : LS_F32);
}

/* An entry of the rounding log numbers an element of a product in 32 bits. */
static bool indexable(ls_program *program, const ls_op_def *def, const ls_op *op, const ls_value *outputs)
{
	return def->class != LS_OP_PRODUCT ||
	       ls_op__expect(program, op, ls_shape_count(&outputs[0].shape) <= UINT32_MAX, "fewer than 2^32 output elements");
}

int ls_op_append(ls_program *program, const ls_op_spec *spec)
{
	const ls_op_def *def = ls_op_find(spec->kind);
	ls_value outputs[LS_OP_OUTPUTS] = {0};
	int inputs[8];
	ls_op op = {.int_count = spec->int_count, .num_count = spec->num_count, .input_count = spec->input_count};
	if (ls_program_failed(program))
		return -1;
	if (!def)
		return ls_program_fail(program, LS_ERR_NOT_FOUND, "there is no op '%s'", spec->kind);
	snprintf(op.kind, sizeof op.kind, "%s", def->kind);
	memcpy(op.ints, spec->ints, sizeof op.ints);
	memcpy(op.nums, spec->nums, sizeof op.nums);
	memcpy(inputs, spec->inputs, sizeof inputs);
	op.inputs = spec->more_inputs ? (int *)spec->more_inputs : inputs;
	for (int i = 0; i < op.input_count; i++)
		if (!ls_program_value(program, op.inputs[i]))
			return ls_program_fail(program, LS_ERR_INTERNAL, "op '%s': input %d does not exist", spec->kind, i);
	for (int i = 0; i < op.input_count; i++)
		if (!may_read(def, i, ls_program_value(program, op.inputs[i])->dtype))
			return ls_program_fail(program, LS_ERR_INPUT, "op '%s': input %d holds another type of number than the op reads",
			                       spec->kind, i);
	if (!def->infer(program, &op, outputs) || !indexable(program, def, &op, outputs) || !name_outputs(program, def, spec, &op, outputs))
		return -1;
	return ls_program_add_op(program, &op, outputs);
}

void ls_op_grad_name(const ls_op_grad *g, int input, char out[LS_NAME_MAX])
{
	const char *name = ls_op__input(g->program, g->op, input)->name;
	snprintf(out, LS_NAME_MAX, "d.%.80s", name);
	for (int i = 2; ls_program_find(g->program, out) >= 0; i++)
		snprintf(out, LS_NAME_MAX, "d.%.80s#%d", name, i);
}

void ls_op__emit_grad(ls_op_grad *g, int input, const char *kind, const int *inputs, int input_count, const int64_t *ints,
                      int int_count)
{
	char name[LS_NAME_MAX];
	ls_op_spec spec = {.kind = kind, .name = name, .input_count = input_count, .int_count = int_count};
	if (!g->wanted[input])
		return;
	ls_op_grad_name(g, input, name);
	memcpy(spec.inputs, inputs, (size_t)input_count * sizeof *inputs);
	if (int_count)
		memcpy(spec.ints, ints, (size_t)int_count * sizeof *ints);
	g->in_grad[input] = ls_op_append(g->program, &spec);
}
