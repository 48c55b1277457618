#include "cli/cli.h"

#include <stdio.h>

static const ls_cli_option options[] = {
	{.name = "output", .argument = "FILE", .help = "where the private key goes; the public key goes to FILE.pub", .brief = 'o'},
	{.name = NULL},
};

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	const char *path = ls_cli__value(args, "output");
	char public_path[LS_PATH_MAX], hex[2 * LS_KEY_BYTES + 1];
	uint8_t public_key[LS_KEY_BYTES];
	ls_key *key = NULL;
	ls_status status;
	ls_buf text;
	ls_buf_init(&text, LS_KEY_FILE_MAX);
	if (!path)
		return ls_cli__usage(err, "keygen", "no -o", "-o FILE", "for example -o me.pem, which makes me.pem and me.pem.pub");
	if (snprintf(public_path, sizeof public_path, "%s.pub", path) >= (int)sizeof public_path)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", path);
	LS_TRY(ls_key_generate(&key, err));
	ls_key_public(key, public_key);
	ls_hex(hex, public_key, LS_KEY_BYTES);
	LS_TRY(ls_public_key_encode(&text, public_key, err));
	LS_TRY(ls_key_write(key, path, err));
	LS_TRY(ls_file_write(public_path, text.data, text.len, err));
	ls_cli__say(cli, "private key  %s\npublic key   %s\nkey          %s\nnext: give others the public key; lockstep train --key %s signs with the private one\n",
	            path, public_path, hex, path);
	if (cli->json) {
		json_t *object = json_object();
		ls_cli__put_text(object, "file", path);
		ls_cli__put_text(object, "public_file", public_path);
		ls_cli__put_text(object, "key", hex);
		ls_cli__emit(object);
	}
done:
	ls_buf_free(&text);
	ls_key_free(key);
	return status;
}

const ls_cli_command ls_cli__keygen = {
	.name = "keygen",
	.summary = "make an Ed25519 key pair for signing jobs, heads and statements",
	.options = options,
	.run = run,
};
