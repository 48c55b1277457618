/* The court's answers: which message means what, and when a turn is taken. */
#include "court/court.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

#define TURN_NUMBER (8 + 32)               /* where a turn's number stands: behind tag and dispute id */
#define TURN_SHORTEST (8 + 32 + 4 + 1 + 32 + 1 + 4 + LS_SIGNATURE_BYTES)
#define TURN_LONGEST (LS_TURN_BYTES_MAX - LS_RECEIPT_BYTES)

ls_status ls_court__refuse(ls_court__answer *a, int code, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	a->code = code;
	ls_buf_reset(a->out);
	ls_buf_printf(a->out, "%s\n", text);
	return a->out->status;
}

/* ---- time ---- */

/* Whoever's turn it is has let the deadline pass, while a court was there to take it. */
static bool is_late(const ls_court *c, const ls_court__entry *e)
{
	uint64_t now = ls_court__now(c), from = e->clock > c->opened ? e->clock : c->opened;
	return e->state == LS_COURT_OPEN && e->turns && now >= from && now - from >= e->deadline;
}

static ls_status play_silence(ls_court *c, ls_court__entry *e, ls_error *err)
{
	ls_status status;
	ls_buf turn;
	ls_buf_init(&turn, 4096);
	LS_TRY(ls_court__load(c, e, err));
	LS_TRY(ls_silence_make(&turn, c->game, ls_court__now(c), c->o.key, err));
	LS_TRY(ls_game_take(c->game, turn.data, turn.len, err));
	LS_TRY(ls_court__append(c, e, &turn, err));
done:
	ls_buf_free(&turn);
	return status;
}

/* Disputes that both sides have left are over, too: they would take the places of others. */
static ls_status end_late(ls_court *c, ls_error *err)
{
	ls_status status = LS_OK;
	bool found = true;
	while (found && status == LS_OK) {
		ls_court__entry e = {.turns = 0};
		ls_hash id;
		status = ls_court__find_late(c, &id, &found, err);
		if (status != LS_OK || !found)
			break;
		status = ls_court__find(c, &id, &e, &found, err);
		if (status == LS_OK && found)
			status = play_silence(c, &e, err);
		ls_buf_free(&e.terms);
	}
	return status;
}

/* ---- a request ---- */

static bool is_auditor(const ls_court *c, const uint8_t key[LS_KEY_BYTES])
{
	for (size_t i = 0; i < c->o.auditor_count; i++)
		if (!memcmp(c->o.auditors[i], key, LS_KEY_BYTES))
			return true;
	return !c->o.auditor_count;
}

/* NULL, or why a dispute on these terms is not for this court. */
static const char *not_for_us(const ls_court *c, const ls_game *game)
{
	uint8_t trainer[LS_KEY_BYTES], auditor[LS_KEY_BYTES];
	ls_game_keys(game, trainer, auditor);
	if (memcmp(ls_game_referee(game), c->key, LS_KEY_BYTES))
		return "the job names another referee, or none";
	if (ls_public_key_none(trainer))
		return "nobody signed the trainer's head: over a wire both sides need a key";
	if (!is_auditor(c, auditor))
		return "this court does not take requests of that auditor";
	return NULL;
}

static ls_status make_terms(ls_court *c, ls_terms *t, ls_buf *terms, ls_game **game, ls_error *err)
{
	ls_status status;
	t->deadline = c->o.deadline;
	if (getrandom(t->referee_nonce, sizeof t->referee_nonce, 0) != sizeof t->referee_nonce)
		return ls_error_set(err, LS_ERR_IO, "could not draw a nonce");
	LS_TRY(ls_terms_encode(terms, t, err));
	LS_TRY(ls_game_open(game, terms->data, terms->len, err));
done:
	return status;
}

static ls_status new_dispute(ls_court *c, const ls_hash *request, const void *body, size_t len, ls_court__answer *a, ls_error *err)
{
	ls_error why = LS_ERROR_INIT;
	ls_terms t;
	ls_game *game = NULL;
	uint64_t open;
	const char *reason;
	ls_status status = ls_request_decode(&t, body, len, &why);
	ls_buf terms;
	ls_buf_init(&terms, LS_COURT_REQUEST_MAX);
	if (status == LS_OK)
		status = make_terms(c, &t, &terms, &game, &why);
	if (status == LS_ERR_INPUT || status == LS_ERR_LIMIT) {
		status = ls_court__refuse(a, 403, "%s", why.text);
		goto done;
	}
	LS_TRY(status == LS_OK ? LS_OK : ls_error_set(err, status, "%s", why.text));
	reason = not_for_us(c, game);
	if (reason) {
		status = ls_court__refuse(a, 403, "request: %s", reason);
		goto done;
	}
	LS_TRY(end_late(c, err));
	LS_TRY(ls_court__count_open(c, &open, err));
	if (open >= LS_COURT_OPEN_MAX) {
		status = ls_court__refuse(a, 503, "request: %llu disputes are open, expected fewer than %d: ask again later", (unsigned long long)open, LS_COURT_OPEN_MAX);
		goto done;
	}
	LS_TRY(ls_court__add(c, request, game, &terms, err));
	ls_buf_bytes(a->out, terms.data, terms.len);
done:
	ls_game_free(game);
	ls_buf_free(&terms);
	return status;
}

