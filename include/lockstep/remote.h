/* Lockstep: a run that somebody serves (spec/http.md), read as if it lay here.
 *
 * What is small comes into a folder laid out as a run directory: job, identity, heads, leaves. Rounding log, snapshots and pieces are
 * fetched when the reader asks for them, verified by it like a file's bytes, and not kept. Every size is bounded by what the job
 * allows before anything of it is fetched. What the peer has not, though its head promises it, is *withheld*: a finding.
 */
#ifndef LOCKSTEP_REMOTE_H
#define LOCKSTEP_REMOTE_H

#include <lockstep/net.h>
#include <lockstep/run.h>

typedef struct ls_remote ls_remote;

/* `url` is a service's address, where it serves one run, or that of a run: …/v1/runs/RUN. Nothing is fetched yet but the list of runs,
 * where that is needed: LS_ERR_USAGE where there are several. The folder is made below $TMPDIR, and removed by ls_remote_free. */
ls_status ls_remote_open(ls_remote **out, const char *url, const ls_http_options *options, ls_error *err);
/* Fetches what is small and opens it. As ls_run_open and, with `live`, ls_run_open_live. The run must be freed before the remote. */
ls_status ls_remote_run(ls_remote *r, bool live, ls_run **out, ls_damage *damage, ls_error *err);
/* In the process that opened it; a forked one leaves the folder alone. NULL is allowed. */
void ls_remote_free(ls_remote *r);

/* ---- bodies of answers, for fuzzers, too ---- */

/* The ids of the runs in the list that /v1/runs gives; LS_ERR_INPUT where it is none. `ids` has room for `room`. */
ls_status ls_remote_parse_runs(char (*ids)[LS_HASH_HEX_SIZE], size_t room, size_t *count, const void *text, size_t len, ls_error *err);
/* What /v1/runs/RUN gives: whether the run is being written, and how far it is. */
ls_status ls_remote_parse_status(bool *being_written, uint64_t *written_step, const void *text, size_t len, ls_error *err);
/* Lines of ascending steps, at most `most` of them; `*steps` is freed by ls_free. */
ls_status ls_remote_parse_steps(uint64_t **steps, size_t *count, size_t most, const void *text, size_t len, ls_error *err);
/* The next head of a list: u64 size ‖ u32 length ‖ text. False where there is none: at the end, which is no failure of `in`, or where
 * the bytes are no such record. Sizes are above `after`. */
#define LS_REMOTE_HEAD_MAX 1024
bool ls_remote_next_head(ls_cursor *in, uint64_t after, uint64_t *size, const uint8_t **text, size_t *len);
/* How many whole records of the file of leaves the bytes begin with, and where these end. */
uint64_t ls_remote_count_leaves(const void *data, size_t len, size_t *end);

#endif
