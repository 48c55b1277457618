// Leaves of the run tree, and heads: one spelling each. The first byte says which.
#include "fuzz.h"

static void try_leaf(const uint8_t *data, size_t size)
{
	ls_leaf leaf;
	ls_buf again;
	if (ls_leaf_decode(&leaf, data, size, NULL) != LS_OK)
		return;
	ls_buf_init(&again, LS_LEAF_BYTES_MAX);
	FUZZ_CHECK(ls_leaf_encode(&again, &leaf) == LS_OK);
	FUZZ_CHECK(again.len == size && !memcmp(again.data, data, size));
	ls_buf_free(&again);
}

static void try_head(const uint8_t *data, size_t size)
{
	char again[LS_HEAD_TEXT_SIZE];
	ls_head head;
	if (ls_head_parse(&head, (const char *)data, size, NULL) != LS_OK)
		return;
	ls_head_encode(again, &head);
	FUZZ_CHECK(strlen(again) == size && !memcmp(again, data, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		try_head(data + 1, size - 1);
	else
		try_leaf(data + 1, size - 1);
	return 0;
}
