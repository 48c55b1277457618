/* Statements in DSSE envelopes, keys in PEM, signed heads: 32 bytes of a key, then the text. The envelope's signature is verified
 * before the statement is read, so seeds bear the key of theirs. */
#include <lockstep/attest.h>

#include "fuzz.h"

static void try_envelope(const uint8_t *data, size_t size, const uint8_t key[LS_KEY_BYTES])
{
	ls_attestation a;
	bool valid = false;
	ls_status status = ls_attestation_open(&a, &valid, data, size, key, NULL);
	FUZZ_CHECK(status == LS_OK || status == LS_ERR_INPUT || status == LS_ERR_NOMEM);
	FUZZ_CHECK(status == LS_OK || !valid);
}

static void try_key(const uint8_t *data, size_t size)
{
	uint8_t key[LS_KEY_BYTES];
	ls_buf again;
	if (ls_public_key_parse(key, "key", data, size, NULL) != LS_OK)
		return;
	FUZZ_CHECK(!ls_public_key_none(key));
	ls_buf_init(&again, LS_KEY_FILE_MAX);
	FUZZ_CHECK(ls_public_key_encode(&again, key, NULL) == LS_OK);
	ls_buf_free(&again);
}

static void try_head(const uint8_t *data, size_t size, const uint8_t key[LS_KEY_BYTES])
{
	char again[LS_SIGNED_HEAD_TEXT_SIZE];
	ls_signed_head head;
	bool valid;
	if (ls_signed_head_parse(&head, (const char *)data, size, NULL) != LS_OK)
		return;
	ls_signed_head_encode(again, &head);
	FUZZ_CHECK(strlen(again) == size && !memcmp(again, data, size));
	FUZZ_CHECK(ls_signed_head_verify(&valid, &head, key) == LS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < LS_KEY_BYTES)
		return 0;
	try_envelope(data + LS_KEY_BYTES, size - LS_KEY_BYTES, data);
	try_key(data + LS_KEY_BYTES, size - LS_KEY_BYTES);
	try_head(data + LS_KEY_BYTES, size - LS_KEY_BYTES, data);
	return 0;
}
