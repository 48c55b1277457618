/* The game's frame: terms, turns and their signatures, what may come next. */
#include "judge/game.h"

#include <stdarg.h>
#include <stdio.h>

#define TERMS_TAG "ls1/dispute"
#define TURN_TAG "ls1/turn"
#define RECEIPT_TAG "ls1/receipt"
#define TURN_ROLE (8 + 32 + 4) /* where the role stands: behind tag, dispute id and number */
#define TURN_HEAD (TURN_ROLE + 1 + 32 + 1 + 4)

const char *ls_ruling_text(ls_ruling ruling)
{
	static const char *const text[] = {"trainer-wrong", "auditor-wrong", "both-wrong", "evidence-invalid", "undecided"};
	return text[ruling];
}

/* ---- terms ---- */

ls_status ls_terms_encode(ls_buf *out, const ls_terms *t, ls_error *err)
{
	ls_buf_bytes(out, TERMS_TAG, strlen(TERMS_TAG));
	ls_buf_u32(out, (uint32_t)t->job_len);
	ls_buf_bytes(out, t->job, t->job_len);
	ls_buf_bytes(out, t->trainer, 32);
	ls_buf_bytes(out, t->auditor, 32);
	ls_buf_bytes(out, t->nonce, 32);
	ls_buf_bytes(out, t->referee_nonce, 32);
	ls_buf_u32(out, t->deadline);
	for (int side = 0; side < 2; side++) {
		const ls_signed_head *h = &t->head[side];
		ls_buf_u64(out, h->head.size);
		ls_buf_bytes(out, h->head.root.byte, 32);
		ls_buf_bytes(out, h->signature, 64);
	}
	return out->status == LS_OK ? LS_OK : ls_error_set(err, out->status, "no memory for the terms of a dispute");
}

static void take_32(ls_cursor *c, uint8_t out[32])
{
	const uint8_t *p = ls_cursor_take(c, 32);
	if (p)
		memcpy(out, p, 32);
}

static void read_head(ls_cursor *c, ls_signed_head *out)
{
	const uint8_t *p;
	out->head.size = ls_cursor_u64(c);
	take_32(c, out->head.root.byte);
	p = ls_cursor_take(c, 64);
	if (p)
		memcpy(out->signature, p, 64);
}

bool ls_judge__ok(ls_game *g, ls_status status)
{
	bool of_the_bytes = status == LS_ERR_INPUT || status == LS_ERR_LIMIT || status == LS_ERR_USAGE;
	if (status != LS_OK && !of_the_bytes && g->trouble == LS_OK)
		g->trouble = status;
	return status == LS_OK;
}

void *ls_judge__alloc(ls_game *g, size_t count, size_t size)
{
	void *p = ls_alloc(count, size);
	ls_judge__ok(g, p ? LS_OK : LS_ERR_NOMEM);
	return p;
}

/* A head without a key bears 64 zero bytes; the name and id of the key follow from key and run. */
static bool head_fits(ls_game *g, int side, const uint8_t key[32])
{
	static const uint8_t none[64] = {0};
	char text[LS_HEAD_TEXT_SIZE];
	ls_signed_head *h = &g->terms.head[side];
	bool valid = false;
	h->head.run = g->run;
	if (!h->head.size)
		return false;
	if (ls_public_key_none(key))
		return !memcmp(h->signature, none, sizeof none);
	ls_head_encode(text, &h->head);
	return ls_judge__ok(g, ls_signature_verify(&valid, key, text, strlen(text), h->signature)) && valid;
}

static const char *read_terms(ls_game *g, size_t len)
{
	ls_cursor c = ls_cursor_over(g->terms_bytes, len);
	const uint8_t *tag = ls_cursor_take(&c, strlen(TERMS_TAG));
	ls_terms *t = &g->terms;
	if (!tag || memcmp(tag, TERMS_TAG, strlen(TERMS_TAG)))
		return "another tag";
	t->job = ls_judge__bytes(&c, &t->job_len);
	take_32(&c, t->trainer);
	take_32(&c, t->auditor);
	take_32(&c, t->nonce);
	take_32(&c, t->referee_nonce);
	t->deadline = ls_cursor_u32(&c);
	read_head(&c, &t->head[0]);
	read_head(&c, &t->head[1]);
	if (!ls_cursor_done(&c) || !ls_judge__job_read(&g->job, t->job, t->job_len))
		return "bytes that are no terms, or a job of another version";
	if (!ls_public_key_none(g->job.trainer) && memcmp(g->job.trainer, t->trainer, 32))
		return "another trainer than the job names";
	return NULL;
}

