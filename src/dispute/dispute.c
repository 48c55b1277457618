/* A dispute between two local directories: both players and the referee in one process. */
#include <lockstep/dispute.h>

#include <time.h>

static ls_status check_runs(const ls_dispute_options *o, ls_error *err)
{
	if (ls_hash_equal(ls_run_id_of(o->run), ls_run_id_of(o->replay)))
		return LS_OK;
	return ls_error_input(err, ls_run_dir(o->replay), "run id", "another", "that of the trainer's run", "lockstep audit RUN --keep DIR makes the replay");
}

/* Whose head bears a signature must sign its turns. */
static ls_status check_key(const ls_run *run, const ls_key *key, const char *option, ls_error *err)
{
	uint8_t public_key[LS_KEY_BYTES] = {0};
	if (key)
		ls_key_public(key, public_key);
	if (!memcmp(public_key, ls_run_signer(run), sizeof public_key))
		return LS_OK;
	return ls_error_input(err, ls_run_dir(run), "key", key ? "another key than signed its heads" : "none",
	                      ls_public_key_none(ls_run_signer(run)) ? "none, as nobody signed its heads" : "the key that signed its heads", option);
}

/* So must the referee, where the job names one. */
static ls_status check_referee(const ls_dispute_options *o, ls_error *err)
{
	uint8_t key[LS_KEY_BYTES] = {0};
	const uint8_t *named = ls_plan_binding(o->plan)->referee;
	if (o->referee_key)
		ls_key_public(o->referee_key, key);
	if (!memcmp(key, named, sizeof key))
		return LS_OK;
	return ls_error_input(err, ls_run_dir(o->run), "referee's key", o->referee_key ? "another key than the job names" : "none",
	                      ls_public_key_none(named) ? "none, as the job names no referee" : "that of the referee whom the job names",
	                      "give it with --referee-key, or let lockstep serve --referee countersign");
}

static ls_status make_terms(const ls_dispute_options *o, ls_buf *out, ls_error *err)
{
	ls_terms t = {.deadline = LS_DISPUTE_DEADLINE};
	ls_status status;
	t.job = ls_plan_bytes(o->plan, &t.job_len);
	memcpy(t.trainer, ls_run_trainer_key(o->run), sizeof t.trainer);
	memcpy(t.auditor, ls_run_signer(o->replay), sizeof t.auditor);
	memcpy(t.nonce, ls_run_nonce(o->run), sizeof t.nonce);
	if (o->referee_nonce)
		memcpy(t.referee_nonce, o->referee_nonce, sizeof t.referee_nonce);
	LS_TRY(ls_run_read_head(o->run, ls_run_leaves(o->run), &t.head[0], err));
	LS_TRY(ls_run_read_head(o->replay, ls_run_leaves(o->replay), &t.head[1], err));
	LS_TRY(ls_terms_encode(out, &t, err));
done:
	return status;
}

static ls_status open_players(const ls_dispute_options *o, ls_player *player[2], ls_error *err)
{
	ls_player_options p = LS_PLAYER_OPTIONS_INIT;
	ls_status status;
	p.plan = o->plan;
	p.platform = o->platform;
	p.trainer = o->run;
	p.run = o->run;
	p.role = LS_ROLE_TRAINER;
	p.key = o->trainer_key;
	p.lie = o->trainer_lie;
	p.record = true;
	LS_TRY(ls_player_open(&player[0], &p, err));
	p.run = o->replay;
	p.role = LS_ROLE_AUDITOR;
	p.key = o->auditor_key;
	p.lie = o->auditor_lie;
	p.record = false;
	LS_TRY(ls_player_open(&player[1], &p, err));
done:
	return status;
}

static ls_status play(const ls_dispute_options *o, ls_game *game, ls_player *const player[2], ls_buf *turns, size_t *count, ls_error *err)
{
	ls_game_view v;
	ls_status status = LS_OK;
	for (ls_game_look(game, &v); v.role != LS_ROLE_NONE && *count < LS_TURNS_MAX; ls_game_look(game, &v)) {
		ls_buf *turn = &turns[*count];
		ls_buf_init(turn, LS_TURN_BYTES_MAX);
		++*count;
		LS_TRY(ls_player_turn(player[v.role == LS_ROLE_AUDITOR], game, turn, err));
		LS_TRY(ls_turn_countersign(turn, game, (uint64_t)time(NULL), o->referee_key, err));
		LS_TRY(ls_game_take(game, turn->data, turn->len, err));
	}
done:
	return status;
}

ls_status ls_dispute(const ls_dispute_options *o, bool *found, ls_buf *evidence, ls_decision *out, ls_error *err)
{
	ls_status status;
	ls_player *player[2] = {NULL, NULL};
	ls_game *game = NULL;
	ls_buf terms, *turns = ls_alloc(LS_TURNS_MAX, sizeof *turns);
	size_t count = 0;
	*found = false;
	ls_buf_init(&terms, 1 << 17);
	if (!turns) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a dispute");
		goto done;
	}
	if (o->version != LS_DISPUTE_OPTIONS_VERSION) {
		status = ls_error_set(err, LS_ERR_USAGE, "dispute options of version %d", o->version);
		goto done;
	}
	LS_TRY(check_runs(o, err));
	LS_TRY(check_key(o->run, o->trainer_key, "give it with --trainer-key", err));
	LS_TRY(check_key(o->replay, o->auditor_key, "give it with --auditor-key", err));
	LS_TRY(check_referee(o, err));
	LS_TRY(open_players(o, player, err));
	LS_TRY(ls_player_accuse(player[1], found, err));
	if (!*found)
		goto done;
	LS_TRY(make_terms(o, &terms, err));
	LS_TRY(ls_game_open(&game, terms.data, terms.len, err));
	LS_TRY(play(o, game, player, turns, &count, err));
	ls_game_decision(game, out);
	status = ls_evidence_encode(evidence, &terms, turns, count);
	if (status != LS_OK)
		ls_error_set(err, status, "no memory for the evidence, or more than a file may hold");
done:
	for (size_t i = 0; i < count; i++)
		ls_buf_free(&turns[i]);
	ls_free(turns);
	ls_buf_free(&terms);
	ls_game_free(game);
	ls_player_free(player[0]);
	ls_player_free(player[1]);
	return status;
}
