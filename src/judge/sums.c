/* Long sums: each side shows what an element's sum is made of, and the game goes on with the first part that differs. Exact
 * sums of products are a tree; states of a pinned sum and blocks of an rsum are one list. */
#include "judge/game.h"

#include "num/wide.h"

/* 2^21 terms below 2^554 units stay below 2^600; numbers beyond are nobody's sums, and the arithmetic that follows need not
 * cope with them. */
#define SUM_TOP 600

static const char parts_text[] = "its own partial sums do not make up what it said of the element";
static const char leaf_text[] = "a partial sum of the element is not that of its terms";

/* ---- encodings ---- */

int64_t ls_sum_child(int64_t terms)
{
	int64_t child = 1;
	while (child * LS_SUM_FAN < terms)
		child *= LS_SUM_FAN;
	return child;
}

void ls_sum_encode(ls_buf *out, const ls_sum *sum)
{
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		ls_buf_u64(out, sum->e.limb[i]);
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		ls_buf_u64(out, sum->s.limb[i]);
	ls_buf_u8(out, sum->non_finite);
}

static uint32_t one_nan_f32(float x)
{
	return x != x ? LS_NAN_BITS : ls_bits_f32(x);
}

void ls_pinned_encode(ls_buf *out, const ls_pinned_state *state)
{
	ls_buf_u32(out, one_nan_f32(state->sum));
	ls_buf_u32(out, one_nan_f32(state->acc));
	ls_buf_u8(out, state->finite);
}

void ls_part_encode(ls_buf *out, double sum)
{
	ls_buf_u64(out, sum != sum ? UINT64_C(0x7ff8000000000000) : ls_bits_f64(sum));
}

static bool read_sum(ls_cursor *c, ls_sum *out)
{
	ls_wide magnitude;
	uint8_t flag;
	*out = (ls_sum){0};
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		out->e.limb[i] = ls_cursor_u64(c);
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		out->s.limb[i] = ls_cursor_u64(c);
	flag = ls_cursor_u8(c);
	out->non_finite = flag == 1;
	magnitude = out->e;
	ls_num__wide_abs(&magnitude);
	return !c->failed && flag <= 1 && ls_num__wide_top(&magnitude) < SUM_TOP && ls_num__wide_top(&out->s) < SUM_TOP;
}

static bool same_sum(const ls_sum *a, const ls_sum *b)
{
	return !memcmp(&a->e, &b->e, sizeof a->e) && !memcmp(&a->s, &b->s, sizeof a->s) && a->non_finite == b->non_finite;
}

/* ---- which sums are shown ---- */

bool ls_judge__is_pinned(const ls_game *g)
{
	return g->def->class == LS_OP_PRODUCT && g->job.mode == LS_JUDGE__PINNED;
}

size_t ls_judge__item(const ls_game *g)
{
	return ls_judge__is_pinned(g) ? LS_PINNED_BYTES : 8;
}

static void enter_terms(ls_game *g, int64_t first, int64_t terms)
{
	g->sum_first = first;
	g->sum_terms = terms;
	if (terms > LS_SUM_FAN)
		ls_judge__expect(g, LS_ROLE_TRAINER, LS_TURN_SUMS);
	else
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_OPEN);
}

static const ls_op *op_of(const ls_game *g)
{
	return ls_program_op(g->program, ls_program_ops(g->program) - 1);
}

void ls_judge__enter_sums(ls_game *g)
{
	int64_t terms = g->def->class == LS_OP_PRODUCT ? ls_product_all_terms(&g->product) : 0;
	g->has_sum = false;
	g->part = -1;
	g->parts = 0;
	if (terms && !ls_judge__is_pinned(g)) {
		enter_terms(g, 0, terms);
		return;
	}
	if (terms)
		g->parts = (terms + LS_SUM_FAN - 1) / LS_SUM_FAN;
	else if (g->def->parts)
		g->parts = g->def->parts(g->program, op_of(g), g->output);
	if (g->parts <= 1)
		g->parts = 0;
	if (terms && g->parts == 0)
		enter_terms(g, 0, terms);
	else if ((size_t)g->parts > LS_TURN_BYTES_MAX / 2 / ls_judge__item(g))
		ls_judge__end(g, LS_RULING_UNDECIDED, "the element is a sum of more terms than this version opens");
	else
		ls_judge__expect(g, g->parts ? LS_ROLE_TRAINER : LS_ROLE_AUDITOR, g->parts ? LS_TURN_SUMS : LS_TURN_OPEN);
}

