/* Lockstep: HTTP/1.1 with limits, both sides. Knows nothing of runs.
 *
 * Nothing here trusts a peer: every length has a bound that is checked before memory is taken, every wait ends, and no text of a
 * peer becomes a path. A server answers from a table of routes; a client makes one request at a time, follows no redirects, and
 * leaves it to its caller to verify what came.
 */
#ifndef LOCKSTEP_NET_H
#define LOCKSTEP_NET_H

#include <lockstep/base.h>

/* ---- requests and replies ---- */

#define LS_HTTP_PARTS_MAX 4    /* segments of a path that a route leaves open */
#define LS_HTTP_PART_MAX 127   /* bytes of a segment */
#define LS_HTTP_TARGET_MAX 1023 /* bytes of path and query */

#define LS_HTTP_BYTES "application/octet-stream"
#define LS_HTTP_JSON "application/json"
#define LS_HTTP_TEXT "text/plain; charset=utf-8"

struct ls_http_exchange;

/* As a handler sees it. All borrowed until the handler returns. */
typedef struct ls_http_request {
	const char *method; /* "GET" (also for HEAD, whose reply's body is not sent) or "POST" */
	const char *path;   /* without the query; what ls_http_target_parse accepts */
	const char *part[LS_HTTP_PARTS_MAX]; /* the segments that stood in place of {…}, in order */
	size_t parts;
	const uint8_t *body; /* at most the route's body_max */
	size_t body_len;
	const char *address; /* of the peer, without its port */
	struct ls_http_exchange *exchange; /* net's own */
} ls_http_request;

/* The value of a member of the query; NULL where it is not there. */
const char *ls_http_query(const ls_http_request *r, const char *name);
/* A decimal number without sign or leading zeros, at most `max`; LS_ERR_INPUT otherwise. `fallback` where it is not there. */
ls_status ls_http_query_number(const ls_http_request *r, const char *name, uint64_t max, uint64_t fallback, uint64_t *out,
                               ls_error *err);
/* The same for any text: false where it is no such number. */
bool ls_http_number(const char *text, uint64_t max, uint64_t *out);
const char *ls_http_header(const ls_http_request *r, const char *name); /* NULL where it is not there */

/* Filled in by a handler: bytes in `body`, or a part of an open file. */
typedef struct ls_http_reply {
	int status;       /* 200 unless set */
	const char *type; /* LS_HTTP_BYTES unless set; not copied */
	bool immutable;   /* what lies under this path never changes: it may be cached for good */
	ls_buf body;
	int fd;           /* -1, or a file that the reply owns from then on, of which `size` bytes from `offset` are sent; a request for
	                     a range gets that range of them */
	uint64_t offset, size;
} ls_http_reply;

/* Called from several threads at once, and has to come back soon: what takes long is done elsewhere and asked for again. A status
 * other than LS_OK is answered with {"error": TEXT}: INPUT and USAGE 400, NOT_FOUND 404, EXISTS 409, LIMIT 413, NOMEM and FULL 503,
 * anything else 500, where the text goes into the log only. */
typedef ls_status (*ls_http_handler)(void *context, const ls_http_request *request, ls_http_reply *reply, ls_error *err);

typedef struct ls_http_route {
	const char *method; /* "GET" or "POST" */
	const char *path;   /* "/v1/runs/{run}/leaves": a {…} stands for any one segment */
	ls_http_handler handler;
	size_t body_max;    /* of a POST, in bytes */
} ls_http_route;

/* ---- parsing, for tests and fuzzers, too ---- */

#define LS_HTTP_QUERY_MAX 8

/* A request's target in its parts. Paths consist of non-empty segments of A-Z a-z 0-9 . _ ~ -, none of which is "." or "..";
 * members of a query of the same characters and commas, each name once, each with "=". No escapes: nothing that is served needs them. */
typedef struct ls_http_target {
	char text[LS_HTTP_TARGET_MAX + 1]; /* cut into pieces by NULs */
	const char *path;                  /* whole, in `copy` */
	char copy[LS_HTTP_TARGET_MAX + 1];
	const char *segment[16];
	size_t segments;
	const char *name[LS_HTTP_QUERY_MAX], *value[LS_HTTP_QUERY_MAX];
	size_t members;
} ls_http_target;
/* LS_ERR_INPUT where it is anything else. */
ls_status ls_http_target_parse(ls_http_target *out, const char *text, size_t len, ls_error *err);
/* Whether the target is one of the route's; `part` gets the open segments. */
bool ls_http_route_matches(const ls_http_route *route, const ls_http_target *target, const char *part[LS_HTTP_PARTS_MAX], size_t *parts);

