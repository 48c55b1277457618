#include "run/run.h"

#define BLOCK_MAX (UINT64_C(1) << 36)
#define BATCH 1024

/* ---- blocks ---- */

static bool is_product(const ls_program *program, int op)
{
	return ls_op_find(ls_program_op(program, op)->kind)->class == LS_OP_PRODUCT;
}

static int64_t elements_of(const ls_program *program, int op)
{
	return ls_shape_count(&ls_program_value(program, ls_program_op(program, op)->outputs[0])->shape);
}

/* Entries of `log` that fall into the frame, numbered within it; their number. */
static size_t frame_entries(const ls_op_log *log, size_t from, int64_t start, uint32_t length, ls_entry *out)
{
	size_t n = 0;
	while (from + n < log->count && log->entry[from + n].index < start + length) {
		out[n] = log->entry[from + n];
		out[n].index -= (uint32_t)start;
		n++;
	}
	return n;
}

static uint32_t frame_length(int64_t elements, int64_t start)
{
	return elements - start < (int64_t)LS_FRAME_ELEMENTS ? (uint32_t)(elements - start) : LS_FRAME_ELEMENTS;
}

static ls_status write_op(ls_buf *block, ls_tree *tree, const ls_program *program, uint64_t step, int op, const ls_op_log *log,
                          ls_encoding encoding, ls_entry *scratch)
{
	int64_t elements = elements_of(program, op);
	size_t used = 0;
	uint32_t frame = 0;
	for (int64_t start = 0; start < elements; start += LS_FRAME_ELEMENTS, frame++) {
		uint32_t length = frame_length(elements, start);
		size_t n = frame_entries(log, used, start, length, scratch), at = block->len;
		ls_status status;
		ls_buf_u32(block, 0); // the length, known below
		status = ls_entries_encode(block, scratch, n, length, encoding);
		if (status != LS_OK || block->status != LS_OK)
			return status != LS_OK ? status : block->status;
		ls_put_le32(block->data + at, (uint32_t)(block->len - at - 4));
		ls_log_push(tree, step, (uint32_t)op, frame, block->data + at + 4, block->len - at - 4);
		used += n;
	}
	return LS_OK;
}

ls_status ls_log_write_step(ls_buf *block, ls_tree *tree, const ls_program *program, uint64_t step, const ls_step_log *log,
                            ls_encoding encoding)
{
	ls_status status = LS_OK;
	for (int op = 0; op < ls_program_ops(program) && status == LS_OK; op++)
		if (is_product(program, op))
			status = write_op(block, tree, program, step, op, &log->op[op], encoding, log->frame);
	return status;
}

static ls_status read_op(ls_cursor *block, ls_tree *tree, const ls_program *program, uint64_t step, int op, ls_op_log *log,
                    ls_encoding encoding, ls_entry *scratch)
{
	int64_t elements = elements_of(program, op);
	uint32_t frame = 0;
	for (int64_t start = 0; start < elements; start += LS_FRAME_ELEMENTS, frame++) {
		uint32_t len = ls_cursor_u32(block);
		const uint8_t *bytes = ls_cursor_take(block, len);
		size_t n;
		if (!bytes || !ls_entries_decode(scratch, &n, frame_length(elements, start), encoding, bytes, len))
			return LS_ERR_INPUT;
		ls_log_push(tree, step, (uint32_t)op, frame, bytes, len);
		for (size_t i = 0; i < n; i++) {
			scratch[i].index += (uint32_t)start;
			if (ls_op_log_push(log, scratch[i]) != LS_OK)
				return LS_ERR_NOMEM;
		}
	}
	return LS_OK;
}

ls_status ls_log_read_step(ls_cursor *block, ls_tree *tree, const ls_program *program, uint64_t step, ls_step_log *log,
                      ls_encoding encoding)
{
	ls_status status = LS_OK;
	ls_step_log_clear(log);
	for (int op = 0; op < ls_program_ops(program) && status == LS_OK; op++)
		if (is_product(program, op))
			status = read_op(block, tree, program, step, op, &log->op[op], encoding, log->frame);
	return status;
}

/* ---- the file ---- */

/* The places that a source gave last: so many, from that of leaf `first` on. */
struct ls_places {
	uint64_t first, count, at[BATCH], len[BATCH];
};

/* Asks for the places of the blocks of `first` and some leaves behind it, of `leaves` in all. */
static ls_status ask(const ls_run *run, uint64_t first, uint64_t leaves, ls_error *err)
{
	struct ls_places *p = run->places;
	ls_status status;
	p->count = 0;
	p->first = first;
	status = run->source.blocks(run->source.context, first, leaves - first < BATCH ? leaves - first : BATCH, p->at, p->len, err);
	p->count = status == LS_OK ? (leaves - first < BATCH ? leaves - first : BATCH) : 0;
	return status;
}

/* As a scan of the file, from a source, which tells the places without the headers between. They are asked for again where they
 * are needed; a wrong one shows when the block is read. */
