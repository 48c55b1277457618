/* A player's side of a dispute that goes over a wire. */
#include "court/party.h"

#include <stdio.h>

#define KIND 0x4c535031 /* "LSP1" */
#define TARGET_MAX 128

static const char schema[] =
	"CREATE TABLE said(dispute BLOB NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(dispute, number)) STRICT;"
	"CREATE TABLE heard(dispute BLOB NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(dispute, number)) STRICT;"
	/* what a court told later, and otherwise than `heard` */
	"CREATE TABLE contradicted(dispute BLOB NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(dispute, number)) STRICT;";

/* ---- opening ---- */

ls_status ls_party_open(ls_party **out, const ls_party_options *options, ls_error *err)
{
	ls_party *p;
	ls_status status;
	*out = NULL;
	if (options->version != LS_PARTY_OPTIONS_VERSION || !options->player.key || !options->wire.ask || !options->book)
		return ls_error_set(err, LS_ERR_USAGE, "party options of another version, or without a key, a wire or a book");
	p = ls_alloc(1, sizeof *p);
	if (!p)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a dispute");
	p->o = *options;
	ls_buf_init(&p->terms, LS_COURT_REQUEST_MAX);
	ls_buf_init(&p->contradiction, LS_EVIDENCE_BYTES_MAX);
	p->path = ls_strdup(options->book);
	LS_TRY(p->path ? LS_OK : ls_error_set(err, LS_ERR_NOMEM, "no memory for a dispute"));
	LS_TRY(ls_court__book_open(&p->book, p->path, KIND, schema, err));
	*out = p;
	p = NULL;
done:
	ls_party_free(p);
	return status;
}

void ls_party_free(ls_party *p)
{
	if (!p)
		return;
	ls_player_free(p->player);
	ls_game_free(p->game);
	ls_buf_free(&p->terms);
	ls_buf_free(&p->contradiction);
	ls_court__book_close(&p->book);
	ls_free(p->path);
	ls_free(p);
}

void ls_party_traffic(const ls_party *p, uint64_t *sent, uint64_t *received)
{
	*sent = p->sent;
	*received = p->received;
}

/* ---- asking the court ---- */

/* The court could not now, or not at all: both mean that the dispute is where it was. */
static ls_status not_now(int code, const ls_buf *answer, ls_error *err)
{
	return ls_error_set(err, LS_ERR_IO, "the court answered with %d: %.*s", code, (int)(answer->len < 300 ? answer->len : 300),
	                    answer->len ? (const char *)answer->data : "");
}

ls_status ls_court__ask(ls_party *p, const char *method, const char *target, const void *body, size_t len, int *code, ls_buf *out, ls_error *err)
{
	ls_status status = p->o.wire.ask(p->o.wire.context, method, target, body, len, code, out, err);
	p->sent += len;
	p->received += out->len;
	if (status == LS_OK && out->status != LS_OK)
		return ls_error_set(err, out->status, "the court's answer: more bytes than one may have, or no memory for them");
	if (status == LS_OK && (*code == 408 || *code == 425 || *code == 429 || *code >= 500))
		return not_now(*code, out, err);
	return status;
}

/* What is neither an answer nor "later". */
static ls_status refused(const char *what, int code, const ls_buf *answer, ls_error *err)
{
	return ls_error_set(err, LS_ERR_INPUT, "%s: the court refused it with %d: %.*s", what, code, (int)(answer->len < 300 ? answer->len : 300),
	                    answer->len ? (const char *)answer->data : "");
}

static void target_of(char out[TARGET_MAX], const ls_hash *id, const char *tail)
{
	char hex[LS_HASH_HEX_SIZE];
	ls_hash_hex(hex, id);
	snprintf(out, TARGET_MAX, "/disputes/%s%s", hex, tail);
}

/* ---- the book ---- */

static ls_status lookup(ls_party *p, const char *sql, uint32_t number, ls_buf *out, bool *found, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	ls_status status;
	LS_TRY(ls_court__prepare(&p->book, &s, sql, err));
	ls_court__bind(s, 1, ls_game_id(p->game)->byte, LS_HASH_BYTES);
	sqlite3_bind_int64(s, 2, number);
	LS_TRY(ls_court__row(&p->book, s, found, err));
	if (*found)
		ls_court__column(s, 0, out);
	if (out->status != LS_OK)
		status = ls_error_set(err, out->status, "no memory for a turn");
done:
	sqlite3_finalize(s);
	return status;
}

