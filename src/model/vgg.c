/* VGG-11 and VGG-16 (Simonyan & Zisserman 2015) without batch normalisation, layers named and started as torchvision has them.
 * model.head: cifar is one dense layer after the five poolings, torchvision is adaptive pooling to 7×7 and three dense layers
 * (dropout left out). model.width scales all channels and the dense layers. */
#include "model/net.h"

#include <stdio.h>

#define POOL 0
#define LAST (-1)

static const int vgg11_layers[] = {64, POOL, 128, POOL, 256, 256, POOL, 512, 512, POOL, 512, 512, POOL, LAST};
static const int vgg16_layers[] = {64, 64, POOL, 128, 128, POOL, 256, 256, 256, POOL, 512, 512, 512, POOL, 512, 512, 512, POOL, LAST};

/* torchvision numbers convolutions, ReLUs and poolings of `features` alike. */
static int features(ls_net *net, int x, const int *layer)
{
	char name[24];
	for (int index = 0; *layer != LAST; layer++) {
		snprintf(name, sizeof name, "features.%d", index++);
		if (*layer == POOL) {
			x = ls_net_maxpool(net, x, name, 2, 2, 0);
			continue;
		}
		x = ls_net_conv_normal(net, x, name, &(ls_conv){ls_net_channels(net, *layer), 3, 1, 1, true});
		snprintf(name, sizeof name, "features.%d", index++);
		x = ls_net_relu(net, x, name);
	}
	return x;
}

static int classifier(ls_net *net, int x)
{
	const double std = 0.01;
	int64_t hidden = ls_net_channels(net, 4096);
	if (net->options->head == LS_MODEL_HEAD_CIFAR)
		return ls_net_linear_normal(net, x, "classifier.0", net->options->classes, std);
	x = ls_net_adaptive_avgpool(net, x, "avgpool", 7, 7);
	x = ls_net_relu(net, ls_net_linear_normal(net, x, "classifier.0", hidden, std), "classifier.1");
	x = ls_net_relu(net, ls_net_linear_normal(net, x, "classifier.3", hidden, std), "classifier.4");
	return ls_net_linear_normal(net, x, "classifier.6", net->options->classes, std);
}

static int build(ls_net *net, int x, const int *layers)
{
	const ls_model_options *o = net->options;
	if (o->height < 32 || o->width < 32)
		return ls_program_fail(net->program, LS_ERR_INPUT,
		                       "model.arch: found images of %lld × %lld, expected at least 32 × 32 for the five poolings of %s",
		                       (long long)o->height, (long long)o->width, o->arch);
	return classifier(net, features(net, x, layers));
}

static int build_vgg11(ls_net *net, int x)
{
	return build(net, x, vgg11_layers);
}

static int build_vgg16(ls_net *net, int x)
{
	return build(net, x, vgg16_layers);
}

const ls_model_def ls_model__vgg11 = {
	.name = "vgg11",
	.text = "VGG-11: eight convolutions; model.head: cifar or torchvision",
	.reads = LS_READS_WIDTH | LS_READS_HEAD,
	.build = build_vgg11,
};
const ls_model_def ls_model__vgg16 = {
	.name = "vgg16",
	.text = "VGG-16: thirteen convolutions",
	.reads = LS_READS_WIDTH | LS_READS_HEAD,
	.build = build_vgg16,
};
