/* The client, over libcurl: one request at a time, each with bounds on its size and its time. */
#include <lockstep/net.h>

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define HEADERS_MAX (64 * 1024) /* bytes of all headers of an answer */
#define LOW_SPEED 1024          /* bytes per second */
#define BYTES_PER_SECOND (32 * 1024) /* the least on the average of a large answer */
#define ATTEMPTS 4              /* of what failed */
#define PATIENCE 4              /* time-outs that a server may put off a request for */
#define WAIT_MAX 5              /* seconds between two attempts */

struct ls_http {
	char url[LS_HTTP_TARGET_MAX + 1];
	char *ca;
	ls_http_options options;
	CURL *curl;
	pid_t owner; /* the process whose connection it is */
	/* of the request at hand */
	ls_buf *out;
	size_t headers;
	bool full;   /* the answer is longer than its bound */
	char why[CURL_ERROR_SIZE];
};

ls_status ls_http_open(ls_http **out, const char *url, const ls_http_options *options, ls_error *err)
{
	size_t scheme = !strncmp(url, "http://", 7) ? 7 : !strncmp(url, "https://", 8) ? 8 : 0, len = strlen(url);
	ls_http *h;
	*out = NULL;
	while (len > scheme && url[len - 1] == '/')
		len--;
	if (!scheme || len == scheme || len > LS_HTTP_TARGET_MAX / 2 || strcspn(url, "?#@ \t\r\n\"<>\\^`{|}") != strlen(url)) {
		ls_error_input(err, url, NULL, "no address that can be asked", "http://HOST:PORT or https://HOST:PORT, with a path or without",
		               "names and passwords do not belong into an address");
		return LS_ERR_USAGE;
	}
	h = ls_alloc(1, sizeof *h);
	if (!h)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a client");
	h->options = *options;
	h->ca = options->ca ? ls_strdup(options->ca) : NULL;
	snprintf(h->url, sizeof h->url, "%.*s", (int)len, url);
	if (options->ca && !h->ca) {
		ls_http_free(h);
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a client");
	}
	*out = h;
	return LS_OK;
}

void ls_http_free(ls_http *h)
{
	if (!h)
		return;
	if (h->curl && h->owner == getpid())
		curl_easy_cleanup(h->curl);
	ls_free(h->ca);
	ls_free(h);
}

const char *ls_http_url(const ls_http *h)
{
	return h->url;
}

/* ---- one request ---- */

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	ls_http *h = context;
	ls_buf_bytes(h->out, data, size * count);
	h->full |= h->out->status == LS_ERR_LIMIT;
	return h->out->status == LS_OK ? size * count : 0;
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
	ls_http *h = context;
	h->headers += size * count;
	return h->headers <= HEADERS_MAX ? size * count : 0;
}

/* A handle of this process: after a fork the parent's connection is left alone, not even closed. */
static ls_status take_handle(ls_http *h, ls_error *err)
{
	if (h->owner != getpid())
		h->curl = NULL;
	h->owner = getpid();
	if (!h->curl)
		h->curl = curl_easy_init();
	return h->curl ? LS_OK : ls_error_set(err, LS_ERR_NOMEM, "no memory for a connection to %s", h->url);
}

typedef struct call {
	const char *path;
	const char *range;  /* NULL: none */
	const void *body;   /* of a POST; NULL: a GET */
	size_t len;
} call;

static void set_up(ls_http *h, const call *c, const char *url, struct curl_slist *headers)
{
	CURL *curl = h->curl;
	long seconds = h->options.timeout;
	curl_easy_reset(curl); // keeps the connection
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_HTTP09_ALLOWED, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, seconds);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)LOW_SPEED);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, seconds);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 4 * seconds + (long)(h->out->max / BYTES_PER_SECOND > 86400 ? 86400 : h->out->max / BYTES_PER_SECOND));
	curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)(h->out->max < INT64_MAX ? h->out->max : INT64_MAX));
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "lockstep");
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, h);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, h->why);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (h->ca) {
		curl_easy_setopt(curl, CURLOPT_CAINFO, h->ca);
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	}
	if (c->range)
		curl_easy_setopt(curl, CURLOPT_RANGE, c->range);
	if (c->body) {
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->len);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, c->body);
	}
}

/* A write to a connection that the peer has closed must not end the process; this thread alone is shielded. */
static CURLcode perform(CURL *curl)
{
	sigset_t pipe, before;
	CURLcode result;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	result = curl_easy_perform(curl);
	if (!sigismember(&before, SIGPIPE)) {
		while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) > 0)
			;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	return result;
}

