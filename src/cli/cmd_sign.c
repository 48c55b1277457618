#include "cli/cli.h"

#include <stdio.h>

static const ls_cli_option options[] = {
	{.name = "key", .argument = "FILE", .help = "the client's private key"},
	{.name = "output", .argument = "FILE", .help = "where the signature goes: 64 bytes", .fallback_text = "JOB.sig", .brief = 'o'},
	{.name = NULL},
};

/* Only jobs are signed here: a command that signed any bytes could be talked into signing a head or a turn. */
static ls_status read_job(const char *path, uint8_t **bytes, size_t *len, ls_hash *id, ls_error *err)
{
	ls_status status;
	ls_job *job = NULL;
	ls_job_binding binding;
	LS_TRY(ls_file_read(bytes, len, path, LS_JOB_BYTES_MAX, err));
	LS_TRY(ls_job_decode(&job, &binding, *bytes, *len, err));
	LS_TRY(ls_hash_tagged(id, LS_TAG_JOB, *bytes, *len));
done:
	ls_job_free(job);
	return status;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	const char *key_path = ls_cli__value(args, "key"), *path = ls_cli__value(args, "output");
	char beside[LS_PATH_MAX], hex[LS_HASH_HEX_SIZE];
	uint8_t *bytes = NULL, signature[LS_SIGNATURE_BYTES];
	size_t len;
	ls_hash id;
	ls_key *key = NULL;
	ls_status status;
	if (!key_path)
		return ls_cli__usage(err, "sign", "no --key", "--key FILE", "lockstep keygen -o FILE makes one");
	if (snprintf(beside, sizeof beside, "%s.sig", args->operand[0]) >= (int)sizeof beside)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", args->operand[0]);
	if (!path)
		path = beside;
	LS_TRY(read_job(args->operand[0], &bytes, &len, &id, err));
	LS_TRY(ls_key_read(&key, key_path, err));
	LS_TRY(ls_sign(key, bytes, len, signature, err));
	LS_TRY(ls_file_write(path, signature, sizeof signature, err));
	ls_hash_hex(hex, &id);
	ls_cli__say(cli, "job        %s\nsignature  %s\nnext: give both files to the trainer; lockstep verify %s --key PUBLIC checks them\n", hex,
	            path, args->operand[0]);
	if (cli->json) {
		json_t *object = json_object();
		ls_cli__put_hash(object, "job", &id);
		ls_cli__put_text(object, "file", path);
		ls_cli__emit(object);
	}
done:
	ls_key_free(key);
	ls_free(bytes);
	return status;
}

const ls_cli_command ls_cli__sign = {
	.name = "sign",
	.operands = "JOB.BIN",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "sign what lockstep plan -o wrote: the client's order",
	.options = options,
	.run = run,
};
