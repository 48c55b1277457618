#include "graph/rounding.h"

#include "kernel/finish.h"
#include "kernel/pack.h"

#include <lockstep/platform.h>

/* Brings the factors of element `index` side by side, the bias behind them; taps that are no terms become zeros. Returns
 * their number. */
static int64_t gather(const ls_settle *s, int64_t index, int64_t *i, int64_t *j)
{
	const ls_product *p = s->product;
	int64_t n = p->terms;
	ls_product_locate(p, index, i, j);
	if (ls_product_masked(p, *i, *j))
		return 0;
	if (s->gathered->row != *i)
		ls_kernel__fetch(&p->a, s->a, *i, 0, n, s->gathered->a);
	s->gathered->row = *i;
	ls_kernel__fetch(&p->b, s->b, ls_product_b_row(p, *i, *j), 0, n, s->gathered->b);
	if (p->bias == LS_BIAS_NONE)
		return n;
	s->gathered->a[n] = s->bias[p->bias == LS_BIAS_ROW ? *i : *j];
	s->gathered->b[n] = 1.0f;
	return n + 1;
}

/* E and S. A zero in place of a missing term adds nothing, unless the other factor is not finite: then the definition,
 * which knows which taps are terms, has the word. */
static void exact_sum(const ls_settle *s, int64_t index, ls_sum *sum)
{
	int64_t i, j, n = gather(s, index, &i, &j);
	ls_sum_init(sum);
	for (int64_t k = 0; k < n; k++)
		ls_sum_add(sum, s->gathered->a[k], s->gathered->b[k]);
	if (sum->non_finite)
		ls_product_sum(s->reader, s->product, i, j, sum);
	s->stats->exact++;
}

/* ---- sums without a single product other than zero ---- */

static int64_t words_per_row(const ls_product *p)
{
	return (p->terms + 63) / 64;
}

static void find_supports(const ls_settle *s)
{
	const ls_product *p = s->product;
	int64_t words = words_per_row(p);
	uint64_t *out = s->gathered->supports.word;
	for (int64_t i = 0; i < p->rows; i++, out += words)
		ls_kernel__support(&p->a, s->a, i, p->terms, s->gathered->a, out);
	for (int64_t j = 0; j < ls_product_b_rows(p); j++, out += words)
		ls_kernel__support(&p->b, s->b, j, p->terms, s->gathered->b, out);
	s->gathered->supports.known = true;
	s->gathered->row = -1;
}

/* Worth it where there are at least as many zeros as rows to look at. */
static void prepare_supports(const ls_settle *s)
{
	const ls_product *p = s->product;
	int64_t zeros = 0, rows = p->rows + ls_product_b_rows(p);
	s->gathered->supports.known = false;
	if (p->bias != LS_BIAS_NONE || (uint64_t)(rows * words_per_row(p)) > s->gathered->supports.capacity)
		return;
	for (size_t f = 0; f < s->flags->count; f++)
		zeros += s->flags->flag[f].c == 0;
	if (zeros >= rows)
		find_supports(s);
}

/* True only where E = S = 0 is certain. C = 0 proves that all factors are finite. */
static bool is_empty_sum(const ls_settle *s, const ls_flag *flag)
{
	const ls_product *p = s->product;
	int64_t i, j, words = words_per_row(p);
	const uint64_t *a, *b;
	uint64_t common = 0;
	if (!s->gathered->supports.known || flag->c != 0)
		return false;
	ls_product_locate(p, flag->index, &i, &j);
	a = s->gathered->supports.word + i * words;
	b = s->gathered->supports.word + (p->rows + ls_product_b_row(p, i, j)) * words;
	for (int64_t w = 0; w < words; w++)
		common |= a[w] & b[w];
	return !common;
}

/* ---- the exact value ---- */

/* Puts an element on the list of those that ls_graph__settle computes exactly in the end. */
static ls_status defer(const ls_settle *s, const ls_flag *flag)
{
	return ls_kernel__push_flag(&s->gathered->exact, flag);
}

