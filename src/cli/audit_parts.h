/* Internal to cli: the parts of a run that can be audited by themselves, and samples of them. */
#ifndef LS_CLI_AUDIT_PARTS_H
#define LS_CLI_AUDIT_PARTS_H

#include "cli/cli.h"

/* Steps first…last, between two snapshots or behind the last one: what is replayed without what lies before. */
typedef struct ls_cli_part {
	uint64_t first, last;
} ls_cli_part;

typedef struct ls_cli_parts {
	ls_cli_part *part; /* ascending */
	size_t count;
} ls_cli_parts;

/* All parts of a run, without a gap; a run without steps has none. */
ls_status ls_cli__parts_of(ls_cli_parts *out, const ls_run *run, ls_error *err);
void ls_cli__parts_free(ls_cli_parts *parts);
/* Neighbours become one until at most `most` ≥ 1 are left, of nearly as many steps each. */
void ls_cli__parts_join(ls_cli_parts *parts, size_t most);
/* Keeps `most` of them (all, if there are no more), each as likely as any other, by what SHA-256 makes of the seed. */
ls_status ls_cli__parts_sample(ls_cli_parts *parts, size_t most, const uint8_t seed[32], ls_error *err);
uint64_t ls_cli__parts_steps(const ls_cli_parts *parts);
/* The probability that `bad` steps all lie outside `drawn` parts of `all`, for a trainer who knows the parts, though not the
 * seed, and puts them where this is largest: into as few parts as hold them. */
double ls_cli__parts_missed(const ls_cli_parts *all, size_t drawn, uint64_t bad);

/* ---- auditing them ---- */

#define LS_CLI__WORKERS_MAX 256

/* What became of one part. */
typedef struct ls_cli_outcome {
	size_t part;
	bool there; /* false: nobody got to it */
	ls_status status;
	ls_error error; /* of a status that is not LS_OK */
	ls_audit_result result;
} ls_cli_outcome;

/* Audits one part, in this process. */
typedef ls_status (*ls_cli_part_fn)(void *context, const ls_cli_part *part, ls_audit_result *out, ls_error *err);

/* One after another, up to the first that does not match. `outcome` has a zeroed place for each part. */
ls_status ls_cli__audit_in_turn(const ls_cli_parts *parts, ls_cli_part_fn fn, void *context, ls_cli_outcome *outcome, ls_error *err);
/* In 1 ≤ workers ≤ LS_CLI__WORKERS_MAX processes. The caller must have started no thread. */
ls_status ls_cli__audit_in_processes(const ls_cli_parts *parts, int workers, ls_cli_part_fn fn, void *context,
                                     ls_cli_outcome *outcome, ls_error *err);
/* One verdict: that of the first part which does not match, else a match over all that were audited. Counts are summed. */
ls_status ls_cli__audit_join(ls_audit_result *out, const ls_cli_outcome *outcome, size_t count, ls_error *err);

#endif
