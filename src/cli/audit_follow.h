/* Internal to cli: following a run that is being trained. */
#ifndef LS_CLI_AUDIT_FOLLOW_H
#define LS_CLI_AUDIT_FOLLOW_H

#include "cli/cli.h"

typedef struct ls_cli_follow {
	ls_run *run;                  /* of ls_cli__follow_open */
	uint64_t heads;               /* taken over since then */
	uint64_t behind, most_behind; /* steps that the trainer had written and were not compared yet */
	double said;
} ls_cli_follow;

/* Opens operand 0, waiting until it has a head. */
ls_status ls_cli__follow_open(ls_cli_session *s, const ls_cli_args *args, const ls_cli *cli, ls_damage *damage, ls_error *err);
/* Notes how far `audited` lies behind, and says so every few seconds. */
ls_status ls_cli__follow_look(ls_cli_follow *f, uint64_t audited, ls_error *err);
/* Until there is a newer head (`*grown`), or no trainer has been there for a second, or somebody asks to stop. */
ls_status ls_cli__follow_wait(ls_cli_follow *f, const ls_cli *cli, bool *grown, ls_damage *damage, ls_error *err);

#endif