static ls_status compute_deferred(const ls_settle *s, ls_error *err)
{
	const ls_flag_list *list = &s->gathered->exact;
	ls_exact_call call = {.product = s->product, .a = s->a, .b = s->b, .bias = s->bias, .out = s->out, .bits = s->bits, .bound = s->bound,
	                      .flag = list->flag, .count = list->count, .stage = s->stats->stage};
	ls_status status = ls_platform_exact(s->platform, &call, err);
	s->stats->exact += list->count;
	for (size_t f = 0; f < list->count && status == LS_OK; f++) {
		int64_t index = list->flag[f].index, i, j;
		ls_sum sum;
		if (s->out[index] == s->out[index])
			continue;
		ls_product_locate(s->product, index, &i, &j); // as in exact_sum
		ls_product_sum(s->reader, s->product, i, j, &sum);
		s->out[index] = ls_sum_round(&sum, s->bits);
	}
	return status;
}

static bool finite(double c)
{
	return (ls_bits_f64(c) >> 52 & 0x7ff) != 0x7ff;
}

/* The platform's sum does not settle R(E). */
static bool ambiguous(const ls_settle *s, const ls_flag *flag)
{
	return !finite(flag->c) || (ls_ambiguous(flag->c, flag->t, s->bits) && !is_empty_sum(s, flag));
}

/* C may decide between two neighbours: it is finite and 4t < s(C). */
static bool decidable(const ls_settle *s, const ls_flag *flag)
{
	return finite(flag->c) && 4.0 * flag->t < ls_grid_step(flag->c, s->bits);
}

/* In mode exact the platform chooses how it sums, and t is what it says of the error; else it promised the certified B. */
static bool keeps_promise(const ls_settle *s, const ls_flag *flag, const ls_sum *sum, ls_rounding rounding)
{
	if (rounding == LS_ROUNDING_EXACT && s->promise.kind == LS_BOUND_FP64)
		return ls_sum_near(sum, flag->c, flag->t);
	return ls_sum_within(sum, flag->c, s->promise, s->bits);
}

/* An honest trainer finds out before it commits to anything. */
static ls_status check_platform(const ls_settle *s, const ls_flag *flag, ls_rounding rounding, ls_error *err)
{
	ls_sum sum;
	if (!finite(flag->c)) // a factor was not finite, perhaps beside a tap that is no term: the definition decides, not C
		return LS_OK;
	exact_sum(s, flag->index, &sum);
	if (keeps_promise(s, flag, &sum, rounding) || (s->promise.kind == LS_BOUND_FP32 && !finite(flag->c)))
		return LS_OK; // a chunk in FP32 may overflow: such elements are computed exactly
	return ls_error_set(err, LS_ERR_NONCONFORMING,
	                    "op %d, element %lld: found sum %a, expected it within the bound of the exact value near %a\n"
	                    "  hint: the platform or the hardware computed wrongly; run `lockstep platforms`",
	                    s->op, (long long)(s->first + flag->index), flag->c, (double)ls_sum_round(&sum, 32));
}

/* Trainer: an ambiguous element keeps R(C) and gets an entry, or is recomputed where C cannot decide. */
static ls_status record(const ls_settle *s, const ls_flag *flag)
{
	ls_entry entry = {(uint32_t)(s->first + flag->index), (uint8_t)ls_grid_last_bit(s->out[flag->index], s->bits)};
	if (!decidable(s, flag))
		return defer(s, flag);
	s->stats->entries++;
	return ls_op_log_push(s->log, entry);
}

/* An entry that this platform's sum does not confirm: E and S decide. True where the entry is forged. */
static bool judge(const ls_settle *s, int64_t index, int bit)
{
	float value, own = s->out[index];
	ls_sum sum;
	ls_entry_kind kind;
	exact_sum(s, index, &sum);
	kind = ls_sum_judge(&sum, s->bound, s->bits, bit, &value);
	s->out[index] = value;
	if (kind == LS_ENTRY_FORGED) {
		*s->forgery = (ls_forgery){true, s->op, s->first + index, bit, value};
		return true;
	}
	s->stats->corrections += ls_bits_f32(value) != ls_bits_f32(own);
	return false;
}