/* What is there already stays: the first that was said is what was said. */
static ls_status note(ls_party *p, const char *sql, uint32_t number, const void *bytes, size_t len, ls_error *err)
{
	sqlite3_stmt *s;
	ls_status status = ls_court__prepare(&p->book, &s, sql, err);
	if (status != LS_OK)
		return status;
	ls_court__bind(s, 1, ls_game_id(p->game)->byte, LS_HASH_BYTES);
	sqlite3_bind_int64(s, 2, number);
	ls_court__bind(s, 3, bytes, len);
	return ls_court__run(&p->book, s, err);
}

/* ---- hearing ---- */

/* A court that tells a turn in another way than before is no court. */
static ls_status hear(ls_party *p, const uint8_t *turn, size_t len, ls_error *err)
{
	uint32_t number = ls_game_turns(p->game);
	bool found;
	ls_status status;
	ls_buf before;
	ls_buf_init(&before, LS_TURN_BYTES_MAX);
	LS_TRY(lookup(p, "SELECT bytes FROM heard WHERE dispute = ? AND number = ?", number, &before, &found, err));
	if (found && (before.len != len || memcmp(before.data, turn, len))) {
		LS_TRY(note(p, "INSERT OR IGNORE INTO contradicted VALUES(?, ?, ?)", number, turn, len, err));
		status = ls_error_set(err, LS_ERR_INPUT, "turn %u: the court tells another one than it told before; both are kept in %s", number, p->path);
		goto done;
	}
	LS_TRY(ls_game_take(p->game, turn, len, err));
	if (!found)
		LS_TRY(note(p, "INSERT OR IGNORE INTO heard VALUES(?, ?, ?)", number, turn, len, err));
done:
	ls_buf_free(&before);
	return status;
}

/* Where a player has signed two turns, the file that shows it must be about this dispute. */
static ls_status hear_contradiction(ls_party *p, ls_error *err)
{
	char target[TARGET_MAX];
	int code;
	ls_decision decision;
	ls_cursor c;
	const uint8_t *terms;
	size_t len;
	ls_buf_reset(&p->contradiction);
	target_of(target, ls_game_id(p->game), "/evidence");
	ls_status status = ls_court__ask(p, "GET", target, NULL, 0, &code, &p->contradiction, err);
	if (status != LS_OK)
		return status;
	if (code != 200)
		return refused("evidence", code, &p->contradiction, err);
	LS_TRY(ls_judge(p->contradiction.data, p->contradiction.len, &decision, err));
	c = ls_cursor_over(p->contradiction.data, p->contradiction.len);
	ls_cursor_take(&c, strlen("ls1/two-turns"));
	len = ls_cursor_u32(&c);
	terms = ls_cursor_take(&c, len);
	if (decision.ruling == LS_RULING_EVIDENCE_INVALID || !terms || len != p->terms.len || memcmp(terms, p->terms.data, len))
		status = ls_error_set(err, LS_ERR_INPUT, "the court says that a player signed two turns, and shows none");
	else
		p->contradicted = true;
done:
	return status;
}

static ls_status take_page(ls_party *p, const ls_buf *answer, bool *moved, ls_error *err)
{
	ls_turns turns;
	const uint8_t *turn;
	size_t len;
	ls_status status = ls_turns_decode(&turns, answer->data, answer->len, err);
	if (status != LS_OK)
		return status;
	if (turns.first != ls_game_turns(p->game))
		return ls_error_input(err, NULL, "answer", "turns from another place on than was asked for", "those that come next", NULL);
	while ((turn = ls_turns_next(&turns, &len))) {
		LS_TRY(hear(p, turn, len, err));
		*moved = true;
	}
	if (turns.state == LS_COURT_CONTRADICTION)
		LS_TRY(hear_contradiction(p, err));
done:
	return status;
}