ls_status ls_game_open(ls_game **out, const void *terms, size_t len, ls_error *err)
{
	ls_status status = LS_OK;
	const char *found;
	ls_game *g = ls_alloc(1, sizeof *g);
	*out = NULL;
	if (!g || !(g->terms_bytes = ls_alloc(len, 1))) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a dispute");
		goto done;
	}
	memcpy(g->terms_bytes, terms, len);
	g->result = (ls_decision){.ruling = LS_RULING_UNDECIDED, .step = UINT64_MAX, .op = UINT32_MAX, .element = -1};
	g->element = -1;
	g->entry = -1;
	g->op = UINT32_MAX;
	g->step = UINT64_MAX;
	g->part = -1;
	LS_TRY(ls_hasher_open(&g->hasher, 1, err));
	found = read_terms(g, len);
	if (!found) {
		LS_TRY(ls_hash_tagged(&g->job_id, LS_TAG_JOB, g->terms.job, g->terms.job_len));
		LS_TRY(ls_run_id(&g->run, &g->job_id, g->terms.trainer, g->terms.nonce));
		LS_TRY(ls_hash_tagged(&g->id, TERMS_TAG, terms, len));
		g->result.job = g->job_id;
		g->result.run = g->run;
		g->result.trainer_signed = !ls_public_key_none(g->terms.trainer);
		g->result.auditor_signed = !ls_public_key_none(g->terms.auditor);
		g->result.refereed = !ls_public_key_none(g->job.referee);
		if (!head_fits(g, LS_JUDGE__TRAINER, g->terms.trainer) || !head_fits(g, LS_JUDGE__AUDITOR, g->terms.auditor))
			found = "a head that its key did not sign";
	}
	if (g->trouble != LS_OK) {
		status = ls_error_set(err, g->trouble, "could not look at the terms of a dispute: %s", ls_status_text(g->trouble));
		goto done;
	}
	if (found) {
		status = ls_error_input(err, NULL, "terms", found, "what both players agreed to", NULL);
		goto done;
	}
	ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_CLAIM);
	*out = g;
	g = NULL;
done:
	ls_game_free(g);
	return status;
}

void ls_game_free(ls_game *g)
{
	if (!g)
		return;
	for (int side = 0; side < 2; side++) {
		ls_free(g->steps[side]);
		ls_free(g->op_hash[side]);
		ls_free(g->list[side]);
	}
	ls_judge__record_free(&g->commit);
	ls_judge__record_free(&g->record);
	ls_free(g->given);
	ls_program_free(g->program);
	ls_hasher_free(g->hasher);
	ls_free(g->terms_bytes);
	ls_free(g);
}

/* ---- turns ---- */

void ls_judge__expect(ls_game *g, ls_role role, ls_turn_kind kind)
{
	g->role = role;
	g->kind = kind;
}

void ls_judge__end(ls_game *g, ls_ruling ruling, const char *format, ...)
{
	va_list args;
	ls_decision *r = &g->result;
	g->over = true;
	g->role = LS_ROLE_NONE;
	r->ruling = ruling;
	va_start(args, format);
	vsnprintf(r->reason, sizeof r->reason, format, args);
	va_end(args);
}

void ls_judge__end_wrong(ls_game *g, bool trainer, bool auditor, const char *why)
{
	ls_ruling ruling = trainer && auditor ? LS_RULING_BOTH_WRONG : trainer ? LS_RULING_TRAINER_WRONG : LS_RULING_AUDITOR_WRONG;
	ls_judge__end(g, ruling, "%s", why);
}

void ls_game_decision(const ls_game *g, ls_decision *out)
{
	static const char *const names[] = {"", "claim", "leaves", "steps", "ops", "op", "groups", "chunk", "entry", "sums", "open", "state", "loss", "silence"};
	*out = g->result;
	out->step = g->step;
	out->op = g->op;
	out->element = g->element;
	if (g->record.op.kind[0]) {
		memcpy(out->kind, g->record.op.kind, sizeof out->kind);
		memcpy(out->name, g->record.output[g->output].name, sizeof out->name);
	}
	if (!g->over)
		snprintf(out->reason, sizeof out->reason, "the game is not over: turn %u, '%s' of the %s, is missing", g->turns, names[g->kind],
		         g->role == LS_ROLE_TRAINER ? "trainer" : "auditor");
}

