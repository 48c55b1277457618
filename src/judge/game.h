/* Internal to src/judge: the game's memory, and who handles which turn. */
#ifndef LS_JUDGE_GAME_H
#define LS_JUDGE_GAME_H

#include "judge/job.h"
#include "judge/record.h"

#include <lockstep/game.h>

enum { LS_JUDGE__TRAINER = 0, LS_JUDGE__AUDITOR = 1 };

/* What a run's metrics and a turn say about one step. */
typedef struct ls_judge__step {
	ls_hash state;
	uint32_t loss;
	uint64_t rate;
} ls_judge__step;

struct ls_game {
	ls_status trouble; /* sticky */
	/* terms */
	uint8_t *terms_bytes; /* terms.job lies in it */
	ls_terms terms;
	ls_judge__job job;
	ls_hasher *hasher;
	ls_hash job_id, run, id;
	/* the transcript */
	ls_hash last; /* hash of the last turn */
	uint32_t turns;
	uint64_t clock; /* of the last receipt */
	ls_role role;
	ls_turn_kind kind;
	bool over;
	ls_decision result;
	/* claim and leaves */
	bool entry_road;
	uint64_t leaf, named_step;
	uint32_t named_op;
	int64_t named_element;
	ls_leaf before, own[2]; /* leaf − 1, agreed; own[AUDITOR] only on the road of two roots */
	ls_judge__record commit;
	uint32_t ops;
	/* steps of the leaf */
	ls_judge__step *steps[2];
	uint64_t step_count[2];
	uint64_t step;
	bool has_before; /* false in step 0 */
	ls_hash state_before, claimed[2];
	bool has_claimed[2];
	uint32_t loss[2];
	/* the step tree */
	ls_hash *op_hash[2];
	uint32_t op_count[2], op;
	/* the op */
	ls_judge__record record;
	ls_judge__entry *given; /* its inputs */
	ls_program *program;    /* it alone, over them; NULL for commit */
	const ls_op_def *def;
	ls_product product;
	ls_hash roots[2][LS_OP_OUTPUTS];
	int output;
	/* its output's tensor */
	ls_hash node[2], group[2][LS_GROUP_FAN];
	uint64_t chunk, chunks;
	uint8_t words[2][4 * LS_CHUNK_WORDS];
	int64_t element;
	uint32_t word[2];
	int entry; /* −1: none */
	/* partial sums */
	int64_t sum_first, sum_terms;
	bool has_sum;
	ls_sum sum[2], children[2][LS_SUM_FAN];
	/* sums that are shown as one list: states of a pinned sum, or blocks of an rsum */
	int64_t parts, part; /* part: −1 until one is in question */
	uint8_t *list[2];
};

/* Each takes the payload of its turn; false where it is not acceptable, or trouble kept it from finding out, and then has changed
 * nothing that matters. */
typedef bool ls_judge__taker(ls_game *g, int side, ls_cursor *c);
ls_judge__taker ls_judge__take_claim, ls_judge__take_leaves, ls_judge__take_steps, ls_judge__take_ops, ls_judge__take_op,
	ls_judge__take_groups, ls_judge__take_chunk, ls_judge__take_entry, ls_judge__take_sums, ls_judge__take_open, ls_judge__take_state,
	ls_judge__take_loss;

/* ---- for the takers ---- */

void ls_judge__expect(ls_game *g, ls_role role, ls_turn_kind kind);
/* True for LS_OK. What is not the fault of the bytes that are read, as lack of memory, is remembered as trouble: then nothing is said
 * about them. */
bool ls_judge__ok(ls_game *g, ls_status status);
/* ls_alloc; NULL is trouble. */
void *ls_judge__alloc(ls_game *g, size_t count, size_t size);
/* Ends the game. */
void ls_judge__end(ls_game *g, ls_ruling ruling, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Ends it against whoever is wrong; at least one is. */
void ls_judge__end_wrong(ls_game *g, bool trainer, bool auditor, const char *why);
/* u32 length and bytes, borrowed; NULL where they are not there. */
const uint8_t *ls_judge__bytes(ls_cursor *c, size_t *len);
bool ls_judge__hash(ls_cursor *c, ls_hash *out);
/* Reads a path and checks that the leaf is number `index` of `size` under `root`. */
bool ls_judge__included(ls_game *g, ls_cursor *c, const ls_hash *root, uint64_t size, uint64_t index, const void *leaf, size_t len);
/* True iff the leaf's hash is `expected`. */
bool ls_judge__leaf_is(ls_game *g, const ls_hash *expected, const void *leaf, size_t len);
/* After the claim's place is settled: step, state before and what each side says comes after. */
void ls_judge__enter_step(ls_game *g, uint64_t step);
ls_judge_rules ls_judge__rules(const ls_game *g);
/* What a reader needs beside where it reads from. */
ls_reader ls_judge__reader(const ls_game *g);
/* The rule on the two words, given what the element must be. */
void ls_judge__rule(ls_game *g, const ls_judgement *judgement);
/* ---- sums: src/judge/sums.c ---- */
/* After an element of the op's output is named and its entry, if any, known. */
void ls_judge__enter_sums(ls_game *g);
bool ls_judge__is_pinned(const ls_game *g);
/* Bytes of one item of a list. */
size_t ls_judge__item(const ls_game *g);
/* After one leaf of sums has been computed: who is wrong about it. */
void ls_judge__rule_sum(ls_game *g, const ls_sum *sum);
void ls_judge__rule_item(ls_game *g, const uint8_t *item);

#endif
