/* The arithmetic of a job: what its fields only show together, and its threshold file. */
#include "job/value.h"

#include <lockstep/commit.h>

#include <stdio.h>
#include <string.h>

#define FILE_MAX 65536u
#define FP32_GRID_MAX 19

bool ls_job__consistent(const ls_job_spec *spec, ls_job__fault *fault)
{
	*fault = (ls_job__fault){.key = "arithmetic.compute"};
	if (spec->arithmetic.compute != LS_JOB_FP32)
		return true;
	if (spec->arithmetic.grid > FP32_GRID_MAX) {
		snprintf(fault->found, sizeof fault->found, "fp32 with grid %u", (unsigned)spec->arithmetic.grid);
		snprintf(fault->expected, sizeof fault->expected, "fp64, or a grid of at most %d", FP32_GRID_MAX);
		fault->hint = "sums in FP32 leave most roundings to a finer grid open; 19 is TF32, 16 is bfloat16";
		return false;
	}
	if (spec->arithmetic.depth) {
		fault->key = "arithmetic.depth";
		snprintf(fault->found, sizeof fault->found, "a depth with compute fp32");
		snprintf(fault->expected, sizeof fault->expected, "0");
		fault->hint = "the depth of FP32 sums is fixed: chunks of 32 terms";
		return false;
	}
	return true;
}

void ls_job__adopt(ls_job *job, const ls_job_spec *spec)
{
	job->spec = *spec;
	job->threshold_count = spec->arithmetic.threshold == LS_JOB_FIXED;
	job->thresholds[0] = (ls_threshold){.tau = spec->arithmetic.tau}; // of every kind
}

/* ---- the threshold file ---- */

struct file {
	const char *label;
	const ls_job *job;
	ls_threshold row[LS_JOB_THRESHOLDS_MAX];
	int rows;
	bool version, grid, compute; /* seen */
	ls_error *err;
};

static ls_status complain(const struct file *f, const ls_job__node *node, const char *key, const char *found,
                          const char *expected, const char *hint)
{
	char place[LS_ERROR_TEXT_MAX], shown[LS_JOB__SHOWN + 32];
	ls_job__place(place, sizeof place, f->label, node->line, node->column);
	if (!found)
		ls_job__describe_node(shown, node);
	return ls_error_input(f->err, place, key, found ? found : shown, expected, hint);
}

static bool is_kind(const ls_job__node *key)
{
	if (key->kind != LS_JOB__SCALAR || key->len < 1 || key->len > LS_THRESHOLD_KIND_MAX)
		return false;
	for (size_t i = 0; i < key->len; i++)
		if (!(key->text[i] >= 'a' && key->text[i] <= 'z') && !(key->text[i] >= '0' && key->text[i] <= '9') && key->text[i] != '_')
			return false;
	return true;
}

static ls_status read_taus(struct file *f, const ls_job__tree *tree, const ls_job__node *map)
{
	const ls_job__field *tau = &ls_job__find("arithmetic.threshold")->values[LS_JOB_FIXED];
	uint32_t i = map->first;
	if (map->kind != LS_JOB__MAP || map->count / 2 < 1 || map->count / 2 > LS_JOB_THRESHOLDS_MAX)
		return complain(f, map, "tau", NULL, "a mapping of 1 to 16 op kinds to numbers", NULL);
	for (uint32_t k = 0; k < map->count; k += 2) {
		const ls_job__node *key = &tree->node[i], *value = &tree->node[key->next];
		ls_job_spec read = {0};
		if (!is_kind(key))
			return complain(f, key, "tau", NULL, "the kind of an op", NULL);
		if (!ls_job__value_read(tau, tree, value, &read))
			return complain(f, value, key->text, NULL, "a number above 0 and below 0.5", NULL);
		memcpy(f->row[f->rows].kind, key->text, key->len + 1);
		f->row[f->rows++].tau = read.arithmetic.tau;
		i = value->next;
	}
	return LS_OK;
}

/* A field of the job that the file repeats: it was made for jobs with that value. */
static ls_status read_same(struct file *f, const ls_job__tree *tree, const ls_job__node *value, const char *path)
{
	const ls_job__field *field = ls_job__find(path);
	ls_job_spec read = f->job->spec;
	if (ls_job__value_read(field, tree, value, &read) && read.arithmetic.grid == f->job->spec.arithmetic.grid &&
	    read.arithmetic.compute == f->job->spec.arithmetic.compute)
		return LS_OK;
	return complain(f, value, path, NULL, "the value that the job has", "calibrate again with this job");
}