void ls_game_look(const ls_game *g, ls_game_view *out)
{
	*out = (ls_game_view){.role = g->role, .kind = g->kind, .entry_road = g->entry_road, .leaf = g->leaf, .first_step = g->before.step + 1,
	                      .step = g->step, .op = g->op, .ops = g->ops, .output = g->output, .chunk = g->chunk, .chunks = g->chunks,
	                      .element = g->element, .sum_first = g->sum_first, .sum_terms = g->sum_terms,
	                      .parts = g->parts, .part = g->part};
	if (g->step == UINT64_MAX && g->entry_road)
		out->step = g->named_step;
	if (g->op == UINT32_MAX && g->entry_road)
		out->op = g->named_op;
}

uint32_t ls_game_turns(const ls_game *g)
{
	return g->turns;
}

const ls_hash *ls_game_id(const ls_game *g)
{
	return &g->id;
}

void ls_game_keys(const ls_game *g, uint8_t trainer[LS_KEY_BYTES], uint8_t auditor[LS_KEY_BYTES])
{
	memcpy(trainer, g->terms.trainer, LS_KEY_BYTES);
	memcpy(auditor, g->terms.auditor, LS_KEY_BYTES);
}

const uint8_t *ls_game_referee(const ls_game *g)
{
	return g->job.referee;
}

uint32_t ls_game_deadline(const ls_game *g)
{
	return g->terms.deadline;
}

const ls_signed_head *ls_game_head(const ls_game *g, ls_role role)
{
	return &g->terms.head[role == LS_ROLE_TRAINER ? LS_JUDGE__TRAINER : LS_JUDGE__AUDITOR];
}

const ls_hash *ls_game_run(const ls_game *g)
{
	return &g->run;
}

uint64_t ls_game_clock(const ls_game *g)
{
	return g->clock;
}

static void turn_head(ls_buf *out, const ls_game *g, ls_role role, ls_turn_kind kind, size_t len)
{
	ls_buf_bytes(out, TURN_TAG, strlen(TURN_TAG));
	ls_buf_bytes(out, g->id.byte, 32);
	ls_buf_u32(out, g->turns);
	ls_buf_u8(out, (uint8_t)role);
	ls_buf_bytes(out, g->last.byte, 32);
	ls_buf_u8(out, (uint8_t)kind);
	ls_buf_u32(out, (uint32_t)len);
}

static ls_status make(ls_buf *out, const ls_game *g, ls_role role, ls_turn_kind kind, const void *payload, size_t len, const ls_key *key,
                      ls_error *err)
{
	size_t start = out->len;
	uint8_t signature[LS_SIGNATURE_BYTES] = {0};
	ls_status status = LS_OK;
	turn_head(out, g, role, kind, len);
	ls_buf_bytes(out, payload, len);
	if (key && out->status == LS_OK)
		LS_TRY(ls_sign(key, out->data + start, out->len - start, signature, err));
	ls_buf_bytes(out, signature, sizeof signature);
	status = out->status;
	if (status != LS_OK)
		ls_error_set(err, status, "no memory for a turn");
done:
	return status;
}

ls_status ls_turn_make(ls_buf *out, const ls_game *g, const void *payload, size_t len, const ls_key *key, ls_error *err)
{
	return make(out, g, g->role, g->kind, payload, len, key, err);
}

/* What the receipt of a turn signs. */
static ls_status receipt_bytes(ls_buf *out, const ls_game *g, const uint8_t *turn, size_t len, uint64_t seconds)
{
	ls_hash hash;
	ls_status status = ls_hash_leaf(&hash, turn, len, g->hasher);
	if (status != LS_OK)
		return status;
	ls_buf_bytes(out, RECEIPT_TAG, strlen(RECEIPT_TAG));
	ls_buf_bytes(out, g->id.byte, 32);
	ls_buf_u32(out, g->turns);
	ls_buf_bytes(out, hash.byte, 32);
	ls_buf_u64(out, seconds);
	return out->status;
}

static ls_status countersign(ls_buf *out, const ls_game *g, size_t start, uint64_t seconds, const ls_key *referee, ls_error *err)
{
	uint8_t signature[LS_SIGNATURE_BYTES] = {0};
	ls_status status = LS_OK;
	ls_buf bytes;
	ls_buf_init(&bytes, 128);
	if (referee) {
		LS_TRY(receipt_bytes(&bytes, g, out->data + start, out->len - start, seconds));
		LS_TRY(ls_sign(referee, bytes.data, bytes.len, signature, err));
	}
	ls_buf_u64(out, referee ? seconds : 0);
	ls_buf_bytes(out, signature, sizeof signature);
	status = out->status;
done:
	ls_buf_free(&bytes);
	return status == LS_OK ? status : ls_error_set(err, status, "no memory for a receipt");
}

