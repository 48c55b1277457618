/* Internal to commit: SHA-256 over a few pieces of memory, without joining them first. */
#ifndef LS_COMMIT_HASHER_H
#define LS_COMMIT_HASHER_H

#include <lockstep/commit.h>

#include "commit/sha256.h"

/* RFC 9162: what keeps a node from being read as a leaf. */
#define LS_COMMIT_LEAF_PREFIX "\x00"
#define LS_COMMIT_NODE_PREFIX "\x01"

typedef struct ls_commit__part {
	const void *data;
	size_t len;
} ls_commit__part;

/* SHA-256 of the parts one after another. `worker` < ls_hasher_workers(h). */
ls_status ls_commit__digest(ls_hash *out, const ls_commit__part *parts, int count, ls_hasher *h, int worker);
ls_status ls_commit__node(ls_hash *out, const ls_hash *left, const ls_hash *right, ls_hasher *h, int worker);
/* Two messages at once, or NULL where this processor or libcrypto's word on it does not allow it. */
ls_commit__two_fn ls_commit__hasher_two(const ls_hasher *h);
/* Digests the parts (prefix included) and pushes the result as a leaf hash. */
void ls_commit__tree_push_parts(ls_tree *t, const ls_commit__part *parts, int count);

#endif
