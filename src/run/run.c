#include "run/pieces.h"
#include "run/run.h"

#include <stdarg.h>
#include <stdio.h>

ls_status ls_run__path(const ls_run *run, const char *name, char out[LS_PATH_MAX], ls_error *err)
{
	return ls_path_join(out, LS_PATH_MAX, run->dir, name, err);
}

void ls_run__damage(ls_damage *damage, const char *file, uint64_t step, const char *format, ...)
{
	va_list args;
	if (damage->found) // the first finding stays
		return;
	damage->found = true;
	damage->has_step = step > 0 || !strncmp(file, "snapshots/", 10); // a snapshot may be that of step 0
	damage->step = step;
	snprintf(damage->file, sizeof damage->file, "%s", file);
	va_start(args, format);
	vsnprintf(damage->text, sizeof damage->text, format, args);
	va_end(args);
}

ls_status ls_run__open_leaves(ls_run *run, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_hasher_open(&run->hasher, 1, err));
	ls_tree_init(&run->tree, run->hasher, 0);
	LS_TRY(ls_leaves_open(&run->leaf, run->hasher, err));
	run->block = ls_alloc(1, sizeof *run->block);
	if (!run->block)
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a run");
done:
	return status;
}

ls_status ls_run__remember_leaf(ls_run *run, const ls_leaf *leaf, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_leaves_push(run->leaf, leaf, err));
	run->leaves++;
	LS_TRY(ls_run__push_leaf(&run->tree, leaf, err));
done:
	return status;
}

ls_status ls_run__forget_behind(ls_run *run, uint64_t leaves, ls_error *err)
{
	ls_status status;
	ls_leaf leaf;
	LS_TRY(ls_leaves_cut(run->leaf, run->leaf_file, leaves, err));
	run->leaves = leaves;
	ls_tree_init(&run->tree, run->hasher, 0);
	for (uint64_t i = 0; i < leaves; i++) {
		LS_TRY(ls_run_read_leaf(run, i, &leaf, err));
		LS_TRY(ls_run__push_leaf(&run->tree, &leaf, err));
	}
	if (run->block->count + 1 > leaves)
		LS_TRY(ls_blocks_cut(run->block, run->log_file, leaves - 1, err));
done:
	return status;
}

ls_status ls_run__identify(ls_run *run, ls_error *err)
{
	ls_status status = ls_run_id(&run->id, &run->job_id, run->trainer, run->nonce);
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "could not hash the run's id: %s", ls_status_text(status));
}

void ls_run_free(ls_run *run)
{
	if (!run)
		return;
	ls_job_free(run->job);
	ls_leaves_free(run->leaf);
	if (run->block)
		ls_blocks_free(run->block);
	ls_free(run->block);
	ls_free(run->places);
	ls_file_close(run->leaf_file);
	ls_file_close(run->log_file);
	ls_file_close(run->metrics_file);
	ls_hasher_free(run->hasher);
	ls_pieces_free(run->pieces);
	ls_free(run);
}

void ls_run_set_compress(ls_run *run, bool compress) { run->compress = compress; }
const char *ls_run_dir(const ls_run *run) { return run->dir; }
const ls_hash *ls_run_job_id(const ls_run *run) { return &run->job_id; }
const ls_hash *ls_run_id_of(const ls_run *run) { return &run->id; }
const ls_job *ls_run_job(const ls_run *run) { return run->job; }
const ls_job_binding *ls_run_binding(const ls_run *run) { return &run->binding; }
const uint8_t *ls_run_nonce(const ls_run *run) { return run->nonce; }
const uint8_t *ls_run_trainer_key(const ls_run *run) { return run->trainer; }
bool ls_run_is_replay(const ls_run *run) { return run->replay; }
const uint8_t *ls_run_signer(const ls_run *run) { return run->signer; }
uint64_t ls_run_leaves(const ls_run *run) { return run->leaves; }

uint64_t ls_run_log_bytes(const ls_run *run)
{
	return run->source.file ? run->block->end : ls_file_size(run->log_file);
}

ls_status ls_run__load(const ls_run *run, const char *name, uint64_t max, uint8_t **out, size_t *len, ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status;
	*out = NULL;
	if (run->source.file)
		return run->source.file(run->source.context, name, max, out, len, err);
	status = ls_run__path(run, name, path, err);
	return status == LS_OK ? ls_file_read(out, len, path, max, err) : status;
}

ls_status ls_run_read_leaf(const ls_run *run, uint64_t i, ls_leaf *out, ls_error *err)
{
	return ls_leaves_read(run->leaf, run->leaf_file, i, out, err);
}

uint64_t ls_run_last_step(const ls_run *run)
{
	uint64_t first, last = 0;
	if (run->leaves > 1)
		ls_run_leaf_steps(run, run->leaves - 1, &first, &last);
	return last;
}

uint64_t ls_run_leaf_of_step(const ls_run *run, uint64_t step)
{
	return (step + run->commit_every - 1) / run->commit_every;
}

bool ls_run_complete(const ls_run *run)
{
	return run->leaves == ls_run_leaf_of_step(run, run->binding.steps) + 1;
}

void ls_run_leaf_steps(const ls_run *run, uint64_t leaf, uint64_t *first, uint64_t *last)
{
	*first = (leaf - 1) * run->commit_every + 1;
	*last = leaf * run->commit_every < run->binding.steps ? leaf * run->commit_every : run->binding.steps;
}

ls_status ls_run__push_leaf(ls_tree *tree, const ls_leaf *leaf, ls_error *err)
{
	ls_buf bytes;
	ls_status status;
	ls_buf_init(&bytes, LS_LEAF_BYTES_MAX);
	status = ls_leaf_encode(&bytes, leaf);
	if (status == LS_OK)
		ls_tree_push(tree, bytes.data, bytes.len);
	ls_buf_free(&bytes);
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "a leaf of step %llu: %s", (unsigned long long)leaf->step,
	                                                   ls_status_text(status));
}

ls_status ls_run_root(const ls_run *run, uint64_t size, ls_hash *out, ls_error *err)
{
	ls_status status = LS_OK;
	ls_tree tree = run->tree;
	if (size < run->leaves)
		ls_tree_init(&tree, run->hasher, 0);
	for (uint64_t i = tree.size; i < size && i < run->leaves && status == LS_OK; i++) {
		ls_leaf leaf;
		status = ls_run_read_leaf(run, i, &leaf, err);
		if (status == LS_OK)
			status = ls_run__push_leaf(&tree, &leaf, err);
	}
	if (status != LS_OK)
		return status;
	status = ls_tree_head(&tree, out);
	if (status != LS_OK)
		ls_error_set(err, status, "could not hash the leaves of %s: %s", run->dir, ls_status_text(status));
	return status;
}

bool ls_snapshot_policy_parse(ls_snapshot_policy *out, const char *text)
{
	unsigned long long n = 0;
	int used = 0;
	if (!strcmp(text, "all")) {
		*out = (ls_snapshot_policy){LS_SNAPSHOTS_ALL, 1};
		return true;
	}
	out->kind = !strncmp(text, "every:", 6) ? LS_SNAPSHOTS_EVERY : LS_SNAPSHOTS_LAST;
	if (sscanf(text, out->kind == LS_SNAPSHOTS_EVERY ? "every:%19llu%n" : "last:%19llu%n", &n, &used) != 1 || text[used] || !n ||
	    strpbrk(text, "+- \t"))
		return false;
	out->n = n;
	return out->kind != LS_SNAPSHOTS_LAST || n <= LS_SNAPSHOTS_LAST_MAX;
}
