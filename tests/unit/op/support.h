/* A small interpreter of programs, straight from the op table: every element by its definition, products by their exact
 * sums. What an executor computes must be what this computes.
 */
#ifndef LS_TEST_OP_SUPPORT_H
#define LS_TEST_OP_SUPPORT_H

#include "base/support.h"

#include <lockstep/op.h>

#define SCENE_VALUES 512

typedef struct scene {
	ls_program *program;
	uint32_t *words[SCENE_VALUES]; // per value; given ones are filled in by the test
	const ls_samples *samples;
	uint64_t step, numbers; // how many random numbers were used
	bool pinned;            // products in mode pinned, else R(E)
} scene;

static inline void scene_open(scene *s, int bits, int state_bits)
{
	ls_error err = LS_ERROR_INIT;
	*s = (scene){.step = 1};
	assert_ok(ls_program_open(&s->program, bits, state_bits, &err));
}

static inline void scene_close(scene *s)
{
	for (int v = 0; v < SCENE_VALUES; v++)
		free(s->words[v]);
	ls_program_free(s->program);
}

static inline int64_t scene_count(const scene *s, int value)
{
	return ls_shape_count(&ls_program_value(s->program, value)->shape);
}

static inline float *scene_f32(const scene *s, int value)
{
	return (float *)s->words[value];
}

static inline uint32_t *scene_room(scene *s, int value)
{
	assert_in_range(value, 0, SCENE_VALUES - 1);
	if (!s->words[value])
		s->words[value] = calloc((size_t)scene_count(s, value), 4);
	assert_non_null(s->words[value]);
	return s->words[value];
}

/* The next random number, in (−1, 1). */
static inline double scene_random(scene *s)
{
	ls_stream stream = {9, LS_PURPOSE_TEST, 0};
	return 2 * ls_random_uniform(&stream, s->numbers++) - 1;
}

/* A value without an op's meaning, for ops to read; FP32 ones get random numbers of the program's grid. */
static inline int scene_given_as(scene *s, const char *name, ls_dtype dtype, ls_shape shape)
{
	ls_op op = {.kind = "given", .output_count = 1};
	ls_value v = {.dtype = dtype, .bits = ls_program_bits(s->program), .shape = shape};
	int value;
	snprintf(v.name, sizeof v.name, "%s", name);
	value = ls_program_add_op(s->program, &op, &v);
	assert_int_not_equal(value, -1);
	scene_room(s, value);
	for (int64_t i = 0; dtype == LS_F32 && i < scene_count(s, value); i++)
		scene_f32(s, value)[i] = ls_round_f64(scene_random(s), v.bits);
	return value;
}

static inline int scene_given(scene *s, const char *name, ls_shape shape)
{
	return scene_given_as(s, name, LS_F32, shape);
}

static inline uint32_t scene_word(void *context, int input, int64_t index)
{
	return ((uint32_t **)context)[input][index];
}

static inline void scene_product(scene *s, const ls_op *op, const ls_op_def *def, uint32_t **in)
{
	const ls_value *value = ls_program_value(s->program, op->outputs[0]);
	ls_reader reader = {.program = s->program, .op = op, .step = s->step, .context = in, .word = scene_word};
	ls_product p;
	def->product(s->program, op, &p);
	for (int64_t i = 0; i < p.rows; i++)
		for (int64_t j = 0; j < p.columns; j++) {
			ls_sum sum;
			ls_product_sum(&reader, &p, i, j, &sum);
			scene_f32(s, op->outputs[0])[ls_product_out_index(&p, i, j)] =
				s->pinned ? ls_product_pinned(&reader, &p, i, j, value->bits) : ls_sum_round(&sum, value->bits);
		}
}

/* Computes all values that are not given, in order. */
static inline void scene_run(scene *s)
{
	for (int i = 0; i < ls_program_ops(s->program); i++) {
		const ls_op *op = ls_program_op(s->program, i);
		const ls_op_def *def = ls_op_find(op->kind);
		uint32_t *in[64];
		ls_reader reader = {.program = s->program, .op = op, .step = s->step, .context = in, .word = scene_word,
		                    .samples = s->samples};
		if (!def || def->class == LS_OP_COMMIT)
			continue;
		for (int j = 0; j < op->input_count; j++)
			in[j] = scene_room(s, op->inputs[j]);
		for (int o = 0; o < op->output_count; o++)
			scene_room(s, op->outputs[o]);
		if (def->class == LS_OP_PRODUCT)
			scene_product(s, op, def, in);
		for (int o = 0; o < op->output_count && def->element; o++)
			for (int64_t e = 0; e < scene_count(s, op->outputs[o]); e++)
				s->words[op->outputs[o]][e] = def->element(&reader, o, e);
	}
}

/* Appends an op whose attributes follow the inputs; −1 where it is refused. */
static inline int scene_op(scene *s, const char *kind, const char *name, const int *inputs, int input_count, const int64_t *ints,
                           int int_count, const double *nums, int num_count)
{
	ls_op_spec spec = {.kind = kind, .name = name, .input_count = input_count, .int_count = int_count, .num_count = num_count};
	for (int i = 0; i < input_count; i++)
		spec.inputs[i] = inputs[i];
	for (int i = 0; i < int_count; i++)
		spec.ints[i] = ints[i];
	for (int i = 0; i < num_count; i++)
		spec.nums[i] = nums[i];
	return ls_op_append(s->program, &spec);
}

#define INTS(...) (int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t))
#define INPUTS(...) (int[]){__VA_ARGS__}, (int)(sizeof(int[]){__VA_ARGS__} / sizeof(int))
#define NUMS(...) (double[]){__VA_ARGS__}, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double))
#define NONE NULL, 0

/* Bits of every element; says where the first difference is. */
static inline bool same_words(const void *found, const void *expected, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		uint32_t a = ((const uint32_t *)found)[i], b = ((const uint32_t *)expected)[i];
		if (a != b) {
			print_message("element %lld: found %08x (%g), expected %08x (%g)\n", (long long)i, a, (double)ls_f32_bits(a), b,
			              (double)ls_f32_bits(b));
			return false;
		}
	}
	return true;
}

#endif
