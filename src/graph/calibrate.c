/* The paper's Algorithm 3. Every product of a program is computed on random inputs by every platform. Where two of them
 * round an element differently, one of them is on the other side of a boundary than the exact sum, and the rounding log
 * must have an entry: its distance |C − R(C)| must exceed τ·s, whichever of the two trains. The largest τ for which that
 * holds, the one with the fewest entries, is found per kind of op by bisection.
 *
 * In the paper τ is searched between 0.25·2^(9−b) and 0.5·2^(9−b), relative to the power of two below the value, which
 * is between a quarter and a half of the grid interval s. Two ends stay out of the search: τ = ¼ itself, where 4B = s
 * admits no entries any more, and the last 2^-10 below ½, since a kind of op of which no element happened to differ would
 * otherwise be given no window at all. */
#include <lockstep/graph.h>

enum { BINS_PER_UNIT = 8192, BINS = BINS_PER_UNIT / 2 + 1, LEAST = BINS_PER_UNIT / 4 + 1, MOST = BINS_PER_UNIT / 2 - 8 };

/* τ here lies far outside the window's range: a bound of 3/2 steps flags every element, and so shows its sum. */
#define TAU_FLAGS_ALL (-1.0)

typedef struct work {
	const ls_program *program;
	ls_platform *const *platforms;
	int platform_count;
	bool fp32;
	ls_product product;
	const ls_op *op;
	float *input[3], *out;
	ls_flag_list *sums; /* per platform */
	ls_calibration *row;
	uint64_t (*near)[BINS]; /* per kind: differing elements by ⌊distance·BINS_PER_UNIT⌋ */
} work;

static ls_status make_input(work *w, int input, uint64_t number, ls_error *err)
{
	const ls_value *v = ls_program_value(w->program, w->op->inputs[input]);
	int64_t count = ls_shape_count(&v->shape);
	ls_stream stream = {.seed = 1, .purpose = LS_PURPOSE_TEST, .step = number * 4 + (uint64_t)input};
	ls_free(w->input[input]);
	w->input[input] = ls_alloc((size_t)count, sizeof(float));
	if (!w->input[input])
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %lld random numbers", (long long)count);
	for (int64_t i = 0; i < count; i++)
		w->input[input][i] = ls_round_f64(ls_random_normal(&stream, (uint64_t)i), v->bits);
	return LS_OK;
}

static ls_status run_platforms(work *w, ls_error *err)
{
	const ls_value *v = ls_program_value(w->program, w->op->outputs[0]);
	const ls_product *p = &w->product;
	ls_product_call call = {.product = p, .a = w->input[p->a.input], .b = w->input[p->b.input],
	                        .bias = p->bias == LS_BIAS_NONE ? NULL : w->input[p->bias_input], .bits = v->bits, .fp32 = w->fp32,
	                        .bound = ls_bound_window(TAU_FLAGS_ALL), .test = true, .sample = -1};
	ls_status status = LS_OK;
	ls_free(w->out);
	call.out = w->out = ls_alloc((size_t)ls_shape_count(&v->shape), sizeof(float));
	if (!w->out)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %lld elements", (long long)ls_shape_count(&v->shape));
	for (int i = 0; status == LS_OK && i < w->platform_count; i++) {
		call.flags = &w->sums[i];
		status = ls_platform_product(w->platforms[i], &call, err);
	}
	return status;
}

static void note_distance(work *w, double c, int bits)
{
	double rounded = (double)ls_round_f64(c, bits), distance = __builtin_fabs(c - rounded) / ls_grid_step(c, bits);
	int bin = distance < 0.5 ? (int)(distance * BINS_PER_UNIT) : BINS - 1;
	w->near[0][bin]++;
	if (distance < w->row->closest)
		w->row->closest = distance;
}

static void compare(work *w, const ls_flag_list *a, const ls_flag_list *b, int bits)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		double x = a->flag[i].c, y = b->flag[i].c;
		if (x - x != 0 || y - y != 0) // not finite: computed exactly, whatever τ
			continue;
		if (ls_bits_f32(ls_round_f64(x, bits)) == ls_bits_f32(ls_round_f64(y, bits)))
			continue;
		w->row->differing++;
		note_distance(w, x, bits);
		note_distance(w, y, bits);
	}
}

static uint64_t escaping(const uint64_t near[BINS], int tau)
{
	uint64_t count = 0;
	for (int i = 0; i <= tau && i < BINS; i++)
		count += near[i];
	return count;
}

static void bisect(ls_calibration *row, const uint64_t near[BINS])
{
	int low = LEAST, high = MOST + 1; // nothing escapes at low, or nothing can be done about it
	while (high - low > 1) {
		int middle = (low + high) / 2;
		if (escaping(near, middle))
			high = middle;
		else
			low = middle;
	}
	row->tau = (double)low / BINS_PER_UNIT;
	row->escaped = escaping(near, low);
}

