/* Internal to src/judge: what the judge reads of a job's signed bytes. It knows the types that fields are written in and that
 * those of `arithmetic` come last (spec/encodings.md, section 5); the fields before them it only steps over. */
#ifndef LS_JUDGE_JOB_H
#define LS_JUDGE_JOB_H

#include <lockstep/op.h>

typedef enum ls_judge__mode {
	LS_JUDGE__LOGGED = 0,
	LS_JUDGE__PLAIN = 1,
	LS_JUDGE__EXACT = 2,
	LS_JUDGE__PINNED = 3
} ls_judge__mode;

typedef struct ls_judge__job {
	ls_judge__mode mode;
	int bits, state_bits;
	bool fp32;
	bool empirical; /* thresholds are the paper's: what they say of a product decides nothing */
	ls_encoding encoding;
	int64_t depth;
	ls_hash program, init, data, import;
	uint8_t trainer[32], referee[32];
} ls_judge__job;

/* False where the bytes are no job that this version knows. */
bool ls_judge__job_read(ls_judge__job *out, const uint8_t *bytes, size_t len);

#endif
