/* A machine whose memory is bad: one bit of a value flips once, while a job is trained or a run audited.
 *
 *   flip train JOB DATA RUN STEP VALUE ELEMENT BIT guard|trust    trains with --resume; prints the root
 *   flip audit RUN DATA STEP VALUE ELEMENT BIT guard|trust        prints the verdict and the first bad step
 *
 * VALUE is a name of the program's. What an op makes flips right after that op, a tensor of the state after the step's first op.
 * Exit codes of lockstep; step 0 flips nothing.
 */
#include "cli/cli.h"

#include <lockstep/audit.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct fault {
	uint64_t step, element;
	const char *value;
	int bit;
	bool done;
} fault;

static bool writes(const ls_program *program, int op, int value)
{
	const ls_op *o = ls_program_op(program, op);
	for (int i = 0; i < o->output_count; i++)
		if (o->outputs[i] == value)
			return true;
	return value < ls_program_states(program) && op == 0;
}

static void after_op(void *context, ls_exec *exec, uint64_t step, int op, ls_step_log *log)
{
	fault *f = context;
	const ls_program *program = ls_exec_program(exec);
	int value = ls_program_find(program, f->value);
	if (step == 0) // the program of the initial state
		return;
	if (value < 0) {
		fprintf(stderr, "flip: found no value '%s'\n", f->value);
		exit(LS_CLI__USAGE);
	}
	if (f->done || step != f->step || !writes(program, op, value))
		return;
	((uint32_t *)ls_exec_value(exec, value))[f->element] ^= 1u << f->bit;
	f->done = true;
}

static bool read_fault(fault *out, bool *guard, char **argv)
{
	*out = (fault){.step = strtoull(argv[0], NULL, 10), .value = argv[1], .element = strtoull(argv[2], NULL, 10),
	               .bit = (int)strtol(argv[3], NULL, 10)};
	*guard = !strcmp(argv[4], "guard");
	return *guard || !strcmp(argv[4], "trust");
}

static ls_status open_job(ls_job_plan **plan, ls_platform **platform, const ls_job *job, const char *data, const ls_run *run, ls_error *err)
{
	ls_plan_options p = LS_PLAN_OPTIONS_INIT;
	ls_platform_options native = LS_PLATFORM_OPTIONS_INIT;
	ls_status status;
	p.data_dir = data;
	p.run = run ? ls_run_binding(run) : NULL;
	native.threads = 1;
	LS_TRY(ls_plan_open(plan, job, &p, err));
	LS_TRY(ls_platform_open(platform, "native", &native, err));
done:
	return status;
}

static ls_status train(char **argv, const ls_watch *watch, bool guard, ls_error *err)
{
	static const uint8_t nonce[32] = {7};
	ls_train_options o = LS_TRAIN_OPTIONS_INIT;
	ls_job *job = NULL;
	ls_job_plan *plan = NULL;
	ls_platform *platform = NULL;
	ls_train_result result;
	char root[LS_HASH_HEX_SIZE];
	ls_status status;
	o.dir = argv[2];
	o.resume = true;
	o.nonce = nonce;
	o.watch = watch;
	o.guard = guard;
	o.snapshots = (ls_snapshot_policy){LS_SNAPSHOTS_EVERY, 2};
	LS_TRY(ls_job_read(&job, argv[0], NULL, 0, err));
	LS_TRY(open_job(&plan, &platform, job, argv[1], NULL, err));
	LS_TRY(ls_train(plan, platform, &o, &result, err));
	ls_hash_hex(root, &result.root);
	printf("%s\n", root);
done:
	ls_platform_free(platform);
	ls_plan_free(plan);
	ls_job_free(job);
	return status;
}

static ls_status audit(char **argv, const ls_watch *watch, bool guard, bool *other, ls_error *err)
{
	ls_audit_options o = LS_AUDIT_OPTIONS_INIT;
	ls_run *run = NULL;
	ls_job_plan *plan = NULL;
	ls_platform *platform = NULL;
	ls_audit_result result;
	ls_damage damage;
	ls_status status;
	o.watch = watch;
	o.guard = guard;
	LS_TRY(ls_run_open(&run, argv[0], &damage, err));
	if (!run) {
		status = ls_error_set(err, LS_ERR_INPUT, "%s: %s", damage.file, damage.text);
		goto done;
	}
	LS_TRY(open_job(&plan, &platform, ls_run_job(run), argv[1], run, err));
	LS_TRY(ls_audit(run, plan, platform, &o, &result, NULL, err));
	printf("%s %llu\n", ls_verdict_text(result.verdict), (unsigned long long)result.first_bad_step);
	*other = result.verdict != LS_VERDICT_MATCH;
done:
	ls_platform_free(platform);
	ls_plan_free(plan);
	ls_run_free(run);
	return status;
}

int main(int argc, char **argv)
{
	ls_error err = LS_ERROR_INIT;
	ls_status status = LS_ERR_USAGE;
	fault f;
	ls_watch watch = {.context = &f, .after_op = after_op};
	bool guard, other = false;
	if (argc == 10 && !strcmp(argv[1], "train") && read_fault(&f, &guard, argv + 5))
		status = train(argv + 2, &watch, guard, &err);
	else if (argc == 9 && !strcmp(argv[1], "audit") && read_fault(&f, &guard, argv + 4))
		status = audit(argv + 2, &watch, guard, &other, &err);
	else
		ls_error_set(&err, LS_ERR_USAGE, "found %d words, expected train … or audit …: see the head of flip.c", argc - 1);
	if (status != LS_OK)
		fprintf(stderr, "%s\n", err.text);
	return status != LS_OK ? ls_cli__exit_code(status) : other;
}
