#include <lockstep/verify.h>

void ls_judge_sum(ls_judgement *out, const ls_sum *sum, const ls_judge_rules *rules, const char *kind, const ls_product *product, int bits,
                  int entry)
{
	float value = ls_sum_round(sum, bits);
	*out = (ls_judgement){.entry = LS_ENTRY_REDUNDANT};
	if (rules->mode == LS_JUDGE_LOGGED) {
		ls_bound bound = ls_product_bound(&rules->arithmetic, kind, product);
		out->two_valued = ls_sum_two_valued(sum, bound, bits);
		if (entry != LS_JUDGE_NO_ENTRY)
			out->entry = ls_sum_judge(sum, bound, bits, entry, &value);
	}
	out->word = ls_bits_f32(value);
}

static ls_status judge_product(ls_judgement *out, const ls_reader *r, const ls_op_def *def, const ls_judge_rules *rules, int64_t index,
                               int entry)
{
	int bits = ls_reader_output(r, 0)->bits;
	ls_product p;
	ls_sum sum;
	int64_t i, j;
	def->product(r->program, r->op, &p);
	ls_product_locate(&p, index, &i, &j);
	if (rules->mode == LS_JUDGE_PINNED) {
		out->word = ls_bits_f32(ls_product_pinned(r, &p, i, j, bits));
		return LS_OK;
	}
	ls_product_sum(r, &p, i, j, &sum);
	ls_judge_sum(out, &sum, rules, r->op->kind, &p, bits, entry);
	return LS_OK;
}

ls_status ls_judge_element(ls_judgement *out, const ls_reader *r, const ls_judge_rules *rules, int output, int64_t index, int entry,
                           ls_error *err)
{
	const ls_op_def *def = ls_op_find(r->op->kind);
	*out = (ls_judgement){.entry = LS_ENTRY_REDUNDANT};
	if (!def)
		return ls_error_set(err, LS_ERR_USAGE, "op '%s': found an unknown kind", r->op->kind);
	if (def->class == LS_OP_COMMIT)
		return ls_error_set(err, LS_ERR_UNSUPPORTED, "op 'commit': its output is a root, which has no elements\n"
		                    "  hint: recompute it from the roots of the tensors");
	if (output < 0 || output >= r->op->output_count || index < 0 ||
	    index >= ls_shape_count(&ls_program_value(r->program, r->op->outputs[output])->shape))
		return ls_error_set(err, LS_ERR_USAGE, "op '%s': found output %d, element %lld, expected one that it has", r->op->kind, output,
		                    (long long)index);
	if (entry != LS_JUDGE_NO_ENTRY && (rules->mode != LS_JUDGE_LOGGED || def->class != LS_OP_PRODUCT))
		return ls_error_set(err, LS_ERR_USAGE, "op '%s': found an entry of the rounding log, where there can be none", r->op->kind);
	if (def->class == LS_OP_PRODUCT)
		return judge_product(out, r, def, rules, index, entry);
	out->word = def->element(r, output, index);
	return LS_OK;
}

const char *ls_claim_text(ls_claim claim)
{
	static const char *const text[] = {
		[LS_CLAIM_ADMISSIBLE] = "admissible", [LS_CLAIM_WRONG] = "wrong", [LS_CLAIM_FORGED] = "forged-entry",
		[LS_CLAIM_UNDECIDED] = "undecided"};
	return text[claim];
}

ls_status ls_judge_claim(ls_claim *out, ls_judgement *judgement, ls_opening *opening, const ls_reader *reader,
                         const ls_judge_rules *rules, int output, int64_t index, int entry, uint32_t claimed, ls_error *err)
{
	ls_reader r = *reader;
	ls_judgement j;
	ls_status status;
	int input;
	int64_t word;
	*out = LS_CLAIM_UNDECIDED;
	ls_opening_reader(opening, &r);
	status = ls_judge_element(&j, &r, rules, output, index, entry, err);
	if (judgement)
		*judgement = j;
	if (status != LS_OK || ls_opening_missing(opening, &input, &word))
		return status;
	if (j.entry == LS_ENTRY_FORGED)
		*out = LS_CLAIM_FORGED;
	else
		*out = claimed == j.word ? LS_CLAIM_ADMISSIBLE : LS_CLAIM_WRONG;
	return LS_OK;
}
