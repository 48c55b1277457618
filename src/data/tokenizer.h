/* Internal to data: a tokenizer. */
#ifndef LS_DATA_TOKENIZER_H
#define LS_DATA_TOKENIZER_H

#include <lockstep/tokenizer.h>

/* ---- cutting text into pieces ---- */

typedef struct ls_data__cutter ls_data__cutter;
ls_status ls_data__cutter_open(ls_data__cutter **out, ls_error *err);
void ls_data__cutter_free(ls_data__cutter *c);

typedef ls_status (*ls_data__piece_fn)(void *context, const uint8_t *piece, size_t len, ls_error *err);
/* Calls `fn` for piece after piece; together they are the text. Stops at the first status that is not LS_OK. */
ls_status ls_data__cut(const ls_data__cutter *c, const uint8_t *text, size_t len, ls_data__piece_fn fn, void *context,
                       ls_error *err);
/* Bytes of the well-formed UTF-8 character at `p`, of which `left` ≥ 1 bytes are there; 0 where there is none. */
size_t ls_data__utf8_length(const uint8_t *p, size_t left);

/* ---- merging pairs ---- */

typedef struct ls_data__merge {
	uint16_t left, right, whole; /* tokens */
	uint32_t rank;               /* line among the merges, from 0 */
} ls_data__merge;

struct ls_tokenizer {
	bool pairs;     /* gpt2; else the token is the byte */
	int32_t size;
	uint8_t *bytes; /* of all tokens, one after the other */
	uint32_t *start; /* [size + 1] of each token in `bytes` */
	int32_t end_of_text;
	/* gpt2 only */
	uint16_t of_byte[256];
	ls_data__merge *merge; /* in order of rank */
	uint32_t merges;
	uint32_t *slot; /* hash table of left and right: 1 + index of a merge, or 0; `slots` is a power of two above 2·merges */
	uint32_t slots;
	ls_data__cutter *cutter;
};

/* Fills size, bytes, start, of_byte, merge and merges from folder/vocab.json and folder/merges.txt. */
ls_status ls_data__bpe_read(ls_tokenizer *t, const char *folder, ls_error *err);
/* Builds the hash table; two merges of one pair are LS_ERR_INPUT. */
ls_status ls_data__bpe_index(ls_tokenizer *t, const char *path, ls_error *err);
/* Appends the tokens of a text. */
ls_status ls_data__bpe_encode(const ls_tokenizer *t, const uint8_t *text, size_t len, ls_buf *out, ls_error *err);

#endif
