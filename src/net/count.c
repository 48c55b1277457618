/* What the server tells its operator: a line per request, and numbers for Prometheus. */
#include "net/server.h"

#include <stdio.h>
#include <time.h>

#define LINE_MAX_BYTES 16384

/* Bytes of the UTF-8 character of two or three bytes at `p`; 0 where there is none. */
static size_t character_at(const unsigned char *p)
{
	if (p[0] >= 0xc2 && p[0] < 0xe0)
		return (p[1] & 0xc0) == 0x80 ? 2 : 0;
	if ((p[0] & 0xf0) != 0xe0 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
		return 0;
	return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ? 0 : 3;
}

void ls_net__json_text(ls_buf *out, const char *text)
{
	ls_buf_u8(out, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		size_t len = character_at((const unsigned char *)text);
		if (c == '"' || c == '\\')
			ls_buf_printf(out, "\\%c", c);
		else if (len)
			ls_buf_bytes(out, text, len);
		else if (c < 0x20 || c >= 0x7f)
			ls_buf_printf(out, "\\u%04x", c);
		else
			ls_buf_u8(out, c);
		text += len ? len - 1 : 0;
	}
	ls_buf_u8(out, '"');
}

static void put_text(ls_buf *line, const char *name, const char *text)
{
	ls_buf_printf(line, ", \"%s\": ", name);
	ls_net__json_text(line, text);
}

static void put_time(ls_buf *line, double wall)
{
	char text[32];
	time_t seconds = (time_t)wall;
	struct tm tm;
	gmtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	ls_buf_printf(line, "{\"time\": \"%s.%03dZ\"", text, (int)((wall - (double)seconds) * 1000));
}

static void log_entry(ls_server *s, const ls_net__entry *e)
{
	ls_buf line;
	ls_buf_init(&line, LINE_MAX_BYTES);
	put_time(&line, ls_net__wall_seconds());
	put_text(&line, "address", e->address);
	put_text(&line, "method", e->method);
	put_text(&line, "target", e->target);
	ls_buf_printf(&line, ", \"status\": %d, \"bytes\": %llu, \"seconds\": %.6f", e->status, (unsigned long long)e->bytes, e->seconds);
	put_text(&line, "end", e->end);
	if (e->error)
		put_text(&line, "error", e->error);
	ls_buf_printf(&line, "}\n");
	pthread_mutex_lock(&s->log_lock);
	if (line.status == LS_OK)
		s->options.log(s->options.log_context, (const char *)line.data, line.len);
	pthread_mutex_unlock(&s->log_lock);
	ls_buf_free(&line);
}

void ls_net__note(ls_server *s, const ls_net__entry *e)
{
	ls_net__count *count = &s->count[e->route];
	atomic_fetch_add(&count->answers[e->status / 100 < 6 ? e->status / 100 : 0], 1);
	atomic_fetch_add(&count->microseconds, (uint64_t)(e->seconds * 1e6));
	atomic_fetch_add(&s->bytes, e->bytes);
	if (s->options.log)
		log_entry(s, e);
}

/* ---- Prometheus ---- */

static void put_kind(ls_buf *out, const char *name, const char *kind, const char *help)
{
	ls_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void put_one(ls_buf *out, const char *name, const char *kind, const char *help, uint64_t value)
{
	put_kind(out, name, kind, help);
	ls_buf_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void put_requests(ls_server *s, ls_buf *out)
{
	put_kind(out, "lockstep_http_requests_total", "counter", "Requests by route and class of the answer; 0: none was sent.");
	for (size_t r = 0; r <= s->options.route_count; r++)
		for (int c = 0; c < 6; c++) {
			uint64_t n = atomic_load(&s->count[r].answers[c]);
			bool known = r < s->options.route_count;
			if (n)
				ls_buf_printf(out, "lockstep_http_requests_total{method=\"%s\",route=\"%s\",code=\"%s\"} %llu\n",
				              known ? s->options.routes[r].method : "", known ? s->options.routes[r].path : "",
				              (const char *[]){"0", "1xx", "2xx", "3xx", "4xx", "5xx"}[c], (unsigned long long)n);
		}
}

static void put_seconds(ls_server *s, ls_buf *out)
{
	put_kind(out, "lockstep_http_request_seconds_total", "counter", "Time from a request's first line to the end of its answer, by route.");
	for (size_t r = 0; r < s->options.route_count; r++)
		if (atomic_load(&s->count[r].microseconds))
			ls_buf_printf(out, "lockstep_http_request_seconds_total{method=\"%s\",route=\"%s\"} %.6f\n", s->options.routes[r].method,
			              s->options.routes[r].path, (double)atomic_load(&s->count[r].microseconds) / 1e6);
}

void ls_server_metrics(ls_server *s, ls_buf *out)
{
	put_requests(s, out);
	put_seconds(s, out);
	put_one(out, "lockstep_http_reply_bytes_total", "counter", "Bytes of answers' bodies.", atomic_load(&s->bytes));
	put_one(out, "lockstep_http_connections_total", "counter", "Connections that were accepted.", atomic_load(&s->connections));
	put_one(out, "lockstep_http_connections", "gauge", "Connections that are open.", atomic_load(&s->open));
	put_one(out, "lockstep_http_requests_active", "gauge", "Requests that are being read or answered.", atomic_load(&s->active));
	put_one(out, "lockstep_http_over_rate_total", "counter", "Requests refused because their address made too many.",
	        atomic_load(&s->over_rate));
	put_one(out, "lockstep_http_over_time_total", "counter", "Connections ended because a request or its answer took too long.",
	        atomic_load(&s->over_time));
	put_kind(out, "lockstep_start_time_seconds", "gauge", "When the service started, since 1970.");
	ls_buf_printf(out, "lockstep_start_time_seconds %.3f\n", s->wall);
}
