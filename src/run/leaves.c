#include "run/leaves.h"

#include "run/run.h"

#define RECORD_STEP (4 + LS_LEAF_BYTES_STEP)
#define NO_GROUP UINT64_MAX

struct ls_leaves {
	ls_hasher *hasher;
	uint64_t count;
	ls_hash *head; /* of each whole group's subtree */
	uint64_t room;
	ls_tree last; /* over `tail` */
	ls_leaf tail[LS_RUN__GROUP];
	uint64_t loaded; /* the group in `group`, or NO_GROUP */
	ls_leaf group[LS_RUN__GROUP];
};

ls_status ls_leaves_open(ls_leaves **out, ls_hasher *hasher, ls_error *err)
{
	ls_leaves *l = *out = ls_alloc(1, sizeof *l);
	if (!l)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the leaves of a run");
	l->hasher = hasher;
	l->loaded = NO_GROUP;
	ls_tree_init(&l->last, hasher, 0);
	return LS_OK;
}

void ls_leaves_free(ls_leaves *l)
{
	if (l)
		ls_free(l->head);
	ls_free(l);
}

uint64_t ls_leaves_count(const ls_leaves *l)
{
	return l->count;
}

uint64_t ls_leaves_place(uint64_t i)
{
	return i ? 4 + LS_LEAF_BYTES_START + (i - 1) * RECORD_STEP : 0;
}

/* Doubles an array of `size`-byte items so that one more than `count` fits. */
static bool grow(void **array, uint64_t *room, uint64_t count, size_t size)
{
	uint64_t bigger = *room ? 2 * *room : 16;
	void *copy;
	if (count < *room)
		return true;
	copy = ls_alloc(bigger, size);
	if (!copy)
		return false;
	if (count)
		memcpy(copy, *array, count * size);
	ls_free(*array);
	*array = copy;
	*room = bigger;
	return true;
}

ls_status ls_leaves_push(ls_leaves *l, const ls_leaf *leaf, ls_error *err)
{
	ls_status status;
	uint64_t group = l->count / LS_RUN__GROUP;
	if (!grow((void **)&l->head, &l->room, group, sizeof *l->head))
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %llu leaves", (unsigned long long)l->count + 1);
	LS_TRY(ls_run__push_leaf(&l->last, leaf, err));
	l->tail[l->count % LS_RUN__GROUP] = *leaf;
	l->count++;
	if (l->count % LS_RUN__GROUP)
		goto done;
	status = ls_tree_head(&l->last, &l->head[group]);
	ls_tree_init(&l->last, l->hasher, 0);
	if (status != LS_OK)
		ls_error_set(err, status, "could not hash the leaves of a run: %s", ls_status_text(status));
done:
	return status;
}

static ls_status changed(const char *what, uint64_t first, uint64_t last, ls_error *err)
{
	return ls_error_set(err, LS_ERR_IO, "%s %llu to %llu are no longer those that were read before\n"
	                    "  hint: somebody changes the run's files; what is read here must stay as it is", what,
	                    (unsigned long long)first, (unsigned long long)last);
}

/* Decodes the records of a group into `out`; whether they are records of leaves and hash to `head`. */
static ls_status decode_group(const ls_leaves *l, const uint8_t *at, uint64_t first, const ls_hash *head, ls_leaf *out, bool *good)
{
	ls_status status;
	ls_tree tree;
	ls_hash found;
	*good = false;
	ls_tree_init(&tree, l->hasher, 0);
	for (uint64_t i = 0; i < LS_RUN__GROUP; i++) {
		size_t len = first + i ? LS_LEAF_BYTES_STEP : LS_LEAF_BYTES_START;
		if (ls_get_le32(at) != len || ls_leaf_decode(&out[i], at + 4, len, NULL) != LS_OK)
			return LS_OK;
		ls_tree_push(&tree, at + 4, len);
		at += 4 + len;
	}
	status = ls_tree_head(&tree, &found);
	*good = status == LS_OK && ls_hash_equal(&found, head);
	return status;
}

