/* lockstep train and verify without a platform's self-test, which takes most of a short run's time: for tests that start a
 * thousand of them.
 *
 *   train_once JOB DATA RUN SNAPSHOTS    trains with --resume; prints the root, notes on stderr; exit codes of lockstep
 *   train_once --verify RUN              prints "match" and the root, or what is damaged (exit 1)
 */
#include "cli/cli.h"

#include <lockstep/audit.h>

#include <stdio.h>

static const uint8_t nonce[32] = {7};

static void on_note(void *context, const char *text)
{
	fprintf(stderr, "note: %s\n", text);
}

static ls_status train(char **argv, ls_error *err)
{
	ls_status status;
	ls_train_options o = LS_TRAIN_OPTIONS_INIT;
	ls_plan_options p = LS_PLAN_OPTIONS_INIT;
	ls_platform_options native = LS_PLATFORM_OPTIONS_INIT;
	ls_job *job = NULL;
	ls_job_plan *plan = NULL;
	ls_platform *platform = NULL;
	ls_train_result result;
	char root[LS_HASH_HEX_SIZE];
	o.dir = argv[2];
	o.resume = true;
	o.nonce = nonce;
	o.on_note = on_note;
	p.data_dir = argv[1];
	native.threads = 1;
	if (!ls_snapshot_policy_parse(&o.snapshots, argv[3]))
		return ls_error_set(err, LS_ERR_USAGE, "snapshots: found %s", argv[3]);
	LS_TRY(ls_job_read(&job, argv[0], NULL, 0, err));
	LS_TRY(ls_plan_open(&plan, job, &p, err));
	LS_TRY(ls_platform_open(&platform, "native", &native, err));
	LS_TRY(ls_train(plan, platform, &o, &result, err));
	ls_hash_hex(root, &result.root);
	printf("%s\n", root);
done:
	ls_platform_free(platform);
	ls_plan_free(plan);
	ls_job_free(job);
	return status;
}

static ls_status verify(const char *dir, bool *damaged, ls_error *err)
{
	ls_damage damage = {0};
	ls_hash root;
	char hex[LS_HASH_HEX_SIZE];
	ls_status status = ls_verify_run(dir, &damage, &root, err);
	*damaged = damage.found;
	ls_hash_hex(hex, &root);
	if (status == LS_OK && damage.found)
		printf("damaged %s: %s\n", damage.file, damage.text);
	else if (status == LS_OK)
		printf("match %s\n", hex);
	return status;
}

int main(int argc, char **argv)
{
	ls_error err = LS_ERROR_INIT;
	ls_status status;
	bool damaged = false;
	if (argc == 3 && !strcmp(argv[1], "--verify"))
		status = verify(argv[2], &damaged, &err);
	else if (argc == 5)
		status = train(argv + 1, &err);
	else
		status = ls_error_set(&err, LS_ERR_USAGE, "found %d words, expected JOB DATA RUN SNAPSHOTS or --verify RUN", argc - 1);
	if (status != LS_OK)
		fprintf(stderr, "%s\n", err.text);
	return status != LS_OK ? ls_cli__exit_code(status) : damaged;
}
