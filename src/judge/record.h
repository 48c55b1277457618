/* Internal to src/judge: an op's record, read from bytes, and the program of that one op. */
#ifndef LS_JUDGE_RECORD_H
#define LS_JUDGE_RECORD_H

#include <lockstep/op.h>

typedef struct ls_judge__source {
	uint32_t source, place; /* spec/encodings.md, section 3 */
} ls_judge__source;

#define LS_JUDGE__INPUTS_MAX 65536

typedef struct ls_judge__record {
	uint32_t index;
	ls_op op; /* kind and attributes; its `inputs` stays NULL */
	ls_judge__source *input;
	ls_value output[LS_OP_OUTPUTS];
} ls_judge__record;

/* LS_ERR_INPUT where the bytes are no record; LS_ERR_NOMEM. Release with ls_judge__record_free, also after a failure. */
ls_status ls_judge__record_read(ls_judge__record *out, const uint8_t *bytes, size_t len);
void ls_judge__record_free(ls_judge__record *record);

/* What a step or state leaf says about one tensor; the name is copied. */
typedef struct ls_judge__entry {
	char name[LS_COMMIT_NAME_MAX + 1];
	ls_dtype dtype;
	ls_shape shape;
	ls_hash root;
} ls_judge__entry;

/* Reads a state leaf, or output `output` of the step leaf of op `op`. */
bool ls_judge__state_leaf_read(ls_judge__entry *out, const uint8_t *bytes, size_t len);
bool ls_judge__step_leaf_read(ls_judge__entry *out, uint32_t op, uint32_t output, const uint8_t *bytes, size_t len);

/* A program that holds `given` values and this one op over them, its shape rule having been asked: so element() and
 * product() of strangers' records are as safe as of our own. LS_ERR_INPUT where the rule does not give the record's outputs;
 * LS_ERR_NOMEM. */
ls_status ls_judge__program(ls_program **out, const ls_judge__record *record, const ls_judge__entry *given, int bits, int state_bits);

#endif
