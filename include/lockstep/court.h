/* Lockstep: disputes between processes (spec/dispute.md, section 7). Three parties, each with a book of its own:
 *
 *   court   the referee's side: takes requests and turns, countersigns, keeps the time, answers questions
 *   party   a player's side: asks the court what was said, makes its own turns (dispute.h) and hands them in
 *
 * A message is a method, a target and bytes; what carries them is an ls_wire, so that nothing here knows of sockets. A book is
 * an SQLite file. Whatever was answered, or is about to be sent, is in the book first: whoever is killed goes on where it was,
 * and never signs two turns for one place.
 *
 * On a wire everybody has a key: a job that names no referee, or a side without a key, is refused.
 */
#ifndef LOCKSTEP_COURT_H
#define LOCKSTEP_COURT_H

#include <lockstep/dispute.h>

#define LS_COURT_OPEN_MAX 64                /* disputes that are not over, in one book */
#define LS_COURT_REQUEST_MAX (1u << 17)     /* bytes of a request, and of terms */
#define LS_COURT_BODY_MAX LS_TURN_BYTES_MAX /* bytes that a message to the court may have */
#define LS_COURT_PAGE_MAX (2u << 20)        /* bytes of turns in one answer: at least one turn, where there is one */
#define LS_COURT_ANSWER_MAX (LS_EVIDENCE_BYTES_MAX + (1u << 16)) /* bytes of any answer */

/* ---- messages ---- */

/* Asks for a dispute: "ls1/request" ‖ job as bytes ‖ trainer's key ‖ auditor's key ‖ nonce of the run ‖ both heads ‖ the
 * auditor's signature over all before it. Referee nonce and deadline of `terms` are not in it: they are the court's. */
ls_status ls_request_encode(ls_buf *out, const ls_terms *terms, const ls_key *auditor, ls_error *err);
/* `out` borrows `data`. LS_ERR_INPUT where it is no request or not signed by the auditor it names. */
ls_status ls_request_decode(ls_terms *out, const void *data, size_t len, ls_error *err);

typedef enum ls_court_state {
	LS_COURT_OPEN = 0,
	LS_COURT_OVER = 1,         /* the turns say how it ended */
	LS_COURT_CONTRADICTION = 2 /* a player signed two turns for one place: the evidence holds both */
} ls_court_state;

/* "ls1/turns" ‖ state u8 ‖ first u32 ‖ count u32 ‖ each countersigned turn as bytes */
typedef struct ls_turns {
	ls_court_state state;
	uint32_t first, count;
	ls_cursor turn; /* over the turns: ls_turns_next */
} ls_turns;
/* LS_ERR_INPUT where the bytes are no such message. */
ls_status ls_turns_decode(ls_turns *out, const void *data, size_t len, ls_error *err);
/* The next turn, borrowed; NULL behind the last. */
const uint8_t *ls_turns_next(ls_turns *turns, size_t *len);

/* "ls1/disputes" ‖ count u32 ‖ per dispute its id [32], role u8 whose turn it is, turns u32: those of a run that are open and in
 * which a claim was made, oldest first */
typedef struct ls_open_dispute {
	ls_hash id;
	ls_role role;
	uint32_t turns;
} ls_open_dispute;
typedef struct ls_open_disputes {
	size_t count;
	ls_open_dispute dispute[LS_COURT_OPEN_MAX];
} ls_open_disputes;
ls_status ls_open_disputes_decode(ls_open_disputes *out, const void *data, size_t len, ls_error *err);

/* ---- the referee's side ---- */

typedef struct ls_court ls_court;

typedef struct ls_court_options {
	int version;
	const ls_key *key;   /* the referee's */
	uint32_t deadline;   /* seconds for a turn, ≥ 1; written into the terms of each dispute */
	const uint8_t (*auditors)[LS_KEY_BYTES]; /* whose requests are taken; none: anybody's */
	size_t auditor_count;
	uint64_t (*now)(void *context); /* seconds since 1970; NULL: the machine's clock */
	void *context;
} ls_court_options;
#define LS_COURT_OPTIONS_VERSION 1
#define LS_COURT_OPTIONS_INIT {.version = LS_COURT_OPTIONS_VERSION, .deadline = LS_DISPUTE_DEADLINE}

