/* Internal to src/cli: weights written from a run, and statements about them. */
#ifndef LS_CLI_STATEMENT_H
#define LS_CLI_STATEMENT_H

#include "cli/cli.h"

#include <lockstep/attest.h>

typedef struct ls_cli_exported {
	uint64_t step;
	ls_hash state_root;
	ls_export_result result;
	ls_log_statistics log;
} ls_cli_exported;

/* Writes the weights of the last snapshot of s->run, which is checked against its leaf. Neither data nor weights to start
 * from are needed. */
ls_status ls_cli__export_run(ls_cli_exported *out, ls_cli_session *s, const char *path, bool overwrite, ls_damage *damage,
                             ls_error *err);
/* What run and file say: everything but role, verdict, and what an auditor adds. `file` is hashed and called `name`. */
ls_status ls_cli__begin_statement(ls_attestation *a, const ls_run *run, const char *file, const char *name, ls_error *err);
ls_status ls_cli__write_statement(const ls_attestation *a, const ls_key *key, const char *path, ls_error *err);

#endif
