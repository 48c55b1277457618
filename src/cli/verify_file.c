/* lockstep verify of a single file: a head, a job with its signature, or an envelope. */
#include "cli/verify_file.h"

#include <lockstep/attest.h>

#include <stdio.h>

#define FILE_MAX LS_ATTEST_MAX

struct checked {
	const char *what;
	bool valid;
	char text[1024]; /* what it says, a line "name  value" each */
	json_t *object;
};

static void line(struct checked *c, const char *name, const char *key, const char *value)
{
	size_t used = strlen(c->text);
	snprintf(c->text + used, sizeof c->text - used, "  %-9s %s\n", name, value);
	ls_cli__put_text(c->object, key, value);
}

static void hash_line(struct checked *c, const char *name, const ls_hash *hash)
{
	char hex[LS_HASH_HEX_SIZE];
	ls_hash_hex(hex, hash);
	line(c, name, name, hex);
}

static void number_line(struct checked *c, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	line(c, name, name, text);
}

static ls_status check_head(struct checked *c, const uint8_t *bytes, size_t len, const uint8_t key[LS_KEY_BYTES], ls_error *err)
{
	ls_signed_head head;
	ls_status status;
	c->what = "head";
	LS_TRY(ls_signed_head_parse(&head, (const char *)bytes, len, err));
	LS_TRY(ls_signed_head_verify(&c->valid, &head, key));
	hash_line(c, "run", &head.head.run);
	number_line(c, "leaves", head.head.size);
	hash_line(c, "root", &head.head.root);
done:
	return status;
}

static ls_status check_job(struct checked *c, const char *path, const uint8_t *bytes, size_t len, const uint8_t key[LS_KEY_BYTES],
                           ls_error *err)
{
	char beside[LS_PATH_MAX];
	uint8_t *signature = NULL;
	size_t signature_len;
	ls_job *job = NULL;
	ls_job_binding binding;
	ls_hash id;
	ls_status status;
	c->what = "job";
	snprintf(beside, sizeof beside, "%.4000s.sig", path);
	LS_TRY(ls_job_decode(&job, &binding, bytes, len, err));
	LS_TRY(ls_file_read(&signature, &signature_len, beside, LS_SIGNATURE_BYTES, err));
	LS_TRY(ls_hash_tagged(&id, LS_TAG_JOB, bytes, len));
	if (signature_len == LS_SIGNATURE_BYTES)
		LS_TRY(ls_signature_verify(&c->valid, key, bytes, len, signature));
	hash_line(c, "job", &id);
done:
	ls_free(signature);
	ls_job_free(job);
	return status;
}

/* The file that a statement is about, where --subject gives it. */
static ls_status check_subject(struct checked *c, const ls_attestation *a, const char *path, ls_error *err)
{
	ls_hash digest;
	ls_status status;
	if (!path)
		return LS_OK;
	LS_TRY(ls_file_digest(&digest, path, err));
	c->valid = ls_hash_equal(&digest, &a->subject_digest);
	if (!c->valid)
		hash_line(c, "found", &digest);
done:
	return status;
}

static ls_status check_envelope(struct checked *c, const uint8_t *bytes, size_t len, const uint8_t key[LS_KEY_BYTES],
                                const char *subject, ls_error *err)
{
	ls_attestation a;
	ls_status status;
	c->what = "statement";
	LS_TRY(ls_attestation_open(&a, &c->valid, bytes, len, key, err));
	if (!c->valid)
		goto done;
	line(c, "file", "file", a.subject);
	hash_line(c, "sha256", &a.subject_digest);
	line(c, "role", "role", a.role);
	line(c, "says", "says", a.verdict[0] ? a.verdict : "trained");
	hash_line(c, "job", &a.job);
	hash_line(c, "run", &a.run);
	hash_line(c, "root", &a.head.head.root);
	number_line(c, "steps", a.steps);
	LS_TRY(check_subject(c, &a, subject, err));
done:
	return status;
}

ls_status ls_cli__verify_file(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	const char *path = args->operand[0], *key_path = ls_cli__value(args, "key");
	struct checked c = {.what = ""};
	uint8_t *bytes = NULL, key[LS_KEY_BYTES];
	size_t len;
	ls_status status;
	if (!key_path)
		return ls_cli__usage(err, path, "a file, and no --key", "--key FILE, the public key of who is said to have signed it", NULL);
	c.object = json_object();
	LS_TRY(ls_file_read(&bytes, &len, path, FILE_MAX, err));
	LS_TRY(ls_public_key_read(key, key_path, err));
	if (len > 0 && bytes[0] == '{')
		LS_TRY(check_envelope(&c, bytes, len, key, ls_cli__value(args, "subject"), err));
	else if (len > 9 && !memcmp(bytes, "lockstep/", 9))
		LS_TRY(check_head(&c, bytes, len, key, err));
	else
		LS_TRY(check_job(&c, path, bytes, len, key, err));
	*code = c.valid ? LS_CLI__DONE : LS_CLI__OTHER_VERDICT;
	ls_cli__say(cli, "%s: the %s is %s\n%s", c.valid ? "match" : "damaged", c.what,
	            c.valid ? "what this key signed" : "not what this key signed", c.text);
	if (cli->json) {
		ls_cli__put_text(c.object, "verdict", c.valid ? "match" : "damaged");
		ls_cli__put_text(c.object, "kind", c.what);
		ls_cli__emit(c.object);
		c.object = NULL;
	}
done:
	json_decref(c.object);
	ls_free(bytes);
	return status;
}
