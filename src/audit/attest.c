#include <lockstep/attest.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define CHUNK (1 << 16)

ls_status ls_file_digest(ls_hash *out, const char *path, ls_error *err)
{
	ls_status status;
	ls_file *file = NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t *buffer = ls_alloc(CHUNK, 1);
	bool good = context && buffer && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
	LS_TRY(ls_file_open(&file, path, false, err));
	for (uint64_t at = 0, size = ls_file_size(file); good && at < size; at += CHUNK) {
		size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
		LS_TRY(ls_file_read_at(file, at, buffer, n, err));
		good = EVP_DigestUpdate(context, buffer, n) == 1;
	}
	if (!good || EVP_DigestFinal_ex(context, out->byte, NULL) != 1)
		status = ls_error_set(err, LS_ERR_UNSUPPORTED, "%s: libcrypto could not hash it", path);
done:
	ls_file_close(file);
	EVP_MD_CTX_free(context);
	ls_free(buffer);
	return status;
}

/* ---- base64 ---- */

/* NUL-terminated; release with ls_free. */
static char *encode64(const void *data, size_t len)
{
	char *text = ls_alloc((len + 2) / 3 * 4 + 1, 1);
	if (text)
		EVP_EncodeBlock((unsigned char *)text, data, (int)len);
	return text;
}

/* Canonical base64 only: what is decoded must encode to the same text. Release with ls_free; NULL where it does not. */
static uint8_t *decode64(const char *text, size_t *len)
{
	size_t chars = strlen(text);
	uint8_t *data = chars % 4 == 0 && chars <= LS_ATTEST_MAX ? ls_alloc(chars / 4 * 3 + 1, 1) : NULL;
	char *again;
	bool same;
	if (!data || EVP_DecodeBlock(data, (const unsigned char *)text, (int)chars) < 0) {
		ls_free(data);
		return NULL;
	}
	*len = chars / 4 * 3 - (chars && text[chars - 1] == '=') - (chars > 1 && text[chars - 2] == '=');
	again = encode64(data, *len);
	same = again && !strcmp(again, text);
	ls_free(again);
	if (same)
		return data;
	ls_free(data);
	return NULL;
}

/* ---- the statement ---- */

static void put_hash(json_t *object, const char *key, const ls_hash *hash)
{
	char hex[LS_HASH_HEX_SIZE];
	ls_hash_hex(hex, hash);
	json_object_set_new(object, key, json_string(hex));
}

static void put_number(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *predicate_of(const ls_attestation *a)
{
	char head[LS_SIGNED_HEAD_TEXT_SIZE];
	json_t *p = json_object(), *log = json_object();
	ls_signed_head_encode(head, &a->head);
	json_object_set_new(p, "role", json_string(a->role));
	json_object_set_new(p, "verdict", a->verdict[0] ? json_string(a->verdict) : json_null());
	put_hash(p, "job", &a->job);
	put_hash(p, "run", &a->run);
	put_hash(p, "data", &a->data);
	json_object_set_new(p, "head", json_string(head));
	put_number(p, "steps", a->steps);
	put_number(p, "first", a->first);
	put_number(p, "last", a->last);
	json_object_set_new(p, "mode", json_string(a->mode));
	json_object_set_new(p, "platform", json_string(a->platform));
	put_number(log, "bytes", a->log_bytes);
	put_number(log, "entries", a->log_entries);
	put_number(log, "elements", a->elements);
	put_number(log, "corrections", a->corrections);
	json_object_set_new(p, "log", log);
	return p;
}

static json_t *statement_of(const ls_attestation *a)
{
	json_t *s = json_object(), *subject = json_object(), *digest = json_object(), *subjects = json_array();
	json_object_set_new(s, "_type", json_string(STATEMENT_TYPE));
	put_hash(digest, "sha256", &a->subject_digest);
	json_object_set_new(subject, "name", json_string(a->subject));
	json_object_set_new(subject, "digest", digest);
	json_array_append_new(subjects, subject);
	json_object_set_new(s, "subject", subjects);
	json_object_set_new(s, "predicateType", json_string(LS_ATTEST_PREDICATE_TYPE));
	json_object_set_new(s, "predicate", predicate_of(a));
	return s;
}

/* What is signed: DSSE's pre-authentication encoding. */
static ls_status pre_encode(ls_buf *out, const void *payload, size_t len)
{
	ls_buf_printf(out, "DSSEv1 %zu %s %zu ", strlen(LS_ATTEST_PAYLOAD_TYPE), LS_ATTEST_PAYLOAD_TYPE, len);
	ls_buf_bytes(out, payload, len);
	return out->status;
}

ls_status ls_attestation_seal(ls_buf *out, const ls_attestation *a, const ls_key *key, ls_error *err)
{
	ls_status status = LS_OK;
	uint8_t signature[LS_SIGNATURE_BYTES], public_key[LS_KEY_BYTES];
	char keyid[2 * LS_KEY_BYTES + 1], *payload64 = NULL, *signature64 = NULL;
	json_t *statement = statement_of(a);
	char *payload = json_dumps(statement, JSON_COMPACT);
	ls_buf bytes;
	ls_buf_init(&bytes, LS_ATTEST_MAX);
	json_decref(statement);
	if (!payload) {
		status = ls_error_set(err, LS_ERR_INPUT, "statement: found a name that is no UTF-8, expected text");
		goto done;
	}
	LS_TRY(pre_encode(&bytes, payload, strlen(payload)));
	LS_TRY(ls_sign(key, bytes.data, bytes.len, signature, err));
	ls_key_public(key, public_key);
	ls_hex(keyid, public_key, LS_KEY_BYTES);
	payload64 = encode64(payload, strlen(payload));
	signature64 = encode64(signature, sizeof signature);
	if (!payload64 || !signature64) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for an envelope");
		goto done;
	}
	ls_buf_printf(out, "{\"payloadType\": \"" LS_ATTEST_PAYLOAD_TYPE "\", \"payload\": \"");
	ls_buf_bytes(out, payload64, strlen(payload64));
	ls_buf_printf(out, "\", \"signatures\": [{\"keyid\": \"%s\", \"sig\": \"%s\"}]}\n", keyid, signature64);
	status = out->status;
done:
	ls_free(payload64);
	ls_free(signature64);
	free(payload);
	ls_buf_free(&bytes);
	return status;
}

