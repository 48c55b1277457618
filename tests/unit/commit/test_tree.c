#include "commit/reference.h"

#define SIZES 70

static int setup(void **state)
{
	return ls_hasher_open((ls_hasher **)state, 1, NULL) == LS_OK ? 0 : -1;
}

static int teardown(void **state)
{
	ls_hasher_free(*state);
	return 0;
}

static void ct_vectors(void **state)
{
	static const char *const head[9] = {
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	};
	ls_tree t;
	ls_hash h;
	ls_tree_init(&t, *state, 0);
	for (int n = 0; n <= 8; n++) {
		assert_int_equal(ls_tree_head(&t, &h), LS_OK);
		assert_hash_hex(&h, head[n]);
		if (n < 8)
			ls_tree_push(&t, ct_leaves[n].bytes, ct_leaves[n].len);
	}
}

static void every_size_agrees_with_the_rfc(void **state)
{
	ls_hash leaf[SIZES], h, want, last = {{0}};
	ls_tree t;
	ref_leaves(leaf, SIZES);
	ls_tree_init(&t, *state, 0);
	for (size_t n = 0; n <= SIZES; n++) {
		want = ref_head(leaf, n);
		assert_int_equal(ls_tree_head(&t, &h), LS_OK);
		assert_hash(&h, &want);
		assert_not_hash(&h, &last); // each further leaf must change the head
		last = h;
		if (n < SIZES)
			ls_tree_push_hash(&t, &leaf[n]);
	}
	assert_int_equal(t.size, SIZES);
}

static void order_and_bytes_matter(void **state)
{
	ls_tree a, b, c;
	ls_hash ha, hb, hc;
	ls_tree_init(&a, *state, 0);
	ls_tree_init(&b, *state, 0);
	ls_tree_init(&c, *state, 0);
	ls_tree_push(&a, "x", 1);
	ls_tree_push(&a, "y", 1);
	ls_tree_push(&b, "y", 1);
	ls_tree_push(&b, "x", 1);
	ls_tree_push_tagged(&c, "", "x", 1);
	ls_tree_push_tagged(&c, "y", NULL, 0);
	assert_int_equal(ls_tree_head(&a, &ha), LS_OK);
	assert_int_equal(ls_tree_head(&b, &hb), LS_OK);
	assert_int_equal(ls_tree_head(&c, &hc), LS_OK);
	assert_not_hash(&ha, &hb);
	assert_hash(&ha, &hc);
}

static void a_node_is_not_a_leaf(void **state)
{
	ls_hash a = ref_leaf("a", 1), b = ref_leaf("b", 1), node, leaf, want = ref_node(a, b);
	uint8_t joined[64];
	memcpy(joined, a.byte, 32);
	memcpy(joined + 32, b.byte, 32);
	assert_int_equal(ls_hash_node(&node, &a, &b, *state), LS_OK);
	assert_int_equal(ls_hash_leaf(&leaf, joined, 64, *state), LS_OK);
	assert_hash(&node, &want);
	assert_not_hash(&node, &leaf);
}

static void tagged_digests(void **state)
{
	ls_hash h, again, want = ref_leaf("ls1/jobabc", 10), job = {{1}};
	uint8_t key[32] = {2}, nonce[32] = {3}, joined[9 + 96] = "ls1/runid";
	(void)state;
	assert_int_equal(ls_hash_tagged(&h, LS_TAG_JOB, "abc", 3), LS_OK);
	assert_hash(&h, &want);
	assert_int_equal(ls_hash_tagged(&again, LS_TAG_OP, "abc", 3), LS_OK);
	assert_not_hash(&again, &h);
	joined[9] = 1;
	joined[9 + 32] = 2;
	joined[9 + 64] = 3;
	want = ref_leaf(joined, sizeof joined);
	assert_int_equal(ls_run_id(&h, &job, key, nonce), LS_OK);
	assert_hash(&h, &want);
	nonce[31] ^= 1;
	assert_int_equal(ls_run_id(&again, &job, key, nonce), LS_OK);
	assert_not_hash(&again, &h);
}

static void hex_text(void **state)
{
	ls_hash h, back;
	char text[LS_HASH_HEX_SIZE];
	(void)state;
	h = ref_sha256("abc", 3);
	assert_hash_hex(&h, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	ls_hash_hex(text, &h);
	assert_true(ls_hash_unhex(&back, text));
	assert_true(ls_hash_equal(&back, &h));
	back.byte[31] ^= 1;
	assert_false(ls_hash_equal(&back, &h));
	text[63] = 'g';
	assert_false(ls_hash_unhex(&back, text));
	text[63] = 0;
	assert_false(ls_hash_unhex(&back, text));
}

static void wrong_use_is_refused(void **state)
{
	ls_hasher *h;
	ls_error err = LS_ERROR_INIT;
	ls_tree t;
	ls_hash head;
	assert_int_equal(ls_hasher_open(&h, 0, &err), LS_ERR_USAGE);
	assert_null(h);
	assert_non_null(strstr(err.text, "found 0"));
	ls_tree_init(&t, *state, 1); // the hasher has worker 0 only
	ls_tree_push(&t, "a", 1);
	assert_int_equal(t.size, 0);
	assert_int_equal(ls_tree_head(&t, &head), LS_ERR_USAGE);
	ls_hasher_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ct_vectors),
		cmocka_unit_test(every_size_agrees_with_the_rfc),
		cmocka_unit_test(order_and_bytes_matter),
		cmocka_unit_test(a_node_is_not_a_leaf),
		cmocka_unit_test(tagged_digests),
		cmocka_unit_test(hex_text),
		cmocka_unit_test(wrong_use_is_refused),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