/* ---- the tree of a product's sums ---- */

static int64_t child_count(const ls_game *g)
{
	int64_t child = ls_sum_child(g->sum_terms);
	return (g->sum_terms + child - 1) / child;
}

static void add_up(const ls_sum *children, int64_t count, ls_sum *out)
{
	*out = (ls_sum){0};
	for (int64_t i = 0; i < count; i++) {
		ls_num__wide_add(&out->e, &children[i].e);
		ls_num__wide_add(&out->s, &children[i].s);
		out->non_finite |= children[i].non_finite;
	}
}

/* Whether a side's word follows from these sums; on the road of an entry, whether what it says of the entry does. */
static bool follows(const ls_game *g, int side, const ls_sum *sum)
{
	ls_judge_rules rules = ls_judge__rules(g);
	ls_judgement j;
	bool forged;
	ls_judge_sum(&j, sum, &rules, g->record.op.kind, &g->product, g->record.output[0].bits, g->entry);
	forged = j.entry == LS_ENTRY_FORGED;
	if (g->entry_road)
		return forged == (side == LS_JUDGE__AUDITOR);
	return j.word == g->word[side] && !(forged && side == LS_JUDGE__TRAINER);
}

/* Both have shown the parts of their node: they must make up the node, and at the top they must make up the word. */
static void compare_children(ls_game *g)
{
	int64_t count = child_count(g), child = ls_sum_child(g->sum_terms), at = 0, left;
	ls_sum whole[2];
	bool good[2];
	for (int side = 0; side < 2; side++) {
		add_up(g->children[side], count, &whole[side]);
		good[side] = g->has_sum ? same_sum(&whole[side], &g->sum[side]) : follows(g, side, &whole[side]);
	}
	if (!good[0] || !good[1]) {
		ls_judge__end_wrong(g, !good[0], !good[1], parts_text);
		return;
	}
	while (at < count && same_sum(&g->children[0][at], &g->children[1][at]))
		at++;
	if (at == count) { // equal parts make up one sum, of which two different things cannot follow
		ls_judge__end(g, LS_RULING_EVIDENCE_INVALID, "equal partial sums of different values");
		return;
	}
	for (int side = 0; side < 2; side++)
		g->sum[side] = g->children[side][at];
	g->has_sum = true;
	left = g->sum_terms - at * child;
	enter_terms(g, g->sum_first + at * child, left < child ? left : child);
}

static bool take_children(ls_game *g, int side, ls_cursor *c)
{
	int64_t count = child_count(g);
	ls_sum children[LS_SUM_FAN];
	for (int64_t i = 0; i < count; i++)
		if (!read_sum(c, &children[i]))
			return false;
	if (!ls_cursor_done(c))
		return false;
	memcpy(g->children[side], children, (size_t)count * sizeof *children);
	return true;
}

/* ---- lists ---- */

typedef struct listed {
	const uint8_t *item;
	int64_t at, count;
	bool short_of; /* asked for more blocks than there are, or for a word */
} listed;

static bool given(void *context, double *sum)
{
	listed *l = context;
	*sum = 0;
	if (l->at >= l->count)
		l->short_of = true;
	else
		*sum = ls_f64_bits(ls_get_le64(l->item + 8 * l->at++));
	return true;
}

static uint32_t no_word(void *context, int input, int64_t index)
{
	((listed *)context)->short_of = true;
	return 0;
}

