#include "cli/serve_disputes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const ls_cli_option options[] = {
	{.name = "listen", .argument = "ADDR", .help = "HOST:PORT, [IPv6]:PORT, or :PORT for every address; port 0 takes a free one", .fallback = "127.0.0.1:8337"},
	{.name = "cert", .argument = "FILE", .help = "certificate chain (PEM): serve over TLS, with --key"},
	{.name = "key", .argument = "FILE", .help = "the certificate's private key (PEM)"},
	{.name = "log", .argument = "FILE", .help = "where a line of JSON per request is appended", .fallback_text = "stderr"},
	{.name = "connections", .argument = "N", .help = "open at once; more wait", .fallback = "512"},
	{.name = "per-address", .argument = "N", .help = "open at once from one address; more are turned away", .fallback = "64"},
	{.name = "rate", .argument = "N", .help = "requests per second from one address, 0: any number", .fallback = "200"},
	{.name = "timeout", .argument = "SECONDS", .help = "how long a peer may be silent", .fallback = "15"},
	LS_CLI__OPTIONS_OF_DISPUTES,
	{.name = NULL},
};

static ls_status read_limits(ls_server_options *o, const ls_cli_args *args, ls_error *err)
{
	ls_status status;
	uint64_t connections, per_address, rate, timeout;
	LS_TRY(ls_cli__number(args, "connections", 1, 65536, 0, &connections, err));
	LS_TRY(ls_cli__number(args, "per-address", 1, 65536, 0, &per_address, err));
	LS_TRY(ls_cli__number(args, "rate", 0, 1000000, 0, &rate, err));
	LS_TRY(ls_cli__number(args, "timeout", 1, 3600, 0, &timeout, err));
	o->connections = (unsigned)connections;
	o->per_address = (unsigned)per_address;
	o->rate = (unsigned)rate;
	o->timeout = (unsigned)timeout;
done:
	return status;
}

/* Lines are appended whole, so that a tool may move the file away and copy it meanwhile. One that cannot be written is lost: requests
 * are not refused because a disk is full. */
static void write_log(void *context, const char *line, size_t len)
{
	const int *fd = context;
	if (write(*fd, line, len) != (ssize_t)len)
		return;
}

static ls_status open_log(const ls_cli_args *args, int *fd, ls_error *err)
{
	const char *path = ls_cli__value(args, "log");
	*fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : 2;
	return *fd >= 0 ? LS_OK : ls_error_set(err, LS_ERR_IO, "%s: could not open it for appending: %s", path, strerror(errno));
}

/* The address that a client is given. */
static void write_url(char out[512], const ls_server_options *o, unsigned port)
{
	const char *colon = strrchr(o->listen, ':');
	int host = colon ? (int)(colon - o->listen) : 0;
	snprintf(out, 512, "%s://%.*s:%u", o->cert ? "https" : "http", host ? host : 9, host ? o->listen : "localhost", port);
}

static void announce(const ls_cli *cli, const ls_service *service, const char *url, unsigned port)
{
	json_t *object = json_object(), *runs = json_array();
	for (size_t i = 0; i < ls_service_runs(service); i++) {
		ls_cli__say(cli, "serving %s/v1/runs/%s\n", url, ls_service_run_id(service, i));
		json_array_append_new(runs, json_string(ls_service_run_id(service, i)));
	}
	ls_cli__say(cli, "next: give the address to whoever is to read; SIGTERM ends the service in order\n");
	ls_cli__put_text(object, "url", url);
	ls_cli__put_uint(object, "port", port);
	json_object_set_new(object, "runs", runs);
	if (cli->json)
		ls_cli__emit(object);
	else
		json_decref(object);
	fflush(stdout); // a script waits for this line
}

static bool never(void *context)
{
	return false;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_server_options o = LS_SERVER_OPTIONS_INIT;
	ls_cli_disputes disputes = {0};
	ls_service *service = NULL;
	ls_server *server = NULL;
	ls_status status;
	char url[512];
	int log = -1;
	o.listen = ls_cli__value(args, "listen");
	o.cert = ls_cli__value(args, "cert");
	o.key = ls_cli__value(args, "key");
	LS_TRY(read_limits(&o, args, err));
	LS_TRY(ls_service_open(&service, args->operand, (size_t)args->operands, err));
	LS_TRY(ls_cli__disputes_open(&disputes, args, service, err));
	LS_TRY(open_log(args, &log, err));
	o.routes = ls_service_routes(&o.route_count);
	o.context = service;
	o.log = write_log;
	o.log_context = &log;
	LS_TRY(ls_server_open(&server, &o, err));
	ls_service_attach(service, server);
	write_url(url, &o, ls_server_port(server));
	announce(cli, service, url, ls_server_port(server));
	ls_cli__disputes_begin(&disputes);
	LS_TRY(ls_server_run(server, cli->stop ? cli->stop : never, cli->stop_context, err));
	ls_service_attach(service, NULL);
	ls_server_close(server);
	server = NULL;
	ls_cli__say(cli, "stopped as asked\n");
	if (cli->json)
		ls_cli__emit(json_pack("{s:b}", "stopped", 1));
done:
	ls_server_close(server);
	ls_cli__disputes_close(&disputes);
	ls_service_free(service);
	if (log > 2)
		close(log);
	return status;
}

const ls_cli_command ls_cli__serve = {
	.name = "serve",
	.operands = "[RUN…]",
	.operands_min = 0,
	.operands_max = LS_CLI__POSITIONALS_MAX,
	.summary = "let others read runs over HTTP, and settle disputes about them",
	.details = "Serves until SIGINT or SIGTERM, then finishes the requests at hand. Run folders are only read, also while a trainer\n"
	           "writes them. GET /healthz and GET /metrics are for the operator. spec/http.md has every route.\n"
	           "Disputes: one process holds court (--referee), the trainer's takes part (--court), the auditor's is lockstep dispute.",
	.options = options,
	.run = run,
};
