#include "run/lines.h"
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool empty = true;
	if (!d)
		return errno == ENOENT || errno == ENOTDIR; // making the folder will say what is wrong
	while ((entry = readdir(d)))
		empty &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(d);
	return empty;
}

static ls_status write_file(const ls_run *run, const char *name, const void *data, size_t len, ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status = ls_run__path(run, name, path, err);
	return status == LS_OK ? ls_file_write(path, data, len, err) : status;
}

static ls_status open_file(const ls_run *run, const char *name, ls_file **out, ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status = ls_run__path(run, name, path, err);
	return status == LS_OK ? ls_file_open(out, path, true, err) : status;
}

static ls_status make_folders(const ls_run *run, ls_error *err)
{
	static const char *const folder[] = {"", "heads", "rounding-log", "snapshots"};
	ls_status status = LS_OK;
	for (size_t i = 0; i < sizeof folder / sizeof *folder && status == LS_OK; i++) {
		char path[LS_PATH_MAX];
		status = folder[i][0] ? ls_run__path(run, folder[i], path, err) : LS_OK;
		if (status == LS_OK)
			status = ls_dir_make(folder[i][0] ? path : run->dir, err);
	}
	return status;
}

static ls_status open_files(ls_run *run, ls_error *err)
{
	ls_status status;
	LS_TRY(open_file(run, "leaves", &run->leaf_file, err));
	LS_TRY(ls_file_lock(run->leaf_file, err)); // one writer at a time
	LS_TRY(open_file(run, "rounding-log/frames", &run->log_file, err));
	LS_TRY(open_file(run, "metrics.jsonl", &run->metrics_file, err));
done:
	return status;
}

static ls_status write_public_key(const ls_run *run, const char *name, const uint8_t key[32], ls_error *err)
{
	ls_status status;
	ls_buf text;
	ls_buf_init(&text, LS_KEY_FILE_MAX);
	LS_TRY(ls_public_key_encode(&text, key, err));
	LS_TRY(write_file(run, name, text.data, text.len, err));
done:
	ls_buf_free(&text);
	return status;
}

static ls_status write_identity(const ls_run *run, const ls_job_plan *plan, ls_error *err)
{
	ls_status status;
	size_t len;
	const uint8_t *bytes = ls_plan_bytes(plan, &len);
	size_t thresholds_len;
	const uint8_t *thresholds = ls_job_thresholds_bytes(ls_plan_job(plan), &thresholds_len);
	char nonce[65 + 1];
	ls_buf yaml;
	ls_buf_init(&yaml, LS_JOB_BYTES_MAX);
	LS_TRY(ls_job_emit_yaml(ls_plan_job(plan), &yaml));
	LS_TRY(write_file(run, "job.yaml", yaml.data, yaml.len, err));
	LS_TRY(write_file(run, "job.bin", bytes, len, err));
	if (thresholds)
		LS_TRY(write_file(run, LS_JOB_THRESHOLDS_FILE, thresholds, thresholds_len, err));
	ls_hex(nonce, run->nonce, 32);
	nonce[64] = '\n';
	LS_TRY(write_file(run, "nonce", nonce, 65, err));
	if (!ls_public_key_none(run->trainer))
		LS_TRY(write_public_key(run, LS_RUN__TRAINER, run->trainer, err));
	if (run->replay && ls_public_key_none(run->signer))
		LS_TRY(write_file(run, LS_RUN__AUDITOR, LS_RUN__UNSIGNED, strlen(LS_RUN__UNSIGNED), err));
	else if (run->replay)
		LS_TRY(write_public_key(run, LS_RUN__AUDITOR, run->signer, err));
done:
	ls_buf_free(&yaml);
	return status;
}

/* The names of the files that only grow: their bytes are synced later, their places now. */
static ls_status sync_folders(const ls_run *run, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX];
	LS_TRY(ls_run__path(run, "rounding-log", path, err));
	LS_TRY(ls_dir_sync(path, err));
	LS_TRY(ls_dir_sync(run->dir, err));
	LS_TRY(ls_run__path(run, "..", path, err));
	LS_TRY(ls_dir_sync(path, err));
done:
	return status;
}

/* Who is who in a new run, of a trainer or, with `source`, of an auditor. */
static ls_status take_keys(ls_run *run, const ls_run *source, const ls_key *key, ls_error *err)
{
	const uint8_t *named = run->binding.trainer;
	run->key = key;
	run->replay = source != NULL;
	if (key)
		ls_key_public(key, run->signer);
	memcpy(run->trainer, source ? source->trainer : run->signer, 32);
	if (ls_public_key_none(named) || !memcmp(named, run->trainer, 32))
		return LS_OK;
	return ls_error_input(err, run->dir, "trainer's key", key ? "another key than the job names" : "none", "the key that the job names",
	                      "give the trainer's private key with --key");
}

