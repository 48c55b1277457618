/* ResNet-18 and ResNet-50 (He et al. 2016), layers named and started as torchvision has them (the stride of a bottleneck is
 * that of its 3×3 convolution), with the stem for small images: a 3×3 convolution of stride 1 and no pooling. model.width
 * scales the channels of every stage; a bottleneck's output has four times its scaled channels. */
#include "model/net.h"

#include <stdio.h>

/* One block: where it lies, and what it does. */
typedef struct block {
	const char *name; /* "layer2.0" */
	int64_t channels; /* of its inner convolutions */
	int64_t stride;
} block;

typedef struct resnet {
	int blocks[4];
	int64_t expansion; /* output channels of a block per inner channel */
	int (*inner)(ls_net *net, int x, const block *b); /* up to the last batch norm, before the addition */
} resnet;

/* Convolution `suffix`, with padding that keeps the extent at stride 1, and batch norm `norm`. */
static int conv_norm(ls_net *net, int x, const block *b, const char *suffix, const char *norm, ls_conv conv)
{
	char name[48];
	conv.pad = conv.kernel / 2;
	snprintf(name, sizeof name, "%.16s.%.16s", b->name, suffix);
	x = ls_net_conv_normal(net, x, name, &conv);
	snprintf(name, sizeof name, "%.16s.%.16s", b->name, norm);
	return ls_net_batch_norm(net, x, name);
}

static int relu(ls_net *net, int x, const block *b, const char *suffix)
{
	char name[48];
	snprintf(name, sizeof name, "%.16s.%.16s", b->name, suffix);
	return ls_net_relu(net, x, name);
}

static int basic(ls_net *net, int x, const block *b)
{
	x = conv_norm(net, x, b, "conv1", "bn1", (ls_conv){.out = b->channels, .kernel = 3, .stride = b->stride});
	x = relu(net, x, b, "relu1");
	return conv_norm(net, x, b, "conv2", "bn2", (ls_conv){.out = b->channels, .kernel = 3, .stride = 1});
}

static int bottleneck(ls_net *net, int x, const block *b)
{
	x = conv_norm(net, x, b, "conv1", "bn1", (ls_conv){.out = b->channels, .kernel = 1, .stride = 1});
	x = relu(net, x, b, "relu1");
	x = conv_norm(net, x, b, "conv2", "bn2", (ls_conv){.out = b->channels, .kernel = 3, .stride = b->stride});
	x = relu(net, x, b, "relu2");
	return conv_norm(net, x, b, "conv3", "bn3", (ls_conv){.out = 4 * b->channels, .kernel = 1, .stride = 1});
}

static int add_block(ls_net *net, const resnet *r, int x, const block *b, bool project)
{
	char name[48];
	int y = r->inner(net, x, b);
	if (project)
		x = conv_norm(net, x, b, "downsample.0", "downsample.1",
		              (ls_conv){.out = r->expansion * b->channels, .kernel = 1, .stride = b->stride});
	snprintf(name, sizeof name, "%.16s.add", b->name);
	return relu(net, ls_net_add(net, y, x, name), b, "relu");
}

static int build(ls_net *net, int x, const resnet *r)
{
	static const int64_t channels[] = {64, 128, 256, 512};
	int64_t width = ls_net_channels(net, channels[0]);
	char name[24];
	x = ls_net_conv_normal(net, x, "conv1", &(ls_conv){.out = width, .kernel = 3, .stride = 1, .pad = 1});
	x = ls_net_relu(net, ls_net_batch_norm(net, x, "bn1"), "relu");
	for (int stage = 0; stage < 4; stage++)
		for (int i = 0; i < r->blocks[stage]; i++) {
			int64_t inner = ls_net_channels(net, channels[stage]), stride = stage && !i ? 2 : 1;
			block b = {name, inner, stride};
			snprintf(name, sizeof name, "layer%d.%d", stage + 1, i);
			x = add_block(net, r, x, &b, stride != 1 || width != r->expansion * inner);
			width = r->expansion * inner;
		}
	x = ls_net_adaptive_avgpool(net, x, "avgpool", 1, 1);
	return ls_net_linear(net, x, "fc", net->options->classes);
}

static int build_resnet18(ls_net *net, int x)
{
	static const resnet r = {{2, 2, 2, 2}, 1, basic};
	return build(net, x, &r);
}

static int build_resnet50(ls_net *net, int x)
{
	static const resnet r = {{3, 4, 6, 3}, 4, bottleneck};
	return build(net, x, &r);
}

const ls_model_def ls_model__resnet18 = {
	.name = "resnet18",
	.text = "ResNet-18 for small images; model.width scales its channels",
	.reads = LS_READS_WIDTH,
	.build = build_resnet18,
};
const ls_model_def ls_model__resnet50 = {
	.name = "resnet50",
	.text = "ResNet-50 for small images",
	.reads = LS_READS_WIDTH,
	.build = build_resnet50,
};
