#include "commit/hasher.h"

#include <errno.h>
#include <openssl/evp.h>

#define WORKERS_MAX 4096

struct ls_hasher {
	EVP_MD *md;
	int workers;
	EVP_MD_CTX **context; /* one per worker */
	ls_commit__two_fn two;
};

bool ls_hash_equal(const ls_hash *a, const ls_hash *b)
{
	return memcmp(a->byte, b->byte, LS_HASH_BYTES) == 0;
}

void ls_hash_hex(char out[LS_HASH_HEX_SIZE], const ls_hash *h)
{
	ls_hex(out, h->byte, LS_HASH_BYTES);
}

bool ls_hash_unhex(ls_hash *out, const char *text)
{
	return ls_unhex(out->byte, LS_HASH_BYTES, text);
}

static ls_status open_context(EVP_MD_CTX **out, EVP_MD *md, ls_error *err)
{
	*out = EVP_MD_CTX_new();
	if (!*out)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a SHA-256 context");
	if (EVP_DigestInit_ex(*out, md, NULL) != 1)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for libcrypto to start SHA-256"); // it was fetched: nothing else is missing
	return LS_OK;
}

/* `bulk`: many equal messages are to come, so that two at once are worth the self-test. */
static ls_status open_hasher(ls_hasher **out, int workers, bool bulk, ls_error *err)
{
	ls_status status = LS_OK;
	ls_hasher *h = NULL;
	*out = NULL;
	if (workers < 1 || workers > WORKERS_MAX)
		return ls_error_set(err, LS_ERR_USAGE, "hasher: found %d workers, expected 1 to %d", workers, WORKERS_MAX);
	h = ls_alloc(1, sizeof *h);
	if (!h)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a hasher");
	h->context = ls_alloc((size_t)workers, sizeof *h->context);
	if (!h->context) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for %d SHA-256 contexts", workers);
		goto done;
	}
	errno = 0; // libcrypto does not tell the two apart
	h->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!h->md) {
		status = errno == ENOMEM ? ls_error_set(err, LS_ERR_NOMEM, "no memory for libcrypto's SHA-256")
		                         : ls_error_set(err, LS_ERR_UNSUPPORTED,
		                                        "libcrypto offers no SHA-256\n  hint: check OpenSSL's providers");
		goto done;
	}
	for (; h->workers < workers; h->workers++)
		LS_TRY(open_context(&h->context[h->workers], h->md, err));
	h->two = bulk ? ls_commit__two_pick(h->md) : NULL;
	*out = h;
	h = NULL;
done:
	if (h && h->context && h->workers < workers)
		EVP_MD_CTX_free(h->context[h->workers]); // the one that failed to start
	ls_hasher_free(h);
	return status;
}

ls_status ls_hasher_open(ls_hasher **out, int workers, ls_error *err)
{
	return open_hasher(out, workers, true, err);
}

void ls_hasher_free(ls_hasher *h)
{
	if (!h)
		return;
	for (int i = 0; i < h->workers; i++)
		EVP_MD_CTX_free(h->context[i]);
	ls_free(h->context);
	EVP_MD_free(h->md);
	ls_free(h);
}

int ls_hasher_workers(const ls_hasher *h)
{
	return h->workers;
}

ls_commit__two_fn ls_commit__hasher_two(const ls_hasher *h)
{
	return h->two;
}

ls_status ls_commit__digest(ls_hash *out, const ls_commit__part *parts, int count, ls_hasher *h, int worker)
{
	EVP_MD_CTX *c = h->context[worker];
	// A NULL type keeps the context's algorithm: no lookup, no allocation, no reference count shared by the workers.
	bool good = EVP_DigestInit_ex(c, NULL, NULL) == 1;
	for (int i = 0; i < count; i++)
		good = good && (parts[i].len == 0 || EVP_DigestUpdate(c, parts[i].data, parts[i].len) == 1);
	good = good && EVP_DigestFinal_ex(c, out->byte, NULL) == 1;
	return good ? LS_OK : LS_ERR_NOMEM; // a context that has been started fails for no other reason
}

ls_status ls_commit__node(ls_hash *out, const ls_hash *left, const ls_hash *right, ls_hasher *h, int worker)
{
	uint8_t joined[1 + 2 * LS_HASH_BYTES] = LS_COMMIT_NODE_PREFIX;
	memcpy(joined + 1, left->byte, LS_HASH_BYTES);
	memcpy(joined + 1 + LS_HASH_BYTES, right->byte, LS_HASH_BYTES);
	return ls_commit__digest(out, &(ls_commit__part){joined, sizeof joined}, 1, h, worker);
}

ls_status ls_hash_leaf(ls_hash *out, const void *leaf, size_t len, ls_hasher *h)
{
	const ls_commit__part parts[] = {{LS_COMMIT_LEAF_PREFIX, 1}, {leaf, len}};
	return ls_commit__digest(out, parts, 2, h, 0);
}

ls_status ls_hash_node(ls_hash *out, const ls_hash *left, const ls_hash *right, ls_hasher *h)
{
	return ls_commit__node(out, left, right, h, 0);
}

ls_status ls_hash_tagged(ls_hash *out, const char *tag, const void *data, size_t len)
{
	const ls_commit__part parts[] = {{LS_COMMIT_LEAF_PREFIX, 1}, {tag, strlen(tag)}, {data, len}};
	ls_hasher *h = NULL;
	ls_status status = LS_OK;
	LS_TRY(open_hasher(&h, 1, false, NULL));
	LS_TRY(ls_commit__digest(out, parts, 3, h, 0));
done:
	ls_hasher_free(h);
	return status;
}

ls_status ls_run_id(ls_hash *out, const ls_hash *job, const uint8_t trainer_key[32], const uint8_t nonce[32])
{
	uint8_t joined[96];
	memcpy(joined, job->byte, 32);
	memcpy(joined + 32, trainer_key, 32);
	memcpy(joined + 64, nonce, 32);
	return ls_hash_tagged(out, LS_TAG_RUN_ID, joined, sizeof joined);
}
