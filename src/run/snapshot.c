#include "run/pieces.h"
#include "run/run.h"

#include <stdio.h>

/* A snapshot file: a tag ‖ step u64 ‖ tensors u32 ‖ per tensor name, dtype u8, rank u8, dims u64 …, and its words. Under the
 * second tag large tensors have the roots of their pieces instead of the words. Both tags are equally long. */
static const char whole_tag[] = "ls1/snapshot", pieces_tag[] = "ls1/by-piece";
enum { TAG = sizeof whole_tag - 1 };
_Static_assert(sizeof whole_tag == sizeof pieces_tag, "tags of one length");

void ls_run__snapshot_name(char out[LS_RUN__SNAPSHOT_NAME], uint64_t step)
{
	snprintf(out, LS_RUN__SNAPSHOT_NAME, "snapshots/%010llu", (unsigned long long)step);
}

static void describe(ls_buf *out, const ls_value *v)
{
	ls_buf_str(out, v->name);
	ls_buf_u8(out, (uint8_t)v->dtype);
	ls_buf_u8(out, (uint8_t)v->shape.rank);
	for (int d = 0; d < v->shape.rank; d++)
		ls_buf_u64(out, (uint64_t)v->shape.dim[d]);
}

static uint64_t words_of(const ls_program *program, int state)
{
	return (uint64_t)ls_shape_count(&ls_program_value(program, state)->shape);
}

static bool has_large(const ls_program *program)
{
	for (int s = 0; s < ls_program_states(program); s++)
		if (ls_run__is_large(words_of(program, s)))
			return true;
	return false;
}

/* Words of piece `i` of a tensor of `words`. */
static uint64_t piece_words(uint64_t words, uint64_t i)
{
	uint64_t left = words - i * LS_RUN__PIECE_WORDS;
	return left < LS_RUN__PIECE_WORDS ? left : LS_RUN__PIECE_WORDS;
}

/* ---- writing ---- */

static ls_status write_pieces(ls_run *run, const uint32_t *words, uint64_t count, ls_buf *out, ls_error *err)
{
	ls_status status = LS_OK;
	if (!run->pieces)
		LS_TRY(ls_pieces_open(&run->pieces, run->dir, run->compress, err));
	for (uint64_t i = 0; i < ls_run__piece_count(count) && status == LS_OK; i++)
		status = ls_pieces_write(run->pieces, words + i * LS_RUN__PIECE_WORDS, piece_words(count, i), out, err);
done:
	return status;
}

ls_status ls_run__write_state(ls_run *run, uint64_t step, const ls_program *program, const void *const *words, ls_error *err)
{
	ls_status status = LS_OK;
	char name[LS_RUN__SNAPSHOT_NAME];
	bool large = has_large(program);
	ls_buf out;
	ls_buf_init(&out, LS_RUN__SNAPSHOT_MAX);
	ls_buf_bytes(&out, large ? pieces_tag : whole_tag, TAG);
	ls_buf_u64(&out, step);
	ls_buf_u32(&out, (uint32_t)ls_program_states(program));
	for (int s = 0; s < ls_program_states(program); s++) {
		uint64_t count = words_of(program, s);
		describe(&out, ls_program_value(program, s));
		if (ls_run__is_large(count)) {
			LS_TRY(write_pieces(run, words[s], count, &out, err));
			continue;
		}
		ls_buf_bytes(&out, words[s], (size_t)count * 4);
		if (out.status == LS_OK)
			ls_words_to_le(out.data + out.len - count * 4, words[s], (size_t)count);
	}
	if (out.status != LS_OK) {
		status = ls_error_set(err, out.status, "no memory for a snapshot of step %llu", (unsigned long long)step);
		goto done;
	}
	if (large)
		LS_TRY(ls_pieces_end(run->pieces, err)); // before anything refers to them
	ls_run__snapshot_name(name, step);
	LS_TRY(ls_run__write_file(run, name, out.data, out.len, err));
done:
	ls_buf_free(&out);
	return status;
}

ls_status ls_run_write_snapshot(ls_run *run, uint64_t step, ls_exec *exec, ls_error *err)
{
	ls_status status;
	const ls_program *program = ls_exec_program(exec);
	const void **words = ls_alloc((size_t)ls_program_states(program), sizeof *words);
	if (!words)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a snapshot of step %llu", (unsigned long long)step);
	for (int s = 0; s < ls_program_states(program); s++)
		words[s] = ls_exec_state(exec, s);
	status = ls_run__write_state(run, step, program, words, err);
	ls_free(words);
	return status;
}

