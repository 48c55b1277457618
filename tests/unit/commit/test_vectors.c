// The statements of tests/vectors/commit: hashes, proofs and leaves as the independent verifier has them.
#include "base/statements.h"
#include "num/gen.h"

#include <lockstep/commit.h>

enum { BYTES_MAX = 1 << 15, HASHES_MAX = 128 };

typedef struct blob {
	uint8_t data[BYTES_MAX];
	size_t len;
} blob;

static void bytes_of(const vectors *v, int word, blob *out)
{
	bool none = vectors_is(v, word, "-");
	vectors_expect(v, word < v->words, "expected more words");
	out->len = none ? 0 : strlen(v->word[word]) / 2;
	assert_in_range(out->len, 0, sizeof out->data);
	vectors_expect(v, none || ls_unhex(out->data, out->len, v->word[word]), "expected hex digits");
}

static ls_hash hash_of(const vectors *v, int word)
{
	ls_hash h = {{0}};
	vectors_expect(v, word < v->words && ls_hash_unhex(&h, v->word[word]), "expected a hash");
	return h;
}

static size_t hashes_of(const vectors *v, int from, int words, ls_hash *out)
{
	for (int i = from; i < words; i++) {
		assert_in_range(i - from, 0, HASHES_MAX - 1);
		out[i - from] = hash_of(v, i);
	}
	return words > from ? (size_t)(words - from) : 0;
}

static void answer_hash(answer *a, const ls_hash *h)
{
	char hex[LS_HASH_HEX_SIZE];
	ls_hash_hex(hex, h);
	answer_put(a, "%s", hex);
}

static ls_hasher *hasher_open(void)
{
	ls_error err = LS_ERROR_INIT;
	ls_hasher *h;
	assert_ok(ls_hasher_open(&h, 1, &err));
	return h;
}

// ---- trees and proofs ----

static void tree(const vectors *v, int words, answer *a, ls_hasher *h)
{
	blob *leaf = malloc(sizeof *leaf);
	ls_tree t;
	ls_hash root;
	assert_non_null(leaf);
	ls_tree_init(&t, h, 0);
	for (int i = 1; i < words; i++) {
		bytes_of(v, i, leaf);
		ls_tree_push(&t, leaf->data, leaf->len);
	}
	assert_int_equal(ls_tree_head(&t, &root), LS_OK);
	answer_hash(a, &root);
	free(leaf);
}

static bool proofs(const vectors *v, int words, answer *a)
{
	ls_hasher *h = hasher_open();
	ls_hash path[HASHES_MAX], first;
	bool valid = false, known = true;
	if (vectors_is(v, 0, "inclusion")) {
		ls_hash root = hash_of(v, 1);
		first = hash_of(v, 4);
		size_t n = hashes_of(v, 5, words, path);
		assert_int_equal(ls_inclusion_verify(&valid, &root, (uint64_t)vectors_int(v, 2), &first, (uint64_t)vectors_int(v, 3), path, n, h), LS_OK);
		answer_put(a, valid ? "ok" : "refuse");
	} else if (vectors_is(v, 0, "consistency")) {
		ls_hash root = hash_of(v, 3);
		first = hash_of(v, 1);
		size_t n = hashes_of(v, 5, words, path);
		assert_int_equal(ls_consistency_verify(&valid, &first, (uint64_t)vectors_int(v, 2), &root, (uint64_t)vectors_int(v, 4), path, n, h), LS_OK);
		answer_put(a, valid ? "ok" : "refuse");
	} else {
		known = vectors_is(v, 0, "tree");
		tree(v, words, a, h);
	}
	ls_hasher_free(h);
	return known;
}

// ---- leaves ----

static int tensors_of(const vectors *v, int from, int words, ls_tensor_entry out[16])
{
	int count = 0;
	for (int i = from; i + 3 < words; i += 4) {
		ls_tensor_entry *e = &out[count++];
		assert_in_range(count, 1, 16);
		*e = (ls_tensor_entry){.name = v->word[i], .dtype = vectors_is(v, i + 1, "f32") ? 1 : vectors_is(v, i + 1, "i32") ? 2 : 3};
		e->rank = (uint8_t)vectors_dims(v, i + 2, e->dims);
		e->root = hash_of(v, i + 3);
	}
	return count;
}

static void state_root(const vectors *v, int words, answer *a, ls_hasher *h)
{
	ls_tensor_entry entry[16];
	ls_hash root;
	int count = tensors_of(v, 1, words, entry);
	if (ls_state_root(&root, entry, (size_t)count, h, NULL) == LS_OK)
		answer_hash(a, &root);
	else
		answer_put(a, "refuse");
}

static void leaf_hash(answer *a, const ls_buf *leaf, ls_hasher *h)
{
	ls_hash found;
	assert_int_equal(leaf->status, LS_OK);
	assert_int_equal(ls_hash_leaf(&found, leaf->data, leaf->len, h), LS_OK);
	answer_hash(a, &found);
}