static ls_calibration *row_of(ls_calibration rows[LS_CALIBRATIONS_MAX], int *count, const char *kind)
{
	int i = 0;
	while (i < *count && strcmp(rows[i].kind, kind))
		i++;
	if (i == LS_CALIBRATIONS_MAX || strlen(kind) > LS_THRESHOLD_KIND_MAX)
		return NULL;
	if (i == *count) {
		rows[i] = (ls_calibration){.closest = 0.5};
		memcpy(rows[i].kind, kind, strlen(kind) + 1);
		++*count;
	}
	return &rows[i];
}

static ls_status one_trial(work *w, uint64_t number, ls_error *err)
{
	const ls_value *v = ls_program_value(w->program, w->op->outputs[0]);
	ls_status status = LS_OK;
	for (int i = 0; i < w->op->input_count && i < 3; i++)
		LS_TRY(make_input(w, i, number, err));
	LS_TRY(run_platforms(w, err));
	w->row->elements += (uint64_t)ls_shape_count(&v->shape);
	for (int i = 0; i < w->platform_count; i++)
		for (int j = 0; j < i; j++)
			compare(w, &w->sums[i], &w->sums[j], v->bits);
done:
	return status;
}

static ls_status all_trials(work *w, const ls_calibrate_options *o, ls_calibration *rows, int *count, ls_error *err)
{
	uint64_t (*near)[BINS] = w->near;
	ls_status status = LS_OK;
	for (int i = 0; i < ls_program_ops(w->program); i++) {
		w->op = ls_program_op(w->program, i);
		const ls_op_def *def = ls_op_find(w->op->kind);
		if (def->class != LS_OP_PRODUCT)
			continue;
		w->row = row_of(rows, count, w->op->kind);
		if (!w->row)
			return ls_error_set(err, LS_ERR_LIMIT, "calibration: found more than %d kinds of products", LS_CALIBRATIONS_MAX);
		w->near = near + (w->row - rows);
		def->product(w->program, w->op, &w->product);
		for (int trial = 0; trial < o->trials; trial++)
			LS_TRY(one_trial(w, (uint64_t)i * 65536 + (uint64_t)trial, err));
	}
	for (int i = 0; i < *count; i++)
		bisect(&rows[i], near[i]);
done:
	w->near = near;
	return status;
}

/* Before anything is computed: what the sums of an op take, which all platforms' lists hold at once. */
static ls_status check_sums(const ls_calibrate_options *o, ls_error *err)
{
	for (int i = 0; i < ls_program_ops(o->program); i++) {
		const ls_op *op = ls_program_op(o->program, i);
		const ls_value *v = ls_program_value(o->program, op->outputs[0]);
		int64_t elements = ls_shape_count(&v->shape), room = LS_CALIBRATE_BYTES_MAX / (int64_t)sizeof(ls_flag) / o->platform_count;
		if (ls_op_find(op->kind)->class == LS_OP_PRODUCT && elements > room)
			return ls_error_set(err, LS_ERR_LIMIT, "calibration: op '%s': found %lld elements, expected at most %lld with %d platforms: "
			                    "the sums of an op are kept in at most %lld MiB\n  hint: calibrate with a smaller train.batch (--set); "
			                    "thresholds are per kind of op, not per size", v->name, (long long)elements, (long long)room,
			                    o->platform_count, (long long)(LS_CALIBRATE_BYTES_MAX >> 20));
	}
	return LS_OK;
}

ls_status ls_calibrate(ls_calibration rows[LS_CALIBRATIONS_MAX], int *count, const ls_calibrate_options *o, ls_error *err)
{
	work w = {.program = o->program, .platforms = o->platforms, .platform_count = o->platform_count, .fp32 = o->fp32};
	ls_status status = LS_OK;
	*count = 0;
	if (o->version != LS_CALIBRATE_OPTIONS_VERSION || o->platform_count < 2 || o->trials < 1 || o->trials > 65536)
		return ls_error_set(err, LS_ERR_USAGE, "calibration: needs two platforms and 1 to 65536 trials");
	LS_TRY(check_sums(o, err));
	w.sums = ls_alloc((size_t)o->platform_count, sizeof *w.sums);
	w.near = ls_alloc(LS_CALIBRATIONS_MAX, sizeof *w.near);
	if (!w.sums || !w.near) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory to calibrate");
		goto done;
	}
	LS_TRY(all_trials(&w, o, rows, count, err));
done:
	for (int i = 0; w.sums && i < o->platform_count; i++)
		ls_flag_list_free(&w.sums[i]);
	for (int i = 0; i < 3; i++)
		ls_free(w.input[i]);
	ls_free(w.out);
	ls_free(w.sums);
	ls_free(w.near);
	return status;
}
