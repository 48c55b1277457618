/* What lockstep serve does about disputes: holds court, or answers for the trainer whose run it serves. */
#ifndef LS_CLI_SERVE_DISPUTES_H
#define LS_CLI_SERVE_DISPUTES_H

#include "cli/wire.h"

#include <lockstep/serve.h>

#define LS_CLI__OPTIONS_OF_DISPUTES                                                                                    \
	{.name = "referee", .argument = "FILE", .help = "hold court, with this private key: of jobs that name its public key as their referee"}, \
	{.name = "deadline", .argument = "SECONDS", .help = "with --referee: that a player has for a turn", .fallback = "3600"}, \
	{.name = "auditor", .argument = "FILE", .help = "with --referee: a public key whose requests are taken; repeatable", .fallback_text = "anybody's", .repeats = true}, \
	{.name = "court", .argument = "URL", .help = "take part in disputes about RUN that this court takes, as its trainer, with --trainer-key"}, \
	{.name = "ca", .argument = "FILE", .help = "with --court: the certificates (PEM) to trust", .fallback_text = "the system's"}, \
	{.name = "trainer-key", .argument = "FILE", .help = "the trainer's private key, with which RUN is signed"}, \
	{.name = "book", .argument = "FILE", .help = "where disputes are written down; needed with --referee and --court"}, \
	LS_CLI__OPTION_PLATFORM, LS_CLI__OPTION_THREADS, LS_CLI__OPTION_DATA, \
	{.name = "init-from", .argument = "FILE", .help = "where the weights lie that the run starts from", .fallback_text = "model.init_from of the job"}

typedef struct ls_cli_disputes {
	ls_key *key; /* the referee's or the trainer's */
	uint8_t (*auditors)[LS_KEY_BYTES];
	ls_court *court;
	ls_cli_session session;
	ls_cli_post post;
	ls_worker *worker; /* the trainer's thread; NULL: none */
	bool ends;
} ls_cli_disputes;

/* Before the server is opened; does nothing where the options do not ask for it. Release in any case with ls_cli__disputes_close, after
 * the server is closed. */
ls_status ls_cli__disputes_open(ls_cli_disputes *d, const ls_cli_args *args, ls_service *service, ls_error *err);
/* After the server has opened: its own court may be the one it takes part in. */
void ls_cli__disputes_begin(ls_cli_disputes *d);
void ls_cli__disputes_close(ls_cli_disputes *d);

#endif