static void step_leaf(const vectors *v, int words, answer *a, ls_hasher *h)
{
	ls_tensor_entry entry[16];
	ls_buf leaf;
	ls_buf_init(&leaf, BYTES_MAX);
	assert_int_equal(ls_step_leaf_encode(&leaf, (uint32_t)vectors_int(v, 1), entry, (uint32_t)tensors_of(v, 2, words, entry)), LS_OK);
	leaf_hash(a, &leaf, h);
	ls_buf_free(&leaf);
}

/* As bytes, and pushed without a copy: the same. */
static void log_leaf(const vectors *v, answer *a, const blob *frame, ls_hasher *h)
{
	uint64_t step = (uint64_t)vectors_int(v, 1);
	uint32_t op = (uint32_t)vectors_int(v, 2), number = (uint32_t)vectors_int(v, 3);
	ls_buf leaf;
	ls_tree t;
	ls_hash pushed, bytes;
	ls_buf_init(&leaf, BYTES_MAX);
	assert_int_equal(ls_log_leaf_encode(&leaf, step, op, number, frame->data, frame->len), LS_OK);
	leaf_hash(a, &leaf, h);
	ls_tree_init(&t, h, 0);
	ls_log_push(&t, step, op, number, frame->data, frame->len);
	assert_int_equal(ls_tree_head(&t, &pushed), LS_OK);
	assert_int_equal(ls_hash_leaf(&bytes, leaf.data, leaf.len, h), LS_OK);
	assert_true(ls_hash_equal(&pushed, &bytes));
	ls_buf_free(&leaf);
}

static void data_root(const vectors *v, int words, answer *a, ls_hasher *h)
{
	blob *part = calloc(2, sizeof *part);
	ls_data_part parts[2];
	int64_t dims[4];
	int rank = vectors_dims(v, 3, dims), count = 0;
	ls_hash root;
	assert_non_null(part);
	for (int i = 4; i + 1 < words; i += 2, count++) {
		assert_in_range(count, 0, 1);
		bytes_of(v, i + 1, &part[count]);
		parts[count] = (ls_data_part){v->word[i], part[count].data, part[count].len};
	}
	assert_int_equal(ls_data_root(&root, v->word[1], (uint64_t)vectors_int(v, 2), dims, rank, parts, (uint32_t)count, h), LS_OK);
	answer_hash(a, &root);
	free(part);
}

/* A tensor's root, or a chunk's leaf hash. */
static void words_hash(const vectors *v, answer *a, ls_hasher *h)
{
	int64_t count = vectors_int(v, 4);
	ls_status status;
	float *words = ls_alloc((size_t)count, sizeof *words);
	ls_hash root;
	assert_non_null(words);
	for (int64_t i = 0; i < count; i++)
		words[i] = gen_at(v, 1, i);
	status = vectors_is(v, 0, "chunk") ? ls_chunk_hash(&root, words, (int)count, h) : ls_tensor_root(&root, words, count, NULL, h);
	if (status == LS_OK)
		answer_hash(a, &root);
	else
		answer_put(a, "refuse");
	ls_free(words);
}

static void digest(const vectors *v, answer *a, const blob *bytes)
{
	ls_hash found;
	assert_int_equal(ls_hash_tagged(&found, v->word[1], bytes->data, bytes->len), LS_OK);
	answer_hash(a, &found);
}

static bool leaf_statement(const vectors *v, int words, answer *a, blob *bytes, ls_hasher *h)
{
	ls_leaf leaf;
	ls_head head;
	if (vectors_is(v, 0, "tensor") || vectors_is(v, 0, "chunk")) {
		words_hash(v, a, h);
	} else if (vectors_is(v, 0, "state")) {
		state_root(v, words, a, h);
	} else if (vectors_is(v, 0, "step")) {
		step_leaf(v, words, a, h);
	} else if (vectors_is(v, 0, "data")) {
		data_root(v, words, a, h);
	} else if (vectors_is(v, 0, "log")) {
		bytes_of(v, 4, bytes);
		log_leaf(v, a, bytes, h);
	} else if (vectors_is(v, 0, "digest")) {
		bytes_of(v, 2, bytes);
		digest(v, a, bytes);
	} else if (vectors_is(v, 0, "runleaf")) {
		bytes_of(v, 1, bytes);
		answer_put(a, ls_leaf_decode(&leaf, bytes->data, bytes->len, NULL) == LS_OK ? "ok" : "refuse");
	} else if (vectors_is(v, 0, "head")) {
		bytes_of(v, 1, bytes);
		answer_put(a, ls_head_parse(&head, (const char *)bytes->data, bytes->len, NULL) == LS_OK ? "ok" : "refuse");
	} else {
		return false;
	}
	return true;
}

static bool leaves(const vectors *v, int words, answer *a)
{
	ls_hasher *h = hasher_open();
	blob *bytes = calloc(1, sizeof *bytes);
	bool known;
	assert_non_null(bytes);
	known = leaf_statement(v, words, a, bytes, h);
	free(bytes);
	ls_hasher_free(h);
	return known;
}

static void test_trees(void **state)
{
	statements_check("commit/trees.txt", proofs, 10);
}

static void test_leaves(void **state)
{
	statements_check("commit/leaves.txt", leaves, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees), cmocka_unit_test(test_leaves)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
