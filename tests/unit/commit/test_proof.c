#include "commit/reference.h"

#define SIZES 70
#define PROOF_MAX (LS_PROOF_MAX + 1)

static int setup(void **state)
{
	return ls_hasher_open((ls_hasher **)state, 1, NULL) == LS_OK ? 0 : -1;
}

static int teardown(void **state)
{
	ls_hasher_free(*state);
	return 0;
}

static bool included(const ls_hash *root, uint64_t size, const ls_hash *leaf, uint64_t index, const ls_hash *proof,
                     size_t count, ls_hasher *h)
{
	bool valid = true;
	assert_int_equal(ls_inclusion_verify(&valid, root, size, leaf, index, proof, count, h), LS_OK);
	return valid;
}

static bool consistent(const ls_hash *old_root, uint64_t old_size, const ls_hash *root, uint64_t size,
                       const ls_hash *proof, size_t count, ls_hasher *h)
{
	bool valid = true;
	assert_int_equal(ls_consistency_verify(&valid, old_root, old_size, root, size, proof, count, h), LS_OK);
	return valid;
}

static void assert_proof(const ls_hash *proof, size_t count, const ls_hash *want, size_t want_count)
{
	assert_int_equal(count, want_count);
	for (size_t i = 0; i < count; i++)
		assert_hash(&proof[i], &want[i]);
}

static void refuse_changed_inclusion(const ls_hash *root, size_t size, const ls_hash *leaf, size_t index,
                                     ls_hash *proof, size_t count, ls_hasher *h)
{
	ls_hash wrong = *leaf;
	for (size_t i = 0; i < count; i++) {
		proof[i].byte[i % 32] ^= 1;
		assert_false(included(root, size, leaf, index, proof, count, h));
		proof[i].byte[i % 32] ^= 1;
		assert_false(included(root, size, leaf, index, proof, i, h)); // cut short
	}
	proof[count] = proof[count ? count - 1 : 0];
	assert_false(included(root, size, leaf, index, proof, count + 1, h));
	for (size_t other = 0; other < size + 2; other++)
		if (other != index)
			assert_false(included(root, size, leaf, other, proof, count, h));
	wrong.byte[0] ^= 0x80;
	assert_false(included(root, size, &wrong, index, proof, count, h));
	wrong = *root;
	wrong.byte[31] ^= 1;
	assert_false(included(&wrong, size, leaf, index, proof, count, h));
	assert_false(included(root, 0, leaf, index, proof, count, h));
}

static void inclusion_of_every_leaf(void **state)
{
	ls_hash leaf[SIZES], proof[PROOF_MAX], want[PROOF_MAX];
	size_t count;
	ref_leaves(leaf, SIZES);
	for (size_t size = 1; size <= SIZES; size++) {
		ls_hash root = ref_head(leaf, size);
		for (size_t i = 0; i < size; i++) {
			assert_int_equal(ls_inclusion_make(proof, &count, leaf, size, i, *state), LS_OK);
			assert_proof(proof, count, want, ref_path(want, i, leaf, size));
			assert_true(included(&root, size, &leaf[i], i, proof, count, *state));
			refuse_changed_inclusion(&root, size, &leaf[i], i, proof, count, *state);
		}
	}
}

static void refuse_changed_consistency(const ls_hash *old_root, size_t old_size, const ls_hash *root, size_t size,
                                       ls_hash *proof, size_t count, ls_hasher *h)
{
	ls_hash wrong = *old_root;
	for (size_t i = 0; i < count; i++) {
		proof[i].byte[i % 32] ^= 4;
		assert_false(consistent(old_root, old_size, root, size, proof, count, h));
		proof[i].byte[i % 32] ^= 4;
		assert_false(consistent(old_root, old_size, root, size, proof, i, h));
	}
	proof[count] = *root;
	assert_false(consistent(old_root, old_size, root, size, proof, count + 1, h));
	wrong.byte[5] ^= 1;
	assert_false(consistent(&wrong, old_size, root, size, proof, count, h));
	wrong = *root;
	wrong.byte[5] ^= 1;
	assert_false(consistent(old_root, old_size, &wrong, size, proof, count, h));
	assert_false(consistent(old_root, 0, root, size, proof, count, h));
	assert_false(consistent(old_root, size + 1, root, size, proof, count, h));
	if (old_size != size)
		assert_false(consistent(root, size, old_root, old_size, proof, count, h));
}

