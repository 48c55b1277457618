/* Internal to commit: SHA-256 of two messages of one length at once, where the processor has instructions for it.
 *
 * libcrypto hashes everything else and is what this is checked against. It hashes one message at a time, and one
 * message cannot keep the processor's unit busy; roots of states are many independent messages (ARCHITECTURE.md). */
#ifndef LS_COMMIT_SHA256_H
#define LS_COMMIT_SHA256_H

#include <lockstep/commit.h>

#include <openssl/evp.h>

/* `blocks` blocks of 64 bytes of each message. */
typedef struct ls_commit__blocks {
	const uint8_t *a, *b;
	size_t blocks;
} ls_commit__blocks;

/* The digests of two messages that are already padded and lie in `count` parts each. */
typedef void (*ls_commit__two_fn)(ls_hash *a, ls_hash *b, const ls_commit__blocks *parts, int count);

/* The one for this processor, or NULL: where it has none, where LOCKSTEP_ISA=portable asks for none, and where its
 * digests are not those of libcrypto (`md`) for messages of several lengths. */
ls_commit__two_fn ls_commit__two_pick(const EVP_MD *md);
bool ls_commit__two_agrees(ls_commit__two_fn two, const EVP_MD *md);

/* Leaf hashes of two whole chunks of little-endian words, and two nodes: left and right of the first, then of the second.
 * `out` may be `child`. */
void ls_commit__two_chunks(ls_commit__two_fn two, ls_hash out[2], const uint8_t *a, const uint8_t *b);
void ls_commit__two_nodes(ls_commit__two_fn two, ls_hash out[2], const ls_hash child[4]);

#if defined(__x86_64__)
void ls_commit__sha256_two_shani(ls_hash *a, ls_hash *b, const ls_commit__blocks *parts, int count);
#endif

#endif