static ls_status answer_terms(ls_court *c, const ls_hash *id, ls_court__answer *a, ls_error *err)
{
	ls_court__entry e;
	bool found;
	ls_status status = ls_court__find(c, id, &e, &found, err);
	if (status == LS_OK)
		ls_buf_bytes(a->out, e.terms.data, e.terms.len);
	ls_buf_free(&e.terms);
	return status;
}

/* The same request again, as after an answer that was lost, leads to the same dispute. */
static ls_status request(ls_court *c, const void *body, size_t len, ls_court__answer *a, ls_error *err)
{
	ls_hash digest, id;
	bool found;
	ls_status status;
	if (len > LS_COURT_REQUEST_MAX)
		return ls_court__refuse(a, 413, "request: found %zu bytes, expected at most %u", len, LS_COURT_REQUEST_MAX);
	LS_TRY(ls_hash_tagged(&digest, "ls1/request", body, len));
	LS_TRY(ls_court__find_request(c, &digest, &id, &found, err));
	status = found ? answer_terms(c, &id, a, err) : new_dispute(c, &digest, body, len, a, err);
done:
	return status;
}

/* ---- turns ---- */

/* A turn for a place that is taken: the same again, as after an answer that was lost; or a second one, which convicts its signer if
 * the dispute is still open; or nothing that counts. */
static ls_status old_turn(ls_court *c, ls_court__entry *e, uint32_t number, const void *body, size_t len, ls_court__answer *a, ls_error *err)
{
	ls_status status;
	ls_decision decision;
	ls_buf both[2], evidence;
	for (int i = 0; i < 2; i++)
		ls_buf_init(&both[i], LS_TURN_BYTES_MAX);
	ls_buf_init(&evidence, LS_EVIDENCE_BYTES_MAX);
	LS_TRY(ls_court__turn(c, &e->id, number, &both[0], err));
	if (both[0].len == len + LS_RECEIPT_BYTES && !memcmp(both[0].data, body, len)) {
		status = ls_court__page(c, e, number, a->out, err);
		goto done;
	}
	if (e->state == LS_COURT_OPEN && both[0].len > LS_RECEIPT_BYTES) {
		both[0].len -= LS_RECEIPT_BYTES;
		ls_buf_bytes(&both[1], body, len);
		LS_TRY(ls_two_turns_encode(&evidence, &e->terms, both));
		LS_TRY(ls_judge(evidence.data, evidence.len, &decision, err));
		if (decision.ruling != LS_RULING_EVIDENCE_INVALID)
			LS_TRY(ls_court__contradict(c, e, &evidence, err));
	}
	status = ls_court__refuse(a, 409, "turn %u: another one was taken for this place%s", number,
	                          e->state == LS_COURT_CONTRADICTION ? ", and its player signed both: that ends the dispute" : "");
done:
	ls_buf_free(&both[0]);
	ls_buf_free(&both[1]);
	ls_buf_free(&evidence);
	return status;
}

static ls_status new_turn(ls_court *c, ls_court__entry *e, const void *body, size_t len, ls_court__answer *a, ls_error *err)
{
	ls_error why = LS_ERROR_INIT;
	uint64_t now = ls_court__now(c);
	ls_status status;
	bool due;
	ls_buf turn;
	ls_buf_init(&turn, LS_TURN_BYTES_MAX);
	LS_TRY(ls_court__load(c, e, err));
	LS_TRY(ls_turn_is_signed(&due, c->game, body, len, err));
	if (!due) {
		status = ls_court__refuse(a, 403, "turn %u: not what is due in this dispute, signed by the %s", e->turns,
		                          e->role == LS_ROLE_TRAINER ? "trainer" : "auditor");
		goto done;
	}
	ls_buf_bytes(&turn, body, len);
	LS_TRY(ls_turn_countersign(&turn, c->game, now > e->clock ? now : e->clock, c->o.key, err));
	status = ls_game_take(c->game, turn.data, turn.len, &why);
	if (status == LS_ERR_INPUT) {
		status = ls_court__refuse(a, 422, "%s", why.text);
		goto done;
	}
	LS_TRY(status == LS_OK ? LS_OK : ls_error_set(err, status, "%s", why.text));
	LS_TRY(ls_court__append(c, e, &turn, err));
	status = ls_court__page(c, e, e->turns - 1, a->out, err);
done:
	ls_buf_free(&turn);
	return status;
}

static ls_status take_turn(ls_court *c, ls_court__entry *e, const uint8_t *body, size_t len, ls_court__answer *a, ls_error *err)
{
	uint32_t number;
	if (len > TURN_LONGEST)
		return ls_court__refuse(a, 413, "turn: found %zu bytes, expected at most %u", len, (unsigned)TURN_LONGEST);
	if (len < TURN_SHORTEST || memcmp(body, "ls1/turn", 8) || memcmp(body + 8, e->id.byte, LS_HASH_BYTES))
		return ls_court__refuse(a, 400, "turn: bytes that are no turn of this dispute");
	number = ls_get_le32(body + TURN_NUMBER);
	if (number < e->turns)
		return old_turn(c, e, number, body, len, a, err);
	if (e->state != LS_COURT_OPEN)
		return ls_court__refuse(a, 409, "turn %u: the dispute is over", number);
	if (number > e->turns)
		return ls_court__refuse(a, 409, "turn %u: turn %u is due", number, e->turns);
	return new_turn(c, e, body, len, a, err);
}