static ls_status create(ls_run **out, const char *dir, const ls_job_plan *plan, const uint8_t nonce[32], const ls_run *source,
                        const ls_key *key, ls_error *err)
{
	ls_status status = LS_OK;
	ls_run *run;
	*out = NULL;
	if (!is_empty(dir))
		return ls_error_set(err, LS_ERR_EXISTS, "%s: is there and not empty; a run is never overwritten\n"
		                    "  hint: choose another folder; a run is gone on with by train --resume", dir);
	run = ls_alloc(1, sizeof *run);
	if (!run)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a run");
	if (snprintf(run->dir, sizeof run->dir, "%s", dir) >= LS_PATH_MAX) {
		status = ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", dir);
		goto done;
	}
	run->job_id = *ls_plan_job_id(plan);
	run->binding = *ls_plan_binding(plan);
	run->commit_every = ls_plan_spec(plan)->train.commit_every;
	memcpy(run->nonce, nonce, 32);
	LS_TRY(take_keys(run, source, key, err));
	LS_TRY(ls_run_id(&run->id, &run->job_id, run->trainer, nonce));
	LS_TRY(ls_hasher_open(&run->hasher, 1, err));
	ls_tree_init(&run->tree, run->hasher, 0);
	LS_TRY(make_folders(run, err));
	LS_TRY(write_identity(run, plan, err));
	LS_TRY(open_files(run, err));
	LS_TRY(sync_folders(run, err));
	*out = run;
	run = NULL;
done:
	ls_run_free(run);
	return status;
}

