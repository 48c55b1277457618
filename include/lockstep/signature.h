/* Lockstep: identity. Ed25519 keys in the files that other tools use, signatures over bytes, signed heads.
 *
 * A private key is PKCS#8, a public key SubjectPublicKeyInfo, both in PEM (RFC 8410), so openssl reads and writes them.
 * Verification is strict: one signature has one spelling. A scalar that is not reduced, a point that is not in its
 * canonical form and points of small order (under which anybody could make signatures) are refused.
 */
#ifndef LOCKSTEP_SIGNATURE_H
#define LOCKSTEP_SIGNATURE_H

#include <lockstep/commit.h>

#define LS_KEY_BYTES 32
#define LS_SIGNATURE_BYTES 64
#define LS_KEY_FILE_MAX 4096 /* bytes of a key file */

typedef struct ls_key ls_key; /* a private key with its public key */

ls_status ls_key_generate(ls_key **out, ls_error *err);
void ls_key_free(ls_key *key); /* NULL is allowed */
/* The 32 bytes of RFC 8032. */
void ls_key_public(const ls_key *key, uint8_t out[LS_KEY_BYTES]);
/* A file that only its owner may read; LS_ERR_EXISTS where the path is there: a lost key cannot be made again. */
ls_status ls_key_write(const ls_key *key, const char *path, ls_error *err);
/* LS_ERR_INPUT where the file holds anything but one unencrypted Ed25519 key. */
ls_status ls_key_read(ls_key **out, const char *path, ls_error *err);

/* Appends the PEM text. */
ls_status ls_public_key_encode(ls_buf *out, const uint8_t key[LS_KEY_BYTES], ls_error *err);
/* `label` names the source in complaints. A key that no signature could be verified with is LS_ERR_INPUT. */
ls_status ls_public_key_parse(uint8_t out[LS_KEY_BYTES], const char *label, const void *pem, size_t len, ls_error *err);
ls_status ls_public_key_read(uint8_t out[LS_KEY_BYTES], const char *path, ls_error *err);
/* True where no key is named: 32 zero bytes. (As a point it would be of small order, so it is nobody's key.) */
bool ls_public_key_none(const uint8_t key[LS_KEY_BYTES]);

ls_status ls_sign(const ls_key *key, const void *data, size_t len, uint8_t out[LS_SIGNATURE_BYTES], ls_error *err);
/* `*valid` answers whether the key made the signature of these bytes. */
ls_status ls_signature_verify(bool *valid, const uint8_t key[LS_KEY_BYTES], const void *data, size_t len,
                              const uint8_t signature[LS_SIGNATURE_BYTES]);

/* ---- signed heads: C2SP signed notes (c2sp.org/signed-note) whose text is a head (commit.h) ----
 *
 *   the head's text, an empty line, "— lockstep/<run id> <base64 of 4 bytes of key id and 64 of signature>\n"
 *
 * The key id is the first four bytes of SHA-256(name ‖ 0x0a ‖ 0x01 ‖ public key), the name being the head's first line. */

typedef struct ls_signed_head {
	ls_head head;
	bool is_signed;
	uint8_t key_id[4];
	uint8_t signature[LS_SIGNATURE_BYTES];
} ls_signed_head;

#define LS_SIGNED_HEAD_TEXT_SIZE 352 /* room for any signed head with its NUL */

/* Signs, or with `key` NULL leaves unsigned. */
ls_status ls_signed_head_make(ls_signed_head *out, const ls_head *head, const ls_key *key, ls_error *err);
void ls_signed_head_encode(char out[LS_SIGNED_HEAD_TEXT_SIZE], const ls_signed_head *head);
/* Accepts exactly the texts that ls_signed_head_encode writes; LS_ERR_INPUT otherwise. Nothing is verified. */
ls_status ls_signed_head_parse(ls_signed_head *out, const char *text, size_t len, ls_error *err);
/* False for a head that is not signed, or not by this key. */
ls_status ls_signed_head_verify(bool *valid, const ls_signed_head *head, const uint8_t key[LS_KEY_BYTES]);

#endif
