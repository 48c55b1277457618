/* Lockstep: the routes under which runs are read over HTTP (spec/http.md). */
#ifndef LOCKSTEP_SERVE_H
#define LOCKSTEP_SERVE_H

#include <lockstep/court.h>
#include <lockstep/net.h>
#include <lockstep/run.h>

/* Runs that are served. Their folders are only read; a trainer may be at work in them. */
typedef struct ls_service ls_service;

#define LS_SERVICE_RUNS_MAX 256

/* At most LS_SERVICE_RUNS_MAX folders, of different runs, each with at least one head. None: only disputes are served. */
ls_status ls_service_open(ls_service **out, const char *const *dirs, size_t count, ls_error *err);
void ls_service_free(ls_service *s); /* after the server that asks it; NULL is allowed */
/* Takes disputes as this court does, which must outlive the server; before the server is opened. */
void ls_service_hold_court(ls_service *s, ls_court *court);
/* The table of routes, for ls_server_options; their context is the service. */
const ls_http_route *ls_service_routes(size_t *count);
/* Tells whose numbers /metrics is to print; NULL before the server is closed. */
void ls_service_attach(ls_service *s, ls_server *server);
size_t ls_service_runs(const ls_service *s);
/* 64 hex digits. */
const char *ls_service_run_id(const ls_service *s, size_t index);

/* ---- proofs in time that hardly grows with the tree ---- */

/* The heads of all complete subtrees of a tree that grows. */
typedef struct ls_levels {
	ls_buf level[64]; /* of 2^l leaves each */
	uint64_t size;
	ls_hasher *hasher; /* borrowed */
} ls_levels;

void ls_levels_init(ls_levels *t, ls_hasher *hasher);
void ls_levels_free(ls_levels *t);
ls_status ls_levels_push(ls_levels *t, const ls_hash *leaf_hash);
/* As ls_inclusion_make and ls_consistency_make over the first `size` ≤ t->size leaves; LS_ERR_USAGE outside their bounds. */
ls_status ls_levels_inclusion(const ls_levels *t, uint64_t size, uint64_t index, ls_hash proof[LS_PROOF_MAX], size_t *count);
ls_status ls_levels_consistency(const ls_levels *t, uint64_t size, uint64_t old_size, ls_hash proof[LS_PROOF_MAX + 1], size_t *count);
ls_status ls_levels_head(const ls_levels *t, uint64_t size, ls_hash *out); /* 1 ≤ size ≤ t->size */

#endif
