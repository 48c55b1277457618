#include "cli/verify_file.h"

#include <sys/stat.h>

static bool is_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static ls_status check_signer(const ls_run *run, const char *path, ls_damage *damage, ls_error *err)
{
	uint8_t key[LS_KEY_BYTES];
	ls_status status;
	if (!path || damage->found)
		return LS_OK;
	status = ls_public_key_read(key, path, err);
	if (status != LS_OK || !memcmp(key, ls_run_signer(run), LS_KEY_BYTES))
		return status;
	*damage = (ls_damage){.found = true, .file = "heads", .text = "the heads are not signed with the key that --key gives"};
	return LS_OK;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session s = {0};
	ls_damage damage = {0};
	ls_hash root = {{0}};
	char hex[LS_HASH_HEX_SIZE];
	ls_status status;
	if (is_file(args->operand[0]))
		return ls_cli__verify_file(cli, args, code, err);
	LS_TRY(ls_cli__open_run(&s, args, 0, &damage, err));
	if (!damage.found)
		LS_TRY(ls_verify_run(args->operand[0], &damage, &root, err));
	LS_TRY(check_signer(s.run, ls_cli__value(args, "key"), &damage, err));
	*code = damage.found ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	ls_hash_hex(hex, &root);
	if (cli->json) {
		json_t *object = json_object();
		ls_cli__put_text(object, "verdict", damage.found ? "damaged" : "match");
		ls_cli__put_hash(object, "root", s.run ? &root : NULL);
		ls_cli__put_text(object, "file", damage.found ? damage.file : NULL);
		ls_cli__put_step(object, "step", damage.has_step, damage.step);
		ls_cli__put_text(object, "text", damage.text);
		ls_cli__emit(object);
	} else if (damage.found) {
		ls_cli__say(cli, "damaged: the run is not what its own root says\n  file   %s\n", damage.file);
		if (damage.has_step)
			ls_cli__say(cli, "  step   %llu\n", (unsigned long long)damage.step);
		ls_cli__say(cli, "  found  %s\nnext: %s\n", damage.text,
		            damage.tail ? "if the trainer was interrupted, lockstep train --resume mends this; else fetch the run again"
		                        : "fetch the run again, or start over from a copy that verifies");
	} else {
		ls_cli__say(cli, "match: job, leaves, heads, rounding log, snapshots and metrics fit the root\n  root   %s\n"
		            "next: lockstep audit %s replays it, which this did not\n", hex, args->operand[0]);
	}
done:
	ls_cli__close(&s);
	return status;
}

static const ls_cli_option options[] = {
	{.name = "key", .argument = "FILE", .help = "the public key that must have signed it; needed for single files"},
	{.name = "subject", .argument = "FILE", .help = "the weights that a statement is about, to be compared with it"},
	{.name = NULL},
};

const ls_cli_command ls_cli__verify = {
	.name = "verify",
	.operands = "PATH",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "check every byte of a run against its root, or a signed file; nothing is recomputed",
	.details = "PATH is a run's folder, a head, a job with its signature beside it (FILE.sig), or an envelope.",
	.options = options,
	.run = run,
};
