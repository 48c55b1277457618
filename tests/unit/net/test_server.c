/* A server and the client in one process: what handlers see and answer, limits on bodies, rates and answers, the log. */
#include <lockstep/net.h>

#include "base/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define BODY_MAX 1000

struct world {
	ls_server *server;
	ls_http *client;
	pthread_t runner;
	_Atomic bool stop;
	char log[65536];
	size_t logged;
	int waits; /* answers 503 so many times */
};

/* ---- handlers ---- */

static ls_status echo(void *context, const ls_http_request *r, ls_http_reply *reply, ls_error *err)
{
	uint64_t n;
	ls_status status = ls_http_query_number(r, "n", 100, 7, &n, err);
	if (status != LS_OK)
		return status;
	reply->type = LS_HTTP_TEXT;
	ls_buf_printf(&reply->body, "%s %s %zu %s %llu ", r->method, r->part[0], r->parts, r->address, (unsigned long long)n);
	ls_buf_bytes(&reply->body, r->body, r->body_len);
	return LS_OK;
}

static ls_status fail_with(void *context, const ls_http_request *r, ls_http_reply *reply, ls_error *err)
{
	static const ls_status code[] = {LS_ERR_INPUT, LS_ERR_NOT_FOUND, LS_ERR_EXISTS, LS_ERR_LIMIT, LS_ERR_IO};
	uint64_t i = 0;
	assert_true(ls_http_number(r->part[0], 4, &i));
	return ls_error_set(err, code[i], "/secret/path: \"no\"");
}

static ls_status many(void *context, const ls_http_request *r, ls_http_reply *reply, ls_error *err)
{
	for (int i = 0; i < 5000; i++)
		ls_buf_u8(&reply->body, (uint8_t)i);
	return LS_OK;
}

static ls_status file(void *context, const ls_http_request *r, ls_http_reply *reply, ls_error *err)
{
	FILE *f = tmpfile();
	assert_non_null(f);
	fputs("0123456789abcdef", f);
	fflush(f);
	reply->fd = dup(fileno(f));
	fclose(f);
	reply->offset = 2;
	reply->size = 10;
	return LS_OK;
}

static ls_status later(void *context, const ls_http_request *r, ls_http_reply *reply, ls_error *err)
{
	struct world *w = context;
	if (w->waits-- > 0)
		return ls_error_set(err, LS_ERR_NOMEM, "not now");
	ls_buf_printf(&reply->body, "now");
	return LS_OK;
}

static ls_status moved(void *context, const ls_http_request *r, ls_http_reply *reply, ls_error *err)
{
	reply->status = 302;
	return LS_OK;
}

static const ls_http_route routes[] = {
	{.method = "GET", .path = "/echo/{word}", .handler = echo},
	{.method = "POST", .path = "/echo/{word}", .handler = echo, .body_max = BODY_MAX},
	{.method = "GET", .path = "/fail/{code}", .handler = fail_with},
	{.method = "GET", .path = "/many", .handler = many},
	{.method = "GET", .path = "/file", .handler = file},
	{.method = "GET", .path = "/later", .handler = later},
	{.method = "GET", .path = "/moved", .handler = moved},
};

/* ---- the world ---- */

static void take_line(void *context, const char *line, size_t len)
{
	struct world *w = context;
	if (w->logged + len < sizeof w->log) {
		memcpy(w->log + w->logged, line, len);
		w->logged += len;
	}
}

static bool asked_to_stop(void *context)
{
	return atomic_load(&((struct world *)context)->stop);
}

static void *serve(void *context)
{
	struct world *w = context;
	ls_server_run(w->server, asked_to_stop, w, NULL);
	return NULL;
}

static void open_world(struct world *w, unsigned rate)
{
	ls_server_options o = LS_SERVER_OPTIONS_INIT;
	ls_http_options ho = LS_HTTP_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	char url[64];
	memset(w, 0, sizeof *w);
	o.listen = "127.0.0.1:0";
	o.routes = routes;
	o.route_count = sizeof routes / sizeof *routes;
	o.context = w;
	o.rate = rate;
	o.log = take_line;
	o.log_context = w;
	assert_ok(ls_server_open(&w->server, &o, &err));
	snprintf(url, sizeof url, "http://127.0.0.1:%u/", ls_server_port(w->server));
	ho.timeout = 5;
	assert_ok(ls_http_open(&w->client, url, &ho, &err));
	assert_int_equal(pthread_create(&w->runner, NULL, serve, w), 0);
}

