/* Internal to src/court: an SQLite file, opened for one purpose. */
#ifndef LS_COURT_BOOK_H
#define LS_COURT_BOOK_H

#include <lockstep/base.h>

#include <sqlite3.h>

typedef struct ls_court__book {
	sqlite3 *db;
	const char *path; /* borrowed, for complaints */
} ls_court__book;

/* `kind` is written into a new file and must be in an old one; `schema` makes a new one's tables. */
ls_status ls_court__book_open(ls_court__book *out, const char *path, int kind, const char *schema, ls_error *err);
void ls_court__book_close(ls_court__book *b);
/* What SQLite last said, as a status and a sentence. */
ls_status ls_court__book_error(const ls_court__book *b, ls_error *err);
ls_status ls_court__prepare(const ls_court__book *b, sqlite3_stmt **out, const char *sql, ls_error *err);
/* Binds bytes that outlive the statement's run. */
void ls_court__bind(sqlite3_stmt *s, int place, const void *data, size_t len);
/* The next row; `*row` is false behind the last. */
ls_status ls_court__row(const ls_court__book *b, sqlite3_stmt *s, bool *row, ls_error *err);
/* Runs a statement without rows to its end and releases it. */
ls_status ls_court__run(const ls_court__book *b, sqlite3_stmt *s, ls_error *err);
ls_status ls_court__exec(const ls_court__book *b, const char *sql, ls_error *err);
/* Appends the bytes of a column. */
void ls_court__column(sqlite3_stmt *s, int place, ls_buf *out);

#endif
