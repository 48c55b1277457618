#include "court/book.h"

#include <stdio.h>

#define PATIENCE_MS 10000 /* for another process that is writing */

ls_status ls_court__book_error(const ls_court__book *b, ls_error *err)
{
	int code = sqlite3_errcode(b->db) & 0xff;
	ls_status status = code == SQLITE_NOMEM                               ? LS_ERR_NOMEM
	                   : code == SQLITE_FULL                              ? LS_ERR_FULL
	                   : code == SQLITE_NOTADB || code == SQLITE_CORRUPT  ? LS_ERR_INPUT
	                                                                      : LS_ERR_IO;
	return ls_error_set(err, status, "%s: could not use it as a book of disputes: %s\n  hint: %s", b->path, sqlite3_errmsg(b->db),
	                    status == LS_ERR_INPUT ? "give the path of another file, or of one that is not there" : "see the system's message");
}

ls_status ls_court__exec(const ls_court__book *b, const char *sql, ls_error *err)
{
	return sqlite3_exec(b->db, sql, NULL, NULL, NULL) == SQLITE_OK ? LS_OK : ls_court__book_error(b, err);
}

ls_status ls_court__prepare(const ls_court__book *b, sqlite3_stmt **out, const char *sql, ls_error *err)
{
	return sqlite3_prepare_v2(b->db, sql, -1, out, NULL) == SQLITE_OK ? LS_OK : ls_court__book_error(b, err);
}

void ls_court__bind(sqlite3_stmt *s, int place, const void *data, size_t len)
{
	sqlite3_bind_blob64(s, place, len ? data : "", len, SQLITE_STATIC);
}

ls_status ls_court__row(const ls_court__book *b, sqlite3_stmt *s, bool *row, ls_error *err)
{
	int code = sqlite3_step(s);
	*row = code == SQLITE_ROW;
	return code == SQLITE_ROW || code == SQLITE_DONE ? LS_OK : ls_court__book_error(b, err);
}

ls_status ls_court__run(const ls_court__book *b, sqlite3_stmt *s, ls_error *err)
{
	bool row;
	ls_status status = ls_court__row(b, s, &row, err);
	sqlite3_finalize(s);
	return status;
}

void ls_court__column(sqlite3_stmt *s, int place, ls_buf *out)
{
	const void *bytes = sqlite3_column_blob(s, place);
	ls_buf_bytes(out, bytes, (size_t)sqlite3_column_bytes(s, place));
}

static ls_status number_of(const ls_court__book *b, const char *sql, int64_t *out, ls_error *err)
{
	sqlite3_stmt *s = NULL;
	bool row;
	ls_status status;
	LS_TRY(ls_court__prepare(b, &s, sql, err));
	LS_TRY(ls_court__row(b, s, &row, err));
	*out = row ? sqlite3_column_int64(s, 0) : 0;
done:
	sqlite3_finalize(s);
	return status;
}

/* A new file gets its tables and its kind in one transaction. */
static ls_status make_tables(const ls_court__book *b, int kind, const char *schema, ls_error *err)
{
	char pragma[64];
	int64_t found, tables;
	ls_status status;
	LS_TRY(ls_court__exec(b, "BEGIN IMMEDIATE", err));
	LS_TRY(number_of(b, "PRAGMA application_id", &found, err));
	LS_TRY(number_of(b, "SELECT count(*) FROM sqlite_schema", &tables, err));
	if (!found && !tables) {
		snprintf(pragma, sizeof pragma, "PRAGMA application_id = %d", kind);
		LS_TRY(ls_court__exec(b, schema, err));
		LS_TRY(ls_court__exec(b, pragma, err));
	} else if (found != kind) {
		status = ls_error_input(err, b->path, NULL, "a database of another kind", "a book of this role in disputes",
		                        "give the path of another file, or of one that is not there");
		goto done;
	}
	LS_TRY(ls_court__exec(b, "COMMIT", err));
done:
	return status;
}

ls_status ls_court__book_open(ls_court__book *out, const char *path, int kind, const char *schema, ls_error *err)
{
	ls_status status = LS_OK;
	*out = (ls_court__book){.path = path};
	if (sqlite3_open_v2(path, &out->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL) != SQLITE_OK)
		status = out->db ? ls_court__book_error(out, err) : ls_error_set(err, LS_ERR_NOMEM, "no memory for a book of disputes");
	if (status != LS_OK)
		goto done;
	sqlite3_busy_timeout(out->db, PATIENCE_MS);
	LS_TRY(ls_court__exec(out, "PRAGMA synchronous = FULL", err));
	LS_TRY(make_tables(out, kind, schema, err));
done:
	if (status != LS_OK)
		ls_court__book_close(out);
	return status;
}

void ls_court__book_close(ls_court__book *b)
{
	sqlite3_close(b->db);
	b->db = NULL;
}
