/* What there is, and how it goes. */
#include "serve/service.h"

ls_status ls_serve__health(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	reply->type = LS_HTTP_TEXT;
	ls_buf_printf(&reply->body, "ok\n");
	return LS_OK;
}

static void put_run(ls_buf *out, ls_serve__run *r)
{
	char job[LS_HASH_HEX_SIZE];
	ls_hash_hex(job, ls_run_job_id(r->live));
	ls_buf_printf(out, "{\"run\": \"%s\", \"job\": \"%s\", \"leaves\": %llu, \"steps\": %llu, \"ordered\": %llu, \"being_written\": %s, \"damaged\": %s",
	              r->id, job, (unsigned long long)ls_run_leaves(r->live),
	              (unsigned long long)ls_run_last_step(r->live), (unsigned long long)ls_run_binding(r->live)->steps,
	              ls_run_is_being_written(r->live) ? "true" : "false", r->damage.found ? "true" : "false");
}

ls_status ls_serve__runs(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_service *s = service;
	reply->type = LS_HTTP_JSON;
	ls_buf_printf(&reply->body, "{\"runs\": [");
	for (size_t i = 0; i < s->runs; i++) {
		ls_http_request one = {.part = {s->run[i].id}};
		ls_serve__run *r;
		ls_status status = ls_serve__take(s, &one, &r, err);
		if (status != LS_OK)
			return status;
		ls_buf_printf(&reply->body, i ? ", " : "");
		put_run(&reply->body, r);
		ls_buf_printf(&reply->body, "}");
		ls_serve__leave(r);
	}
	ls_buf_printf(&reply->body, "]}\n");
	return LS_OK;
}

ls_status ls_serve__status(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t written = 0;
	char hex[LS_HASH_HEX_SIZE];
	ls_hash root;
	LS_TRY(ls_serve__take(service, request, &r, err));
	LS_TRY(ls_run_written_step(r->live, &written, err));
	LS_TRY(ls_levels_head(&r->levels, r->levels.size, &root));
	ls_hash_hex(hex, &root);
	reply->type = LS_HTTP_JSON;
	put_run(&reply->body, r);
	ls_buf_printf(&reply->body, ", \"root\": \"%s\", \"written_step\": %llu, \"log_bytes\": %llu}\n", hex, (unsigned long long)written,
	              (unsigned long long)ls_run_log_bytes(r->live));
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__metrics(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	static const char *const name[] = {"lockstep_run_leaves", "lockstep_run_being_written", "lockstep_run_damaged"};
	static const char *const help[] = {"Leaves that the newest head promises.", "Whether a trainer is at work.",
	                                   "Whether a newer head was found not to fit; what was there before is still served."};
	ls_service *s = service;
	ls_server *server = atomic_load(&s->server);
	ls_buf *out = &reply->body;
	reply->type = "text/plain; version=0.0.4; charset=utf-8";
	if (server)
		ls_server_metrics(server, out);
	for (int m = 0; m < 3; m++) {
		ls_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name[m], help[m], name[m]);
		for (size_t i = 0; i < s->runs; i++) {
			ls_serve__run *r = &s->run[i];
			pthread_mutex_lock(&r->lock);
			ls_buf_printf(out, "%s{run=\"%s\"} %llu\n", name[m], r->id,
			              m == 0 ? (unsigned long long)ls_run_leaves(r->live) : m == 1 ? ls_run_is_being_written(r->live) : r->damage.found);
			pthread_mutex_unlock(&r->lock);
		}
	}
	return LS_OK;
}
