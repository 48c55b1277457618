#include <lockstep/game.h>

#include <stdio.h>

#define TAG "ls1/evidence"
#define TURNS_MAX 256

ls_status ls_evidence_encode(ls_buf *out, const ls_buf *terms, const ls_buf *turns, size_t count)
{
	ls_hash digest;
	ls_status status;
	ls_buf_bytes(out, TAG, strlen(TAG));
	ls_buf_u32(out, (uint32_t)terms->len);
	ls_buf_bytes(out, terms->data, terms->len);
	ls_buf_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		ls_buf_u32(out, (uint32_t)turns[i].len);
		ls_buf_bytes(out, turns[i].data, turns[i].len);
	}
	LS_TRY(out->status);
	LS_TRY(ls_hash_tagged(&digest, TAG, out->data, out->len));
	ls_buf_bytes(out, digest.byte, LS_HASH_BYTES);
	status = out->status;
done:
	return status;
}

static ls_status invalid(ls_decision *out, const char *reason)
{
	*out = (ls_decision){.ruling = LS_RULING_EVIDENCE_INVALID, .step = UINT64_MAX, .op = UINT32_MAX, .element = -1};
	snprintf(out->reason, sizeof out->reason, "%.300s", reason);
	return LS_OK;
}

static bool digest_fits(const uint8_t *bytes, size_t len)
{
	ls_hash digest;
	return len > LS_HASH_BYTES && ls_hash_tagged(&digest, TAG, bytes, len - LS_HASH_BYTES) == LS_OK &&
	       !memcmp(digest.byte, bytes + len - LS_HASH_BYTES, LS_HASH_BYTES);
}

/* Memory is not the file's fault; everything else here is. */
static ls_status refused(ls_status status, const ls_error *why, ls_decision *out, ls_error *err)
{
	if (status == LS_ERR_NOMEM || status == LS_ERR_UNSUPPORTED)
		return ls_error_set(err, status, "%s", why->text);
	return invalid(out, why->text);
}

ls_status ls_judge(const void *evidence, size_t len, ls_decision *out, ls_error *err)
{
	ls_cursor c = ls_cursor_over(evidence, len > LS_HASH_BYTES ? len - LS_HASH_BYTES : 0);
	const uint8_t *tag = ls_cursor_take(&c, strlen(TAG)), *terms;
	ls_error why = LS_ERROR_INIT;
	ls_game *game = NULL;
	ls_status status = LS_OK;
	uint32_t terms_len, turns;
	if (len > LS_EVIDENCE_BYTES_MAX || !tag || memcmp(tag, TAG, strlen(TAG)))
		return invalid(out, "not an evidence file, or larger than one may be");
	if (!digest_fits(evidence, len))
		return invalid(out, "the file does not have the digest at its end: it was changed or cut");
	terms_len = ls_cursor_u32(&c);
	terms = ls_cursor_take(&c, terms_len);
	turns = ls_cursor_u32(&c);
	if (!terms || turns > TURNS_MAX)
		return invalid(out, "lengths that do not fit the file");
	status = ls_game_open(&game, terms, terms_len, &why);
	if (status != LS_OK)
		return refused(status, &why, out, err);
	for (uint32_t i = 0; i < turns; i++) {
		uint32_t turn_len = ls_cursor_u32(&c);
		const uint8_t *turn = ls_cursor_take(&c, turn_len);
		if (!turn) {
			invalid(out, "lengths that do not fit the file");
			goto done;
		}
		status = ls_game_take(game, turn, turn_len, &why);
		if (status != LS_OK) {
			status = refused(status, &why, out, err);
			goto done;
		}
	}
	if (ls_cursor_done(&c))
		ls_game_decision(game, out);
	else
		invalid(out, "bytes behind the last turn");
done:
	ls_game_free(game);
	return status;
}
