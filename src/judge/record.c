#include "judge/record.h"

#include <stdio.h>

static bool read_shape(ls_cursor *c, ls_shape *out)
{
	int64_t count = 1;
	*out = (ls_shape){.rank = ls_cursor_u8(c)};
	if (out->rank > LS_RANK_MAX)
		return false;
	for (int i = 0; i < out->rank; i++) {
		uint64_t dim = ls_cursor_u64(c);
		if (dim < 1 || dim > (uint64_t)((INT64_C(1) << 40) / count))
			return false;
		out->dim[i] = (int64_t)dim;
		count *= (int64_t)dim;
	}
	return !c->failed;
}

static bool read_output(ls_cursor *c, ls_value *out)
{
	*out = (ls_value){.op = -1};
	ls_cursor_str(c, out->name, sizeof out->name);
	out->dtype = (ls_dtype)ls_cursor_u8(c);
	out->bits = ls_cursor_u8(c);
	return read_shape(c, &out->shape) && out->dtype >= LS_F32 && out->dtype <= LS_ROOT && out->bits >= LS_GRID_MIN &&
	       out->bits <= LS_GRID_MAX && out->name[0];
}

static ls_status read_inputs(ls_cursor *c, ls_judge__record *out)
{
	uint32_t count = ls_cursor_u32(c);
	if (count > LS_JUDGE__INPUTS_MAX || count > (c->len - c->pos) / 8)
		return LS_ERR_INPUT;
	out->op.input_count = (int)count;
	out->input = ls_alloc(count, sizeof *out->input);
	if (!out->input)
		return LS_ERR_NOMEM;
	for (uint32_t i = 0; i < count; i++) {
		out->input[i].source = ls_cursor_u32(c);
		out->input[i].place = ls_cursor_u32(c);
		if (out->input[i].source > out->index) // an op reads what is there before it
			return LS_ERR_INPUT;
	}
	return LS_OK;
}

static bool read_attributes(ls_cursor *c, ls_op *op)
{
	uint32_t count = ls_cursor_u32(c);
	if (count > LS_OP_INTS)
		return false;
	op->int_count = (int)count;
	for (uint32_t i = 0; i < count; i++)
		op->ints[i] = (int64_t)ls_cursor_u64(c);
	count = ls_cursor_u32(c);
	if (count > LS_OP_NUMS)
		return false;
	op->num_count = (int)count;
	for (uint32_t i = 0; i < count; i++)
		op->nums[i] = ls_cursor_f64(c);
	return !c->failed;
}

static bool read_outputs(ls_cursor *c, ls_judge__record *out)
{
	uint32_t outputs = ls_cursor_u32(c);
	if (outputs < 1 || outputs > LS_OP_OUTPUTS)
		return false;
	out->op.output_count = (int)outputs;
	for (uint32_t o = 0; o < outputs; o++)
		if (!read_output(c, &out->output[o]))
			return false;
	return true;
}

ls_status ls_judge__record_read(ls_judge__record *out, const uint8_t *bytes, size_t len)
{
	ls_cursor c = ls_cursor_over(bytes, len);
	const uint8_t *tag = ls_cursor_take(&c, strlen(LS_TAG_OP));
	ls_status status;
	*out = (ls_judge__record){.index = ls_cursor_u32(&c)};
	ls_cursor_str(&c, out->op.kind, sizeof out->op.kind);
	if (!tag || memcmp(tag, LS_TAG_OP, strlen(LS_TAG_OP)) || !read_attributes(&c, &out->op))
		return LS_ERR_INPUT;
	status = read_inputs(&c, out);
	if (status == LS_OK && !(read_outputs(&c, out) && ls_cursor_done(&c)))
		status = LS_ERR_INPUT;
	return status;
}

void ls_judge__record_free(ls_judge__record *record)
{
	ls_free(record->input);
	record->input = NULL;
}

