/* One request and its answer. */
#include "net/server.h"

#include <stdio.h>
#include <unistd.h>

#define BYTES_PER_SECOND 4096.0 /* the least that a peer has to send or take, on the average of a whole body */
#define BODY_MAX (UINT64_C(1) << 30)
#define ERROR_MAX 4096

typedef struct ls_http_exchange {
	struct MHD_Connection *connection;
	ls_net__peer *peer;
	double begun;
	char raw[LS_HTTP_TARGET_MAX + 2]; /* one byte more than is allowed, so that what was cut off is seen to be too long */
	char method[8];
	ls_http_target target;
	ls_http_request request;
	size_t route; /* route_count: none */
	bool seen;    /* headers have come */
	bool early;   /* and were looked at before the body came */
	ls_buf body;
	int status;   /* that was queued; 0: none yet */
	uint64_t bytes;
	char error[512]; /* for the log */
} exchange;

/* ---- what handlers ask ---- */

const char *ls_http_query(const ls_http_request *r, const char *name)
{
	const ls_http_target *t = &r->exchange->target;
	for (size_t i = 0; i < t->members; i++)
		if (!strcmp(t->name[i], name))
			return t->value[i];
	return NULL;
}

ls_status ls_http_query_number(const ls_http_request *r, const char *name, uint64_t max, uint64_t fallback, uint64_t *out, ls_error *err)
{
	const char *text = ls_http_query(r, name);
	char expected[64];
	*out = fallback;
	if (!text || ls_http_number(text, max, out))
		return LS_OK;
	snprintf(expected, sizeof expected, "a number up to %llu", (unsigned long long)max);
	return ls_error_input(err, r->path, name, *text ? text : "nothing", expected, NULL);
}

const char *ls_http_header(const ls_http_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->exchange->connection, MHD_HEADER_KIND, name);
}

/* ---- answers ---- */

/* Queues the response, which is then the daemon's. */
static enum MHD_Result queue(ls_server *s, exchange *x, int status, const char *type, struct MHD_Response *response, uint64_t size)
{
	enum MHD_Result result;
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (atomic_load(&s->stopping))
		MHD_add_response_header(response, "Connection", "close");
	ls_net__peer_stage(s, x->peer, 2 * s->options.timeout + (double)size / BYTES_PER_SECOND);
	result = MHD_queue_response(x->connection, (unsigned)status, response);
	MHD_destroy_response(response);
	if (result == MHD_YES) {
		x->status = status;
		x->bytes = size;
	}
	return result;
}

static struct MHD_Response *response_of(ls_buf *body)
{
	struct MHD_Response *r = MHD_create_response_from_buffer_with_free_callback(body->len, body->data, ls_free);
	if (r)
		*body = (ls_buf){.max = body->max}; // the response's now
	return r;
}

/* {"error": TEXT}, with a header where `name` is given. */
static enum MHD_Result answer_error(ls_server *s, exchange *x, int status, const char *text, const char *name, const char *value)
{
	struct MHD_Response *response;
	enum MHD_Result result;
	uint64_t size;
	ls_buf body;
	ls_buf_init(&body, ERROR_MAX);
	ls_buf_printf(&body, "{\"error\": ");
	ls_net__json_text(&body, text);
	ls_buf_printf(&body, "}\n");
	if (!x->error[0])
		snprintf(x->error, sizeof x->error, "%s", text);
	size = body.len;
	response = body.status == LS_OK ? response_of(&body) : NULL;
	if (response && name)
		MHD_add_response_header(response, name, value);
	result = queue(s, x, status, LS_HTTP_JSON, response, size);
	ls_buf_free(&body);
	return result;
}

static int status_of(ls_status status)
{
	switch (status) {
	case LS_ERR_INPUT:
	case LS_ERR_USAGE: return 400;
	case LS_ERR_NOT_FOUND: return 404;
	case LS_ERR_EXISTS: return 409;
	case LS_ERR_LIMIT: return 413;
	case LS_ERR_NOMEM:
	case LS_ERR_FULL: return 503;
	default: return 500;
	}
}

static enum MHD_Result answer_failure(ls_server *s, exchange *x, ls_status status, const char *text)
{
	int code = status_of(status);
	snprintf(x->error, sizeof x->error, "%s", text[0] ? text : ls_status_text(status));
	if (code == 503)
		return answer_error(s, x, code, "no room for this now", "Retry-After", "2");
	return answer_error(s, x, code, code == 500 ? "the server could not do this; its log says why" : x->error, NULL, NULL);
}

