/* Internal to src/net: the server. One file each for its life (server.c), a request's (exchange.c), who may ask (guard.c) and what
 * is counted (count.c). */
#ifndef LS_NET_SERVER_H
#define LS_NET_SERVER_H

#include <lockstep/net.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include <microhttpd.h>

#define LS_NET__ADDRESS_SIZE 64

/* What one route was asked, by the first digit of the answer's status. The row after the last route's is that of no route. */
typedef struct ls_net__count {
	_Atomic uint64_t answers[6];
	_Atomic uint64_t microseconds;
} ls_net__count;

/* An open connection, from its acceptance to its end. */
typedef struct ls_net__peer {
	struct ls_net__peer *before, *after;
	int fd;
	double deadline; /* by ls_clock_seconds: what is under way must be over; moved on with every stage */
	char address[LS_NET__ADDRESS_SIZE];
	uint64_t group;  /* what the rate is counted by: the address, of IPv6 its first half */
} ls_net__peer;

/* How many requests an address may make at once, now. */
typedef struct ls_net__allowance {
	uint64_t group;
	double left, at;
} ls_net__allowance;

#define LS_NET__ALLOWANCES 4096

struct ls_server {
	ls_server_options options;
	struct MHD_Daemon *daemon;
	int listener;
	unsigned port;
	uint8_t *cert, *key; /* PEM texts with NUL; the daemon borrows them */
	_Atomic bool stopping;
	_Atomic bool started; /* the daemon: its complaints are no longer about the options */
	char complaint[256];
	pthread_mutex_t lock; /* of peers and allowances */
	ls_net__peer *peers;
	ls_net__allowance *allowance;
	pthread_mutex_t log_lock;
	ls_net__count *count; /* route_count + 1 */
	_Atomic uint64_t connections, bytes, over_rate, over_time, open;
	_Atomic uint64_t active; /* requests that have begun and are not over */
	double wall; /* seconds since 1970 at the start */
};

/* ---- guard.c ---- */

void ls_net__peer_came(ls_server *s, ls_net__peer *peer, const struct sockaddr *address);
void ls_net__peer_left(ls_server *s, ls_net__peer *peer);
/* The next stage of what the peer does may take so long. */
void ls_net__peer_stage(ls_server *s, ls_net__peer *peer, double seconds);
/* Whether its address may make one more request; `*wait` are the seconds until it may otherwise. */
bool ls_net__peer_may(ls_server *s, const ls_net__peer *peer, unsigned *wait);
/* Ends connections that are over time. */
void ls_net__end_late(ls_server *s);

/* ---- exchange.c: what the daemon calls ---- */

void *ls_net__on_target(void *server, const char *target, struct MHD_Connection *connection);
enum MHD_Result ls_net__on_request(void *server, struct MHD_Connection *connection, const char *url, const char *method,
                                   const char *version, const char *upload, size_t *upload_len, void **exchange);
void ls_net__on_end(void *server, struct MHD_Connection *connection, void **exchange, enum MHD_RequestTerminationCode code);

/* ---- count.c ---- */

typedef struct ls_net__entry {
	const char *address, *method, *target, *end, *error; /* `error`: NULL where there was none */
	int status; /* 0: none was sent */
	uint64_t bytes;
	double seconds;
	size_t route; /* route_count: none */
} ls_net__entry;

/* Counts a request that is over, and logs it. */
void ls_net__note(ls_server *s, const ls_net__entry *entry);
/* Appends the text as a JSON string with its quotes; what is neither printable nor UTF-8 is escaped. */
void ls_net__json_text(ls_buf *out, const char *text);

/* ---- server.c ---- */

double ls_net__wall_seconds(void); /* since 1970 */

#endif
