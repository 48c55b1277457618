/* The referee's book: disputes and their turns. */
#include "court/court.h"

#include <stdio.h>
#include <time.h>

#define KIND 0x4c535231 /* "LSR1" */

static const char schema[] =
	"CREATE TABLE dispute(id BLOB PRIMARY KEY, request BLOB NOT NULL UNIQUE, run BLOB NOT NULL, terms BLOB NOT NULL, made INTEGER NOT NULL,"
	" deadline INTEGER NOT NULL, turns INTEGER NOT NULL, role INTEGER NOT NULL, clock INTEGER NOT NULL, state INTEGER NOT NULL,"
	" contradiction BLOB) STRICT;"
	"CREATE INDEX dispute_of_run ON dispute(run, state);"
	"CREATE TABLE turn(dispute BLOB NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(dispute, number)) STRICT;";

static uint64_t machine_clock(void *context)
{
	return (uint64_t)time(NULL);
}

uint64_t ls_court__now(const ls_court *c)
{
	return c->o.now(c->o.context);
}

/* ---- opening ---- */

static ls_status check_options(const ls_court_options *o, ls_error *err)
{
	if (o->version == LS_COURT_OPTIONS_VERSION && o->key && o->deadline)
		return LS_OK;
	return ls_error_set(err, LS_ERR_USAGE, "court options of another version, without a key or a deadline");
}

ls_status ls_court_open(ls_court **out, const char *path, const ls_court_options *options, ls_error *err)
{
	ls_court *c = NULL;
	ls_status status = check_options(options, err);
	*out = NULL;
	if (status != LS_OK)
		return status;
	c = ls_alloc(1, sizeof *c);
	if (!c || !(c->path = ls_strdup(path)) || pthread_mutex_init(&c->lock, NULL)) {
		if (c)
			ls_free(c->path);
		ls_free(c);
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a court");
	}
	c->o = *options;
	if (!c->o.now)
		c->o.now = machine_clock;
	ls_key_public(c->o.key, c->key);
	c->opened = ls_court__now(c);
	LS_TRY(ls_court__book_open(&c->book, c->path, KIND, schema, err));
	*out = c;
	c = NULL;
done:
	ls_court_free(c);
	return status;
}

void ls_court_free(ls_court *c)
{
	if (!c)
		return;
	ls_game_free(c->game);
	ls_court__book_close(&c->book);
	pthread_mutex_destroy(&c->lock);
	ls_free(c->path);
	ls_free(c);
}

/* ---- reading ---- */

static ls_status damaged(const ls_court *c, ls_error *err)
{
	return ls_error_input(err, c->path, NULL, "a dispute that does not play", "what a court wrote", "go on with a copy from before");
}

ls_status ls_court__find(ls_court *c, const ls_hash *id, ls_court__entry *out, bool *found, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	ls_status status;
	*out = (ls_court__entry){.id = *id};
	ls_buf_init(&out->terms, LS_COURT_REQUEST_MAX);
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT terms, deadline, turns, role, clock, state FROM dispute WHERE id = ?", err));
	ls_court__bind(s, 1, id->byte, LS_HASH_BYTES);
	LS_TRY(ls_court__row(&c->book, s, found, err));
	if (!*found)
		goto done;
	ls_court__column(s, 0, &out->terms);
	out->deadline = (uint32_t)sqlite3_column_int64(s, 1);
	out->turns = (uint32_t)sqlite3_column_int64(s, 2);
	out->role = (ls_role)sqlite3_column_int64(s, 3);
	out->clock = (uint64_t)sqlite3_column_int64(s, 4);
	out->state = (ls_court_state)sqlite3_column_int64(s, 5);
	if (out->terms.status != LS_OK)
		status = damaged(c, err);
done:
	sqlite3_finalize(s);
	return status;
}

ls_status ls_court__find_request(ls_court *c, const ls_hash *request, ls_hash *id, bool *found, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	ls_status status;
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT id FROM dispute WHERE request = ?", err));
	ls_court__bind(s, 1, request->byte, LS_HASH_BYTES);
	LS_TRY(ls_court__row(&c->book, s, found, err));
	if (*found && sqlite3_column_bytes(s, 0) == LS_HASH_BYTES)
		memcpy(id->byte, sqlite3_column_blob(s, 0), LS_HASH_BYTES);
	else if (*found)
		status = damaged(c, err);
done:
	sqlite3_finalize(s);
	return status;
}

