/* Disputes that go over a wire: an auditor's until the end, a trainer's until it is told to stop. */
#ifndef LS_CLI_WIRE_H
#define LS_CLI_WIRE_H

#include "cli/cli.h"

#include <lockstep/court.h>
#include <lockstep/net.h>

/* How messages go to the court at the other end of `http`. */
ls_wire ls_cli__wire(ls_http *http);

typedef struct ls_cli_suit {
	ls_party_options party; /* without its wire and its book */
	const char *court;      /* URL */
	const char *ca;         /* may be NULL */
	const char *output;     /* where the evidence goes; the book lies beside it, as FILE.book */
	unsigned timeout;       /* seconds that the court may be silent */
	double patience;        /* seconds without an answer after which it gives up */
} ls_cli_suit;

/* Plays the auditor's side and prints the decision. LS_ERR_IO where it could not be finished: called again it goes on. */
ls_status ls_cli__sue(ls_cli *cli, const ls_cli_suit *suit, int *code, ls_error *err);

/* Plays the trainer's side of every dispute about its run until `stop`. What goes wrong is noted and tried again. */
typedef struct ls_cli_post {
	ls_party_options party; /* without its wire */
	const char *court, *ca;
	bool (*stop)(void *context);
	void *context;
	ls_status status; /* how it ended */
	ls_error err;
} ls_cli_post;
void ls_cli__stand(void *post);

/* The rows of commands that open what a player needs: its run's plan and platform. */
ls_status ls_cli__open_player(ls_cli_session *s, const ls_cli_args *args, const ls_run *run, ls_damage *damage, ls_error *err);

#endif
