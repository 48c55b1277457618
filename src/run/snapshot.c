#include "run/run.h"

#include <stdio.h>

/* A snapshot file: "ls1/snapshot" ‖ step u64 ‖ tensors u32 ‖ per tensor name, dtype u8, rank u8, dims u64 …, words. */
static const char tag[] = "ls1/snapshot";

void ls_run__snapshot_name(char out[LS_RUN__SNAPSHOT_NAME], uint64_t step)
{
	snprintf(out, LS_RUN__SNAPSHOT_NAME, "snapshots/%010llu", (unsigned long long)step);
}

/* Host words to little-endian bytes and back: the same loop. */
static void swap_words(void *to, const void *from, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		uint32_t w;
		memcpy(&w, (const uint8_t *)from + 4 * i, 4);
		ls_put_le32((uint8_t *)to + 4 * i, w);
	}
}

static void describe(ls_buf *out, const ls_value *v)
{
	ls_buf_str(out, v->name);
	ls_buf_u8(out, (uint8_t)v->dtype);
	ls_buf_u8(out, (uint8_t)v->shape.rank);
	for (int d = 0; d < v->shape.rank; d++)
		ls_buf_u64(out, (uint64_t)v->shape.dim[d]);
}

ls_status ls_run__encode_snapshot(ls_buf *out, uint64_t step, ls_exec *exec, ls_error *err)
{
	const ls_program *program = ls_exec_program(exec);
	ls_buf_reset(out);
	ls_buf_bytes(out, tag, sizeof tag - 1);
	ls_buf_u64(out, step);
	ls_buf_u32(out, (uint32_t)ls_program_states(program));
	for (int s = 0; s < ls_program_states(program); s++) {
		const ls_value *v = ls_program_value(program, s);
		int64_t count = ls_shape_count(&v->shape);
		describe(out, v);
		ls_buf_bytes(out, ls_exec_state(exec, s), (size_t)count * 4);
		if (out->status == LS_OK)
			swap_words(out->data + out->len - count * 4, ls_exec_state(exec, s), count);
	}
	if (out->status != LS_OK)
		return ls_error_set(err, out->status, "no memory for a snapshot of step %llu", (unsigned long long)step);
	return LS_OK;
}

ls_status ls_run_write_snapshot(ls_run *run, uint64_t step, ls_exec *exec, ls_error *err)
{
	ls_status status;
	char name[LS_RUN__SNAPSHOT_NAME];
	ls_buf out;
	ls_buf_init(&out, LS_RUN__SNAPSHOT_MAX);
	LS_TRY(ls_run__encode_snapshot(&out, step, exec, err));
	ls_run__snapshot_name(name, step);
	LS_TRY(ls_run__write_file(run, name, out.data, out.len, err));
done:
	ls_buf_free(&out);
	return status;
}

ls_status ls_run_drop_snapshot(ls_run *run, uint64_t step, ls_error *err)
{
	char name[LS_RUN__SNAPSHOT_NAME], path[LS_PATH_MAX];
	ls_status status;
	ls_run__snapshot_name(name, step);
	status = ls_run__path(run, name, path, err);
	return status == LS_OK ? ls_file_remove(path, err) : status;
}

/* The bytes of one tensor after its description, or NULL where the file says something else than the program. */
static const uint8_t *tensor_bytes(ls_cursor *in, const ls_value *v)
{
	char name[LS_NAME_MAX];
	bool same;
	ls_cursor_str(in, name, sizeof name);
	same = !strcmp(name, v->name);
	same &= ls_cursor_u8(in) == (uint8_t)v->dtype;
	same &= ls_cursor_u8(in) == (uint8_t)v->shape.rank;
	for (int d = 0; d < v->shape.rank; d++)
		same &= ls_cursor_u64(in) == (uint64_t)v->shape.dim[d];
	return same ? ls_cursor_take(in, (size_t)ls_shape_count(&v->shape) * 4) : NULL;
}

/* Size a snapshot of this program must have; guards the read. */
static uint64_t size_of(const ls_program *program)
{
	uint64_t size = sizeof tag - 1 + 12;
	for (int s = 0; s < ls_program_states(program); s++) {
		const ls_value *v = ls_program_value(program, s);
		size += 4 + strlen(v->name) + 2 + 8 * (uint64_t)v->shape.rank + 4 * (uint64_t)ls_shape_count(&v->shape);
	}
	return size;
}

static void load(const uint8_t *data, size_t len, uint64_t step, ls_exec *exec, const char *name, ls_damage *damage)
{
	const ls_program *program = ls_exec_program(exec);
	ls_cursor in = ls_cursor_over(data, len);
	const uint8_t *head = ls_cursor_take(&in, sizeof tag - 1);
	uint64_t found_step = ls_cursor_u64(&in);
	uint32_t count = ls_cursor_u32(&in);
	if (!head || memcmp(head, tag, sizeof tag - 1) || found_step != step || count != (uint32_t)ls_program_states(program)) {
		ls_run__damage(damage, name, step, "found another header, expected a snapshot of step %llu with %d tensors",
		               (unsigned long long)step, ls_program_states(program));
		return;
	}
	for (int s = 0; s < ls_program_states(program); s++) {
		const ls_value *v = ls_program_value(program, s);
		const uint8_t *words = tensor_bytes(&in, v);
		if (!words) {
			ls_run__damage(damage, name, step, "offset %zu: found another tensor or the end, expected '%s'", in.pos, v->name);
			return;
		}
		swap_words(ls_exec_state(exec, s), words, ls_shape_count(&v->shape));
	}
	if (!ls_cursor_done(&in))
		ls_run__damage(damage, name, step, "offset %zu: found more bytes, expected the end", in.pos);
}

ls_status ls_run_read_snapshot(const ls_run *run, uint64_t step, ls_exec *exec, ls_damage *damage, ls_error *err)
{
	ls_status status;
	char name[LS_RUN__SNAPSHOT_NAME], path[LS_PATH_MAX], found[LS_HASH_HEX_SIZE], expected[LS_HASH_HEX_SIZE];
	uint64_t leaf = ls_run_leaf_of_step(run, step);
	uint8_t *data = NULL;
	size_t len;
	ls_hash root;
	ls_run__snapshot_name(name, step);
	if (leaf >= run->leaves || run->leaf[leaf].step != step) {
		ls_run__damage(damage, name, step, "found a snapshot of step %llu, after which the run has no leaf", (unsigned long long)step);
		return LS_OK;
	}
	LS_TRY(ls_run__path(run, name, path, err));
	status = ls_file_read(&data, &len, path, size_of(ls_exec_program(exec)), err);
	if (status == LS_ERR_LIMIT || status == LS_ERR_NOT_FOUND || status == LS_ERR_INPUT) {
		ls_run__damage(damage, name, step, "the file is %s", status == LS_ERR_NOT_FOUND ? "missing" : "larger than a snapshot of this run");
		status = LS_OK;
		goto done;
	}
	if (status != LS_OK)
		goto done;
	load(data, len, step, exec, name, damage);
	if (damage->found)
		goto done;
	LS_TRY(ls_exec_state_root(exec, &root, err));
	if (!ls_hash_equal(&root, &run->leaf[leaf].state)) {
		ls_hash_hex(found, &root);
		ls_hash_hex(expected, &run->leaf[leaf].state);
		ls_run__damage(damage, name, step, "found state root %s, expected %s of leaf %llu", found, expected, (unsigned long long)leaf);
	}
done:
	ls_free(data);
	return status;
}