static ls_status once(ls_http *h, const call *c, CURLcode *result, int *code, ls_error *err)
{
	char url[2 * LS_HTTP_TARGET_MAX + 2];
	long answered = 0;
	struct curl_slist *headers = c->body ? curl_slist_append(NULL, "Content-Type: " LS_HTTP_BYTES) : NULL;
	ls_status status = take_handle(h, err);
	if (headers && !curl_slist_append(headers, "Expect:")) // a body that is refused costs less than a question each time
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a request");
	if (status == LS_OK && (c->body && !headers))
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a request");
	if (status == LS_OK) {
		ls_buf_reset(h->out);
		h->headers = 0;
		h->full = false;
		h->why[0] = 0;
		snprintf(url, sizeof url, "%s%s", h->url, c->path);
		set_up(h, c, url, headers);
		*result = perform(h->curl);
		curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &answered);
		curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
		*code = (int)answered;
	}
	curl_slist_free_all(headers);
	return status;
}

/* ---- what came of it ---- */

static bool is_put_off(CURLcode result, int code)
{
	return result == CURLE_OK && (code == 429 || code == 503);
}

/* Whether the request can have done nothing, or nothing that asking again would do twice. */
static bool may_repeat(const call *c, CURLcode result)
{
	if (result == CURLE_COULDNT_CONNECT)
		return true;
	return !c->body && (result == CURLE_RECV_ERROR || result == CURLE_SEND_ERROR || result == CURLE_GOT_NOTHING || result == CURLE_PARTIAL_FILE);
}

/* Longer each time, or as long as the server asks for; returns the seconds. */
static double wait_before(ls_http *h, CURLcode result, int attempt)
{
	curl_off_t asked = 0;
	double seconds = attempt < 5 ? 0.1 * (1 << attempt) : WAIT_MAX;
	if (result == CURLE_OK && curl_easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &asked) == CURLE_OK && asked > 0)
		seconds = asked < WAIT_MAX ? (double)asked : WAIT_MAX;
	nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
	return seconds;
}

static ls_status conclude(ls_http *h, const call *c, CURLcode result, ls_error *err)
{
	const char *why = h->why[0] ? h->why : curl_easy_strerror(result);
	if (result == CURLE_OK)
		return LS_OK;
	if (h->out->status == LS_ERR_NOMEM || result == CURLE_OUT_OF_MEMORY)
		return ls_error_set(err, LS_ERR_NOMEM, "%s%s: no memory for the answer", h->url, c->path);
	if (h->full || result == CURLE_FILESIZE_EXCEEDED)
		return ls_error_set(err, LS_ERR_LIMIT, "%s%s: found an answer of more than %zu bytes, expected at most so many", h->url, c->path,
		                    h->out->max);
	if (h->headers > HEADERS_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "%s%s: found more than %d bytes of headers", h->url, c->path, HEADERS_MAX);
	return ls_error_set(err, LS_ERR_IO, "%s%s: no answer: %s\n  hint: is the server running, and is this its address?", h->url, c->path, why);
}

static ls_status make_call(ls_http *h, const call *c, ls_buf *out, int *code, ls_error *err)
{
	ls_status status;
	CURLcode result = CURLE_OK;
	int failures = 0, delays = 0;
	double waited = 0;
	h->out = out;
	*code = 0;
	for (;;) {
		LS_TRY(once(h, c, &result, code, err));
		if (is_put_off(result, *code) ? waited > PATIENCE * h->options.timeout : !may_repeat(c, result) || ++failures >= ATTEMPTS)
			break;
		waited += wait_before(h, result, failures + delays++);
	}
	LS_TRY(conclude(h, c, result, err));
done:
	return status;
}

ls_status ls_http_get(ls_http *h, const char *path, ls_buf *out, int *code, ls_error *err)
{
	return make_call(h, &(call){.path = path}, out, code, err);
}

ls_status ls_http_get_range(ls_http *h, const char *path, uint64_t first, uint64_t length, ls_buf *out, int *code, ls_error *err)
{
	char range[64];
	snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)first, (unsigned long long)(first + length - 1));
	return make_call(h, &(call){.path = path, .range = range}, out, code, err);
}

ls_status ls_http_post(ls_http *h, const char *path, const void *body, size_t len, ls_buf *out, int *code, ls_error *err)
{
	return make_call(h, &(call){.path = path, .body = body ? body : "", .len = len}, out, code, err);
}
