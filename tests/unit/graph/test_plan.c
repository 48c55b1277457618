// The memory plan: no value is overwritten while somebody still reads it.
#include "graph/plan_check.h"
#include "graph/support.h"

typedef struct dice {
	uint64_t round, used;
} dice;

static int roll(dice *d, int sides)
{
	return (int)ls_random_below(&(ls_stream){5, LS_PURPOSE_TEST, d->round}, d->used++, (uint32_t)sides);
}

static int pick(const ls_program *p, dice *d, const ls_shape *like)
{
	for (;;) {
		int v = roll(d, ls_program_values(p));
		if (ls_program_value(p, v)->dtype == LS_F32 && (!like || ls_shape_equal(&ls_program_value(p, v)->shape, like)))
			return v;
	}
}

/* One op with inputs drawn from all values so far: some read late, some never, some twice by one op. */
static void append_random(ls_program *p, dice *d, int number)
{
	static const char *const one[] = {"relu", "softmax", "relu", "channel_sum"};
	static const char *const two[] = {"add", "relu_grad"};
	char name[32];
	int a = pick(p, d, NULL), b = pick(p, d, &ls_program_value(p, a)->shape), c = pick(p, d, &ls_program_value(p, a)->shape);
	bool matrix = ls_program_value(p, a)->shape.rank == 2;
	snprintf(name, sizeof name, "v%d", number);
	switch (roll(d, 5)) {
	case 0:
	case 1: append(p, two[roll(d, 2)], name, (int[]){a, b}, 2, NULL, 0); break;
	case 2: append(p, one[matrix ? roll(d, 4) : 0], name, &a, 1, NULL, 0); break;
	case 3:
		if (matrix)
			append(p, "matmul", name, (int[]){a, b}, 2, INTS(0, 1));
		else
			append(p, "reshape", name, &a, 1, INTS(ls_shape_count(&ls_program_value(p, a)->shape), 1));
		break;
	default:
		ls_op_append(p, &(ls_op_spec){.kind = "sgd", .name = name, .inputs = {a, b, c}, .input_count = 2 + roll(d, 2),
		                              .ints = {0, 0, 1, 0, 9}, .int_count = 5, .num_count = 4});
	}
}

/* Next values of the states: often the output of an update of that state, sometimes the state itself or anything fitting. */
static void append_end(ls_program *p, dice *d, int states)
{
	int next[4];
	for (int s = 0; s < states; s++) {
		char name[32];
		const ls_shape shape = ls_program_value(p, s)->shape;
		int kind = roll(d, 3);
		snprintf(name, sizeof name, "s%d", s);
		next[s] = s;
		if (kind == 0) {
			int g = pick(p, d, &shape);
			next[s] = ls_op_append(p, &(ls_op_spec){.kind = "sgd", .name = name, .inputs = {s, g}, .input_count = 2,
			                                        .ints = {0, 0, 1, 0, 9}, .int_count = 5, .num_count = 4});
		} else if (kind == 1) {
			next[s] = pick(p, d, &shape);
			if (next[s] < states)
				next[s] = s;
		}
	}
	append_commit_of(p, next, states);
}

static ls_program *random_program(uint64_t round)
{
	static const ls_shape shapes[] = {{2, {4, 4}}, {1, {40}}, {2, {3, 17}}, {2, {5, 5}}};
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	dice d = {.round = round};
	int states = 1 + roll(&d, 4), ops = 1 + roll(&d, 40);
	assert_ok(ls_program_open(&p, 32, 32, &err));
	for (int s = 0; s < states; s++)
		ls_program_add_state(p, (char[]){(char)('a' + s), 0}, &shapes[s]);
	for (int i = 0; i < ops; i++)
		append_random(p, &d, i);
	append_end(p, &d, states);
	assert_ok(ls_program_finish(p, &err));
	return p;
}

static void test_random_programs(void **state)
{
	ls_error err = LS_ERROR_INIT;
	int64_t smaller = 0;
	for (uint64_t round = 0; round < 3000; round++) {
		ls_program *p = random_program(round);
		ls_plan plan;
		dice d = {.round = round + 100000};
		int keep[3], keep_count = roll(&d, 4);
		for (int i = 0; i < keep_count; i++)
			keep[i] = ls_program_states(p) + roll(&d, ls_program_values(p) - ls_program_states(p));
		assert_ok(ls_graph__plan(&plan, p, keep, keep_count, &err));
		assert_true(plan_is_sound(p, &plan, keep, keep_count));
		assert_true(plan.arena <= plan.unplanned);
		smaller += plan.arena < plan.unplanned;
		ls_graph__plan_free(&plan);
		ls_program_free(p);
	}
	assert_true(smaller > 2000); // sharing happens
}

/* Moves one value of a sound plan onto another place; most such plans are wrong, and the check must say so. */
static void test_the_check_notices_wrong_plans(void **state)
{
	ls_error err = LS_ERROR_INIT;
	int noticed = 0, tried = 0;
	for (uint64_t round = 0; round < 200; round++) {
		ls_program *p = random_program(round);
		ls_plan plan;
		dice d = {.round = round + 200000};
		int value, onto;
		assert_ok(ls_graph__plan(&plan, p, NULL, 0, &err));
		value = ls_program_states(p) + roll(&d, ls_program_values(p) - ls_program_states(p));
		onto = roll(&d, ls_program_values(p));
		if (plan.place[value].state != plan.place[onto].state || plan.place[value].offset != plan.place[onto].offset) {
			plan.place[value] = plan.place[onto];
			tried++;
			noticed += !plan_is_sound(p, &plan, NULL, 0);
		}
		ls_graph__plan_free(&plan);
		ls_program_free(p);
	}
	assert_true(tried > 100);
	assert_true(noticed > tried / 3);
}

static void test_a_state_is_updated_in_its_own_buffer(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p = net_program(32);
	const ls_op *commit = ls_program_op(p, ls_program_ops(p) - 1);
	ls_plan plan;
	int loss = ls_program_find(p, "loss");
	assert_ok(ls_graph__plan(&plan, p, &loss, 1, &err));
	assert_true(plan_is_sound(p, &plan, &loss, 1));
	for (int s = 0; s < ls_program_states(p); s++)
		assert_int_equal(plan.place[commit->inputs[s]].state, s);
	assert_true(plan.arena * 2 < plan.unplanned);
	ls_graph__plan_free(&plan);
	ls_program_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_programs), cmocka_unit_test(test_the_check_notices_wrong_plans),
		cmocka_unit_test(test_a_state_is_updated_in_its_own_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
