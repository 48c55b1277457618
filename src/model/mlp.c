/* Multilayer perceptron: linear layers of the widths in model.hidden, model.activation between them. */
#include "model/net.h"

#include <stdio.h>

static int build(ls_net *net, int x)
{
	char layer[16];
	if (!net->options->hidden_count)
		return ls_program_fail(net->program, LS_ERR_INPUT,
		                       "model.hidden: found nothing, expected the widths of mlp's hidden layers\n  hint: hidden: [256]");
	for (int i = 0; i < net->options->hidden_count; i++) {
		snprintf(layer, sizeof layer, "fc%d", i + 1);
		x = ls_net_activation(net, ls_net_linear(net, x, layer, net->options->hidden[i]), i + 1);
	}
	snprintf(layer, sizeof layer, "fc%d", net->options->hidden_count + 1);
	return ls_net_linear(net, x, layer, net->options->classes);
}

const ls_model_def ls_model__mlp = {
	.name = "mlp",
	.text = "multilayer perceptron: model.hidden gives the widths",
	.reads = LS_READS_HIDDEN | LS_READS_ACTIVATION,
	.build = build,
};
