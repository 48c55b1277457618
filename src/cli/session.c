/* What several commands open, in one way: jobs, plans, platforms that pass their self-test, runs. */
#include "cli/cli.h"

#include <lockstep/remote.h>

#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_MAX 1024

ls_status ls_cli__open_job(ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	return ls_job_read(&s->job, args->operand[0], args->repeated, args->repeats, err);
}

/* Only commands that may have to execute step 0 of somebody else's run have the option. */
static const char *init_from_of(const ls_cli_args *args)
{
	for (const ls_cli_option *o = args->command->options; o && o->name; o++)
		if (!strcmp(o->name, "init-from"))
			return ls_cli__value(args, "init-from");
	return NULL;
}

ls_status ls_cli__open_plan(ls_cli_session *s, const ls_cli_args *args, const ls_job *job, bool eval, ls_error *err)
{
	return ls_cli__open_plan_keyed(s, args, job, eval, &(ls_cli_keys){NULL, NULL}, err);
}

ls_status ls_cli__open_plan_keyed(ls_cli_session *s, const ls_cli_args *args, const ls_job *job, bool eval, const ls_cli_keys *keys,
                                  ls_error *err)
{
	ls_plan_options options = LS_PLAN_OPTIONS_INIT;
	options.data_dir = ls_cli__value(args, "data");
	options.eval = eval;
	options.init_from = init_from_of(args);
	options.trainer = keys->trainer;
	options.referee = keys->referee;
	options.run = s->run ? ls_run_binding(s->run) : NULL;
	return ls_plan_open(&s->plan, job, &options, err);
}

/* The processors this process may run on, which a container may have cut down. */
static uint64_t processors(void)
{
	cpu_set_t set;
	long online;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		return (uint64_t)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (uint64_t)online : 1;
}

struct failed_check {
	char text[256];
};

static void note_failure(void *context, const char *check, bool passed, const char *detail)
{
	struct failed_check *failed = context;
	if (!passed && !failed->text[0])
		snprintf(failed->text, sizeof failed->text, "%s%s%s", check, detail && detail[0] ? ": " : "", detail ? detail : "");
}

static ls_status require_conforming(ls_platform *platform, ls_error *err)
{
	struct failed_check failed = {{0}};
	bool passed = false;
	ls_status status = ls_platform_selftest(platform, &passed, note_failure, &failed, err);
	if (status == LS_OK && !passed)
		status = ls_error_set(err, LS_ERR_NONCONFORMING,
		                      "platform %s: found the self-test to fail (%s), expected it to pass\n"
		                      "  hint: lockstep platforms shows every check; choose another with --platform",
		                      ls_platform_describe(platform), failed.text);
	return status;
}

/* Named here, so that the complaint can list what there is. */
ls_status ls_cli__check_platform_name(const char *name, ls_error *err)
{
	const char *names[16] = {NULL}, *near;
	char expected[160] = "", hint[64];
	size_t used = 0;
	for (int i = 0; i < 15 && ls_platform_at(i); i++) {
		names[i] = ls_platform_at(i);
		if (!strcmp(name, names[i]))
			return LS_OK;
		if (used < sizeof expected)
			used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s", i ? ", " : "one of ", names[i]);
	}
	near = ls_cli__nearest(name, names);
	if (near)
		snprintf(hint, sizeof hint, "did you mean %s?", near);
	else
		snprintf(hint, sizeof hint, "lockstep platforms shows them");
	return ls_cli__usage(err, "--platform", name[0] ? name : "nothing", expected, hint);
}

ls_status ls_cli__open_platform_named(ls_platform **out, const ls_cli_args *args, const char *name, ls_error *err)
{
	ls_platform_options options = LS_PLATFORM_OPTIONS_INIT;
	uint64_t threads;
	ls_status status;
	*out = NULL;
	LS_TRY(ls_cli__check_platform_name(name, err));
	LS_TRY(ls_cli__number(args, "threads", 1, THREADS_MAX, processors(), &threads, err));
	options.threads = (int)threads;
	LS_TRY(ls_platform_open(out, name, &options, err));
	LS_TRY(require_conforming(*out, err));
done:
	if (status != LS_OK) {
		ls_platform_free(*out);
		*out = NULL;
	}
	return status;
}

ls_status ls_cli__open_platform(ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	return ls_cli__open_platform_named(&s->platform, args, ls_cli__value(args, "platform"), err);
}

ls_status ls_cli__open_run(ls_cli_session *s, const ls_cli_args *args, int index, ls_damage *damage, ls_error *err)
{
	const char *dir = args->operand[index];
	struct stat st;
	if (strstr(dir, "://"))
		return ls_cli__usage(err, dir, "an address", "the folder of a run", "of the commands, lockstep audit reads served runs");
	if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
		return ls_error_input(err, dir, NULL, "a file", "the folder of a run", "lockstep verify reads single heads, jobs and envelopes");
	*damage = (ls_damage){0};
	return ls_run_open(&s->run, dir, damage, err);
}

ls_status ls_cli__open_run_anywhere(ls_cli_session *s, const ls_cli_args *args, int index, bool live, ls_damage *damage, ls_error *err)
{
	ls_http_options options = LS_HTTP_OPTIONS_INIT;
	ls_status status;
	uint64_t seconds;
	if (!strstr(args->operand[index], "://"))
		return live ? ls_run_open_live(&s->run, args->operand[index], damage, err) : ls_cli__open_run(s, args, index, damage, err);
	LS_TRY(ls_cli__number(args, "timeout", 1, 3600, 0, &seconds, err));
	options.timeout = (unsigned)seconds;
	options.ca = ls_cli__value(args, "ca");
	if (!s->remote)
		LS_TRY(ls_remote_open(&s->remote, args->operand[index], &options, err));
	LS_TRY(ls_remote_run(s->remote, live, &s->run, damage, err));
done:
	return status;
}

ls_status ls_cli__load_last(const ls_run *run, ls_exec *exec, uint64_t *step, ls_damage *damage, ls_error *err)
{
	uint64_t *steps = NULL;
	size_t count = 0;
	ls_status status;
	LS_TRY(ls_run_snapshots(run, &steps, &count, err));
	if (!count) {
		status = ls_error_input(err, ls_run_dir(run), "snapshots", "none", "at least one", "lockstep train --resume makes one");
		goto done;
	}
	*step = steps[count - 1];
	LS_TRY(ls_run_read_snapshot(run, *step, exec, damage, err));
done:
	ls_free(steps);
	return status;
}

void ls_cli__close(ls_cli_session *s)
{
	ls_platform_free(s->platform);
	ls_plan_free(s->plan);
	ls_job_free(s->job);
	ls_run_free(s->run);
	ls_remote_free(s->remote);
	*s = (ls_cli_session){0};
}
