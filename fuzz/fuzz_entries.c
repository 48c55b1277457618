/* A frame of the rounding log: one spelling for one set of entries. Three bytes before the frame say how many elements it covers
 * and in which coding. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ls_entry entries[LS_FRAME_ELEMENTS];
	uint32_t elements;
	ls_encoding encoding;
	size_t count;
	ls_buf again;
	if (size < 3)
		return 0;
	elements = 1 + (uint32_t)(data[0] | data[1] << 8);
	encoding = data[2] & 1 ? LS_ENCODING_DENSE : LS_ENCODING_SPARSE;
	if (!ls_entries_decode(entries, &count, elements, encoding, data + 3, size - 3))
		return 0;
	FUZZ_CHECK(count <= elements);
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(entries[i].index < elements && entries[i].bit <= 1 && (!i || entries[i - 1].index < entries[i].index));
	ls_buf_init(&again, 4 * LS_FRAME_ELEMENTS);
	FUZZ_CHECK(ls_entries_encode(&again, entries, count, elements, encoding) == LS_OK);
	FUZZ_CHECK(again.len == size - 3 && (!again.len || !memcmp(again.data, data + 3, again.len)));
	ls_buf_free(&again);
	return 0;
}
