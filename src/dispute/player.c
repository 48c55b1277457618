/* A player's turns, from the claim down to the op. */
#include "dispute/player.h"

#define PAYLOAD_MAX (LS_TURN_BYTES_MAX - 1024) /* beside head, signature and receipt */
#define LEAF_MAX (1u << 20)

const ls_program *ls_dispute__program(const ls_player *p, uint64_t step)
{
	return p->rerun.program[step > 0];
}

ls_status ls_player_open(ls_player **out, const ls_player_options *options, ls_error *err)
{
	ls_status status;
	ls_player *p;
	*out = NULL;
	if (options->version != LS_PLAYER_OPTIONS_VERSION || !options->run || !options->trainer || !options->plan || !options->platform)
		return ls_error_set(err, LS_ERR_USAGE, "player options of another version, or without runs, plan or platform");
	p = ls_alloc(1, sizeof *p);
	if (!p)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a player");
	p->o = *options;
	LS_TRY(ls_dispute__rerun_open(&p->rerun, &p->o, err));
	*out = p;
	p = NULL;
done:
	ls_player_free(p);
	return status;
}

void ls_player_free(ls_player *p)
{
	if (!p)
		return;
	ls_dispute__rerun_close(&p->rerun);
	ls_free(p->records);
	ls_free(p);
}

/* ---- small parts ---- */

void ls_dispute__put_bytes(ls_buf *out, const void *data, size_t len)
{
	ls_buf_u32(out, (uint32_t)len);
	ls_buf_bytes(out, data, len);
}

ls_status ls_dispute__hash(ls_player *p, const ls_buf *leaf, ls_hash *out, ls_error *err)
{
	ls_status status = leaf->status == LS_OK ? ls_hash_leaf(out, leaf->data, leaf->len, p->rerun.hasher) : leaf->status;
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "could not hash a leaf: %s", ls_status_text(status));
}

ls_status ls_dispute__put_path(ls_player *p, ls_buf *out, const ls_hash *hashes, uint64_t size, uint64_t index, ls_error *err)
{
	ls_hash proof[LS_PROOF_MAX];
	size_t count;
	ls_status status = ls_inclusion_make(proof, &count, hashes, size, index, p->rerun.hasher);
	if (status != LS_OK)
		return ls_error_set(err, status, "could not make the path of leaf %llu of %llu", (unsigned long long)index, (unsigned long long)size);
	ls_buf_u8(out, (uint8_t)count);
	for (size_t i = 0; i < count; i++)
		ls_buf_bytes(out, proof[i].byte, LS_HASH_BYTES);
	return LS_OK;
}

static ls_status out_of_memory(ls_error *err)
{
	return ls_error_set(err, LS_ERR_NOMEM, "no memory for a turn");
}

/* Where the run tree's leaf lies in the player's own head; with `bytes` also the leaf. */
static ls_status put_leaf(ls_player *p, ls_buf *out, uint64_t index, bool bytes, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t count = p->o.leaves ? p->o.leaves : ls_run_leaves(p->o.run);
	ls_hash *hash = ls_alloc(count, sizeof *hash);
	ls_leaf its;
	ls_buf leaf;
	ls_buf_init(&leaf, LS_LEAF_BYTES_MAX);
	if (!hash) {
		status = out_of_memory(err);
		goto done;
	}
	for (uint64_t i = 0; i < count; i++) {
		ls_buf_reset(&leaf);
		LS_TRY(ls_run_read_leaf(p->o.run, i, &its, err));
		LS_TRY(ls_leaf_encode(&leaf, &its));
		LS_TRY(ls_dispute__hash(p, &leaf, &hash[i], err));
		if (i == index && bytes)
			ls_dispute__put_bytes(out, leaf.data, leaf.len);
	}
	LS_TRY(ls_dispute__put_path(p, out, hash, count, index, err));
done:
	ls_buf_free(&leaf);
	ls_free(hash);
	return status;
}

