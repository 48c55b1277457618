#include "cli/cli.h"

#include <stdio.h>

struct facts {
	ls_hash root;
	ls_leaf last;
	ls_log_statistics log;
	ls_stages stages;
	double seconds;
	char platform[128]; /* "" where the run does not say */
	uint64_t *snapshots;
	size_t snapshot_count;
};

/* ---- metrics.jsonl ---- */

static void add_line(void *context, const ls_metrics *m)
{
	struct facts *f = context;
	f->seconds += m->seconds;
	ls_stages_add(&f->stages, &m->stages);
	snprintf(f->platform, sizeof f->platform, "%s", m->platform);
}

/* A log that does not fit its leaves is damage, which is a finding here. */
static ls_status count_log(struct facts *f, const ls_cli_session *s, ls_damage *damage, ls_error *err)
{
	ls_error why = LS_ERROR_INIT;
	const char *text;
	ls_status status = ls_run_log_statistics(s->run, ls_model_step(ls_plan_model(s->plan)), &f->log, &why);
	if (status == LS_ERR_INPUT) {
		damage->found = true;
		snprintf(damage->file, sizeof damage->file, "rounding-log/frames");
		text = strstr(why.text, "frames: "); // the file is named already
		snprintf(damage->text, sizeof damage->text, "%.*s", (int)sizeof damage->text - 1, text ? text + 8 : why.text);
		return LS_OK;
	}
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "%s", why.text);
}

static ls_status gather(struct facts *f, ls_cli_session *s, ls_damage *damage, ls_error *err)
{
	uint64_t leaves = ls_run_leaves(s->run);
	ls_status status;
	LS_TRY(ls_run_read_leaf(s->run, leaves - 1, &f->last, err));
	LS_TRY(ls_run_root(s->run, leaves, &f->root, err));
	LS_TRY(ls_run_snapshots(s->run, &f->snapshots, &f->snapshot_count, err));
	LS_TRY(ls_run_read_metrics(s->run, add_line, f, err));
	if (ls_job_keeps_log(ls_job_spec_of(ls_run_job(s->run))))
		f->log.bytes = ls_run_log_bytes(s->run);
	LS_TRY(ls_plan_open_offline(&s->plan, ls_run_job(s->run), ls_run_binding(s->run), err));
	LS_TRY(count_log(f, s, damage, err));
done:
	return status;
}

/* ---- output ---- */

static json_t *snapshots_json(const struct facts *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->snapshot_count; i++)
		json_array_append_new(list, json_integer((json_int_t)f->snapshots[i]));
	return list;
}

static void print_json(const struct facts *f, const ls_run *run)
{
	const ls_job_spec *spec = ls_job_spec_of(ls_run_job(run));
	json_t *object = json_object();
	ls_cli__put_hash(object, "root", &f->root);
	ls_cli__put_uint(object, "steps", f->last.step);
	ls_cli__put_hash(object, "job", ls_run_job_id(run));
	ls_cli__put_text(object, "name", spec->name);
	ls_cli__put_text(object, "arch", spec->model.arch);
	ls_cli__put_text(object, "mode", ls_cli__mode_text(spec));
	ls_cli__put_bool(object, "uncertified", ls_job_uncertified(spec));
	ls_cli__put_text(object, "platform", f->platform[0] ? f->platform : NULL);
	ls_cli__put_hash(object, "state_root", &f->last.state);
	ls_cli__put_hash(object, "run", ls_run_id_of(run));
	ls_cli__put_uint(object, "log_bytes", f->log.bytes);
	json_object_set_new(object, "log_entries", json_integer((json_int_t)f->log.entries));
	json_object_set_new(object, "elements", json_integer((json_int_t)f->log.elements));
	ls_cli__put_stages(object, spec->arithmetic.mode, &f->stages);
	ls_cli__put_real(object, "seconds", f->seconds);
	ls_cli__put_uint(object, "steps_ordered", ls_run_binding(run)->steps);
	ls_cli__put_uint(object, "leaves", ls_run_leaves(run));
	ls_cli__put_bool(object, "complete", ls_run_complete(run));
	json_object_set_new(object, "snapshots", snapshots_json(f));
	ls_cli__emit(object);
}

