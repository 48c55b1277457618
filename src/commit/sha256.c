#include "commit/sha256.h"

#include "commit/hasher.h"

#include <stdlib.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Older compilers' __builtin_cpu_supports does not know "sha". The registers are SSE's, which every system saves. */
static ls_commit__two_fn of_this_processor(void)
{
	unsigned a, b, c, d, b7;
	if (!__get_cpuid_count(7, 0, &a, &b7, &c, &d) || !__get_cpuid(1, &a, &b, &c, &d))
		return NULL;
	return (b7 & bit_SHA) && (c & bit_SSSE3) && (c & bit_SSE4_1) ? ls_commit__sha256_two_shani : NULL;
}
#else
static ls_commit__two_fn of_this_processor(void)
{
	return NULL;
}
#endif

/* The end of a message of `total` bytes, padded: its last `len` bytes, which begin a block, 0x80, zeros, its length in
 * bits. Returns the blocks written, ⌈(len + 9)/64⌉ ≤ 2. */
static inline size_t pad(uint8_t out[128], const void *tail, size_t len, uint64_t total)
{
	size_t blocks = (len + 9 + 63) / 64;
	uint64_t bits = __builtin_bswap64(total * 8); // to big-endian: this file's callers run on x86 only
	memset(out, 0, 64 * blocks);
	memcpy(out, tail, len);
	out[len] = 0x80;
	memcpy(out + 64 * blocks - 8, &bits, 8);
	return blocks;
}

/* Two messages of `len` ≤ 247 bytes: whole blocks where they lie, then the padded rest. */
static bool agrees(ls_commit__two_fn two, const EVP_MD *md, const uint8_t *a, const uint8_t *b, size_t len)
{
	uint8_t end[2][128];
	size_t whole = len / 64, blocks = pad(end[0], a + 64 * whole, len % 64, len);
	const ls_commit__blocks parts[] = {{a, b, whole}, {end[0], end[1], blocks}};
	ls_hash found[2], expected[2];
	pad(end[1], b + 64 * whole, len % 64, len);
	two(&found[0], &found[1], parts, 2);
	return EVP_Digest(a, len, expected[0].byte, NULL, md, NULL) == 1 && EVP_Digest(b, len, expected[1].byte, NULL, md, NULL) == 1 &&
	       ls_hash_equal(&found[0], &expected[0]) && ls_hash_equal(&found[1], &expected[1]);
}

bool ls_commit__two_agrees(ls_commit__two_fn two, const EVP_MD *md)
{
	static const uint8_t lengths[] = {0, 55, 56, 64, 65, 247}; // around each change in the number of blocks
	uint8_t message[2][256];
	bool good = true;
	for (size_t i = 0; i < sizeof message[0]; i++) {
		message[0][i] = (uint8_t)(i * 167 + 13);
		message[1][i] = (uint8_t)(i * 59 + 201);
	}
	for (size_t i = 0; good && i < sizeof lengths; i++)
		good = agrees(two, md, message[0], message[1], lengths[i]);
	return good;
}

ls_commit__two_fn ls_commit__two_pick(const EVP_MD *md)
{
	const char *isa = getenv("LOCKSTEP_ISA");
	ls_commit__two_fn two = isa && !strcmp(isa, "portable") ? NULL : of_this_processor();
	return two && ls_commit__two_agrees(two, md) ? two : NULL;
}

#define PREFIX (sizeof LS_COMMIT_LEAF_PREFIX LS_TAG_CHUNK - 1) /* bytes before a chunk's: what shifts it against the blocks */
#define CHUNK (4 * LS_CHUNK_WORDS)
#define INSIDE ((PREFIX + CHUNK) / 64 - 1) /* blocks that lie whole in the chunk */

void ls_commit__two_chunks(ls_commit__two_fn two, ls_hash out[2], const uint8_t *a, const uint8_t *b)
{
	const uint8_t *chunk[2] = {a, b};
	uint8_t first[2][64], last[2][128];
	size_t head = 64 - PREFIX, tail = head + 64 * INSIDE, blocks = 0;
	for (int i = 0; i < 2; i++) {
		memcpy(first[i], LS_COMMIT_LEAF_PREFIX LS_TAG_CHUNK, PREFIX);
		memcpy(first[i] + PREFIX, chunk[i], head);
		blocks = pad(last[i], chunk[i] + tail, CHUNK - tail, PREFIX + CHUNK);
	}
	const ls_commit__blocks parts[] = {{first[0], first[1], 1}, {a + head, b + head, INSIDE}, {last[0], last[1], blocks}};
	two(&out[0], &out[1], parts, 3);
}

void ls_commit__two_nodes(ls_commit__two_fn two, ls_hash out[2], const ls_hash child[4])
{
	uint8_t node[2][3 * 64];
	for (int i = 0; i < 2; i++) {
		memcpy(node[i], LS_COMMIT_NODE_PREFIX, 1);
		memcpy(node[i] + 1, child[2 * i].byte, 32);
		memcpy(node[i] + 33, child[2 * i + 1].byte, 31);
		pad(node[i] + 64, child[2 * i + 1].byte + 31, 1, 65);
	}
	two(&out[0], &out[1], &(ls_commit__blocks){node[0], node[1], 2}, 1);
}
