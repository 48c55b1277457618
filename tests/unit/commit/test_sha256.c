/* Two messages at once: the vectors of FIPS 180-4, libcrypto on random messages of every length, and what would not do. */
#include "commit/reference.h"

#include "commit/hasher.h"
#include "commit/sha256.h"

#include <stdlib.h>

enum { LENGTH_MAX = 1200, PADDED_MAX = 1280 };

static ls_commit__two_fn pick(void)
{
	ls_commit__two_fn two = ls_commit__two_pick(EVP_sha256());
	if (!two) {
		print_message("SKIPPED: this processor has no SHA instructions (or LOCKSTEP_ISA says portable): libcrypto alone is used\n");
		skip();
	}
	return two;
}

/* The padding of FIPS 180-4, section 5.1.1, byte by byte. */
static size_t padded(uint8_t *out, const uint8_t *message, size_t len)
{
	size_t size = len;
	if (len)
		memcpy(out, message, len);
	out[size++] = 0x80;
	while (size % 64 != 56)
		out[size++] = 0;
	for (int i = 7; i >= 0; i--)
		out[size++] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
	return size / 64;
}

static void fill(uint8_t *out, size_t len, uint32_t *seed)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)((*seed = *seed * 1664525 + 1013904223) >> 24);
}

/* In one part, or in two that are cut after block `cut`. */
static void both(ls_commit__two_fn two, ls_hash out[2], const uint8_t *a, const uint8_t *b, size_t len, size_t cut)
{
	static uint8_t end[2][PADDED_MAX];
	size_t blocks = padded(end[0], a, len);
	padded(end[1], b, len);
	cut = cut < blocks ? cut : blocks;
	const ls_commit__blocks parts[] = {{end[0], end[1], cut}, {end[0] + 64 * cut, end[1] + 64 * cut, blocks - cut}};
	two(&out[0], &out[1], parts, 2);
}

static void published_vectors(void **state)
{
	static const struct {
		const char *message, *digest;
	} vector[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	ls_commit__two_fn two = pick();
	for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
		uint8_t other[128] = {1};
		size_t len = strlen(vector[i].message);
		ls_hash want, found[2];
		assert_true(ls_hash_unhex(&want, vector[i].digest));
		both(two, found, (const uint8_t *)vector[i].message, other, len, 0);
		assert_hash(&found[0], &want);
		both(two, found, other, (const uint8_t *)vector[i].message, len, 1);
		assert_hash(&found[1], &want);
	}
}

