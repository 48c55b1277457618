/* Lockstep: the ops. One file per op under src/op/, one row in src/op/table.c.
 *
 * An op's file holds its shape rule, its gradient (which emits ops), the exact definition of one output element, and,
 * for products, the description from which every platform and the judge work. Nothing here is fast; fast kernels
 * (src/kernel) stand in for these definitions where they return the same bits.
 */
#ifndef LOCKSTEP_OP_H
#define LOCKSTEP_OP_H

#include <lockstep/num.h>
#include <lockstep/program.h>

/* The four classes of spec/arithmetic.md, and the two ends of a program. */
typedef enum ls_op_class {
	LS_OP_PRODUCT = 1,
	LS_OP_SUM = 2,
	LS_OP_FUNCTION = 3,
	LS_OP_ELEMENTWISE = 4,
	LS_OP_LOAD = 5,
	LS_OP_COMMIT = 6
} ls_op_class;

/* ---- products: C(i, j) = Σ_k A(i, k)·B(j, k) + bias, k ascending ---- */

/* Which elements of a convolution's tensor (N, channels, height, width) meet which tap. Row r of the matrix is a
 * position (n, oy, ox) of a grid of rows out_height × out_width per image; column k is a tap (c, ky, kx).
 * y = (oy·step + offset + ky·tap)/divisor where that divides and 0 ≤ y < height, else the tap is no term;
 * x likewise, with offset + skew. */
typedef struct ls_patches {
	int64_t channels, height, width;
	int64_t kernel_height, kernel_width;
	int64_t out_height, out_width;
	int64_t step, offset, tap, divisor;
	int64_t skew;
} ls_patches;

typedef enum ls_operand_kind {
	LS_OPERAND_STRIDED = 1,    /* index = row·row_stride + ⌊k/inner⌋·outer_stride + (k mod inner)·inner_stride */
	LS_OPERAND_PATCHES = 2,    /* row = position, k = tap */
	LS_OPERAND_PATCHES_T = 3   /* row = tap, k = position */
} ls_operand_kind;

/* A tensor that is many matrices, one for each image and head of attention, say. Rows are numbered through all of them:
 * row r is row r mod rows of slice s = ⌊r/rows⌋, whose elements lie ⌊s/group⌋·outer_stride + (s mod group)·inner_stride
 * behind those of slice 0. */
typedef struct ls_slicing {
	int64_t rows; /* of one slice; 0: there is only one */
	int64_t group;
	int64_t outer_stride, inner_stride;
} ls_slicing;

/* Positions that are no terms, by the row's number in its slice. */
typedef enum ls_mask {
	LS_MASK_NONE = 0,
	LS_MASK_UPTO = 1, /* terms have k ≤ row */
	LS_MASK_FROM = 2  /* terms have k ≥ row */
} ls_mask;

typedef struct ls_operand {
	ls_operand_kind kind;
	int input; /* position among the op's inputs */
	int64_t row_stride, inner, outer_stride, inner_stride; /* STRIDED */
	ls_patches patches;                                    /* PATCHES, PATCHES_T */
	ls_slicing slicing;                                    /* STRIDED only, as is the mask */
	ls_mask mask;
} ls_operand;

typedef enum ls_bias { LS_BIAS_NONE = 0, LS_BIAS_ROW = 1, LS_BIAS_COLUMN = 2 } ls_bias;

/* With slices, C(i, j) is made of row i of A, which lies in slice ⌊i/slicing.rows⌋, and of row j of that slice of B. */
typedef struct ls_product {
	int64_t rows, columns, terms; /* M (of all slices), N (of one), K without the bias */
	ls_operand a, b;              /* a: rows × terms; b: columns × terms in each slice */
	ls_bias bias;                 /* bias[i] or bias[j] is one more term, times 1 */
	int bias_input;
	/* where C(i, j) lies in the output: i·row_stride + ⌊j/inner⌋·outer_stride + (j mod inner)·inner_stride */
	int64_t row_stride, inner, outer_stride, inner_stride;
	ls_slicing slicing; /* of the rows of C; those of A and B have as many slices. Only without bias, and with inner = columns */
	bool causal;        /* elements with j > i mod slicing.rows have no terms, and are +0 */
} ls_product;