static ls_status ask_for_blocks(ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	if (!run->places && !(run->places = ls_alloc(1, sizeof *run->places)))
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the places of blocks");
	while (run->block->count + 1 < run->leaves) {
		uint64_t first = run->block->count + 1;
		status = ask(run, first, run->leaves, err);
		if (status == LS_ERR_NOT_FOUND) {
			ls_run__damage(damage, "rounding-log/frames", run->block->count * run->commit_every + 1,
			               "the places of the blocks from leaf %llu on were not given", (unsigned long long)first);
			damage->withheld = true;
			status = LS_OK;
			break;
		}
		if (status != LS_OK)
			break;
		run->block->count += run->places->count;
		run->block->end = run->places->at[run->places->count - 1] + run->places->len[run->places->count - 1];
	}
	return status;
}

ls_status ls_run_block_place(const ls_run *run, uint64_t leaf, uint64_t *at, uint64_t *len, ls_error *err)
{
	ls_status status = LS_OK;
	const struct ls_places *p = run->places;
	if (!run->source.file)
		return ls_blocks_find(run->block, run->log_file, leaf - 1, at, len, err);
	if (leaf < p->first || leaf - p->first >= p->count)
		LS_TRY(ask(run, leaf, run->block->count + 1, err));
	*at = p->at[leaf - p->first];
	*len = p->len[leaf - p->first];
done:
	return status;
}

ls_status ls_run__scan_log(ls_run *run, uint64_t limit, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t size = ls_file_size(run->log_file);
	uint64_t at = run->block->end;
	uint8_t header[LS_RUN_BLOCK_HEADER];
	if (run->source.file)
		return ask_for_blocks(run, damage, err);
	while (at < size && run->block->count + 1 < limit) {
		uint64_t first = run->block->count * run->commit_every + 1, len;
		if (size - at < sizeof header) {
			ls_run__damage(damage, "rounding-log/frames", first, "found %llu bytes at the end, expected a block or nothing",
			               (unsigned long long)(size - at));
			damage->tail = run->block->count + 1 >= run->promised;
			break;
		}
		LS_TRY(ls_file_read_at(run->log_file, at, header, sizeof header, err));
		len = ls_get_le64(header + 8);
		if (ls_get_le64(header) != run->block->count + 1 || len > size - at - sizeof header || len > BLOCK_MAX) {
			ls_run__damage(damage, "rounding-log/frames", first,
			               "found the block of leaf %llu with %llu bytes at offset %llu, expected that of leaf %llu within the file",
			               (unsigned long long)ls_get_le64(header), (unsigned long long)len, (unsigned long long)at,
			               (unsigned long long)run->block->count + 1);
			damage->tail = run->block->count + 1 >= run->promised;
			break;
		}
		LS_TRY(ls_blocks_push(run->block, len, err));
		at += sizeof header + len;
	}
	if (run->block->count + 1 < run->leaves) { // a leaf promises a block that is not there
		damage->tail = run->block->count + 1 >= run->promised && (damage->tail || !damage->found);
		ls_run__damage(damage, "rounding-log/frames", run->block->count * run->commit_every + 1,
		               "found the blocks of %llu leaves, expected %llu", (unsigned long long)run->block->count,
		               (unsigned long long)run->leaves - 1);
	} else if (!damage->found && run->block->count + 1 > run->leaves) {
		ls_run__damage(damage, "rounding-log/frames", (run->leaves - 1) * run->commit_every + 1,
		               "found the blocks of %llu leaves, expected %llu", (unsigned long long)run->block->count,
		               (unsigned long long)run->leaves - 1);
		damage->tail = true;
	}
done:
	return status;
}

/* No block of `steps` steps is longer: a frame's coding is never longer than the dense one, which the sparse one may not
 * exceed either. Guards the memory that a file's own length asks for. */
static uint64_t longest_block(const ls_program *program, uint64_t steps)
{
	uint64_t step = 0, all;
	for (int op = 0; op < ls_program_ops(program); op++)
		for (int64_t start = 0; is_product(program, op) && start < elements_of(program, op); start += LS_FRAME_ELEMENTS)
			step += 4 + 1 + ((uint64_t)frame_length(elements_of(program, op), start) + 4) / 5;
	return __builtin_mul_overflow(step, steps, &all) ? UINT64_MAX : all;
}

/* Whether the block's frames hash to the leaf's log root, and nothing follows them. */
static ls_status block_fits(const ls_run *run, uint64_t leaf, const ls_program *program, ls_encoding encoding,
                            const ls_hash *promised, const uint8_t *block, size_t len, ls_step_log *log, bool *fits)
{
	uint64_t first, last;
	ls_cursor cursor = ls_cursor_over(block, len);
	ls_tree tree;
	ls_hash root;
	ls_status status = LS_OK;
	bool logged = ls_job_keeps_log(ls_job_spec_of(run->job)); // otherwise blocks are empty
	*fits = false;
	ls_tree_init(&tree, run->hasher, 0);
	ls_run_leaf_steps(run, leaf, &first, &last);
	for (uint64_t step = first; step <= last && logged && status == LS_OK; step++)
		status = ls_log_read_step(&cursor, &tree, program, step, log, encoding);
	if (status == LS_ERR_INPUT)
		return LS_OK;
	if (status == LS_OK)
		status = ls_tree_head(&tree, &root);
	*fits = status == LS_OK && ls_cursor_done(&cursor) && ls_hash_equal(&root, promised);
	return status;
}

