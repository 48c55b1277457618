#include <lockstep/graph.h>

#include <stdio.h>

typedef struct driver {
	ls_program *program;
	int values, ops; // of the forward part
	bool *active;    // depends on something wanted
	int *grad;       // gradient of each forward value, −1 where none yet
} driver;

static void mark_active(driver *d)
{
	for (int i = 0; i < d->ops; i++) {
		const ls_op *op = ls_program_op(d->program, i);
		bool any = false;
		for (int j = 0; j < op->input_count; j++)
			any |= d->active[op->inputs[j]];
		for (int j = 0; j < op->output_count; j++)
			d->active[op->outputs[j]] = any;
	}
}

/* Another use of a value: its gradients add up. */
static int accumulate(driver *d, int value, int old, int new)
{
	char name[LS_NAME_MAX];
	ls_op_spec spec = {.kind = "add", .name = name, .inputs = {old, new}, .input_count = 2};
	int uses = 2;
	do
		snprintf(name, sizeof name, "d.%.70s.sum%d", ls_program_value(d->program, value)->name, uses++);
	while (ls_program_find(d->program, name) >= 0);
	return ls_op_append(d->program, &spec);
}

static void through(driver *d, int index, int loss)
{
	ls_op op = *ls_program_op(d->program, index);
	const ls_op_def *def = ls_op_find(op.kind);
	ls_op_grad g = {.program = d->program, .op = &op, .forward_ops = d->ops, .grads = d->grad};
	bool reached = false;
	for (int o = 0; o < op.output_count; o++) {
		g.out_grad[o] = d->grad[op.outputs[o]];
		reached |= g.out_grad[o] >= 0 || op.outputs[o] == loss;
	}
	if (!reached || !d->active[op.outputs[0]] || op.input_count > 8)
		return;
	for (int i = 0; i < op.input_count; i++) {
		g.wanted[i] = d->active[op.inputs[i]];
		g.in_grad[i] = -1;
	}
	if (def->gradient)
		def->gradient(&g);
	else
		ls_program_fail(d->program, LS_ERR_UNSUPPORTED, "op '%s' has no gradient", op.kind);
	for (int i = 0; i < op.input_count; i++)
		if (g.in_grad[i] >= 0 && g.wanted[i]) {
			int *at = &d->grad[op.inputs[i]];
			*at = *at < 0 ? g.in_grad[i] : accumulate(d, op.inputs[i], *at, g.in_grad[i]);
		}
}

void ls_autodiff(ls_program *program, int loss, const int *wanted, int count, int *grads)
{
	driver d = {.program = program, .values = ls_program_values(program), .ops = ls_program_ops(program)};
	if (ls_program_failed(program))
		return;
	d.active = ls_alloc((size_t)d.values, sizeof *d.active);
	d.grad = ls_alloc((size_t)d.values, sizeof *d.grad);
	if (!d.active || !d.grad) {
		ls_program_fail(program, LS_ERR_NOMEM, "no memory to differentiate %d values", d.values);
		goto done;
	}
	for (int i = 0; i < d.values; i++)
		d.grad[i] = -1;
	for (int i = 0; i < count; i++)
		d.active[wanted[i]] = true;
	mark_active(&d);
	for (int i = d.ops - 1; i >= 0 && !ls_program_failed(program); i--)
		through(&d, i, loss);
	for (int i = 0; i < count; i++) {
		grads[i] = d.grad[wanted[i]];
		if (grads[i] < 0)
			ls_program_fail(program, LS_ERR_INTERNAL, "no gradient reaches '%s'", ls_program_value(program, wanted[i])->name);
	}
done:
	ls_free(d.active);
	ls_free(d.grad);
}
