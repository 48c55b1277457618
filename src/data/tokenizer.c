#include "data/tokenizer.h"

/* ---- bytes ---- */

static ls_status open_bytes(ls_tokenizer *t, ls_error *err)
{
	t->size = 256;
	t->bytes = ls_alloc(256, 1);
	t->start = ls_alloc(257, sizeof *t->start);
	if (!t->bytes || !t->start)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a tokenizer");
	for (uint32_t b = 0; b < 256; b++) {
		t->bytes[b] = (uint8_t)b;
		t->start[b + 1] = b + 1;
	}
	return LS_OK;
}

static void encode_bytes(const uint8_t *text, size_t len, ls_buf *out)
{
	for (size_t i = 0; i < len; i++)
		ls_buf_u16(out, text[i]);
}

/* ---- both ---- */

static int32_t find_token(const ls_tokenizer *t, const char *text)
{
	for (int32_t i = 0; i < t->size; i++)
		if (t->start[i + 1] - t->start[i] == strlen(text) && !memcmp(t->bytes + t->start[i], text, strlen(text)))
			return i;
	return -1;
}

static ls_status open_pairs(ls_tokenizer *t, const char *folder, ls_error *err)
{
	ls_status status;
	t->pairs = true;
	if (!folder || !folder[0])
		return ls_error_set(err, LS_ERR_USAGE, "data.vocab: found nothing, expected a folder with vocab.json and merges.txt");
	LS_TRY(ls_data__bpe_read(t, folder, err));
	LS_TRY(ls_data__cutter_open(&t->cutter, err));
done:
	return status;
}

ls_status ls_tokenizer_open(ls_tokenizer **out, const char *kind, const char *folder, ls_error *err)
{
	ls_status status = LS_OK;
	ls_tokenizer *t = NULL;
	*out = NULL;
	if (strcmp(kind, "bytes") != 0 && strcmp(kind, "gpt2") != 0)
		return ls_error_set(err, LS_ERR_USAGE, "data.tokenizer: found %s, expected bytes or gpt2", kind);
	t = ls_alloc(1, sizeof *t);
	if (!t)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a tokenizer");
	LS_TRY(strcmp(kind, "bytes") == 0 ? open_bytes(t, err) : open_pairs(t, folder, err));
	t->end_of_text = find_token(t, LS_TOKENIZER_END_OF_TEXT);
	*out = t;
	t = NULL;
done:
	ls_tokenizer_free(t);
	return status;
}

void ls_tokenizer_free(ls_tokenizer *t)
{
	if (!t)
		return;
	ls_data__cutter_free(t->cutter);
	ls_free(t->bytes);
	ls_free(t->start);
	ls_free(t->merge);
	ls_free(t->slot);
	ls_free(t);
}

int32_t ls_tokenizer_size(const ls_tokenizer *t)
{
	return t->size;
}

int32_t ls_tokenizer_end_of_text(const ls_tokenizer *t)
{
	return t->end_of_text;
}

const uint8_t *ls_tokenizer_token(const ls_tokenizer *t, int32_t token, size_t *len)
{
	*len = t->start[token + 1] - t->start[token];
	return t->bytes + t->start[token];
}

ls_status ls_tokenizer_encode(const ls_tokenizer *t, const void *text, size_t len, ls_buf *out, ls_error *err)
{
	ls_status status = LS_OK;
	if (t->pairs)
		LS_TRY(ls_data__bpe_encode(t, text, len, out, err));
	else
		encode_bytes(text, len, out);
	if (out->status != LS_OK)
		status = ls_error_set(err, out->status, "text: its tokens take more than %zu bytes, or memory ended", out->max);
done:
	return status;
}

void ls_tokenizer_describe(const ls_tokenizer *t, ls_buf *out)
{
	ls_buf_str(out, t->pairs ? "gpt2" : "bytes");
	if (!t->pairs)
		return;
	ls_buf_u32(out, (uint32_t)t->size);
	for (int32_t i = 0; i < t->size; i++) {
		ls_buf_u8(out, (uint8_t)(t->start[i + 1] - t->start[i]));
		ls_buf_bytes(out, t->bytes + t->start[i], t->start[i + 1] - t->start[i]);
	}
	ls_buf_u32(out, t->merges);
	for (uint32_t i = 0; i < t->merges; i++) {
		ls_buf_u16(out, t->merge[i].left);
		ls_buf_u16(out, t->merge[i].right);
		ls_buf_u16(out, t->merge[i].whole);
	}
}
