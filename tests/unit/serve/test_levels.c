/* Proofs from stored subtrees are those that are made from all leaves, for every size and place. */
#include <lockstep/serve.h>

#include "base/support.h"

#define SIZES 70

static ls_hash leaf[SIZES];

static int setup(void **state)
{
	ls_hasher *h;
	if (ls_hasher_open(&h, 1, NULL) != LS_OK)
		return -1;
	for (uint32_t i = 0; i < SIZES; i++)
		if (ls_hash_leaf(&leaf[i], &i, 4, h) != LS_OK)
			return -1;
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	ls_hasher_free(*state);
	return 0;
}

static void grow(ls_levels *t, ls_hasher *h)
{
	ls_levels_init(t, h);
	for (int i = 0; i < SIZES; i++)
		assert_int_equal(ls_levels_push(t, &leaf[i]), LS_OK);
	assert_int_equal(t->size, SIZES);
}

static void heads_of_every_size(void **state)
{
	ls_levels t;
	ls_tree tree;
	grow(&t, *state);
	ls_tree_init(&tree, *state, 0);
	for (uint64_t size = 1; size <= SIZES; size++) {
		ls_hash want, got;
		ls_tree_push_hash(&tree, &leaf[size - 1]);
		assert_int_equal(ls_tree_head(&tree, &want), LS_OK);
		assert_int_equal(ls_levels_head(&t, size, &got), LS_OK);
		assert_memory_equal(&want, &got, sizeof want);
		assert_int_equal(ls_levels_head(&t, size % SIZES + 1, &got), LS_OK); // another size has another head
		assert_memory_not_equal(&want, &got, sizeof want);
	}
	assert_int_equal(ls_levels_head(&t, 0, &leaf[0]), LS_ERR_USAGE);
	assert_int_equal(ls_levels_head(&t, SIZES + 1, &leaf[0]), LS_ERR_USAGE);
	ls_levels_free(&t);
}

static void inclusion_of_every_leaf(void **state)
{
	ls_levels t;
	ls_hash want[LS_PROOF_MAX], got[LS_PROOF_MAX];
	size_t want_count, count;
	grow(&t, *state);
	for (uint64_t size = 1; size <= SIZES; size++)
		for (uint64_t i = 0; i < size; i++) {
			assert_int_equal(ls_inclusion_make(want, &want_count, leaf, size, i, *state), LS_OK);
			assert_int_equal(ls_levels_inclusion(&t, size, i, got, &count), LS_OK);
			assert_int_equal(count, want_count);
			if (count)
				assert_memory_equal(want, got, count * sizeof *want);
		}
	assert_int_equal(ls_levels_inclusion(&t, 5, 5, got, &count), LS_ERR_USAGE);
	assert_int_equal(ls_levels_inclusion(&t, SIZES + 1, 0, got, &count), LS_ERR_USAGE);
	assert_int_equal(ls_levels_inclusion(&t, 0, 0, got, &count), LS_ERR_USAGE);
	ls_levels_free(&t);
}

static void consistency_of_every_pair(void **state)
{
	ls_levels t;
	ls_hash want[LS_PROOF_MAX + 1], got[LS_PROOF_MAX + 1];
	size_t want_count, count;
	grow(&t, *state);
	for (uint64_t size = 1; size <= SIZES; size++)
		for (uint64_t old = 1; old <= size; old++) {
			assert_int_equal(ls_consistency_make(want, &want_count, leaf, size, old, *state), LS_OK);
			assert_int_equal(ls_levels_consistency(&t, size, old, got, &count), LS_OK);
			assert_int_equal(count, want_count);
			if (count)
				assert_memory_equal(want, got, count * sizeof *want);
		}
	assert_int_equal(ls_levels_consistency(&t, 5, 0, got, &count), LS_ERR_USAGE);
	assert_int_equal(ls_levels_consistency(&t, 5, 6, got, &count), LS_ERR_USAGE);
	assert_int_equal(ls_levels_consistency(&t, SIZES + 1, 1, got, &count), LS_ERR_USAGE);
	ls_levels_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_of_every_size),
		cmocka_unit_test(inclusion_of_every_leaf),
		cmocka_unit_test(consistency_of_every_pair),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