/* A part of a file, or the range of it that was asked for. */
static enum MHD_Result answer_file(ls_server *s, exchange *x, ls_http_reply *reply)
{
	uint64_t first, length;
	char text[96];
	ls_http_range_kind kind = ls_http_range_parse(ls_http_header(&x->request, "Range"), reply->size, &first, &length);
	struct MHD_Response *response;
	if (kind == LS_HTTP_RANGE_BAD) {
		snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)reply->size);
		return answer_error(s, x, 416, "found a range that is not one range within this, expected bytes=A-B", "Content-Range", text);
	}
	response = MHD_create_response_from_fd_at_offset64(length, reply->fd, reply->offset + first);
	if (!response)
		return MHD_NO;
	reply->fd = -1; // the response's now
	MHD_add_response_header(response, "Accept-Ranges", "bytes");
	MHD_add_response_header(response, "Cache-Control", reply->immutable ? "public, max-age=31536000, immutable" : "no-cache");
	if (kind == LS_HTTP_RANGE_PART) {
		snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)first, (unsigned long long)(first + length - 1),
		         (unsigned long long)reply->size);
		MHD_add_response_header(response, "Content-Range", text);
	}
	return queue(s, x, kind == LS_HTTP_RANGE_PART ? 206 : reply->status, reply->type, response, length);
}

static enum MHD_Result answer_body(ls_server *s, exchange *x, ls_http_reply *reply)
{
	struct MHD_Response *response;
	uint64_t size = reply->body.len;
	if (reply->body.status != LS_OK)
		return answer_failure(s, x, reply->body.status, "the answer does not fit into its bound");
	response = response_of(&reply->body);
	if (response)
		MHD_add_response_header(response, "Cache-Control", reply->immutable ? "public, max-age=31536000, immutable" : "no-cache");
	return queue(s, x, reply->status, reply->type, response, size);
}

/* The request is whole: its handler is called. */
static enum MHD_Result answer(ls_server *s, exchange *x)
{
	ls_error err = LS_ERROR_INIT;
	ls_http_reply reply = {.status = 200, .type = LS_HTTP_BYTES, .fd = -1};
	enum MHD_Result result;
	ls_status status;
	ls_buf_init(&reply.body, BODY_MAX);
	x->request.body = x->body.data;
	x->request.body_len = x->body.len;
	status = s->options.routes[x->route].handler(s->options.context, &x->request, &reply, &err);
	if (status != LS_OK)
		result = answer_failure(s, x, status, err.text);
	else
		result = reply.fd >= 0 ? answer_file(s, x, &reply) : answer_body(s, x, &reply);
	if (reply.fd >= 0)
		close(reply.fd);
	ls_buf_free(&reply.body);
	return result;
}

/* ---- requests ---- */

/* The row of the table; where the path is known and the method is not, `*allowed` says which is. */
static size_t find_route(ls_server *s, exchange *x, const char **allowed)
{
	const char *method = !strcmp(x->method, "HEAD") ? "GET" : x->method;
	size_t parts;
	*allowed = NULL;
	for (size_t i = 0; i < s->options.route_count; i++) {
		const ls_http_route *r = &s->options.routes[i];
		if (!ls_http_route_matches(r, &x->target, x->request.part, &parts))
			continue;
		if (!strcmp(r->method, method)) {
			x->request.parts = parts;
			return i;
		}
		*allowed = strcmp(r->method, "GET") ? r->method : "GET, HEAD";
	}
	return s->options.route_count;
}

/* Whether the headers announce a body of more than `max` bytes. One without a length is counted as it comes. */
static bool is_too_long(exchange *x, uint64_t max)
{
	const char *length = ls_http_header(&x->request, "Content-Length");
	uint64_t n;
	if (length)
		return !ls_http_number(length, max, &n);
	return !max && ls_http_header(&x->request, "Transfer-Encoding");
}

