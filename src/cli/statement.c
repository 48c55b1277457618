/* Statements about trained weights, by train's export and by audit. */
#include "cli/statement.h"

#include <stdio.h>

ls_status ls_cli__export_run(ls_cli_exported *out, ls_cli_session *s, const char *path, bool overwrite, ls_damage *damage,
                             ls_error *err)
{
	ls_platform_options platform = LS_PLATFORM_OPTIONS_INIT;
	ls_exec_options options = LS_EXEC_OPTIONS_INIT;
	ls_job_plan *plan = NULL;
	ls_platform *native = NULL;
	ls_hasher *hasher = NULL;
	ls_exec *exec = NULL;
	ls_status status;
	LS_TRY(ls_plan_open_offline(&plan, ls_run_job(s->run), ls_run_binding(s->run), err));
	LS_TRY(ls_platform_open(&native, "native", &platform, err));
	LS_TRY(ls_hasher_open(&hasher, 1, err));
	options.program = ls_model_step(ls_plan_model(plan));
	options.platform = native;
	options.hasher = hasher;
	options.state_only = true;
	LS_TRY(ls_exec_open(&exec, &options, err));
	LS_TRY(ls_cli__load_last(s->run, exec, &out->step, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(ls_exec_state_root(exec, &out->state_root, err));
	LS_TRY(ls_export(plan, exec, path, overwrite, &out->result, err));
	LS_TRY(ls_run_log_statistics(s->run, options.program, &out->log, err));
done:
	ls_exec_free(exec);
	ls_hasher_free(hasher);
	ls_platform_free(native);
	ls_plan_free(plan);
	return status;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The platform of the run's last step, as its metrics note it. */
static void note_platform(void *context, const ls_metrics *m)
{
	ls_attestation *a = context;
	snprintf(a->platform, sizeof a->platform, "%s", m->platform ? m->platform : "");
}

ls_status ls_cli__begin_statement(ls_attestation *a, const ls_run *run, const char *file, const char *name, ls_error *err)
{
	ls_hash data;
	ls_status status;
	*a = (ls_attestation){.job = *ls_run_job_id(run), .run = *ls_run_id_of(run)};
	memcpy(data.byte, ls_run_binding(run)->data, sizeof data.byte);
	a->data = data;
	a->steps = ls_run_last_step(run);
	snprintf(a->subject, sizeof a->subject, "%s", base_name(name));
	snprintf(a->mode, sizeof a->mode, "%s", ls_cli__mode_text(ls_job_spec_of(ls_run_job(run))));
	LS_TRY(ls_file_digest(&a->subject_digest, file, err));
	LS_TRY(ls_run_read_head(run, ls_run_leaves(run), &a->head, err));
	LS_TRY(ls_run_read_metrics(run, note_platform, a, err));
done:
	return status;
}

ls_status ls_cli__write_statement(const ls_attestation *a, const ls_key *key, const char *path, ls_error *err)
{
	ls_status status;
	ls_buf text;
	ls_buf_init(&text, LS_ATTEST_MAX);
	LS_TRY(ls_attestation_seal(&text, a, key, err));
	LS_TRY(ls_file_write(path, text.data, text.len, err));
done:
	ls_buf_free(&text);
	return status;
}
