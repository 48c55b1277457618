/* Evidence files: a whole game, or two things that one player signed and that cannot both be honest. */
#include "judge/job.h"

#include <lockstep/game.h>

#include <stdio.h>

#define TAG "ls1/evidence"
#define TAG_HEADS "ls1/two-heads"
#define TAG_TURNS "ls1/two-turns"

/* ---- writing ---- */

/* H(tag, everything so far). */
static ls_status seal(ls_buf *out, const char *tag)
{
	ls_hash digest;
	ls_status status = out->status;
	if (status == LS_OK)
		status = ls_hash_tagged(&digest, tag, out->data, out->len);
	if (status == LS_OK)
		ls_buf_bytes(out, digest.byte, LS_HASH_BYTES);
	return status == LS_OK ? out->status : status;
}

static void put_bytes(ls_buf *out, const void *data, size_t len)
{
	ls_buf_u32(out, (uint32_t)len);
	ls_buf_bytes(out, data, len);
}

ls_status ls_evidence_encode(ls_buf *out, const ls_buf *terms, const ls_buf *turns, size_t count)
{
	ls_buf_bytes(out, TAG, strlen(TAG));
	put_bytes(out, terms->data, terms->len);
	ls_buf_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		put_bytes(out, turns[i].data, turns[i].len);
	return seal(out, TAG);
}

ls_status ls_two_turns_encode(ls_buf *out, const ls_buf *terms, const ls_buf turn[2])
{
	ls_buf_bytes(out, TAG_TURNS, strlen(TAG_TURNS));
	put_bytes(out, terms->data, terms->len);
	for (int i = 0; i < 2; i++)
		put_bytes(out, turn[i].data, turn[i].len);
	return seal(out, TAG_TURNS);
}

ls_status ls_two_heads_encode(ls_buf *out, const ls_two_heads *h)
{
	ls_buf_bytes(out, TAG_HEADS, strlen(TAG_HEADS));
	put_bytes(out, h->job, h->job_len);
	ls_buf_bytes(out, h->trainer, 32);
	ls_buf_bytes(out, h->nonce, 32);
	ls_buf_bytes(out, h->signer, 32);
	ls_buf_u64(out, h->leaf);
	for (int i = 0; i < 2; i++) {
		ls_buf_u64(out, h->head[i].head.size);
		ls_buf_bytes(out, h->head[i].head.root.byte, 32);
		ls_buf_bytes(out, h->head[i].signature, 64);
		ls_buf_bytes(out, h->hash[i].byte, 32);
		ls_buf_u8(out, (uint8_t)h->proof_count[i]);
		for (size_t p = 0; p < h->proof_count[i]; p++)
			ls_buf_bytes(out, h->proof[i][p].byte, 32);
	}
	return seal(out, TAG_HEADS);
}

/* ---- judging ---- */

static ls_status invalid(ls_decision *out, const char *reason)
{
	*out = (ls_decision){.ruling = LS_RULING_EVIDENCE_INVALID, .step = UINT64_MAX, .op = UINT32_MAX, .element = -1};
	snprintf(out->reason, sizeof out->reason, "%.300s", reason);
	return LS_OK;
}

/* Memory is not the file's fault; everything else here is. */
static ls_status refused(ls_status status, const ls_error *why, ls_decision *out, ls_error *err)
{
	if (status == LS_ERR_NOMEM || status == LS_ERR_UNSUPPORTED)
		return ls_error_set(err, status, "%s", why->text);
	return invalid(out, why->text);
}

/* True for LS_OK; whatever else there is is not the file's fault, and is kept. */
static bool ok(ls_status status, ls_status *trouble)
{
	if (status != LS_OK)
		*trouble = status;
	return status == LS_OK;
}

static ls_status tell_trouble(ls_status trouble, ls_error *err)
{
	return ls_error_set(err, trouble, "could not look at the evidence: %s", ls_status_text(trouble));
}

static const char lengths_text[] = "lengths that do not fit the file";

/* u32 length and bytes, borrowed. */
static const uint8_t *take_bytes(ls_cursor *c, uint32_t *len)
{
	*len = ls_cursor_u32(c);
	return ls_cursor_take(c, *len);
}

