/* Lockstep: deciding a dispute. The game between a trainer and an auditor as a state machine that only takes turns, and
 * the judgement at its end. No run directory, no engine, no network: everything is in the turns (spec/dispute.md).
 *
 * Players send turns to a referee, who countersigns each and gives it to the other; the referee is the key that the job names.
 * Without one nobody's clock counts, and silence decides nothing.
 *
 * Both players have signed heads of one run. The game goes down to the first leaf, step, op, element that they disagree on,
 * where everything that the element is computed from is agreed; its definition then says who is wrong. An evidence file
 * is the terms and all turns (spec/evidence.md), so judging one is playing the game again.
 */
#ifndef LOCKSTEP_GAME_H
#define LOCKSTEP_GAME_H

#include <lockstep/signature.h>
#include <lockstep/verify.h>

typedef enum ls_ruling {
	LS_RULING_TRAINER_WRONG = 0,
	LS_RULING_AUDITOR_WRONG = 1,
	LS_RULING_BOTH_WRONG = 2,
	LS_RULING_EVIDENCE_INVALID = 3, /* the file is not what players and referee would have written */
	LS_RULING_UNDECIDED = 4         /* the game is not over, or nothing that a definition decides is left */
} ls_ruling;

/* "trainer-wrong", "auditor-wrong", "both-wrong", "evidence-invalid", "undecided" */
const char *ls_ruling_text(ls_ruling ruling);

typedef struct ls_decision {
	ls_ruling ruling;
	bool trainer_signed, auditor_signed; /* their turns bear signatures that verify; without, the file convinces nobody else */
	bool refereed;                       /* each turn bears the referee's receipt */
	ls_hash job, run;
	uint64_t step; /* UINT64_MAX where the game did not come so far, as UINT32_MAX and −1 below */
	uint32_t op;
	char kind[24], name[LS_NAME_MAX]; /* of the op, and of the output or value in question */
	int64_t element;
	bool has_words; /* the three below mean something */
	uint32_t trainer_word, auditor_word, admissible_word;
	char reason[320];
} ls_decision;

/* ---- players ---- */

typedef enum ls_role { LS_ROLE_NONE = 0, LS_ROLE_TRAINER = 1, LS_ROLE_AUDITOR = 2, LS_ROLE_REFEREE = 3 } ls_role;

/* Which turn may come next; both players answer alike where no name is given. */
typedef enum ls_turn_kind {
	LS_TURN_CLAIM = 1,  /* auditor: which leaf, or which entry */
	LS_TURN_LEAVES = 2, /* trainer: its leaves there */
	LS_TURN_STEPS = 3,  /* state root, loss and rate after each step of the leaf */
	LS_TURN_OPS = 4,    /* leaf hashes of the step tree */
	LS_TURN_OP = 5,     /* the first op that differs: record (auditor) and roots of its outputs */
	LS_TURN_GROUPS = 6, /* hashes below a node of the output's tensor tree */
	LS_TURN_CHUNK = 7,  /* one chunk of it */
	LS_TURN_ENTRY = 8,  /* auditor: the frame of the rounding log */
	LS_TURN_SUMS = 9,   /* partial sums of one element */
	LS_TURN_OPEN = 10,  /* auditor: what the element is computed from */
	LS_TURN_STATE = 11, /* auditor: what the state root is computed from */
	LS_TURN_LOSS = 12,  /* auditor: the loss in the step tree */
	LS_TURN_SILENCE = 13 /* referee: the turn that was due has not come by the deadline */
} ls_turn_kind;

#define LS_TURN_BYTES_MAX (1u << 20) /* with its receipt */
#define LS_RECEIPT_BYTES (8 + LS_SIGNATURE_BYTES)
#define LS_TURNS_MAX 256
#define LS_EVIDENCE_BYTES_MAX (4u << 20)
#define LS_LEAF_STEPS_MAX 1024 /* steps of one leaf that a dispute can go into */

/* What both players agree to before the game; its digest is the dispute id. Heads bear signatures where keys are named. */
typedef struct ls_terms {
	const uint8_t *job; /* the signed bytes; borrowed */
	size_t job_len;
	uint8_t trainer[LS_KEY_BYTES], auditor[LS_KEY_BYTES]; /* zero: nobody signs for that side */
	uint8_t nonce[32];         /* of the run */
	uint8_t referee_nonce[32]; /* tells two disputes about the same heads apart */
	uint32_t deadline;         /* seconds that a player has for a turn, by the referee's receipts */
	ls_signed_head head[2];    /* trainer's, auditor's */
} ls_terms;

/* What is known of the disagreement so far; fields that are not reached yet are as in ls_decision. */
typedef struct ls_game_view {
	ls_role role;      /* whose turn it is; NONE: the game is over */
	ls_turn_kind kind; /* of that turn */
	bool entry_road;   /* the claim is a forged entry, and so far what it depends on is agreed */
	uint64_t leaf, first_step, step;
	uint32_t op, ops;
	int output;
	uint64_t chunk, chunks; /* GROUPS, CHUNK: the node covers chunks chunk … chunk + chunks − 1 of the output's tensor */
	int64_t element;
	int64_t sum_first, sum_terms; /* SUMS, OPEN of a product: the terms in question */
	int64_t parts, part;          /* SUMS, OPEN of a sum in blocks: how many there are (0: it is read whole), and which is in question */
} ls_game_view;

