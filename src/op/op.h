/* Internal to src/op: the rows of the table and what op files share. */
#ifndef LS_OP_OP_H
#define LS_OP_OP_H

#include <lockstep/op.h>

extern const ls_op_def ls_op__adam, ls_op__adaptive_avgpool, ls_op__adaptive_avgpool_grad, ls_op__add,
	ls_op__attention_mix, ls_op__attention_scores, ls_op__avgpool, ls_op__avgpool_grad, ls_op__batch_norm,
	ls_op__batch_norm_dinput, ls_op__causal_softmax, ls_op__causal_softmax_grad, ls_op__channel_dot,
	ls_op__channel_stats, ls_op__channel_sum, ls_op__clip_scale, ls_op__commit, ls_op__conv2d, ls_op__conv2d_dinput,
	ls_op__conv2d_dweight, ls_op__cross_entropy, ls_op__cross_entropy_grad, ls_op__dropout, ls_op__embedding,
	ls_op__embedding_grad, ls_op__gelu, ls_op__gelu_grad, ls_op__head_dot, ls_op__import, ls_op__init_const,
	ls_op__init_normal, ls_op__init_uniform, ls_op__join_columns, ls_op__layer_norm, ls_op__layer_norm_dinput,
	ls_op__layer_norm_sums, ls_op__load, ls_op__load_tokens, ls_op__matmul, ls_op__maxpool, ls_op__maxpool_grad,
	ls_op__position_add, ls_op__position_grad, ls_op__relu, ls_op__relu_grad, ls_op__reshape, ls_op__row_stats,
	ls_op__rsqrt_eps, ls_op__running_average, ls_op__scale, ls_op__scale_by, ls_op__sgd, ls_op__sigmoid,
	ls_op__sigmoid_grad, ls_op__softmax, ls_op__split_columns, ls_op__square_sum, ls_op__tanh, ls_op__tanh_grad;

/* The value that input i names while a shape rule runs. */
const ls_value *ls_op__input(const ls_program *program, const ls_op *op, int input);

/* Complains unless the op has between `least` and `most` inputs and exactly `ints`, `nums` attributes. */
bool ls_op__arity(ls_program *program, const ls_op *op, int least, int most, int ints, int nums);

/* Complains unless `condition`; the text says which op. */
bool ls_op__expect(ls_program *program, const ls_op *op, bool condition, const char *what);

/* An FP32 output of the program's grid. */
ls_value ls_op__f32(const ls_program *program, const ls_shape *shape);

/* R of the reader's output o. */
uint32_t ls_op__round(const ls_reader *r, int output, double x);

/* Adds a run of terms first … first + n − 1 to a sum, block by block where the reader asks for parts. `context` is handed on. */
typedef double (*ls_op__term)(const ls_reader *r, float context, int64_t index);
void ls_op__add_run(ls_rsum *sum, const ls_reader *r, ls_op__term term, float context, int64_t first, int64_t n);
/* The strided sum of terms first, first + stride, …, likewise. */
double ls_op__column_sum(const ls_reader *r, ls_op__term term, int64_t first, int64_t rows, int64_t stride);
/* Blocks of a run of n terms. */
int64_t ls_op__blocks(int64_t n);
/* Terms: x, and RNE32(x − mean)², of input 0. */
double ls_op__value(const ls_reader *r, float unused, int64_t index);
double ls_op__centred_square(const ls_reader *r, float mean, int64_t index);

/* Softmax over the `count` elements of input 0 from number `first` on: output 0 at `index`, or 1, their maximum, or 2, their sum. */
uint32_t ls_op__softmax_of(const ls_reader *r, int output, int64_t first, int64_t count, int64_t index);

/* Appends a gradient op with the given inputs and the op's own int attributes; stores it as the gradient of `input`. */
void ls_op__emit_grad(ls_op_grad *g, int input, const char *kind, const int *inputs, int input_count, const int64_t *ints,
                      int int_count);

/* The whole shape rule of an op without attributes whose one output has the shape of its one input, or of both. */
bool ls_op__infer_map(ls_program *program, ls_op *op, ls_value *out);
bool ls_op__infer_map_of_two(ls_program *program, ls_op *op, ls_value *out);

/* Appends the op's own kind and attributes on the gradient of output 0; stores it as the gradient of `input`. */
void ls_op__emit_same(ls_op_grad *g, int input);

/* base^n by square and multiply from the top bit, each product RNE64. */
double ls_op__power(double base, uint64_t n);

/* Complains unless the attributes are a schedule. */
bool ls_op__schedule_fits(ls_program *program, const ls_op *op, int64_t kind, int64_t every, int64_t warmup, int64_t steps);

/* Complains unless a loss op's `parts` is right. */
bool ls_op__parts_fit(ls_program *program, const ls_op *op);
/* Labels of that input that count. */
int64_t ls_op__labels_counted(const ls_reader *r, int input);

/* The number of the sample in row `in_batch` of this step's batch, for ops whose first attributes are {samples, batch, seed,
 * shuffle}. */
int64_t ls_op__sample_at(const ls_reader *r, int64_t in_batch);

#endif