static bool confirms(const ls_settle *s, int64_t index, int bit)
{
	return ls_grid_last_bit(s->out[index], s->bits) == bit;
}

/* How many entries of the log lie before this element of the whole output. */
static size_t entries_before(const ls_settle *s, int64_t element)
{
	size_t low = 0, high = s->log ? s->log->count : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if ((int64_t)s->log->entry[middle].index < element)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Auditor: walks flags and entries together, both ascending by index. */
static ls_status follow(const ls_settle *s)
{
	size_t f = 0, e = entries_before(s, s->first), entries = entries_before(s, s->first + s->count);
	while (f < s->flags->count || e < entries) {
		const ls_flag *flag = f < s->flags->count ? &s->flags->flag[f] : NULL;
		const ls_entry *entry = e < entries ? &s->log->entry[e] : NULL;
		int64_t at = entry ? (int64_t)entry->index - s->first : INT64_MAX;
		if (flag && flag->index < at) {
			if (ambiguous(s, flag) && defer(s, flag) != LS_OK) // an empty sum has C = E = 0
				return LS_ERR_NOMEM;
			f++;
			continue;
		}
		// with no flag R(C) = R(E) is proved (under a threshold, taken for granted), so an entry that says the same is redundant
		bool settled = flag && flag->index == at ? decidable(s, flag) : true;
		s->stats->entries++;
		if (!(settled && confirms(s, at, entry->bit)) && judge(s, at, entry->bit))
			break;
		f += flag && flag->index == at;
		e++;
	}
	return LS_OK;
}

/* What is to become of a flagged element, other than by an auditor, who needs the entries beside them. */
static ls_status settle_flag(const ls_settle *s, const ls_flag *flag, ls_rounding rounding)
{
	bool doubtful = ambiguous(s, flag);
	s->stats->ambiguous += doubtful;
	if (doubtful && rounding == LS_ROUNDING_RECORD)
		return record(s, flag);
	if (doubtful && rounding == LS_ROUNDING_EXACT)
		return defer(s, flag);
	return LS_OK;
}

ls_status ls_graph__settle(const ls_settle *s, ls_rounding rounding, ls_error *err)
{
	ls_status status = LS_OK;
	prepare_supports(s);
	s->gathered->exact.count = 0;
	for (size_t f = 0; f < s->flags->count && status == LS_OK; f++) {
		if (s->flags->flag[f].index == s->checked)
			LS_TRY(check_platform(s, &s->flags->flag[f], rounding, err));
		status = settle_flag(s, &s->flags->flag[f], rounding);
	}
	if (status == LS_OK && rounding == LS_ROUNDING_FOLLOW)
		status = follow(s);
	if (status != LS_OK)
		return ls_error_set(err, status, "no memory for the elements of op %d whose rounding is not settled", s->op);
	if (!s->forgery->found)
		status = compute_deferred(s, err);
done:
	return status;
}

ls_status ls_graph__settle_pinned(const ls_settle *s, ls_error *err)
{
	for (size_t f = 0; f < s->flags->count; f++) {
		const ls_flag *flag = &s->flags->flag[f];
		int64_t i, j;
		float value;
		ls_product_locate(s->product, flag->index, &i, &j);
		value = ls_product_pinned(s->reader, s->product, i, j, s->bits);
		s->stats->exact++;
		if (finite(flag->c) && ls_bits_f32(value) != ls_bits_f32(s->out[flag->index]))
			return ls_error_set(err, LS_ERR_NONCONFORMING,
			                    "op %d, element %lld: found %a in the pinned order, expected %a\n"
			                    "  hint: the platform or the hardware computed wrongly; run `lockstep platforms`",
			                    s->op, (long long)(s->first + flag->index), (double)s->out[flag->index], (double)value);
		s->out[flag->index] = value;
	}
	return LS_OK;
}