ls_status ls_turn_countersign(ls_buf *turn, const ls_game *g, uint64_t seconds, const ls_key *referee, ls_error *err)
{
	return countersign(turn, g, 0, seconds, referee, err);
}

ls_status ls_silence_make(ls_buf *out, const ls_game *g, uint64_t seconds, const ls_key *referee, ls_error *err)
{
	size_t start = out->len;
	ls_status status;
	if (!g->turns || g->over || seconds < g->clock || seconds - g->clock < g->terms.deadline)
		return ls_error_set(err, LS_ERR_USAGE, "a dispute: nobody has let a deadline pass");
	LS_TRY(make(out, g, LS_ROLE_REFEREE, LS_TURN_SILENCE, NULL, 0, referee, err));
	LS_TRY(countersign(out, g, start, seconds, referee, err));
done:
	return status;
}

/* Trouble is told once: the next turn may find memory again. */
static ls_status tell_trouble(ls_game *g, ls_error *err)
{
	ls_status status = g->trouble;
	g->trouble = LS_OK;
	return status == LS_OK ? status : ls_error_set(err, status, "could not look at a turn: %s", ls_status_text(status));
}

/* True where `key` signed; where there is none, where the signature is zero. */
static bool signed_by(ls_game *g, const uint8_t key[LS_KEY_BYTES], const void *bytes, size_t len, const uint8_t *signature)
{
	static const uint8_t none[LS_SIGNATURE_BYTES] = {0};
	bool valid = false;
	if (ls_public_key_none(key))
		return !memcmp(signature, none, sizeof none);
	return ls_judge__ok(g, ls_signature_verify(&valid, key, bytes, len, signature)) && valid;
}

static const uint8_t *key_of(const ls_game *g, ls_role role)
{
	return role == LS_ROLE_REFEREE ? g->job.referee : role == LS_ROLE_TRAINER ? g->terms.trainer : g->terms.auditor;
}

/* The bytes before the payload can be nothing but these. */
static bool head_expected(ls_game *g, ls_role role, ls_turn_kind kind, const uint8_t *turn, size_t len)
{
	ls_buf head;
	bool same;
	ls_buf_init(&head, TURN_HEAD);
	turn_head(&head, g, role, kind, len - TURN_HEAD - LS_SIGNATURE_BYTES);
	same = ls_judge__ok(g, head.status) && !memcmp(head.data, turn, head.len);
	ls_buf_free(&head);
	return same;
}

ls_status ls_turn_is_signed(bool *out, ls_game *g, const void *turn, size_t len, ls_error *err)
{
	*out = !g->over && len >= TURN_HEAD + LS_SIGNATURE_BYTES && len <= LS_TURN_BYTES_MAX - LS_RECEIPT_BYTES &&
	       head_expected(g, g->role, g->kind, turn, len) &&
	       signed_by(g, key_of(g, g->role), turn, len - LS_SIGNATURE_BYTES, (const uint8_t *)turn + len - LS_SIGNATURE_BYTES);
	return tell_trouble(g, err);
}

static bool receipt_fits(ls_game *g, const uint8_t *turn, size_t len, uint64_t *seconds)
{
	ls_buf bytes;
	bool good, none = ls_public_key_none(g->job.referee);
	*seconds = ls_get_le64(turn + len);
	ls_buf_init(&bytes, 128);
	good = (none ? *seconds == 0 : *seconds >= g->clock) && ls_judge__ok(g, receipt_bytes(&bytes, g, turn, len, *seconds)) &&
	       signed_by(g, g->job.referee, bytes.data, bytes.len, turn + len + 8);
	ls_buf_free(&bytes);
	return good;
}

/* The turn that was due has not come. */
static bool take_silence(ls_game *g, uint64_t seconds, size_t payload)
{
	bool trainer = g->role == LS_ROLE_TRAINER;
	if (payload || !g->turns || ls_public_key_none(g->job.referee) || seconds - g->clock < g->terms.deadline)
		return false;
	ls_judge__end_wrong(g, trainer, !trainer, "it was silent: its turn did not come by the deadline, by the referee's receipts");
	return true;
}

