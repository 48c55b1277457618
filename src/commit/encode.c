#include "commit/hasher.h"

#include <stdio.h>
#include <stdlib.h>

#define DATA_PARTS_MAX 8
#define DATA_CHUNK_BYTES 1024
#define ENTRY_BYTES_MAX (4 + LS_COMMIT_NAME_MAX + 2 + 8 * LS_COMMIT_RANK_MAX + LS_HASH_BYTES)
#define LOG_HEAD_BYTES 24

static void put_tag(ls_buf *out, const char *tag)
{
	ls_buf_bytes(out, tag, strlen(tag));
}

static void put_hash(ls_buf *out, const ls_hash *h)
{
	ls_buf_bytes(out, h->byte, LS_HASH_BYTES);
}

static bool good_name(const char *name)
{
	size_t len = name ? strnlen(name, LS_COMMIT_NAME_MAX + 1) : 0;
	return len >= 1 && len <= LS_COMMIT_NAME_MAX;
}

static bool good_dims(const int64_t *dims, int rank)
{
	if (rank < 0 || rank > LS_COMMIT_RANK_MAX)
		return false;
	for (int i = 0; i < rank; i++)
		if (dims[i] < 0)
			return false;
	return true;
}

static void put_dims(ls_buf *out, const int64_t *dims, int rank)
{
	ls_buf_u8(out, (uint8_t)rank);
	for (int i = 0; i < rank; i++)
		ls_buf_u64(out, (uint64_t)dims[i]);
}

/* The part that state and step leaves share. */
static ls_status put_entry(ls_buf *out, const ls_tensor_entry *entry)
{
	if (!good_name(entry->name) || !good_dims(entry->dims, entry->rank))
		return LS_ERR_USAGE;
	ls_buf_str(out, entry->name);
	ls_buf_u8(out, entry->dtype);
	put_dims(out, entry->dims, entry->rank);
	put_hash(out, &entry->root);
	return out->status;
}

ls_status ls_state_leaf_encode(ls_buf *out, const ls_tensor_entry *entry)
{
	put_tag(out, LS_TAG_STATE);
	return put_entry(out, entry);
}

static ls_status complain_about_order(ls_error *err, const char *before, const char *name)
{
	char found[2 * LS_COMMIT_NAME_MAX + 32];
	int same = strcmp(before, name) == 0;
	snprintf(found, sizeof found, same ? "the name %.255s twice" : "%.255s after %.255s", name, before);
	return ls_error_input(err, NULL, "state", found, "names strictly ascending by their bytes",
	                      same ? "a state may hold each tensor once" : "sort the tensors by name");
}

ls_status ls_state_root(ls_hash *out, const ls_tensor_entry *entries, size_t count, ls_hasher *h, ls_error *err)
{
	ls_status status = LS_OK;
	ls_buf leaf;
	ls_tree t;
	ls_buf_init(&leaf, sizeof LS_TAG_STATE + ENTRY_BYTES_MAX);
	ls_tree_init(&t, h, 0);
	for (size_t i = 0; i < count; i++) {
		ls_buf_reset(&leaf);
		status = ls_state_leaf_encode(&leaf, &entries[i]);
		if (status != LS_OK) {
			ls_error_set(err, status, "state: the leaf of tensor %zu: %s", i, ls_status_text(status));
			goto done;
		}
		if (i > 0 && strcmp(entries[i - 1].name, entries[i].name) >= 0) {
			status = complain_about_order(err, entries[i - 1].name, entries[i].name);
			goto done;
		}
		ls_tree_push(&t, leaf.data, leaf.len);
	}
	status = ls_tree_head(&t, out);
	if (status != LS_OK)
		ls_error_set(err, status, "state: could not hash it: %s", ls_status_text(status));
done:
	ls_buf_free(&leaf);
	return status;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const ls_tensor_entry *)a)->name, ((const ls_tensor_entry *)b)->name);
}

void ls_state_sort(ls_tensor_entry *entries, size_t count)
{
	if (count > 1)
		qsort(entries, count, sizeof *entries, compare_names);
}

ls_status ls_step_leaf_encode(ls_buf *out, uint32_t op, const ls_tensor_entry *outputs, uint32_t count)
{
	ls_status status = LS_OK;
	put_tag(out, LS_TAG_STEP);
	ls_buf_u32(out, op);
	ls_buf_u32(out, count);
	for (uint32_t i = 0; i < count; i++)
		LS_TRY(put_entry(out, &outputs[i]));
	status = out->status;
done:
	return status;
}

/* ---- data sets ---- */

ls_status ls_data_head_encode(ls_buf *out, const char *format, uint64_t samples, const int64_t *dims, int rank,
                              const ls_data_part *parts, uint32_t part_count)
{
	if (!good_name(format) || !good_dims(dims, rank) || part_count > DATA_PARTS_MAX)
		return LS_ERR_USAGE;
	put_tag(out, LS_TAG_DATA);
	ls_buf_u8(out, 0);
	ls_buf_str(out, format);
	ls_buf_u64(out, samples);
	put_dims(out, dims, rank);
	ls_buf_u32(out, part_count);
	for (uint32_t i = 0; i < part_count; i++) {
		if (!good_name(parts[i].name))
			return LS_ERR_USAGE;
		ls_buf_str(out, parts[i].name);
		ls_buf_u64(out, parts[i].len);
	}
	return out->status;
}

