// Optimizers: what is kept beside a parameter, the op that is emitted, and ten steps against the textbook's loop.
#include "op/support.h"

#include <lockstep/optim.h>

static ls_optim_options options_of(double momentum, bool nesterov)
{
	ls_optim_options o = LS_OPTIM_OPTIONS_INIT;
	o.name = "sgd";
	o.momentum = momentum;
	o.weight_decay = 0.01;
	o.nesterov = nesterov;
	o.schedule = (ls_schedule){LS_SCHEDULE_STEP, 0.1, 0.5, 3, 2, 10};
	return o;
}

static void test_find(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_optim_options o = options_of(0, false);
	const ls_optim_def *def;
	assert_ok(ls_optim_find(&def, &o, &err));
	assert_string_equal(def->name, "sgd");
	o.name = "sgd2";
	assert_int_equal(ls_optim_find(&def, &o, &err), LS_ERR_NOT_FOUND);
	assert_null(def);
	assert_non_null(strstr(err.text, "expected adam, adamw or sgd"));
	o = options_of(0, false);
	o.version = 2;
	assert_int_equal(ls_optim_find(&def, &o, &err), LS_ERR_USAGE);
	o = options_of(0, false);
	o.schedule.warmup = 9;
	assert_ok(ls_optim_find(&def, &o, &err));
	o.schedule.warmup = 10; // nothing but warm-up
	assert_int_equal(ls_optim_find(&def, &o, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "schedule.warmup: found 10"));
}

static void test_slots(void **state)
{
	const char *suffix[LS_OPTIM_SLOTS] = {0};
	ls_optim_options o = options_of(0, false);
	const ls_optim_def *def;
	assert_int_equal(ls_optim_find(&def, &o, NULL), LS_OK);
	assert_int_equal(def->slots(&o, suffix), 0);
	o = options_of(0.9, false);
	assert_int_equal(def->slots(&o, suffix), 1);
	assert_string_equal(suffix[0], ".momentum");
}

/* PyTorch's loop: d = g + λ·w; buf = μ·buf + d; w −= lr·(nesterov ? d + μ·buf : buf), every step rounded as the op says. */
static void check_loop(double momentum, bool nesterov)
{
	ls_optim_options o = options_of(momentum, nesterov);
	const ls_optim_def *def;
	scene s;
	int w, g, m, slots[LS_OPTIM_SLOTS], first;
	float weight[8], buffer[8] = {0}, start[8];
	assert_int_equal(ls_optim_find(&def, &o, NULL), LS_OK);
	scene_open(&s, 32, 32);
	w = scene_given(&s, "w", (ls_shape){1, {8}});
	g = scene_given(&s, "g", (ls_shape){1, {8}});
	m = scene_given(&s, "w.momentum", (ls_shape){1, {8}});
	slots[0] = m;
	first = ls_program_values(s.program);
	def->update(s.program, &o, w, g, slots);
	assert_false(ls_program_failed(s.program));
	assert_int_equal(ls_program_find(s.program, "w.next"), first);
	assert_int_equal(ls_program_find(s.program, "w.momentum.next"), momentum > 0 ? first + 1 : -1);
	memcpy(weight, s.words[w], sizeof weight);
	memcpy(start, weight, sizeof weight);
	memset(s.words[m], 0, sizeof weight);
	for (s.step = 1; s.step <= 10; s.step++) {
		double lr = ls_schedule_lr(&o.schedule, s.step);
		for (int i = 0; i < 8; i++) {
			double d;
			scene_f32(&s, g)[i] = ls_f32(scene_random(&s));
			d = ls_f32((double)scene_f32(&s, g)[i] + 0.01 * (double)weight[i]);
			buffer[i] = ls_f32(momentum * (double)buffer[i] + d);
			if (momentum > 0)
				d = nesterov ? d + momentum * (double)buffer[i] : (double)buffer[i];
			weight[i] = ls_f32((double)weight[i] - lr * d);
		}
		scene_run(&s);
		assert_true(same_words(s.words[first], weight, 8));
		memcpy(s.words[w], s.words[first], sizeof weight);
		if (momentum > 0) {
			assert_true(same_words(s.words[first + 1], buffer, 8));
			memcpy(s.words[m], s.words[first + 1], sizeof weight);
		}
	}
	assert_memory_not_equal(start, weight, sizeof weight);
	scene_close(&s);
}

static void test_ten_steps(void **state)
{
	check_loop(0, false);
	check_loop(0.9, false);
	check_loop(0.9, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_ten_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