static bool take_payload(ls_game *g, const uint8_t *payload, size_t len)
{
	static ls_judge__taker *const taker[] = {
		NULL, ls_judge__take_claim, ls_judge__take_leaves, ls_judge__take_steps, ls_judge__take_ops, ls_judge__take_op, ls_judge__take_groups,
		ls_judge__take_chunk, ls_judge__take_entry, ls_judge__take_sums, ls_judge__take_open, ls_judge__take_state, ls_judge__take_loss};
	ls_cursor c = ls_cursor_over(payload, len);
	return taker[g->kind](g, g->role == LS_ROLE_TRAINER ? LS_JUDGE__TRAINER : LS_JUDGE__AUDITOR, &c);
}

/* What is not acceptable about a turn, and what would be; NULL where it was taken. */
static const char *take_turn(ls_game *g, const uint8_t *turn, size_t len, uint64_t *seconds, const char **expected)
{
	bool silence = turn[TURN_ROLE] == LS_ROLE_REFEREE;
	size_t payload = len - TURN_HEAD - LS_SIGNATURE_BYTES;
	*expected = "the one that comes next in this dispute";
	if (!head_expected(g, silence ? LS_ROLE_REFEREE : g->role, silence ? LS_TURN_SILENCE : g->kind, turn, len))
		return "another turn";
	*expected = "one by the key in the terms";
	if (!signed_by(g, key_of(g, silence ? LS_ROLE_REFEREE : g->role), turn, len - LS_SIGNATURE_BYTES, turn + len - LS_SIGNATURE_BYTES))
		return "a signature that is not the player's";
	*expected = "one by the key that the job names";
	if (!receipt_fits(g, turn, len, seconds))
		return "a receipt that is not the referee's";
	*expected = "an opening of it";
	if (!(silence ? take_silence(g, *seconds, payload) : take_payload(g, turn + TURN_HEAD, payload)))
		return "a payload that does not fit what its player committed to";
	return NULL;
}

ls_status ls_game_take(ls_game *g, const void *bytes, size_t whole, ls_error *err)
{
	const char *found, *expected;
	ls_hash hash;
	char place[48];
	uint64_t seconds;
	ls_status status;
	snprintf(place, sizeof place, "turn %u", g->turns);
	status = g->trouble; // came with a turn that was taken, so what it made of the game is not to be trusted
	if (status != LS_OK)
		goto done;
	if (g->over)
		return ls_error_input(err, NULL, place, "a turn after the end", "none", NULL);
	if (whole > LS_TURN_BYTES_MAX || whole < TURN_HEAD + LS_SIGNATURE_BYTES + LS_RECEIPT_BYTES)
		return ls_error_input(err, NULL, place, "bytes that are no turn", "one with its receipt", NULL);
	LS_TRY(ls_hash_leaf(&hash, bytes, whole, g->hasher));
	found = take_turn(g, bytes, whole - LS_RECEIPT_BYTES, &seconds, &expected);
	if (found) {
		LS_TRY(tell_trouble(g, err));
		return ls_error_input(err, NULL, place, found, expected, NULL);
	}
	g->last = hash;
	g->clock = seconds;
	g->turns++;
	status = g->trouble;
done:
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "could not look at a turn: %s", ls_status_text(status));
}

/* ---- for the takers ---- */

const uint8_t *ls_judge__bytes(ls_cursor *c, size_t *len)
{
	*len = ls_cursor_u32(c);
	return ls_cursor_take(c, *len);
}

bool ls_judge__hash(ls_cursor *c, ls_hash *out)
{
	const uint8_t *p = ls_cursor_take(c, LS_HASH_BYTES);
	if (p)
		memcpy(out->byte, p, LS_HASH_BYTES);
	return p != NULL;
}

bool ls_judge__leaf_is(ls_game *g, const ls_hash *expected, const void *leaf, size_t len)
{
	ls_hash hash;
	return ls_judge__ok(g, ls_hash_leaf(&hash, leaf, len, g->hasher)) && ls_hash_equal(&hash, expected);
}

bool ls_judge__included(ls_game *g, ls_cursor *c, const ls_hash *root, uint64_t size, uint64_t index, const void *leaf, size_t len)
{
	ls_hash proof[LS_PROOF_MAX], hash;
	size_t count = ls_cursor_u8(c);
	bool valid = false;
	if (count > LS_PROOF_MAX || !leaf)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!ls_judge__hash(c, &proof[i]))
			return false;
	return ls_judge__ok(g, ls_hash_leaf(&hash, leaf, len, g->hasher)) &&
	       ls_judge__ok(g, ls_inclusion_verify(&valid, root, size, &hash, index, proof, count, g->hasher)) && valid;
}
