/* A file of text, made into tokens. */
#include "data/dataset.h"
#include "data/tokenizer.h"

/* The beginning of the character that holds byte `at`, where the bytes around it are UTF-8; else `at`. */
static int64_t character_begin(const ls_buf *text, int64_t at)
{
	for (int64_t back = 1; back <= 3 && back <= at && at < (int64_t)text->len; back++) {
		size_t len = ls_data__utf8_length(text->data + at - back, text->len - (size_t)(at - back));
		if (len > 1)
			return (int64_t)len > back ? at - back : at;
	}
	return at;
}

static ls_status copy(uint8_t **out, size_t *out_len, const uint8_t *data, size_t len, ls_error *err)
{
	*out = ls_alloc(len, 1);
	if (!*out)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a text");
	memcpy(*out, data, len);
	*out_len = len;
	return LS_OK;
}

/* Bytes of the text that the tokens taken stand for. */
static size_t text_of(const ls_dataset *ds, const ls_tokenizer *t)
{
	size_t sum = 0, len;
	for (int64_t i = 0; i < ds->tokens; i++) {
		ls_tokenizer_token(t, ls_dataset_token(ds, i), &len);
		sum += len;
	}
	return sum;
}

static ls_status encode(ls_dataset *ds, const ls_dataset_options *options, const ls_tokenizer *t, const uint8_t *text, size_t len,
                        ls_error *err)
{
	ls_status status;
	ls_buf tokens, description;
	ls_buf_init(&tokens, 2 * LS_DATASET_BYTES_MAX);
	ls_buf_init(&description, (size_t)LS_TOKENIZER_VOCAB_MAX * (LS_TOKENIZER_TOKEN_MAX + 8));
	LS_TRY(ls_tokenizer_encode(t, text, len, &tokens, err));
	LS_TRY(ls_data__stream_take(ds, options, tokens.data, (int64_t)tokens.len / 2, err));
	LS_TRY(copy(&ds->text, &ds->text_len, text, text_of(ds, t), err));
	ls_tokenizer_describe(t, &description);
	if (description.status != LS_OK) {
		status = ls_error_set(err, description.status, "no memory to describe a tokenizer");
		goto done;
	}
	LS_TRY(copy(&ds->tokenizer, &ds->tokenizer_len, description.data, description.len, err));
done:
	ls_buf_free(&tokens);
	ls_buf_free(&description);
	return status;
}

ls_status ls_data__text_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err)
{
	ls_status status;
	ls_tokenizer *t = NULL;
	ls_buf text;
	int64_t begin, end;
	ls_buf_init(&text, LS_DATASET_BYTES_MAX);
	LS_TRY(ls_tokenizer_open(&t, options->tokenizer, options->vocab, err));
	LS_TRY(ls_data__stream_read(&text, ls_data__stream_path(options), err));
	ls_data__stream_split(options, (int64_t)text.len, &begin, &end);
	begin = character_begin(&text, begin);
	end = character_begin(&text, end);
	LS_TRY(encode(ds, options, t, text.data + begin, (size_t)(end - begin), err));
done:
	ls_buf_free(&text);
	ls_tokenizer_free(t);
	return status;
}
