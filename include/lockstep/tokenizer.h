/* Lockstep: tokenizers, between text and numbers. Any bytes can be encoded, and decoding gives the same bytes back.
 *
 * "bytes": the token is the byte; 256 of them.
 *
 * "gpt2": byte-pair encoding as GPT-2 uses it (github.com/openai/gpt-2, src/encoder.py), from a folder with vocab.json and
 * merges.txt. Text is cut into pieces by GPT-2's pattern; within a piece, of the neighbours that have a merge those whose
 * merge stands first in the file become one token, the leftmost of equals, until there are none. Letters and digits are
 * Unicode's \p{L} and \p{N} as libpcre2 knows them, white space is exactly the property White_Space. A run of bytes
 * that is no well-formed UTF-8 is a piece of its own, and the text on either side is cut as if it stood alone. The rules to the
 * bit are those of spec/encodings.md, section 4.
 * "<|endoftext|>" in a text is text: it is spelled with ordinary tokens.
 */
#ifndef LOCKSTEP_TOKENIZER_H
#define LOCKSTEP_TOKENIZER_H

#include <lockstep/base.h>

#define LS_TOKENIZER_VOCAB_MAX 65536            /* tokens are 16-bit numbers */
#define LS_TOKENIZER_TOKEN_MAX 255              /* bytes of one token */
#define LS_TOKENIZER_PIECE_MAX ((size_t)4 << 20) /* bytes of one piece of text (gpt2) */
#define LS_TOKENIZER_END_OF_TEXT "<|endoftext|>" /* the token that separates documents, where a vocabulary has it */

typedef struct ls_tokenizer ls_tokenizer;

/* `kind` is "bytes" or "gpt2"; `folder` is read by gpt2 only. LS_ERR_USAGE (the kind), LS_ERR_NOT_FOUND (a file),
 * LS_ERR_INPUT (what a file says: every id from 0 to the number of tokens minus 1 is there once, every single byte is a
 * token, and so are both halves of a merge and the whole), LS_ERR_LIMIT, LS_ERR_IO, LS_ERR_NOMEM. */
ls_status ls_tokenizer_open(ls_tokenizer **out, const char *kind, const char *folder, ls_error *err);
void ls_tokenizer_free(ls_tokenizer *t);
int32_t ls_tokenizer_size(const ls_tokenizer *t); /* of the vocabulary; tokens are 0 … size − 1 */
/* Appends the tokens of `len` bytes of text, each as a u16. LS_ERR_LIMIT where a piece is longer than
 * LS_TOKENIZER_PIECE_MAX or `out` is full, LS_ERR_NOMEM. */
ls_status ls_tokenizer_encode(const ls_tokenizer *t, const void *text, size_t len, ls_buf *out, ls_error *err);
/* The bytes that a token stands for, 1 … LS_TOKENIZER_TOKEN_MAX of them; borrowed. 0 ≤ token < size. */
const uint8_t *ls_tokenizer_token(const ls_tokenizer *t, int32_t token, size_t *len);
/* The token of LS_TOKENIZER_END_OF_TEXT; −1 where there is none. */
int32_t ls_tokenizer_end_of_text(const ls_tokenizer *t);
/* Appends what the tokenizer does, in canonical bytes (spec/encodings.md, 4): what a data root says of it. */
void ls_tokenizer_describe(const ls_tokenizer *t, ls_buf *out);

#endif
