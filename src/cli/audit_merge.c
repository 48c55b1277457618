/* Joins the verdicts of parts that were audited elsewhere: files with what `lockstep audit RUN --steps A:B --json` printed. They
 * are the auditor's own, but may be of another run, cut off, twice there or missing, and none of that may pass for a match. */
#include "cli/audit_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#define FILE_BYTES_MAX (1 << 24)
#define FILES_MAX 65536

typedef struct partial {
	char file[256];
	uint64_t first, last; /* asked for; `last` 0: to the end as it was ordered */
	ls_audit_result result;
} partial;

static ls_status complain(ls_error *err, const char *file, const char *found, const char *expected)
{
	return ls_error_input(err, file, NULL, found, expected, "audit this part again");
}

static bool take_uint(const json_t *object, const char *key, uint64_t *out)
{
	const json_t *value = json_object_get(object, key);
	*out = json_is_integer(value) && json_integer_value(value) >= 0 ? (uint64_t)json_integer_value(value) : 0;
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool take_hash(const json_t *object, const char *key, ls_hash *out)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text && ls_hash_unhex(out, text);
}

static bool take_verdict(const json_t *object, ls_verdict *out)
{
	const char *text = json_string_value(json_object_get(object, "verdict"));
	for (int v = LS_VERDICT_MATCH; text && v <= LS_VERDICT_WITHHELD; v++)
		if (!strcmp(text, ls_verdict_text((ls_verdict)v))) {
			*out = (ls_verdict)v;
			return true;
		}
	return false;
}

/* A verdict as print_json of cmd_audit.c writes it. */
static bool take_result(const json_t *o, partial *p)
{
	ls_audit_result *r = &p->result;
	const json_t *asked = json_object_get(o, "asked");
	const char *text = json_string_value(json_object_get(o, "text")), *file = json_string_value(json_object_get(o, "file"));
	bool good = take_verdict(o, &r->verdict) && take_uint(asked, "first", &p->first) && text && p->first >= 1;
	if (!json_is_null(json_object_get(asked, "last")))
		good &= take_uint(asked, "last", &p->last) && p->last >= p->first;
	good &= take_uint(o, "first", &r->first) && take_uint(o, "last", &r->last);
	r->has_bad_step = !json_is_null(json_object_get(o, "first_bad_step"));
	good &= !r->has_bad_step || take_uint(o, "first_bad_step", &r->first_bad_step);
	good &= take_uint(o, "corrections", &r->corrections) && take_uint(o, "entries", &r->entries);
	good &= take_uint(o, "elements", &r->elements) && take_uint(o, "exact", &r->exact);
	good &= json_is_boolean(json_object_get(o, "stopped")) && json_is_number(json_object_get(o, "seconds"));
	take_hash(o, "replayed_root", &r->replayed_root); // null where nothing was replayed
	r->stopped = json_is_true(json_object_get(o, "stopped"));
	r->seconds = json_number_value(json_object_get(o, "seconds"));
	if (good) {
		strncpy(r->text, text, sizeof r->text - 1);
		strncpy(r->file, file ? file : "", sizeof r->file - 1);
	}
	return good;
}

/* The last line of a file is the result. */
static json_t *last_object(const char *text, size_t len)
{
	size_t start;
	while (len && text[len - 1] == '\n')
		len--;
	for (start = len; start && text[start - 1] != '\n'; start--)
		;
	return json_loadb(text + start, len - start, JSON_REJECT_DUPLICATES, NULL);
}

static ls_status read_partial(partial *p, const ls_run *run, const ls_hash *root, const char *path, ls_error *err)
{
	ls_status status;
	uint8_t *text = NULL;
	size_t len;
	json_t *object = NULL;
	ls_hash theirs, job;
	LS_TRY(ls_file_read(&text, &len, path, FILE_BYTES_MAX, err));
	object = last_object((const char *)text, len);
	if (json_object_get(object, "error"))
		status = complain(err, path, "an audit that could not finish", "a verdict");
	else if (!take_result(object, p))
		status = complain(err, path, "something else", "the output of lockstep audit --json");
	else if (!take_hash(object, "root", &theirs) || !take_hash(object, "job", &job) || !ls_hash_equal(&theirs, root) ||
	         !ls_hash_equal(&job, ls_run_job_id(run)))
		status = complain(err, path, "a verdict on another run, or on another state of this one", "one on the run as it is");
	else if (p->result.stopped)
		status = complain(err, path, "an audit that was stopped", "one of all its steps");
done:
	json_decref(object);
	ls_free(text);
	return status;
}

