#include <lockstep/program.h>

#define RECORD_MAX (1u << 20)

/* (0, state position) or (op + 1, output): a reference that says where a value comes from, not how it is numbered. */
static void reference(const ls_program *program, int value, ls_buf *out)
{
	const ls_value *v = ls_program_value(program, value);
	ls_buf_u32(out, (uint32_t)(v->op + 1));
	ls_buf_u32(out, (uint32_t)v->output);
}

static void output(const ls_program *program, int value, ls_buf *out)
{
	const ls_value *v = ls_program_value(program, value);
	ls_buf_str(out, v->name);
	ls_buf_u8(out, (uint8_t)v->dtype);
	ls_buf_u8(out, (uint8_t)v->bits);
	ls_buf_u8(out, (uint8_t)v->shape.rank);
	for (int i = 0; i < v->shape.rank; i++)
		ls_buf_u64(out, (uint64_t)v->shape.dim[i]);
}

void ls_program_record(const ls_program *program, int index, ls_buf *out)
{
	const ls_op *op = ls_program_op(program, index);
	ls_buf_bytes(out, "ls1/op", 6);
	ls_buf_u32(out, (uint32_t)index);
	ls_buf_str(out, op->kind);
	ls_buf_u32(out, (uint32_t)op->int_count);
	for (int i = 0; i < op->int_count; i++)
		ls_buf_u64(out, (uint64_t)op->ints[i]);
	ls_buf_u32(out, (uint32_t)op->num_count);
	for (int i = 0; i < op->num_count; i++)
		ls_buf_f64(out, op->nums[i]);
	ls_buf_u32(out, (uint32_t)op->input_count);
	for (int i = 0; i < op->input_count; i++)
		reference(program, op->inputs[i], out);
	ls_buf_u32(out, (uint32_t)op->output_count);
	for (int i = 0; i < op->output_count; i++)
		output(program, op->outputs[i], out);
}

ls_status ls_program_digest(const ls_program *program, ls_hash *out, ls_error *err)
{
	ls_status status = LS_OK;
	ls_hasher *hasher = NULL;
	ls_tree tree;
	ls_buf record;
	ls_buf_init(&record, RECORD_MAX);
	LS_TRY(ls_hasher_open(&hasher, 1, err));
	ls_tree_init(&tree, hasher, 0);
	for (int i = 0; i < ls_program_ops(program); i++) {
		ls_buf_reset(&record);
		ls_program_record(program, i, &record);
		if (record.status != LS_OK) {
			status = ls_error_set(err, record.status, "the record of op %d: %s", i, ls_status_text(record.status));
			goto done;
		}
		ls_tree_push(&tree, record.data, record.len);
	}
	status = ls_tree_head(&tree, out);
	if (status != LS_OK)
		ls_error_set(err, status, "could not hash the program: %s", ls_status_text(status));
done:
	ls_buf_free(&record);
	ls_hasher_free(hasher);
	return status;
}