ls_status ls_court__turn(ls_court *c, const ls_hash *id, uint32_t number, ls_buf *out, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	bool row;
	ls_status status;
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT bytes FROM turn WHERE dispute = ? AND number = ?", err));
	ls_court__bind(s, 1, id->byte, LS_HASH_BYTES);
	sqlite3_bind_int64(s, 2, number);
	LS_TRY(ls_court__row(&c->book, s, &row, err));
	if (row)
		ls_court__column(s, 0, out);
	if (out->status != LS_OK)
		status = ls_error_set(err, out->status, "no memory for a turn");
done:
	sqlite3_finalize(s);
	return status;
}

/* How many turns from `first` on go into a page: one at least, if there is one. */
static ls_status count_page(ls_court *c, const ls_court__entry *e, uint32_t first, uint32_t *count, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	size_t bytes = 0;
	bool row = true;
	ls_status status;
	*count = 0;
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT length(bytes) FROM turn WHERE dispute = ? AND number >= ? ORDER BY number", err));
	ls_court__bind(s, 1, e->id.byte, LS_HASH_BYTES);
	sqlite3_bind_int64(s, 2, first);
	while (row) {
		LS_TRY(ls_court__row(&c->book, s, &row, err));
		bytes += row ? (size_t)sqlite3_column_int64(s, 0) : 0;
		if (*count && bytes > LS_COURT_PAGE_MAX)
			row = false;
		*count += row;
	}
done:
	sqlite3_finalize(s);
	return status;
}

ls_status ls_court__page(ls_court *c, const ls_court__entry *e, uint32_t first, ls_buf *out, ls_error *err)
{
	ls_status status;
	uint32_t count = 0;
	ls_buf turn;
	ls_buf_init(&turn, LS_TURN_BYTES_MAX);
	LS_TRY(count_page(c, e, first, &count, err));
	ls_court__turns_begin(out, e->state, first, count);
	for (uint32_t i = 0; i < count; i++) {
		ls_buf_reset(&turn);
		LS_TRY(ls_court__turn(c, &e->id, first + i, &turn, err));
		ls_buf_u32(out, (uint32_t)turn.len);
		ls_buf_bytes(out, turn.data, turn.len);
	}
	if (out->status != LS_OK)
		status = ls_error_set(err, out->status, "no memory for the turns of a dispute");
done:
	ls_buf_free(&turn);
	return status;
}

ls_status ls_court__list(ls_court *c, const ls_hash *run, ls_buf *out, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	ls_buf rows;
	uint32_t count = 0;
	bool row = true;
	ls_status status;
	ls_buf_init(&rows, LS_COURT_OPEN_MAX * (LS_HASH_BYTES + 5));
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT id, role, turns FROM dispute WHERE run = ? AND state = 0 AND turns > 0 ORDER BY made, id LIMIT ?", err));
	ls_court__bind(s, 1, run->byte, LS_HASH_BYTES);
	sqlite3_bind_int64(s, 2, LS_COURT_OPEN_MAX);
	while (row) {
		LS_TRY(ls_court__row(&c->book, s, &row, err));
		if (!row)
			break;
		ls_court__column(s, 0, &rows);
		ls_buf_u8(&rows, (uint8_t)sqlite3_column_int64(s, 1));
		ls_buf_u32(&rows, (uint32_t)sqlite3_column_int64(s, 2));
		count++;
	}
	ls_court__list_begin(out, count);
	ls_buf_bytes(out, rows.data, rows.len);
	status = rows.status != LS_OK ? rows.status : out->status;
	if (status != LS_OK)
		ls_error_set(err, status, "no memory for a list of disputes");
done:
	sqlite3_finalize(s);
	ls_buf_free(&rows);
	return status;
}

/* ---- writing ---- */