ls_status ls_dispute__put_record(ls_player *p, ls_buf *out, uint64_t step, int op, ls_error *err)
{
	const ls_program *program = ls_dispute__program(p, step);
	int ops = ls_program_ops(program);
	ls_hash *hash = ls_alloc((size_t)ops, sizeof *hash);
	ls_status status = LS_OK;
	ls_buf record;
	ls_buf_init(&record, LEAF_MAX);
	if (!hash) {
		status = out_of_memory(err);
		goto done;
	}
	for (int i = 0; i < ops; i++) {
		ls_buf_reset(&record);
		ls_program_record(program, i, &record);
		LS_TRY(ls_dispute__hash(p, &record, &hash[i], err));
		if (i == op)
			ls_dispute__put_bytes(out, record.data, record.len);
	}
	LS_TRY(ls_dispute__put_path(p, out, hash, (uint64_t)ops, (uint64_t)op, err));
done:
	ls_buf_free(&record);
	ls_free(hash);
	return status;
}

static void entry_of(ls_tensor_entry *out, const ls_value *v, const ls_hash *root)
{
	*out = (ls_tensor_entry){.name = v->name, .dtype = (uint8_t)v->dtype, .rank = (uint8_t)v->shape.rank, .root = *root};
	memcpy(out->dims, v->shape.dim, sizeof v->shape.dim);
}

ls_status ls_dispute__step_leaf(ls_player *p, ls_buf *out, uint64_t step, int op, const ls_hash *roots, ls_error *err)
{
	const ls_program *program = ls_dispute__program(p, step);
	const ls_op *o = ls_program_op(program, op);
	ls_tensor_entry entry[LS_OP_OUTPUTS];
	ls_status status;
	for (int i = 0; i < o->output_count; i++)
		entry_of(&entry[i], ls_program_value(program, o->outputs[i]), &roots[i]);
	status = ls_step_leaf_encode(out, (uint32_t)op, entry, (uint32_t)o->output_count);
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "op %d: its leaf cannot be encoded", op);
}

void ls_dispute__free_state(ls_buf *leaves, ls_hash *hashes, int count)
{
	for (int i = 0; leaves && i < count; i++)
		ls_buf_free(&leaves[i]);
	ls_free(leaves);
	ls_free(hashes);
}

ls_status ls_dispute__state_leaves(ls_player *p, ls_buf **leaves, ls_hash **hashes, int *count, ls_error *err)
{
	const ls_program *program = p->rerun.program[1];
	ls_status status = LS_OK;
	*count = ls_program_states(program);
	*leaves = ls_alloc((size_t)*count, sizeof **leaves);
	*hashes = ls_alloc((size_t)*count, sizeof **hashes);
	for (int i = 0; *leaves && i < *count; i++)
		ls_buf_init(&(*leaves)[i], LEAF_MAX);
	if (!*leaves || !*hashes)
		return out_of_memory(err);
	for (int i = 0; i < *count; i++) {
		const ls_value *v = ls_program_value(program, i);
		ls_tensor_entry entry;
		ls_hash root;
		LS_TRY(ls_tensor_root(&root, p->rerun.state[i], ls_shape_count(&v->shape), ls_platform_pool(p->o.platform), p->rerun.hasher));
		entry_of(&entry, v, &root);
		LS_TRY(ls_state_leaf_encode(&(*leaves)[i], &entry));
		LS_TRY(ls_dispute__hash(p, &(*leaves)[i], &(*hashes)[i], err));
	}
done:
	return status;
}

/* ---- computing ---- */

static uint64_t first_of(const ls_player *p, uint64_t leaf)
{
	uint64_t first, last;
	ls_run_leaf_steps(p->o.trainer, leaf, &first, &last);
	return first;
}

/* Metrics that a run's lines say, which its leaves bind; what a dishonest run executes to may be something else. */
typedef struct lines {
	ls_dispute__record *record;
	uint64_t first, count;
} lines;

static void take_line(void *context, const ls_metrics *m)
{
	lines *l = context;
	if (m->step < l->first || m->step >= l->first + l->count)
		return;
	l->record[m->step - l->first].loss = ls_bits_f32(m->loss);
	l->record[m->step - l->first].rate = ls_bits_f64(m->lr);
}

/* What comes after each step of the leaf: as it was committed to, where it was; between, as computed. */
static ls_status need_records(ls_player *p, const ls_game_view *v, ls_error *err)
{
	ls_status status = LS_OK;
	bool committed = v->leaf < ls_run_leaves(p->o.run);
	uint64_t first, last;
	ls_leaf leaf;
	lines l;
	if (p->records)
		return LS_OK;
	ls_run_leaf_steps(p->o.trainer, v->leaf, &first, &last);
	p->records = ls_alloc(last - first + 1, sizeof *p->records);
	if (!p->records)
		return out_of_memory(err);
	p->record_count = last - first + 1;
	if (last > first || !committed) {
		uint64_t count;
		LS_TRY(ls_dispute__rerun_leaf(&p->rerun, v->leaf, last, p->records, &count, err));
	}
	if (!committed)
		goto done;
	LS_TRY(ls_run_read_leaf(p->o.run, v->leaf, &leaf, err));
	p->records[p->record_count - 1].state = leaf.state;
	l = (lines){p->records, first, p->record_count};
	LS_TRY(ls_run_read_metrics(p->o.run, take_line, &l, err));
done:
	return status;
}

