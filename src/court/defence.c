/* A trainer at its post. */
#include "court/party.h"

#include <stdio.h>

/* Disputes that were given up: asked about once, not again and again. */
#define GIVEN_UP_MAX 256

struct ls_defence {
	ls_party_options o;
	void (*complain)(void *context, const ls_hash *id, const ls_error *err);
	void *context;
	ls_party *party; /* of the dispute that was played last, which keeps what was computed for it */
	ls_hash id;
	ls_hash given_up[GIVEN_UP_MAX];
	size_t given_up_count; /* ever; the oldest are written over */
};

ls_status ls_defence_open(ls_defence **out, const ls_party_options *options,
                          void (*complain)(void *context, const ls_hash *id, const ls_error *err), void *context, ls_error *err)
{
	ls_defence *d = ls_alloc(1, sizeof *d);
	*out = d;
	if (!d)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a defence");
	d->o = *options;
	d->complain = complain;
	d->context = context;
	return LS_OK;
}

void ls_defence_free(ls_defence *d)
{
	if (!d)
		return;
	ls_party_free(d->party);
	ls_free(d);
}

static void leave(ls_defence *d)
{
	ls_party_free(d->party);
	d->party = NULL;
}

static bool gave_up(const ls_defence *d, const ls_hash *id)
{
	for (size_t i = 0; i < d->given_up_count && i < GIVEN_UP_MAX; i++)
		if (ls_hash_equal(&d->given_up[i], id))
			return true;
	return false;
}

static ls_status enter(ls_defence *d, const ls_hash *id, ls_error *err)
{
	ls_status status;
	if (d->party && ls_hash_equal(&d->id, id))
		return LS_OK;
	leave(d);
	LS_TRY(ls_party_open(&d->party, &d->o, err));
	LS_TRY(ls_party_join(d->party, id, err));
	d->id = *id;
done:
	if (status != LS_OK)
		leave(d);
	return status;
}

/* What this trainer can say in one dispute, until it is somebody else's turn. */
static ls_status play(ls_defence *d, const ls_hash *id, bool *moved, ls_error *err)
{
	ls_party_progress p = {.moved = true};
	ls_status status = enter(d, id, err);
	while (status == LS_OK && p.moved && !p.over) {
		status = ls_party_step(d->party, &p, err);
		*moved |= p.moved;
	}
	if (status != LS_OK)
		leave(d);
	return status;
}

static ls_status look(ls_defence *d, ls_open_disputes *list, ls_error *err)
{
	char target[128], hex[LS_HASH_HEX_SIZE];
	int code = 0;
	ls_status status;
	ls_buf answer;
	ls_buf_init(&answer, LS_COURT_ANSWER_MAX);
	ls_hash_hex(hex, ls_run_id_of(d->o.player.run));
	snprintf(target, sizeof target, "/disputes?run=%s", hex);
	LS_TRY(d->o.wire.ask(d->o.wire.context, "GET", target, NULL, 0, &code, &answer, err));
	if (code != 200)
		status = ls_error_set(err, LS_ERR_IO, "the court answered with %d when asked for disputes about %s", code, hex);
	else
		status = ls_open_disputes_decode(list, answer.data, answer.len, err);
done:
	ls_buf_free(&answer);
	return status;
}

ls_status ls_defence_step(ls_defence *d, bool *moved, ls_error *err)
{
	ls_open_disputes list;
	ls_status status = look(d, &list, err);
	*moved = false;
	for (size_t i = 0; status == LS_OK && i < list.count; i++) {
		ls_error why = LS_ERROR_INIT;
		ls_status one;
		if (list.dispute[i].role != LS_ROLE_TRAINER || gave_up(d, &list.dispute[i].id))
			continue;
		one = play(d, &list.dispute[i].id, moved, &why);
		if (one == LS_OK)
			continue;
		if (one != LS_ERR_INPUT && one != LS_ERR_LIMIT && one != LS_ERR_UNSUPPORTED) {
			status = ls_error_set(err, one, "%s", why.text);
			continue;
		}
		d->given_up[d->given_up_count++ % GIVEN_UP_MAX] = list.dispute[i].id;
		if (d->complain)
			d->complain(d->context, &list.dispute[i].id, &why);
	}
	return status;
}