static ls_status judge_game(ls_cursor *c, ls_decision *out, ls_error *err)
{
	ls_error why = LS_ERROR_INIT;
	ls_game *game = NULL;
	ls_status status = LS_OK;
	uint32_t terms_len, turns;
	const uint8_t *terms = take_bytes(c, &terms_len);
	turns = ls_cursor_u32(c);
	if (!terms || turns > LS_TURNS_MAX)
		return invalid(out, lengths_text);
	status = ls_game_open(&game, terms, terms_len, &why);
	if (status != LS_OK)
		return refused(status, &why, out, err);
	for (uint32_t i = 0; i < turns; i++) {
		uint32_t len;
		const uint8_t *turn = take_bytes(c, &len);
		if (!turn) {
			invalid(out, lengths_text);
			goto done;
		}
		status = ls_game_take(game, turn, len, &why);
		if (status != LS_OK) {
			status = refused(status, &why, out, err);
			goto done;
		}
	}
	if (ls_cursor_done(c))
		ls_game_decision(game, out);
	else
		invalid(out, "bytes behind the last turn");
done:
	ls_game_free(game);
	return status;
}

/* A turn's place: tag, dispute id, number, role, hash of the turn before. Two that agree there are for one place. */
#define PLACE_BYTES (8 + 32 + 4 + 1 + 32)
#define PLACE_ROLE (8 + 32 + 4)

static ls_status judge_turns(ls_cursor *c, ls_decision *out, ls_error *err)
{
	ls_error why = LS_ERROR_INIT;
	ls_game *game = NULL;
	uint32_t terms_len, len[2];
	const uint8_t *terms = take_bytes(c, &terms_len), *turn[2], *key;
	uint8_t keys[2][LS_KEY_BYTES];
	ls_status status;
	bool good, trainer;
	for (int i = 0; i < 2; i++)
		turn[i] = take_bytes(c, &len[i]);
	if (!terms || !turn[0] || !turn[1] || !ls_cursor_done(c) || len[0] < PLACE_BYTES + LS_SIGNATURE_BYTES || len[1] < PLACE_BYTES + LS_SIGNATURE_BYTES)
		return invalid(out, lengths_text);
	status = ls_game_open(&game, terms, terms_len, &why);
	if (status != LS_OK)
		return refused(status, &why, out, err);
	ls_game_decision(game, out);
	ls_game_keys(game, keys[0], keys[1]);
	trainer = turn[0][PLACE_ROLE] == LS_ROLE_TRAINER;
	key = keys[!trainer];
	good = (trainer || turn[0][PLACE_ROLE] == LS_ROLE_AUDITOR) && !memcmp(turn[0], "ls1/turn", 8) &&
	       !memcmp(turn[0] + 8, ls_game_id(game)->byte, 32) && !memcmp(turn[0], turn[1], PLACE_BYTES) &&
	       (len[0] != len[1] || memcmp(turn[0], turn[1], len[0])) && !ls_public_key_none(key);
	for (int i = 0; good && i < 2; i++)
		good = ok(ls_signature_verify(&good, key, turn[i], len[i] - LS_SIGNATURE_BYTES, turn[i] + len[i] - LS_SIGNATURE_BYTES), &status) && good;
	ls_game_free(game);
	if (status != LS_OK)
		return tell_trouble(status, err);
	if (!good)
		return invalid(out, "not two different turns that one player signed for one place of this dispute");
	out->ruling = trainer ? LS_RULING_TRAINER_WRONG : LS_RULING_AUDITOR_WRONG;
	snprintf(out->reason, sizeof out->reason, "equivocation: it signed two different turns for one place of the dispute");
	return LS_OK;
}

static void take_32(ls_cursor *c, uint8_t out[32])
{
	const uint8_t *p = ls_cursor_take(c, 32);
	if (p)
		memcpy(out, p, 32);
}

static void read_head(ls_cursor *c, ls_two_heads *h, int i)
{
	const uint8_t *p;
	h->head[i].head.size = ls_cursor_u64(c);
	take_32(c, h->head[i].head.root.byte);
	p = ls_cursor_take(c, 64);
	if (p)
		memcpy(h->head[i].signature, p, 64);
	take_32(c, h->hash[i].byte);
	h->proof_count[i] = ls_cursor_u8(c);
	for (size_t n = 0; n < h->proof_count[i] && n < LS_PROOF_MAX; n++)
		take_32(c, h->proof[i][n].byte);
}

