/* A program of a few ops over tensors that the test fills, evaluated op by op by the definitions. */
#ifndef LS_TEST_NORM_SUPPORT_H
#define LS_TEST_NORM_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lockstep/op.h>

enum { BENCH_VALUES = 96 };

typedef struct bench {
	ls_program *program;
	void *word[BENCH_VALUES]; /* of each value */
	uint64_t drawn;
} bench;

static inline void bench_open(bench *b, int bits)
{
	*b = (bench){0};
	assert_int_equal(ls_program_open(&b->program, bits, 32, NULL), LS_OK);
}

static inline void bench_close(bench *b)
{
	for (int i = 0; i < BENCH_VALUES; i++)
		ls_free(b->word[i]);
	ls_program_free(b->program);
}

static inline int64_t bench_count(const bench *b, int value)
{
	return ls_shape_count(&ls_program_value(b->program, value)->shape);
}

static inline float *bench_f32(bench *b, int value)
{
	if (!b->word[value])
		b->word[value] = ls_alloc((size_t)bench_count(b, value), 4);
	return b->word[value];
}

/* A tensor of the state with numbers centre ± spread. */
static inline int bench_tensor(bench *b, const char *name, ls_shape shape, double centre, double spread)
{
	ls_stream stream = {1, LS_PURPOSE_TEST, 0};
	int value = ls_program_add_state(b->program, name, &shape);
	assert_true(value >= 0);
	for (int64_t i = 0; i < bench_count(b, value); i++)
		bench_f32(b, value)[i] = ls_f32(centre + spread * (2 * ls_random_uniform(&stream, b->drawn++) - 1));
	return value;
}

static inline int bench_op(bench *b, const ls_op_spec *spec)
{
	int value = ls_op_append(b->program, spec);
	if (value < 0)
		print_message("op '%s' was refused\n", spec->kind);
	assert_true(value >= 0);
	return value;
}

/* Evaluates every op in order, products by their exact sums. */
static inline void bench_run(bench *b, const ls_samples *samples)
{
	for (int i = 0; i < ls_program_ops(b->program); i++) {
		const ls_op *op = ls_program_op(b->program, i);
		const void *in[8];
		void *out[LS_OP_OUTPUTS];
		ls_op_call call = {.program = b->program, .op = op, .def = ls_op_find(op->kind), .step = 1, .in = in, .out = out,
		                   .samples = samples};
		for (int k = 0; k < op->input_count; k++)
			in[k] = b->word[op->inputs[k]];
		for (int o = 0; o < op->output_count; o++)
			out[o] = bench_f32(b, op->outputs[o]);
		ls_op_reference(&call);
	}
}

static inline int64_t bits_differ(const float *a, const float *b, int64_t n)
{
	int64_t differ = 0;
	for (int64_t i = 0; i < n; i++)
		differ += ls_bits_f32(a[i]) != ls_bits_f32(b[i]);
	return differ;
}

#endif