static void push_data_part(ls_tree *t, const ls_data_part *part)
{
	static const char prefix[] = LS_COMMIT_LEAF_PREFIX LS_TAG_DATA "\x01";
	for (uint64_t at = 0; at < part->len; at += DATA_CHUNK_BYTES) {
		uint64_t left = part->len - at;
		const uint8_t *chunk = (const uint8_t *)part->bytes + at;
		const ls_commit__part parts[] = {{prefix, sizeof prefix - 1},
		                                 {chunk, left < DATA_CHUNK_BYTES ? left : DATA_CHUNK_BYTES}};
		ls_commit__tree_push_parts(t, parts, 2);
	}
}

ls_status ls_data_root(ls_hash *out, const char *format, uint64_t samples, const int64_t *dims, int rank,
                       const ls_data_part *parts, uint32_t part_count, ls_hasher *h)
{
	ls_status status = LS_OK;
	ls_buf head;
	ls_tree t;
	ls_buf_init(&head, 4096);
	ls_tree_init(&t, h, 0);
	LS_TRY(ls_data_head_encode(&head, format, samples, dims, rank, parts, part_count));
	ls_tree_push(&t, head.data, head.len);
	for (uint32_t i = 0; i < part_count; i++)
		push_data_part(&t, &parts[i]);
	status = ls_tree_head(&t, out);
done:
	ls_buf_free(&head);
	return status;
}

/* ---- rounding logs ---- */

/* Leaf prefix, tag, step, op, frame: all of a log leaf that has a fixed size. */
static void log_head(uint8_t out[LOG_HEAD_BYTES], uint64_t step, uint32_t op, uint32_t frame)
{
	memcpy(out, LS_COMMIT_LEAF_PREFIX LS_TAG_LOG, 8);
	ls_put_le64(out + 8, step);
	ls_put_le32(out + 16, op);
	ls_put_le32(out + 20, frame);
}

void ls_log_push(ls_tree *t, uint64_t step, uint32_t op, uint32_t frame, const void *bytes, size_t len)
{
	uint8_t head[LOG_HEAD_BYTES];
	log_head(head, step, op, frame);
	ls_commit__tree_push_parts(t, (const ls_commit__part[]){{head, sizeof head}, {bytes, len}}, 2);
}

ls_status ls_log_leaf_encode(ls_buf *out, uint64_t step, uint32_t op, uint32_t frame, const void *bytes, size_t len)
{
	uint8_t head[LOG_HEAD_BYTES];
	log_head(head, step, op, frame);
	ls_buf_bytes(out, head + 1, sizeof head - 1); // a leaf's bytes begin after the prefix
	ls_buf_bytes(out, bytes, len);
	return out->status;
}

/* ---- run leaves ---- */

ls_status ls_leaf_encode(ls_buf *out, const ls_leaf *leaf)
{
	if (leaf->kind != LS_LEAF_START && leaf->kind != LS_LEAF_STEP)
		return LS_ERR_USAGE;
	if ((leaf->kind == LS_LEAF_STEP) != (leaf->step >= 1))
		return LS_ERR_USAGE;
	put_tag(out, LS_TAG_RUN);
	ls_buf_u8(out, (uint8_t)leaf->kind);
	if (leaf->kind == LS_LEAF_START) {
		put_hash(out, &leaf->job);
		put_hash(out, &leaf->run);
		put_hash(out, &leaf->state);
	} else {
		put_hash(out, &leaf->run);
		ls_buf_u64(out, leaf->step);
		put_hash(out, &leaf->state);
		put_hash(out, &leaf->log);
		put_hash(out, &leaf->metrics);
	}
	return out->status;
}

static void take_hash(ls_cursor *c, ls_hash *out)
{
	const uint8_t *p = ls_cursor_take(c, LS_HASH_BYTES);
	if (p)
		memcpy(out->byte, p, LS_HASH_BYTES);
}

static void take_start(ls_cursor *c, ls_leaf *out)
{
	take_hash(c, &out->job);
	take_hash(c, &out->run);
	take_hash(c, &out->state);
}

static void take_step(ls_cursor *c, ls_leaf *out)
{
	take_hash(c, &out->run);
	out->step = ls_cursor_u64(c);
	take_hash(c, &out->state);
	take_hash(c, &out->log);
	take_hash(c, &out->metrics);
}

ls_status ls_leaf_decode(ls_leaf *out, const void *data, size_t len, ls_error *err)
{
	ls_cursor c = ls_cursor_over(data, len);
	const size_t tag_len = strlen(LS_TAG_RUN);
	const uint8_t *tag = ls_cursor_take(&c, tag_len);
	uint8_t kind = ls_cursor_u8(&c);
	ls_leaf leaf = {.kind = LS_LEAF_START};
	char found[64];
	if (c.failed || memcmp(tag, LS_TAG_RUN, tag_len) != 0)
		return ls_error_input(err, NULL, "run leaf", "another tag", LS_TAG_RUN, "these bytes are not a leaf of a run");
	if (kind > LS_LEAF_STEP) {
		snprintf(found, sizeof found, "kind %d", kind);
		return ls_error_input(err, NULL, "run leaf: byte 7", found, "0 or 1", NULL);
	}
	leaf.kind = (ls_leaf_kind)kind;
	if (kind == LS_LEAF_START)
		take_start(&c, &leaf);
	else
		take_step(&c, &leaf);
	if (!ls_cursor_done(&c)) {
		snprintf(found, sizeof found, "%zu bytes", len);
		return ls_error_input(err, NULL, "run leaf", found, kind == LS_LEAF_START ? "104 bytes" : "144 bytes", NULL);
	}
	if (kind == LS_LEAF_STEP && leaf.step == 0)
		return ls_error_input(err, NULL, "run leaf: byte 40", "step 0", "a step of at least 1", NULL);
	*out = leaf;
	return LS_OK;
}