static ls_status load(ls_leaves *l, ls_file *file, uint64_t group, ls_error *err)
{
	ls_status status;
	uint64_t first = group * LS_RUN__GROUP, at = ls_leaves_place(first), end = ls_leaves_place(first + LS_RUN__GROUP);
	uint8_t *bytes = ls_alloc(1, end - at);
	bool good = false;
	l->loaded = NO_GROUP;
	if (!bytes)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %d leaves", LS_RUN__GROUP);
	LS_TRY(ls_file_read_at(file, at, bytes, end - at, err));
	status = decode_group(l, bytes, first, &l->head[group], l->group, &good);
	if (status != LS_OK)
		ls_error_set(err, status, "could not hash the leaves of a run: %s", ls_status_text(status));
	else if (!good)
		status = changed("leaves", first, first + LS_RUN__GROUP - 1, err);
	else
		l->loaded = group;
done:
	ls_free(bytes);
	return status;
}

ls_status ls_leaves_read(ls_leaves *l, ls_file *file, uint64_t i, ls_leaf *out, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t group = i / LS_RUN__GROUP;
	bool kept = group == l->count / LS_RUN__GROUP;
	if (i >= l->count)
		return ls_error_set(err, LS_ERR_INTERNAL, "leaf %llu of a run of %llu", (unsigned long long)i, (unsigned long long)l->count);
	if (!kept && l->loaded != group)
		LS_TRY(load(l, file, group, err));
	*out = kept ? l->tail[i % LS_RUN__GROUP] : l->group[i % LS_RUN__GROUP];
done:
	return status;
}

ls_status ls_leaves_cut(ls_leaves *l, ls_file *file, uint64_t count, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t group = count / LS_RUN__GROUP;
	if (group < l->count / LS_RUN__GROUP && count % LS_RUN__GROUP) {
		LS_TRY(load(l, file, group, err));
		memcpy(l->tail, l->group, sizeof l->tail);
	}
	l->count = count;
	l->loaded = NO_GROUP;
	ls_tree_init(&l->last, l->hasher, 0);
	for (uint64_t i = 0; i < count % LS_RUN__GROUP; i++)
		LS_TRY(ls_run__push_leaf(&l->last, &l->tail[i], err));
done:
	return status;
}

/* ---- blocks ---- */

void ls_blocks_free(ls_blocks *b)
{
	ls_free(b->mark);
	*b = (ls_blocks){0};
}

ls_status ls_blocks_push(ls_blocks *b, uint64_t len, ls_error *err)
{
	uint64_t group = b->count / LS_RUN__GROUP;
	if (!grow((void **)&b->mark, &b->room, group, sizeof *b->mark))
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %llu blocks", (unsigned long long)b->count + 1);
	if (b->count % LS_RUN__GROUP == 0)
		b->mark[group] = b->end;
	b->count++;
	b->end += LS_RUN_BLOCK_HEADER + len;
	return LS_OK;
}

ls_status ls_blocks_find(ls_blocks *b, ls_file *file, uint64_t i, uint64_t *at, uint64_t *len, ls_error *err)
{
	ls_status status = LS_OK;
	uint8_t header[LS_RUN_BLOCK_HEADER];
	uint64_t next = i / LS_RUN__GROUP * LS_RUN__GROUP, place;
	if (i >= b->count)
		return ls_error_set(err, LS_ERR_INTERNAL, "block %llu of a run of %llu", (unsigned long long)i, (unsigned long long)b->count);
	place = b->mark[i / LS_RUN__GROUP];
	if (b->seen > next && b->seen <= i) {
		next = b->seen;
		place = b->seen_at;
	}
	for (;; next++) {
		if (place > b->end - sizeof header)
			return changed("rounding-log/frames: the blocks of leaves", next + 1, i + 1, err);
		LS_TRY(ls_file_read_at(file, place, header, sizeof header, err));
		*len = ls_get_le64(header + 8);
		if (ls_get_le64(header) != next + 1 || *len > b->end - sizeof header - place)
			return changed("rounding-log/frames: the blocks of leaves", next + 1, i + 1, err);
		if (next == i)
			break;
		place += sizeof header + *len;
	}
	b->seen = i;
	b->seen_at = place;
	*at = place + sizeof header;
done:
	return status;
}

ls_status ls_blocks_cut(ls_blocks *b, ls_file *file, uint64_t count, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t at = 0, len = 0;
	if (count)
		LS_TRY(ls_blocks_find(b, file, count - 1, &at, &len, err));
	b->count = count;
	b->end = at + len;
	b->seen = b->seen_at = 0;
done:
	return status;
}