static void close_world(struct world *w)
{
	ls_http_free(w->client);
	atomic_store(&w->stop, true);
	pthread_join(w->runner, NULL);
	ls_server_close(w->server);
}

static int setup(void **state)
{
	*state = malloc(sizeof(struct world));
	open_world(*state, 0);
	return 0;
}

static int teardown(void **state)
{
	close_world(*state);
	free(*state);
	return 0;
}

static int get(struct world *w, const char *path, ls_buf *out)
{
	ls_error err = LS_ERROR_INIT;
	int code;
	ls_status status = ls_http_get(w->client, path, out, &code, &err);
	if (status != LS_OK)
		fail_msg("%s: %s", path, err.text);
	ls_buf_u8(out, 0);
	return code;
}

/* ---- tests ---- */

static void handlers_see_the_request(void **state)
{
	struct world *w = *state;
	ls_error err = LS_ERROR_INIT;
	ls_buf out;
	int code;
	ls_buf_init(&out, 4096);
	assert_int_equal(get(w, "/echo/ab?n=12", &out), 200);
	assert_string_equal(out.data, "GET ab 1 127.0.0.1 12 ");
	assert_int_equal(get(w, "/echo/ab", &out), 200);
	assert_string_equal(out.data, "GET ab 1 127.0.0.1 7 ");
	assert_int_equal(get(w, "/echo/ab?n=101", &out), 400);
	assert_non_null(strstr((char *)out.data, "found 101, expected a number up to 100"));
	assert_ok(ls_http_post(w->client, "/echo/cd", "body", 4, &out, &code, &err));
	assert_int_equal(code, 200);
	ls_buf_u8(&out, 0);
	assert_string_equal(out.data, "POST cd 1 127.0.0.1 7 body");
	ls_buf_free(&out);
}

static void wrong_requests(void **state)
{
	struct world *w = *state;
	ls_error err = LS_ERROR_INIT;
	char body[BODY_MAX + 1];
	ls_buf out;
	int code;
	ls_buf_init(&out, 4096);
	memset(body, 'x', sizeof body);
	assert_int_equal(get(w, "/nothing", &out), 404);
	assert_int_equal(get(w, "/echo/a%62", &out), 400);
	assert_ok(ls_http_post(w->client, "/many", "b", 1, &out, &code, &err));
	assert_int_equal(code, 405);
	assert_ok(ls_http_post(w->client, "/echo/a", body, BODY_MAX, &out, &code, &err));
	assert_int_equal(code, 200);
	assert_ok(ls_http_post(w->client, "/echo/a", body, BODY_MAX + 1, &out, &code, &err));
	assert_int_equal(code, 413);
	assert_int_equal(get(w, "/echo/a", &out), 200); // and it goes on
	ls_buf_free(&out);
}

static void failures_have_their_status(void **state)
{
	struct world *w = *state;
	static const int code[] = {400, 404, 409, 413, 500};
	ls_buf out;
	ls_buf_init(&out, 4096);
	for (int i = 0; i < 5; i++) {
		char path[16];
		snprintf(path, sizeof path, "/fail/%d", i);
		assert_int_equal(get(w, path, &out), code[i]);
		if (code[i] == 500)
			assert_null(strstr((char *)out.data, "secret"));
		else
			assert_string_equal(out.data, "{\"error\": \"/secret/path: \\\"no\\\"\"}\n");
	}
	ls_buf_free(&out);
}

static void answers_are_bounded(void **state)
{
	struct world *w = *state;
	ls_error err = LS_ERROR_INIT;
	ls_buf out;
	int code;
	ls_buf_init(&out, 4999);
	assert_int_equal(ls_http_get(w->client, "/many", &out, &code, &err), LS_ERR_LIMIT);
	assert_non_null(strstr(err.text, "4999"));
	out.max = 5000;
	assert_ok(ls_http_get(w->client, "/many", &out, &code, &err));
	assert_int_equal(out.len, 5000);
	assert_int_equal(out.data[4999], (uint8_t)4999);
	ls_buf_free(&out);
}

