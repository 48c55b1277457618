#include <lockstep/audit.h>

#include <stdio.h>

/* Opens an executor whose state buffers the snapshots are read into; nothing is executed. */
typedef struct checker {
	ls_job_plan *plan;
	ls_platform *platform;
	ls_hasher *hasher;
	ls_exec *exec;
} checker;

static void close_checker(checker *c)
{
	ls_exec_free(c->exec);
	ls_hasher_free(c->hasher);
	ls_platform_free(c->platform);
	ls_plan_free(c->plan);
}

static ls_status open_checker(checker *c, const ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status;
	ls_error why = LS_ERROR_INIT;
	ls_platform_options platform = LS_PLATFORM_OPTIONS_INIT;
	ls_exec_options exec = LS_EXEC_OPTIONS_INIT;
	status = ls_plan_open_offline(&c->plan, ls_run_job(run), ls_run_binding(run), &why);
	if (status == LS_ERR_INPUT || status == LS_ERR_LIMIT || status == LS_ERR_NOT_FOUND || status == LS_ERR_UNSUPPORTED) {
		*damage = (ls_damage){.found = true, .file = "job.bin"}; // well-formed, but not what its own fields expand to
		snprintf(damage->text, sizeof damage->text, "%.500s", why.text);
		return LS_OK;
	}
	if (status != LS_OK)
		return ls_error_set(err, status, "%s", why.text);
	LS_TRY(ls_platform_open(&c->platform, "native", &platform, err));
	LS_TRY(ls_hasher_open(&c->hasher, 1, err));
	exec.program = ls_model_step(ls_plan_model(c->plan));
	exec.platform = c->platform;
	exec.hasher = c->hasher;
	exec.state_only = true;
	LS_TRY(ls_exec_open(&c->exec, &exec, err));
done:
	return status;
}

/* Step 0 is always kept, and the end of a run that has one. Asking for a snapshot that is not there reports it missing. */
static ls_status check_kept(const ls_run *run, const uint64_t *steps, size_t count, ls_exec *exec, ls_damage *damage,
                            ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t end = ls_run_last_step(run);
	if (!count || steps[0] != 0)
		status = ls_run_read_snapshot(run, 0, exec, damage, err);
	if (status == LS_OK && !damage->found && ls_run_complete(run) && count && steps[count - 1] != end)
		status = ls_run_read_snapshot(run, end, exec, damage, err);
	return status;
}

static ls_status check_snapshots(const ls_run *run, ls_exec *exec, ls_damage *damage, ls_error *err)
{
	uint64_t *steps = NULL;
	size_t count = 0;
	ls_status status = ls_run_snapshots(run, &steps, &count, err);
	for (size_t i = 0; i < count && status == LS_OK && !damage->found; i++)
		status = ls_run_read_snapshot(run, steps[i], exec, damage, err);
	if (status == LS_OK && !damage->found)
		status = check_kept(run, steps, count, exec, damage, err);
	if (status == LS_OK && !damage->found)
		status = ls_run_check_pieces(run, damage, err);
	ls_free(steps);
	return status;
}

static ls_status check_log(const ls_run *run, const ls_job_plan *plan, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	const ls_program *program = ls_model_step(ls_plan_model(plan));
	ls_encoding encoding = (ls_encoding)ls_plan_spec(plan)->arithmetic.encoding;
	for (uint64_t leaf = 1; leaf < ls_run_leaves(run) && status == LS_OK && !damage->found; leaf++) {
		uint8_t *block;
		size_t len;
		status = ls_run_read_log(run, leaf, program, encoding, &block, &len, damage, err);
		ls_free(block);
	}
	return status;
}

ls_status ls_verify_run(const char *dir, ls_damage *damage, ls_hash *root, ls_error *err)
{
	ls_status status;
	ls_run *run = NULL;
	checker c = {0};
	*root = (ls_hash){{0}};
	LS_TRY(ls_run_open(&run, dir, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(ls_run_root(run, ls_run_leaves(run), root, err));
	LS_TRY(ls_run_check_heads(run, damage, err));
	LS_TRY(ls_run_check_metrics(run, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(open_checker(&c, run, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(check_log(run, c.plan, damage, err));
	LS_TRY(check_snapshots(run, c.exec, damage, err));
done:
	close_checker(&c);
	ls_run_free(run);
	return status;
}
