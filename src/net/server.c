/* The life of a server: its socket, the daemon (libmicrohttpd) behind it, deadlines, an orderly end. */
#include "net/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define BACKLOG 1024
#define CONNECTION_MEMORY (16 * 1024) /* bytes that a connection's headers and buffers take at most */
#define LOOK_NS 100000000
#define GRACE_SECONDS 20.0 /* that requests at hand may still take when the server is asked to stop */
#define PEM_MAX (1 << 20)

double ls_net__wall_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the socket ---- */

static ls_status bad_address(ls_error *err, const char *found)
{
	ls_error_input(err, "--listen", NULL, found, "HOST:PORT, [IPv6]:PORT or :PORT", "for example 127.0.0.1:8080; port 0 takes any that is free");
	if (err)
		err->status = LS_ERR_USAGE;
	return LS_ERR_USAGE;
}

/* "HOST:PORT" in two; an IPv6 host stands in brackets. */
static ls_status split(const char *text, char host[256], const char **port, ls_error *err)
{
	const char *colon = strrchr(text, ':'), *start = text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t number;
	if (!colon || len >= 255 || !ls_http_number(colon + 1, 65535, &number))
		return bad_address(err, text[0] ? text : "nothing");
	if (len && text[0] == '[') {
		if (text[len - 1] != ']')
			return bad_address(err, text);
		start++;
		len -= 2;
	} else if (memchr(text, ':', len))
		return bad_address(err, text);
	snprintf(host, 256, "%.*s", (int)len, start);
	*port = colon + 1;
	return LS_OK;
}

static int try_address(const struct addrinfo *a)
{
	int on = 1, off = 0, fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	on = errno;
	close(fd);
	errno = on;
	return -1;
}

static ls_status listen_on(ls_server *s, ls_error *err)
{
	char host[256];
	const char *port;
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *list = NULL;
	struct sockaddr_storage bound;
	socklen_t len = sizeof bound;
	int failed = 0, code;
	ls_status status = split(s->options.listen, host, &port, err);
	if (status != LS_OK)
		return status;
	hints.ai_family = host[0] ? AF_UNSPEC : AF_INET6; // every address: one socket for both families
	code = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);
	if (code && !host[0]) { // a machine without IPv6
		hints.ai_family = AF_INET;
		code = getaddrinfo(NULL, port, &hints, &list);
	}
	if (code)
		return bad_address(err, gai_strerror(code));
	for (const struct addrinfo *a = list; a && s->listener < 0; a = a->ai_next) {
		s->listener = try_address(a);
		failed = s->listener < 0 ? errno : 0;
	}
	freeaddrinfo(list);
	if (s->listener < 0)
		return ls_error_set(err, LS_ERR_IO, "--listen: %s: could not listen there: %s", s->options.listen, strerror(failed));
	if (getsockname(s->listener, (struct sockaddr *)&bound, &len) == 0)
		s->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&bound)->sin6_port
		                                             : ((struct sockaddr_in *)(void *)&bound)->sin_port);
	return LS_OK;
}

/* ---- the daemon ---- */

static void on_connection(void *server, struct MHD_Connection *connection, void **context, enum MHD_ConnectionNotificationCode code)
{
	ls_server *s = server;
	ls_net__peer *peer = *context;
	const union MHD_ConnectionInfo *fd, *address;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (peer)
			ls_net__peer_left(s, peer);
		ls_free(peer);
		*context = NULL;
		return;
	}
	fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	address = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	peer = fd && address ? ls_alloc(1, sizeof *peer) : NULL;
	*context = peer;
	if (!peer)
		return; // its requests will be refused
	peer->fd = fd->connect_fd;
	ls_net__peer_came(s, peer, address->client_addr);
}

