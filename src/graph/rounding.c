#include "graph/rounding.h"

#include "kernel/pack.h"

#include <lockstep/platform.h>

/* Brings the factors of element `index` side by side, the bias behind them; taps that are no terms become zeros. Returns
 * their number. */
static int64_t gather(const ls_settle *s, int64_t index, int64_t *i, int64_t *j)
{
	const ls_product *p = s->product;
	int64_t n = p->terms;
	ls_product_locate(p, index, i, j);
	if (s->gathered->row != *i)
		ls_kernel__fetch(&p->a, s->a, *i, 0, n, s->gathered->a);
	s->gathered->row = *i;
	ls_kernel__fetch(&p->b, s->b, *j, 0, n, s->gathered->b);
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
	for (int64_t j = 0; j < p->columns; j++, out += words)
		ls_kernel__support(&p->b, s->b, j, p->terms, s->gathered->b, out);
	s->gathered->supports.known = true;
	s->gathered->row = -1;
}

/* Worth it where there are at least as many zeros as rows to look at. */
static void prepare_supports(const ls_settle *s)
{
	const ls_product *p = s->product;
	int64_t zeros = 0;
	s->gathered->supports.known = false;
	if (p->bias != LS_BIAS_NONE || (uint64_t)((p->rows + p->columns) * words_per_row(p)) > s->gathered->supports.capacity)
		return;
	for (size_t f = 0; f < s->flags->count; f++)
		zeros += s->flags->flag[f].c == 0;
	if (zeros >= p->rows + p->columns)
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
	b = s->gathered->supports.word + (p->rows + j) * words;
	for (int64_t w = 0; w < words; w++)
		common |= a[w] & b[w];
	return !common;
}

/* ---- the exact value ---- */

static void set_exact(const ls_settle *s, int64_t index)
{
	int64_t i, j, n = gather(s, index, &i, &j);
	float value = ls_dot_exact(s->gathered->a, s->gathered->b, n, s->bits);
	s->stats->exact++;
	if (value != value) { // as in exact_sum
		ls_sum sum;
		ls_product_sum(s->reader, s->product, i, j, &sum);
		value = ls_sum_round(&sum, s->bits);
	}
	s->out[index] = value;
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

/* The platform promised |C − E| ≤ B for the certified B; an honest trainer finds out before it commits to anything. */
static ls_status check_platform(const ls_settle *s, const ls_flag *flag, ls_error *err)
{
	ls_sum sum;
	if (!finite(flag->c)) // a factor was not finite, perhaps beside a tap that is no term: the definition decides, not C
		return LS_OK;
	exact_sum(s, flag->index, &sum);
	if (ls_sum_within(&sum, flag->c, s->promise, s->bits) || (s->promise.kind == LS_BOUND_FP32 && !finite(flag->c)))
		return LS_OK; // a chunk in FP32 may overflow: such elements are computed exactly
	return ls_error_set(err, LS_ERR_NONCONFORMING,
	                    "op %d, element %lld: found sum %a, expected it within the bound of the exact value near %a\n"
	                    "  hint: the platform or the hardware computed wrongly; run `lockstep platforms`",
	                    s->op, (long long)flag->index, flag->c, (double)ls_sum_round(&sum, 32));
}

/* Trainer: an ambiguous element keeps R(C) and gets an entry, or is recomputed where C cannot decide. */
static ls_status record(const ls_settle *s, const ls_flag *flag)
{
	ls_entry entry = {(uint32_t)flag->index, (uint8_t)ls_grid_last_bit(s->out[flag->index], s->bits)};
	if (!decidable(s, flag)) {
		set_exact(s, flag->index);
		return LS_OK;
	}
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
		*s->forgery = (ls_forgery){true, s->op, index, bit, value};
		return true;
	}
	s->stats->corrections += ls_bits_f32(value) != ls_bits_f32(own);
	return false;
}

static bool confirms(const ls_settle *s, int64_t index, int bit)
{
	return ls_grid_last_bit(s->out[index], s->bits) == bit;
}

/* Auditor: walks flags and entries together, both ascending by index. */
static void follow(const ls_settle *s)
{
	size_t f = 0, e = 0, entries = s->log ? s->log->count : 0;
	while (f < s->flags->count || e < entries) {
		const ls_flag *flag = f < s->flags->count ? &s->flags->flag[f] : NULL;
		const ls_entry *entry = e < entries ? &s->log->entry[e] : NULL;
		if (flag && (!entry || flag->index < (int64_t)entry->index)) {
			if (ambiguous(s, flag)) // an empty sum has C = E = 0
				set_exact(s, flag->index);
			f++;
			continue;
		}
		// with no flag R(C) = R(E) is proved (under a threshold, taken for granted), so an entry that says the same is redundant
		bool settled = flag && flag->index == (int64_t)entry->index ? decidable(s, flag) : true;
		s->stats->entries++;
		if (!(settled && confirms(s, entry->index, entry->bit)) && judge(s, entry->index, entry->bit))
			return;
		f += flag && flag->index == (int64_t)entry->index;
		e++;
	}
}

ls_status ls_graph__settle(const ls_settle *s, ls_rounding rounding, ls_error *err)
{
	ls_status status = LS_OK;
	prepare_supports(s);
	for (size_t f = 0; f < s->flags->count; f++) {
		const ls_flag *flag = &s->flags->flag[f];
		bool doubtful = ambiguous(s, flag);
		s->stats->ambiguous += doubtful;
		if (flag->index == s->checked)
			LS_TRY(check_platform(s, flag, err));
		if (doubtful && rounding == LS_ROUNDING_RECORD && record(s, flag) != LS_OK)
			return ls_error_set(err, LS_ERR_NOMEM, "no memory for the rounding log of op %d", s->op);
		if (doubtful && rounding == LS_ROUNDING_EXACT)
			set_exact(s, flag->index);
	}
	if (rounding == LS_ROUNDING_FOLLOW)
		follow(s);
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
			                    s->op, (long long)flag->index, (double)s->out[flag->index], (double)value);
		s->out[flag->index] = value;
	}
	return LS_OK;
}
