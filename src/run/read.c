#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOB_MAX = 1 << 16, NONCE_MAX = 128, HEAD_MAX = 1024 };

/* A file that must be there: its absence is damage. */
static ls_status read_file(const ls_run *run, const char *name, size_t max, uint8_t **out, size_t *len, ls_damage *damage,
                           ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status = ls_run__path(run, name, path, err);
	*out = NULL;
	if (status != LS_OK)
		return status;
	status = ls_file_read(out, len, path, max, err);
	if (status == LS_ERR_NOT_FOUND || status == LS_ERR_LIMIT || status == LS_ERR_INPUT) {
		ls_run__damage(damage, name, 0, "%s", status == LS_ERR_NOT_FOUND ? "the file is missing" : "the file is too large");
		return LS_OK;
	}
	return status;
}

/* The threshold file, where the signed job names one: it must have the digest that was signed. */
static ls_status read_thresholds(ls_run *run, const ls_job *signed_job, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	ls_error why = LS_ERROR_INIT;
	uint8_t *text = NULL;
	size_t len = 0;
	if (ls_job_spec_of(run->job)->arithmetic.threshold != LS_JOB_ADAPTIVE)
		return LS_OK;
	LS_TRY(read_file(run, LS_JOB_THRESHOLDS_FILE, JOB_MAX, &text, &len, damage, err));
	if (damage->found)
		goto done;
	if (ls_job_set_thresholds(run->job, LS_JOB_THRESHOLDS_FILE, text, len, &why) != LS_OK)
		ls_run__damage(damage, LS_JOB_THRESHOLDS_FILE, 0, "%s", why.text);
	else if (strcmp(ls_job_spec_of(run->job)->arithmetic.threshold_digest, ls_job_spec_of(signed_job)->arithmetic.threshold_digest))
		ls_run__damage(damage, LS_JOB_THRESHOLDS_FILE, 0, "found other thresholds than those that job.bin has the digest of");
done:
	ls_free(text);
	return status;
}

/* What a file says wrongly is damage; that memory ran out is not. */
static ls_status as_damage(ls_status status, const ls_error *why, const char *file, ls_damage *damage, ls_error *err)
{
	if (status == LS_OK)
		return LS_OK;
	if (status == LS_ERR_NOMEM)
		return ls_error_set(err, status, "%s: no memory to read it", file);
	ls_run__damage(damage, file, 0, "%s", why->text);
	return LS_OK;
}

static bool parse_nonce(uint8_t out[32], uint8_t *text, size_t len)
{
	char again[65];
	if (len != 65 || text[64] != '\n')
		return false;
	text[64] = 0;
	if (!ls_unhex(out, 32, (char *)text))
		return false;
	ls_hex(again, out, 32);
	return !strcmp(again, (char *)text);
}

/* A public key of the run, or zero where there is no such file and none is needed. */
static ls_status read_key(ls_run *run, const char *name, uint8_t out[32], ls_damage *damage, ls_error *err)
{
	ls_status status;
	ls_error why = LS_ERROR_INIT;
	char path[LS_PATH_MAX];
	uint8_t *text = NULL;
	size_t len = 0;
	LS_TRY(ls_run__path(run, name, path, err));
	if (!ls_file_exists(path))
		goto done;
	LS_TRY(read_file(run, name, LS_KEY_FILE_MAX, &text, &len, damage, err));
	if (damage->found || (!strcmp(name, LS_RUN__AUDITOR) && len == strlen(LS_RUN__UNSIGNED) && !memcmp(text, LS_RUN__UNSIGNED, len)))
		goto done;
	if (ls_public_key_parse(out, name, text, len, &why) != LS_OK)
		ls_run__damage(damage, name, 0, "%s", why.text);
done:
	ls_free(text);
	return status;
}

