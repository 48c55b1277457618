/* Ed25519 through libcrypto, and what libcrypto leaves open about which spellings count. */
#include <lockstep/signature.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

struct ls_key {
	EVP_PKEY *pkey;
	uint8_t public_key[LS_KEY_BYTES];
};

/* ---- one spelling ---- */

/* a < b, both little-endian numbers of 32 bytes. */
static bool less(const uint8_t a[32], const uint8_t b[32])
{
	for (int i = 31; i >= 0; i--)
		if (a[i] != b[i])
			return a[i] < b[i];
	return false;
}

/* y below the field's prime 2^255 − 19, and not that of a point whose order divides 8. With these gone no point is left
 * whose x is 0, so the sign bit is never a second spelling either. */
static bool point_acceptable(const uint8_t point[32])
{
	static const uint8_t prime[32] = {0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	                                  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
	static const uint8_t small[5][32] = {
		{0},
		{1},
		{0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
		{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
	};
	uint8_t y[32];
	memcpy(y, point, 32);
	y[31] &= 0x7f;
	if (!less(y, prime))
		return false;
	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		if (!memcmp(y, small[i], 32))
			return false;
	return true;
}

/* Below the order of the base point, 2^252 + 27742317777372353535851937790883648493. */
static bool scalar_acceptable(const uint8_t scalar[32])
{
	static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
	                                  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10};
	return less(scalar, order);
}

bool ls_public_key_none(const uint8_t key[LS_KEY_BYTES])
{
	static const uint8_t none[LS_KEY_BYTES] = {0};
	return !memcmp(key, none, sizeof none);
}

/* ---- keys ---- */

static ls_status libcrypto_failed(ls_error *err, const char *what)
{
	unsigned long code = ERR_get_error();
	char text[160] = "no reason given";
	if (code)
		ERR_error_string_n(code, text, sizeof text);
	ERR_clear_error();
	return ls_error_set(err, LS_ERR_UNSUPPORTED, "libcrypto could not %s: %s", what, text);
}

/* Takes `pkey` over. */
static ls_status adopt(ls_key **out, EVP_PKEY *pkey, ls_error *err)
{
	size_t len = LS_KEY_BYTES;
	ls_key *key = ls_alloc(1, sizeof *key);
	*out = NULL;
	if (!key) {
		EVP_PKEY_free(pkey);
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a key");
	}
	key->pkey = pkey;
	if (EVP_PKEY_get_raw_public_key(pkey, key->public_key, &len) != 1 || len != LS_KEY_BYTES) {
		ls_key_free(key);
		return libcrypto_failed(err, "read a public key");
	}
	*out = key;
	return LS_OK;
}

ls_status ls_key_generate(ls_key **out, ls_error *err)
{
	EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	*out = NULL;
	return pkey ? adopt(out, pkey, err) : libcrypto_failed(err, "make an Ed25519 key");
}

void ls_key_free(ls_key *key)
{
	if (!key)
		return;
	EVP_PKEY_free(key->pkey);
	ls_free(key);
}

void ls_key_public(const ls_key *key, uint8_t out[LS_KEY_BYTES])
{
	memcpy(out, key->public_key, LS_KEY_BYTES);
}

/* Nobody is there to ask for a password, and a prompt would hang a script. */
static int no_password(char *buf, int size, int writing, void *context)
{
	return -1;
}

static ls_status bad_key(ls_error *err, const char *label, const char *expected)
{
	ERR_clear_error();
	return ls_error_input(err, label, NULL, "another text", expected, "lockstep keygen makes such files, and so does openssl genpkey -algorithm ED25519");
}

ls_status ls_key_write(const ls_key *key, const char *path, ls_error *err)
{
	ls_status status = LS_OK;
	char *text;
	long len;
	BIO *bio = BIO_new(BIO_s_secmem());
	if (!bio || PEM_write_bio_PKCS8PrivateKey(bio, key->pkey, NULL, NULL, 0, NULL, NULL) != 1) {
		status = libcrypto_failed(err, "write a key");
		goto done;
	}
	len = BIO_get_mem_data(bio, &text);
	LS_TRY(ls_file_write_private(path, text, (size_t)len, err));
done:
	BIO_free(bio);
	return status;
}

ls_status ls_key_read(ls_key **out, const char *path, ls_error *err)
{
	ls_status status;
	uint8_t *text = NULL;
	size_t len = 0;
	EVP_PKEY *pkey = NULL;
	BIO *bio = NULL;
	*out = NULL;
	LS_TRY(ls_file_read(&text, &len, path, LS_KEY_FILE_MAX, err));
	bio = BIO_new_mem_buf(text, (int)len);
	pkey = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
	if (!pkey || !EVP_PKEY_is_a(pkey, "ED25519")) {
		EVP_PKEY_free(pkey);
		status = bad_key(err, path, "an unencrypted Ed25519 private key in PEM");
		goto done;
	}
	LS_TRY(adopt(out, pkey, err));
done:
	BIO_free(bio);
	if (text)
		OPENSSL_cleanse(text, len);
	ls_free(text);
	return status;
}

ls_status ls_public_key_encode(ls_buf *out, const uint8_t key[LS_KEY_BYTES], ls_error *err)
{
	ls_status status = LS_OK;
	char *text;
	long len;
	EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, key, LS_KEY_BYTES);
	BIO *bio = BIO_new(BIO_s_mem());
	if (!pkey || !bio || PEM_write_bio_PUBKEY(bio, pkey) != 1) {
		status = libcrypto_failed(err, "write a public key");
		goto done;
	}
	len = BIO_get_mem_data(bio, &text);
	ls_buf_bytes(out, text, (size_t)len);
	status = out->status;
done:
	BIO_free(bio);
	EVP_PKEY_free(pkey);
	return status;
}

ls_status ls_public_key_parse(uint8_t out[LS_KEY_BYTES], const char *label, const void *pem, size_t len, ls_error *err)
{
	ls_status status = LS_OK;
	size_t got = LS_KEY_BYTES;
	BIO *bio = len <= LS_KEY_FILE_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	EVP_PKEY *pkey = bio ? PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL) : NULL;
	if (!pkey || !EVP_PKEY_is_a(pkey, "ED25519") || EVP_PKEY_get_raw_public_key(pkey, out, &got) != 1 || got != LS_KEY_BYTES)
		status = bad_key(err, label, "an Ed25519 public key in PEM");
	else if (!point_acceptable(out))
		status = ls_error_input(err, label, NULL, "a point of small order or in another form than the canonical one",
		                        "a public key that belongs to somebody", NULL);
	BIO_free(bio);
	EVP_PKEY_free(pkey);
	return status;
}

