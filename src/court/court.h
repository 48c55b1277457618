/* Internal to src/court: the referee's book and what writes into it. */
#ifndef LS_COURT_COURT_H
#define LS_COURT_COURT_H

#include "court/book.h"

#include <lockstep/court.h>

#include <pthread.h>

struct ls_court {
	ls_court_options o;
	ls_court__book book;
	char *path;
	uint8_t key[LS_KEY_BYTES];
	uint64_t opened;      /* when this process began to keep the time */
	pthread_mutex_t lock; /* one message at a time */
	ls_game *game;        /* the dispute that a turn was last handed in for, as far as it has come; NULL: none */
};

/* A dispute as the book has it, without its turns. */
typedef struct ls_court__entry {
	ls_hash id;
	ls_buf terms;
	ls_court_state state;
	ls_role role; /* whose turn it is */
	uint32_t turns, deadline;
	uint64_t clock; /* of the last receipt */
} ls_court__entry;

/* What a message is answered with, when it is refused: LS_OK with the code and a line of text in `out`. */
typedef struct ls_court__answer {
	int code;
	ls_buf *out;
} ls_court__answer;
ls_status ls_court__refuse(ls_court__answer *a, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- the book: src/court/docket.c; all under the lock ---- */

uint64_t ls_court__now(const ls_court *c);
/* `*found` is false where there is no such dispute. Release with ls_buf_free(&out->terms). */
ls_status ls_court__find(ls_court *c, const ls_hash *id, ls_court__entry *out, bool *found, ls_error *err);
/* The dispute that this request has led to. */
ls_status ls_court__find_request(ls_court *c, const ls_hash *request, ls_hash *id, bool *found, ls_error *err);
/* Forgets requests that no claim followed in time, then counts what is open. */
ls_status ls_court__count_open(ls_court *c, uint64_t *out, ls_error *err);
/* Some open dispute whose deadline has passed by the court's clock. */
ls_status ls_court__find_late(ls_court *c, ls_hash *id, bool *found, ls_error *err);
ls_status ls_court__add(ls_court *c, const ls_hash *request, const ls_game *game, const ls_buf *terms, ls_error *err);
ls_status ls_court__list(ls_court *c, const ls_hash *run, ls_buf *out, ls_error *err);
/* Brings c->game to where the book's dispute is. */
ls_status ls_court__load(ls_court *c, const ls_court__entry *e, ls_error *err);
/* A turn that c->game has taken goes into the book, and the entry follows. */
ls_status ls_court__append(ls_court *c, ls_court__entry *e, const ls_buf *turn, ls_error *err);
/* The turn as it stands there; nothing where there is none. */
ls_status ls_court__turn(ls_court *c, const ls_hash *id, uint32_t number, ls_buf *out, ls_error *err);
/* The message of turns from `first` on, as many as go into a page. */
ls_status ls_court__page(ls_court *c, const ls_court__entry *e, uint32_t first, ls_buf *out, ls_error *err);
/* Ends a dispute with the evidence that a player signed two turns for one place. */
ls_status ls_court__contradict(ls_court *c, ls_court__entry *e, const ls_buf *evidence, ls_error *err);
ls_status ls_court__evidence(ls_court *c, const ls_court__entry *e, ls_buf *out, ls_error *err);

/* ---- messages ---- */

void ls_court__turns_begin(ls_buf *out, ls_court_state state, uint32_t first, uint32_t count);
void ls_court__list_begin(ls_buf *out, uint32_t count);

#endif
