/* Signed heads: C2SP signed notes with one signature line. */
#include <lockstep/signature.h>

#include <openssl/evp.h>
#include <stdio.h>

#define DASH "\xe2\x80\x94 " /* an em dash and a blank begin a signature line */
#define SEAL_BYTES (4 + LS_SIGNATURE_BYTES)
#define SEAL_BASE64 92 /* of SEAL_BYTES */
#define NAME_SIZE (9 + LS_HASH_HEX_SIZE)

/* The first line of a head's text, which is the name of every key that signs heads of that run. */
static void name_of(char out[NAME_SIZE], const ls_head *head)
{
	memcpy(out, "lockstep/", 9);
	ls_hash_hex(out + 9, &head->run);
}

static ls_status key_id(uint8_t out[4], const ls_head *head, const uint8_t key[LS_KEY_BYTES])
{
	uint8_t bytes[NAME_SIZE + 1 + LS_KEY_BYTES], digest[32];
	name_of((char *)bytes, head);
	bytes[NAME_SIZE - 1] = '\n';
	bytes[NAME_SIZE] = 1; // Ed25519
	memcpy(bytes + NAME_SIZE + 1, key, LS_KEY_BYTES);
	if (EVP_Digest(bytes, sizeof bytes, digest, NULL, EVP_sha256(), NULL) != 1)
		return LS_ERR_UNSUPPORTED;
	memcpy(out, digest, 4);
	return LS_OK;
}

ls_status ls_signed_head_make(ls_signed_head *out, const ls_head *head, const ls_key *key, ls_error *err)
{
	char text[LS_HEAD_TEXT_SIZE];
	uint8_t public_key[LS_KEY_BYTES];
	ls_status status = LS_OK;
	*out = (ls_signed_head){.head = *head, .is_signed = key != NULL};
	if (!key)
		return LS_OK;
	ls_key_public(key, public_key);
	ls_head_encode(text, head);
	LS_TRY(key_id(out->key_id, head, public_key));
	LS_TRY(ls_sign(key, text, strlen(text), out->signature, err));
done:
	return status;
}

void ls_signed_head_encode(char out[LS_SIGNED_HEAD_TEXT_SIZE], const ls_signed_head *head)
{
	char name[NAME_SIZE];
	uint8_t seal[SEAL_BYTES];
	unsigned char base64[SEAL_BASE64 + 1];
	size_t len;
	ls_head_encode(out, &head->head);
	if (!head->is_signed)
		return;
	len = strlen(out);
	name_of(name, &head->head);
	memcpy(seal, head->key_id, 4);
	memcpy(seal + 4, head->signature, LS_SIGNATURE_BYTES);
	EVP_EncodeBlock(base64, seal, SEAL_BYTES);
	snprintf(out + len, LS_SIGNED_HEAD_TEXT_SIZE - len, "\n" DASH "%s %s\n", name, (const char *)base64);
}

/* The bytes behind the last blank of a signature line of the right length; false where they are no base64. */
static bool parse_seal(ls_signed_head *out, const char *line, size_t len)
{
	uint8_t seal[SEAL_BASE64 / 4 * 3];
	if (len < SEAL_BASE64 + 1 || EVP_DecodeBlock(seal, (const unsigned char *)line + len - SEAL_BASE64 - 1, SEAL_BASE64) != sizeof seal)
		return false;
	memcpy(out->key_id, seal, 4);
	memcpy(out->signature, seal + 4, LS_SIGNATURE_BYTES);
	return true;
}

ls_status ls_signed_head_parse(ls_signed_head *out, const char *text, size_t len, ls_error *err)
{
	char again[LS_SIGNED_HEAD_TEXT_SIZE];
	const char *gap = NULL;
	ls_signed_head head = {0};
	ls_status status;
	for (size_t i = 0; i + 1 < len && !gap; i++)
		if (text[i] == '\n' && text[i + 1] == '\n')
			gap = text + i + 1;
	head.is_signed = gap != NULL;
	LS_TRY(ls_head_parse(&head.head, text, gap ? (size_t)(gap - text) : len, err));
	if (gap && !parse_seal(&head, gap, len - (size_t)(gap - text)))
		return ls_error_input(err, NULL, "head: signature", "another text", "one line of an em dash, the first line's name and 68 bytes in base64", NULL);
	ls_signed_head_encode(again, &head); // one text per head, as in ls_head_parse
	if (strlen(again) != len || memcmp(again, text, len))
		return ls_error_input(err, NULL, "head: signature", "a spelling that is not canonical, or more lines", "one signature", NULL);
	*out = head;
done:
	return status;
}

ls_status ls_signed_head_verify(bool *valid, const ls_signed_head *head, const uint8_t key[LS_KEY_BYTES])
{
	char text[LS_HEAD_TEXT_SIZE];
	uint8_t id[4];
	ls_status status = LS_OK;
	*valid = false;
	if (!head->is_signed)
		return LS_OK;
	LS_TRY(key_id(id, &head->head, key));
	if (memcmp(id, head->key_id, 4))
		return LS_OK;
	ls_head_encode(text, &head->head);
	LS_TRY(ls_signature_verify(valid, key, text, strlen(text), head->signature));
done:
	return status;
}