ls_status ls_dispute__need_roots(ls_player *p, const ls_game_view *v, ls_error *err)
{
	ls_status status;
	if (p->has_roots)
		return LS_OK;
	LS_TRY(ls_dispute__rerun_roots(&p->rerun, v->leaf, v->step, err));
	p->has_roots = true;
done:
	return status;
}

ls_status ls_dispute__need_values(ls_player *p, const ls_game_view *v, ls_error *err)
{
	ls_status status;
	if (p->has_values)
		return LS_OK;
	LS_TRY(ls_dispute__need_roots(p, v, err));
	LS_TRY(ls_dispute__rerun_values(&p->rerun, v->leaf, v->step, (int)v->op, err));
	p->has_values = true;
done:
	return status;
}

static bool runs_differ(const ls_leaf *a, const ls_leaf *b)
{
	return !ls_hash_equal(&a->state, &b->state) || !ls_hash_equal(&a->log, &b->log) || !ls_hash_equal(&a->metrics, &b->metrics);
}

/* The trainer's leaf behind the auditor's last is replayed, to see whether an entry in it is what ended the audit. */
static ls_status look_for_forgery(ls_player *p, uint64_t leaf, bool *found, ls_error *err)
{
	uint64_t first, last, count;
	ls_dispute__record *records;
	ls_status status;
	ls_run_leaf_steps(p->o.trainer, leaf, &first, &last);
	records = ls_alloc(last - first + 1, sizeof *records);
	if (!records)
		return out_of_memory(err);
	LS_TRY(ls_dispute__rerun_leaf(&p->rerun, leaf, last, records, &count, err));
	if (p->rerun.forgery.found) {
		*found = true;
		p->entry_road = true;
		p->leaf = leaf;
		p->step = first + count;
		p->forgery = p->rerun.forgery;
	}
done:
	ls_free(records);
	return status;
}

ls_status ls_player_accuse(ls_player *p, bool *found, ls_error *err)
{
	ls_status status = LS_OK;
	ls_leaf our, their;
	uint64_t ours = ls_run_leaves(p->o.run), theirs = ls_run_leaves(p->o.trainer);
	*found = false;
	for (uint64_t i = 0; i < ours && i < theirs && !*found; i++) {
		LS_TRY(ls_run_read_leaf(p->o.run, i, &our, err));
		LS_TRY(ls_run_read_leaf(p->o.trainer, i, &their, err));
		*found = runs_differ(&our, &their);
		if (*found)
			p->leaf = i;
	}
	if (!*found && ours < theirs && ls_plan_spec(p->o.plan)->arithmetic.mode == LS_JOB_LOGGED)
		LS_TRY(look_for_forgery(p, ours, found, err));
done:
	return status;
}

/* ---- turns ---- */

static ls_status turn_claim(ls_player *p, ls_buf *out, ls_error *err)
{
	ls_status status;
	const ls_program *program = ls_dispute__program(p, p->leaf);
	ls_buf_u8(out, p->entry_road);
	ls_buf_u64(out, p->leaf);
	LS_TRY(ls_dispute__put_record(p, out, p->leaf, ls_program_ops(program) - 1, err));
	if (p->leaf > 0)
		LS_TRY(put_leaf(p, out, p->leaf - 1, true, err));
	if (!p->entry_road) {
		LS_TRY(put_leaf(p, out, p->leaf, true, err));
	} else {
		ls_buf_u64(out, p->step);
		ls_buf_u32(out, (uint32_t)p->forgery.op);
		ls_buf_u64(out, (uint64_t)p->forgery.element);
	}
done:
	return status;
}

static ls_status turn_leaves(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	ls_status status = LS_OK;
	if (v->leaf > 0)
		LS_TRY(put_leaf(p, out, v->leaf - 1, false, err));
	LS_TRY(put_leaf(p, out, v->leaf, true, err));
done:
	return status;
}

