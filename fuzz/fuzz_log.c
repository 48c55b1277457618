// One step's block of the rounding log, against a real program: one spelling, and the same root again.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const ls_program *program = ls_model_step(ls_plan_model(fuzz_plan()));
	ls_cursor cursor = ls_cursor_over(data, size);
	ls_hash read, written;
	ls_hasher *hasher;
	ls_step_log log;
	ls_tree tree, again;
	ls_buf block;
	FUZZ_CHECK(ls_hasher_open(&hasher, 1, NULL) == LS_OK && ls_step_log_open(&log, ls_program_ops(program), NULL) == LS_OK);
	ls_buf_init(&block, 1 << 24);
	ls_tree_init(&tree, hasher, 0);
	ls_tree_init(&again, hasher, 0);
	if (ls_log_read_step(&cursor, &tree, program, 1, &log, LS_ENCODING_SPARSE) == LS_OK) {
		FUZZ_CHECK(ls_log_write_step(&block, &again, program, 1, &log, LS_ENCODING_SPARSE) == LS_OK);
		FUZZ_CHECK(block.len <= size && !memcmp(block.data, data, block.len));
		FUZZ_CHECK(ls_tree_head(&tree, &read) == LS_OK && ls_tree_head(&again, &written) == LS_OK && ls_hash_equal(&read, &written));
	}
	ls_buf_free(&block);
	ls_step_log_free(&log);
	ls_hasher_free(hasher);
	return 0;
}