static bool read_entry(ls_cursor *c, ls_judge__entry *out)
{
	const uint8_t *root;
	ls_cursor_str(c, out->name, sizeof out->name);
	out->dtype = (ls_dtype)ls_cursor_u8(c);
	if (!read_shape(c, &out->shape))
		return false;
	root = ls_cursor_take(c, LS_HASH_BYTES);
	if (root)
		memcpy(out->root.byte, root, LS_HASH_BYTES);
	return root != NULL;
}

bool ls_judge__state_leaf_read(ls_judge__entry *out, const uint8_t *bytes, size_t len)
{
	ls_cursor c = ls_cursor_over(bytes, len);
	const uint8_t *tag = ls_cursor_take(&c, strlen(LS_TAG_STATE));
	return tag && !memcmp(tag, LS_TAG_STATE, strlen(LS_TAG_STATE)) && read_entry(&c, out) && ls_cursor_done(&c);
}

bool ls_judge__step_leaf_read(ls_judge__entry *out, uint32_t op, uint32_t output, const uint8_t *bytes, size_t len)
{
	ls_cursor c = ls_cursor_over(bytes, len);
	const uint8_t *tag = ls_cursor_take(&c, strlen(LS_TAG_STEP));
	uint32_t count;
	ls_judge__entry entry;
	if (!tag || memcmp(tag, LS_TAG_STEP, strlen(LS_TAG_STEP)) || ls_cursor_u32(&c) != op)
		return false;
	count = ls_cursor_u32(&c);
	if (output >= count || count > LS_OP_OUTPUTS)
		return false;
	for (uint32_t o = 0; o < count; o++)
		if (!read_entry(&c, o == output ? out : &entry))
			return false;
	return ls_cursor_done(&c);
}

/* A step leaf does not say on which grid a value lies, and only reshape asks, whose output lies on the same. */
static bool add_given(ls_program *program, const ls_judge__entry *given, int bits, int number, int *value)
{
	int no_inputs = 0;
	ls_op op = {.kind = "given", .inputs = &no_inputs, .output_count = 1};
	ls_value v = {.dtype = given->dtype, .bits = bits, .shape = given->shape};
	snprintf(v.name, sizeof v.name, "given %d", number);
	*value = ls_program_add_op(program, &op, &v);
	return *value >= 0;
}

static bool same_output(const ls_value *a, const ls_value *b)
{
	return a->dtype == b->dtype && a->bits == b->bits && ls_shape_equal(&a->shape, &b->shape);
}

static bool add_op(ls_program *program, const ls_judge__record *record, int *inputs)
{
	const ls_op_def *def = ls_op_find(record->op.kind);
	ls_value outputs[LS_OP_OUTPUTS] = {0};
	ls_op op = record->op;
	op.inputs = inputs;
	op.output_count = 0;
	if (!def || def->class == LS_OP_COMMIT || !def->infer(program, &op, outputs) || op.output_count != record->op.output_count)
		return false;
	for (int o = 0; o < op.output_count; o++) {
		if (!same_output(&outputs[o], &record->output[o]))
			return false;
		memcpy(outputs[o].name, record->output[o].name, sizeof outputs[o].name);
	}
	return ls_program_add_op(program, &op, outputs) >= 0;
}

ls_status ls_judge__program(ls_program **out, const ls_judge__record *record, const ls_judge__entry *given, int bits, int state_bits)
{
	int count = record->op.input_count;
	int *inputs = ls_alloc((size_t)count, sizeof *inputs);
	ls_status status = inputs ? ls_program_open(out, bits, state_bits, NULL) : LS_ERR_NOMEM;
	bool good = status == LS_OK;
	for (int i = 0; good && i < count; i++)
		good = add_given(*out, &given[i], record->output[0].bits, i, &inputs[i]);
	good = good && add_op(*out, record, inputs);
	ls_free(inputs);
	if (good)
		return LS_OK;
	if (status == LS_OK) // the program says whether it was memory
		status = ls_program_finish(*out, NULL) == LS_ERR_NOMEM ? LS_ERR_NOMEM : LS_ERR_INPUT;
	ls_program_free(*out);
	*out = NULL;
	return status;
}
