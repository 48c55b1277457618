#include "commit/hasher.h"

void ls_tree_init(ls_tree *t, ls_hasher *h, int worker)
{
	t->size = 0; // no node is in use: nothing else needs a value
	t->hasher = h;
	t->worker = worker;
	t->status = worker < 0 || worker >= ls_hasher_workers(h) ? LS_ERR_USAGE : LS_OK;
}

void ls_tree_push_hash(ls_tree *t, const ls_hash *leaf_hash)
{
	ls_hash carry = *leaf_hash;
	int level = 0;
	if (t->status == LS_OK && t->size == UINT64_MAX)
		t->status = LS_ERR_LIMIT;
	// Like adding one to a binary number: each set bit below the first clear one merges into the carry.
	for (; t->status == LS_OK && (t->size >> level & 1); level++)
		t->status = ls_commit__node(&carry, &t->node[level], &carry, t->hasher, t->worker);
	if (t->status != LS_OK)
		return;
	t->node[level] = carry;
	t->size++;
}

void ls_commit__tree_push_parts(ls_tree *t, const ls_commit__part *parts, int count)
{
	ls_hash leaf;
	if (t->status == LS_OK)
		t->status = ls_commit__digest(&leaf, parts, count, t->hasher, t->worker);
	if (t->status == LS_OK)
		ls_tree_push_hash(t, &leaf);
}

void ls_tree_push(ls_tree *t, const void *leaf, size_t len)
{
	ls_commit__tree_push_parts(t, (const ls_commit__part[]){{LS_COMMIT_LEAF_PREFIX, 1}, {leaf, len}}, 2);
}

void ls_tree_push_tagged(ls_tree *t, const char *tag, const void *data, size_t len)
{
	const ls_commit__part parts[] = {{LS_COMMIT_LEAF_PREFIX, 1}, {tag, strlen(tag)}, {data, len}};
	ls_commit__tree_push_parts(t, parts, 3);
}

ls_status ls_tree_head(const ls_tree *t, ls_hash *out)
{
	ls_status status = t->status;
	int level = 0;
	if (status != LS_OK)
		return status;
	if (t->size == 0)
		return ls_commit__digest(out, NULL, 0, t->hasher, t->worker);
	while (!(t->size >> level & 1))
		level++;
	*out = t->node[level];
	for (level++; status == LS_OK && level < 64; level++) // smaller subtrees lie to the right
		if (t->size >> level & 1)
			status = ls_commit__node(out, &t->node[level], out, t->hasher, t->worker);
	return status;
}
