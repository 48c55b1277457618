#include "commit/reference.h"

#define THREADS 3
#define WORDS_MAX (8300 * LS_CHUNK_WORDS + 5) /* more than 256 pieces of 32 chunks: two batches */

typedef struct fixture {
	ls_hasher *hasher;
	ls_pool *pool;
	uint32_t *words;
} fixture;

static int setup(void **state)
{
	static fixture f;
	*state = &f;
	f.words = ls_alloc(WORDS_MAX, 4);
	for (size_t i = 0; f.words && i < WORDS_MAX; i++)
		f.words[i] = (uint32_t)(i * UINT32_C(2654435761));
	if (!f.words || ls_hasher_open(&f.hasher, THREADS, NULL) != LS_OK)
		return -1;
	return ls_pool_open(&f.pool, THREADS, NULL) == LS_OK ? 0 : -1;
}

static int teardown(void **state)
{
	fixture *f = *state;
	ls_hasher_free(f->hasher);
	ls_pool_free(f->pool);
	ls_free(f->words);
	return 0;
}

/* From the definition: little-endian bytes, cut into 1 KiB, tagged. */
static ls_hash reference_root(const uint32_t *words, size_t count)
{
	size_t chunks = (count + 255) / 256;
	ls_hash *leaf = ls_alloc(chunks, sizeof *leaf), root;
	assert_non_null(leaf);
	for (size_t c = 0; c < chunks; c++) {
		uint8_t bytes[9 + 1024] = "ls1/chunk";
		size_t n = count - 256 * c < 256 ? count - 256 * c : 256;
		for (size_t i = 0; i < n; i++)
			for (int b = 0; b < 4; b++)
				bytes[9 + 4 * i + (size_t)b] = (uint8_t)(words[256 * c + i] >> 8 * b);
		leaf[c] = ref_leaf(bytes, 9 + 4 * n);
	}
	root = ref_head(leaf, chunks);
	ls_free(leaf);
	return root;
}

static void roots_are_as_defined(void **state)
{
	static const int64_t counts[] = {0, 1, 255, 256, 257, 512, 513, 100 * 256, 127 * 256 + 1, 128 * 256, 128 * 256 + 1,
	                                 300 * 256 - 1, 4096 * 256, 4096 * 256 + 1, 8192 * 256, 8192 * 256 + 1, WORDS_MAX};
	fixture *f = *state;
	ls_hash last = {{0}};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		ls_hash alone, together, want = reference_root(f->words, (size_t)counts[i]);
		assert_int_equal(ls_tensor_root(&alone, f->words, counts[i], NULL, f->hasher), LS_OK);
		assert_int_equal(ls_tensor_root(&together, f->words, counts[i], f->pool, f->hasher), LS_OK);
		assert_hash(&alone, &want);
		assert_hash(&together, &want);
		assert_not_hash(&alone, &last);
		last = alone;
	}
}

/* Many tensors in one job: small ones, empty ones, and one that begins within a batch of pieces and ends in the next. */
static void many_as_one_by_one(void **state)
{
	enum { TENSORS = 300 };
	fixture *f = *state;
	ls_tensor_words tensor[TENSORS];
	for (int i = 0; i < TENSORS; i++)
		tensor[i] = (ls_tensor_words){.words = f->words + i, .count = i % 7 ? i * 31 : 0};
	tensor[100].count = 8200 * 256;
	assert_int_equal(ls_tensor_roots(tensor, TENSORS, f->pool, f->hasher), LS_OK);
	for (int i = 0; i < TENSORS; i++) {
		ls_hash want = reference_root(f->words + i, (size_t)tensor[i].count);
		assert_hash(&tensor[i].root, &want);
		if (i % 7)
			assert_not_hash(&tensor[i].root, &tensor[i - 1].root);
	}
	tensor[299].count = -1;
	assert_int_equal(ls_tensor_roots(tensor, TENSORS, f->pool, f->hasher), LS_ERR_USAGE);
	assert_int_equal(ls_tensor_roots(NULL, 0, f->pool, f->hasher), LS_OK);
}