static ls_status listen(ls_party *p, bool *moved, ls_error *err)
{
	char target[TARGET_MAX], tail[32];
	int code;
	ls_status status;
	ls_buf answer;
	ls_buf_init(&answer, LS_COURT_ANSWER_MAX);
	snprintf(tail, sizeof tail, "/turns?from=%u", ls_game_turns(p->game));
	target_of(target, ls_game_id(p->game), tail);
	LS_TRY(ls_court__ask(p, "GET", target, NULL, 0, &code, &answer, err));
	status = code == 200 ? take_page(p, &answer, moved, err) : refused("turns", code, &answer, err);
done:
	ls_buf_free(&answer);
	return status;
}

/* ---- saying ---- */

/* In the book before it leaves: whoever is opened anew says the same again. */
static ls_status my_turn(ls_party *p, ls_buf *turn, ls_error *err)
{
	uint32_t number = ls_game_turns(p->game);
	bool found, mine = false;
	ls_status status;
	LS_TRY(lookup(p, "SELECT bytes FROM said WHERE dispute = ? AND number = ?", number, turn, &found, err));
	if (found)
		LS_TRY(ls_turn_is_signed(&mine, p->game, turn->data, turn->len, err));
	if (mine)
		goto done;
	if (found) {
		status = ls_error_set(err, LS_ERR_INPUT, "turn %u: what %s holds is not a turn of this dispute", number, p->path);
		goto done;
	}
	LS_TRY(ls_player_turn(p->player, p->game, turn, err));
	LS_TRY(note(p, "INSERT OR IGNORE INTO said VALUES(?, ?, ?)", number, turn->data, turn->len, err));
	ls_buf_reset(turn); // another process may have been first
	LS_TRY(lookup(p, "SELECT bytes FROM said WHERE dispute = ? AND number = ?", number, turn, &found, err));
done:
	return status;
}

static ls_status speak(ls_party *p, bool *moved, ls_error *err)
{
	char target[TARGET_MAX];
	int code;
	ls_status status;
	ls_buf turn, answer;
	ls_buf_init(&turn, LS_TURN_BYTES_MAX);
	ls_buf_init(&answer, LS_COURT_ANSWER_MAX);
	LS_TRY(my_turn(p, &turn, err));
	target_of(target, ls_game_id(p->game), "/turns");
	LS_TRY(ls_court__ask(p, "POST", target, turn.data, turn.len, &code, &answer, err));
	if (code == 200)
		status = take_page(p, &answer, moved, err);
	else if (code != 409) // 409: something else stands there by now, which the next look will show
		status = refused("turn", code, &answer, err);
done:
	ls_buf_free(&turn);
	ls_buf_free(&answer);
	return status;
}

ls_status ls_party_step(ls_party *p, ls_party_progress *out, ls_error *err)
{
	ls_status status;
	*out = (ls_party_progress){.moved = false};
	if (!p->game)
		return ls_error_set(err, LS_ERR_USAGE, "a party that takes part in no dispute");
	ls_game_look(p->game, &out->view);
	if (out->view.role != LS_ROLE_NONE && !p->contradicted) {
		LS_TRY(listen(p, &out->moved, err));
		ls_game_look(p->game, &out->view);
		if (!p->contradicted && out->view.role == p->o.player.role)
			LS_TRY(speak(p, &out->moved, err));
	}
	ls_game_look(p->game, &out->view);
	out->turns = ls_game_turns(p->game);
	out->over = p->contradicted || out->view.role == LS_ROLE_NONE;
done:
	return status;
}

/* ---- terms ---- */

