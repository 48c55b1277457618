/* Lockstep: the program, the fixed list of ops that one step executes.
 *
 * A program is built once (model, autodiff, optimizer append ops through src/op) and then read by everything that runs,
 * replays, disputes or judges a step. Values are numbered: first the tensors of the state before the step, then the
 * outputs of op 0, op 1, …. The last op is `commit`; its inputs are the state after the step, in the state's order.
 *
 * Building is sticky: the first failure is kept on the program, later calls do nothing and return −1, and
 * ls_program_finish reports it. So model code reads as a list of layers.
 */
#ifndef LOCKSTEP_PROGRAM_H
#define LOCKSTEP_PROGRAM_H

#include <lockstep/base.h>
#include <lockstep/commit.h>

#define LS_RANK_MAX 4
#define LS_NAME_MAX 96
#define LS_OP_INTS 12
#define LS_OP_NUMS 12
#define LS_OP_OUTPUTS 4

typedef enum ls_dtype {
	LS_F32 = 1, /* on a grid */
	LS_I32 = 2, /* labels */
	LS_ROOT = 3 /* 32 bytes, eight words: the output of commit */
} ls_dtype;

typedef struct ls_shape {
	int rank;
	int64_t dim[LS_RANK_MAX]; /* outermost first; row-major */
} ls_shape;

int64_t ls_shape_count(const ls_shape *shape);
bool ls_shape_equal(const ls_shape *a, const ls_shape *b);
/* "(32, 1, 28, 28)" */
void ls_shape_text(char *out, size_t out_size, const ls_shape *shape);

typedef struct ls_value {
	char name[LS_NAME_MAX];
	ls_dtype dtype;
	int bits; /* the grid of LS_F32 values */
	ls_shape shape;
	int op;     /* producing op, −1 for a tensor of the state before */
	int output; /* which of its outputs; for state tensors their position in the state */
} ls_value;

typedef struct ls_op {
	char kind[24]; /* names a row of the op table */
	int int_count, num_count, input_count, output_count;
	int64_t ints[LS_OP_INTS]; /* attributes; their meaning is the op's, see its file */
	double nums[LS_OP_NUMS];
	int *inputs; /* value numbers */
	int outputs[LS_OP_OUTPUTS];
} ls_op;

typedef struct ls_program ls_program;

/* `bits`: the grid of values; `state_bits`: of the state. */
ls_status ls_program_open(ls_program **out, int bits, int state_bits, ls_error *err);
void ls_program_free(ls_program *program);

/* Reading. Pointers are borrowed and valid until the program is appended to or freed. */
int ls_program_ops(const ls_program *program);
int ls_program_values(const ls_program *program);
int ls_program_states(const ls_program *program); /* values 0 … states−1 are the state before the step */
const ls_op *ls_program_op(const ls_program *program, int op);
const ls_value *ls_program_value(const ls_program *program, int value);
int ls_program_find(const ls_program *program, const char *name); /* value of that name, or −1 */
int ls_program_bits(const ls_program *program);
int ls_program_state_bits(const ls_program *program);

/* Building. Values of the state must be declared before the first op, in ascending order of name. */
int ls_program_add_state(ls_program *program, const char *name, const ls_shape *shape);
/* Appends an op; `outputs` gives name, dtype, bits and shape of each output. Returns the first output's number; the
 * others follow it. Checks that inputs exist and shapes are sane (1 ≤ dims, ≤ 2^40 elements); the meaning is checked by
 * the op's shape rule, which is why ls_op_append (op.h) is what builders call. */
int ls_program_add_op(ls_program *program, const ls_op *op, const ls_value *outputs);
/* Stores the program's first failure; later calls find it. Returns −1 so that a builder can return it. */
int ls_program_fail(ls_program *program, ls_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool ls_program_failed(const ls_program *program);
/* The first failure while building, or LS_OK where the program is whole: it ends in `commit`. */
ls_status ls_program_finish(const ls_program *program, ls_error *err);

/* The op's record as it is hashed: tag `ls1/op`, index, kind, attributes, input references, output names, dtypes, grids,
 * shapes (spec/encodings.md). */
void ls_program_record(const ls_program *program, int op, ls_buf *out);
/* Tree head over all records. */
ls_status ls_program_digest(const ls_program *program, ls_hash *out, ls_error *err);

#endif