static ls_status turn_steps(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	ls_status status = need_records(p, v, err);
	uint64_t count = p->record_count;
	if (v->entry_road && p->o.role == LS_ROLE_AUDITOR)
		count = p->step - v->first_step;
	for (uint64_t i = 0; status == LS_OK && i < count; i++) {
		ls_buf_bytes(out, p->records[i].state.byte, LS_HASH_BYTES);
		ls_buf_u32(out, p->records[i].loss);
		ls_buf_u64(out, p->records[i].rate);
	}
	return status;
}

/* The state root that this player said comes after the step. */
static ls_status claimed_state(const ls_player *p, const ls_game_view *v, ls_hash *out, ls_error *err)
{
	ls_leaf start;
	ls_status status = LS_OK;
	if (v->step == 0) {
		LS_TRY(ls_run_read_leaf(p->o.run, 0, &start, err));
		*out = start.state;
	} else
		*out = p->records[v->step - first_of(p, v->leaf)].state;
done:
	return status;
}

/* Both in this order: executing the leaf for its records makes what was known of the step void. */
static ls_status need_step(ls_player *p, const ls_game_view *v, ls_error *err)
{
	ls_status status = v->step > 0 && !p->has_roots ? need_records(p, v, err) : LS_OK;
	return status == LS_OK ? ls_dispute__need_roots(p, v, err) : status;
}

/* Where the step executes to something else than was committed to, the last hash is what was committed to all the same:
 * anything else would be refused. Ops that did not run (a forged entry stops them) have no hash to speak of. */
static ls_status turn_ops(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	ls_status status = need_step(p, v, err);
	int ops = (int)v->ops;
	bool prefix = v->entry_road && p->o.role == LS_ROLE_AUDITOR;
	ls_hash claimed = {{0}};
	ls_buf leaf;
	ls_buf_init(&leaf, LEAF_MAX);
	if (status == LS_OK && !prefix)
		status = claimed_state(p, v, &claimed, err);
	for (int i = 0; status == LS_OK && i < (prefix ? p->forgery.op : ops); i++) {
		ls_hash hash = {{0}};
		ls_buf_reset(&leaf);
		if (i == ops - 1)
			LS_TRY(ls_dispute__step_leaf(p, &leaf, v->step, i, &claimed, err));
		else if (i < p->rerun.done)
			LS_TRY(ls_dispute__step_leaf(p, &leaf, v->step, i, &p->rerun.root[i * LS_OP_OUTPUTS], err));
		if (leaf.len)
			LS_TRY(ls_dispute__hash(p, &leaf, &hash, err));
		ls_buf_bytes(out, hash.byte, LS_HASH_BYTES);
	}
done:
	ls_buf_free(&leaf);
	return status;
}

/* The leaf that commits to an input of the op: of an earlier op, or of the state before. */
static ls_status put_inputs(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	const ls_program *program = ls_dispute__program(p, v->step);
	const ls_op *o = ls_program_op(program, (int)v->op);
	ls_buf *state = NULL, leaf;
	ls_hash *hashes = NULL;
	int states = 0;
	ls_status status = LS_OK;
	ls_buf_init(&leaf, LEAF_MAX);
	if (v->step > 0)
		LS_TRY(ls_dispute__state_leaves(p, &state, &hashes, &states, err));
	for (int i = 0; i < o->input_count; i++) {
		const ls_value *input = ls_program_value(program, o->inputs[i]);
		if (input->op < 0) {
			ls_dispute__put_bytes(out, state[input->output].data, state[input->output].len);
			LS_TRY(ls_dispute__put_path(p, out, hashes, (uint64_t)states, (uint64_t)input->output, err));
			continue;
		}
		ls_buf_reset(&leaf);
		LS_TRY(ls_dispute__step_leaf(p, &leaf, v->step, input->op, &p->rerun.root[input->op * LS_OP_OUTPUTS], err));
		ls_dispute__put_bytes(out, leaf.data, leaf.len);
	}
done:
	ls_dispute__free_state(state, hashes, states);
	ls_buf_free(&leaf);
	return status;
}

