/* The bytes that court and players exchange, beside turns and terms, which are the game's. */
#include "court/court.h"

#define REQUEST_TAG "ls1/request"
#define TURNS_TAG "ls1/turns"
#define LIST_TAG "ls1/disputes"

static void put_head(ls_buf *out, const ls_signed_head *h)
{
	ls_buf_u64(out, h->head.size);
	ls_buf_bytes(out, h->head.root.byte, LS_HASH_BYTES);
	ls_buf_bytes(out, h->signature, LS_SIGNATURE_BYTES);
}

ls_status ls_request_encode(ls_buf *out, const ls_terms *t, const ls_key *auditor, ls_error *err)
{
	size_t start = out->len;
	uint8_t signature[LS_SIGNATURE_BYTES];
	ls_status status;
	ls_buf_bytes(out, REQUEST_TAG, strlen(REQUEST_TAG));
	ls_buf_u32(out, (uint32_t)t->job_len);
	ls_buf_bytes(out, t->job, t->job_len);
	ls_buf_bytes(out, t->trainer, sizeof t->trainer);
	ls_buf_bytes(out, t->auditor, sizeof t->auditor);
	ls_buf_bytes(out, t->nonce, sizeof t->nonce);
	put_head(out, &t->head[0]);
	put_head(out, &t->head[1]);
	status = out->status == LS_OK ? ls_sign(auditor, out->data + start, out->len - start, signature, err) : out->status;
	if (status != LS_OK)
		return status;
	ls_buf_bytes(out, signature, sizeof signature);
	return out->status == LS_OK ? LS_OK : ls_error_set(err, out->status, "a request for a dispute: more than %u bytes", LS_COURT_REQUEST_MAX);
}

static void take(ls_cursor *c, void *out, size_t len)
{
	const uint8_t *p = ls_cursor_take(c, len);
	if (p)
		memcpy(out, p, len);
}

static bool tagged(ls_cursor *c, const char *tag)
{
	const uint8_t *p = ls_cursor_take(c, strlen(tag));
	return p && !memcmp(p, tag, strlen(tag));
}

static void take_head(ls_cursor *c, ls_signed_head *h)
{
	h->head.size = ls_cursor_u64(c);
	take(c, h->head.root.byte, LS_HASH_BYTES);
	take(c, h->signature, LS_SIGNATURE_BYTES);
	h->is_signed = true;
}

ls_status ls_request_decode(ls_terms *out, const void *data, size_t len, ls_error *err)
{
	ls_cursor c = ls_cursor_over(data, len);
	const uint8_t *signature;
	bool is_one = tagged(&c, REQUEST_TAG), valid = false;
	*out = (ls_terms){.job_len = ls_cursor_u32(&c)};
	out->job = ls_cursor_take(&c, out->job_len);
	take(&c, out->trainer, sizeof out->trainer);
	take(&c, out->auditor, sizeof out->auditor);
	take(&c, out->nonce, sizeof out->nonce);
	take_head(&c, &out->head[0]);
	take_head(&c, &out->head[1]);
	signature = ls_cursor_take(&c, LS_SIGNATURE_BYTES);
	if (!is_one || !ls_cursor_done(&c))
		return ls_error_input(err, NULL, "request", "bytes that are no request", "job, keys, nonce, two heads and a signature", NULL);
	if (ls_public_key_none(out->auditor) ||
	    ls_signature_verify(&valid, out->auditor, data, len - LS_SIGNATURE_BYTES, signature) != LS_OK || !valid)
		return ls_error_input(err, NULL, "request", "a signature that is not the auditor's", "one by the auditor's key in it", NULL);
	return LS_OK;
}

void ls_court__turns_begin(ls_buf *out, ls_court_state state, uint32_t first, uint32_t count)
{
	ls_buf_bytes(out, TURNS_TAG, strlen(TURNS_TAG));
	ls_buf_u8(out, (uint8_t)state);
	ls_buf_u32(out, first);
	ls_buf_u32(out, count);
}

/* Walks all of it, so that ls_turns_next meets nothing unexpected. */
static bool turns_whole(ls_turns turns)
{
	size_t len;
	for (uint32_t i = 0; i < turns.count; i++)
		if (!ls_turns_next(&turns, &len) || len > LS_TURN_BYTES_MAX)
			return false;
	return ls_cursor_done(&turns.turn);
}

ls_status ls_turns_decode(ls_turns *out, const void *data, size_t len, ls_error *err)
{
	ls_cursor c = ls_cursor_over(data, len);
	bool is_one = tagged(&c, TURNS_TAG);
	uint8_t state = ls_cursor_u8(&c);
	*out = (ls_turns){.state = (ls_court_state)state, .first = ls_cursor_u32(&c), .count = ls_cursor_u32(&c)};
	out->turn = c;
	if (!is_one || c.failed || state > LS_COURT_CONTRADICTION || out->count > LS_TURNS_MAX || out->first > LS_TURNS_MAX ||
	    !turns_whole(*out))
		return ls_error_input(err, NULL, "answer", "bytes that are no list of turns", "turns of a dispute", NULL);
	return LS_OK;
}

const uint8_t *ls_turns_next(ls_turns *t, size_t *len)
{
	if (t->turn.pos == t->turn.len)
		return NULL;
	*len = ls_cursor_u32(&t->turn);
	return ls_cursor_take(&t->turn, *len);
}

void ls_court__list_begin(ls_buf *out, uint32_t count)
{
	ls_buf_bytes(out, LIST_TAG, strlen(LIST_TAG));
	ls_buf_u32(out, count);
}

ls_status ls_open_disputes_decode(ls_open_disputes *out, const void *data, size_t len, ls_error *err)
{
	ls_cursor c = ls_cursor_over(data, len);
	bool is_one = tagged(&c, LIST_TAG);
	out->count = ls_cursor_u32(&c);
	if (out->count > LS_COURT_OPEN_MAX)
		is_one = false;
	for (size_t i = 0; is_one && i < out->count; i++) {
		ls_open_dispute *d = &out->dispute[i];
		take(&c, d->id.byte, LS_HASH_BYTES);
		d->role = (ls_role)ls_cursor_u8(&c);
		d->turns = ls_cursor_u32(&c);
		is_one = d->role == LS_ROLE_TRAINER || d->role == LS_ROLE_AUDITOR;
	}
	if (is_one && ls_cursor_done(&c))
		return LS_OK;
	out->count = 0;
	return ls_error_input(err, NULL, "answer", "bytes that are no list of disputes", "the open disputes of a run", NULL);
}
