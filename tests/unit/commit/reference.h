/* RFC 9162 section 2.1 written down as the RFC writes it: recursive, slow, one digest call at a time. */
#ifndef LS_TEST_COMMIT_REFERENCE_H
#define LS_TEST_COMMIT_REFERENCE_H

#include <lockstep/commit.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/evp.h>

static inline ls_hash ref_sha256(const void *data, size_t len)
{
	ls_hash h;
	assert_int_equal(EVP_Digest(data, len, h.byte, NULL, EVP_sha256(), NULL), 1);
	return h;
}

static inline ls_hash ref_leaf(const void *data, size_t len)
{
	uint8_t joined[4096] = {0};
	assert_true(len < sizeof joined);
	if (len)
		memcpy(joined + 1, data, len);
	return ref_sha256(joined, len + 1);
}

static inline ls_hash ref_node(ls_hash left, ls_hash right)
{
	uint8_t joined[65] = {1};
	memcpy(joined + 1, left.byte, 32);
	memcpy(joined + 33, right.byte, 32);
	return ref_sha256(joined, 65);
}

static inline size_t ref_split(size_t n)
{
	size_t k = 1;
	while (2 * k < n)
		k *= 2;
	return k;
}

/* MTH */
static inline ls_hash ref_head(const ls_hash *leaf, size_t n)
{
	if (n == 0)
		return ref_sha256("", 0);
	if (n == 1)
		return leaf[0];
	size_t k = ref_split(n);
	return ref_node(ref_head(leaf, k), ref_head(leaf + k, n - k));
}

/* PATH(m, D_n); returns the number of hashes. */
static inline size_t ref_path(ls_hash *out, size_t m, const ls_hash *leaf, size_t n)
{
	if (n == 1)
		return 0;
	size_t k = ref_split(n);
	size_t len = m < k ? ref_path(out, m, leaf, k) : ref_path(out, m - k, leaf + k, n - k);
	out[len] = m < k ? ref_head(leaf + k, n - k) : ref_head(leaf, k);
	return len + 1;
}

/* SUBPROOF(m, D_n, b) */
static inline size_t ref_subproof(ls_hash *out, size_t m, const ls_hash *leaf, size_t n, bool b)
{
	if (m == n) {
		if (!b)
			out[0] = ref_head(leaf, n);
		return b ? 0 : 1;
	}
	size_t k = ref_split(n);
	size_t len = m <= k ? ref_subproof(out, m, leaf, k, b) : ref_subproof(out, m - k, leaf + k, n - k, false);
	out[len] = m <= k ? ref_head(leaf + k, n - k) : ref_head(leaf, k);
	return len + 1;
}

/* Leaves number i = 0 … n−1 of a test tree: distinct, of lengths 0 … 2. */
static inline void ref_leaves(ls_hash *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t bytes[2] = {(uint8_t)i, (uint8_t)(i * 7)};
		out[i] = ref_leaf(bytes, i == 0 ? 0 : 2);
	}
}

static inline void assert_hash(const ls_hash *a, const ls_hash *b)
{
	assert_memory_equal(a->byte, b->byte, LS_HASH_BYTES);
}

static inline void assert_hash_hex(const ls_hash *a, const char *hex)
{
	char text[LS_HASH_HEX_SIZE];
	ls_hash_hex(text, a);
	assert_string_equal(text, hex);
}

static inline void assert_not_hash(const ls_hash *a, const ls_hash *b)
{
	assert_memory_not_equal(a->byte, b->byte, LS_HASH_BYTES);
}

/* The eight leaves that Certificate Transparency implementations test with. */
typedef struct ct_leaf {
	const char *bytes;
	size_t len;
} ct_leaf;

static const ct_leaf ct_leaves[8] = {
	{"", 0}, {"\x00", 1}, {"\x10", 1}, {"\x20\x21", 2}, {"\x30\x31", 2}, {"\x40\x41\x42\x43", 4},
	{"\x50\x51\x52\x53\x54\x55\x56\x57", 8},
	{"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16},
};

#endif
