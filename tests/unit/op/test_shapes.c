// The shape rule of every op: what it makes of good inputs, and everything it refuses.
#include "op/support.h"

#define S1(a) {1, {a}}
#define S2(a, b) {2, {a, b}}
#define S4(a, b, c, d) {4, {a, b, c, d}}
#define BIG (INT64_C(1) << 32)

/* An op of up to six FP32 inputs (or labels, where marked) and the shapes of its outputs; NULL: refused. */
typedef struct rule {
	const char *kind;
	int inputs;
	ls_shape in[6];
	int ints;
	int64_t attribute[LS_OP_INTS];
	int nums;
	double number[LS_OP_NUMS];
	const char *out;
	int labels; /* this input, counted from 1, holds integers */
} rule;

static const rule rules[] = {
	{"add", 2, {S2(3, 4), S2(3, 4)}, .out = "(3, 4)"},
	{"add", 2, {S2(3, 4), S2(4, 3)}, .out = NULL},
	{"add", 2, {S2(3, 1), S1(3)}, .out = NULL},
	{"add", 1, {S2(3, 4)}, .out = NULL},
	{"add", 3, {S1(3), S1(3), S1(3)}, .out = NULL},
	{"add", 2, {S1(3), S1(3)}, 1, {0}, .out = NULL},
	{"add", 2, {S1(3), S1(3)}, .labels = 2},

	{"tanh", 1, {S4(2, 3, 4, 5)}, .out = "(2, 3, 4, 5)"},
	{"tanh", 2, {S1(3), S1(3)}, .out = NULL},
	{"tanh", 1, {S1(3)}, 1, {0}, .out = NULL},
	{"tanh", 1, {S1(3)}, .labels = 1},
	{"tanh_grad", 2, {S2(3, 4), S2(3, 4)}, .out = "(3, 4)"},
	{"tanh_grad", 2, {S2(3, 4), S2(4, 3)}, .out = NULL},
	{"tanh_grad", 1, {S2(3, 4)}, .out = NULL},
	{"sigmoid", 1, {S2(3, 4)}, .out = "(3, 4)"},
	{"sigmoid", 1, {S1(3)}, .nums = 1, .number = {1}, .out = NULL},
	{"sigmoid_grad", 2, {S1(3), S1(3)}, .out = "(3)"},
	{"sigmoid_grad", 2, {S1(3), S1(4)}, .out = NULL},
	{"gelu", 1, {S2(3, 4)}, .out = "(3, 4)"},
	{"gelu", 2, {S1(3), S1(3)}, .out = NULL},
	{"gelu_grad", 2, {S1(3), S1(3)}, .out = "(3)"},
	{"gelu_grad", 2, {S1(3), S1(4)}, .out = NULL},
	{"gelu_grad", 2, {S1(3), S1(3)}, .labels = 2},

	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, 2, 0}, .out = "(2, 3, 4, 4)"},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {3, 1, 1}, .out = "(2, 3, 8, 9)"},
	{"avgpool", 1, {S4(1, 1, 1, 1)}, 3, {1, 1024, 0}, .out = "(1, 1, 1, 1)"},
	{"avgpool", 1, {S4(1, 1, 2, 2)}, 3, {3, 1, 1}, .out = "(1, 1, 2, 2)"},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {9, 1, 0}, .out = NULL}, // higher than the image
	{"avgpool", 1, {S4(2, 3, 9, 8)}, 3, {9, 1, 0}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {3, 1, 2}, .out = NULL}, // padding over half the window
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {0, 1, 0}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, 0, 0}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, -1, 0}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, 1, -1}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, 1, INT64_MAX}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, 1, INT64_MIN}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {INT64_MIN, 1, 0}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, INT64_MIN, 0}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 2, {1, INT64_MAX}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {2, 1, INT64_MIN, 10}, .out = NULL},
	{"load", 0, {{0}}, 7, {INT64_MIN, INT64_MIN, 1, 1, INT64_MIN, INT64_MIN, 6}, 2, {0, 255}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {1025, 1, 512}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 2, {2, 2}, .out = NULL},
	{"avgpool", 1, {S2(8, 9)}, 3, {2, 2, 0}, .out = NULL},
	{"avgpool", 1, {S4(2, 3, 8, 9)}, 3, {2, 2, 0}, .labels = 1},
	{"maxpool", 1, {S4(2, 3, 7, 7)}, 3, {3, 2, 1}, .out = "(2, 3, 4, 4)"},
	{"maxpool", 1, {S4(2, 3, 7, 7)}, 3, {3, 2, 2}, .out = NULL},

	{"adaptive_avgpool", 1, {S4(2, 3, 8, 9)}, 2, {3, 4}, .out = "(2, 3, 3, 4)"},
	{"adaptive_avgpool", 1, {S4(2, 3, 8, 9)}, 2, {1, 1}, .out = "(2, 3, 1, 1)"},
	{"adaptive_avgpool", 1, {S4(2, 3, 8, 9)}, 2, {0, 1}, .out = NULL},
	{"adaptive_avgpool", 1, {S4(2, 3, 8, 9)}, 2, {1, INT64_MIN}, .out = NULL},
	{"adaptive_avgpool", 1, {S4(2, 3, 8, 9)}, 2, {INT64_MAX, 1}, .out = NULL},
	{"adaptive_avgpool", 1, {S2(8, 9)}, 2, {1, 1}, .out = NULL},
	{"adaptive_avgpool_grad", 1, {S4(2, 3, 3, 4)}, 2, {8, 9}, .out = "(2, 3, 8, 9)"},
	{"adaptive_avgpool_grad", 1, {S4(2, 3, 3, 4)}, 2, {0, 9}, .out = NULL},
	{"adaptive_avgpool_grad", 1, {S4(2, 3, 3, 4)}, 2, {INT64_MAX, 9}, .out = NULL},
	{"adaptive_avgpool_grad", 1, {S1(3)}, 2, {8, 9}, .out = NULL},

	{"channel_stats", 1, {S4(2, 3, 4, 5)}, .out = "(3)(3)"},
	{"channel_stats", 1, {S1(3)}, .out = NULL},
	{"channel_dot", 2, {S4(2, 3, 4, 5), S4(2, 3, 4, 5)}, .out = "(3)"},
	{"channel_dot", 2, {S4(2, 3, 4, 5), S4(2, 3, 5, 4)}, .out = NULL},
	{"channel_dot", 1, {S4(2, 3, 4, 5)}, .out = NULL},
	{"rsqrt_eps", 1, {S1(3)}, .nums = 1, .number = {1e-5}, .out = "(3)"},
	{"rsqrt_eps", 1, {S1(3)}, .nums = 1, .number = {0}, .out = NULL},
	{"rsqrt_eps", 1, {S1(3)}, .out = NULL},
	{"batch_norm", 5, {S4(2, 3, 4, 5), S1(3), S1(3), S1(3), S1(3)}, .out = "(2, 3, 4, 5)(2, 3, 4, 5)"},
	{"batch_norm", 5, {S4(2, 3, 4, 5), S1(3), S1(3), S1(4), S1(3)}, .out = NULL},
	{"batch_norm", 5, {S1(3), S1(3), S1(3), S1(3), S1(3)}, .out = NULL},
	{"batch_norm", 4, {S4(2, 3, 4, 5), S1(3), S1(3), S1(3)}, .out = NULL},
	{"batch_norm_dinput", 6, {S4(2, 3, 4, 5), S4(2, 3, 4, 5), S1(3), S1(3), S1(3), S1(3)}, .out = "(2, 3, 4, 5)"},
	{"batch_norm_dinput", 6, {S4(2, 3, 4, 5), S4(2, 3, 5, 4), S1(3), S1(3), S1(3), S1(3)}, .out = NULL},
	{"batch_norm_dinput", 6, {S4(2, 3, 4, 5), S4(2, 3, 4, 5), S1(3), S1(3), S1(3), S1(2)}, .out = NULL},
	{"running_average", 2, {S1(3), S1(3)}, .nums = 2, .number = {0.1, 1.5}, .out = "(3)"},
	{"running_average", 2, {S1(3), S1(4)}, .nums = 2, .number = {0.1, 1.5}, .out = NULL},
	{"running_average", 2, {S1(3), S1(3)}, .nums = 2, .number = {1.5, 1}, .out = NULL},
	{"init_normal", 0, {{0}}, 4, {1, 0, 3, 4}, 1, {0.5}, .out = "(3, 4)"},
	{"init_normal", 0, {{0}}, 4, {-1, 0, 3, 4}, 1, {0.5}, .out = NULL},
	{"init_normal", 0, {{0}}, 2, {1, 0}, 1, {0.5}, .out = NULL},

	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {2, 2, 0, 8, 9}, .out = "(2, 3, 8, 9)"},
	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {2, 2, 0, 10, 9}, .out = NULL}, // that image would have made 5 rows
	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {2, 2, 0, 8, 7}, .out = NULL},
	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {2, 0, 0, 8, 9}, .out = NULL},
	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {2, 2, 0, -8, 9}, .out = NULL},
	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {2, 2, INT64_MAX, 8, 9}, .out = NULL},
	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {INT64_MAX, 2, 0, 8, 9}, .out = NULL},
	{"avgpool_grad", 1, {S4(2, 3, 4, 4)}, 5, {2, 2, 0, INT64_MAX, 9}, .out = NULL},
	{"avgpool_grad", 1, {S2(4, 4)}, 5, {2, 2, 0, 8, 9}, .out = NULL},
	{"maxpool_grad", 2, {S4(2, 3, 4, 4), S4(2, 3, 8, 9)}, 3, {2, 2, 0}, .out = "(2, 3, 8, 9)"},
	{"maxpool_grad", 2, {S4(2, 3, 4, 4), S4(2, 3, 8, 9)}, 3, {2, 0, 0}, .out = NULL},
	{"maxpool_grad", 2, {S4(2, 3, 4, 4), S4(2, 3, 8, 11)}, 3, {2, 2, 0}, .out = NULL},
	{"maxpool_grad", 2, {S4(1, 3, 4, 4), S4(2, 3, 8, 9)}, 3, {2, 2, 0}, .out = NULL}, // fewer images, fewer channels
	{"maxpool_grad", 2, {S4(2, 1, 4, 4), S4(2, 3, 8, 9)}, 3, {2, 2, 0}, .out = NULL},
	{"maxpool_grad", 2, {S4(2, 3, 4, 4), S2(8, 9)}, 3, {2, 2, 0}, .out = NULL},
	{"maxpool_grad", 1, {S4(2, 3, 4, 4)}, 3, {2, 2, 0}, .out = NULL},

	{"channel_sum", 1, {S2(5, 7)}, .out = "(7)"},
	{"channel_sum", 1, {S4(5, 7, 2, 3)}, .out = "(7)"},
	{"channel_sum", 1, {S1(5)}, .out = NULL},
	{"channel_sum", 1, {{3, {5, 7, 2}}}, .out = NULL},
	{"channel_sum", 1, {S2(5, 7)}, 1, {0}, .out = NULL},

	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 2, {1, 1}, .out = "(2, 4, 9, 10)"},
	{"conv2d", 3, {S4(2, 3, 9, 10), S4(4, 3, 3, 2), S1(4)}, 2, {2, 0}, .out = "(2, 4, 4, 5)"},
	{"conv2d", 2, {S4(2, 3, 3, 3), S4(4, 3, 3, 3)}, 2, {1024, 0}, .out = "(2, 4, 1, 1)"},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 2, 3, 3)}, 2, {1, 1}, .out = NULL},            // channels
	{"conv2d", 3, {S4(2, 3, 9, 10), S4(4, 3, 3, 3), S1(3)}, 2, {1, 1}, .out = NULL},     // bias
	{"conv2d", 3, {S4(2, 3, 9, 10), S4(4, 3, 3, 3), S2(1, 4)}, 2, {1, 1}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 2, {0, 1}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 2, {1025, 1}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 2, {1, -1}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 2, {1, 3}, .out = NULL},            // padding as wide as the kernel
	{"conv2d", 2, {S4(2, 3, 2, 10), S4(4, 3, 3, 3)}, 2, {1, 0}, .out = NULL},            // image lower than the kernel
	{"conv2d", 2, {S4(2, 3, 9, 2), S4(4, 3, 3, 3)}, 2, {1, 0}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S2(4, 3)}, 2, {1, 1}, .out = NULL},
	{"conv2d", 2, {S4(1, 1 << 21, 1, 1), S4(1, 1 << 21, 1, 1)}, 2, {1, 0}, .out = NULL}, // 2^21 terms
	{"conv2d", 3, {S4(1, (1 << 21) - 1, 1, 1), S4(1, (1 << 21) - 1, 1, 1), S1(1)}, 2, {1, 0}, .out = NULL},
	{"conv2d", 2, {S4(1, (1 << 21) - 1, 1, 1), S4(1, (1 << 21) - 1, 1, 1)}, 2, {1, 0}, .out = "(1, 1, 1, 1)"},
	{"conv2d", 1, {S4(2, 3, 9, 10)}, 2, {1, 1}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 1, {1}, .out = NULL},
	{"conv2d", 2, {S4(2, 3, 9, 10), S4(4, 3, 3, 3)}, 2, {1, 1}, .labels = 1},

	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {2, 1, 9, 10}, .out = "(2, 3, 9, 10)"},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(5, 3, 3, 3)}, 4, {2, 1, 9, 10}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {2, 1, 11, 10}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {2, 1, 9, 8}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {0, 1, 9, 10}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {2, -1, 9, 10}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {2, INT64_MAX, 9, 10}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 5, 5), S4(4, 3, 3, 3)}, 4, {2, 1, INT64_MAX, 10}, .out = NULL},
	{"conv2d_dinput", 2, {S4(2, 4, 1, 1), S4(4, 3, 3, 3)}, 4, {4, 0, 1, 1}, .out = NULL}, // an image that the kernel does not fit
	{"conv2d_dinput", 2, {S4(1, 1 << 21, 1, 1), S4(1 << 21, 1, 1, 1)}, 4, {1, 0, 1, 1}, .out = NULL},
	{"conv2d_dweight", 2, {S4(2, 4, 5, 5), S4(2, 3, 9, 10)}, 4, {2, 1, 3, 3}, .out = "(4, 3, 3, 3)"},
	{"conv2d_dweight", 2, {S4(1, 4, 5, 5), S4(2, 3, 9, 10)}, 4, {2, 1, 3, 3}, .out = NULL},
	{"conv2d_dweight", 2, {S4(2, 4, 5, 5), S4(2, 3, 9, 10)}, 4, {2, 1, 5, 3}, .out = NULL},
	{"conv2d_dweight", 2, {S4(2, 4, 5, 5), S4(2, 3, 9, 10)}, 4, {2, 1, 3, 5}, .out = NULL},
	{"conv2d_dweight", 2, {S4(2, 4, 5, 5), S4(2, 3, 9, 10)}, 4, {0, 1, 3, 3}, .out = NULL},
	{"conv2d_dweight", 2, {S4(2, 4, 5, 5), S4(2, 3, 9, 10)}, 4, {2, 1, INT64_MAX, 3}, .out = NULL},
	{"conv2d_dweight", 2, {S4(2, 4, 5, 5), S4(2, 3, 9, 10)}, 4, {2, 1, 0, 3}, .out = NULL},
	{"conv2d_dweight", 2, {S4(1 << 21, 1, 1, 1), S4(1 << 21, 1, 1, 1)}, 4, {1, 0, 1, 1}, .out = NULL},

	{"cross_entropy", 5, {S2(4, 3), S2(4, 3), S1(4), S1(4), S1(4)}, .out = "(1)(4)", .labels = 5},
	{"cross_entropy", 5, {S2(4, 3), S2(4, 3), S1(4), S1(4), S1(4)}, .out = NULL}, // labels that are no integers
	{"cross_entropy", 5, {S2(4, 3), S2(4, 3), S1(4), S1(4), S1(3)}, .labels = 5},
	{"cross_entropy", 5, {S2(4, 3), S2(4, 3), S1(3), S1(4), S1(4)}, .labels = 5},
	{"cross_entropy", 5, {S2(4, 3), S2(3, 4), S1(4), S1(4), S1(4)}, .labels = 5},
	{"cross_entropy", 5, {S1(4), S1(4), S1(4), S1(4), S1(4)}, .labels = 5},
	{"cross_entropy", 4, {S2(4, 3), S2(4, 3), S1(4), S1(4)}, .labels = 4},
	{"cross_entropy_grad", 2, {S2(4, 3), S1(4)}, .out = "(4, 3)", .labels = 2},
	{"cross_entropy_grad", 2, {S2(4, 3), S1(3)}, .labels = 2},
	{"cross_entropy_grad", 2, {S2(4, 3), S1(4)}, .out = NULL},
	{"cross_entropy_grad", 2, {S1(4), S1(4)}, .labels = 2},

	{"init_const", 0, {{0}}, 4, {1, 0, 3, 4}, 1, {0.5}, .out = "(3, 4)"},
	{"init_const", 0, {{0}}, 2, {1, 0}, 1, {0.5}, .out = NULL},
	{"init_const", 0, {{0}}, 7, {1, 0, 3, 4, 5, 6, 7}, 1, {0.5}, .out = NULL},
	{"init_const", 0, {{0}}, 4, {1, 0, 3, 0}, 1, {0.5}, .out = NULL},
	{"init_const", 0, {{0}}, 4, {1, 0, 3, 4}, .out = NULL},
	{"init_const", 1, {S1(3)}, 4, {1, 0, 3, 4}, 1, {0.5}, .out = NULL},
	{"init_uniform", 0, {{0}}, 3, {UINT32_MAX, 0, 3}, 1, {0.5}, .out = "(3)"},
	{"init_uniform", 0, {{0}}, 3, {BIG, 0, 3}, 1, {0.5}, .out = NULL},
	{"init_uniform", 0, {{0}}, 3, {-1, 0, 3}, 1, {0.5}, .out = NULL},

	{"load", 0, {{0}}, 7, {10, 4, 1, 1, 1, 5, 6}, 2, {0, 255}, .out = "(4, 1, 5, 6)(4)"},
	{"load", 0, {{0}}, 7, {10, 10, 1, 1, 3, 5, 6}, 6, {0, 0, 0, 1, 1, 1}, .out = "(10, 3, 5, 6)(10)"},
	{"load", 0, {{0}}, 7, {10, 11, 1, 1, 1, 5, 6}, 2, {0, 255}, .out = NULL},
	{"load", 0, {{0}}, 7, {10, 0, 1, 1, 1, 5, 6}, 2, {0, 255}, .out = NULL},
	{"load", 0, {{0}}, 7, {10, 4, BIG, 1, 1, 5, 6}, 2, {0, 255}, .out = NULL},
	{"load", 0, {{0}}, 7, {10, 4, 1, 1, 1, 5, 6}, 2, {0, 0}, .out = NULL},
	{"load", 0, {{0}}, 7, {10, 4, 1, 1, 1, 5, 6}, 1, {0}, .out = NULL},
	{"load", 0, {{0}}, 7, {10, 4, 1, 1, 0, 5, 6}, .out = NULL},
	{"load", 0, {{0}}, 7, {10, 4, 1, 1, BIG + 1, 5, 6}, 2, {0, 255}, .out = NULL}, // must not pass for one channel
	{"load", 0, {{0}}, 7, {10, 4, 1, 1, 1, -5, 6}, 2, {0, 255}, .out = NULL},
	{"load", 0, {{0}}, 7, {10, 4, 1, 1, 1, BIG, BIG}, 2, {0, 255}, .out = NULL},
	{"load", 1, {S1(1)}, 7, {10, 4, 1, 1, 1, 5, 6}, 2, {0, 255}, .out = NULL},
	{"load", 0, {{0}}, 9, {10, 4, 1, 1, 1, 5, 6, 4, 1}, 2, {0, 255}, .out = "(4, 1, 5, 6)(4)"},
	{"load", 0, {{0}}, 9, {10, 4, 1, 1, 1, 5, 6, 0, 0}, 2, {0, 255}, .out = NULL}, // would be a second form of no change
	{"load", 0, {{0}}, 9, {10, 4, 1, 1, 1, 5, 6, INT64_MAX, 0}, 2, {0, 255}, .out = NULL},
	{"load", 0, {{0}}, 8, {10, 4, 1, 1, 1, 5, 6, 4}, 2, {0, 255}, .out = NULL},

	{"import", 0, {{0}}, 7, {-1, 2, INT64_MIN, 4, 0, 3, 5}, .out = "(3, 5)"},
	{"import", 0, {{0}}, 9, {1, 2, 3, 4, 7, 3, 5, 1, 2}, .out = "(3, 5, 1, 2)"},
	{"import", 0, {{0}}, 5, {1, 2, 3, 4, 0}, .out = NULL},
	{"import", 0, {{0}}, 4, {1, 2, 3, 4}, .out = NULL},
	{"import", 0, {{0}}, 10, {1, 2, 3, 4, 0, 1, 1, 1, 1, 1}, .out = NULL},
	{"import", 0, {{0}}, 6, {1, 2, 3, 4, -1, 3}, .out = NULL},
	{"import", 0, {{0}}, 6, {1, 2, 3, 4, BIG, 3}, .out = NULL},
	{"import", 0, {{0}}, 6, {1, 2, 3, 4, 0, 0}, .out = NULL},
	{"import", 0, {{0}}, 7, {1, 2, 3, 4, 0, BIG, BIG}, .out = NULL},
	{"import", 0, {{0}}, 6, {1, 2, 3, 4, 0, 3}, 1, {0}, .out = NULL},
	{"import", 1, {S1(3)}, 6, {1, 2, 3, 4, 0, 3}, .out = NULL},

	{"matmul", 2, {S2(3, 4), S2(4, 5)}, 2, {0, 0}, .out = "(3, 5)"},
	{"matmul", 2, {S2(4, 3), S2(4, 5)}, 2, {1, 0}, .out = "(3, 5)"},
	{"matmul", 2, {S2(3, 4), S2(5, 4)}, 2, {0, 1}, .out = "(3, 5)"},
	{"matmul", 3, {S2(4, 3), S2(5, 4), S1(5)}, 2, {1, 1}, .out = "(3, 5)"},
	{"matmul", 2, {S2(3, 4), S2(4, 5)}, 2, {0, 1}, .out = NULL},
	{"matmul", 3, {S2(3, 4), S2(4, 5), S1(3)}, 2, {0, 0}, .out = NULL},
	{"matmul", 2, {S2(3, 4), S2(4, 5)}, 2, {0, 2}, .out = NULL},
	{"matmul", 2, {S2(3, 4), S2(4, 5)}, 2, {-1, 0}, .out = NULL},
	{"matmul", 2, {S2(3, 4), S2(4, 5)}, 2, {BIG, 0}, .out = NULL}, // must not pass for 0
	{"matmul", 2, {S2(3, 4), S1(4)}, 2, {0, 0}, .out = NULL},
	{"matmul", 2, {S2(1, 1 << 21), S2(1 << 21, 1)}, 2, {0, 0}, .out = NULL},
	{"matmul", 2, {S2(1, (1 << 21) - 1), S2((1 << 21) - 1, 1)}, 2, {0, 0}, .out = "(1, 1)"},
	{"matmul", 3, {S2(1, (1 << 21) - 1), S2((1 << 21) - 1, 1), S1(1)}, 2, {0, 0}, .out = NULL},
	{"matmul", 2, {S2(3, 4), S2(4, 5)}, 1, {0}, .out = NULL},

	{"relu", 1, {S4(1, 2, 3, 4)}, .out = "(1, 2, 3, 4)"},
	{"relu", 2, {S1(3), S1(3)}, .out = NULL},
	{"relu", 1, {S1(3)}, .labels = 1},
	{"relu_grad", 2, {S2(2, 3), S2(2, 3)}, .out = "(2, 3)"},
	{"relu_grad", 2, {S2(2, 3), S2(3, 2)}, .out = NULL},

	{"reshape", 1, {S4(2, 3, 4, 5)}, 2, {2, 60}, .out = "(2, 60)"},
	{"reshape", 1, {S2(2, 60)}, 4, {2, 3, 4, 5}, .out = "(2, 3, 4, 5)"},
	{"reshape", 1, {S2(2, 60)}, 2, {2, 61}, .out = NULL},
	{"reshape", 1, {S2(2, 60)}, 2, {-2, -60}, .out = NULL},
	{"reshape", 1, {S2(2, 60)}, 2, {0, 120}, .out = NULL},
	{"reshape", 1, {S2(2, 60)}, 0, .out = NULL},
	{"reshape", 1, {S2(2, 60)}, 5, {2, 3, 4, 5, 1}, .out = NULL},
	{"reshape", 1, {S2(2, 60)}, 4, {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}, .out = NULL},
	{"reshape", 1, {S1(4)}, 1, {4}, .labels = 1},

	{"sgd", 2, {S1(3), S1(3)}, 5, {0, 0, 1, 0, 10}, 4, {0.1, 0, 0, 0}, .out = "(3)"},
	{"sgd", 3, {S1(3), S1(3), S1(3)}, 5, {1, 2, 1, 9, 10}, 4, {0.1, 0.9, 0, 0}, .out = "(3)(3)"},
	{"sgd", 2, {S1(3), S1(4)}, 5, {0, 0, 1, 0, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 3, {S1(3), S1(3), S2(1, 3)}, 5, {0, 0, 1, 0, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 2, {S1(3), S1(3)}, 5, {0, 3, 1, 0, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 2, {S1(3), S1(3)}, 5, {0, -1, 1, 0, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 2, {S1(3), S1(3)}, 5, {0, 1, 0, 0, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 2, {S1(3), S1(3)}, 5, {0, 0, 1, 10, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 2, {S1(3), S1(3)}, 5, {0, 0, 1, -1, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 1, {S1(3)}, 5, {0, 0, 1, 0, 10}, 4, {0.1, 0, 0, 0}, .out = NULL},
	{"sgd", 2, {S1(3), S1(3)}, 4, {0, 0, 1, 0}, 4, {0.1, 0, 0, 0}, .out = NULL},

	{"softmax", 1, {S2(3, 4)}, .out = "(3, 4)(3)(3)"},
	{"softmax", 1, {S1(4)}, .out = NULL},
	{"softmax", 1, {S4(1, 2, 3, 4)}, .out = NULL},
	{"softmax", 2, {S2(3, 4), S2(3, 4)}, .out = NULL},

	{"no such op", .out = NULL},
};

/* Text of the shapes that the rule gives, or NULL with the failure's text in `text`. */
static const char *apply(const rule *r, char text[LS_ERROR_TEXT_MAX])
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	ls_op_spec spec = {.kind = r->kind, .name = "out", .input_count = r->inputs, .int_count = r->ints, .num_count = r->nums};
	int value;
	assert_ok(ls_program_open(&p, 32, 32, &err));
	for (int i = 0; i < r->inputs; i++) {
		ls_op op = {.kind = "given", .output_count = 1};
		ls_value v = {.dtype = r->labels == i + 1 ? LS_I32 : LS_F32, .bits = 32, .shape = r->in[i]};
		snprintf(v.name, sizeof v.name, "in%d", i);
		spec.inputs[i] = ls_program_add_op(p, &op, &v);
		assert_int_not_equal(spec.inputs[i], -1);
	}
	memcpy(spec.ints, r->attribute, sizeof spec.ints);
	memcpy(spec.nums, r->number, sizeof spec.nums);
	value = ls_op_append(p, &spec);
	text[0] = 0;
	for (int o = 0; value >= 0 && ls_program_value(p, value + o); o++) {
		size_t used = strlen(text);
		ls_shape_text(text + used, LS_ERROR_TEXT_MAX - used, &ls_program_value(p, value + o)->shape);
	}
	if (value < 0) {
		assert_true(ls_program_failed(p));
		assert_int_not_equal(ls_program_finish(p, &err), LS_OK);
		snprintf(text, LS_ERROR_TEXT_MAX, "%s", err.text);
	}
	ls_program_free(p);
	return value < 0 ? NULL : text;
}

static void test_every_rule(void **state)
{
	int wrong = 0;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		char text[LS_ERROR_TEXT_MAX];
		const char *found = apply(&rules[i], text);
		bool right = found ? rules[i].out && !strcmp(found, rules[i].out) : !rules[i].out;
		if (!right)
			print_message("rule %zu, %s: found %s (%s), expected %s\n", i, rules[i].kind, found ? found : "refusal", text,
			              rules[i].out ? rules[i].out : "refusal");
		if (!found)
			assert_non_null(strstr(text, rules[i].kind[0] == 'n' ? "no op" : "'")); // names the op or value
		wrong += !right;
	}
	assert_int_equal(wrong, 0);
}

static void test_every_op_has_rules(void **state)
{
	size_t count;
	const ls_op_def *const *table = ls_op_table(&count);
	assert_int_equal(count, 37);
	for (size_t i = 0; i < count; i++) {
		int good = 0, refused = 0;
		for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
			if (!strcmp(rules[r].kind, table[i]->kind))
				*(rules[r].out ? &good : &refused) += 1;
		if (strcmp(table[i]->kind, "commit")) // below
			assert_true(good && refused);
		assert_ptr_equal(ls_op_find(table[i]->kind), table[i]);
		assert_int_equal(table[i]->class == LS_OP_PRODUCT, table[i]->product != NULL);
		assert_int_equal(table[i]->class == LS_OP_PRODUCT || table[i]->class == LS_OP_COMMIT, table[i]->element == NULL);
		if (i)
			assert_true(strcmp(table[i - 1]->kind, table[i]->kind) < 0);
	}
	assert_null(ls_op_find("given"));
}

static bool commit_of(const int *values, int count)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	bool good;
	assert_ok(ls_program_open(&p, 32, 32, &err));
	ls_program_add_state(p, "a", &(ls_shape){1, {3}});
	ls_program_add_state(p, "b", &(ls_shape){2, {2, 2}});
	good = ls_op_append(p, &(ls_op_spec){.kind = "commit", .name = "root", .more_inputs = values, .input_count = count}) >= 0;
	assert_int_equal(good, ls_program_finish(p, NULL) == LS_OK);
	ls_program_free(p);
	return good;
}

static void test_commit_takes_the_whole_state(void **state)
{
	assert_true(commit_of((int[]){0, 1}, 2));
	assert_false(commit_of((int[]){0}, 1));
	assert_false(commit_of((int[]){1, 0}, 2)); // another order, hence other shapes
	assert_false(commit_of((int[]){0, 1, 1}, 3));
	assert_false(commit_of(NULL, 0));
}

static void test_grids_of_outputs(void **state)
{
	scene s;
	int x, w, y;
	scene_open(&s, 16, 24);
	x = scene_given(&s, "x", (ls_shape){2, {2, 3}});
	w = scene_op(&s, "init_const", "w", NONE, INTS(0, 0, 3, 4), NUMS(1));
	assert_int_equal(ls_program_value(s.program, w)->bits, 24);
	y = scene_op(&s, "matmul", "y", INPUTS(x, w), INTS(0, 0), NONE);
	assert_int_equal(ls_program_value(s.program, y)->bits, 16);
	y = scene_op(&s, "sgd", "w2", INPUTS(w, w), INTS(0, 0, 1, 0, 1), NUMS(1, 0, 0, 0));
	assert_int_equal(ls_program_value(s.program, y)->bits, 24);
	assert_string_equal(ls_program_value(s.program, y)->name, "w2.next");
	y = scene_op(&s, "reshape", "w3", INPUTS(w), INTS(12), NONE);
	assert_int_equal(ls_program_value(s.program, y)->bits, 24); // passed on unrounded
	assert_false(ls_program_failed(s.program));
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_rule), cmocka_unit_test(test_every_op_has_rules),
		cmocka_unit_test(test_commit_takes_the_whole_state), cmocka_unit_test(test_grids_of_outputs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
