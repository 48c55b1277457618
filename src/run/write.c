#include "run/pieces.h"
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a start that was cut off may have left behind; everything else in a folder is somebody's. */
static bool is_ours(const char *name)
{
	static const char *const names[] = {"job.yaml", "job.bin", LS_JOB_THRESHOLDS_FILE, "nonce", "leaves", "heads",
	                                    "rounding-log", "snapshots", "pieces", "metrics.jsonl",
	                                    LS_RUN__TRAINER, LS_RUN__AUDITOR};
	size_t len = strlen(name);
	if (len > 4 && !strcmp(name + len - 4, ".tmp"))
		len -= 4;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return true;
	return false;
}

/* Opens `folder` of `dir` for listing: NULL and LS_OK where there is none. */
static ls_status list(DIR **out, const char *dir, const char *folder, ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status = ls_path_join(path, sizeof path, dir, folder, err);
	if (status != LS_OK)
		return status;
	*out = opendir(path);
	if (*out || errno == ENOENT || errno == ENOTDIR) // making it will say what is wrong
		return LS_OK;
	return ls_error_set(err, errno == ENOMEM ? LS_ERR_NOMEM : LS_ERR_IO, "%s: could not list it: %s", path, strerror(errno));
}

static bool is_anybodys(const char *name)
{
	return false;
}

/* A file of a start that was cut off: still being written, or the snapshot of step 0. */
static bool is_of_start(const char *name)
{
	return strstr(name, ".tmp") || !strcmp(name, "0000000000");
}

/* Whether the folder holds nothing but names that `allowed` knows; a folder that is not there holds nothing. */
static ls_status holds_only(bool *out, const char *dir, const char *folder, bool (*allowed)(const char *name), ls_error *err)
{
	struct dirent *entry;
	DIR *d = NULL;
	ls_status status = list(&d, dir, folder, err);
	*out = true;
	while (d && (entry = readdir(d)))
		*out &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || allowed(entry->d_name);
	if (d)
		closedir(d);
	return status;
}

static bool is_longer(const char *dir, const char *name, off_t most)
{
	char path[LS_PATH_MAX];
	struct stat st;
	return ls_path_join(path, sizeof path, dir, name, NULL) == LS_OK && stat(path, &st) == 0 && st.st_size > most;
}

/* The head over leaf 0 is the last thing that a start writes. Without one, and without a step, there is nothing to lose. */
ls_status ls_run_is_unstarted(bool *out, const char *dir, ls_error *err)
{
	ls_status status;
	bool run, heads, snapshots;
	LS_TRY(holds_only(&run, dir, ".", is_ours, err));
	LS_TRY(holds_only(&heads, dir, "heads", is_of_start, err));
	LS_TRY(holds_only(&snapshots, dir, "snapshots", is_of_start, err));
	*out = run && heads && snapshots && !is_longer(dir, "leaves", 4 + LS_LEAF_BYTES_MAX) &&
	       !is_longer(dir, "rounding-log/frames", 0) && !is_longer(dir, "metrics.jsonl", 0);
done:
	return status;
}

ls_status ls_run__write_file(const ls_run *run, const char *name, const void *data, size_t len, ls_error *err)
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

/* What a start that was cut off left in them goes. */
static ls_status open_files(ls_run *run, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX];
	LS_TRY(open_file(run, "rounding-log/frames", &run->log_file, err));
	LS_TRY(open_file(run, "metrics.jsonl", &run->metrics_file, err));
	if (ls_file_size(run->leaf_file))
		LS_TRY(ls_file_truncate(run->leaf_file, 0, err));
	if (ls_file_size(run->log_file))
		LS_TRY(ls_file_truncate(run->log_file, 0, err));
	if (ls_file_size(run->metrics_file))
		LS_TRY(ls_file_truncate(run->metrics_file, 0, err));
	LS_TRY(ls_run__path(run, LS_RUN__PIECES, path, err));
	if (ls_file_exists(path))
		LS_TRY(ls_run_drop_snapshots(run, &(uint64_t){0}, 1, err));
done:
	return status;
}

/* One writer at a time, from the first file on; whoever comes second finds it locked, or a run that has begun. */
static ls_status lock(ls_run *run, bool again, ls_error *err)
{
	ls_status status;
	bool unstarted = true;
	LS_TRY(open_file(run, "leaves", &run->leaf_file, err));
	LS_TRY(ls_file_lock(run->leaf_file, err));
	if (again)
		LS_TRY(ls_run_is_unstarted(&unstarted, run->dir, err));
	if (!unstarted)
		status = ls_error_set(err, LS_ERR_EXISTS, "%s: another process has begun this run", run->dir);
done:
	return status;
}

static ls_status write_public_key(const ls_run *run, const char *name, const uint8_t key[32], ls_error *err)
{
	ls_status status;
	ls_buf text;
	ls_buf_init(&text, LS_KEY_FILE_MAX);
	LS_TRY(ls_public_key_encode(&text, key, err));
	LS_TRY(ls_run__write_file(run, name, text.data, text.len, err));
done:
	ls_buf_free(&text);
	return status;
}

/* A start that was cut off may have been one with another key. */
static ls_status drop_file(const ls_run *run, const char *name, ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status = ls_run__path(run, name, path, err);
	if (status == LS_OK && unlink(path) && errno != ENOENT)
		status = ls_error_set(err, LS_ERR_IO, "%s: could not remove it: %s", path, strerror(errno));
	return status;
}