static bool is_verdict(const char *name)
{
	size_t len = strlen(name);
	return len > 5 && len < sizeof ((partial *)NULL)->file && !strcmp(name + len - 5, ".json");
}

static ls_status read_folder(partial **out, size_t *count, const ls_run *run, const ls_hash *root, const char *dir, ls_error *err)
{
	ls_status status = LS_OK;
	char path[LS_PATH_MAX];
	struct dirent *entry;
	size_t room = 64;
	DIR *d = opendir(dir);
	*count = 0;
	*out = ls_alloc(room, sizeof **out);
	if (!d)
		return ls_error_input(err, dir, NULL, strerror(errno), "a folder with the verdicts of the parts", NULL);
	while (*out && status == LS_OK && (entry = readdir(d))) {
		if (!is_verdict(entry->d_name))
			continue;
		if (*count == room) {
			partial *bigger = room < FILES_MAX ? ls_alloc(room *= 2, sizeof *bigger) : NULL;
			if (bigger)
				memcpy(bigger, *out, *count * sizeof *bigger);
			ls_free(*out);
			*out = bigger;
			if (!bigger)
				break;
		}
		memcpy((*out)[*count].file, entry->d_name, strlen(entry->d_name) + 1);
		LS_TRY(ls_path_join(path, sizeof path, dir, entry->d_name, err));
		LS_TRY(read_partial(&(*out)[(*count)++], run, root, path, err));
	}
	if (!*out)
		status = ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its verdicts", dir);
done:
	closedir(d);
	return status;
}

static int by_first(const void *a, const void *b)
{
	const partial *x = a, *y = b;
	return x->first == y->first ? strcmp(x->file, y->file) : (x->first > y->first) - (x->first < y->first);
}

/* The parts lie end to end, up to the first that does not match; behind that one nothing changes the verdict. */
static ls_status check_cover(const partial *part, size_t count, size_t *used, uint64_t end, const char *dir, ls_error *err)
{
	uint64_t next = 1;
	bool open = false;
	for (*used = 0; *used < count; ++*used) {
		const partial *p = &part[*used];
		if (open)
			return ls_error_set(err, LS_ERR_INPUT, "%s/%s: found one part more, expected none behind the one that reaches to the end", dir, p->file);
		if (p->first != next)
			return ls_error_set(err, LS_ERR_INPUT, "%s/%s: found the verdict on the steps from %llu on, expected that from %llu on%s", dir,
			                    p->file, (unsigned long long)p->first, (unsigned long long)next,
			                    p->first > next ? "\n  hint: audit the steps between, too" : "");
		if (p->result.verdict != LS_VERDICT_MATCH) {
			++*used;
			return LS_OK;
		}
		open = !p->last;
		next = p->last + 1;
	}
	if (open)
		return LS_OK;
	return ls_error_set(err, LS_ERR_INPUT, "%s: found no verdict on the steps from %llu on, expected them up to %llu and the run's end%s",
	                    dir, (unsigned long long)next, (unsigned long long)end,
	                    next > end ? "\n  hint: the last part is to be asked for as A:, with nothing behind the colon" : "");
}

ls_status ls_cli__audit_merge(ls_audit_result *out, const ls_run *run, const char *dir, ls_error *err)
{
	ls_status status;
	partial *part = NULL;
	ls_cli_outcome *outcome = NULL;
	size_t count = 0, used = 0;
	double seconds = 0;
	ls_hash root;
	LS_TRY(ls_run_root(run, ls_run_leaves(run), &root, err));
	LS_TRY(read_folder(&part, &count, run, &root, dir, err));
	qsort(part, count, sizeof *part, by_first);
	LS_TRY(check_cover(part, count, &used, ls_run_last_step(run), dir, err));
	outcome = ls_alloc(used, sizeof *outcome);
	if (!outcome) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for the verdicts of %zu parts", used);
		goto done;
	}
	for (size_t i = 0; i < used; i++) {
		outcome[i] = (ls_cli_outcome){.part = i, .there = true, .result = part[i].result};
		seconds += part[i].result.seconds;
	}
	LS_TRY(ls_cli__audit_join(out, outcome, used, err));
	out->root = root;
	out->seconds = seconds;
done:
	ls_free(part);
	ls_free(outcome);
	return status;
}