static ls_status remove_snapshot(ls_run *run, uint64_t step, ls_error *err)
{
	char name[LS_RUN__SNAPSHOT_NAME], path[LS_PATH_MAX];
	ls_status status;
	ls_run__snapshot_name(name, step);
	status = ls_run__path(run, name, path, err);
	return status == LS_OK ? ls_file_remove(path, err) : status;
}

ls_status ls_run_drop_snapshots(ls_run *run, const uint64_t *steps, size_t count, ls_error *err)
{
	ls_status status = LS_OK;
	char path[LS_PATH_MAX];
	for (size_t i = 0; i < count && status == LS_OK; i++)
		status = remove_snapshot(run, steps[i], err);
	if (status != LS_OK || !count)
		return status;
	LS_TRY(ls_run__path(run, "snapshots", path, err));
	LS_TRY(ls_dir_sync(path, err)); // a loss of power must not bring back what refers to pieces that are gone
	LS_TRY(ls_run__sweep(run, err));
done:
	return status;
}

/* ---- reading ---- */

bool ls_run__snapshot_pieces(const uint8_t *data, size_t len, ls_buf *roots)
{
	ls_cursor in = ls_cursor_over(data, len);
	const uint8_t *tag = ls_cursor_take(&in, TAG);
	uint32_t tensors;
	bool whole = tag && !memcmp(tag, whole_tag, TAG);
	if (!tag || (!whole && memcmp(tag, pieces_tag, TAG)))
		return false;
	if (whole)
		return true;
	ls_cursor_u64(&in);
	tensors = ls_cursor_u32(&in);
	for (uint32_t i = 0; i < tensors && !in.failed; i++) {
		char name[LS_NAME_MAX];
		uint64_t words = 1, rank;
		const uint8_t *root;
		ls_cursor_str(&in, name, sizeof name);
		ls_cursor_u8(&in);
		rank = ls_cursor_u8(&in);
		for (uint64_t d = 0; d < rank; d++) {
			uint64_t dim = ls_cursor_u64(&in);
			if (dim && words > LS_RUN__SNAPSHOT_MAX / dim)
				return false;
			words *= dim;
		}
		if (!ls_run__is_large(words)) {
			ls_cursor_take(&in, (size_t)words * 4);
			continue;
		}
		root = ls_cursor_take(&in, (size_t)ls_run__piece_count(words) * LS_HASH_BYTES);
		if (root)
			ls_buf_bytes(roots, root, (size_t)ls_run__piece_count(words) * LS_HASH_BYTES);
	}
	return ls_cursor_done(&in);
}

/* Whether the next tensor's description is that of the program. */
static bool is_described(ls_cursor *in, const ls_value *v)
{
	char name[LS_NAME_MAX];
	bool same;
	ls_cursor_str(in, name, sizeof name);
	same = !strcmp(name, v->name);
	same &= ls_cursor_u8(in) == (uint8_t)v->dtype;
	same &= ls_cursor_u8(in) == (uint8_t)v->shape.rank;
	for (int d = 0; d < v->shape.rank; d++)
		same &= ls_cursor_u64(in) == (uint64_t)v->shape.dim[d];
	return same;
}

/* Size that a snapshot of this program has at most; guards the read. */
static uint64_t size_of(const ls_program *program)
{
	uint64_t size = TAG + 12;
	for (int s = 0; s < ls_program_states(program); s++) {
		const ls_value *v = ls_program_value(program, s);
		size += 4 + strlen(v->name) + 2 + 8 * (uint64_t)v->shape.rank + 4 * (uint64_t)ls_shape_count(&v->shape);
	}
	return size;
}

/* A snapshot that is being read, and where what it holds goes. */
typedef struct reading {
	const ls_run *run;
	ls_cursor in;
	uint64_t step;
	ls_exec *exec;
	const char *name;
	ls_damage *damage;
} reading;

