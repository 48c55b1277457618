#include <lockstep/safetensors.h>
#include <lockstep/train.h>

static ls_safetensor_source source_of(const ls_value *v, const void *words)
{
	ls_safetensor_source source = {.name = v->name, .rank = v->shape.rank, .data = words};
	for (int d = 0; d < v->shape.rank; d++)
		source.dim[d] = v->shape.dim[d];
	return source;
}

ls_status ls_export(const ls_job_plan *plan, ls_exec *from, const char *path, bool overwrite, ls_export_result *out,
                    ls_error *err)
{
	ls_status status;
	const ls_program *program = ls_exec_program(from);
	ls_safetensor_source *source = ls_alloc((size_t)ls_program_states(program), sizeof *source);
	*out = (ls_export_result){0};
	if (!source)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to list its tensors", path);
	for (int s = 0; s < ls_program_states(program); s++) {
		const ls_value *v = ls_program_value(program, s);
		if (!ls_model_is_weight(ls_plan_model(plan), s))
			continue;
		source[out->tensors++] = source_of(v, ls_exec_state(from, s));
		out->elements += (uint64_t)ls_shape_count(&v->shape);
	}
	status = ls_safetensors_write(path, source, out->tensors, overwrite, err);
	ls_free(source);
	return status;
}
