#include "serve/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_SECONDS 0.2 /* between two looks for a newer head, however many ask */

/* The hashes of leaves that are new; proofs are made of them. */
static ls_status take_leaves(ls_serve__run *r, ls_error *err)
{
	ls_status status = LS_OK;
	ls_hash hash;
	ls_leaf leaf;
	ls_buf bytes;
	ls_buf_init(&bytes, LS_LEAF_BYTES_MAX);
	for (uint64_t i = r->levels.size; i < ls_run_leaves(r->live) && status == LS_OK; i++) {
		ls_buf_reset(&bytes);
		LS_TRY(ls_run_read_leaf(r->live, i, &leaf, err));
		status = ls_leaf_encode(&bytes, &leaf);
		if (status == LS_OK)
			status = ls_hash_leaf(&hash, bytes.data, bytes.len, r->hasher);
		if (status == LS_OK)
			status = ls_levels_push(&r->levels, &hash);
		if (status != LS_OK)
			ls_error_set(err, status, "%s: could not hash its leaves: %s", r->dir, ls_status_text(status));
	}
done:
	ls_buf_free(&bytes);
	return status;
}

static ls_status refresh(ls_serve__run *r, ls_error *err)
{
	ls_status status = LS_OK;
	double now = ls_clock_seconds();
	if (r->damage.found || now - r->looked < LOOK_SECONDS)
		return LS_OK;
	r->looked = now;
	LS_TRY(ls_run_refresh(r->live, &r->damage, err));
	if (!r->damage.found)
		LS_TRY(take_leaves(r, err));
done:
	return status;
}

static ls_status open_run(ls_serve__run *r, const char *dir, ls_error *err)
{
	ls_status status;
	ls_damage damage;
	snprintf(r->dir, sizeof r->dir, "%s", dir);
	LS_TRY(ls_hasher_open(&r->hasher, 1, err));
	ls_levels_init(&r->levels, r->hasher);
	LS_TRY(ls_run_open_live(&r->live, dir, &damage, err));
	if (damage.found) {
		status = ls_error_input(err, dir, damage.file, damage.text, "a run that fits together", "lockstep verify looks at all of it");
		goto done;
	}
	if (!r->live) {
		status = ls_error_input(err, dir, NULL, "no head", "a run that has begun", "lockstep train writes the first one at once");
		goto done;
	}
	ls_hash_hex(r->id, ls_run_id_of(r->live));
	LS_TRY(take_leaves(r, err));
done:
	return status;
}

ls_status ls_service_open(ls_service **out, const char *const *dirs, size_t count, ls_error *err)
{
	ls_status status = LS_OK;
	ls_service *s = ls_alloc(1, sizeof *s);
	*out = NULL;
	if (s)
		s->run = ls_alloc(count, sizeof *s->run);
	if (!s || !s->run) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for %zu runs", count);
		goto done;
	}
	for (size_t i = 0; i < count; i++) {
		s->runs = i + 1;
		pthread_mutex_init(&s->run[i].lock, NULL);
		LS_TRY(open_run(&s->run[i], dirs[i], err));
		for (size_t j = 0; j < i; j++)
			if (!strcmp(s->run[j].id, s->run[i].id)) {
				status = ls_error_input(err, dirs[i], NULL, "the run that another folder holds, too", "each run once", NULL);
				goto done;
			}
	}
	*out = s;
	s = NULL;
done:
	ls_service_free(s);
	return status;
}

void ls_service_free(ls_service *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->runs; i++) {
		ls_serve__run *r = &s->run[i];
		ls_run_free(r->live);
		ls_levels_free(&r->levels);
		ls_hasher_free(r->hasher);
		pthread_mutex_destroy(&r->lock);
	}
	ls_free(s->run);
	ls_free(s);
}

void ls_service_attach(ls_service *s, ls_server *server)
{
	atomic_store(&s->server, server);
}

size_t ls_service_runs(const ls_service *s)
{
	return s->runs;
}

const char *ls_service_run_id(const ls_service *s, size_t index)
{
	return s->run[index].id;
}

/* ---- for handlers ---- */

ls_status ls_serve__take(ls_service *s, const ls_http_request *request, ls_serve__run **out, ls_error *err)
{
	ls_status status;
	*out = NULL;
	for (size_t i = 0; i < s->runs; i++)
		if (!strcmp(s->run[i].id, request->part[0])) {
			pthread_mutex_lock(&s->run[i].lock);
			status = refresh(&s->run[i], err);
			if (status == LS_OK)
				*out = &s->run[i];
			else
				pthread_mutex_unlock(&s->run[i].lock);
			return status;
		}
	return ls_error_set(err, LS_ERR_NOT_FOUND, "no run of this id is served here");
}

void ls_serve__leave(ls_serve__run *run)
{
	if (run)
		pthread_mutex_unlock(&run->lock);
}

ls_status ls_serve__open(const ls_serve__run *run, const char *name, ls_http_reply *reply, ls_error *err)
{
	char path[LS_PATH_MAX];
	struct stat st;
	int fd;
	ls_status status = ls_path_join(path, sizeof path, run->dir, name, err);
	if (status != LS_OK)
		return status;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		return ls_error_set(err, errno == EMFILE || errno == ENFILE ? LS_ERR_NOMEM : LS_ERR_IO, "%s: could not open it: %s", path, strerror(errno));
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return ls_error_set(err, LS_ERR_NOT_FOUND, "%s is not there", name);
	reply->fd = fd;
	reply->offset = 0;
	reply->size = (uint64_t)st.st_size;
	return LS_OK;
}

int ls_serve__open_dir(const ls_serve__run *run, const char *name)
{
	char path[LS_PATH_MAX];
	if (ls_path_join(path, sizeof path, run->dir, name, NULL) != LS_OK)
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
}