static ls_status withheld(ls_damage *damage, uint64_t first, uint64_t leaf, const char *what)
{
	ls_run__damage(damage, "rounding-log/frames", first, "%s of leaf %llu was not given", what, (unsigned long long)leaf);
	damage->withheld = true;
	return LS_OK;
}

static ls_status fetch_block(const ls_run *run, uint64_t at, uint8_t *block, size_t len, ls_error *err)
{
	if (run->source.file)
		return run->source.read_log(run->source.context, at, block, len, err);
	return ls_file_read_at(run->log_file, at, block, len, err);
}

ls_status ls_run_read_log(const ls_run *run, uint64_t leaf, const ls_program *program, ls_encoding encoding, uint8_t **block,
                          size_t *len, ls_damage *damage, ls_error *err)
{
	ls_status status;
	uint64_t first, last, at, bytes;
	bool fits;
	ls_leaf its;
	ls_step_log log = {0};
	*block = NULL;
	ls_run_leaf_steps(run, leaf, &first, &last);
	LS_TRY(ls_run_read_leaf(run, leaf, &its, err));
	status = ls_run_block_place(run, leaf, &at, &bytes, err);
	if (status == LS_ERR_NOT_FOUND)
		return withheld(damage, first, leaf, "the place of the block");
	if (status != LS_OK)
		goto done;
	*len = (size_t)bytes;
	if (*len > longest_block(program, last - first + 1)) {
		ls_run__damage(damage, "rounding-log/frames", first, "found a block of %zu bytes for leaf %llu, expected at most %llu", *len,
		               (unsigned long long)leaf, (unsigned long long)longest_block(program, last - first + 1));
		return LS_OK;
	}
	LS_TRY(ls_step_log_open(&log, ls_program_ops(program), err));
	*block = ls_alloc(*len, 1);
	if (!*block) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a rounding-log block of %zu bytes", *len);
		goto done;
	}
	status = fetch_block(run, at, *block, *len, err);
	if (status == LS_ERR_NOT_FOUND)
		status = withheld(damage, first, leaf, "the block");
	if (status != LS_OK || damage->found)
		goto done;
	status = block_fits(run, leaf, program, encoding, &its.log, *block, *len, &log, &fits);
	if (status != LS_OK) {
		ls_error_set(err, status, "leaf %llu: no memory to decode its rounding log", (unsigned long long)leaf);
		goto done;
	}
	if (!fits) {
		ls_run__damage(damage, "rounding-log/frames", first,
		               "the block of leaf %llu (%zu bytes at offset %llu) does not hash to the leaf's log root",
		               (unsigned long long)leaf, *len, (unsigned long long)at);
	}
done:
	ls_step_log_free(&log);
	if (status != LS_OK || damage->found) {
		ls_free(*block);
		*block = NULL;
	}
	return status;
}

ls_status ls_run_log_statistics(const ls_run *run, const ls_program *program, ls_log_statistics *out, ls_error *err)
{
	ls_status status = LS_OK;
	ls_encoding encoding = (ls_encoding)ls_job_spec_of(run->job)->arithmetic.encoding;
	ls_step_log log = {0};
	uint8_t *block = NULL;
	*out = (ls_log_statistics){0};
	if (!ls_job_keeps_log(ls_job_spec_of(run->job)))
		return LS_OK;
	out->bytes = ls_run_log_bytes(run);
	LS_TRY(ls_step_log_open(&log, ls_program_ops(program), err));
	for (uint64_t leaf = 1; leaf < run->leaves; leaf++) {
		uint64_t first, last;
		size_t len;
		ls_damage damage = {0};
		ls_cursor cursor;
		ls_tree tree;
		LS_TRY(ls_run_read_log(run, leaf, program, encoding, &block, &len, &damage, err));
		if (damage.found) {
			status = ls_error_set(err, LS_ERR_INPUT, "%s/%s: %s", run->dir, damage.file, damage.text);
			goto done;
		}
		cursor = ls_cursor_over(block, len);
		ls_tree_init(&tree, run->hasher, 0);
		ls_run_leaf_steps(run, leaf, &first, &last);
		for (uint64_t step = first; step <= last; step++) {
			status = ls_log_read_step(&cursor, &tree, program, step, &log, encoding);
			if (status != LS_OK) {
				ls_error_set(err, status, "step %llu: no memory to decode its rounding log", (unsigned long long)step);
				goto done;
			}
			for (int op = 0; op < log.ops; op++) {
				out->entries += log.op[op].count;
				out->elements += is_product(program, op) ? (uint64_t)elements_of(program, op) : 0;
			}
		}
		ls_free(block);
		block = NULL;
	}
done:
	ls_free(block);
	ls_step_log_free(&log);
	return status;
}