static void every_bit_matters(void **state)
{
	static const size_t at[] = {0, 255, 256, 70000, WORDS_MAX - 1};
	fixture *f = *state;
	ls_hash before, after;
	assert_int_equal(ls_tensor_root(&before, f->words, WORDS_MAX, f->pool, f->hasher), LS_OK);
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		f->words[at[i]] ^= UINT32_C(1) << (i * 7 % 32);
		assert_int_equal(ls_tensor_root(&after, f->words, WORDS_MAX, f->pool, f->hasher), LS_OK);
		f->words[at[i]] ^= UINT32_C(1) << (i * 7 % 32);
		assert_not_hash(&before, &after);
	}
	assert_int_equal(ls_tensor_root(&after, f->words, WORDS_MAX, f->pool, f->hasher), LS_OK);
	assert_hash(&before, &after);
}

static void trailing_zeros_count(void **state)
{
	fixture *f = *state;
	uint32_t zeros[3] = {0};
	ls_hash two, three;
	assert_int_equal(ls_tensor_root(&two, zeros, 2, NULL, f->hasher), LS_OK);
	assert_int_equal(ls_tensor_root(&three, zeros, 3, NULL, f->hasher), LS_OK);
	assert_not_hash(&two, &three);
}

static void a_chunk_opens_its_root(void **state)
{
	fixture *f = *state;
	ls_hash leaf[3], root, proof[LS_PROOF_MAX];
	size_t count;
	bool valid;
	assert_int_equal(ls_chunk_count(600), 3);
	assert_int_equal(ls_chunk_hash(&leaf[0], f->words, 256, f->hasher), LS_OK);
	assert_int_equal(ls_chunk_hash(&leaf[1], f->words + 256, 256, f->hasher), LS_OK);
	assert_int_equal(ls_chunk_hash(&leaf[2], f->words + 512, 88, f->hasher), LS_OK);
	assert_int_equal(ls_tensor_root(&root, f->words, 600, NULL, f->hasher), LS_OK);
	assert_int_equal(ls_inclusion_make(proof, &count, leaf, 3, 2, f->hasher), LS_OK);
	assert_int_equal(ls_inclusion_verify(&valid, &root, 3, &leaf[2], 2, proof, count, f->hasher), LS_OK);
	assert_true(valid);
	assert_int_equal(ls_chunk_hash(&leaf[2], f->words + 512, 87, f->hasher), LS_OK);
	assert_int_equal(ls_inclusion_verify(&valid, &root, 3, &leaf[2], 2, proof, count, f->hasher), LS_OK);
	assert_false(valid);
}

static void wrong_use_is_refused(void **state)
{
	fixture *f = *state;
	ls_hasher *one;
	ls_hash h;
	assert_int_equal(ls_hasher_open(&one, 1, NULL), LS_OK);
	assert_int_equal(ls_tensor_root(&h, f->words, 1000, f->pool, one), LS_ERR_USAGE); // 3 threads, 1 context
	assert_int_equal(ls_tensor_root(&h, f->words, 1000, NULL, one), LS_OK);
	assert_int_equal(ls_tensor_root(&h, f->words, -1, NULL, one), LS_ERR_USAGE);
	assert_int_equal(ls_chunk_hash(&h, f->words, 0, one), LS_ERR_USAGE);
	assert_int_equal(ls_chunk_hash(&h, f->words, 257, one), LS_ERR_USAGE);
	ls_hasher_free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_as_defined),
		cmocka_unit_test(many_as_one_by_one),
		cmocka_unit_test(every_bit_matters),
		cmocka_unit_test(trailing_zeros_count),
		cmocka_unit_test(a_chunk_opens_its_root),
		cmocka_unit_test(wrong_use_is_refused),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
