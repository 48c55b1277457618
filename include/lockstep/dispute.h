/* Lockstep: playing a dispute. A player answers the game's turns (judge.h) from a run directory, by executing the disputed step
 * again from the nearest snapshot with a watcher on the executor: first the roots of all outputs, then the values of one
 * op only. Nothing of a step is ever kept.
 */
#ifndef LOCKSTEP_DISPUTE_H
#define LOCKSTEP_DISPUTE_H

#include <lockstep/audit.h>
#include <lockstep/game.h>

#define LS_DISPUTE_DEADLINE 3600 /* seconds for a turn, where nobody says otherwise */

typedef struct ls_player ls_player;

typedef struct ls_player_options {
	int version;
	ls_role role;
	const ls_run *run;     /* the player's own leaves */
	const ls_run *trainer; /* whose rounding log and snapshots are used; the trainer's run */
	const ls_job_plan *plan;
	ls_platform *platform;
	const ls_key *key;     /* signs its turns; NULL where the run names none */
	uint64_t leaves;       /* of `run`, under the head that the terms name; 0: all it has */
	const ls_watch *lie;   /* tests only: executes as the liar did */
	bool record;           /* with `lie`: the liar was a trainer, who made its own rounding log */
} ls_player_options;
#define LS_PLAYER_OPTIONS_VERSION 1
#define LS_PLAYER_OPTIONS_INIT {.version = LS_PLAYER_OPTIONS_VERSION}

ls_status ls_player_open(ls_player **out, const ls_player_options *options, ls_error *err);
void ls_player_free(ls_player *p);
/* Auditor: sets what is claimed. The first leaf that differs, or a forged entry in the trainer's leaf after its own last.
 * `*found` is false where the runs agree as far as both go. */
ls_status ls_player_accuse(ls_player *p, bool *found, ls_error *err);
/* Appends the turn that the game waits for, where it is this player's. Which turns it made before does not matter: a player that is
 * opened anew, and has accused, goes on where another stopped. */
ls_status ls_player_turn(ls_player *p, const ls_game *game, ls_buf *out, ls_error *err);

typedef struct ls_dispute_options {
	int version;
	const ls_run *run, *replay;
	const ls_job_plan *plan;
	ls_platform *platform;
	const ls_key *trainer_key, *auditor_key;
	const ls_watch *trainer_lie, *auditor_lie; /* tests only */
	const ls_key *referee_key;                 /* where the job names a referee: receipts bear the time of this machine */
	const uint8_t *referee_nonce;              /* 32 bytes; NULL: zero */
} ls_dispute_options;
#define LS_DISPUTE_OPTIONS_VERSION 1
#define LS_DISPUTE_OPTIONS_INIT {.version = LS_DISPUTE_OPTIONS_VERSION}

/* Plays a dispute between two local directories to its end and appends the evidence file. `*found` is false where they
 * agree; then there is no evidence. LS_ERR_INPUT where the directories are not of one run. */
ls_status ls_dispute(const ls_dispute_options *options, bool *found, ls_buf *evidence, ls_decision *out, ls_error *err);

#endif
