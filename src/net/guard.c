/* Who may ask, how often, and for how long. */
#include "net/server.h"

#include <netinet/in.h>
#include <netdb.h>
#include <stdio.h>

#define RESERVE 10 /* seconds' worth of requests that an address may make at once */
#define PROBES 8

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	return x;
}

/* An IPv6 network usually belongs to one party as a whole, so its first 64 bits count. Never 0. */
static uint64_t group_of(const struct sockaddr *address)
{
	uint8_t byte[8] = {0};
	uint64_t group;
	if (address->sa_family == AF_INET) {
		memcpy(byte, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
	} else if (address->sa_family == AF_INET6) {
		const struct in6_addr *a = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
		memcpy(byte, a->s6_addr + (IN6_IS_ADDR_V4MAPPED(a) ? 12 : 0), IN6_IS_ADDR_V4MAPPED(a) ? 4 : 8);
	}
	group = ls_get_le64(byte);
	return group ? group : 1;
}

static void write_address(const struct sockaddr *address, char out[LS_NET__ADDRESS_SIZE])
{
	socklen_t len = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	if (getnameinfo(address, len, out, LS_NET__ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST))
		snprintf(out, LS_NET__ADDRESS_SIZE, "unknown");
	else if (!strncmp(out, "::ffff:", 7) && strchr(out, '.'))
		memmove(out, out + 7, strlen(out) - 6); // IPv4 on a socket for both
}

void ls_net__peer_came(ls_server *s, ls_net__peer *peer, const struct sockaddr *address)
{
	peer->group = group_of(address);
	write_address(address, peer->address);
	peer->deadline = ls_clock_seconds() + 2 * s->options.timeout;
	atomic_fetch_add(&s->connections, 1);
	atomic_fetch_add(&s->open, 1);
	pthread_mutex_lock(&s->lock);
	peer->after = s->peers;
	if (s->peers)
		s->peers->before = peer;
	s->peers = peer;
	pthread_mutex_unlock(&s->lock);
}

void ls_net__peer_left(ls_server *s, ls_net__peer *peer)
{
	atomic_fetch_sub(&s->open, 1);
	pthread_mutex_lock(&s->lock);
	if (peer->before)
		peer->before->after = peer->after;
	else
		s->peers = peer->after;
	if (peer->after)
		peer->after->before = peer->before;
	pthread_mutex_unlock(&s->lock);
}

void ls_net__peer_stage(ls_server *s, ls_net__peer *peer, double seconds)
{
	pthread_mutex_lock(&s->lock);
	peer->deadline = ls_clock_seconds() + seconds;
	pthread_mutex_unlock(&s->lock);
}

/* The address's place, or that of the one that has been quiet for longest. */
static ls_net__allowance *place_of(ls_server *s, uint64_t group, double now)
{
	ls_net__allowance *oldest = NULL;
	for (uint64_t i = 0; i < PROBES; i++) {
		ls_net__allowance *a = &s->allowance[(mix(group) + i) % LS_NET__ALLOWANCES];
		if (a->group == group)
			return a;
		if (!oldest || a->at < oldest->at)
			oldest = a;
	}
	*oldest = (ls_net__allowance){group, (double)s->options.rate * RESERVE, now};
	return oldest;
}

bool ls_net__peer_may(ls_server *s, const ls_net__peer *peer, unsigned *wait)
{
	double now = ls_clock_seconds(), rate = s->options.rate;
	ls_net__allowance *a;
	bool may;
	*wait = 1;
	if (!s->options.rate)
		return true;
	pthread_mutex_lock(&s->lock);
	a = place_of(s, peer->group, now);
	a->left += (now - a->at) * rate;
	a->at = now;
	if (a->left > rate * RESERVE)
		a->left = rate * RESERVE;
	may = a->left >= 1;
	a->left -= may;
	pthread_mutex_unlock(&s->lock);
	if (!may)
		atomic_fetch_add(&s->over_rate, 1);
	return may;
}

void ls_net__end_late(ls_server *s)
{
	double now = ls_clock_seconds();
	pthread_mutex_lock(&s->lock);
	for (ls_net__peer *p = s->peers; p; p = p->after)
		if (p->deadline < now) {
			shutdown(p->fd, SHUT_RDWR); // the daemon notices, and ends the connection
			p->deadline = now + 3600;
			atomic_fetch_add(&s->over_time, 1);
		}
	pthread_mutex_unlock(&s->lock);
}