static ls_status read_keys(ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX];
	LS_TRY(ls_run__path(run, LS_RUN__AUDITOR, path, err));
	run->replay = ls_file_exists(path);
	LS_TRY(read_key(run, LS_RUN__TRAINER, run->trainer, damage, err));
	memcpy(run->signer, run->trainer, 32);
	if (run->replay) {
		memset(run->signer, 0, 32);
		LS_TRY(read_key(run, LS_RUN__AUDITOR, run->signer, damage, err));
	}
	if (!ls_public_key_none(run->binding.trainer) && memcmp(run->binding.trainer, run->trainer, 32))
		ls_run__damage(damage, LS_RUN__TRAINER, 0, "found another key than the job names, or none");
done:
	return status;
}

/* job.bin, job.yaml and nonce say the same. */
static ls_status read_identity(ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	ls_error why = LS_ERROR_INIT;
	uint8_t *bin = NULL, *yaml = NULL, *nonce = NULL;
	size_t bin_len = 0, yaml_len = 0, nonce_len = 0;
	ls_job *signed_job = NULL;
	ls_buf again, text;
	ls_buf_init(&again, JOB_MAX);
	ls_buf_init(&text, JOB_MAX);
	LS_TRY(read_file(run, "job.bin", JOB_MAX, &bin, &bin_len, damage, err));
	LS_TRY(read_file(run, "job.yaml", JOB_MAX, &yaml, &yaml_len, damage, err));
	LS_TRY(read_file(run, "nonce", NONCE_MAX, &nonce, &nonce_len, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(as_damage(ls_job_decode(&signed_job, &run->binding, bin, bin_len, &why), &why, "job.bin", damage, err));
	if (!damage->found)
		LS_TRY(as_damage(ls_job_parse(&run->job, "job.yaml", yaml, yaml_len, NULL, 0, &why), &why, "job.yaml", damage, err));
	if (!damage->found)
		LS_TRY(read_thresholds(run, signed_job, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(as_damage(ls_job_encode(run->job, &run->binding, &again, &why), &why, "job.yaml", damage, err));
	LS_TRY(as_damage(ls_job_emit_yaml(run->job, &text), &why, "job.yaml", damage, err));
	if (again.len != bin_len || memcmp(again.data, bin, bin_len)) {
		ls_run__damage(damage, "job.yaml", 0, "found fields that differ from job.bin, expected the same job");
	} else if (text.len != yaml_len || memcmp(text.data, yaml, yaml_len)) {
		ls_run__damage(damage, "job.yaml", 0, "found the job in other words than the trainer writes it");
	} else if (!parse_nonce(run->nonce, nonce, nonce_len)) {
		ls_run__damage(damage, "nonce", 0, "found another text, expected 64 lower-case hex digits and a newline");
	} else {
		run->commit_every = ls_job_spec_of(run->job)->train.commit_every;
		status = ls_hash_tagged(&run->job_id, LS_TAG_JOB, bin, bin_len);
		if (status != LS_OK) {
			ls_error_set(err, status, "job.bin: %s", ls_status_text(status));
			goto done;
		}
		LS_TRY(read_keys(run, damage, err));
		LS_TRY(ls_run__identify(run, err));
	}
done:
	ls_job_free(signed_job);
	ls_free(bin);
	ls_free(yaml);
	ls_free(nonce);
	ls_buf_free(&again);
	ls_buf_free(&text);
	return status;
}

/* Leaf i is what its place says: this run, this job, this step. */
static void check_leaf(const ls_run *run, uint64_t i, const ls_leaf *leaf, ls_damage *damage)
{
	uint64_t first = 0, last = 0;
	if (i)
		ls_run_leaf_steps(run, i, &first, &last);
	if (leaf->kind != (i ? LS_LEAF_STEP : LS_LEAF_START))
		ls_run__damage(damage, "leaves", first, "leaf %llu: found a leaf of another kind", (unsigned long long)i);
	else if (!ls_hash_equal(&leaf->run, &run->id))
		ls_run__damage(damage, "leaves", first, "leaf %llu: found another run's id", (unsigned long long)i);
	else if (!i && !ls_hash_equal(&leaf->job, &run->job_id))
		ls_run__damage(damage, "leaves", 0, "leaf 0: found another job's id than that of job.bin");
	else if (leaf->step != last)
		ls_run__damage(damage, "leaves", first, "leaf %llu: found step %llu, expected %llu", (unsigned long long)i,
		               (unsigned long long)leaf->step, (unsigned long long)last);
}

ls_status ls_run__read_leaves(ls_run *run, uint64_t limit, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t at = run->leaf_end, size = ls_file_size(run->leaf_file), most = ls_run_leaf_of_step(run, run->binding.steps) + 1;
	uint8_t bytes[4 + LS_LEAF_BYTES_MAX];
	while (at < size && run->leaves < limit && !damage->found) {
		uint64_t first = run->leaves ? (run->leaves - 1) * run->commit_every + 1 : 0;
		uint32_t len = 0;
		ls_leaf leaf;
		if (size - at >= 4) {
			LS_TRY(ls_file_read_at(run->leaf_file, at, bytes, 4, err));
			len = ls_get_le32(bytes);
		}
		if (len < 1 || len > LS_LEAF_BYTES_MAX || len > size - at - 4 || run->leaves == most) {
			ls_run__damage(damage, "leaves", first, "leaf %llu: found a record of %u bytes with %llu left, expected %s",
			               (unsigned long long)run->leaves, len, (unsigned long long)(size - at),
			               run->leaves == most ? "the end of the file" : "a whole leaf");
			damage->tail = run->leaves && run->leaves < most && run->leaves >= run->promised;
			break;
		}
		LS_TRY(ls_file_read_at(run->leaf_file, at + 4, bytes, len, err));
		if (ls_leaf_decode(&leaf, bytes, len, NULL) != LS_OK) {
			ls_run__damage(damage, "leaves", first, "leaf %llu: found bytes that are no leaf", (unsigned long long)run->leaves);
			damage->tail = run->leaves && run->leaves >= run->promised;
			break;
		}
		check_leaf(run, run->leaves, &leaf, damage);
		LS_TRY(ls_run__remember_leaf(run, &leaf, err));
		at += 4 + len;
		run->leaf_end = at;
	}
	if (!damage->found && !run->leaves)
		ls_run__damage(damage, "leaves", 0, "found no leaf, expected at least leaf 0");
done:
	return status;
}

static ls_status open_file(const ls_run *run, const char *name, ls_file **out, ls_damage *damage, ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status = ls_run__path(run, name, path, err);
	if (status != LS_OK)
		return status;
	status = ls_file_open(out, path, false, err);
	if (status == LS_ERR_NOT_FOUND || status == LS_ERR_INPUT) {
		ls_run__damage(damage, name, 0, "the file is missing");
		return LS_OK;
	}
	return status;
}

/* How far the run's own word goes that it is on the disk. */
static ls_status read_promise(ls_run *run, ls_error *err)
{
	uint64_t *size = NULL;
	size_t count = 0;
	ls_status status = ls_run_heads(run, &size, &count, err);
	run->promised = status == LS_OK && count ? size[count - 1] : 0;
	ls_free(size);
	return status;
}

ls_status ls_run_open(ls_run **out, const char *dir, ls_damage *damage, ls_error *err)
{
	return ls_run__open(out, dir, LS_RUN__READ, NULL, damage, err);
}

ls_status ls_run__open(ls_run **out, const char *dir, ls_run__use use, const ls_run_source *source, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	char path[LS_PATH_MAX];
	ls_run *run = NULL;
	uint64_t limit = UINT64_MAX;
	*out = NULL;
	*damage = (ls_damage){0};
	LS_TRY(ls_path_join(path, sizeof path, dir, "job.bin", err));
	if (!ls_file_exists(path)) {
		LS_TRY(ls_path_join(path, sizeof path, dir, "leaves", err));
		if (!ls_file_exists(path))
			return ls_error_set(err, LS_ERR_NOT_FOUND, "%s: is no run directory: found no job.bin\n"
			                    "  hint: give the folder that was passed to `lockstep train --run`", dir);
	}
	run = ls_alloc(1, sizeof *run);
	if (!run)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a run");
	snprintf(run->dir, sizeof run->dir, "%s", dir);
	if (source)
		run->source = *source;
	LS_TRY(ls_run__open_leaves(run, err));
	LS_TRY(open_file(run, "leaves", &run->leaf_file, damage, err));
	if (use == LS_RUN__WRITE && run->leaf_file)
		LS_TRY(ls_file_lock(run->leaf_file, err)); // before anything is read that another writer may change
	LS_TRY(read_identity(run, damage, err));
	LS_TRY(read_promise(run, err));
	if (use == LS_RUN__LIVE) {
		run->live = true;
		limit = run->promised;
		if (!limit)
			goto done;
	}
	if (run->leaf_file)
		LS_TRY(ls_file_refresh(run->leaf_file, err)); // at least what the newest head promises
	LS_TRY(open_file(run, "rounding-log/frames", &run->log_file, damage, err));
	LS_TRY(open_file(run, "metrics.jsonl", &run->metrics_file, damage, err));
	if (!damage->found)
		LS_TRY(ls_run__read_leaves(run, limit, damage, err));
	if (!damage->found || damage->tail)
		LS_TRY(ls_run__scan_log(run, limit, damage, err));
	if (!damage->found || damage->tail) {
		*out = run;
		run = NULL;
	}
done:
	if (*out == NULL)
		ls_run_free(run);
	return status;
}

/* The next line of a job's text that its id depends on, without the newline; false at the end. Paths are not such lines. */
static bool next_line(const ls_buf *text, size_t *at, char out[128])
{
	static const char *const path[] = {"  path:", "  init_from:"};
	bool skip = true;
	out[0] = 0;
	while (skip && *at < text->len) {
		const char *line = (const char *)text->data + *at;
		const char *end = memchr(line, '\n', text->len - *at);
		size_t len = end ? (size_t)(end - line) : text->len - *at;
		snprintf(out, 128, "%.*s", (int)(len < 127 ? len : 127), line);
		skip = !strncmp(out, path[0], strlen(path[0])) || !strncmp(out, path[1], strlen(path[1]));
		*at += len + 1;
	}
	return !skip;
}

/* The first line in which the canonical texts of two jobs differ, of each; false where they are equal. */
static bool differing_lines(const ls_job *theirs, const ls_job *ours, char found[128], char expected[128])
{
	ls_buf a, b;
	size_t at = 0, bt = 0;
	bool more = true, differ = false;
	ls_buf_init(&a, JOB_MAX);
	ls_buf_init(&b, JOB_MAX);
	if (ls_job_emit_yaml(theirs, &a) == LS_OK && ls_job_emit_yaml(ours, &b) == LS_OK)
		while (more && !differ) {
			bool in_a = next_line(&a, &at, found), in_b = next_line(&b, &bt, expected);
			more = in_a || in_b;
			differ = more && strcmp(found, expected);
		}
	ls_buf_free(&a);
	ls_buf_free(&b);
	return differ;
}

static void compare_digest(const char *what, const uint8_t theirs[32], const uint8_t ours[32], const char *file, ls_damage *damage)
{
	char found[65], expected[65];
	if (!memcmp(theirs, ours, 32))
		return;
	ls_hex(found, theirs, 32);
	ls_hex(expected, ours, 32);
	ls_run__damage(damage, file, 0, "%s: found %s in the run, %s here", what, found, expected);
}

void ls_run_compare_plan(const ls_run *run, const ls_job_plan *plan, ls_damage *damage)
{
	const ls_job_binding *ours = ls_plan_binding(plan), *theirs = &run->binding;
	char found[128], expected[128];
	if (ls_hash_equal(&run->job_id, ls_plan_job_id(plan)))
		return;
	compare_digest("data root", theirs->data, ours->data, LS_RUN_FILE_DATA, damage);
	compare_digest("root of the weights to start from", theirs->import, ours->import, LS_RUN_FILE_WEIGHTS, damage);
	if (!damage->found && differing_lines(run->job, ls_plan_job(plan), found, expected))
		ls_run__damage(damage, "job.yaml", 0, "found '%s' in the run's job, '%s' in this one", found, expected);
	compare_digest("program digest", theirs->program, ours->program, LS_RUN_FILE_PROGRAM, damage);
	compare_digest("digest of step 0", theirs->init, ours->init, LS_RUN_FILE_PROGRAM, damage);
	compare_digest("job id", run->job_id.byte, ls_plan_job_id(plan)->byte, "job.bin", damage);
}

/* ---- heads ---- */

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Names of a folder that are numbers in the form of `format` (of an unsigned long long), ascending. */
static ls_status numbers_in(const ls_run *run, const char *folder, const char *format, uint64_t **out, size_t *count,
                            ls_error *err)
{
	char path[LS_PATH_MAX], again[32];
	ls_status status = ls_run__path(run, folder, path, err);
	size_t room = 64;
	struct dirent *entry;
	DIR *d = status == LS_OK ? opendir(path) : NULL;
	if (status == LS_OK && !d && errno != ENOENT)
		status = ls_error_set(err, LS_ERR_IO, "%s: could not list it: %s", path, strerror(errno));
	*count = 0;
	*out = ls_alloc(room, sizeof **out);
	while (*out && d && (entry = readdir(d))) {
		size_t len = strspn(entry->d_name, "0123456789");
		if (!len || len > 19 || entry->d_name[len])
			continue;
		if (*count == room) {
			uint64_t *bigger = ls_alloc(room *= 2, sizeof *bigger);
			if (bigger)
				memcpy(bigger, *out, *count * sizeof *bigger);
			ls_free(*out);
			*out = bigger;
			if (!bigger)
				break;
		}
		(*out)[*count] = strtoull(entry->d_name, NULL, 10);
		snprintf(again, sizeof again, format, (unsigned long long)(*out)[*count]);
		*count += !strcmp(again, entry->d_name);
	}
	if (d)
		closedir(d);
	if (status == LS_OK && !*out)
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory to list %s", path);
	if (*out)
		qsort(*out, *count, sizeof **out, by_size);
	return status;
}

ls_status ls_run_snapshots(const ls_run *run, uint64_t **steps, size_t *count, ls_error *err)
{
	if (run->source.file)
		return run->source.snapshots(run->source.context, steps, count, err);
	return numbers_in(run, "snapshots", "%010llu", steps, count, err);
}

/* Runs with a key have no unsigned head, and those without have no signed one. */
static ls_status check_signature(const ls_run *run, const char *name, const ls_signed_head *head, ls_damage *damage, ls_error *err)
{
	bool valid, none = ls_public_key_none(run->signer);
	ls_status status = ls_signed_head_verify(&valid, head, run->signer);
	if (status != LS_OK)
		return ls_error_set(err, status, "%s: could not verify its signature: %s", name, ls_status_text(status));
	if (none ? head->is_signed : !valid)
		ls_run__damage(damage, name, 0, "found %s, expected %s", head->is_signed ? "a signature that is not of the run's key" : "no signature",
		               none ? "none, as the run names no key" : "that of the run's key");
	return LS_OK;
}

ls_status ls_run__read_head(const ls_run *run, uint64_t size, ls_hash *root, ls_damage *damage, ls_error *err)
{
	ls_status status;
	char name[32];
	uint8_t *text = NULL;
	size_t len = 0;
	ls_signed_head head;
	snprintf(name, sizeof name, "heads/%llu", (unsigned long long)size);
	LS_TRY(read_file(run, name, HEAD_MAX, &text, &len, damage, err));
	if (damage->found)
		goto done;
	if (ls_signed_head_parse(&head, (char *)text, len, NULL) != LS_OK || head.head.size != size || !ls_hash_equal(&head.head.run, &run->id))
		ls_run__damage(damage, name, 0, "found a text that is no head of %llu leaves of this run", (unsigned long long)size);
	else
		LS_TRY(check_signature(run, name, &head, damage, err));
	*root = head.head.root;
done:
	ls_free(text);
	return status;
}

/* `tree` holds the first `agreed` leaves, and grows to `size`. */
static ls_status check_head(const ls_run *run, uint64_t size, uint64_t agreed, ls_tree *tree, ls_damage *damage, ls_error *err)
{
	ls_status status;
	char name[32];
	uint64_t first, last;
	ls_hash root, promised;
	snprintf(name, sizeof name, "heads/%llu", (unsigned long long)size);
	LS_TRY(ls_run__read_head(run, size, &promised, damage, err));
	if (damage->found)
		goto done;
	ls_run_leaf_steps(run, agreed ? agreed : 1, &first, &last);
	if (size > run->leaves) {
		ls_run__damage(damage, "leaves", 0, "found %llu leaves, expected the %llu that %s promises",
		               (unsigned long long)run->leaves, (unsigned long long)size, name);
		damage->withheld = true;
		goto done;
	}
	for (uint64_t i = agreed; i < size; i++) {
		ls_leaf leaf;
		LS_TRY(ls_run_read_leaf(run, i, &leaf, err));
		LS_TRY(ls_run__push_leaf(tree, &leaf, err));
	}
	status = ls_tree_head(tree, &root);
	if (status != LS_OK) {
		ls_error_set(err, status, "could not hash the leaves: %s", ls_status_text(status));
		goto done;
	}
	if (!ls_hash_equal(&root, &promised))
		ls_run__damage(damage, "leaves", agreed ? first : 0, "leaves %llu to %llu do not hash to the root in %s",
		               (unsigned long long)agreed, (unsigned long long)size - 1, name);
done:
	return status;
}

ls_status ls_run_read_head(const ls_run *run, uint64_t size, ls_signed_head *out, ls_error *err)
{
	ls_status status;
	char name[32], path[LS_PATH_MAX];
	uint8_t *text = NULL;
	size_t len = 0;
	snprintf(name, sizeof name, "heads/%llu", (unsigned long long)size);
	LS_TRY(ls_run__path(run, name, path, err));
	LS_TRY(ls_file_read(&text, &len, path, HEAD_MAX, err));
	LS_TRY(ls_signed_head_parse(out, (char *)text, len, err));
done:
	ls_free(text);
	return status;
}

ls_status ls_run_heads(const ls_run *run, uint64_t **sizes, size_t *count, ls_error *err)
{
	return numbers_in(run, "heads", "%llu", sizes, count, err);
}

ls_status ls_run__check_promises(const ls_run *run, ls_damage *damage, ls_error *err)
{
	uint64_t *size = NULL, agreed = 0;
	size_t count = 0;
	ls_status status = ls_run_heads(run, &size, &count, err);
	ls_tree tree;
	ls_tree_init(&tree, run->hasher, 0);
	for (size_t i = 0; i < count && status == LS_OK && !damage->found; i++) {
		if (run->live && size[i] > run->leaves)
			break;
		status = check_head(run, size[i], agreed, &tree, damage, err);
		agreed = size[i];
	}
	ls_free(size);
	return status;
}

ls_status ls_run_check_heads(const ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status = ls_run__check_promises(run, damage, err);
	if (status == LS_OK && !damage->found && run->promised != run->leaves) {
		ls_run__damage(damage, "heads", 0, "found no head over the run's %llu leaves, as after a crash; train --resume mends that",
		               (unsigned long long)run->leaves);
		damage->tail = true;
	}
	return status;
}