/* FIPS 180-4's third: a million times "a", as 15,625 blocks of one 64-byte piece and one of padding. */
static void a_million(void **state)
{
	ls_commit__two_fn two = pick();
	static uint8_t message[1000000 + 64];
	ls_hash want, found[2];
	uint8_t *end = message + 1000000;
	memset(message, 'a', 1000000);
	memset(end, 0, 64);
	end[0] = 0x80;
	for (int i = 0; i < 8; i++)
		end[63 - i] = (uint8_t)(UINT64_C(8000000) >> 8 * i);
	assert_true(ls_hash_unhex(&want, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
	two(&found[0], &found[1], &(ls_commit__blocks){message, message, 15626}, 1);
	assert_hash(&found[0], &want);
	assert_hash(&found[1], &want);
}

static void every_length_as_libcrypto(void **state)
{
	ls_commit__two_fn two = pick();
	static uint8_t a[LENGTH_MAX], b[LENGTH_MAX];
	uint32_t seed = 7;
	for (size_t len = 0; len < LENGTH_MAX; len++) {
		ls_hash found[2], want[2];
		fill(a, len, &seed);
		fill(b, len, &seed);
		want[0] = ref_sha256(a, len);
		want[1] = ref_sha256(b, len);
		both(two, found, a, b, len, len % 23);
		assert_hash(&found[0], &want[0]);
		assert_hash(&found[1], &want[1]);
		if (!len)
			continue;
		b[seed % len] ^= (uint8_t)(1u << len % 8); // one bit, and only that message's digest
		both(two, found, a, b, len, len % 23);
		assert_hash(&found[0], &want[0]);
		assert_not_hash(&found[1], &want[1]);
	}
}

static void chunks_and_nodes_as_defined(void **state)
{
	ls_commit__two_fn two = pick();
	uint8_t leaf[2][9 + 1024] = {"ls1/chunk", "ls1/chunk"};
	ls_hash found[2], want, child[4];
	uint32_t seed = 3;
	for (int i = 0; i < 2; i++)
		fill(leaf[i] + 9, 1024, &seed);
	ls_commit__two_chunks(two, found, leaf[0] + 9, leaf[1] + 9);
	for (int i = 0; i < 2; i++) {
		want = ref_leaf(leaf[i], sizeof leaf[i]);
		assert_hash(&found[i], &want);
	}
	assert_not_hash(&found[0], &found[1]);
	for (int i = 0; i < 4; i++)
		fill(child[i].byte, 32, &seed);
	ls_commit__two_nodes(two, found, child);
	for (int i = 0; i < 2; i++) {
		want = ref_node(child[2 * i], child[2 * i + 1]);
		assert_hash(&found[i], &want);
	}
	ls_commit__two_nodes(two, child, child); // in their place
	assert_hash(&child[0], &found[0]);
	assert_hash(&child[1], &found[1]);
}

/* ---- what the self-test must refuse ---- */

static void exchanged(ls_hash *a, ls_hash *b, const ls_commit__blocks *parts, int count)
{
	ls_commit__two_pick(EVP_sha256())(b, a, parts, count);
}

static void forgets_the_last_block(ls_hash *a, ls_hash *b, const ls_commit__blocks *parts, int count)
{
	ls_commit__blocks fewer[2] = {parts[0], parts[1]};
	fewer[1].blocks -= fewer[1].blocks > 1; // only where the padding takes a block of its own
	ls_commit__two_pick(EVP_sha256())(a, b, fewer, count);
}

static void the_self_test_refuses_others(void **state)
{
	assert_true(ls_commit__two_agrees(pick(), EVP_sha256()));
	assert_false(ls_commit__two_agrees(pick(), EVP_sha512_256()));
	assert_false(ls_commit__two_agrees(exchanged, EVP_sha256()));
	assert_false(ls_commit__two_agrees(forgets_the_last_block, EVP_sha256()));
}

/* Not only where the processor has them: roots are the same with libcrypto alone. */
static void roots_do_not_depend_on_it(void **state)
{
	enum { WORDS = 77 * LS_CHUNK_WORDS + 9 };
	uint32_t *words = ls_alloc(WORDS, 4);
	ls_hasher *fast, *plain;
	ls_hash a, b;
	const char *before = getenv("LOCKSTEP_ISA");
	assert_non_null(words);
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i * UINT32_C(2654435761);
	assert_int_equal(ls_hasher_open(&fast, 1, NULL), LS_OK);
	setenv("LOCKSTEP_ISA", "portable", 1);
	assert_int_equal(ls_hasher_open(&plain, 1, NULL), LS_OK);
	before ? setenv("LOCKSTEP_ISA", before, 1) : unsetenv("LOCKSTEP_ISA");
	assert_null(ls_commit__hasher_two(plain));
	for (int64_t count = 0; count <= WORDS; count += 128) {
		assert_int_equal(ls_tensor_root(&a, words, count, NULL, fast), LS_OK);
		assert_int_equal(ls_tensor_root(&b, words, count, NULL, plain), LS_OK);
		assert_hash(&a, &b);
	}
	words[5] ^= 1;
	assert_int_equal(ls_tensor_root(&a, words, WORDS - 73, NULL, fast), LS_OK);
	assert_not_hash(&a, &b);
	ls_hasher_free(fast);
	ls_hasher_free(plain);
	ls_free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors),
		cmocka_unit_test(a_million),
		cmocka_unit_test(every_length_as_libcrypto),
		cmocka_unit_test(chunks_and_nodes_as_defined),
		cmocka_unit_test(the_self_test_refuses_others),
		cmocka_unit_test(roots_do_not_depend_on_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