/* The head in the terms must be one over this player's own leaves. */
static ls_status check_own_head(const ls_party *p, ls_error *err)
{
	const ls_run *run = p->o.player.run;
	const ls_head *head = &ls_game_head(p->game, p->o.player.role)->head;
	ls_hasher *hasher = NULL;
	ls_hash root;
	ls_tree tree;
	ls_status status;
	ls_leaf its;
	ls_buf leaf;
	ls_buf_init(&leaf, LS_LEAF_BYTES_MAX);
	LS_TRY(ls_hasher_open(&hasher, 1, err));
	ls_tree_init(&tree, hasher, 0);
	for (uint64_t i = 0; i < head->size && i < ls_run_leaves(run); i++) {
		ls_buf_reset(&leaf);
		LS_TRY(ls_run_read_leaf(run, i, &its, err));
		LS_TRY(ls_leaf_encode(&leaf, &its));
		ls_tree_push(&tree, leaf.data, leaf.len);
	}
	LS_TRY(ls_tree_head(&tree, &root));
	if (head->size > ls_run_leaves(run) || !ls_hash_equal(&root, &head->root))
		status = ls_error_input(err, ls_run_dir(run), "terms of a dispute", "a head that these leaves do not have", "one of this folder's",
		                        "was the folder changed, or does another copy of the run stand behind that head?");
done:
	ls_hasher_free(hasher);
	ls_buf_free(&leaf);
	return status;
}

/* Opens the game over p->terms; the terms must be about this run and this player. */
static ls_status open_game(ls_party *p, ls_error *err)
{
	uint8_t keys[2][LS_KEY_BYTES], own[LS_KEY_BYTES];
	ls_player_options player = p->o.player;
	bool trainer = player.role == LS_ROLE_TRAINER;
	ls_status status;
	LS_TRY(ls_game_open(&p->game, p->terms.data, p->terms.len, err));
	ls_game_keys(p->game, keys[0], keys[1]);
	ls_key_public(player.key, own);
	if (!ls_hash_equal(ls_game_run(p->game), ls_run_id_of(player.run)) || memcmp(keys[!trainer], own, sizeof own)) {
		status = ls_error_input(err, NULL, "terms of a dispute", "another run, or another player's key", "this run and this key", NULL);
		goto done;
	}
	if (ls_public_key_none(ls_game_referee(p->game)) || ls_public_key_none(keys[trainer])) {
		status = ls_error_input(err, NULL, "terms of a dispute", "no key for a party", "keys of trainer, auditor and referee",
		                        "over a wire all three sign; without keys lockstep dispute works between two folders");
		goto done;
	}
	LS_TRY(check_own_head(p, err));
	player.leaves = ls_game_head(p->game, player.role)->head.size;
	if (!p->player)
		LS_TRY(ls_player_open(&p->player, &player, err));
done:
	if (status != LS_OK) {
		ls_game_free(p->game);
		p->game = NULL;
	}
	return status;
}

/* A party plays one game at a time. */
static void leave_game(ls_party *p)
{
	ls_player_free(p->player);
	p->player = NULL;
	ls_game_free(p->game);
	p->game = NULL;
	p->contradicted = false;
}

ls_status ls_party_join(ls_party *p, const ls_hash *id, ls_error *err)
{
	char target[TARGET_MAX];
	int code;
	ls_status status;
	leave_game(p);
	target_of(target, id, "/terms");
	ls_buf_reset(&p->terms);
	LS_TRY(ls_court__ask(p, "GET", target, NULL, 0, &code, &p->terms, err));
	if (code != 200) {
		status = refused("terms", code, &p->terms, err);
		goto done;
	}
	LS_TRY(open_game(p, err));
	if (!ls_hash_equal(ls_game_id(p->game), id)) {
		leave_game(p);
		status = ls_error_input(err, NULL, "terms of a dispute", "those of another one", "those that were asked for", NULL);
	}
done:
	return status;
}

static ls_status fill_terms(const ls_party *p, ls_terms *t, ls_error *err)
{
	const ls_player_options *o = &p->o.player;
	ls_status status;
	*t = (ls_terms){0};
	t->job = ls_plan_bytes(o->plan, &t->job_len);
	memcpy(t->trainer, ls_run_trainer_key(o->trainer), sizeof t->trainer);
	ls_key_public(o->key, t->auditor);
	memcpy(t->nonce, ls_run_nonce(o->trainer), sizeof t->nonce);
	LS_TRY(ls_run_read_head(o->trainer, ls_run_leaves(o->trainer), &t->head[0], err));
	LS_TRY(ls_run_read_head(o->run, ls_run_leaves(o->run), &t->head[1], err));
done:
	return status;
}

