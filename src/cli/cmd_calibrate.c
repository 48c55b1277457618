#include "cli/cli.h"

#include <stdio.h>

#define PLATFORMS_MAX 8
#define NAMES_MAX 256

static const ls_cli_option options[] = {
	{.name = "platforms", .argument = "A,B", .help = "two or more platforms to compare", .fallback = "native,openblas"},
	{.name = "output", .argument = "FILE", .help = "the threshold file to write", .brief = 'o'},
	{.name = "trials", .argument = "N", .help = "random inputs per op", .fallback = "4"},
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	LS_CLI__OPTION_SET,
	{.name = NULL},
};

struct calibration {
	ls_platform *platform[PLATFORMS_MAX];
	int platforms;
	uint64_t trials;
	ls_calibration row[LS_CALIBRATIONS_MAX];
	int rows;
	uint64_t escaped;
};

/* The threshold file of the job is what this command makes, so the job is read as if it had none. */
static ls_status open_job(ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	const char **sets = ls_alloc(args->repeats + 1, sizeof *sets);
	ls_status status;
	if (!sets)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	for (size_t i = 0; i < args->repeats; i++)
		sets[i] = args->repeated[i];
	sets[args->repeats] = "arithmetic.threshold=certified";
	LS_TRY(ls_job_read(&s->job, args->operand[0], sets, args->repeats + 1, err));
	if (!ls_job_keeps_log(ls_job_spec_of(s->job)))
		status = ls_error_input(err, args->operand[0], "arithmetic.mode", ls_cli__mode_text(ls_job_spec_of(s->job)), "logged",
		                        "only the rounding log has thresholds");
done:
	ls_free(sets);
	return status;
}

static ls_status open_platforms(struct calibration *c, const ls_cli_args *args, ls_error *err)
{
	const char *list = ls_cli__value(args, "platforms");
	char names[NAMES_MAX], *rest = names;
	if (strlen(list) >= sizeof names)
		return ls_cli__usage(err, "--platforms", "a long list", "at most 8 names", NULL);
	memcpy(names, list, strlen(list) + 1);
	while (rest) {
		char *name = rest, *comma = strchr(rest, ',');
		ls_status status;
		rest = comma ? comma + 1 : NULL;
		if (comma)
			*comma = 0;
		if (c->platforms == PLATFORMS_MAX)
			return ls_cli__usage(err, "--platforms", list, "at most 8 names", NULL);
		status = ls_cli__open_platform_named(&c->platform[c->platforms], args, name, err);
		if (status != LS_OK)
			return status;
		c->platforms++;
	}
	if (c->platforms < 2)
		return ls_cli__usage(err, "--platforms", list, "two or more, as in native,openblas", "lockstep platforms shows them");
	return LS_OK;
}

static ls_status measure(struct calibration *c, const ls_job_plan *plan, ls_error *err)
{
	ls_calibrate_options o = LS_CALIBRATE_OPTIONS_INIT;
	ls_status status;
	o.program = ls_model_step(ls_plan_model(plan));
	o.platforms = c->platform;
	o.platform_count = c->platforms;
	o.fp32 = ls_plan_spec(plan)->arithmetic.compute == LS_JOB_FP32;
	o.trials = (int)c->trials;
	status = ls_calibrate(c->row, &c->rows, &o, err);
	for (int i = 0; i < c->rows; i++)
		c->escaped += c->row[i].escaped;
	return status;
}

