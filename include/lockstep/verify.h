/* Lockstep: the judge. It recomputes one output element of one op from the words of the op's inputs, and says whether a
 * value that somebody claims for it is admissible. There is no engine in it: no kernels, no platform, no executor.
 * libls_verify.a is this header and what it includes.
 *
 * Inputs are read through ls_reader (op.h). A judge reads them from an ls_opening: chunks of tensors of which it knows
 * nothing but the roots, each shown to be part of its tensor by a Merkle proof.
 */
#ifndef LOCKSTEP_VERIFY_H
#define LOCKSTEP_VERIFY_H

#include <lockstep/op.h>

/* ---- one element ---- */

typedef enum ls_judge_mode {
	LS_JUDGE_EXACT = 0,
	LS_JUDGE_LOGGED = 1,
	LS_JUDGE_PINNED = 2
} ls_judge_mode;

/* As the job says. */
typedef struct ls_judge_rules {
	ls_judge_mode mode;       /* decides about products only */
	ls_arithmetic arithmetic; /* LOGGED: what B is; the other modes read none of it */
} ls_judge_rules;

#define LS_JUDGE_NO_ENTRY (-1)

typedef struct ls_judgement {
	uint32_t word;       /* the element's one admissible word, given the entry; R(E) where the entry is forged */
	ls_entry_kind entry; /* where one was given; else LS_ENTRY_REDUNDANT */
	bool two_valued;     /* LOGGED: a product with two admissible values; which one it is says the entry */
} ls_judgement;

/* Judges element `index` of output `output` of reader->op. `entry`: the bit that the rounding log has for it, or
 * LS_JUDGE_NO_ENTRY; only products in mode LOGGED may have one (LS_ERR_USAGE otherwise). LS_ERR_USAGE where there is no
 * such output or element, LS_ERR_UNSUPPORTED for `commit`, whose output is no element but the head of hashes
 * (ls_state_root). Every word that the definition needs is read, and no other. */
ls_status ls_judge_element(ls_judgement *out, const ls_reader *reader, const ls_judge_rules *rules, int output, int64_t index,
                           int entry, ls_error *err);

/* The same for element of a product op of kind `kind`, whose E and S are known. `bits`: its output's grid. */
void ls_judge_sum(ls_judgement *out, const ls_sum *sum, const ls_judge_rules *rules, const char *kind, const ls_product *product, int bits,
                  int entry);

typedef enum ls_claim {
	LS_CLAIM_ADMISSIBLE = 0,
	LS_CLAIM_WRONG = 1,  /* another word than the admissible one */
	LS_CLAIM_FORGED = 2, /* the entry names an inadmissible value, whatever word is claimed */
	LS_CLAIM_UNDECIDED = 3 /* some word that the definition needs was not opened */
} ls_claim;

/* "admissible", "wrong", "forged-entry", "undecided" */
const char *ls_claim_text(ls_claim claim);

/* ---- chunks of tensors that are known by their roots ---- */

typedef struct ls_opening ls_opening;

#define LS_OPENING_INPUTS_MAX 4096
#define LS_OPENING_CHUNKS_MAX 131072 /* 128 MiB of words; more are refused */

ls_status ls_opening_open(ls_opening **out, int inputs, ls_error *err);
void ls_opening_free(ls_opening *opening);

/* Says what tensor an input is, once per input and before its chunks: its root, its number of words, and the grid of its
 * values, or 0 where they are not FP32. LS_ERR_USAGE otherwise. */
ls_status ls_opening_tensor(ls_opening *opening, int input, const ls_hash *root, int64_t words, int bits, ls_error *err);

typedef enum ls_opened {
	LS_OPENED = 0,
	LS_OPENED_FOREIGN = 1, /* the proof does not show these chunks to be the tensor's; nothing was taken */
	LS_OPENED_OFF_GRID = 2 /* they are the tensor's, and some word of them is no number of its grid: its author is wrong */
} ls_opened;

/* Opens `count` chunks of an input, numbered strictly ascending, with their words one after the other: LS_CHUNK_WORDS each,
 * the tensor's last chunk with what is left. `proof` is a multiproof over the chunk hashes. What is not sane about
 * numbers or sizes makes the chunks foreign: they come from a party. LS_ERR_LIMIT beyond LS_OPENING_CHUNKS_MAX. */
ls_status ls_opening_add(ls_opening *opening, int input, const uint64_t *chunk, size_t count, const uint32_t *words,
                         size_t word_count, const ls_hash *proof, size_t proof_count, ls_opened *result, ls_error *err);

/* Makes the reader read from the opening, which forgets what was missing so far. The other fields stay the caller's. */
void ls_opening_reader(ls_opening *opening, ls_reader *reader);
/* The first word that was read since ls_opening_reader without having been opened; false where there is none. A reader
 * is given zero for such words. */
bool ls_opening_missing(const ls_opening *opening, int *input, int64_t *index);

/* Whether some opened chunk has not been read since ls_opening_reader: evidence holds no more than it has to. */
bool ls_opening_unread(const ls_opening *opening);

/* ls_judge_element over an opening, and what that makes of a claimed word. `reader` needs program, op and step, and what
 * load and import read; its context and function are set here. `judgement` (may be NULL) is meaningless where the claim
 * stays undecided. */
ls_status ls_judge_claim(ls_claim *out, ls_judgement *judgement, ls_opening *opening, const ls_reader *reader,
                         const ls_judge_rules *rules, int output, int64_t index, int entry, uint32_t claimed, ls_error *err);

#endif