ls_status ls_run_create(ls_run **out, const char *dir, const ls_job_plan *plan, const uint8_t nonce[32], const ls_key *key,
                        ls_error *err)
{
	uint8_t drawn[32];
	if (!nonce && getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
		return ls_error_set(err, LS_ERR_IO, "the system gave no random numbers");
	return create(out, dir, plan, nonce ? nonce : drawn, NULL, key, err);
}

ls_status ls_run_create_copy(ls_run **out, const char *dir, const ls_job_plan *plan, const ls_run *source, const ls_key *key,
                             ls_error *err)
{
	return create(out, dir, plan, source->nonce, source, key, err);
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
	LS_TRY(ls_file_truncate(run->metrics_file, lines->next, err));
done:
	ls_free(lines);
	return status;
}

/* Everything after the first `leaves` leaves goes: the files behind them are cut to match. */
static ls_status cut(ls_run *run, uint64_t leaves, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t at = 0, first, last;
	for (uint64_t i = 0; i < leaves; i++) {
		ls_buf bytes;
		ls_buf_init(&bytes, LS_LEAF_BYTES_MAX);
		status = ls_leaf_encode(&bytes, &run->leaf[i]);
		at += 4 + bytes.len;
		ls_buf_free(&bytes);
		if (status != LS_OK)
			return ls_error_set(err, status, "leaf %llu cannot be encoded", (unsigned long long)i);
	}
	LS_TRY(ls_file_truncate(run->leaf_file, at, err));
	run->leaves = leaves;
	ls_tree_init(&run->tree, run->hasher, 0);
	for (uint64_t i = 0; i < leaves; i++)
		LS_TRY(ls_run__push_leaf(&run->tree, &run->leaf[i], err));
	if (run->blocks > leaves - 1)
		run->blocks = leaves - 1;
	at = run->blocks ? run->block_at[run->blocks - 1] + run->block_len[run->blocks - 1] : 0;
	LS_TRY(ls_file_truncate(run->log_file, at, err));
	ls_run_leaf_steps(run, leaves, &first, &last);
	LS_TRY(cut_metrics(run, first - 1, err));
done:
	return status;
}

/* Heads that promise leaves which are done again. */
static ls_status drop_heads(const ls_run *run, uint64_t leaves, ls_error *err)
{
	uint64_t *size = NULL;
	size_t count = 0;
	char name[64], path[LS_PATH_MAX];
	ls_status status = ls_run__heads(run, &size, &count, err);
	for (size_t i = 0; i < count && status == LS_OK; i++) {
		snprintf(name, sizeof name, "heads/%llu", (unsigned long long)size[i]);
		status = ls_run__path(run, name, path, err);
		if (status == LS_OK && size[i] > leaves)
			unlink(path);
	}
	ls_free(size);
	return status;
}

/* Snapshots of steps that are done again; a damaged one among them would stay damage for ever. */
static ls_status drop_snapshots(ls_run *run, uint64_t after, ls_error *err)
{
	uint64_t *step = NULL;
	size_t count = 0;
	ls_status status = ls_run_snapshots(run, &step, &count, err);
	for (size_t i = 0; i < count && status == LS_OK; i++)
		if (step[i] > after)
			status = ls_run_drop_snapshot(run, step[i], err);
	ls_free(step);
	return status;
}

/* Heads that a run has and those that follow bear one signature. */
static ls_status continue_with(ls_run *run, const ls_key *key, ls_error *err)
{
	uint8_t public_key[32] = {0};
	if (key)
		ls_key_public(key, public_key);
	run->key = key;
	if (!memcmp(public_key, run->signer, 32))
		return LS_OK;
	return ls_error_input(err, run->dir, "key", key ? "another key" : "none", ls_public_key_none(run->signer) ? "none, as the run began" : "the key that signed this run's heads",
	                      "give the same --key as when the run began");
}

ls_status ls_run_reopen(ls_run **out, const char *dir, const ls_job_plan *plan, uint64_t leaves, const ls_key *key,
                        ls_error *err)
{
	ls_status status;
	ls_damage damage = {0};
	ls_run *run = NULL;
	*out = NULL;
	LS_TRY(ls_run_open(&run, dir, &damage, err));
	if (damage.tail)
		damage = (ls_damage){0}; // cut() drops it
	if (!damage.found)
		ls_run_compare_plan(run, plan, &damage);
	if (damage.found) {
		status = ls_error_set(err, LS_ERR_INPUT, "%s/%s: %s", dir, damage.file, damage.text);
		goto done;
	}
	LS_TRY(continue_with(run, key, err));
	LS_TRY(ls_file_lock(run->leaf_file, err));
	LS_TRY(drop_heads(run, leaves, err));
	LS_TRY(cut(run, leaves < run->leaves ? leaves : run->leaves, err));
	LS_TRY(drop_snapshots(run, run->leaf[run->leaves - 1].step, err));
	*out = run;
	run = NULL;
done:
	ls_run_free(run);
	return status;
}

ls_status ls_run_append_leaf(ls_run *run, const ls_leaf *leaf, ls_error *err)
{
	ls_status status;
	ls_buf record, bytes;
	ls_buf_init(&record, 4 + LS_LEAF_BYTES_MAX);
	ls_buf_init(&bytes, LS_LEAF_BYTES_MAX);
	LS_TRY(ls_leaf_encode(&bytes, leaf));
	ls_buf_u32(&record, (uint32_t)bytes.len);
	ls_buf_bytes(&record, bytes.data, bytes.len);
	if (record.status != LS_OK) {
		status = ls_error_set(err, record.status, "no memory for a leaf");
		goto done;
	}
	LS_TRY(ls_file_append(run->leaf_file, record.data, record.len, err));
	LS_TRY(ls_run__remember_leaf(run, leaf, err));
done:
	ls_buf_free(&record);
	ls_buf_free(&bytes);
	return status;
}

ls_status ls_run_append_log(ls_run *run, uint64_t leaf, const void *block, size_t len, ls_error *err)
{
	ls_status status;
	uint8_t header[LS_RUN__BLOCK_HEADER];
	uint64_t at = ls_file_size(run->log_file);
	ls_put_le64(header, leaf);
	ls_put_le64(header + 8, len);
	LS_TRY(ls_file_append(run->log_file, header, sizeof header, err));
	LS_TRY(ls_file_append(run->log_file, block, len, err));
	LS_TRY(ls_run__remember_block(run, at + sizeof header, len, err));
done:
	if (status != LS_OK)
		ls_file_truncate(run->log_file, at, NULL);
	return status;
}

ls_status ls_run_append_metrics(ls_run *run, const void *lines, size_t len, ls_error *err)
{
	return ls_file_append(run->metrics_file, lines, len, err);
}

/* Rounding log before leaves, leaves before the head: what a head promises is on disk. */
ls_status ls_run_sync(ls_run *run, ls_error *err)
{
	ls_status status;
	ls_head head = {.run = run->id, .size = run->leaves};
	ls_signed_head signed_head;
	char text[LS_SIGNED_HEAD_TEXT_SIZE], name[64];
	LS_TRY(ls_file_sync(run->log_file, err));
	LS_TRY(ls_file_sync(run->metrics_file, err));
	LS_TRY(ls_file_sync(run->leaf_file, err));
	LS_TRY(ls_run_root(run, run->leaves, &head.root, err));
	LS_TRY(ls_signed_head_make(&signed_head, &head, run->key, err));
	ls_signed_head_encode(text, &signed_head);
	snprintf(name, sizeof name, "heads/%llu", (unsigned long long)head.size);
	LS_TRY(write_file(run, name, text, strlen(text), err));
done:
	return status;
}