/* Flat index into the operand's tensor, or −1 where (row, k) is no term. 0 ≤ row, k within the product's sizes; a row of b
 * is what ls_product_b_row says. */
int64_t ls_operand_index(const ls_operand *operand, int64_t row, int64_t k);
/* Where slice s begins. */
int64_t ls_slice_offset(const ls_slicing *slicing, int64_t s);
/* The row of b, numbered through all slices, that element (i, j) is made of; how many there are. */
int64_t ls_product_b_row(const ls_product *product, int64_t i, int64_t j);
int64_t ls_product_b_rows(const ls_product *product);
/* Has element (i, j) no terms at all? */
bool ls_product_masked(const ls_product *product, int64_t i, int64_t j);
int64_t ls_product_out_index(const ls_product *product, int64_t i, int64_t j);
/* Inverse of ls_product_out_index. */
void ls_product_locate(const ls_product *product, int64_t out_index, int64_t *i, int64_t *j);
/* K, plus one with a bias: what depth is computed from. */
int64_t ls_product_all_terms(const ls_product *product);

/* ---- how far a product may lie from E ---- */

/* τ of one kind of product op; kind "" stands for every kind. */
#define LS_THRESHOLD_KIND_MAX 31
typedef struct ls_threshold {
	char kind[LS_THRESHOLD_KIND_MAX + 1];
	double tau; /* 0 < τ < ½ */
} ls_threshold;

/* A job's arithmetic, as far as it decides B (spec/arithmetic.md). {0} is FP64, certified, with each product's default depth. */
typedef struct ls_arithmetic {
	bool fp32;     /* platforms sum chunks of LS_CHUNK_TERMS terms in FP32, and the chunks in FP64 */
	int64_t depth; /* d of every product; 0: ls_depth_default of each. FP64 only */
	const ls_threshold *thresholds; /* borrowed; NULL: certified bounds */
	int threshold_count;
} ls_arithmetic;

/* What a platform promises: the certified bound of this product. */
ls_bound ls_product_promise(const ls_arithmetic *arithmetic, const ls_product *product);
/* B of the rule for products of an op of this kind: the promise, or the window of its threshold. A kind without a
 * threshold keeps the promise. */
ls_bound ls_product_bound(const ls_arithmetic *arithmetic, const char *kind, const ls_product *product);

/* ---- one element ---- */

/* Raw training samples, as the data root commits to them. */
typedef struct ls_samples {
	void *context;
	const uint8_t *(*sample)(void *context, int64_t index); /* (C, H, W) bytes */
	int32_t (*label)(void *context, int64_t index);
	int32_t (*token)(void *context, int64_t index); /* `load_tokens` only: a token of the stream, by its place there */
} ls_samples;

/* Imported tensors, as the job's import root commits to them: a state tree whose tensors are numbered in order of name. */
typedef struct ls_imports {
	void *context;
	uint32_t (*word)(void *context, int64_t tensor, int64_t index);
} ls_imports;

/* Long sums in parts: an element's rsums are read block by block (num.h), in the order in which they are added. */
typedef struct ls_parts {
	void *context;
	bool (*given)(void *context, double *sum); /* the next block's sum; then its terms are not read */
	void (*made)(void *context, double sum);   /* the sum of a block that was not given */
} ls_parts;

/* What an element is defined from: the record, the step, and single words of inputs (whole tensors for an executor,
 * opened chunks for a judge). */
typedef struct ls_reader {
	const ls_program *program;
	const ls_op *op;
	uint64_t step; /* 1…N; 0 while initialising */
	void *context;
	uint32_t (*word)(void *context, int input, int64_t index); /* the 32-bit word of an input */
	const ls_samples *samples;                                 /* `load` only */
	const ls_imports *imports;                                 /* `import` only */
	const ls_parts *parts;                                     /* NULL: every term is read */
	int64_t first; /* where one sequence is computed by itself (by_sequence), what element 0 is in the whole output; only draws
	                * of random numbers depend on it */
} ls_reader;