/* τ is a multiple of 2^-13 = 1220703125·10^-13, so 13 decimal places write it exactly. */
static ls_status write_file(const struct calibration *c, const ls_job_spec *spec, const char *path, ls_error *err)
{
	ls_buf out;
	ls_status status;
	ls_buf_init(&out, LS_JOB_BYTES_MAX);
	ls_buf_printf(&out, "{\n  \"lockstep_thresholds\": 1,\n  \"grid\": %u,\n  \"compute\": \"%s\",\n  \"platforms\": [",
	              (unsigned)spec->arithmetic.grid, spec->arithmetic.compute == LS_JOB_FP32 ? "fp32" : "fp64");
	for (int i = 0; i < c->platforms; i++)
		ls_buf_printf(&out, "%s\"%s\"", i ? ", " : "", ls_platform_describe(c->platform[i]));
	ls_buf_printf(&out, "],\n  \"trials\": %u,\n  \"tau\": {\n", (unsigned)c->trials);
	for (int i = 0; i < c->rows; i++) {
		unsigned long long decimals = (unsigned long long)(c->row[i].tau * 8192) * 1220703125ull;
		ls_buf_printf(&out, "    \"%s\": 0.%013llu%s\n", c->row[i].kind, decimals, i + 1 < c->rows ? "," : "");
	}
	ls_buf_printf(&out, "  }\n}\n");
	status = out.status == LS_OK ? ls_file_write(path, out.data, out.len, err)
	                             : ls_error_set(err, out.status, "the threshold file does not fit its buffer");
	ls_buf_free(&out);
	return status;
}

static json_t *rows_json(const struct calibration *c)
{
	json_t *list = json_array();
	for (int i = 0; i < c->rows; i++) {
		const ls_calibration *r = &c->row[i];
		json_t *row = json_object();
		ls_cli__put_text(row, "kind", r->kind);
		ls_cli__put_real(row, "tau", r->tau);
		ls_cli__put_real(row, "window", 0.5 - r->tau);
		ls_cli__put_real(row, "closest", r->closest);
		ls_cli__put_uint(row, "elements", r->elements);
		ls_cli__put_uint(row, "differing", r->differing);
		ls_cli__put_uint(row, "escaped", r->escaped);
		json_array_append_new(list, row);
	}
	return list;
}

static void print(const ls_cli *cli, const struct calibration *c, const char *path)
{
	json_t *object;
	ls_cli__say(cli, "%-16s %-10s %-12s %-12s %s\n", "op", "tau", "elements", "differing", "escaped");
	for (int i = 0; i < c->rows; i++)
		ls_cli__say(cli, "%-16s %-10.6f %-12llu %-12llu %llu\n", c->row[i].kind, c->row[i].tau, (unsigned long long)c->row[i].elements,
		            (unsigned long long)c->row[i].differing, (unsigned long long)c->row[i].escaped);
	ls_cli__say(cli, "wrote %s\n", path);
	if (c->escaped)
		ls_cli__say(cli, "not covered: no threshold logs every element that differed; honest platforms would be accused\n"
		            "next: order the job with arithmetic.threshold certified\n");
	else
		ls_cli__say(cli, "next: arithmetic: {threshold: {adaptive: FILE}} in the job; such runs are uncertified\n");
	if (!cli->json)
		return;
	object = json_object();
	ls_cli__put_text(object, "file", path);
	ls_cli__put_bool(object, "covered", !c->escaped);
	ls_cli__put_uint(object, "trials", c->trials);
	json_object_set_new(object, "ops", rows_json(c));
	ls_cli__emit(object);
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	const char *path = ls_cli__value(args, "output");
	ls_cli_session s = {0};
	struct calibration c = {0};
	ls_status status = LS_OK;
	if (!path)
		return ls_cli__usage(err, "calibrate", "no --output", "--output FILE", "the job then names it: threshold: {adaptive: FILE}");
	LS_TRY(ls_cli__number(args, "trials", 1, 65536, 4, &c.trials, err));
	LS_TRY(open_job(&s, args, err));
	LS_TRY(ls_cli__open_plan(&s, args, s.job, false, err));
	LS_TRY(open_platforms(&c, args, err));
	LS_TRY(measure(&c, s.plan, err));
	LS_TRY(write_file(&c, ls_plan_spec(s.plan), path, err));
	*code = c.escaped ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	print(cli, &c, path);
done:
	for (int i = 0; i < c.platforms; i++)
		ls_platform_free(c.platform[i]);
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__calibrate = {
	.name = "calibrate",
	.operands = "JOB",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "find the paper's adaptive thresholds, per kind of op, for these platforms",
	.details = "Exits with 1 where no threshold covers every element that differed. The file says what was seen, and proves nothing.",
	.options = options,
	.run = run,
};
