#include "cli/cli.h"

/* Two runs never share a run id unless one is a replay of the other, so the id alone is no difference. */
struct comparison {
	const ls_run *left, *right;
	bool differ, only_length;
	uint64_t leaf; /* first that differs */
	ls_leaf left_leaf, right_leaf; /* these, where both runs have one there */
	uint64_t first, last; /* its steps; 0 for leaf 0 */
	uint64_t state_step; /* last step of the first leaf whose states differ; meaningful where state_differs */
	bool state_differs;
};

enum { FIELDS = 5 };
static const char *const field_name[FIELDS] = {"step", "job", "state", "log", "metrics"};

/* Field f ≥ 1 of a leaf. */
static const ls_hash *field_of(const ls_leaf *leaf, int f)
{
	const ls_hash *const field[FIELDS] = {NULL, &leaf->job, &leaf->state, &leaf->log, &leaf->metrics};
	return field[f];
}

static bool field_differs(const ls_leaf *a, const ls_leaf *b, int f)
{
	return f ? !ls_hash_equal(field_of(a, f), field_of(b, f)) : a->step != b->step;
}

static bool leaf_differs(const ls_leaf *a, const ls_leaf *b)
{
	for (int f = 0; f < FIELDS; f++)
		if (field_differs(a, b, f))
			return true;
	return false;
}

static void note_leaf(struct comparison *c, uint64_t leaf)
{
	c->differ = true;
	c->leaf = leaf;
	if (leaf)
		ls_run_leaf_steps(ls_run_leaves(c->left) > leaf ? c->left : c->right, leaf, &c->first, &c->last);
}

static ls_status compare(struct comparison *c, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t left = ls_run_leaves(c->left), right = ls_run_leaves(c->right), common = left < right ? left : right;
	for (uint64_t i = 0; i < common && !c->state_differs; i++) {
		ls_leaf a, b;
		LS_TRY(ls_run_read_leaf(c->left, i, &a, err));
		LS_TRY(ls_run_read_leaf(c->right, i, &b, err));
		if (!c->differ && leaf_differs(&a, &b)) {
			note_leaf(c, i);
			c->left_leaf = a;
			c->right_leaf = b;
		}
		c->state_differs = !ls_hash_equal(&a.state, &b.state);
		c->state_step = a.step;
	}
	c->only_length = !c->differ && left != right;
	if (c->only_length)
		note_leaf(c, common);
	if (c->only_length && left > common)
		LS_TRY(ls_run_read_leaf(c->left, common, &c->left_leaf, err));
	if (c->only_length && right > common)
		LS_TRY(ls_run_read_leaf(c->right, common, &c->right_leaf, err));
done:
	return status;
}

/* ---- JSON ---- */

static json_t *side_json(const struct comparison *c, const ls_run *run, const ls_leaf *l)
{
	json_t *object;
	if (!c->differ || c->leaf >= ls_run_leaves(run))
		return json_null();
	object = json_object();
	ls_cli__put_uint(object, "step", l->step);
	for (int f = 1; f < FIELDS; f++)
		ls_cli__put_hash(object, field_name[f], field_of(l, f));
	ls_cli__put_hash(object, "run", &l->run);
	return object;
}

static json_t *fields_json(const struct comparison *c)
{
	json_t *list = json_array();
	if (!c->differ || c->only_length)
		return list;
	for (int f = 0; f < FIELDS; f++)
		if (field_differs(&c->left_leaf, &c->right_leaf, f))
			json_array_append_new(list, json_string(field_name[f]));
	return list;
}

static void print_json(const struct comparison *c, const ls_hash root[2])
{
	json_t *object = json_object(), *fields = fields_json(c);
	const json_t *first = json_array_get(fields, 0);
	ls_cli__put_bool(object, "equal", !c->differ);
	ls_cli__put_bool(object, "same_root", ls_hash_equal(&root[0], &root[1]));
	ls_cli__put_hash(object, "left_root", &root[0]);
	ls_cli__put_hash(object, "right_root", &root[1]);
	json_object_set_new(object, "leaf", c->differ ? json_integer((json_int_t)c->leaf) : json_null());
	json_object_set_new(object, "step", c->differ ? json_integer((json_int_t)c->first) : json_null());
	json_object_set_new(object, "last", c->differ ? json_integer((json_int_t)c->last) : json_null());
	ls_cli__put_text(object, "field", c->only_length ? "length" : json_string_value(first));
	json_object_set_new(object, "fields", fields);
	json_object_set_new(object, "state_step", c->state_differs ? json_integer((json_int_t)c->state_step) : json_null());
	json_object_set_new(object, "left", side_json(c, c->left, &c->left_leaf));
	json_object_set_new(object, "right", side_json(c, c->right, &c->right_leaf));
	ls_cli__emit(object);
}