static inline float ls_read_f32(const ls_reader *r, int input, int64_t index)
{
	return ls_f32_bits(r->word(r->context, input, index));
}
static inline int32_t ls_read_i32(const ls_reader *r, int input, int64_t index)
{
	return (int32_t)r->word(r->context, input, index);
}
const ls_value *ls_reader_input(const ls_reader *r, int input);
const ls_value *ls_reader_output(const ls_reader *r, int output);

/* E and S of one element of a product op. */
void ls_product_sum(const ls_reader *r, const ls_product *product, int64_t i, int64_t j, ls_sum *out);
/* The same of terms first … first + count − 1 alone; term K is the bias. */
void ls_product_sum_terms(const ls_reader *r, const ls_product *product, int64_t i, int64_t j, int64_t first, int64_t count, ls_sum *out);

/* Terms of a block of mode pinned. */
#define LS_PINNED_BLOCK 256

/* The value of one element in mode pinned, on a grid of `bits`: the definition that kernels must equal
 * (spec/arithmetic.md, 3.8). */
float ls_product_pinned(const ls_reader *r, const ls_product *product, int64_t i, int64_t j, int bits);

/* How far a pinned sum has come: the sum of the blocks before, the accumulator of this one, whether every factor was finite. */
typedef struct ls_pinned_state {
	float sum, acc;
	bool finite;
} ls_pinned_state;
#define LS_PINNED_STATE_START {0, 0, true}
/* Goes on over terms first … first + count − 1; term K is the bias. */
void ls_product_pinned_terms(const ls_reader *r, const ls_product *product, int64_t i, int64_t j, int64_t first, int64_t count,
                             ls_pinned_state *state);
/* The value after all terms. */
float ls_product_pinned_end(const ls_product *product, const ls_pinned_state *state, int bits);

/* ---- the table ---- */

struct ls_op_grad; /* autodiff's view, below */

typedef struct ls_op_def {
	const char *kind;
	ls_op_class class;
	/* Output o may take the memory of input shares[o] − 1 (0: none). Only where element i of every output reads nothing
	 * of that input but element i. */
	int shares[LS_OP_OUTPUTS];
	/* Where inputs hold sequences one behind the other, as many as the attribute "batch" says or the first dimension of squares
	 * (B, H, T, T), what the outputs hold of a sequence depends on that sequence alone: it may be computed by itself. */
	bool by_sequence;
	unsigned integers; /* bit i: input i is LS_I32; all others are LS_F32 */
	const char *const *int_names; /* names of the attributes, NULL-terminated, for inspection */
	const char *const *num_names;
	const char *const *output_names; /* suffixes of the outputs' names, "" for the first */
	/* Fills outputs[0…] (dtype, bits, shape; names are made by ls_op_append) and output_count from op's inputs and
	 * attributes; calls ls_program_fail and returns false where they do not fit. */
	bool (*infer)(ls_program *program, ls_op *op, ls_value *outputs);
	/* Emits the ops that compute the gradients; NULL where nothing flows back. */
	void (*gradient)(struct ls_op_grad *g);
	/* The 32-bit word of one output element; NULL for products and commit. */
	uint32_t (*element)(const ls_reader *r, int output, int64_t index);
	/* Blocks that ls_parts sees of an element of this output; NULL or 0: none, its sums are short. */
	int64_t (*parts)(const ls_program *program, const ls_op *op, int output);
	/* Products only. Pure function of shapes and attributes. */
	void (*product)(const ls_program *program, const ls_op *op, ls_product *out);
} ls_op_def;

/* The op's row, or NULL. */
const ls_op_def *ls_op_find(const char *kind);
const ls_op_def *const *ls_op_table(size_t *count);

/* ---- building ---- */

