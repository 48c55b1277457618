/* Heads, leaves and proofs. */
#include "serve/service.h"

#include <stdio.h>
#include <unistd.h>

#define HEAD_FILE_MAX 1024
#define HEADS_MAX 256   /* in one answer */
#define LEAVES_MAX 4096

/* The file heads/SIZE as it lies there, appended to the body; as a record of several, after its size and length. */
static ls_status put_head(const ls_serve__run *r, uint64_t size, bool as_record, ls_http_reply *reply, ls_error *err)
{
	ls_status status;
	char name[32], text[HEAD_FILE_MAX];
	ssize_t len;
	snprintf(name, sizeof name, "heads/%llu", (unsigned long long)size);
	LS_TRY(ls_serve__open(r, name, reply, err));
	len = pread(reply->fd, text, sizeof text, 0);
	close(reply->fd);
	reply->fd = -1;
	if (len < 0) {
		status = ls_error_set(err, LS_ERR_IO, "%s/%s: could not read it", r->dir, name);
		goto done;
	}
	if (as_record) {
		ls_buf_u64(&reply->body, size);
		ls_buf_u32(&reply->body, (uint32_t)len);
	}
	ls_buf_bytes(&reply->body, text, (size_t)len);
done:
	return status;
}

ls_status ls_serve__head(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	LS_TRY(ls_serve__take(service, request, &r, err));
	reply->type = LS_HTTP_TEXT;
	LS_TRY(put_head(r, ls_run_leaves(r->live), false, reply, err));
done:
	ls_serve__leave(r);
	return status;
}

/* An unsigned run's head of any size says as much as a file would. */
static ls_status make_head(const ls_serve__run *r, uint64_t size, ls_http_reply *reply, ls_error *err)
{
	ls_status status;
	char text[LS_HEAD_TEXT_SIZE];
	ls_head head = {.run = *ls_run_id_of(r->live), .size = size};
	if (!ls_public_key_none(ls_run_signer(r->live)))
		return ls_error_set(err, LS_ERR_NOT_FOUND, "there is no signed head of this size; take the next larger one and a proof of consistency");
	status = ls_levels_head(&r->levels, size, &head.root);
	if (status != LS_OK)
		return ls_error_set(err, status, "could not hash the leaves");
	ls_head_encode(text, &head);
	ls_buf_printf(&reply->body, "%s", text);
	return LS_OK;
}

ls_status ls_serve__head_of_size(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t size;
	LS_TRY(ls_serve__take(service, request, &r, err));
	if (!ls_http_number(request->part[1], ls_run_leaves(r->live), &size) || !size) {
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "found no size from 1 to %llu", (unsigned long long)ls_run_leaves(r->live));
		goto done;
	}
	reply->type = LS_HTTP_TEXT;
	status = put_head(r, size, false, reply, err);
	if (status == LS_ERR_NOT_FOUND)
		status = make_head(r, size, reply, err);
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__heads(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t above, *size = NULL;
	size_t count = 0, put = 0;
	LS_TRY(ls_serve__take(service, request, &r, err));
	LS_TRY(ls_http_query_number(request, "above", UINT64_MAX, 0, &above, err));
	LS_TRY(ls_run_heads(r->live, &size, &count, err));
	for (size_t i = 0; i < count && put < HEADS_MAX && status == LS_OK; i++) {
		if (size[i] <= above || size[i] > ls_run_leaves(r->live))
			continue;
		status = put_head(r, size[i], true, reply, err);
		put += status == LS_OK;
		if (status == LS_ERR_NOT_FOUND)
			status = LS_OK; // a trainer that goes back has just removed it
	}
done:
	ls_free(size);
	ls_serve__leave(r);
	return status;
}

/* Where leaf `index`'s record begins: that of leaf 0 is shorter than all others, which are equally long. */
static uint64_t place_of_leaf(uint64_t index)
{
	return index ? 4 + LS_LEAF_BYTES_START + (index - 1) * (4 + LS_LEAF_BYTES_STEP) : 0;
}

ls_status ls_serve__leaves(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t first, count, leaves, from, to;
	LS_TRY(ls_serve__take(service, request, &r, err));
	leaves = ls_run_leaves(r->live);
	LS_TRY(ls_http_query_number(request, "first", UINT64_MAX, 0, &first, err));
	LS_TRY(ls_http_query_number(request, "count", UINT64_MAX, LEAVES_MAX, &count, err));
	if (first >= leaves || !count) {
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "found leaf %llu on, expected one of 0 to %llu, and a count of 1 at least",
		                      (unsigned long long)first, (unsigned long long)leaves - 1);
		goto done;
	}
	count = count < LEAVES_MAX ? count : LEAVES_MAX;
	count = count < leaves - first ? count : leaves - first;
	from = place_of_leaf(first);
	to = place_of_leaf(first + count);
	LS_TRY(ls_serve__open(r, "leaves", reply, err));
	if (reply->size < to) {
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "the file of leaves is shorter than its head promised");
		goto done;
	}
	reply->offset = from;
	reply->size = to - from;
done:
	ls_serve__leave(r);
	return status;
}

/* Hashes one after the other, without a count: it follows from the sizes. */
static ls_status put_proof(ls_status made, const ls_hash *proof, size_t count, ls_http_reply *reply, ls_error *err)
{
	if (made != LS_OK)
		return ls_error_set(err, made == LS_ERR_USAGE ? LS_ERR_NOT_FOUND : made, "there is no such proof: found a leaf or size beyond the tree's");
	ls_buf_bytes(&reply->body, proof, count * LS_HASH_BYTES);
	return LS_OK;
}

ls_status ls_serve__inclusion(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t leaf, size;
	size_t count = 0;
	ls_hash proof[LS_PROOF_MAX];
	LS_TRY(ls_serve__take(service, request, &r, err));
	LS_TRY(ls_http_query_number(request, "leaf", UINT64_MAX, 0, &leaf, err));
	LS_TRY(ls_http_query_number(request, "size", UINT64_MAX, ls_run_leaves(r->live), &size, err));
	status = ls_levels_inclusion(&r->levels, size, leaf, proof, &count);
	status = put_proof(status, proof, count, reply, err);
done:
	ls_serve__leave(r);
	return status;
}

ls_status ls_serve__consistency(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	ls_serve__run *r;
	ls_status status;
	uint64_t from, to;
	size_t count = 0;
	ls_hash proof[LS_PROOF_MAX + 1];
	LS_TRY(ls_serve__take(service, request, &r, err));
	LS_TRY(ls_http_query_number(request, "from", UINT64_MAX, 1, &from, err));
	LS_TRY(ls_http_query_number(request, "to", UINT64_MAX, ls_run_leaves(r->live), &to, err));
	status = ls_levels_consistency(&r->levels, to, from, proof, &count);
	status = put_proof(status, proof, count, reply, err);
done:
	ls_serve__leave(r);
	return status;
}
