/* Going on with a run: what of it is kept, and that the rest is gone before anything new is written. */
#include "run/lines.h"
#include "run/pieces.h"
#include "run/run.h"

#include <dirent.h>
#include <stdio.h>

/* A file that is not written to is not touched: a finished run may lie where nothing can be written. */
static ls_status shorten(ls_file *file, uint64_t size, ls_error *err)
{
	return ls_file_size(file) > size ? ls_file_truncate(file, size, err) : LS_OK;
}

/* Keeps the lines of the first `steps` steps. */
static ls_status cut_metrics(ls_run *run, uint64_t steps, ls_error *err)
{
	ls_status status = LS_OK;
	const char *text = "";
	size_t len;
	ls_lines *lines = ls_alloc(1, sizeof *lines);
	if (!lines)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to read metrics.jsonl");
	ls_run__lines_over(lines, run->metrics_file);
	for (uint64_t line = 0; line < steps && text; line++)
		LS_TRY(ls_run__next_line(lines, &text, &len, err));
	LS_TRY(shorten(run->metrics_file, lines->next, err));
done:
	ls_free(lines);
	return status;
}

/* Everything after the first `leaves` leaves goes: the files behind them are cut to match. */
static ls_status cut_files(ls_run *run, uint64_t leaves, ls_error *err)
{
	ls_status status;
	uint64_t first, last;
	LS_TRY(ls_run__forget_behind(run, leaves, err));
	LS_TRY(shorten(run->leaf_file, ls_leaves_place(leaves), err));
	LS_TRY(shorten(run->log_file, run->block->end, err));
	ls_run_leaf_steps(run, leaves, &first, &last);
	LS_TRY(cut_metrics(run, first - 1, err));
done:
	return status;
}

/* Heads that promise leaves which are done again. They must be gone from the disk before the leaves are, or a loss of power
 * would leave a promise that nothing keeps. */
static ls_status drop_heads(ls_run *run, uint64_t leaves, ls_error *err)
{
	uint64_t *size = NULL;
	size_t count = 0;
	bool dropped = false;
	char name[64], path[LS_PATH_MAX];
	ls_status status = ls_run_heads(run, &size, &count, err);
	run->promised = 0;
	for (size_t i = 0; i < count && status == LS_OK; i++) {
		snprintf(name, sizeof name, "heads/%llu", (unsigned long long)size[i]);
		status = ls_run__path(run, name, path, err);
		if (size[i] <= leaves) {
			run->promised = size[i];
		} else if (status == LS_OK) {
			status = ls_file_remove(path, err);
			dropped = true;
		}
	}
	if (status == LS_OK && dropped)
		status = ls_run__path(run, "heads", path, err);
	if (status == LS_OK && dropped)
		status = ls_dir_sync(path, err);
	ls_free(size);
	return status;
}

/* Snapshots of steps that are done again; a damaged one among them would stay damage for ever. */
static ls_status drop_snapshots(ls_run *run, uint64_t after, ls_error *err)
{
	uint64_t *step = NULL;
	size_t count = 0, kept = 0;
	ls_status status = ls_run_snapshots(run, &step, &count, err);
	while (kept < count && step[kept] <= after)
		kept++;
	if (status == LS_OK && kept < count)
		status = ls_run_drop_snapshots(run, step + kept, count - kept, err);
	ls_free(step);
	return status;
}

/* Files that were being written when a process ended: they have no name yet, so nothing refers to them. */
static ls_status drop_unnamed(const ls_run *run, const char *folder, ls_error *err)
{
	char path[LS_PATH_MAX], file[LS_PATH_MAX];
	struct dirent *entry;
	DIR *d;
	ls_status status = folder[0] ? ls_run__path(run, folder, path, err) : LS_OK;
	if (status != LS_OK)
		return status;
	d = opendir(folder[0] ? path : run->dir);
	while (d && status == LS_OK && (entry = readdir(d))) {
		size_t len = strlen(entry->d_name);
		if (len < 4 || strcmp(entry->d_name + len - 4, ".tmp"))
			continue;
		status = ls_path_join(file, sizeof file, folder[0] ? path : run->dir, entry->d_name, err);
		if (status == LS_OK)
			status = ls_file_remove(file, err);
	}
	if (d)
		closedir(d);
	return status;
}

ls_status ls_run_open_to_write(ls_run **out, const char *dir, ls_damage *damage, ls_error *err)
{
	return ls_run__open(out, dir, LS_RUN__WRITE, NULL, damage, err);
}

ls_status ls_run_cut(ls_run *run, uint64_t leaves, ls_error *err)
{
	ls_status status;
	LS_TRY(drop_heads(run, leaves, err));
	LS_TRY(cut_files(run, leaves, err));
	LS_TRY(drop_snapshots(run, ls_run_last_step(run), err));
	LS_TRY(drop_unnamed(run, "", err));
	LS_TRY(drop_unnamed(run, "heads", err));
	LS_TRY(drop_unnamed(run, "snapshots", err));
	LS_TRY(ls_run__sweep(run, err));
done:
	return status;
}

ls_status ls_run_continue_with(ls_run *run, const ls_key *key, ls_error *err)
{
	uint8_t public_key[LS_KEY_BYTES] = {0};
	if (key)
		ls_key_public(key, public_key);
	run->key = key;
	if (!memcmp(public_key, run->signer, sizeof public_key))
		return LS_OK;
	return ls_error_input(err, run->dir, "key", key ? "another key" : "none",
	                      ls_public_key_none(run->signer) ? "none, as the run began" : "the key that signed this run's heads",
	                      "give the same --key as when the run began");
}

uint64_t ls_run_usable(const ls_run *run)
{
	return run->block->count + 1 < run->leaves ? run->block->count + 1 : run->leaves;
}

ls_status ls_run_check_kept(const ls_run *run, uint64_t leaves, const ls_program *program, ls_encoding encoding,
                            ls_damage *damage, ls_error *err)
{
	ls_status status = ls_run__check_promises(run, damage, err);
	uint64_t end;
	for (uint64_t leaf = 1; leaf < leaves && status == LS_OK && !damage->found; leaf++) {
		uint8_t *block;
		size_t len;
		status = ls_run_read_log(run, leaf, program, encoding, &block, &len, damage, err);
		ls_free(block);
	}
	if (status == LS_OK && !damage->found)
		status = ls_run__check_metrics(run, leaves, &end, damage, err);
	return status;
}
