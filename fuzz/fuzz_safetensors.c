// A safetensors file: every tensor that the header promises can be read, on the widest grid and on a narrow one.
#include "fuzz.h"

#include <lockstep/safetensors.h>

enum { ELEMENTS_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_safetensors *file = NULL;
	fuzz_write("x.safetensors", data, size);
	if (ls_safetensors_open(&file, fuzz_path("x.safetensors"), NULL) != LS_OK)
		return 0;
	for (size_t i = 0; i < ls_safetensors_count(file); i++) {
		const ls_safetensor *tensor = ls_safetensors_at(file, i);
		int64_t count = tensor->count;
		float *out;
		FUZZ_CHECK(count >= 0 && (uint64_t)count <= size && tensor->begin <= tensor->end && tensor->end <= size);
		out = count <= ELEMENTS_MAX ? ls_alloc((size_t)count, sizeof *out) : NULL;
		for (int bits = 16; out && bits <= 32; bits += 16)
			if (ls_safetensors_read(file, tensor, bits, out, NULL) == LS_OK)
				for (int64_t k = 0; k < count; k++)
					FUZZ_CHECK(ls_bits_f32(out[k]) == ls_bits_f32(ls_round_f32(out[k], bits)));
		ls_free(out);
	}
	ls_safetensors_free(file);
	return 0;
}