static ls_status write_keys(const ls_run *run, ls_error *err)
{
	ls_status status;
	LS_TRY(drop_file(run, LS_RUN__TRAINER, err));
	LS_TRY(drop_file(run, LS_RUN__AUDITOR, err));
	if (!ls_public_key_none(run->trainer))
		LS_TRY(write_public_key(run, LS_RUN__TRAINER, run->trainer, err));
	if (run->replay && ls_public_key_none(run->signer))
		LS_TRY(ls_run__write_file(run, LS_RUN__AUDITOR, LS_RUN__UNSIGNED, strlen(LS_RUN__UNSIGNED), err));
	else if (run->replay)
		LS_TRY(write_public_key(run, LS_RUN__AUDITOR, run->signer, err));
done:
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
	status = ls_job_emit_yaml(ls_plan_job(plan), &yaml);
	if (status != LS_OK) {
		ls_error_set(err, status, "job.yaml: %s", ls_status_text(status));
		goto done;
	}
	LS_TRY(ls_run__write_file(run, "job.yaml", yaml.data, yaml.len, err));
	LS_TRY(ls_run__write_file(run, "job.bin", bytes, len, err));
	if (thresholds)
		LS_TRY(ls_run__write_file(run, LS_JOB_THRESHOLDS_FILE, thresholds, thresholds_len, err));
	ls_hex(nonce, run->nonce, 32);
	nonce[64] = '\n';
	LS_TRY(ls_run__write_file(run, "nonce", nonce, 65, err));
	LS_TRY(write_keys(run, err));
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

static ls_status create(ls_run **out, const char *dir, const ls_job_plan *plan, const uint8_t nonce[32], bool again,
                        const ls_run *source, const ls_key *key, ls_error *err)
{
	ls_status status;
	ls_run *run;
	bool fresh;
	*out = NULL;
	status = again ? ls_run_is_unstarted(&fresh, dir, err) : holds_only(&fresh, dir, ".", is_anybodys, err);
	if (status != LS_OK)
		return status;
	if (!fresh)
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
	LS_TRY(ls_run__identify(run, err));
	LS_TRY(ls_run__open_leaves(run, err));
	LS_TRY(make_folders(run, err));
	LS_TRY(lock(run, again, err));
	LS_TRY(write_identity(run, plan, err));
	LS_TRY(open_files(run, err));
	LS_TRY(sync_folders(run, err));
	*out = run;
	run = NULL;
done:
	ls_run_free(run);
	return status;
}

ls_status ls_run_create(ls_run **out, const char *dir, const ls_job_plan *plan, const uint8_t nonce[32], bool again,
                        const ls_key *key, ls_error *err)
{
	uint8_t drawn[32];
	if (!nonce && getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
		return ls_error_set(err, LS_ERR_IO, "the system gave no random numbers");
	return create(out, dir, plan, nonce ? nonce : drawn, again, NULL, key, err);
}

ls_status ls_run_create_copy(ls_run **out, const char *dir, const ls_job_plan *plan, const ls_run *source, const ls_key *key,
                             ls_error *err)
{
	return create(out, dir, plan, source->nonce, false, source, key, err);
}

ls_status ls_run_append_leaf(ls_run *run, const ls_leaf *leaf, ls_error *err)
{
	ls_status status;
	ls_buf record, bytes;
	ls_buf_init(&record, 4 + LS_LEAF_BYTES_MAX);
	ls_buf_init(&bytes, LS_LEAF_BYTES_MAX);
	record.status = ls_leaf_encode(&bytes, leaf);
	ls_buf_u32(&record, (uint32_t)bytes.len);
	ls_buf_bytes(&record, bytes.data, bytes.len);
	if (record.status != LS_OK) {
		status = ls_error_set(err, record.status, "a leaf of step %llu: %s", (unsigned long long)leaf->step,
		                      ls_status_text(record.status));
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
	uint8_t header[LS_RUN_BLOCK_HEADER];
	uint64_t at = ls_file_size(run->log_file);
	ls_put_le64(header, leaf);
	ls_put_le64(header + 8, len);
	LS_TRY(ls_file_append(run->log_file, header, sizeof header, err));
	LS_TRY(ls_file_append(run->log_file, block, len, err));
	LS_TRY(ls_blocks_push(run->block, len, err));
done:
	if (status != LS_OK)
		ls_file_truncate(run->log_file, at, NULL);
	return status;
}

ls_status ls_run_append_metrics(ls_run *run, const void *lines, size_t len, ls_error *err)
{
	return ls_file_append(run->metrics_file, lines, len, err);
}

ls_status ls_run_sync(ls_run *run, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_file_sync(run->log_file, err));
	LS_TRY(ls_file_sync(run->metrics_file, err));
	LS_TRY(ls_file_sync(run->leaf_file, err));
done:
	return status;
}

ls_status ls_run__encode_head(const ls_run *run, ls_run__head_file *out, ls_error *err)
{
	ls_status status;
	ls_head head = {.run = run->id, .size = run->leaves};
	ls_signed_head signed_head;
	LS_TRY(ls_run_root(run, run->leaves, &head.root, err));
	LS_TRY(ls_signed_head_make(&signed_head, &head, run->key, err));
	ls_signed_head_encode(out->text, &signed_head);
	snprintf(out->name, sizeof out->name, "heads/%llu", (unsigned long long)head.size);
done:
	return status;
}

ls_status ls_run_write_head(ls_run *run, ls_error *err)
{
	ls_status status;
	ls_run__head_file head;
	LS_TRY(ls_run__encode_head(run, &head, err));
	LS_TRY(ls_run__write_file(run, head.name, head.text, strlen(head.text), err));
	run->promised = run->leaves;
done:
	return status;
}

ls_status ls_run_seal(ls_run *run, uint64_t step, ls_exec *exec, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_run_sync(run, err));
	if (exec)
		LS_TRY(ls_run_write_snapshot(run, step, exec, err));
	LS_TRY(ls_run_write_head(run, err));
done:
	return status;
}

bool ls_run_has_head(const ls_run *run)
{
	return run->promised == run->leaves;
}
