#include "platform/platform.h"

#include "kernel/rows.h"

static const ls_platform_def *const platforms[] = {&ls_platform__native, &ls_platform__openblas, &ls_platform__blis,
                                                   &ls_platform__naive};
#define PLATFORM_COUNT ((int)(sizeof platforms / sizeof *platforms))

const char *ls_platform_at(int index)
{
	return index >= 0 && index < PLATFORM_COUNT ? platforms[index]->name : NULL;
}

static const ls_platform_def *find(const char *name)
{
	for (int i = 0; i < PLATFORM_COUNT; i++)
		if (!strcmp(platforms[i]->name, name))
			return platforms[i];
	return NULL;
}

ls_status ls_platform_open(ls_platform **out, const char *name, const ls_platform_options *options, ls_error *err)
{
	static const ls_platform_options defaults = LS_PLATFORM_OPTIONS_INIT;
	const ls_platform_def *def = find(name);
	ls_platform *p = NULL;
	ls_status status = LS_OK;
	*out = NULL;
	if (!options)
		options = &defaults;
	if (!def)
		return ls_error_set(err, LS_ERR_NOT_FOUND,
		                    "platform: found \"%.40s\", expected one that `lockstep platforms` lists", name);
	if (options->version != LS_PLATFORM_OPTIONS_VERSION)
		return ls_error_set(err, LS_ERR_USAGE, "platform options: found version %d, expected %d", options->version,
		                    LS_PLATFORM_OPTIONS_VERSION);
	if (!ls_platform_control_ok()) // the workers would inherit it
		return ls_error_set(err, LS_ERR_NONCONFORMING, "platform %s: this thread does not round to nearest, or flushes subnormal numbers\n"
		                    "  hint: a library of this process changed the floating-point control word", name);
	p = ls_alloc(1, sizeof *p);
	if (!p)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	LS_TRY(ls_pool_open(&p->pool, options->threads, err));
	LS_TRY(ls_kernel__table_init(&p->table, options->isa, err));
	LS_TRY(def->open(p, err));
	p->def = def; // from here on, closing is ours
	*out = p;
done:
	if (status != LS_OK)
		ls_platform_free(p);
	return status;
}

void ls_platform_free(ls_platform *p)
{
	if (!p)
		return;
	if (p->def)
		p->def->close(p);
	ls_pool_free(p->pool);
	ls_free(p);
}

const char *ls_platform_name(const ls_platform *p)
{
	return p->def->name;
}

const char *ls_platform_describe(const ls_platform *p)
{
	return p->description;
}

ls_pool *ls_platform_pool(ls_platform *p)
{
	return p->pool;
}

ls_status ls_platform_check_depth(const char *name, const ls_program *program, const ls_arithmetic *arithmetic, ls_error *err)
{
	const ls_platform_def *def = find(name);
	const char *deepest = NULL;
	int64_t least = 0;
	for (int i = 0; def && arithmetic->depth && !arithmetic->fp32 && i < ls_program_ops(program); i++) {
		const ls_op *op = ls_program_op(program, i);
		ls_product product;
		if (ls_op_find(op->kind)->class != LS_OP_PRODUCT)
			continue;
		ls_op_find(op->kind)->product(program, op, &product);
		if (ls_product_bound(arithmetic, op->kind, &product).kind == LS_BOUND_FP64 && def->depth(&product) + 2 > least) {
			least = def->depth(&product) + 2;
			deepest = ls_program_value(program, op->outputs[0])->name;
		}
	}
	if (least <= arithmetic->depth)
		return LS_OK;
	return ls_error_set(err, LS_ERR_INPUT, "arithmetic.depth: found %lld, expected at least %lld, which platform %s needs for op '%s'\n"
	                    "  hint: leave it out, or 0: every product then has 512 + K/512, which suffices on every platform",
	                    (long long)arithmetic->depth, (long long)least, name, deepest);
}

ls_status ls_platform_product(ls_platform *p, const ls_product_call *call, ls_error *err)
{
	return p->def->product(p, call, err);
}

ls_status ls_platform_run(ls_platform *p, const ls_op_call *call, ls_error *err)
{
	ls_op_call pooled = *call;
	if (!call->def->element)
		return ls_error_set(err, LS_ERR_USAGE, "%s: found a product or the commit, expected an op with elements",
		                    call->def->kind);
	if (!pooled.pool)
		pooled.pool = p->pool;
	if (!pooled.loops)
		pooled.loops = p->table.loops;
	if (!p->def->row_kernels || !ls_kernel__rows_run(&pooled))
		ls_op_reference(&pooled);
	return LS_OK;
}