static void files_in_ranges(void **state)
{
	struct world *w = *state;
	ls_error err = LS_ERROR_INIT;
	ls_buf out;
	int code;
	ls_buf_init(&out, 4096);
	assert_int_equal(get(w, "/file", &out), 200);
	assert_string_equal(out.data, "23456789ab");
	assert_ok(ls_http_get_range(w->client, "/file", 3, 4, &out, &code, &err));
	ls_buf_u8(&out, 0);
	assert_int_equal(code, 206);
	assert_string_equal(out.data, "5678");
	assert_ok(ls_http_get_range(w->client, "/file", 10, 1, &out, &code, &err));
	assert_int_equal(code, 416);
	ls_buf_free(&out);
}

static void put_off_and_redirected(void **state)
{
	struct world *w = *state;
	ls_buf out;
	ls_buf_init(&out, 4096);
	w->waits = 1;
	assert_int_equal(get(w, "/later", &out), 200);
	assert_string_equal(out.data, "now");
	assert_int_equal(get(w, "/moved", &out), 302); // not followed
	ls_buf_free(&out);
}

static void counted_and_logged(void **state)
{
	struct world *w = *state;
	ls_buf out, metrics;
	ls_buf_init(&out, 4096);
	ls_buf_init(&metrics, 65536);
	get(w, "/echo/x", &out);
	get(w, "/nothing", &out);
	usleep(100000); // the end of a request comes after its answer
	ls_server_metrics(w->server, &metrics);
	ls_buf_u8(&metrics, 0);
	assert_non_null(strstr((char *)metrics.data, "lockstep_http_requests_total{method=\"GET\",route=\"/echo/{word}\",code=\"2xx\"}"));
	assert_non_null(strstr((char *)metrics.data, "lockstep_http_requests_total{method=\"\",route=\"\",code=\"4xx\"}"));
	assert_non_null(strstr((char *)metrics.data, "lockstep_http_requests_active 0\n"));
	assert_non_null(strstr(w->log, "\"address\": \"127.0.0.1\", \"method\": \"GET\", \"target\": \"/nothing\", \"status\": 404"));
	ls_buf_free(&out);
	ls_buf_free(&metrics);
}

static void rates_are_kept(void **state)
{
	struct world w;
	ls_buf out;
	int refused = 0;
	ls_buf_init(&out, 65536);
	open_world(&w, 1); // a reserve of ten
	for (int i = 0; i < 10; i++)
		assert_int_equal(get(&w, "/moved", &out), 302);
	w.waits = 0;
	for (int i = 0; i < 2; i++) // the client waits as it is told, and then gets its answer
		refused += get(&w, "/moved", &out) != 302;
	assert_int_equal(refused, 0);
	ls_buf_reset(&out);
	ls_server_metrics(w.server, &out);
	ls_buf_u8(&out, 0);
	assert_null(strstr((char *)out.data, "lockstep_http_over_rate_total 0\n"));
	close_world(&w);
	ls_buf_free(&out);
}

static void wrong_options(void **state)
{
	static const char *const bad[] = {"", "8080", "host", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1:80", "1.2.3.4:08"};
	static const char *const urls[] = {"", "localhost", "ftp://a", "file:///etc", "http://", "http://u:p@h", "http://h/?q", "https://h#f", "http://h /"};
	ls_server_options o = LS_SERVER_OPTIONS_INIT;
	ls_http_options ho = LS_HTTP_OPTIONS_INIT;
	ls_server *s;
	ls_http *h;
	ls_error err = LS_ERROR_INIT;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		o.listen = bad[i];
		assert_int_equal(ls_server_open(&s, &o, &err), LS_ERR_USAGE);
	}
	o.listen = "127.0.0.1:0";
	o.cert = "/nowhere";
	assert_int_equal(ls_server_open(&s, &o, &err), LS_ERR_USAGE);
	o.key = "/nowhere";
	assert_int_equal(ls_server_open(&s, &o, &err), LS_ERR_NOT_FOUND);
	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
		assert_int_equal(ls_http_open(&h, urls[i], &ho, &err), LS_ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(handlers_see_the_request, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(failures_have_their_status, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(files_in_ranges, setup, teardown),
		cmocka_unit_test_setup_teardown(put_off_and_redirected, setup, teardown),
		cmocka_unit_test_setup_teardown(counted_and_logged, setup, teardown),
		cmocka_unit_test(rates_are_kept),
		cmocka_unit_test(wrong_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