/* The head is signed, and the leaf is where it is said to be. */
static bool head_holds(const ls_two_heads *h, int i, const ls_hash *run, ls_hasher *hasher, ls_status *trouble)
{
	ls_signed_head head = h->head[i];
	char text[LS_HEAD_TEXT_SIZE];
	bool valid = false;
	head.head.run = *run;
	ls_head_encode(text, &head.head);
	if (h->leaf >= head.head.size || h->proof_count[i] > LS_PROOF_MAX || ls_public_key_none(h->signer) ||
	    !ok(ls_signature_verify(&valid, h->signer, text, strlen(text), head.signature), trouble) || !valid)
		return false;
	return ok(ls_inclusion_verify(&valid, &head.head.root, head.head.size, &h->hash[i], h->leaf, h->proof[i], h->proof_count[i], hasher), trouble) &&
	       valid;
}

static ls_status judge_heads(ls_cursor *c, ls_decision *out, ls_error *err)
{
	ls_two_heads h = {0};
	ls_judge__job job;
	ls_hasher *hasher;
	ls_hash run, job_id;
	uint32_t len;
	bool good, trainer;
	ls_status status;
	h.job = take_bytes(c, &len);
	take_32(c, h.trainer);
	take_32(c, h.nonce);
	take_32(c, h.signer);
	h.leaf = ls_cursor_u64(c);
	read_head(c, &h, 0);
	read_head(c, &h, 1);
	if (!ls_cursor_done(c) || !ls_judge__job_read(&job, h.job, len))
		return invalid(out, lengths_text);
	LS_TRY(ls_hasher_open(&hasher, 1, err));
	good = ok(ls_hash_tagged(&job_id, LS_TAG_JOB, h.job, len), &status) && ok(ls_run_id(&run, &job_id, h.trainer, h.nonce), &status) &&
	       head_holds(&h, 0, &run, hasher, &status) && head_holds(&h, 1, &run, hasher, &status) && !ls_hash_equal(&h.hash[0], &h.hash[1]);
	ls_hasher_free(hasher);
	if (status != LS_OK)
		return tell_trouble(status, err);
	if (!good)
		return invalid(out, "not two heads that one key signed over one run, with one leaf that differs");
	trainer = !memcmp(h.signer, h.trainer, 32);
	invalid(out, "");
	out->ruling = trainer ? LS_RULING_TRAINER_WRONG : LS_RULING_AUDITOR_WRONG;
	out->trainer_signed = trainer;
	out->auditor_signed = !trainer;
	out->job = job_id;
	out->run = run;
	snprintf(out->reason, sizeof out->reason, "equivocation: it signed two heads of one run in which leaf %llu is not the same",
	         (unsigned long long)h.leaf);
done:
	return status;
}

static bool begins(const uint8_t *bytes, size_t len, const char *tag)
{
	return len > strlen(tag) + LS_HASH_BYTES && !memcmp(bytes, tag, strlen(tag));
}

static bool digest_fits(const uint8_t *bytes, size_t len, const char *tag, ls_status *trouble)
{
	ls_hash digest;
	return ok(ls_hash_tagged(&digest, tag, bytes, len - LS_HASH_BYTES), trouble) && !memcmp(digest.byte, bytes + len - LS_HASH_BYTES, LS_HASH_BYTES);
}

ls_status ls_judge(const void *evidence, size_t len, ls_decision *out, ls_error *err)
{
	static const struct {
		const char *tag;
		ls_status (*judge)(ls_cursor *c, ls_decision *out, ls_error *err);
	} kind[] = {{TAG, judge_game}, {TAG_HEADS, judge_heads}, {TAG_TURNS, judge_turns}};
	ls_status status = LS_OK;
	for (size_t i = 0; i < sizeof kind / sizeof *kind && len <= LS_EVIDENCE_BYTES_MAX; i++) {
		ls_cursor c = ls_cursor_over(evidence, len > LS_HASH_BYTES ? len - LS_HASH_BYTES : 0);
		if (!begins(evidence, len, kind[i].tag))
			continue;
		if (!digest_fits(evidence, len, kind[i].tag, &status))
			return status != LS_OK ? tell_trouble(status, err) : invalid(out, "the file does not have the digest at its end: it was changed or cut");
		ls_cursor_take(&c, strlen(kind[i].tag));
		return kind[i].judge(&c, out, err);
	}
	return invalid(out, "not an evidence file, or larger than one may be");
}