typedef struct ls_game ls_game;

/* The terms as bytes, and the game over them. LS_ERR_INPUT where terms contradict themselves or a head is not signed by
 * its key. */
ls_status ls_terms_encode(ls_buf *out, const ls_terms *terms, ls_error *err);
ls_status ls_game_open(ls_game **out, const void *terms, size_t len, ls_error *err);
void ls_game_free(ls_game *game);
void ls_game_look(const ls_game *game, ls_game_view *out);
uint32_t ls_game_turns(const ls_game *game); /* taken so far */
const ls_hash *ls_game_id(const ls_game *game); /* the dispute id */
/* Public keys of the players. */
void ls_game_keys(const ls_game *game, uint8_t trainer[LS_KEY_BYTES], uint8_t auditor[LS_KEY_BYTES]);
const uint8_t *ls_game_referee(const ls_game *game); /* public key; zero: the job names none */
uint32_t ls_game_deadline(const ls_game *game); /* seconds for a turn */
const ls_signed_head *ls_game_head(const ls_game *game, ls_role role); /* of trainer or auditor */
const ls_hash *ls_game_run(const ls_game *game); /* run id */
uint64_t ls_game_clock(const ls_game *game); /* time of the last receipt, in seconds since 1970; 0: none yet */
/* Appends a turn with this payload, signed by `key` (NULL: 64 zero bytes, for a side that names no key). */
ls_status ls_turn_make(ls_buf *out, const ls_game *game, const void *payload, size_t len, const ls_key *key, ls_error *err);
/* Appends the referee's receipt to the one turn in `turn`: time u64, no earlier than the last, and signature. NULL: 72 zero bytes, where
 * the job names no referee. */
ls_status ls_turn_countersign(ls_buf *turn, const ls_game *game, uint64_t seconds, const ls_key *referee, ls_error *err);
/* Appends the referee's own turn, with its receipt: whose turn it was has let the deadline pass. LS_ERR_USAGE before that, and
 * before the first turn. */
ls_status ls_silence_make(ls_buf *out, const ls_game *game, uint64_t seconds, const ls_key *referee, ls_error *err);
/* Plays a countersigned turn. LS_ERR_INPUT where it is not one that the player could make here: then nothing has changed, and it
 * counts as not made; LS_ERR_NOMEM likewise, and the same turn may be tried again. A turn that is well-formed and contradicts what its player said before ends the game. */
ls_status ls_game_take(ls_game *game, const void *turn, size_t len, ls_error *err);
/* Whether these bytes are a turn, without receipt, that its player has signed for the place that comes next: a second one
 * for a place is equivocation. */
ls_status ls_turn_is_signed(bool *out, ls_game *game, const void *turn, size_t len, ls_error *err);
/* Of a game that is over; otherwise UNDECIDED with what it waits for. */
void ls_game_decision(const ls_game *game, ls_decision *out);

/* ---- evidence files ---- */

/* "ls1/evidence", the terms, the turns, a digest over all of it. `turn[i]` are whole countersigned turns. */
ls_status ls_evidence_encode(ls_buf *out, const ls_buf *terms, const ls_buf *turns, size_t count);

/* Equivocation: two heads by one key over one run, in which one leaf is not the same. */
typedef struct ls_two_heads {
	const uint8_t *job; /* the signed bytes; borrowed */
	size_t job_len;
	uint8_t trainer[LS_KEY_BYTES], nonce[32], signer[LS_KEY_BYTES];
	ls_signed_head head[2];
	uint64_t leaf;
	ls_hash hash[2]; /* of that leaf, in each */
	ls_hash proof[2][LS_PROOF_MAX];
	size_t proof_count[2];
} ls_two_heads;
/* "ls1/two-heads", those fields, a digest. */
ls_status ls_two_heads_encode(ls_buf *out, const ls_two_heads *heads);
/* "ls1/two-turns", the terms, two turns without receipts that one player signed for one place, a digest. */
ls_status ls_two_turns_encode(ls_buf *out, const ls_buf *terms, const ls_buf turn[2]);

/* The judgement of any of the three. Never an error for what the file says: that is EVIDENCE_INVALID with a reason.
 * LS_ERR_NOMEM, LS_ERR_UNSUPPORTED otherwise. */
ls_status ls_judge(const void *evidence, size_t len, ls_decision *out, ls_error *err);

/* ---- what a definition reads, for those who open it ---- */

#define LS_GROUP_FAN 64       /* hashes in a GROUPS turn, at most */
#define LS_SUM_FAN 128        /* terms judged at once, and children of a node of partial sums */
#define LS_SUM_BYTES (2 * 8 * LS_WIDE_LIMBS + 1)

/* Chunks that one hash of a GROUPS turn stands for: the largest power of LS_GROUP_FAN below `chunks`. */
uint64_t ls_group_size(uint64_t chunks);
/* Terms that one child stands for: the largest power of LS_SUM_FAN below `terms`. */
int64_t ls_sum_child(int64_t terms);
void ls_sum_encode(ls_buf *out, const ls_sum *sum);
/* Mode pinned: the state after every LS_SUM_FAN-th term and after the last; a NaN has one pattern. */
#define LS_PINNED_BYTES 9
void ls_pinned_encode(ls_buf *out, const ls_pinned_state *state);
/* The sum of a block; a NaN has one pattern. */
void ls_part_encode(ls_buf *out, double sum);

#endif