static void on_complaint(void *server, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void on_complaint(void *server, const char *format, va_list args)
{
	ls_server *s = server;
	if (!atomic_load(&s->started))
		vsnprintf(s->complaint, sizeof s->complaint, format, args);
}

/* Targets are parsed as they were sent (target.c). */
static size_t keep_escapes(void *server, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

static ls_status start(ls_server *s, ls_error *err)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ITC | MHD_USE_ERROR_LOG | (s->cert ? MHD_USE_TLS : 0);
	unsigned per_worker = (s->options.connections + WORKERS - 1) / WORKERS;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, s->key},
		{MHD_OPTION_END, 0, NULL},
	};
	s->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, ls_net__on_request, s,
		MHD_OPTION_EXTERNAL_LOGGER, on_complaint, s,
		MHD_OPTION_LISTEN_SOCKET, s->listener,
		MHD_OPTION_THREAD_POOL_SIZE, (unsigned)WORKERS,
		MHD_OPTION_CONNECTION_LIMIT, per_worker * WORKERS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->options.per_address,
		MHD_OPTION_CONNECTION_TIMEOUT, s->options.timeout,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, ls_net__on_end, s,
		MHD_OPTION_URI_LOG_CALLBACK, ls_net__on_target, s,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, s,
		MHD_OPTION_ARRAY, s->cert ? tls : tls + 2,
		MHD_OPTION_END);
	if (!s->daemon) {
		s->complaint[strcspn(s->complaint, "\n")] = 0;
		return ls_error_set(err, s->cert ? LS_ERR_INPUT : LS_ERR_IO, "the server could not start: %s%s",
		                    s->complaint[0] ? s->complaint : strerror(errno),
		                    s->cert ? "\n  hint: --cert and --key take a certificate chain and its private key in PEM" : "");
	}
	atomic_store(&s->started, true);
	return LS_OK;
}

static ls_status read_tls(ls_server *s, ls_error *err)
{
	ls_status status = LS_OK;
	size_t len;
	if (!s->options.cert != !s->options.key) {
		ls_error_input(err, s->options.cert ? "--cert" : "--key", NULL, "it alone", "--cert and --key", NULL);
		return LS_ERR_USAGE;
	}
	if (!s->options.cert)
		return LS_OK;
	LS_TRY(ls_file_read(&s->cert, &len, s->options.cert, PEM_MAX, err));
	LS_TRY(ls_file_read(&s->key, &len, s->options.key, PEM_MAX, err));
done:
	return status;
}

ls_status ls_server_open(ls_server **out, const ls_server_options *options, ls_error *err)
{
	ls_status status;
	ls_server *s = ls_alloc(1, sizeof *s);
	*out = NULL;
	if (!s)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a server");
	s->options = *options;
	s->listener = -1;
	s->wall = ls_net__wall_seconds();
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->log_lock, NULL);
	s->allowance = ls_alloc(LS_NET__ALLOWANCES, sizeof *s->allowance);
	s->count = ls_alloc(options->route_count + 1, sizeof *s->count);
	if (options->version != LS_SERVER_OPTIONS_VERSION || !options->connections || !options->per_address || !options->timeout) {
		status = ls_error_set(err, LS_ERR_USAGE, "server options of version %d, or a limit of 0", options->version);
		goto done;
	}
	if (!s->allowance || !s->count) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a server");
		goto done;
	}
	LS_TRY(read_tls(s, err));
	LS_TRY(listen_on(s, err));
	LS_TRY(start(s, err));
	*out = s;
	s = NULL;
done:
	ls_server_close(s);
	return status;
}

unsigned ls_server_port(const ls_server *s)
{
	return s->port;
}

/* No more connections; what is at hand may end. */
static void wind_up(ls_server *s)
{
	double until = ls_clock_seconds() + GRACE_SECONDS;
	atomic_store(&s->stopping, true);
	if (MHD_quiesce_daemon(s->daemon) != MHD_INVALID_SOCKET) {
		close(s->listener);
		s->listener = -1;
	}
	while (atomic_load(&s->active) && ls_clock_seconds() < until) {
		ls_net__end_late(s);
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS / 10}, NULL);
	}
}

ls_status ls_server_run(ls_server *s, bool (*stop)(void *context), void *stop_context, ls_error *err)
{
	while (!stop(stop_context)) {
		ls_net__end_late(s);
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	wind_up(s);
	return LS_OK;
}

void ls_server_close(ls_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->listener >= 0)
		close(s->listener);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->log_lock);
	if (s->key)
		explicit_bzero(s->key, strlen((char *)s->key));
	ls_free(s->cert);
	ls_free(s->key);
	ls_free(s->allowance);
	ls_free(s->count);
	ls_free(s);
}