static ls_status read_entry(struct file *f, const ls_job__tree *tree, const ls_job__node *key, const ls_job__node *value)
{
	if (!strcmp(key->text, "tau"))
		return read_taus(f, tree, value);
	if (!strcmp(key->text, "grid")) {
		f->grid = true;
		return read_same(f, tree, value, "arithmetic.grid");
	}
	if (!strcmp(key->text, "compute")) {
		f->compute = true;
		return read_same(f, tree, value, "arithmetic.compute");
	}
	if (!strcmp(key->text, "lockstep_thresholds")) {
		f->version = value->kind == LS_JOB__SCALAR && value->plain && !strcmp(value->text, "1");
		return f->version ? LS_OK : complain(f, value, "lockstep_thresholds", NULL, "1", NULL);
	}
	if (!strcmp(key->text, "platforms") || !strcmp(key->text, "trials"))
		return LS_OK;
	return complain(f, key, NULL, NULL, "lockstep_thresholds, grid, compute, platforms, trials or tau", NULL);
}

static ls_status read_file(struct file *f, const ls_job__tree *tree)
{
	const ls_job__node *root = &tree->node[0];
	uint32_t i = root->first;
	if (root->kind != LS_JOB__MAP)
		return complain(f, root, NULL, NULL, "a mapping, as lockstep calibrate writes it", NULL);
	for (uint32_t k = 0; k < root->count; k += 2) {
		const ls_job__node *key = &tree->node[i], *value = &tree->node[key->next];
		ls_status status = read_entry(f, tree, key, value);
		if (status != LS_OK)
			return status;
		i = value->next;
	}
	if (!f->version || !f->grid || !f->compute || !f->rows)
		return complain(f, root, NULL, "a key too few", "lockstep_thresholds, grid, compute and tau", "lockstep calibrate writes such files");
	return LS_OK;
}

ls_status ls_job_set_thresholds(ls_job *job, const char *label, const void *text, size_t len, ls_error *err)
{
	struct file f = {.label = label, .job = job, .err = err};
	ls_job__tree tree;
	ls_hash digest;
	uint8_t *copy = NULL;
	ls_status status = ls_job__tree_parse(&tree, label, true, text, len, err);
	if (status != LS_OK)
		return status;
	LS_TRY(read_file(&f, &tree));
	LS_TRY(ls_hash_tagged(&digest, "ls1/thresholds", text, len));
	copy = ls_alloc(len, 1);
	if (!copy) {
		status = ls_error_set(err, LS_ERR_NOMEM, "%s: out of memory", label);
		goto done;
	}
	memcpy(copy, text, len);
	ls_free(job->threshold_bytes);
	job->threshold_bytes = copy;
	job->threshold_len = len;
	memcpy(job->thresholds, f.row, sizeof f.row);
	job->threshold_count = f.rows;
	ls_hash_hex(job->spec.arithmetic.threshold_digest, &digest);
done:
	ls_job__tree_free(&tree);
	return status;
}

ls_status ls_job_load_thresholds(ls_job *job, const char *folder, ls_error *err)
{
	const char *name = job->spec.arithmetic.threshold_file;
	char path[LS_PATH_MAX];
	uint8_t *text = NULL;
	size_t len = 0;
	ls_status status = LS_OK;
	if (job->spec.arithmetic.threshold != LS_JOB_ADAPTIVE)
		return LS_OK;
	if (name[0] == '/')
		snprintf(path, sizeof path, "%s", name);
	else
		LS_TRY(ls_path_join(path, sizeof path, folder, name, err));
	LS_TRY(ls_file_read(&text, &len, path, FILE_MAX, err));
	LS_TRY(ls_job_set_thresholds(job, path, text, len, err));
done:
	ls_free(text);
	return status;
}

const uint8_t *ls_job_thresholds_bytes(const ls_job *job, size_t *len)
{
	*len = job->threshold_len;
	return job->threshold_bytes;
}

ls_status ls_job_arithmetic(const ls_job *job, ls_arithmetic *out, ls_error *err)
{
	const ls_job_spec *spec = &job->spec;
	*out = (ls_arithmetic){.fp32 = spec->arithmetic.compute == LS_JOB_FP32, .depth = (int64_t)spec->arithmetic.depth,
	                       .thresholds = job->thresholds, .threshold_count = job->threshold_count};
	if (!ls_job_uncertified(spec))
		out->thresholds = NULL, out->threshold_count = 0;
	else if (!job->threshold_count)
		return ls_error_set(err, LS_ERR_INPUT, "%s: arithmetic.threshold: found no thresholds at hand, expected the threshold file",
		                    spec->name);
	return LS_OK;
}
