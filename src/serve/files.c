/* Files of the run's folder. Names are made of numbers and digests, or compared with a list; none is taken from a request as it
 * stands but those of statements, which are looked up in their folder. */
#include "serve/service.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define INDEX_MAX 4096 /* places in one answer */
#define STATEMENTS_MAX 1024

static ls_status not_there(ls_error *err)
{
	return ls_error_set(err, LS_ERR_NOT_FOUND, "there is nothing under this path");
}

ls_status ls_serve__file(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	static const struct {
		const char *name, *type;
	} files[] = {
		{"job.bin", LS_HTTP_BYTES},
		{"job.yaml", "application/yaml"},
		{"job.sig", LS_HTTP_BYTES},
		{"nonce", LS_HTTP_TEXT},
		{LS_JOB_THRESHOLDS_FILE, LS_HTTP_JSON},
		{"trainer.pem", "application/x-pem-file"},
		{"auditor", LS_HTTP_TEXT},
		{"metrics.jsonl", "application/jsonl"},
	};
	ls_serve__run *r;
	ls_status status;
	LS_TRY(ls_serve__take(service, request, &r, err));
	status = not_there(err);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (!strcmp(request->part[1], files[i].name)) {
			reply->type = files[i].type;
			status = ls_serve__open(r, files[i].name, reply, err);
		}
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__snapshots(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t *steps = NULL, end;
	size_t count = 0;
	LS_TRY(ls_serve__take(service, request, &r, err));
	LS_TRY(ls_run_snapshots(r->live, &steps, &count, err));
	reply->type = LS_HTTP_TEXT;
	end = ls_run_last_step(r->live);
	for (size_t i = 0; i < count && steps[i] <= end; i++)
		ls_buf_printf(&reply->body, "%llu\n", (unsigned long long)steps[i]);
done:
	ls_free(steps);
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__snapshot(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	unsigned long long step = 0;
	char name[64];
	LS_TRY(ls_serve__take(service, request, &r, err));
	snprintf(name, sizeof name, "snapshots/%010llu", sscanf(request->part[1], "%19llu", &step) == 1 ? step : 0);
	status = strcmp(strchr(name, '/') + 1, request->part[1]) ? not_there(err) : ls_serve__open(r, name, reply, err);
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__piece(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	char hex[LS_HASH_HEX_SIZE], name[96];
	ls_hash root;
	bool packed;
	LS_TRY(ls_serve__take(service, request, &r, err));
	snprintf(hex, sizeof hex, "%s", request->part[1]);
	packed = strlen(request->part[1]) == LS_HASH_HEX_SIZE + 3 && !strcmp(request->part[1] + LS_HASH_HEX_SIZE - 1, ".zst");
	status = not_there(err);
	if ((!packed && strlen(request->part[1]) != LS_HASH_HEX_SIZE - 1) || !ls_hash_unhex(&root, hex))
		goto done;
	ls_hash_hex(hex, &root);
	snprintf(name, sizeof name, "pieces/%s%s", hex, packed ? ".zst" : "");
	LS_TRY(ls_serve__open(r, name, reply, err));
	reply->immutable = true;
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__log(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t at = 0, len = 0;
	LS_TRY(ls_serve__take(service, request, &r, err));
	if (ls_run_leaves(r->live) > 1)
		LS_TRY(ls_run_block_place(r->live, ls_run_leaves(r->live) - 1, &at, &len, err));
	LS_TRY(ls_serve__open(r, "rounding-log/frames", reply, err));
	if (reply->size < at + len)
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "the rounding log is shorter than the leaves ask for");
	reply->size = at + len; // what lies behind is the trainer's business still
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__log_index(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t first, count, at, len;
	LS_TRY(ls_serve__take(service, request, &r, err));
	LS_TRY(ls_http_query_number(request, "first", UINT64_MAX, 1, &first, err));
	LS_TRY(ls_http_query_number(request, "count", UINT64_MAX, INDEX_MAX, &count, err));
	if (!first || first >= ls_run_leaves(r->live)) {
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "found leaf %llu on, expected one of 1 to %llu", (unsigned long long)first,
		                      (unsigned long long)ls_run_leaves(r->live) - 1);
		goto done;
	}
	count = count < INDEX_MAX ? count : INDEX_MAX;
	for (uint64_t leaf = first; leaf < ls_run_leaves(r->live) && leaf - first < count; leaf++) {
		LS_TRY(ls_run_block_place(r->live, leaf, &at, &len, err));
		ls_buf_u64(&reply->body, at);
		ls_buf_u64(&reply->body, len);
	}
done:
	ls_serve__leave(r);
	return status;
}

/* ---- statements and signatures that somebody laid beside the run ---- */

static bool is_plain_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-");
	return len && !name[len] && name[0] != '.' && len <= LS_HTTP_PART_MAX;
}

ls_status ls_serve__statements(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	struct dirent *entry;
	int fd, put = 0;
	DIR *d = NULL;
	LS_TRY(ls_serve__take(service, request, &r, err));
	reply->type = LS_HTTP_TEXT;
	fd = ls_serve__open_dir(r, "statements");
	d = fd >= 0 ? fdopendir(fd) : NULL;
	while (d && put < STATEMENTS_MAX && (entry = readdir(d)))
		if (is_plain_name(entry->d_name)) {
			ls_buf_printf(&reply->body, "%s\n", entry->d_name);
			put++;
		}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__statement(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	char name[32 + LS_HTTP_PART_MAX];
	LS_TRY(ls_serve__take(service, request, &r, err));
	snprintf(name, sizeof name, "statements/%s", request->part[1]);
	status = is_plain_name(request->part[1]) ? ls_serve__open(r, name, reply, err) : not_there(err);
done:
	ls_serve__leave(r);
	return status;
}