static ls_status turn_op(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	const ls_op *o = ls_program_op(ls_dispute__program(p, v->step), (int)v->op);
	bool commits = v->op + 1 == v->ops;
	ls_hash claimed;
	ls_status status;
	LS_TRY(need_step(p, v, err));
	if (p->o.role == LS_ROLE_AUDITOR) {
		LS_TRY(ls_dispute__put_record(p, out, v->step, (int)v->op, err));
		if (!commits)
			LS_TRY(put_inputs(p, v, out, err));
	}
	if (!v->entry_road && commits)
		LS_TRY(claimed_state(p, v, &claimed, err));
	for (int i = 0; !v->entry_road && i < o->output_count; i++)
		ls_buf_bytes(out, commits ? claimed.byte : p->rerun.root[(int)v->op * LS_OP_OUTPUTS + i].byte, LS_HASH_BYTES);
done:
	return status;
}

static ls_status turn_state(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	const ls_program *program = ls_dispute__program(p, v->step);
	const ls_op *o = ls_program_op(program, ls_program_ops(program) - 1);
	ls_buf *state = NULL, leaf;
	ls_hash *hashes = NULL;
	int states = 0;
	ls_status status;
	ls_buf_init(&leaf, LEAF_MAX);
	LS_TRY(need_step(p, v, err));
	if (v->step > 0)
		LS_TRY(ls_dispute__state_leaves(p, &state, &hashes, &states, err));
	for (int i = 0; i < o->input_count; i++) {
		const ls_value *input = ls_program_value(program, o->inputs[i]);
		if (v->step > 0)
			ls_dispute__put_bytes(out, state[i].data, state[i].len);
		if (input->op < 0)
			continue;
		ls_buf_reset(&leaf);
		LS_TRY(ls_dispute__step_leaf(p, &leaf, v->step, input->op, &p->rerun.root[input->op * LS_OP_OUTPUTS], err));
		ls_dispute__put_bytes(out, leaf.data, leaf.len);
	}
done:
	ls_dispute__free_state(state, hashes, states);
	ls_buf_free(&leaf);
	return status;
}

static ls_status turn_loss(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	const ls_program *program = p->rerun.program[1];
	int op = ls_program_value(program, p->rerun.loss)->op;
	ls_buf leaf;
	ls_status status;
	ls_buf_init(&leaf, LEAF_MAX);
	LS_TRY(need_step(p, v, err));
	LS_TRY(ls_dispute__put_record(p, out, v->step, op, err));
	LS_TRY(ls_dispute__step_leaf(p, &leaf, v->step, op, &p->rerun.root[op * LS_OP_OUTPUTS], err));
	ls_dispute__put_bytes(out, leaf.data, leaf.len);
done:
	ls_buf_free(&leaf);
	return status;
}

static ls_status payload(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	switch (v->kind) {
	case LS_TURN_CLAIM: return turn_claim(p, out, err);
	case LS_TURN_LEAVES: return turn_leaves(p, v, out, err);
	case LS_TURN_STEPS: return turn_steps(p, v, out, err);
	case LS_TURN_OPS: return turn_ops(p, v, out, err);
	case LS_TURN_OP: return turn_op(p, v, out, err);
	case LS_TURN_GROUPS: return ls_dispute__turn_groups(p, v, out, err);
	case LS_TURN_CHUNK: return ls_dispute__turn_chunk(p, v, out, err);
	case LS_TURN_ENTRY: return ls_dispute__turn_entry(p, v, out, err);
	case LS_TURN_SUMS: return ls_dispute__turn_sums(p, v, out, err);
	case LS_TURN_OPEN: return ls_dispute__turn_open(p, v, out, err);
	case LS_TURN_STATE: return turn_state(p, v, out, err);
	case LS_TURN_LOSS: return turn_loss(p, v, out, err);
	case LS_TURN_SILENCE: break; // the referee's
	}
	return LS_ERR_INTERNAL;
}

ls_status ls_player_turn(ls_player *p, const ls_game *game, ls_buf *out, ls_error *err)
{
	ls_game_view v;
	ls_status status;
	ls_buf bytes;
	ls_buf_init(&bytes, PAYLOAD_MAX);
	ls_game_look(game, &v);
	if (v.role != p->o.role)
		return ls_error_set(err, LS_ERR_USAGE, "it is not this player's turn");
	LS_TRY(payload(p, &v, &bytes, err));
	if (bytes.status != LS_OK) {
		status = ls_error_set(err, bytes.status, "turn %d: more than a turn may hold, %u bytes", (int)v.kind, PAYLOAD_MAX);
		goto done;
	}
	LS_TRY(ls_turn_make(out, game, bytes.data, bytes.len, p->o.key, err));
done:
	ls_buf_free(&bytes);
	return status;
}
