#include "cli/cli.h"

#include <stdio.h>

#define TEMPLATE_MAX 65536
#define MODELS_MAX 64

static const ls_cli_option options[] = {
	{.name = "arch", .argument = "A", .help = "model that the job trains", .fallback = "lenet5"},
	{.name = "list", .help = "list the models instead of writing a job"},
	{.name = NULL},
};

static void print_list(const ls_cli *cli)
{
	json_t *list = json_array(), *object = json_object();
	for (size_t i = 0; ls_model_name(i); i++) {
		json_t *row = json_object();
		ls_cli__put_text(row, "arch", ls_model_name(i));
		ls_cli__put_text(row, "text", ls_model_text(i));
		json_array_append_new(list, row);
		ls_cli__say(cli, "%-8s %s\n", ls_model_name(i), ls_model_text(i));
	}
	json_object_set_new(object, "models", list);
	if (cli->json)
		ls_cli__emit(object);
	else
		json_decref(object);
}

static ls_status check_arch(const char *arch, ls_error *err)
{
	const char *names[MODELS_MAX + 1] = {NULL}, *near;
	char hint[64];
	for (size_t i = 0; i < MODELS_MAX && ls_model_name(i); i++) {
		names[i] = ls_model_name(i);
		if (!strcmp(arch, names[i]))
			return LS_OK;
	}
	near = ls_cli__nearest(arch, names);
	snprintf(hint, sizeof hint, near ? "did you mean %s?" : "lockstep init --list shows them", near);
	return ls_cli__usage(err, "--arch", arch, "a model of this version", hint);
}

static ls_status write_template(const char *path, const char *name, const char *arch, ls_error *err)
{
	ls_status status;
	ls_buf text;
	ls_buf_init(&text, TEMPLATE_MAX);
	LS_TRY(ls_job_template(&text, name, arch, err));
	if (ls_file_exists(path))
		status = ls_error_set(err, LS_ERR_EXISTS, "%s: found a file, expected none\n  hint: remove it or choose another name", path);
	else
		status = ls_file_write(path, text.data, text.len, err);
done:
	ls_buf_free(&text);
	return status;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	const char *arch = ls_cli__value(args, "arch");
	char path[LS_JOB_NAME_MAX + 8];
	ls_status status;
	if (ls_cli__given(args, "list")) {
		print_list(cli);
		return LS_OK;
	}
	if (args->operands == 0)
		return ls_cli__usage(err, "init", "no operand", "NAME", "for example lockstep init my-job");
	LS_TRY(check_arch(arch, err));
	snprintf(path, sizeof path, "%.*s.yaml", LS_JOB_NAME_MAX, args->operand[0]);
	LS_TRY(write_template(path, args->operand[0], arch, err));
	if (cli->json) {
		json_t *object = json_object();
		ls_cli__put_text(object, "path", path);
		ls_cli__put_text(object, "arch", arch);
		ls_cli__emit(object);
	}
	ls_cli__say(cli, "wrote %s\nnext: edit it, then lockstep plan %s\n", path, path);
done:
	return status;
}

const ls_cli_command ls_cli__init = {
	.name = "init",
	.operands = "NAME",
	.operands_max = 1,
	.summary = "write a commented job file NAME.yaml",
	.options = options,
	.run = run,
};
