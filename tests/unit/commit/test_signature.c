/* Keys, signatures and signed heads: a published vector, one spelling of everything, every byte counts. */
#include "base/support.h"

#include <lockstep/signature.h>

/* RFC 8032, section 7.1, test 2. */
static const char rfc_key[] = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
static const char rfc_signature[] = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                                    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";

static bool verifies(const uint8_t key[32], const void *data, size_t len, const uint8_t signature[64])
{
	ls_error err = LS_ERROR_INIT;
	bool valid;
	assert_ok(ls_signature_verify(&valid, key, data, len, signature));
	return valid;
}

static void test_a_published_signature_and_every_changed_bit(void **state)
{
	uint8_t key[32], signature[64], message[1] = {0x72};
	assert_true(ls_unhex(key, 32, rfc_key) && ls_unhex(signature, 64, rfc_signature));
	assert_true(verifies(key, message, 1, signature));
	assert_false(verifies(key, message, 0, signature));
	for (int bit = 0; bit < 512; bit++) {
		signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(verifies(key, message, 1, signature));
		signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (int bit = 0; bit < 256; bit++) {
		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(verifies(key, message, 1, signature));
		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* S + L is the same scalar in another spelling. */
static void test_a_scalar_that_is_not_reduced_is_refused(void **state)
{
	static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
	                                  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10};
	uint8_t key[32], signature[64];
	unsigned carry = 0;
	assert_true(ls_unhex(key, 32, rfc_key) && ls_unhex(signature, 64, rfc_signature));
	for (int i = 0; i < 32; i++) {
		carry += (unsigned)signature[32 + i] + order[i];
		signature[32 + i] = (uint8_t)carry;
		carry >>= 8;
	}
	assert_false(verifies(key, "\x72", 1, signature));
}

/* With the identity as key, R = B·0 = identity and S = 0 "sign" everything; y ≥ p spells it once more. */
static void test_keys_that_belong_to_nobody_are_refused(void **state)
{
	static const uint8_t zero_key[32] = {0};
	uint8_t identity[32] = {1}, again[32], signature[64] = {1};
	assert_false(verifies(identity, "any", 3, signature));
	memset(again, 0xff, 32);
	again[0] = 0xee; // p + 1
	again[31] = 0x7f;
	assert_false(verifies(again, "any", 3, signature));
	assert_true(ls_public_key_none(zero_key));
	assert_false(verifies(zero_key, "any", 3, signature));
	assert_false(ls_public_key_none(identity));
}

static void test_keys_go_to_files_and_back(void **state)
{
	char dir[TEST_PATH], path[TEST_PATH], public_path[TEST_PATH];
	uint8_t a[32], b[32], signature[64];
	ls_error err = LS_ERROR_INIT;
	ls_key *key, *other, *again;
	ls_buf pem;
	struct stat st;
	scratch_make(dir);
	path_in(path, dir, "key");
	assert_ok(ls_key_generate(&key, &err));
	assert_ok(ls_key_generate(&other, &err));
	assert_ok(ls_key_write(key, path, &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(ls_key_write(other, path, &err), LS_ERR_EXISTS);
	assert_ok(ls_key_read(&again, path, &err));
	ls_key_public(key, a);
	ls_key_public(again, b);
	assert_memory_equal(a, b, 32);
	assert_ok(ls_sign(again, "text", 4, signature, &err));
	assert_true(verifies(a, "text", 4, signature));
	ls_key_public(other, b);
	assert_false(verifies(b, "text", 4, signature));
	ls_buf_init(&pem, LS_KEY_FILE_MAX);
	assert_ok(ls_public_key_encode(&pem, a, &err));
	put_file(dir, "key.pub", pem.data, pem.len);
	path_in(public_path, dir, "key.pub");
	assert_ok(ls_public_key_read(b, public_path, &err));
	assert_memory_equal(a, b, 32);
	ls_key_free(again);
	assert_int_equal(ls_key_read(&again, public_path, &err), LS_ERR_INPUT); // a public key is no private one
	assert_int_equal(ls_public_key_read(b, path, &err), LS_ERR_INPUT);
	ls_buf_free(&pem);
	ls_key_free(key);
	ls_key_free(other);
	ls_key_free(NULL);
	scratch_remove(dir);
}

/* Changed, cut or longer: nothing but the text itself is accepted. */
static void test_every_byte_of_a_signed_head_counts(void **state)
{
	ls_head head = {.run = {{1, 2, 3}}, .size = 12, .root = {{9}}};
	ls_error err = LS_ERROR_INIT;
	ls_signed_head made, parsed;
	char text[LS_SIGNED_HEAD_TEXT_SIZE];
	uint8_t public_key[32];
	ls_key *key;
	bool valid;
	size_t len;
	assert_ok(ls_key_generate(&key, &err));
	ls_key_public(key, public_key);
	assert_ok(ls_signed_head_make(&made, &head, key, &err));
	ls_signed_head_encode(text, &made);
	len = strlen(text);
	assert_ok(ls_signed_head_parse(&parsed, text, len, &err));
	assert_ok(ls_signed_head_verify(&valid, &parsed, public_key));
	assert_true(valid);
	for (size_t i = 0; i < len; i++) {
		text[i] ^= 1;
		valid = false;
		if (ls_signed_head_parse(&parsed, text, len, &err) == LS_OK)
			assert_ok(ls_signed_head_verify(&valid, &parsed, public_key));
		assert_false(valid);
		text[i] ^= 1;
		assert_int_not_equal(ls_signed_head_parse(&parsed, text, i, &err) == LS_OK && parsed.is_signed, true);
	}
	text[len] = '\n';
	assert_int_equal(ls_signed_head_parse(&parsed, text, len + 1, &err), LS_ERR_INPUT);
	assert_ok(ls_signed_head_make(&made, &head, NULL, &err)); // the twin: unsigned heads are heads, and verify under no key
	ls_signed_head_encode(text, &made);
	assert_ok(ls_signed_head_parse(&parsed, text, strlen(text), &err));
	assert_ok(ls_signed_head_verify(&valid, &parsed, public_key));
	assert_false(valid || parsed.is_signed);
	ls_key_free(key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_published_signature_and_every_changed_bit),
		cmocka_unit_test(test_a_scalar_that_is_not_reduced_is_refused),
		cmocka_unit_test(test_keys_that_belong_to_nobody_are_refused),
		cmocka_unit_test(test_keys_go_to_files_and_back),
		cmocka_unit_test(test_every_byte_of_a_signed_head_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
