#include <lockstep/program.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct ls_program {
	int bits, state_bits, states;
	ls_value *value;
	int values, value_room;
	ls_op *op;
	int ops, op_room;
	ls_error error; // the first failure while building
};

enum { MAX_VALUES = 1 << 20, MAX_INPUTS = 1 << 16 };
#define MAX_ELEMENTS (INT64_C(1) << 40)

ls_status ls_program_open(ls_program **out, int bits, int state_bits, ls_error *err)
{
	ls_program *p;
	*out = NULL;
	if (bits < 16 || bits > 32 || state_bits < 16 || state_bits > 32)
		return ls_error_set(err, LS_ERR_USAGE, "grid: found %d and %d, expected 16 to 32", bits, state_bits);
	p = ls_alloc(1, sizeof *p);
	if (!p)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a program");
	p->bits = bits;
	p->state_bits = state_bits;
	*out = p;
	return LS_OK;
}

void ls_program_free(ls_program *p)
{
	if (!p)
		return;
	for (int i = 0; i < p->ops; i++)
		ls_free(p->op[i].inputs);
	ls_free(p->op);
	ls_free(p->value);
	ls_free(p);
}

int ls_program_ops(const ls_program *p) { return p->ops; }
int ls_program_values(const ls_program *p) { return p->values; }
int ls_program_states(const ls_program *p) { return p->states; }
int ls_program_bits(const ls_program *p) { return p->bits; }
int ls_program_state_bits(const ls_program *p) { return p->state_bits; }
bool ls_program_failed(const ls_program *p) { return p->error.status != LS_OK; }

const ls_op *ls_program_op(const ls_program *p, int op)
{
	return op >= 0 && op < p->ops ? &p->op[op] : NULL;
}

const ls_value *ls_program_value(const ls_program *p, int value)
{
	return value >= 0 && value < p->values ? &p->value[value] : NULL;
}

int ls_program_find(const ls_program *p, const char *name)
{
	for (int i = 0; i < p->values; i++)
		if (!strcmp(p->value[i].name, name))
			return i;
	return -1;
}

int ls_program_fail(ls_program *p, ls_status status, const char *format, ...)
{
	va_list args;
	if (p->error.status != LS_OK)
		return -1;
	p->error.status = status;
	va_start(args, format);
	vsnprintf(p->error.text, sizeof p->error.text, format, args);
	va_end(args);
	return -1;
}

/* Doubles *room of an array of `size`-byte items until it holds `want`. */
static bool grow(ls_program *p, void **array, int *room, int want, size_t size)
{
	int bigger = *room ? *room : 16;
	void *copy;
	if (want <= *room)
		return true;
	while (bigger < want)
		bigger *= 2;
	copy = bigger <= MAX_VALUES ? ls_alloc((size_t)bigger, size) : NULL;
	if (!copy) {
		ls_program_fail(p, LS_ERR_NOMEM, "no memory for a program of %d entries", want);
		return false;
	}
	if (*array)
		memcpy(copy, *array, (size_t)*room * size);
	ls_free(*array);
	*array = copy;
	*room = bigger;
	return true;
}

static bool shape_sane(const ls_shape *shape)
{
	int64_t count = 1;
	if (shape->rank < 0 || shape->rank > LS_RANK_MAX)
		return false;
	for (int i = 0; i < shape->rank; i++) {
		if (shape->dim[i] < 1 || shape->dim[i] > MAX_ELEMENTS / count)
			return false;
		count *= shape->dim[i];
	}
	return true;
}

static int add_value(ls_program *p, const ls_value *value, int op, int output)
{
	ls_value *v;
	if (!value->name[0] || ls_program_find(p, value->name) >= 0)
		return ls_program_fail(p, LS_ERR_INTERNAL, "value name '%s' is empty or used twice", value->name);
	if (!shape_sane(&value->shape))
		return ls_program_fail(p, LS_ERR_INPUT, "value '%s': its shape is empty or too large", value->name);
	if (!grow(p, (void **)&p->value, &p->value_room, p->values + 1, sizeof *p->value))
		return -1;
	v = &p->value[p->values];
	*v = *value;
	v->op = op;
	v->output = output;
	return p->values++;
}

int ls_program_add_state(ls_program *p, const char *name, const ls_shape *shape)
{
	ls_value v = {.dtype = LS_F32, .bits = p->state_bits, .shape = *shape};
	int added;
	if (ls_program_failed(p))
		return -1;
	if (p->ops)
		return ls_program_fail(p, LS_ERR_INTERNAL, "state '%s' declared after the first op", name);
	if (p->states && strcmp(p->value[p->states - 1].name, name) >= 0)
		return ls_program_fail(p, LS_ERR_INTERNAL, "state '%s' is not in ascending order of name", name);
	if (snprintf(v.name, sizeof v.name, "%s", name) >= (int)sizeof v.name)
		return ls_program_fail(p, LS_ERR_INPUT, "state name '%s' is too long", name);
	added = add_value(p, &v, -1, p->states);
	if (added >= 0)
		p->states++;
	return added;
}

static bool op_sane(ls_program *p, const ls_op *op)
{
	bool counts = op->int_count >= 0 && op->int_count <= LS_OP_INTS && op->num_count >= 0 && op->num_count <= LS_OP_NUMS &&
	              op->input_count >= 0 && op->input_count <= MAX_INPUTS && op->output_count >= 1 &&
	              op->output_count <= LS_OP_OUTPUTS;
	if (!counts) {
		ls_program_fail(p, LS_ERR_INTERNAL, "op '%s': too many attributes, inputs or outputs", op->kind);
		return false;
	}
	for (int i = 0; i < op->input_count; i++)
		if (op->inputs[i] < 0 || op->inputs[i] >= p->values) {
			ls_program_fail(p, LS_ERR_INTERNAL, "op '%s': input %d is value %d of %d", op->kind, i, op->inputs[i], p->values);
			return false;
		}
	return true;
}

int ls_program_add_op(ls_program *p, const ls_op *op, const ls_value *outputs)
{
	ls_op *copy;
	int first = p->values;
	if (ls_program_failed(p) || !op_sane(p, op) || !grow(p, (void **)&p->op, &p->op_room, p->ops + 1, sizeof *p->op))
		return -1;
	copy = &p->op[p->ops];
	*copy = *op;
	copy->inputs = ls_alloc((size_t)op->input_count, sizeof *copy->inputs);
	if (!copy->inputs)
		return ls_program_fail(p, LS_ERR_NOMEM, "no memory for op '%s'", op->kind);
	if (op->input_count)
		memcpy(copy->inputs, op->inputs, (size_t)op->input_count * sizeof *op->inputs);
	p->ops++;
	for (int o = 0; o < op->output_count; o++) {
		copy->outputs[o] = add_value(p, &outputs[o], p->ops - 1, o);
		if (copy->outputs[o] < 0)
			return -1;
	}
	return first;
}

ls_status ls_program_finish(const ls_program *p, ls_error *err)
{
	if (ls_program_failed(p))
		return ls_error_set(err, p->error.status, "%s", p->error.text);
	if (!p->ops || strcmp(p->op[p->ops - 1].kind, "commit"))
		return ls_error_set(err, LS_ERR_INTERNAL, "a program must end in the op 'commit'");
	return LS_OK;
}
