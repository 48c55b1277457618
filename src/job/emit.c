#include "job/value.h"

#include <stdio.h>
#include <string.h>

#define KEY_OF(path) ((path) + (strchr((path), '.') ? ls_job__section_len(path) + 1 : 0))

/* Writes "train:" where `field` is the first of its section to be written. */
static void open_section(ls_buf *out, const ls_job__field *field, const ls_job__field *before)
{
	size_t len = ls_job__section_len(field->path);
	if (len && (!before || ls_job__section_len(before->path) != len || memcmp(before->path, field->path, len)))
		ls_buf_printf(out, "%.*s:\n", (int)len, field->path);
}

ls_status ls_job_emit_yaml(const ls_job *job, ls_buf *out)
{
	const ls_job__field *before = NULL;
	for (size_t i = 0; i < ls_job__field_count; i++) {
		const ls_job__field *field = &ls_job__fields[i];
		if (!ls_job__is_read(field, &job->spec))
			continue;
		if (field->flags & LS_JOB__UNSET && ls_job__value_unset(field, &job->spec))
			continue;
		open_section(out, field, before);
		ls_buf_printf(out, "%s%s: ", ls_job__section_len(field->path) ? "  " : "", KEY_OF(field->path));
		ls_job__value_print(field, &job->spec, out);
		ls_buf_u8(out, '\n');
		before = field;
	}
	return out->status;
}

/* ---- the template ---- */

/* Checks `text` as the value of a field by storing it in a spec, whose copy is then what the template shows. */
static ls_status store_text(ls_job_spec *spec, const char *path, const char *text, ls_error *err)
{
	const ls_job__field *field = ls_job__find(path);
	ls_job__node node = {.kind = LS_JOB__SCALAR, .plain = true, .text = (char *)text, .len = strlen(text)};
	char found[LS_JOB__SHOWN + 32], expected[LS_JOB__EXPECTED_MAX];
	if (ls_job__value_read(field, NULL, &node, spec))
		return LS_OK;
	ls_job__describe_node(found, &node);
	ls_job__describe(expected, sizeof expected, field);
	return ls_error_input(err, NULL, path, found, expected, field->help);
}

/* An example that holds for one model only stands as a comment elsewhere. */
static bool stands_as_comment(const ls_job__field *field, const char *arch)
{
	return field->for_arch && strcmp(field->for_arch, arch) != 0;
}

static void template_line(ls_buf *out, const ls_job__field *field, const ls_job_spec *spec)
{
	char value[LS_JOB_NAME_MAX + 32], expected[LS_JOB__EXPECTED_MAX];
	ls_buf text;
	ls_buf_init(&text, sizeof value - 1);
	ls_buf_printf(&text, "%s%s%s: ", ls_job__section_len(field->path) ? "  " : "",
	              stands_as_comment(field, spec->model.arch) ? "# " : "", KEY_OF(field->path));
	if (field->example)
		ls_buf_printf(&text, "%s", field->example);
	else
		ls_job__value_print(field, spec, &text);
	snprintf(value, sizeof value, "%.*s", (int)text.len, text.data ? (const char *)text.data : "");
	if (text.status != LS_OK && out->status == LS_OK)
		out->status = text.status;
	ls_buf_free(&text);
	ls_job__describe(expected, sizeof expected, field);
	ls_buf_printf(out, "%-32s # %s (%s)\n", value, field->help, expected);
}

ls_status ls_job_template(ls_buf *out, const char *name, const char *arch, ls_error *err)
{
	const ls_job__field *before = NULL;
	ls_job_spec spec = {0};
	ls_status status;
	for (size_t i = 0; i < ls_job__field_count; i++)
		ls_job__value_reset(&ls_job__fields[i], &spec);
	LS_TRY(store_text(&spec, "name", name, err));
	LS_TRY(store_text(&spec, "model.arch", arch, err));
	ls_buf_printf(out, "# A Lockstep job. What follows a # is not read; `lockstep plan` checks the file.\n");
	for (size_t i = 0; i < ls_job__field_count; i++) {
		open_section(out, &ls_job__fields[i], before);
		template_line(out, &ls_job__fields[i], &spec);
		before = &ls_job__fields[i];
	}
	if (out->status != LS_OK)
		status = ls_error_set(err, out->status, "could not write the template: %s", ls_status_text(out->status));
done:
	return status;
}