static void consistency_of_every_prefix(void **state)
{
	ls_hash leaf[SIZES], proof[PROOF_MAX + 1], want[PROOF_MAX];
	size_t count;
	ref_leaves(leaf, SIZES);
	for (size_t size = 1; size <= SIZES; size++) {
		ls_hash root = ref_head(leaf, size);
		for (size_t old = 1; old <= size; old++) {
			ls_hash old_root = ref_head(leaf, old);
			assert_int_equal(ls_consistency_make(proof, &count, leaf, size, old, *state), LS_OK);
			assert_proof(proof, count, want, ref_subproof(want, old, leaf, size, true));
			assert_true(consistent(&old_root, old, &root, size, proof, count, *state));
			refuse_changed_consistency(&old_root, old, &root, size, proof, count, *state);
		}
	}
}

static void a_rewritten_past_is_not_consistent(void **state)
{
	ls_hash leaf[9], proof[PROOF_MAX], old_root, root;
	size_t count;
	ref_leaves(leaf, 9);
	old_root = ref_head(leaf, 5);
	leaf[3].byte[0] ^= 1;
	root = ref_head(leaf, 9);
	assert_int_equal(ls_consistency_make(proof, &count, leaf, 9, 5, *state), LS_OK);
	assert_false(consistent(&old_root, 5, &root, 9, proof, count, *state));
	old_root = ref_head(leaf, 5);
	assert_true(consistent(&old_root, 5, &root, 9, proof, count, *state));
}

static void ct_proofs(void **state)
{
	static const char *const path[3] = {"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
	                                    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
	                                    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"};
	static const char *const grown[3] = {"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
	                                     "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
	                                     "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"};
	ls_hash leaf[8], proof[PROOF_MAX];
	size_t count;
	for (int i = 0; i < 8; i++)
		assert_int_equal(ls_hash_leaf(&leaf[i], ct_leaves[i].bytes, ct_leaves[i].len, *state), LS_OK);
	assert_int_equal(ls_inclusion_make(proof, &count, leaf, 8, 0, *state), LS_OK);
	assert_int_equal(count, 3);
	for (int i = 0; i < 3; i++)
		assert_hash_hex(&proof[i], path[i]);
	assert_int_equal(ls_consistency_make(proof, &count, leaf, 8, 6, *state), LS_OK);
	assert_int_equal(count, 3);
	for (int i = 0; i < 3; i++)
		assert_hash_hex(&proof[i], grown[i]);
}

static void huge_sizes_end(void **state)
{
	ls_hash root = {{1}}, leaf = {{2}}, proof[PROOF_MAX] = {{{3}}};
	for (size_t count = 0; count <= PROOF_MAX; count++) {
		assert_false(included(&root, UINT64_MAX, &leaf, UINT64_MAX - 1, proof, count, *state));
		assert_false(included(&root, UINT64_MAX, &leaf, 0, proof, count, *state));
		assert_false(consistent(&root, UINT64_MAX - 1, &leaf, UINT64_MAX, proof, count, *state));
		assert_false(consistent(&root, UINT64_C(1) << 63, &leaf, UINT64_MAX, proof, count, *state));
	}
}

static void wrong_use_is_refused(void **state)
{
	ls_hash leaf[2], proof[PROOF_MAX];
	size_t count;
	ref_leaves(leaf, 2);
	assert_int_equal(ls_inclusion_make(proof, &count, leaf, 2, 2, *state), LS_ERR_USAGE);
	assert_int_equal(ls_consistency_make(proof, &count, leaf, 2, 0, *state), LS_ERR_USAGE);
	assert_int_equal(ls_consistency_make(proof, &count, leaf, 2, 3, *state), LS_ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inclusion_of_every_leaf),
		cmocka_unit_test(consistency_of_every_prefix),
		cmocka_unit_test(a_rewritten_past_is_not_consistent),
		cmocka_unit_test(ct_proofs),
		cmocka_unit_test(huge_sizes_end),
		cmocka_unit_test(wrong_use_is_refused),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