/* Nonce and deadline are the court's; all else must come back as it was asked. */
static ls_status check_terms(const ls_party *p, const ls_terms *asked, ls_error *err)
{
	ls_terms same = *asked;
	ls_status status;
	ls_buf bytes;
	size_t nonce_at = strlen("ls1/dispute") + 4 + asked->job_len + 3 * 32;
	ls_buf_init(&bytes, LS_COURT_REQUEST_MAX);
	if (p->terms.len > nonce_at + 36) {
		memcpy(same.referee_nonce, p->terms.data + nonce_at, 32);
		same.deadline = ls_get_le32(p->terms.data + nonce_at + 32);
	}
	LS_TRY(ls_terms_encode(&bytes, &same, err));
	if (bytes.len != p->terms.len || memcmp(bytes.data, p->terms.data, bytes.len))
		status = ls_error_input(err, NULL, "answer", "terms of something else", "those of the dispute that was asked for", NULL);
done:
	ls_buf_free(&bytes);
	return status;
}

static ls_status request(ls_party *p, ls_error *err)
{
	ls_terms terms;
	int code;
	ls_status status;
	ls_buf body;
	ls_buf_init(&body, LS_COURT_REQUEST_MAX);
	LS_TRY(fill_terms(p, &terms, err));
	LS_TRY(ls_request_encode(&body, &terms, p->o.player.key, err));
	ls_buf_reset(&p->terms);
	LS_TRY(ls_court__ask(p, "POST", "/disputes", body.data, body.len, &code, &p->terms, err));
	if (code != 200) {
		status = refused("request for a dispute", code, &p->terms, err);
		goto done;
	}
	LS_TRY(check_terms(p, &terms, err));
	LS_TRY(open_game(p, err));
done:
	ls_buf_free(&body);
	return status;
}

ls_status ls_party_accuse(ls_party *p, bool *found, ls_error *err)
{
	ls_status status = LS_OK;
	*found = p->accuses;
	if (!p->accuses) {
		if (!p->player)
			LS_TRY(ls_player_open(&p->player, &p->o.player, err));
		LS_TRY(ls_player_accuse(p->player, found, err));
		p->accuses = *found;
	}
	if (*found && !p->game)
		LS_TRY(request(p, err));
done:
	return status;
}

/* ---- the end ---- */

/* The turns of the game, from the book. */
static ls_status gather_turns(ls_party *p, ls_buf *turns, uint32_t count, ls_error *err)
{
	ls_status status = LS_OK;
	bool found;
	for (uint32_t at = 0; at < count; at++) {
		LS_TRY(lookup(p, "SELECT bytes FROM heard WHERE dispute = ? AND number = ?", at, &turns[at], &found, err));
		if (!found)
			return ls_error_set(err, LS_ERR_INPUT, "turn %u is not in %s, though it was played", at, p->path);
	}
done:
	return status;
}

static ls_status write_evidence(ls_party *p, ls_buf *out, ls_buf *turns, uint32_t count, ls_error *err)
{
	ls_status status = LS_OK;
	if (p->contradicted) {
		ls_buf_bytes(out, p->contradiction.data, p->contradiction.len);
		status = out->status;
	} else {
		LS_TRY(gather_turns(p, turns, count, err));
		status = ls_evidence_encode(out, &p->terms, turns, count);
	}
	if (status != LS_OK)
		ls_error_set(err, status, "no memory for the evidence, or more than a file may hold");
done:
	return status;
}

ls_status ls_party_evidence(ls_party *p, ls_buf *out, ls_decision *decision, ls_error *err)
{
	uint32_t count = p->game ? ls_game_turns(p->game) : 0;
	ls_buf *turns = ls_alloc(count, sizeof *turns);
	ls_status status = LS_OK;
	if (!turns)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the evidence");
	for (uint32_t i = 0; i < count; i++)
		ls_buf_init(&turns[i], LS_TURN_BYTES_MAX);
	LS_TRY(write_evidence(p, out, turns, count, err));
	LS_TRY(ls_judge(out->data, out->len, decision, err));
done:
	for (uint32_t i = 0; i < count; i++)
		ls_buf_free(&turns[i]);
	ls_free(turns);
	return status;
}
