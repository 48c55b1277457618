#include "cli/cli.h"

static const ls_cli_option options[] = {
	{.name = "platform", .argument = "P", .help = "only this one", .fallback_text = "all"},
	{.name = "threads", .argument = "N", .help = "threads that compute", .fallback = "1"},
	{.name = NULL},
};

struct listing {
	const ls_cli *cli;
	json_t *checks;
};

static void add_check(void *context, const char *check, bool passed, const char *detail)
{
	struct listing *l = context;
	json_t *row = json_object();
	ls_cli__put_text(row, "check", check);
	ls_cli__put_bool(row, "passed", passed);
	ls_cli__put_text(row, "detail", detail);
	json_array_append_new(l->checks, row);
	ls_cli__say(l->cli, "  %-6s %s%s%s\n", passed ? "ok" : "FAILED", check, detail && detail[0] ? ": " : "", detail ? detail : "");
}

/* A platform whose library or instructions are missing is a line of the list, not a failure. */
static void add_absent(struct listing *l, json_t *row, const char *name, const ls_error *why)
{
	ls_cli__say(l->cli, "%s: not here\n  %s\n", name, why->text);
	ls_cli__put_text(row, "description", NULL);
	ls_cli__put_bool(row, "available", false);
	ls_cli__put_bool(row, "passed", false);
	ls_cli__put_text(row, "text", why->text);
}

static ls_status add_platform(struct listing *l, json_t *row, const char *name, int threads, bool *passed, ls_error *err)
{
	ls_platform_options o = LS_PLATFORM_OPTIONS_INIT;
	ls_platform *platform = NULL;
	ls_error why = LS_ERROR_INIT;
	ls_status status;
	o.threads = threads;
	*passed = true;
	status = ls_platform_open(&platform, name, &o, &why);
	if (status == LS_ERR_UNSUPPORTED) {
		add_absent(l, row, name, &why);
		return LS_OK;
	}
	if (status != LS_OK)
		return ls_error_set(err, status, "%s", why.text);
	ls_cli__say(l->cli, "%s (%s)\n", name, ls_platform_describe(platform));
	ls_cli__put_text(row, "description", ls_platform_describe(platform));
	ls_cli__put_bool(row, "available", true);
	status = ls_platform_selftest(platform, passed, add_check, l, err);
	ls_cli__put_bool(row, "passed", *passed);
	ls_platform_free(platform);
	return status;
}

/* One name's row; `*passed` is false where a platform that is here fails. */
static ls_status list_one(struct listing *l, json_t *list, const char *name, int threads, bool *passed, ls_error *err)
{
	json_t *row = json_object();
	ls_status status;
	l->checks = json_array();
	ls_cli__put_text(row, "platform", name);
	status = add_platform(l, row, name, threads, passed, err);
	json_object_set_new(row, "checks", l->checks);
	json_array_append_new(list, row);
	return status;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	struct listing l = {.cli = cli};
	const char *only = ls_cli__value(args, "platform"), *name;
	json_t *object = json_object(), *list = json_array();
	bool passed, all = true;
	uint64_t threads;
	ls_status status;
	LS_TRY(ls_cli__number(args, "threads", 1, 1024, 1, &threads, err));
	if (only)
		LS_TRY(ls_cli__check_platform_name(only, err));
	for (int i = 0; only ? i == 0 : ls_platform_at(i) != NULL; i++) {
		name = only ? only : ls_platform_at(i);
		LS_TRY(list_one(&l, list, name, (int)threads, &passed, err));
		all = all && passed;
	}
	*code = all ? LS_CLI__DONE : LS_CLI__OTHER_VERDICT;
	json_object_set(object, "platforms", list);
	ls_cli__put_bool(object, "passed", all);
	if (cli->json)
		ls_cli__emit(json_incref(object));
	else if (!all)
		ls_cli__say(cli, "a platform that fails a check is refused by train, audit and eval\n");
done:
	json_decref(list);
	json_decref(object);
	return status;
}

const ls_cli_command ls_cli__platforms = {
	.name = "platforms",
	.summary = "what can compute here, and whether it passes its self-test",
	.options = options,
	.run = run,
};