/* The value that a side's list makes up. */
static bool list_follows(const ls_game *g, int side)
{
	listed l = {.item = g->list[side], .count = g->parts};
	ls_parts parts = {.context = &l, .given = given};
	ls_reader r = ls_judge__reader(g);
	if (ls_judge__is_pinned(g)) {
		const uint8_t *last = g->list[side] + (g->parts - 1) * LS_PINNED_BYTES;
		ls_pinned_state end = {ls_f32_bits(ls_get_le32(last)), ls_f32_bits(ls_get_le32(last + 4)), last[8]};
		return ls_bits_f32(ls_product_pinned_end(&g->product, &end, g->record.output[0].bits)) == g->word[side];
	}
	r.context = &l;
	r.word = no_word;
	r.parts = &parts;
	return g->def->element(&r, g->output, g->element) == g->word[side] && !l.short_of && l.at == l.count;
}

static void compare_lists(ls_game *g)
{
	bool good[2] = {list_follows(g, 0), list_follows(g, 1)};
	size_t item = ls_judge__item(g);
	int64_t at = 0, terms;
	if (!good[0] || !good[1]) {
		ls_judge__end_wrong(g, !good[0], !good[1], parts_text);
		return;
	}
	while (!memcmp(g->list[0] + (size_t)at * item, g->list[1] + (size_t)at * item, item)) // the words differ, so some item does
		at++;
	g->part = at;
	if (ls_judge__is_pinned(g)) {
		terms = ls_product_all_terms(&g->product) - at * LS_SUM_FAN;
		g->sum_first = at * LS_SUM_FAN;
		g->sum_terms = terms < LS_SUM_FAN ? terms : LS_SUM_FAN;
	}
	ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_OPEN);
}

/* One spelling for each number. */
static bool item_is_canonical(ls_game *g, const uint8_t *p)
{
	ls_buf again;
	bool same;
	ls_buf_init(&again, LS_PINNED_BYTES);
	if (ls_judge__is_pinned(g))
		ls_pinned_encode(&again, &(ls_pinned_state){ls_f32_bits(ls_get_le32(p)), ls_f32_bits(ls_get_le32(p + 4)), p[8] == 1});
	else
		ls_part_encode(&again, ls_f64_bits(ls_get_le64(p)));
	same = ls_judge__ok(g, again.status) && !memcmp(again.data, p, again.len);
	ls_buf_free(&again);
	return same;
}

static bool take_list(ls_game *g, int side, ls_cursor *c)
{
	size_t item = ls_judge__item(g);
	const uint8_t *bytes = ls_cursor_take(c, (size_t)g->parts * item);
	uint8_t *copy;
	if (!bytes || !ls_cursor_done(c))
		return false;
	for (int64_t i = 0; i < g->parts; i++)
		if (!item_is_canonical(g, bytes + (size_t)i * item))
			return false;
	copy = ls_judge__alloc(g, (size_t)g->parts, item);
	if (!copy)
		return false;
	memcpy(copy, bytes, (size_t)g->parts * item);
	ls_free(g->list[side]);
	g->list[side] = copy;
	return true;
}

bool ls_judge__take_sums(ls_game *g, int side, ls_cursor *c)
{
	if (!(g->parts ? take_list(g, side, c) : take_children(g, side, c)))
		return false;
	if (side == LS_JUDGE__TRAINER)
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_SUMS);
	else if (g->parts)
		compare_lists(g);
	else
		compare_children(g);
	return true;
}

/* ---- the leaf ---- */

void ls_judge__rule_sum(ls_game *g, const ls_sum *sum)
{
	ls_judge__end_wrong(g, !same_sum(sum, &g->sum[0]), !same_sum(sum, &g->sum[1]), leaf_text);
}

void ls_judge__rule_item(ls_game *g, const uint8_t *item)
{
	size_t n = ls_judge__item(g);
	bool wrong[2];
	for (int side = 0; side < 2; side++)
		wrong[side] = memcmp(item, g->list[side] + (size_t)g->part * n, n) != 0;
	ls_judge__end_wrong(g, wrong[0], wrong[1], leaf_text);
}
