/* Internal to src/court. */
#ifndef LS_COURT_PARTY_H
#define LS_COURT_PARTY_H

#include "court/book.h"

#include <lockstep/court.h>

struct ls_party {
	ls_party_options o;
	ls_court__book book;
	char *path;
	ls_buf terms;
	ls_game *game;     /* as far as this player has heard; NULL: in no dispute yet */
	ls_player *player;
	bool accuses;      /* an auditor that has found what to claim */
	bool contradicted; /* a player signed two turns; `contradiction` shows it */
	ls_buf contradiction;
	uint64_t sent, received;
};

/* One message; LS_ERR_IO also where the court could not answer now. */
ls_status ls_court__ask(ls_party *p, const char *method, const char *target, const void *body, size_t len, int *code, ls_buf *out, ls_error *err);

#endif