ls_status ls_court__count_open(ls_court *c, uint64_t *out, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	bool row;
	ls_status status;
	LS_TRY(ls_court__prepare(&c->book, &s, "DELETE FROM dispute WHERE turns = 0 AND made + deadline < ?", err));
	sqlite3_bind_int64(s, 1, (int64_t)ls_court__now(c));
	LS_TRY(ls_court__run(&c->book, s, err));
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT count(*) FROM dispute WHERE state = 0", err));
	status = ls_court__row(&c->book, s, &row, err);
	*out = status == LS_OK && row ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
	sqlite3_finalize(s);
done:
	return status;
}

ls_status ls_court__find_late(ls_court *c, ls_hash *id, bool *found, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	ls_status status;
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT id FROM dispute WHERE state = 0 AND turns > 0 AND max(clock, ?) + deadline <= ? LIMIT 1", err));
	sqlite3_bind_int64(s, 1, (int64_t)c->opened);
	sqlite3_bind_int64(s, 2, (int64_t)ls_court__now(c));
	LS_TRY(ls_court__row(&c->book, s, found, err));
	if (*found && sqlite3_column_bytes(s, 0) == LS_HASH_BYTES)
		memcpy(id->byte, sqlite3_column_blob(s, 0), LS_HASH_BYTES);
	else if (*found)
		status = damaged(c, err);
done:
	sqlite3_finalize(s);
	return status;
}

ls_status ls_court__add(ls_court *c, const ls_hash *request, const ls_game *game, const ls_buf *terms, ls_error *err)
{
	sqlite3_stmt *s;
	ls_status status = ls_court__prepare(&c->book, &s, "INSERT INTO dispute VALUES(?, ?, ?, ?, ?, ?, 0, ?, 0, 0, NULL)", err);
	if (status != LS_OK)
		return status;
	ls_court__bind(s, 1, ls_game_id(game)->byte, LS_HASH_BYTES);
	ls_court__bind(s, 2, request->byte, LS_HASH_BYTES);
	ls_court__bind(s, 3, ls_game_run(game)->byte, LS_HASH_BYTES);
	ls_court__bind(s, 4, terms->data, terms->len);
	sqlite3_bind_int64(s, 5, (int64_t)ls_court__now(c));
	sqlite3_bind_int64(s, 6, ls_game_deadline(game));
	sqlite3_bind_int64(s, 7, LS_ROLE_AUDITOR);
	return ls_court__run(&c->book, s, err);
}

static ls_status insert_turn(ls_court *c, const ls_court__entry *e, const ls_buf *turn, ls_error *err)
{
	sqlite3_stmt *s;
	ls_status status = ls_court__prepare(&c->book, &s, "INSERT INTO turn VALUES(?, ?, ?)", err);
	if (status != LS_OK)
		return status;
	ls_court__bind(s, 1, e->id.byte, LS_HASH_BYTES);
	sqlite3_bind_int64(s, 2, e->turns - 1);
	ls_court__bind(s, 3, turn->data, turn->len);
	return ls_court__run(&c->book, s, err);
}

static ls_status update(ls_court *c, const ls_court__entry *e, ls_error *err)
{
	sqlite3_stmt *s;
	ls_status status = ls_court__prepare(&c->book, &s, "UPDATE dispute SET turns = ?, role = ?, clock = ?, state = ? WHERE id = ?", err);
	if (status != LS_OK)
		return status;
	sqlite3_bind_int64(s, 1, e->turns);
	sqlite3_bind_int64(s, 2, e->role);
	sqlite3_bind_int64(s, 3, (int64_t)e->clock);
	sqlite3_bind_int64(s, 4, e->state);
	ls_court__bind(s, 5, e->id.byte, LS_HASH_BYTES);
	return ls_court__run(&c->book, s, err);
}