static void print_log(const ls_cli *cli, const struct facts *f, const ls_job_spec *spec)
{
	char bytes[LS_CLI__AMOUNT_SIZE], stages[LS_CLI__STAGES_SIZE];
	double log_bytes = (double)f->log.bytes;
	if (!ls_job_keeps_log(spec)) {
		ls_cli__say(cli, "rounding log  none%s\n", ls_cli__stages_text(stages, spec->arithmetic.mode, &f->stages));
		return;
	}
	ls_cli__say(cli, "rounding log  %s", ls_cli__bytes_text(bytes, log_bytes));
	if (f->log.elements)
		ls_cli__say(cli, ", %llu entries for %llu elements, %.4f bit each\n", (unsigned long long)f->log.entries,
		            (unsigned long long)f->log.elements, 8 * log_bytes / (double)f->log.elements);
	else
		ls_cli__say(cli, "\n");
}

static void print_snapshots(const ls_cli *cli, const struct facts *f)
{
	ls_cli__say(cli, "snapshots     %s", f->snapshot_count ? "after steps" : "none");
	for (size_t i = 0; i < f->snapshot_count; i++) {
		if (i == 4 && f->snapshot_count > 8)
			ls_cli__say(cli, " …");
		if (i < 4 || i + 4 >= f->snapshot_count || f->snapshot_count <= 8)
			ls_cli__say(cli, " %llu", (unsigned long long)f->snapshots[i]);
	}
	ls_cli__say(cli, "\n");
}

static void print_text(const ls_cli *cli, const struct facts *f, const ls_run *run)
{
	const ls_job_spec *spec = ls_job_spec_of(ls_run_job(run));
	char root[LS_HASH_HEX_SIZE], state[LS_HASH_HEX_SIZE], job[LS_HASH_HEX_SIZE], id[LS_HASH_HEX_SIZE];
	char seconds[LS_CLI__AMOUNT_SIZE];
	ls_hash_hex(root, &f->root);
	ls_hash_hex(state, &f->last.state);
	ls_hash_hex(job, ls_run_job_id(run));
	ls_hash_hex(id, ls_run_id_of(run));
	ls_cli__say(cli, "name          %s (%s, %s%s)\njob           %s\nrun           %s\nroot          %s\nstate root    %s\n", spec->name,
	            spec->model.arch, ls_cli__mode_text(spec), ls_cli__uncertified_text(spec), job, id, root, state);
	ls_cli__say(cli, "steps         %llu of %llu in %llu leaves%s\n", (unsigned long long)f->last.step,
	            (unsigned long long)ls_run_binding(run)->steps, (unsigned long long)ls_run_leaves(run),
	            ls_run_complete(run) ? "" : ", not complete");
	if (f->platform[0])
		ls_cli__say(cli, "platform      %s\n", f->platform);
	print_log(cli, f, spec);
	print_snapshots(cli, f);
	ls_cli__say(cli, "time          %s\n", ls_cli__seconds_text(seconds, f->seconds));
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session s = {0};
	struct facts f = {0};
	ls_damage damage;
	ls_status status;
	LS_TRY(ls_cli__open_run(&s, args, 0, &damage, err));
	if (!damage.found)
		LS_TRY(gather(&f, &s, &damage, err));
	*code = damage.found ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (damage.found)
		ls_cli__report_damage(cli, &damage);
	else if (cli->json)
		print_json(&f, s.run);
	else
		print_text(cli, &f, s.run);
done:
	ls_free(f.snapshots);
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__inspect = {
	.name = "inspect",
	.operands = "RUN",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "what a run is: job, root, steps, sizes, rounding log",
	.run = run,
};
