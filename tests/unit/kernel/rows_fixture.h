/* One op on random inputs: its row kernel, with the loops of every instruction set, against its definition, bit for bit. */
#ifndef LS_TEST_KERNEL_ROWS_FIXTURE_H
#define LS_TEST_KERNEL_ROWS_FIXTURE_H

#include "kernel/rows.h"
#include "kernel/table.h"
#include "kernel/cases.h"

enum { MOST_INPUTS = 8 };

// A program of one op under test, whose inputs are tensors of the state or the outputs of a `load`.
struct fixture {
	ls_program *program;
	random_source random;
	int op;
	int64_t in_count[MOST_INPUTS], out_count[LS_OP_OUTPUTS];
	void *in[MOST_INPUTS], *out[LS_OP_OUTPUTS], *expected[LS_OP_OUTPUTS];
	ls_samples samples;
	uint8_t *bytes;
	int64_t sample_size;
};

static inline const uint8_t *sample(void *context, int64_t index)
{
	const struct fixture *f = context;
	return f->bytes + index * f->sample_size;
}

static inline int32_t label(void *context, int64_t index)
{
	return (int32_t)(index * 7 % 10);
}

static inline int32_t token(void *context, int64_t index)
{
	return (int32_t)(index * 13 % 11 - (index % 17 == 0)); // −1 now and then
}

static inline void fixture_open(struct fixture *f, uint32_t seed, int bits, int state_bits)
{
	*f = (struct fixture){.random = random_from(seed)};
	f->samples = (ls_samples){.context = f, .sample = sample, .label = label, .token = token};
	assert_int_equal(ls_program_open(&f->program, bits, state_bits, NULL), LS_OK);
}

static inline int state_2(struct fixture *f, const char *name, int64_t a, int64_t b)
{
	ls_shape shape = {2, {a, b}};
	return ls_program_add_state(f->program, name, &shape);
}

static inline int state_4(struct fixture *f, const char *name, int64_t n, int64_t c, int64_t h, int64_t w)
{
	ls_shape shape = {4, {n, c, h, w}};
	return ls_program_add_state(f->program, name, &shape);
}

// Labels can only come from a load.
static inline int labels_from_load(struct fixture *f, int64_t batch)
{
	ls_op_spec spec = {.kind = "load", .name = "batch", .ints = {batch, batch, 0, 0, 1, 1, 1}, .int_count = 7,
	                   .nums = {0, 1}, .num_count = 2};
	return ls_op_append(f->program, &spec) + 1;
}

static inline void draw_labels(struct fixture *f, int32_t *to, int64_t count, int64_t classes)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = (int32_t)draw(&f->random, i % 11 ? 0 : -1, classes - (i % 7 != 0)); // a few outside
}

static inline void fixture_append(struct fixture *f, const ls_op_spec *spec, values kind)
{
	int value = ls_op_append(f->program, spec);
	const ls_op *op;
	assert_true(value >= 0);
	f->op = ls_program_value(f->program, value)->op;
	op = ls_program_op(f->program, f->op);
	for (int i = 0; i < op->input_count; i++) {
		const ls_value *v = ls_program_value(f->program, op->inputs[i]);
		f->in_count[i] = ls_shape_count(&v->shape);
		f->in[i] = ls_alloc((size_t)f->in_count[i], 4);
		if (v->dtype == LS_I32)
			draw_labels(f, f->in[i], f->in_count[i], ls_program_value(f->program, op->inputs[0])->shape.dim[1]);
		else
			for (int64_t k = 0; k < f->in_count[i]; k++)
				((float *)f->in[i])[k] = ls_round_f32(draw_value(&f->random, kind), v->bits);
	}
	for (int o = 0; o < op->output_count; o++) {
		f->out_count[o] = ls_shape_count(&ls_program_value(f->program, op->outputs[o])->shape);
		f->out[o] = ls_alloc((size_t)f->out_count[o], 4);
		f->expected[o] = ls_alloc((size_t)f->out_count[o], 4);
		memset(f->out[o], 0xa5, (size_t)f->out_count[o] * 4);
	}
}

static inline ls_op_call fixture_call(struct fixture *f, ls_pool *pool)
{
	const ls_op *op = ls_program_op(f->program, f->op);
	return (ls_op_call){.program = f->program, .op = op, .def = ls_op_find(op->kind), .step = 3,
	                    .in = (const void *const *)f->in, .out = f->out, .samples = &f->samples, .pool = pool};
}

static inline bool outputs_equal(const struct fixture *f)
{
	bool equal = true;
	for (int o = 0; o < LS_OP_OUTPUTS && f->out[o]; o++)
		equal = equal && !memcmp(f->out[o], f->expected[o], (size_t)f->out_count[o] * 4);
	return equal;
}

// Outputs that may lie over an input do so.
static inline void check_in_place(struct fixture *f, const ls_op_call *call)
{
	for (int o = 0; o < call->op->output_count; o++) {
		int share = call->def->shares[o] - 1;
		void *kept;
		if (share < 0 || share >= call->op->input_count)
			continue;
		memcpy(f->out[o], f->in[share], (size_t)f->in_count[share] * 4);
		kept = f->in[share];
		f->in[share] = f->out[o];
		assert_true(ls_kernel__rows_run(call));
		f->in[share] = kept;
		if (!outputs_equal(f))
			fail_msg("%s in place differs from its definition", call->op->kind);
	}
}

// Runs the kernel with the loops of every instruction set that is here.
static inline void check_loops(struct fixture *f, ls_op_call *call)
{
	static const char *const isa[] = {"avx512", "avx2", "portable"};
	for (int i = 0; i < 3; i++) {
		ls_kernel_table table;
		if (ls_kernel__table_init(&table, isa[i], NULL) != LS_OK)
			continue;
		call->loops = table.loops;
		for (int o = 0; o < call->op->output_count; o++)
			memset(f->out[o], 0xa5, (size_t)f->out_count[o] * 4);
		assert_true(ls_kernel__rows_run(call));
		if (!outputs_equal(f))
			fail_msg("%s with %s differs from its definition", call->op->kind, isa[i]);
		check_in_place(f, call);
	}
	call->loops = NULL;
}

// Runs reference and kernel, and then the twin: with other numbers for the first input the answer has to change.
static inline void fixture_check(struct fixture *f, ls_pool *pool, bool has_kernel)
{
	ls_op_call call = fixture_call(f, pool);
	call.out = f->expected;
	ls_op_reference(&call);
	call.out = f->out;
	assert_int_equal(ls_kernel__rows_run(&call), has_kernel);
	if (!has_kernel)
		return;
	check_loops(f, &call);
	for (int64_t k = 0; call.op->input_count && k < f->in_count[0]; k++)
		((float *)f->in[0])[k] = 1 + 0.125f * (float)(k * 37 % 101);
	assert_true(ls_kernel__rows_run(&call));
	if (call.op->input_count)
		assert_false(outputs_equal(f));
}

static inline void fixture_close(struct fixture *f)
{
	for (int i = 0; i < MOST_INPUTS; i++)
		ls_free(f->in[i]);
	for (int o = 0; o < LS_OP_OUTPUTS; o++) {
		ls_free(f->out[o]);
		ls_free(f->expected[o]);
	}
	ls_free(f->bytes);
	ls_program_free(f->program);
}

static inline ls_pool *pool_of_two(void)
{
	ls_pool *pool;
	assert_int_equal(ls_pool_open(&pool, 2, NULL), LS_OK);
	return pool;
}

static const values kinds[] = {NORMAL, WIDE, INTEGERS, SPECIAL};
static const int grids[] = {32, 32, 19, 16};

#endif