/* The game has moved on; where the book does not follow, it is loaded again the next time. */
ls_status ls_court__append(ls_court *c, ls_court__entry *e, const ls_buf *turn, ls_error *err)
{
	ls_game_view v;
	ls_court__entry after = *e;
	ls_status status;
	ls_game_look(c->game, &v);
	after.turns = ls_game_turns(c->game);
	after.role = v.role;
	after.clock = ls_game_clock(c->game);
	after.state = v.role == LS_ROLE_NONE ? LS_COURT_OVER : LS_COURT_OPEN;
	LS_TRY(ls_court__exec(&c->book, "BEGIN IMMEDIATE", err));
	LS_TRY(insert_turn(c, &after, turn, err));
	LS_TRY(update(c, &after, err));
	LS_TRY(ls_court__exec(&c->book, "COMMIT", err));
	*e = after;
done:
	if (status != LS_OK) {
		ls_court__exec(&c->book, "ROLLBACK", NULL);
		ls_game_free(c->game);
		c->game = NULL;
	}
	return status;
}

ls_status ls_court__contradict(ls_court *c, ls_court__entry *e, const ls_buf *evidence, ls_error *err)
{
	sqlite3_stmt *s;
	ls_status status = ls_court__prepare(&c->book, &s, "UPDATE dispute SET state = ?, contradiction = ? WHERE id = ?", err);
	if (status != LS_OK)
		return status;
	sqlite3_bind_int64(s, 1, LS_COURT_CONTRADICTION);
	ls_court__bind(s, 2, evidence->data, evidence->len);
	ls_court__bind(s, 3, e->id.byte, LS_HASH_BYTES);
	LS_TRY(ls_court__run(&c->book, s, err));
	e->state = LS_COURT_CONTRADICTION;
done:
	return status;
}

/* ---- the game of a dispute ---- */

ls_status ls_court__load(ls_court *c, const ls_court__entry *e, ls_error *err)
{
	ls_status status = LS_OK;
	ls_buf turn;
	if (c->game && ls_hash_equal(ls_game_id(c->game), &e->id) && ls_game_turns(c->game) == e->turns)
		return LS_OK;
	ls_game_free(c->game);
	ls_buf_init(&turn, LS_TURN_BYTES_MAX);
	LS_TRY(ls_game_open(&c->game, e->terms.data, e->terms.len, err));
	for (uint32_t i = 0; i < e->turns; i++) {
		ls_buf_reset(&turn);
		LS_TRY(ls_court__turn(c, &e->id, i, &turn, err));
		LS_TRY(ls_game_take(c->game, turn.data, turn.len, err));
	}
done:
	ls_buf_free(&turn);
	if (status != LS_OK) {
		ls_game_free(c->game);
		c->game = NULL;
	}
	return status == LS_ERR_INPUT ? damaged(c, err) : status;
}

static ls_status evidence_of_game(ls_court *c, const ls_court__entry *e, ls_buf *out, ls_error *err)
{
	ls_buf *turns = ls_alloc(e->turns, sizeof *turns);
	ls_status status = turns ? LS_OK : ls_error_set(err, LS_ERR_NOMEM, "no memory for the evidence");
	uint32_t count = 0;
	while (status == LS_OK && count < e->turns) {
		ls_buf_init(&turns[count], LS_TURN_BYTES_MAX);
		status = ls_court__turn(c, &e->id, count, &turns[count], err);
		count++;
	}
	if (status == LS_OK && (status = ls_evidence_encode(out, &e->terms, turns, count)) != LS_OK)
		ls_error_set(err, status, "no memory for the evidence, or more than a file may hold");
	for (uint32_t i = 0; turns && i < count; i++)
		ls_buf_free(&turns[i]);
	ls_free(turns);
	return status;
}

ls_status ls_court__evidence(ls_court *c, const ls_court__entry *e, ls_buf *out, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	bool row;
	ls_status status;
	if (e->state != LS_COURT_CONTRADICTION)
		return evidence_of_game(c, e, out, err);
	LS_TRY(ls_court__prepare(&c->book, &s, "SELECT contradiction FROM dispute WHERE id = ?", err));
	ls_court__bind(s, 1, e->id.byte, LS_HASH_BYTES);
	LS_TRY(ls_court__row(&c->book, s, &row, err));
	if (row)
		ls_court__column(s, 0, out);
	if (!row || out->status != LS_OK)
		status = damaged(c, err);
done:
	sqlite3_finalize(s);
	return status;
}