ls_status ls_public_key_read(uint8_t out[LS_KEY_BYTES], const char *path, ls_error *err)
{
	uint8_t *text = NULL;
	size_t len = 0;
	ls_status status = ls_file_read(&text, &len, path, LS_KEY_FILE_MAX, err);
	if (status == LS_OK)
		status = ls_public_key_parse(out, path, text, len, err);
	ls_free(text);
	return status;
}

/* ---- signatures ---- */

ls_status ls_sign(const ls_key *key, const void *data, size_t len, uint8_t out[LS_SIGNATURE_BYTES], ls_error *err)
{
	size_t written = LS_SIGNATURE_BYTES;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = context && EVP_DigestSignInit_ex(context, NULL, NULL, NULL, NULL, key->pkey, NULL) == 1 &&
	            EVP_DigestSign(context, out, &written, data, len) == 1 && written == LS_SIGNATURE_BYTES;
	EVP_MD_CTX_free(context);
	return good ? LS_OK : libcrypto_failed(err, "sign");
}

static bool verify(const uint8_t key[LS_KEY_BYTES], const void *data, size_t len, const uint8_t signature[LS_SIGNATURE_BYTES])
{
	EVP_PKEY *pkey;
	EVP_MD_CTX *context;
	bool valid;
	pkey = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, key, LS_KEY_BYTES);
	context = EVP_MD_CTX_new();
	valid = pkey && context && EVP_DigestVerifyInit_ex(context, NULL, NULL, NULL, NULL, pkey, NULL) == 1 &&
	        EVP_DigestVerify(context, signature, LS_SIGNATURE_BYTES, data, len) == 1;
	ERR_clear_error(); // a wrong signature leaves its reason behind
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(pkey);
	return valid;
}

/* libcrypto does not tell a wrong signature from want of memory. Where it refuses one it has to accept another that is right (RFC 8032,
 * 7.1, test 1), and then to refuse the first again. */
ls_status ls_signature_verify(bool *valid, const uint8_t key[LS_KEY_BYTES], const void *data, size_t len,
                              const uint8_t signature[LS_SIGNATURE_BYTES])
{
	static const uint8_t known_key[LS_KEY_BYTES] = {0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
	                                                0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
	static const uint8_t known[LS_SIGNATURE_BYTES] = {
		0xe5, 0x56, 0x43, 0x00, 0xc3, 0x60, 0xac, 0x72, 0x90, 0x86, 0xe2, 0xcc, 0x80, 0x6e, 0x82, 0x8a, 0x84, 0x87, 0x7f, 0x1e, 0xb8, 0xe5,
		0xd9, 0x74, 0xd8, 0x73, 0xe0, 0x65, 0x22, 0x49, 0x01, 0x55, 0x5f, 0xb8, 0x82, 0x15, 0x90, 0xa3, 0x3b, 0xac, 0xc6, 0x1e, 0x39, 0x70,
		0x1c, 0xf9, 0xb4, 0x6b, 0xd2, 0x5b, 0xf5, 0xf0, 0x59, 0x5b, 0xbe, 0x24, 0x65, 0x51, 0x41, 0x43, 0x8e, 0x7a, 0x10, 0x0b};
	*valid = false;
	if (!point_acceptable(key) || !point_acceptable(signature) || !scalar_acceptable(signature + 32))
		return LS_OK;
	*valid = verify(key, data, len, signature);
	if (!*valid && !verify(known_key, "", 0, known))
		return LS_ERR_NOMEM;
	*valid = *valid || verify(key, data, len, signature);
	return LS_OK;
}
