/* Internal to src/serve: what the handlers share. A route is one function and one row in routes.c. */
#ifndef LS_SERVE_SERVICE_H
#define LS_SERVE_SERVICE_H

#include <lockstep/serve.h>

#include <pthread.h>
#include <stdatomic.h>

/* A run that is served. What its newest head promises, as `live` has read it, is what there is to be had. */
typedef struct ls_serve__run {
	char id[LS_HASH_HEX_SIZE];
	char dir[LS_PATH_MAX];
	pthread_mutex_t lock; /* of all below */
	ls_run *live;
	ls_hasher *hasher;
	ls_levels levels;
	double looked;        /* when it was last asked for a newer head */
	ls_damage damage;     /* what was found then: the run stays as it was before */
} ls_serve__run;

struct ls_service {
	ls_serve__run *run;
	size_t runs;
	ls_court *court; /* NULL: no disputes are taken */
	_Atomic(ls_server *) server;
};

/* The run named by the path's first open segment, locked and looked after; LS_ERR_NOT_FOUND where none has this id. */
ls_status ls_serve__take(ls_service *s, const ls_http_request *request, ls_serve__run **out, ls_error *err);
void ls_serve__leave(ls_serve__run *run); /* unlocks it; NULL is allowed */
/* Opens a file of the run's folder for a reply. `name` is made by the caller of numbers and digests, or taken from a list. Only a
 * regular file, never through a link. LS_ERR_NOT_FOUND where it is not there. */
ls_status ls_serve__open(const ls_serve__run *run, const char *name, ls_http_reply *reply, ls_error *err);
/* The same for the folder: a descriptor, or -1. */
int ls_serve__open_dir(const ls_serve__run *run, const char *name);

/* ---- handlers (about.c, tree.c, files.c, disputes.c) ---- */

ls_status ls_serve__health(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__metrics(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__runs(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__status(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);

ls_status ls_serve__head(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__head_of_size(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__heads(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__leaves(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__inclusion(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__consistency(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);

ls_status ls_serve__file(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__snapshots(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__snapshot(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__piece(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__log(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__log_index(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__statements(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__statement(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);

ls_status ls_serve__disputes(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);
ls_status ls_serve__dispute(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err);

#endif