/* ---- text ---- */

static void print_fields(const ls_cli *cli, const struct comparison *c)
{
	const ls_leaf *a = &c->left_leaf, *b = &c->right_leaf;
	char left[LS_HASH_HEX_SIZE], right[LS_HASH_HEX_SIZE];
	if (a->step != b->step)
		ls_cli__say(cli, "  step     left   %llu\n           right  %llu\n", (unsigned long long)a->step, (unsigned long long)b->step);
	for (int f = 1; f < FIELDS; f++) {
		if (!field_differs(a, b, f))
			continue;
		ls_hash_hex(left, field_of(a, f));
		ls_hash_hex(right, field_of(b, f));
		ls_cli__say(cli, "  %-8s left   %s\n           right  %s\n", field_name[f], left, right);
	}
}

static void print_text(const ls_cli *cli, const struct comparison *c, bool same_root)
{
	if (!c->differ) {
		ls_cli__say(cli, "equal: %llu leaves%s\n", (unsigned long long)ls_run_leaves(c->left),
		            same_root ? ", one root" : "; only the run ids and therefore the roots differ");
		return;
	}
	if (c->only_length) {
		ls_cli__say(cli, "different: the shorter run ends before leaf %llu (step %llu); up to there they are equal\n"
		            "  left   %llu leaves\n  right  %llu leaves\n", (unsigned long long)c->leaf, (unsigned long long)c->first,
		            (unsigned long long)ls_run_leaves(c->left), (unsigned long long)ls_run_leaves(c->right));
		return;
	}
	if (c->leaf)
		ls_cli__say(cli, "different: first in leaf %llu (steps %llu to %llu)\n", (unsigned long long)c->leaf,
		            (unsigned long long)c->first, (unsigned long long)c->last);
	else
		ls_cli__say(cli, "different: first in leaf 0, the start of the run\n");
	print_fields(cli, c);
	if (c->state_differs)
		ls_cli__say(cli, "states differ from step %llu on\n", (unsigned long long)c->state_step);
	else
		ls_cli__say(cli, "the states are equal in every common leaf\n");
}

static ls_status open_side(ls_cli_session *s, const ls_cli_args *args, int index, ls_error *err)
{
	ls_damage damage;
	ls_status status = ls_cli__open_run(s, args, index, &damage, err);
	if (status == LS_OK && damage.found)
		status = ls_error_input(err, args->operand[index], damage.file, damage.text, "an undamaged run", "lockstep verify checks it");
	return status;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session side[2] = {{0}};
	struct comparison c = {0};
	ls_hash root[2];
	ls_status status;
	for (int i = 0; i < 2; i++) {
		LS_TRY(open_side(&side[i], args, i, err));
		LS_TRY(ls_run_root(side[i].run, ls_run_leaves(side[i].run), &root[i], err));
	}
	c.left = side[0].run;
	c.right = side[1].run;
	LS_TRY(compare(&c, err));
	*code = c.differ ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (cli->json)
		print_json(&c, root);
	else
		print_text(cli, &c, ls_hash_equal(&root[0], &root[1]));
done:
	ls_cli__close(&side[0]);
	ls_cli__close(&side[1]);
	return status;
}

static const ls_cli_option options[] = {{.name = NULL}};

const ls_cli_command ls_cli__diff = {
	.name = "diff",
	.operands = "RUN RUN",
	.operands_min = 2,
	.operands_max = 2,
	.summary = "the first leaf in which two runs differ",
	.details = "Run ids are left out of the comparison: two runs of one job have different ones, a replay has its run's.",
	.options = options,
	.run = run,
};