/* Opens the book at `path`, or makes an empty one. What the options borrow must outlive the court. Nobody is held to a
 * deadline for the time in which no court was open: after opening it runs anew. */
ls_status ls_court_open(ls_court **out, const char *path, const ls_court_options *options, ls_error *err);
void ls_court_free(ls_court *court);

/* Answers one message; callable from any thread. `*code` is an HTTP status code:
 *   200 done, `out` holds the answer · 400 no such message · 403 not signed by whom it has to be, or not this referee's ·
 *   404 no such dispute or target · 405 another method · 409 another turn is due, or the dispute is over · 413 too long · 422 the turn
 *   does not fit what its player committed to · 503 too many open disputes
 * With any code but 200 `out` holds a line of text. `target` is the path with its query:
 *   POST /disputes                 a request → terms. The same request has the same terms
 *   GET  /disputes?run=HEX         → list of open disputes
 *   GET  /disputes/ID/terms        → terms
 *   GET  /disputes/ID/turns?from=N → turns N and after
 *   POST /disputes/ID/turns        a turn without receipt → turns, from that one. A turn that was taken may come again
 *   GET  /disputes/ID/evidence     → evidence file
 * Not LS_OK only where the court itself could not go on; then nothing was taken. */
ls_status ls_court_answer(ls_court *court, const char *method, const char *target, const void *body, size_t len, int *code,
                          ls_buf *out, ls_error *err);

/* ---- a player's side ---- */

/* Sends a message and waits for the answer, of at most LS_COURT_ANSWER_MAX bytes. LS_ERR_IO where none came. */
typedef struct ls_wire {
	void *context;
	ls_status (*ask)(void *context, const char *method, const char *target, const void *body, size_t len, int *code, ls_buf *out,
	                 ls_error *err);
} ls_wire;

typedef struct ls_party ls_party;

typedef struct ls_party_options {
	int version;
	ls_player_options player; /* whose key must be that of its heads; `leaves` is the dispute's affair */
	ls_wire wire;
	const char *book;         /* what this player said and heard */
} ls_party_options;
#define LS_PARTY_OPTIONS_VERSION 1
#define LS_PARTY_OPTIONS_INIT {.version = LS_PARTY_OPTIONS_VERSION, .player = LS_PLAYER_OPTIONS_INIT}

ls_status ls_party_open(ls_party **out, const ls_party_options *options, ls_error *err);
void ls_party_free(ls_party *party);
/* Auditor: what is there to dispute, and then asks for the dispute. `*found` is false where the runs agree. */
ls_status ls_party_accuse(ls_party *party, bool *found, ls_error *err);
/* Trainer: takes part in a dispute about its run. LS_ERR_INPUT where the terms are about something else. */
ls_status ls_party_join(ls_party *party, const ls_hash *id, ls_error *err);

typedef struct ls_party_progress {
	bool moved, over;
	ls_game_view view;
	uint32_t turns;
} ls_party_progress;
/* One exchange: hears what is new, and says its turn where it is due. LS_ERR_IO where the court did not answer or was not
 * able to: try again later. LS_ERR_INPUT where the court refuses this player's turn, or answers what no honest court would. */
ls_status ls_party_step(ls_party *party, ls_party_progress *out, ls_error *err);
/* Of a dispute that is over, or is not: the evidence as this player heard it. */
ls_status ls_party_evidence(ls_party *party, ls_buf *out, ls_decision *decision, ls_error *err);
/* Bytes that went to the court and came from it, since ls_party_open. */
void ls_party_traffic(const ls_party *party, uint64_t *sent, uint64_t *received);

/* A trainer at its post: looks for disputes over its run and plays what is due in each, once. `*moved` tells whether there was
 * anything. What is wrong with one dispute is told to `complain` and does not keep it from others; LS_ERR_IO as above. */
typedef struct ls_defence ls_defence;
ls_status ls_defence_open(ls_defence **out, const ls_party_options *options,
                          void (*complain)(void *context, const ls_hash *id, const ls_error *err), void *context, ls_error *err);
void ls_defence_free(ls_defence *defence);
ls_status ls_defence_step(ls_defence *defence, bool *moved, ls_error *err);

#endif