/* Headers have come: refuses what can be refused by them. */
static enum MHD_Result look_at_headers(ls_server *s, exchange *x)
{
	ls_error err = LS_ERROR_INIT;
	const char *allowed;
	unsigned wait;
	char seconds[16];
	const ls_http_route *route;
	if (!ls_net__peer_may(s, x->peer, &wait)) {
		snprintf(seconds, sizeof seconds, "%u", wait);
		return answer_error(s, x, 429, "too many requests from this address", "Retry-After", seconds);
	}
	if (ls_http_target_parse(&x->target, x->raw, strlen(x->raw), &err) != LS_OK)
		return answer_error(s, x, 400, err.text, NULL, NULL);
	x->request.path = x->target.path;
	x->route = find_route(s, x, &allowed);
	if (x->route == s->options.route_count && allowed)
		return answer_error(s, x, 405, "found another method than this path has", "Allow", allowed);
	if (x->route == s->options.route_count)
		return answer_error(s, x, 404, "there is nothing under this path", NULL, NULL);
	route = &s->options.routes[x->route];
	if (is_too_long(x, route->body_max))
		return answer_error(s, x, 413, route->body_max ? "the body is larger than this path takes" : "found a body, expected none", NULL, NULL);
	ls_buf_init(&x->body, route->body_max);
	ls_net__peer_stage(s, x->peer, 2 * s->options.timeout + (double)route->body_max / BYTES_PER_SECOND);
	return MHD_YES;
}

static bool has_body(const exchange *x)
{
	const char *length = ls_http_header(&x->request, "Content-Length");
	return (length && strcmp(length, "0")) || ls_http_header(&x->request, "Transfer-Encoding");
}

void *ls_net__on_target(void *server, const char *target, struct MHD_Connection *connection)
{
	ls_server *s = server;
	exchange *x = ls_alloc(1, sizeof *x);
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	atomic_fetch_add(&s->active, 1); // taken back by ls_net__on_end, with or without memory
	if (!x || !info || !info->socket_context) {
		ls_free(x);
		return NULL;
	}
	x->connection = connection;
	x->peer = info->socket_context;
	x->begun = ls_clock_seconds();
	x->route = s->options.route_count;
	snprintf(x->raw, sizeof x->raw, "%s", target);
	snprintf(x->method, sizeof x->method, "?");
	ls_buf_init(&x->body, 0);
	x->request.exchange = x;
	x->request.address = x->peer->address;
	ls_net__peer_stage(s, x->peer, 2 * s->options.timeout);
	return x;
}

enum MHD_Result ls_net__on_request(void *server, struct MHD_Connection *connection, const char *url, const char *method,
                                   const char *version, const char *upload, size_t *upload_len, void **context)
{
	ls_server *s = server;
	exchange *x = *context;
	if (!x)
		return MHD_NO; // without memory, or without a peer
	if (!x->seen) {
		x->seen = true;
		snprintf(x->method, sizeof x->method, "%s", method);
		x->request.method = strcmp(method, "HEAD") ? x->method : "GET";
		x->early = has_body(x); // an answer given in this first call ends the connection, so that no body need be read
		return x->early ? look_at_headers(s, x) : MHD_YES;
	}
	if (*upload_len) {
		ls_buf_bytes(&x->body, upload, *upload_len);
		*upload_len = 0;
		return x->body.status == LS_OK ? MHD_YES : MHD_NO; // longer than announced, or without memory: nobody to be polite to
	}
	if (!x->early && look_at_headers(s, x) != MHD_YES)
		return MHD_NO;
	return x->status ? MHD_YES : answer(s, x);
}

static const char *end_of(enum MHD_RequestTerminationCode code)
{
	switch (code) {
	case MHD_REQUEST_TERMINATED_COMPLETED_OK: return "whole";
	case MHD_REQUEST_TERMINATED_TIMEOUT_REACHED: return "timeout";
	case MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN: return "stopped";
	case MHD_REQUEST_TERMINATED_CLIENT_ABORT: return "left";
	default: return "broken";
	}
}

void ls_net__on_end(void *server, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode code)
{
	ls_server *s = server;
	exchange *x = *context;
	atomic_fetch_sub(&s->active, 1);
	if (!x)
		return;
	ls_net__peer_stage(s, x->peer, 2 * s->options.timeout); // for the next request
	ls_net__note(s, &(ls_net__entry){.address = x->peer->address,
	                                 .method = x->method,
	                                 .target = x->raw,
	                                 .end = end_of(code),
	                                 .error = x->error[0] ? x->error : NULL,
	                                 .status = x->status,
	                                 .bytes = x->bytes,
	                                 .seconds = ls_clock_seconds() - x->begun,
	                                 .route = x->route});
	ls_buf_free(&x->body);
	ls_free(x);
	*context = NULL;
}