typedef struct ls_op_spec {
	const char *kind, *name; /* name of output 0; others get a suffix of the table's */
	int inputs[8], input_count;
	const int *more_inputs; /* instead of `inputs` where there are more (commit) */
	int64_t ints[LS_OP_INTS];
	int int_count;
	double nums[LS_OP_NUMS];
	int num_count;
} ls_op_spec;

/* Infers, checks, appends. Returns the number of output 0, or −1 (sticky failure on the program). */
int ls_op_append(ls_program *program, const ls_op_spec *spec);

/* What a gradient rule sees: `out_grad[o]` is the gradient of output o (−1: none flows); it stores in `in_grad[i]` the
 * value that is the gradient of input i (−1 where none). The driver adds where a value has several uses. */
typedef struct ls_op_grad {
	ls_program *program;
	const ls_op *op; /* a copy, valid while ops are appended */
	int out_grad[LS_OP_OUTPUTS];
	bool wanted[8]; /* whether anything needs the gradient of input i */
	int in_grad[8];
	int forward_ops;  /* the ops before the first gradient */
	const int *grads; /* of every value of theirs the gradient so far, −1 where none: whole for those that later ops made */
} ls_op_grad;

/* "d." and the name of input i, made unique: what a gradient rule calls the gradient of input i. */
void ls_op_grad_name(const ls_op_grad *g, int input, char out[LS_NAME_MAX]);

/* Learning-rate schedules: pinned FP64 expressions (spec/arithmetic.md), stated in src/op/schedule.c. */
typedef enum ls_schedule_kind {
	LS_SCHEDULE_CONSTANT = 0,
	LS_SCHEDULE_STEP = 1,
	LS_SCHEDULE_COSINE = 2,
	LS_SCHEDULE_LINEAR = 3
} ls_schedule_kind;
typedef struct ls_schedule {
	ls_schedule_kind kind;
	double lr, gamma;       /* gamma: factor of `step` */
	int64_t every;          /* steps between factors of `step` */
	int64_t warmup, steps;  /* linear warm-up; T */
} ls_schedule;
/* Learning rate of step t = 1…T. */
double ls_schedule_lr(const ls_schedule *schedule, uint64_t step);

/* ---- what an op's attributes mean in one step, for definitions and kernels ---- */

#define LS_DROPOUT_SITES_MAX (INT64_C(1) << 20)
/* Of `dropout`: element i is kept iff number first + i of the stream is below `below`, and then multiplied by scale. */
typedef struct ls_dropout {
	ls_stream stream;
	uint64_t first, below;
	double scale;
} ls_dropout;
ls_dropout ls_dropout_of(const ls_op *op, uint64_t step);

/* Of `adam`; unbias: 1 − βᵗ. */
typedef struct ls_adam {
	double lr, beta1, beta2, epsilon, decay, unbias1, unbias2;
	bool decoupled;
} ls_adam;
ls_adam ls_adam_of(const ls_op *op, uint64_t step);

/* Of `cross_entropy` and its gradient: labels other than −1, of which it takes the mean. */
int64_t ls_labels_counted(const int32_t *labels, int64_t count);
#define LS_LABEL_IGNORED (-1)
/* What the sum of `counted` losses is divided by: their number, times the op's micro-batches. */
double ls_loss_divisor(const ls_op *op, double counted);

/* ---- whole tensors ---- */

struct ls_loops;

/* One op on whole tensors. in[i], out[o] point at the values' words. */
typedef struct ls_op_call {
	const ls_program *program;
	const ls_op *op;
	const ls_op_def *def;
	uint64_t step;
	const void *const *in;
	void *const *out;
	const ls_samples *samples;
	const ls_imports *imports;
	ls_pool *pool;
	const struct ls_loops *loops; /* the inner loops that kernels use (src/kernel/loops.h); NULL: portable ones */
	int64_t first; /* as in ls_reader */
} ls_op_call;

/* Computes every output element by `element`: the reference that kernels must equal. Not for products or commit. */
void ls_op_reference(const ls_op_call *call);

#endif