/* ---- targets ---- */

typedef struct message {
	bool post;
	const char *path, *query; /* behind "/disputes/ID" */
	const uint8_t *body;
	size_t len;
} message;

static ls_status wrong_method(ls_court__answer *a)
{
	return ls_court__refuse(a, 405, "another method than this target has");
}

static ls_status answer_turns(ls_court *c, ls_court__entry *e, const message *m, ls_court__answer *a, ls_error *err)
{
	uint64_t from = 0;
	const char *digits = m->query + (strncmp(m->query, "from=", 5) ? 0 : 5);
	size_t len = strlen(digits);
	if (m->post)
		return take_turn(c, e, m->body, m->len, a, err);
	for (size_t i = 0; i < len && i < 4; i++)
		from = from * 10 + (uint64_t)(digits[i] - '0');
	if (strspn(digits, "0123456789") != len || len > 3 || (*m->query && (digits == m->query || !len)))
		return ls_court__refuse(a, 400, "turns: found the query \"%.40s\", expected from=N, N below 1000", m->query);
	return ls_court__page(c, e, (uint32_t)from, a->out, err);
}

static ls_status of_dispute(ls_court *c, const ls_hash *id, const message *m, ls_court__answer *a, ls_error *err)
{
	ls_court__entry e;
	bool found;
	ls_status status = ls_court__find(c, id, &e, &found, err);
	if (status != LS_OK)
		goto done;
	if (!found) {
		status = ls_court__refuse(a, 404, "no such dispute");
		goto done;
	}
	if (is_late(c, &e))
		LS_TRY(play_silence(c, &e, err));
	if (!strcmp(m->path, "/turns"))
		status = answer_turns(c, &e, m, a, err);
	else if (strcmp(m->path, "/terms") && strcmp(m->path, "/evidence"))
		status = ls_court__refuse(a, 404, "no such target: a dispute has terms, turns and evidence");
	else if (m->post)
		status = wrong_method(a);
	else if (!strcmp(m->path, "/evidence"))
		status = ls_court__evidence(c, &e, a->out, err);
	else
		ls_buf_bytes(a->out, e.terms.data, e.terms.len);
done:
	ls_buf_free(&e.terms);
	return status;
}

static ls_status all_disputes(ls_court *c, const message *m, ls_court__answer *a, ls_error *err)
{
	ls_hash run;
	if (m->post)
		return request(c, m->body, m->len, a, err);
	if (strncmp(m->query, "run=", 4) || !ls_hash_unhex(&run, m->query + 4))
		return ls_court__refuse(a, 400, "disputes: found the query \"%.40s\", expected run= and 64 hex digits", m->query);
	return ls_court__list(c, &run, a->out, err);
}

static ls_status route(ls_court *c, const char *path, message *m, ls_court__answer *a, ls_error *err)
{
	static const char root[] = "/disputes";
	char hex[LS_HASH_HEX_SIZE] = {0};
	ls_hash id;
	if (strncmp(path, root, sizeof root - 1))
		return ls_court__refuse(a, 404, "no such target");
	path += sizeof root - 1;
	if (!*path)
		return all_disputes(c, m, a, err);
	if (strlen(path) < 1 + 2 * LS_HASH_BYTES)
		return ls_court__refuse(a, 404, "no such target");
	memcpy(hex, path + 1, 2 * LS_HASH_BYTES);
	m->path = path + 1 + 2 * LS_HASH_BYTES;
	if (*path != '/' || !ls_hash_unhex(&id, hex))
		return ls_court__refuse(a, 404, "no such target");
	return of_dispute(c, &id, m, a, err);
}

ls_status ls_court_answer(ls_court *c, const char *method, const char *target, const void *body, size_t len, int *code, ls_buf *out,
                          ls_error *err)
{
	char path[256];
	const char *query = strchr(target, '?');
	size_t path_len = query ? (size_t)(query - target) : strlen(target);
	ls_court__answer a = {200, out};
	message m = {.post = !strcmp(method, "POST"), .query = query ? query + 1 : "", .body = body, .len = len};
	ls_status status;
	if (!m.post && strcmp(method, "GET")) {
		status = wrong_method(&a);
	} else if (path_len >= sizeof path) {
		status = ls_court__refuse(&a, 404, "no such target");
	} else {
		memcpy(path, target, path_len);
		path[path_len] = 0;
		pthread_mutex_lock(&c->lock);
		status = route(c, path, &m, &a, err);
		pthread_mutex_unlock(&c->lock);
	}
	*code = a.code;
	if (status == LS_OK && out->status != LS_OK)
		status = ls_error_set(err, out->status, "no memory for an answer");
	return status;
}