/* Into the state; false where the bytes end too early. */
static ls_status read_tensor(reading *r, int state, bool by_piece, bool *there, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t count = words_of(ls_exec_program(r->exec), state);
	uint32_t *words = ls_exec_state(r->exec, state);
	const uint8_t *bytes;
	by_piece &= ls_run__is_large(count);
	bytes = ls_cursor_take(&r->in, by_piece ? (size_t)ls_run__piece_count(count) * LS_HASH_BYTES : (size_t)count * 4);
	*there = bytes != NULL;
	if (bytes && !by_piece)
		ls_words_from_le(words, bytes, (size_t)count);
	for (uint64_t i = 0; bytes && by_piece && i < ls_run__piece_count(count) && status == LS_OK && !r->damage->found; i++) {
		ls_hash root;
		memcpy(root.byte, bytes + i * LS_HASH_BYTES, LS_HASH_BYTES);
		status = ls_run__read_piece(r->run, &root, r->step, words + i * LS_RUN__PIECE_WORDS, piece_words(count, i), r->damage, err);
	}
	return status;
}

static ls_status load(reading *r, ls_error *err)
{
	ls_status status = LS_OK;
	const ls_program *program = ls_exec_program(r->exec);
	const uint8_t *tag = ls_cursor_take(&r->in, TAG);
	uint64_t found_step = ls_cursor_u64(&r->in);
	uint32_t count = ls_cursor_u32(&r->in);
	bool by_piece = tag && has_large(program) && !memcmp(tag, pieces_tag, TAG);
	if (!tag || (!by_piece && memcmp(tag, whole_tag, TAG)) || found_step != r->step || count != (uint32_t)ls_program_states(program)) {
		ls_run__damage(r->damage, r->name, r->step, "found another header, expected a snapshot of step %llu with %d tensors",
		               (unsigned long long)r->step, ls_program_states(program));
		return LS_OK;
	}
	for (int s = 0; s < ls_program_states(program); s++) {
		const ls_value *v = ls_program_value(program, s);
		bool there = is_described(&r->in, v);
		if (there)
			LS_TRY(read_tensor(r, s, by_piece, &there, err));
		if (!there)
			ls_run__damage(r->damage, r->name, r->step, "offset %zu: found another tensor or the end, expected '%s'", r->in.pos, v->name);
		if (r->damage->found)
			return LS_OK;
	}
	if (!ls_cursor_done(&r->in))
		ls_run__damage(r->damage, r->name, r->step, "offset %zu: found more bytes, expected the end", r->in.pos);
done:
	return status;
}

ls_status ls_run_read_snapshot(const ls_run *run, uint64_t step, ls_exec *exec, ls_damage *damage, ls_error *err)
{
	ls_status status;
	char name[LS_RUN__SNAPSHOT_NAME], found[LS_HASH_HEX_SIZE], expected[LS_HASH_HEX_SIZE];
	uint64_t leaf = ls_run_leaf_of_step(run, step);
	reading r = {.run = run, .step = step, .exec = exec, .name = name, .damage = damage};
	uint8_t *data = NULL;
	size_t len;
	ls_hash root;
	ls_leaf its;
	ls_run__snapshot_name(name, step);
	if (leaf < run->leaves)
		LS_TRY(ls_run_read_leaf(run, leaf, &its, err));
	if (leaf >= run->leaves || its.step != step) {
		ls_run__damage(damage, name, step, "found a snapshot of step %llu, after which the run has no leaf", (unsigned long long)step);
		return LS_OK;
	}
	status = ls_run__load(run, name, size_of(ls_exec_program(exec)), &data, &len, err);
	if (status == LS_ERR_LIMIT || status == LS_ERR_NOT_FOUND || status == LS_ERR_INPUT) {
		ls_run__damage(damage, name, step, "the file is %s", status == LS_ERR_NOT_FOUND ? "missing" : "larger than a snapshot of this run");
		damage->withheld = status == LS_ERR_NOT_FOUND && run->source.file;
		status = LS_OK;
		goto done;
	}
	if (status != LS_OK)
		goto done;
	r.in = ls_cursor_over(data, len);
	LS_TRY(load(&r, err));
	if (damage->found)
		goto done;
	LS_TRY(ls_exec_state_root(exec, &root, err));
	if (!ls_hash_equal(&root, &its.state)) {
		ls_hash_hex(found, &root);
		ls_hash_hex(expected, &its.state);
		ls_run__damage(damage, name, step, "found state root %s, expected %s of leaf %llu", found, expected, (unsigned long long)leaf);
	}
done:
	ls_free(data);
	return status;
}