typedef enum ls_http_range_kind {
	LS_HTTP_RANGE_NONE = 0, /* no header, or of another unit, which is ignored */
	LS_HTTP_RANGE_PART = 1,
	LS_HTTP_RANGE_BAD = 2   /* not satisfiable, malformed, or more than one range */
} ls_http_range_kind;
/* A Range header's value (NULL: none) over `size` bytes: "bytes=A-B", "bytes=A-" or "bytes=-N". */
ls_http_range_kind ls_http_range_parse(const char *value, uint64_t size, uint64_t *first, uint64_t *length);

/* ---- server ---- */

typedef struct ls_server_options {
	int version;
	const char *listen; /* "127.0.0.1:8080", "[::1]:0", "localhost:80", ":8080" (every address); port 0: any that is free */
	const ls_http_route *routes; /* borrowed while the server is open */
	size_t route_count;
	void *context;      /* of the handlers */
	const char *cert, *key; /* PEM files for TLS, both or neither */
	unsigned connections, per_address; /* open at once */
	unsigned rate;      /* requests per second from one address, with a reserve of ten seconds' worth; 0: no limit */
	unsigned timeout;   /* seconds: silence, and twice this for a request to arrive or a reply to be taken, with more by its size */
	/* One line of JSON with its newline per request, from any thread, one at a time. NULL: none. */
	void (*log)(void *context, const char *line, size_t len);
	void *log_context;
} ls_server_options;
#define LS_SERVER_OPTIONS_VERSION 1
#define LS_SERVER_OPTIONS_INIT {.version = LS_SERVER_OPTIONS_VERSION, .connections = 512, .per_address = 64, .rate = 200, .timeout = 15}

typedef struct ls_server ls_server;
/* It answers when this returns. */
ls_status ls_server_open(ls_server **out, const ls_server_options *options, ls_error *err);
unsigned ls_server_port(const ls_server *s);
/* Until `stop` says so (asked ten times a second); then no connection is accepted any more and the requests at hand are answered.
 * Without this call deadlines are not kept. */
ls_status ls_server_run(ls_server *s, bool (*stop)(void *context), void *stop_context, ls_error *err);
void ls_server_close(ls_server *s); /* NULL is allowed */
/* Appends what it counted, in Prometheus' text format. */
void ls_server_metrics(ls_server *s, ls_buf *out);

/* ---- client ---- */

typedef struct ls_http_options {
	int version;
	const char *ca;   /* PEM file with the certificates to trust; NULL: the system's */
	unsigned timeout; /* seconds: to connect, of nearly nothing coming (under 1 KiB/s), and four times this, with more by the size
	                     that is allowed, for a whole answer */
} ls_http_options;
#define LS_HTTP_OPTIONS_VERSION 1
#define LS_HTTP_OPTIONS_INIT {.version = LS_HTTP_OPTIONS_VERSION, .timeout = 15}

/* One connection at a time, kept open between requests; used by one thread. A process that was forked makes its own connection. */
typedef struct ls_http ls_http;
/* Makes no request. LS_ERR_USAGE where the URL is not http://… or https://…; it may have a path, which goes before all others. */
ls_status ls_http_open(ls_http **out, const char *url, const ls_http_options *options, ls_error *err);
void ls_http_free(ls_http *h); /* NULL is allowed */
const char *ls_http_url(const ls_http *h); /* without a slash at its end */

/* The answer's body replaces what `out` holds, whose max bounds it: LS_ERR_LIMIT beyond, LS_ERR_IO where there is no whole answer
 * in time. LS_OK whatever status the server gave, which is `*code`, even a redirect. `path` begins with '/'. What failed without
 * harm is tried again, a few times; so is 429 and 503, after
 * as long as the server asks for, at most 5 seconds at once and four time-outs in all. */
ls_status ls_http_get(ls_http *h, const char *path, ls_buf *out, int *code, ls_error *err);
/* A range, which makes `*code` 206. */
ls_status ls_http_get_range(ls_http *h, const char *path, uint64_t first, uint64_t length, ls_buf *out, int *code, ls_error *err);
/* Tried again only where nothing was sent, or the server asked for it. */
ls_status ls_http_post(ls_http *h, const char *path, const void *body, size_t len, ls_buf *out, int *code, ls_error *err);

#endif
