// Proofs of several leaves: every set of leaves of every small tree, and what is none.
#include "base/statements.h"

#include <lockstep/commit.h>

enum { SIZE_MAX_TRIED = 9 };

typedef struct tree {
	ls_hasher *hasher;
	ls_hash leaf[64], root;
	uint64_t size;
} tree;

static void plant(tree *t, uint64_t size)
{
	ls_tree heads;
	t->size = size;
	ls_tree_init(&heads, t->hasher, 0);
	for (uint64_t i = 0; i < size; i++) {
		assert_int_equal(ls_hash_leaf(&t->leaf[i], &i, sizeof i, t->hasher), LS_OK);
		ls_tree_push_hash(&heads, &t->leaf[i]);
	}
	assert_int_equal(ls_tree_head(&heads, &t->root), LS_OK);
}

static bool verify(const tree *t, const ls_shown_leaf *leaf, size_t leaves, const ls_hash *proof, size_t count)
{
	bool valid = true;
	assert_int_equal(ls_multiproof_verify(&valid, &t->root, t->size, leaf, leaves, proof, count, t->hasher), LS_OK);
	return valid;
}

/* Leaves by the bits of a number, and their proof. */
static size_t show(const tree *t, uint64_t set, ls_shown_leaf *leaf, ls_hash *proof, size_t *count)
{
	uint64_t index[64];
	size_t leaves = 0;
	for (uint64_t i = 0; i < t->size; i++)
		if (set >> i & 1) {
			leaf[leaves] = (ls_shown_leaf){i, t->leaf[i]};
			index[leaves++] = i;
		}
	assert_int_equal(ls_multiproof_make(proof, 64, count, t->leaf, t->size, index, leaves, t->hasher), LS_OK);
	return leaves;
}

/* The proof holds, and nothing that differs from it in one place does. */
static void check_set(const tree *t, uint64_t set)
{
	ls_shown_leaf leaf[64];
	ls_hash proof[66];
	size_t count, leaves = show(t, set, leaf, proof, &count);
	assert_true(verify(t, leaf, leaves, proof, count));
	for (size_t i = 0; i < leaves; i++) {
		leaf[i].hash.byte[i % 32] ^= 1;
		assert_false(verify(t, leaf, leaves, proof, count));
		leaf[i].hash.byte[i % 32] ^= 1;
		leaf[i].index++;
		assert_false(verify(t, leaf, leaves, proof, count));
		leaf[i].index--;
	}
	for (size_t i = 0; i < count; i++) {
		proof[i].byte[31 - i % 32] ^= 0x80;
		assert_false(verify(t, leaf, leaves, proof, count));
		proof[i].byte[31 - i % 32] ^= 0x80;
	}
	proof[count] = t->root;
	assert_false(verify(t, leaf, leaves, proof, count + 1));
	if (count)
		assert_false(verify(t, leaf, leaves, proof, count - 1));
	assert_false(verify(t, leaf, 0, proof, count));
}

static void every_set_of_small_trees(void **state)
{
	tree t = {0};
	assert_int_equal(ls_hasher_open(&t.hasher, 1, NULL), LS_OK);
	for (uint64_t size = 1; size <= SIZE_MAX_TRIED; size++) {
		plant(&t, size);
		for (uint64_t set = 1; set < UINT64_C(1) << size; set++)
			check_set(&t, set);
	}
	plant(&t, 61);
	for (uint64_t i = 1; i < 200; i++)
		check_set(&t, i * UINT64_C(0x9e3779b97f4a7c15) >> 3);
	ls_hasher_free(t.hasher);
}

/* With one leaf it is the inclusion proof, told from the top down. */
static void one_leaf_is_an_inclusion_proof(void **state)
{
	tree t = {0};
	assert_int_equal(ls_hasher_open(&t.hasher, 1, NULL), LS_OK);
	plant(&t, 21);
	for (uint64_t i = 0; i < t.size; i++) {
		ls_hash several[64], single[LS_PROOF_MAX];
		ls_shown_leaf leaf[64];
		size_t count, length;
		show(&t, UINT64_C(1) << i, leaf, several, &count);
		assert_int_equal(ls_inclusion_make(single, &length, t.leaf, t.size, i, t.hasher), LS_OK);
		assert_int_equal(count, length);
		for (size_t k = 0; k < length; k++) {
			bool found = false;
			for (size_t m = 0; m < count; m++)
				found |= ls_hash_equal(&single[k], &several[m]);
			assert_true(found);
		}
	}
	ls_hasher_free(t.hasher);
}

