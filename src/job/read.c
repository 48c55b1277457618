/* job.yaml and overrides to a spec. The tree is walked along the table; what no single value can show (missing keys,
 * rivals, choices of another version) is checked once everything has been read. */
#include "job/value.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_MAX 64
#define SET_LABEL "--set"

struct mark {
	bool given, from_set;
	uint32_t line, column;
};

struct reader {
	ls_job_spec spec;
	struct mark mark[FIELDS_MAX];
	const char *label; // of the file
	bool in_set;       // reading an override
	const ls_job__tree *tree;
	ls_error *err;
};

static ls_status complain(const struct reader *r, const struct mark *mark, const char *key, const char *found,
                          const char *expected, const char *hint)
{
	char place[LS_ERROR_TEXT_MAX];
	ls_job__place(place, sizeof place, mark->from_set ? SET_LABEL : r->label, mark->line, mark->column);
	return ls_error_input(r->err, place, key, found, expected, hint);
}

static struct mark mark_of(const struct reader *r, const ls_job__node *node)
{
	if (r->in_set)
		return (struct mark){.given = true, .from_set = true};
	return (struct mark){.given = true, .line = node->line, .column = node->column};
}

static ls_status unknown_key(const struct reader *r, struct mark mark, const char *path)
{
	char nearest[64] = "", hint[96];
	ls_job__nearest(nearest, sizeof nearest, path);
	snprintf(hint, sizeof hint, "the nearest key is %s", nearest);
	return complain(r, &mark, path, "an unknown key", "a key of the job", hint);
}

/* The rival of a field that an override has just given makes way. */
static void displace_rival(struct reader *r, const ls_job__field *field)
{
	const ls_job__field *rival = field->rival ? ls_job__find(field->rival) : NULL;
	if (rival) {
		ls_job__value_reset(rival, &r->spec);
		r->mark[rival - ls_job__fields].given = false;
	}
}

static ls_status read_field(struct reader *r, const ls_job__field *field, const ls_job__node *node)
{
	struct mark mark = mark_of(r, node);
	if (!ls_job__value_read(field, r->tree, node, &r->spec)) {
		char found[LS_JOB__SHOWN + 32], expected[LS_JOB__EXPECTED_MAX];
		ls_job__describe_node(found, node);
		ls_job__describe(expected, sizeof expected, field);
		return complain(r, &mark, field->path, found, expected, field->help);
	}
	r->mark[field - ls_job__fields] = mark;
	if (r->in_set)
		displace_rival(r, field);
	return LS_OK;
}

static ls_status read_node(struct reader *r, const char *path, const ls_job__node *key, const ls_job__node *node);

static ls_status read_section(struct reader *r, const char *section, const ls_job__node *map)
{
	const ls_job__node *node = r->tree->node;
	uint32_t i = map->first;
	for (uint32_t k = 0; k < map->count; k += 2) {
		char shown[LS_JOB__SHOWN], path[2 * LS_JOB__SHOWN];
		const ls_job__node *key = &node[i], *value = &node[key->next];
		ls_status status;
		ls_job__show(shown, key->text, key->len);
		snprintf(path, sizeof path, "%s%s%s", section, section[0] ? "." : "", shown);
		status = read_node(r, path, key, value);
		if (status != LS_OK)
			return status;
		i = value->next;
	}
	return LS_OK;
}

/* `path` is a section, a field or unknown. Recursion ends after two levels, since no section lies in a section. */
static ls_status read_node(struct reader *r, const char *path, const ls_job__node *key, const ls_job__node *node)
{
	const ls_job__field *field = ls_job__find(path);
	char found[LS_JOB__SHOWN + 32];
	struct mark mark = mark_of(r, node);
	if (field)
		return read_field(r, field, node);
	if (!ls_job__is_section(path))
		return unknown_key(r, mark_of(r, key), path);
	if (node->kind == LS_JOB__MAP)
		return read_section(r, path, node);
	ls_job__describe_node(found, node);
	return complain(r, &mark, path[0] ? path : "the job", found, "a mapping of keys to values", NULL);
}

/* First of all keys: a job of a later version may hold keys that would be called unknown. */
static ls_status read_version(struct reader *r)
{
	const ls_job__node *node = r->tree->node, *root = &node[0];
	uint32_t i = root->first;
	if (root->kind != LS_JOB__MAP)
		return LS_OK;
	for (uint32_t k = 0; k < root->count; k += 2, i = node[node[i].next].next)
		if (strcmp(node[i].text, "lockstep") == 0)
			return read_field(r, ls_job__find("lockstep"), &node[node[i].next]);
	return LS_OK;
}

static ls_status read_file(struct reader *r, const void *text, size_t len)
{
	ls_job__tree tree;
	ls_status status = ls_job__tree_parse(&tree, r->label, true, text, len, r->err);
	if (status != LS_OK)
		return status;
	r->tree = &tree;
	LS_TRY(read_version(r));
	LS_TRY(read_node(r, "", &tree.node[0], &tree.node[0]));
done:
	ls_job__tree_free(&tree);
	return status;
}

/* ---- overrides ---- */

