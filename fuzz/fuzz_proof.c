/* Inclusion and consistency proofs: of all strings of hashes only the true one is accepted. Two bytes choose the tree's size and
 * the leaf, the rest are the proof's hashes; a byte 0xff at the front of a hash stands for the true one, so that the fuzzer gets
 * past the first. */
#include "fuzz.h"

enum { LEAVES_MAX = 70 };

static void make_leaves(ls_hash *leaf, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		memset(leaf[i].byte, (int)i + 1, LS_HASH_BYTES);
}

static size_t read_proof(ls_hash *out, size_t room, const ls_hash *truth, size_t true_count, const uint8_t *data, size_t size)
{
	size_t count = 0;
	while (size > 0 && count < room) {
		size_t taken = data[0] == 0xff || size < LS_HASH_BYTES ? 1 : LS_HASH_BYTES;
		memset(out[count].byte, 0, LS_HASH_BYTES);
		if (taken == 1 && data[0] == 0xff && count < true_count)
			out[count] = truth[count];
		else
			memcpy(out[count].byte, data, taken);
		data += taken;
		size -= taken;
		count++;
	}
	return count;
}

static bool same(const ls_hash *a, size_t a_count, const ls_hash *b, size_t b_count)
{
	return a_count == b_count && (!a_count || !memcmp(a, b, a_count * sizeof *a));
}

static void try_proofs(uint64_t size, uint64_t index, const uint8_t *data, size_t len, ls_hasher *hasher)
{
	ls_hash leaf[LEAVES_MAX], truth[LS_PROOF_MAX + 1], proof[LS_PROOF_MAX + 1], root, old_root;
	size_t true_count, count;
	ls_tree tree;
	bool valid;
	make_leaves(leaf, size);
	ls_tree_init(&tree, hasher, 0);
	for (uint64_t i = 0; i < size; i++) {
		ls_tree_push_hash(&tree, &leaf[i]);
		if (i == index)
			FUZZ_CHECK(ls_tree_head(&tree, &old_root) == LS_OK);
	}
	FUZZ_CHECK(ls_tree_head(&tree, &root) == LS_OK);
	FUZZ_CHECK(ls_inclusion_make(truth, &true_count, leaf, size, index, hasher) == LS_OK);
	count = read_proof(proof, LS_PROOF_MAX, truth, true_count, data, len);
	FUZZ_CHECK(ls_inclusion_verify(&valid, &root, size, &leaf[index], index, proof, count, hasher) == LS_OK);
	FUZZ_CHECK(valid == same(proof, count, truth, true_count));
	FUZZ_CHECK(ls_consistency_make(truth, &true_count, leaf, size, index + 1, hasher) == LS_OK);
	count = read_proof(proof, LS_PROOF_MAX + 1, truth, true_count, data, len);
	FUZZ_CHECK(ls_consistency_verify(&valid, &old_root, index + 1, &root, size, proof, count, hasher) == LS_OK);
	FUZZ_CHECK(valid == same(proof, count, truth, true_count));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_hasher *hasher;
	uint64_t leaves;
	if (size < 2)
		return 0;
	FUZZ_CHECK(ls_hasher_open(&hasher, 1, NULL) == LS_OK);
	leaves = 1 + data[0] % LEAVES_MAX;
	try_proofs(leaves, data[1] % leaves, data + 2, size - 2, hasher);
	ls_hasher_free(hasher);
	return 0;
}