static void wrong_use_is_refused(void **state)
{
	tree t = {0};
	ls_hash proof[64];
	size_t count;
	uint64_t twice[] = {3, 3}, falling[] = {4, 2}, beyond[] = {2, 8}, fine[] = {0, 7};
	assert_int_equal(ls_hasher_open(&t.hasher, 1, NULL), LS_OK);
	plant(&t, 8);
	assert_int_equal(ls_multiproof_make(proof, 64, &count, t.leaf, 8, twice, 2, t.hasher), LS_ERR_USAGE);
	assert_int_equal(ls_multiproof_make(proof, 64, &count, t.leaf, 8, falling, 2, t.hasher), LS_ERR_USAGE);
	assert_int_equal(ls_multiproof_make(proof, 64, &count, t.leaf, 8, beyond, 2, t.hasher), LS_ERR_USAGE);
	assert_int_equal(ls_multiproof_make(proof, 64, &count, t.leaf, 8, fine, 0, t.hasher), LS_ERR_USAGE);
	assert_int_equal(ls_multiproof_make(proof, 3, &count, t.leaf, 8, fine, 2, t.hasher), LS_ERR_LIMIT);
	assert_int_equal(ls_multiproof_make(proof, 4, &count, t.leaf, 8, fine, 2, t.hasher), LS_OK);
	assert_int_equal(count, 4);
	ls_hasher_free(t.hasher);
}

/* A size that a party invents costs no more than its hashes. */
static void huge_sizes_end(void **state)
{
	tree t = {0};
	ls_shown_leaf leaf[2] = {{0, {{1}}}, {UINT64_MAX - 1, {{2}}}};
	ls_hash proof[200];
	assert_int_equal(ls_hasher_open(&t.hasher, 1, NULL), LS_OK);
	plant(&t, 2);
	memset(proof, 7, sizeof proof);
	t.size = UINT64_MAX;
	for (size_t count = 0; count < 200; count++)
		assert_false(verify(&t, leaf, 2, proof, count));
	ls_hasher_free(t.hasher);
}

/* multiproof root SIZE COUNT INDEX hash … path… */
static bool multiproof(const vectors *v, int words, answer *a)
{
	enum { LEAVES = 64, HASHES = 128 };
	ls_shown_leaf leaf[LEAVES];
	ls_hash root, proof[HASHES];
	size_t leaves, count = 0;
	bool valid;
	ls_hasher *hasher;
	if (!vectors_is(v, 0, "multiproof"))
		return false;
	leaves = (size_t)vectors_int(v, 3);
	vectors_expect(v, ls_hash_unhex(&root, v->word[1]) && leaves <= LEAVES, "a root and few leaves");
	if (4 + 2 * (int)leaves > words) { // a spoilt count
		answer_put(a, "refuse");
		return true;
	}
	for (size_t i = 0; i < leaves; i++) {
		leaf[i].index = (uint64_t)vectors_int(v, 4 + 2 * (int)i);
		vectors_expect(v, ls_hash_unhex(&leaf[i].hash, v->word[5 + 2 * (int)i]), "a hash");
	}
	for (int i = 4 + 2 * (int)leaves; i < words; i++)
		vectors_expect(v, count < HASHES && ls_hash_unhex(&proof[count++], v->word[i]), "a hash");
	assert_int_equal(ls_hasher_open(&hasher, 1, NULL), LS_OK);
	assert_int_equal(ls_multiproof_verify(&valid, &root, (uint64_t)vectors_int(v, 2), leaf, leaves, proof, count, hasher), LS_OK);
	ls_hasher_free(hasher);
	answer_put(a, valid ? "ok" : "refuse");
	return true;
}

static void vectors_agree(void **state)
{
	statements_check("commit/multiproofs.txt", multiproof, 20); // most of them are refused already
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_set_of_small_trees), cmocka_unit_test(one_leaf_is_an_inclusion_proof),
		cmocka_unit_test(wrong_use_is_refused), cmocka_unit_test(huge_sizes_end), cmocka_unit_test(vectors_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