/* ---- reading ---- */

static bool get_text(const json_t *object, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));
	if (!text || strlen(text) >= size)
		return false;
	memcpy(out, text, strlen(text) + 1);
	return true;
}

static bool get_hash(const json_t *object, const char *key, ls_hash *out)
{
	char hex[LS_HASH_HEX_SIZE];
	return get_text(object, key, hex, sizeof hex) && ls_hash_unhex(out, hex);
}

static bool get_number(const json_t *object, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(object, key);
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*out = (uint64_t)json_integer_value(v);
	return true;
}

static bool get_predicate(ls_attestation *a, const json_t *p)
{
	char head[LS_SIGNED_HEAD_TEXT_SIZE];
	const json_t *log = json_object_get(p, "log"), *verdict = json_object_get(p, "verdict");
	return get_text(p, "role", a->role, sizeof a->role) &&
	       (json_is_null(verdict) || get_text(p, "verdict", a->verdict, sizeof a->verdict)) && get_hash(p, "job", &a->job) &&
	       get_hash(p, "run", &a->run) && get_hash(p, "data", &a->data) && get_text(p, "head", head, sizeof head) &&
	       ls_signed_head_parse(&a->head, head, strlen(head), NULL) == LS_OK && get_number(p, "steps", &a->steps) &&
	       get_number(p, "first", &a->first) && get_number(p, "last", &a->last) && get_text(p, "mode", a->mode, sizeof a->mode) &&
	       get_text(p, "platform", a->platform, sizeof a->platform) && get_number(log, "bytes", &a->log_bytes) &&
	       get_number(log, "entries", &a->log_entries) && get_number(log, "elements", &a->elements) &&
	       get_number(log, "corrections", &a->corrections);
}

static bool get_statement(ls_attestation *a, const uint8_t *payload, size_t len)
{
	char type[64];
	json_t *s = json_loadb((const char *)payload, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *subjects = json_object_get(s, "subject"), *subject = json_array_get(subjects, 0);
	bool good = get_text(s, "_type", type, sizeof type) && !strcmp(type, STATEMENT_TYPE) &&
	            get_text(s, "predicateType", type, sizeof type) && !strcmp(type, LS_ATTEST_PREDICATE_TYPE) &&
	            json_array_size(subjects) == 1 && get_text(subject, "name", a->subject, sizeof a->subject) &&
	            get_hash(json_object_get(subject, "digest"), "sha256", &a->subject_digest) &&
	            get_predicate(a, json_object_get(s, "predicate"));
	json_decref(s);
	return good;
}

static ls_status complain(ls_error *err, const char *place, const char *expected)
{
	return ls_error_input(err, NULL, place, "something else", expected, NULL);
}

ls_status ls_attestation_open(ls_attestation *out, bool *valid, const void *text, size_t len, const uint8_t key[LS_KEY_BYTES],
                              ls_error *err)
{
	ls_status status = LS_OK;
	json_t *e = len <= LS_ATTEST_MAX ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *signatures = json_object_get(e, "signatures");
	const char *type = json_string_value(json_object_get(e, "payloadType")), *payload64 = json_string_value(json_object_get(e, "payload"));
	const char *signature64 = json_string_value(json_object_get(json_array_get(signatures, 0), "sig"));
	uint8_t *payload = NULL, *signature = NULL;
	size_t payload_len = 0, signature_len = 0;
	ls_attestation a = {0};
	ls_buf bytes;
	ls_buf_init(&bytes, 2 * LS_ATTEST_MAX);
	*valid = false;
	if (!type || strcmp(type, LS_ATTEST_PAYLOAD_TYPE) || !payload64 || json_array_size(signatures) != 1 || !signature64) {
		status = complain(err, "envelope", "a DSSE envelope of an in-toto statement with one signature");
		goto done;
	}
	payload = decode64(payload64, &payload_len);
	signature = decode64(signature64, &signature_len);
	if (!payload || !signature || signature_len != LS_SIGNATURE_BYTES) {
		status = complain(err, "envelope", "payload and an Ed25519 signature in base64");
		goto done;
	}
	LS_TRY(pre_encode(&bytes, payload, payload_len));
	LS_TRY(ls_signature_verify(valid, key, bytes.data, bytes.len, signature));
	if (*valid && !get_statement(&a, payload, payload_len))
		status = complain(err, "statement", "predicate " LS_ATTEST_PREDICATE_TYPE " about one file");
	else if (*valid)
		*out = a;
done:
	ls_free(payload);
	ls_free(signature);
	ls_buf_free(&bytes);
	json_decref(e);
	return status;
}