static ls_status read_set(struct reader *r, const char *set)
{
	const char *equals = strchr(set, '=');
	char shown[LS_JOB__SHOWN], label[LS_JOB__SHOWN + 16];
	struct mark mark = {.from_set = true};
	ls_job__tree tree;
	ls_status status;
	ls_job__show(shown, set, equals ? (size_t)(equals - set) : strlen(set));
	if (!equals || equals == set)
		return complain(r, &mark, NULL, shown[0] ? shown : "nothing", "KEY=VALUE", "for example --set train.batch=64");
	if (!ls_job__find(shown) && !ls_job__is_section(shown))
		return unknown_key(r, mark, shown);
	snprintf(label, sizeof label, SET_LABEL ": %s", shown);
	status = ls_job__tree_parse(&tree, label, false, equals + 1, strlen(equals + 1), r->err);
	if (status != LS_OK)
		return status;
	r->tree = &tree;
	LS_TRY(read_node(r, shown, &tree.node[0], &tree.node[0]));
done:
	ls_job__tree_free(&tree);
	return status;
}

/* ---- what needs the whole job ---- */

static ls_status missing(const struct reader *r, const ls_job__field *field)
{
	struct mark nowhere = {0};
	char key[96], expected[LS_JOB__EXPECTED_MAX];
	snprintf(key, sizeof key, "%s%s%s", field->path, field->rival ? " or " : "", field->rival ? field->rival : "");
	ls_job__describe(expected, sizeof expected, field);
	return complain(r, &nowhere, key, "nothing", expected, field->help);
}

static ls_status check_presence(const struct reader *r, size_t i)
{
	const ls_job__field *field = &ls_job__fields[i], *rival = field->rival ? ls_job__find(field->rival) : NULL;
	const struct mark *mark = &r->mark[i], *other = rival ? &r->mark[rival - ls_job__fields] : NULL;
	if (mark->given && other && other->given) {
		char found[64];
		bool later = mark->line > other->line || (mark->line == other->line && mark->column > other->column);
		snprintf(found, sizeof found, "both %s and %s", field->path, rival->path);
		return complain(r, later ? mark : other, later ? field->path : rival->path, found, "one of them",
		                "remove one of the two");
	}
	if (field->flags & LS_JOB__REQUIRED && !mark->given && !(other && other->given))
		return missing(r, field);
	return LS_OK;
}

static ls_status check_together(const struct reader *r)
{
	ls_job__fault fault;
	if (ls_job__consistent(&r->spec, &fault))
		return LS_OK;
	return complain(r, &r->mark[ls_job__find(fault.key) - ls_job__fields], fault.key, fault.found, fault.expected, fault.hint);
}

/* Fields that are not read take their default, so that they change no bit of the signed form. */
static ls_status finish(struct reader *r)
{
	for (size_t i = 0; i < ls_job__field_count; i++) {
		const ls_job__field *field = &ls_job__fields[i];
		ls_status status;
		if (!ls_job__is_read(field, &r->spec)) {
			ls_job__value_reset(field, &r->spec);
			continue;
		}
		status = check_presence(r, i);
		if (status != LS_OK)
			return status;
	}
	return check_together(r);
}

/* ---- public ---- */

ls_status ls_job_parse(ls_job **out, const char *label, const void *text, size_t len, const char *const *sets,
                       size_t set_count, ls_error *err)
{
	struct reader r = {.label = label, .err = err};
	ls_status status;
	_Static_assert(sizeof(ls_job_spec) < 8192, "the reader lives on the stack");
	*out = NULL;
	if (ls_job__field_count > FIELDS_MAX)
		return ls_error_set(err, LS_ERR_INTERNAL, "the table of job fields is longer than %d", FIELDS_MAX);
	for (size_t i = 0; i < ls_job__field_count; i++)
		ls_job__value_reset(&ls_job__fields[i], &r.spec);
	LS_TRY(read_file(&r, text, len));
	r.in_set = true;
	for (size_t i = 0; i < set_count; i++)
		LS_TRY(read_set(&r, sets[i]));
	LS_TRY(finish(&r));
	*out = ls_alloc(1, sizeof **out);
	if (!*out)
		status = ls_error_set(err, LS_ERR_NOMEM, "%s: out of memory", label);
	else
		ls_job__adopt(*out, &r.spec);
done:
	return status;
}

ls_status ls_job_read(ls_job **out, const char *path, const char *const *sets, size_t set_count, ls_error *err)
{
	uint8_t *text = NULL;
	size_t len = 0;
	const char *slash = strrchr(path, '/');
	char folder[LS_PATH_MAX];
	ls_status status;
	*out = NULL;
	LS_TRY(ls_file_read(&text, &len, path, LS_JOB_BYTES_MAX, err));
	LS_TRY(ls_job_parse(out, path, text, len, sets, set_count, err));
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
	LS_TRY(ls_job_load_thresholds(*out, slash ? folder : ".", err));
done:
	if (status != LS_OK) {
		ls_job_free(*out);
		*out = NULL;
	}
	ls_free(text);
	return status;
}

void ls_job_free(ls_job *job)
{
	if (job)
		ls_free(job->threshold_bytes);
	ls_free(job);
}

const ls_job_spec *ls_job_spec_of(const ls_job *job)
{
	return &job->spec;
}
