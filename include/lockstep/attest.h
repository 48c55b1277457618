/* Lockstep: what a trainer or an auditor publishes about trained weights. An in-toto statement (in-toto.io/Statement/v1)
 * whose subject is the safetensors file, in a DSSE envelope (github.com/secure-systems-lab/dsse) signed with Ed25519.
 * Other people's tools for supply chains read both.
 */
#ifndef LOCKSTEP_ATTEST_H
#define LOCKSTEP_ATTEST_H

#include <lockstep/signature.h>

#define LS_ATTEST_MAX 65536 /* bytes of an envelope */
#define LS_ATTEST_PAYLOAD_TYPE "application/vnd.in-toto+json"
#define LS_ATTEST_PREDICATE_TYPE "urn:lockstep:training:1"

typedef struct ls_attestation {
	char subject[256];      /* name of the file */
	ls_hash subject_digest; /* SHA-256 of its bytes */
	char role[16];          /* "trainer", "auditor" */
	char verdict[32];       /* an auditor's; "" from a trainer */
	ls_hash job, run, data;
	ls_signed_head head;    /* of the trainer */
	uint64_t steps, first, last; /* of the run; replayed by an auditor, else 0 */
	char mode[16];
	char platform[128];
	uint64_t log_bytes, log_entries, elements, corrections;
} ls_attestation;

/* Appends the envelope, a line of JSON. */
ls_status ls_attestation_seal(ls_buf *out, const ls_attestation *a, const ls_key *key, ls_error *err);
/* Reads an envelope that ls_attestation_seal might have written. `*valid` answers whether `key` signed it; only then is
 * `*out` filled. LS_ERR_INPUT where it is no such envelope or, though signed, no such statement. */
ls_status ls_attestation_open(ls_attestation *out, bool *valid, const void *text, size_t len, const uint8_t key[LS_KEY_BYTES],
                              ls_error *err);
/* SHA-256 of a file. */
ls_status ls_file_digest(ls_hash *out, const char *path, ls_error *err);

#endif
