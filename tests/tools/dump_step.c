/* Step 1 of a job, for tests that compare numbers with other programs': writes what went in and came out, each value as a file of
 * its words, little-endian.
 *
 *   dump_step JOB FOLDER    x, x.labels, logits, loss, and as grad.NAME the gradient of each parameter NAME
 *
 * Data is found as the job says. The folder must be there. Exit codes of lockstep.
 */
#include "cli/cli.h"

#include <lockstep/train.h>

#include <stdio.h>

typedef struct dump {
	const char *folder;
	bool failed;
} dump;

static void write_value(dump *d, ls_exec *exec, int value, const char *prefix, const char *name)
{
	const ls_value *v = ls_program_value(ls_exec_program(exec), value);
	size_t count = (size_t)ls_shape_count(&v->shape);
	char path[LS_PATH_MAX];
	FILE *f;
	snprintf(path, sizeof path, "%s/%s%s", d->folder, prefix, name);
	f = fopen(path, "wb");
	d->failed |= !f || fwrite(ls_exec_value(exec, value), 4, count, f) != count;
	if (f)
		d->failed |= fclose(f) != 0;
}

static bool is_asked_for(const char *name)
{
	static const char *const names[] = {"x", LS_MODEL_LABELS, LS_MODEL_LOGITS, LS_MODEL_LOSS};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* An update reads the parameter, then its gradient. */
static void after_op(void *context, ls_exec *exec, uint64_t step, int index, ls_step_log *log)
{
	const ls_program *program = ls_exec_program(exec);
	const ls_op *op = ls_program_op(program, index);
	for (int o = 0; step && o < op->output_count; o++)
		if (is_asked_for(ls_program_value(program, op->outputs[o])->name))
			write_value(context, exec, op->outputs[o], "", ls_program_value(program, op->outputs[o])->name);
	if (step && (!strcmp(op->kind, "adam") || !strcmp(op->kind, "sgd")))
		write_value(context, exec, op->inputs[1], "grad.", ls_program_value(program, op->inputs[0])->name);
}

static ls_status run(const char *path, dump *d, ls_error *err)
{
	ls_watch watch = {d, after_op};
	ls_replay_options o = LS_REPLAY_OPTIONS_INIT;
	ls_plan_options p = LS_PLAN_OPTIONS_INIT;
	ls_platform_options native = LS_PLATFORM_OPTIONS_INIT;
	ls_job *job = NULL;
	ls_job_plan *plan = NULL;
	ls_platform *platform = NULL;
	ls_replay *replay = NULL;
	ls_leaf_result result;
	ls_hash root, id = {{0}};
	ls_status status;
	ls_buf block;
	ls_buf_init(&block, (size_t)1 << 30);
	native.threads = 1;
	LS_TRY(ls_job_read(&job, path, NULL, 0, err));
	LS_TRY(ls_plan_open(&plan, job, &p, err));
	LS_TRY(ls_platform_open(&platform, "native", &native, err));
	o.plan = plan;
	o.platform = platform;
	o.watch = &watch;
	LS_TRY(ls_replay_open(&replay, &o, err));
	LS_TRY(ls_replay_init(replay, &root, err));
	LS_TRY(ls_replay_leaf(replay, &id, 1, 1, &block, NULL, NULL, NULL, &result, err));
	if (d->failed)
		status = ls_error_set(err, LS_ERR_IO, "%s: could not write a value", d->folder);
done:
	ls_replay_free(replay);
	ls_platform_free(platform);
	ls_plan_free(plan);
	ls_job_free(job);
	ls_buf_free(&block);
	return status;
}

int main(int argc, char **argv)
{
	ls_error err = LS_ERROR_INIT;
	dump d = {.folder = argc == 3 ? argv[2] : ""};
	ls_status status = argc == 3 ? run(argv[1], &d, &err) : ls_error_set(&err, LS_ERR_USAGE, "found %d words, expected JOB FOLDER", argc - 1);
	if (status != LS_OK)
		fprintf(stderr, "%s\n", err.text);
	return status != LS_OK ? ls_cli__exit_code(status) : 0;
}
