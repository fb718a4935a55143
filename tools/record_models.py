#!/usr/bin/env python3
"""Records narrow models (same structure as the well-known ones, few channels and layers, random weights) into tests/models.

    python tools/record_models.py [--out tests/models] [--only REGEX] [--full DIR] [--list]

Needs torch 2.14.1, torchvision 0.29.1, timm and transformers. Never part of CI: the recorded folders are in the repository.
--full DIR writes full-size models instead, for local measurements. Norm statistics and constant-valued weights are
randomised, so that a dropped bias or running mean shows in the output.
"""
import argparse
import os
import re
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import record_common as rc  # noqa: E402

MODELS = {}
FULL = {}


def model(table=MODELS, **options):
    def add(function):
        table[function.__name__] = (function, options)
        return function

    return add


def image(size=32, channels=3, batch=1):
    return (torch.randn(batch, channels, size, size),)


# ---------------------------------------------------------------- vision, from torchvision and timm


@model()
def vit():
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=2, num_classes=10), image()


@model()
def vit_qk_norm_scale():
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=2, num_classes=10, class_token=False,
                             global_pool="avg", qk_norm=True, init_values=0.1), image()


@model()
def deit_distilled():
    from timm.models.deit import VisionTransformerDistilled

    return VisionTransformerDistilled(img_size=32, patch_size=8, embed_dim=24, depth=2, num_heads=3, num_classes=10), image()


@model()
def mobilenet_v2():
    from torchvision.models.mobilenetv2 import MobileNetV2

    blocks = [[1, 8, 1, 1], [6, 8, 2, 2], [6, 16, 2, 2]]
    m = MobileNetV2(num_classes=10, inverted_residual_setting=blocks)
    m.features[0][0] = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
    m.features[0][1] = nn.BatchNorm2d(8)
    m.features[1].conv[0][0] = nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False)
    m.features[1].conv[0][1] = nn.BatchNorm2d(8)
    m.features[1].conv[1] = nn.Conv2d(8, 8, 1, bias=False)
    m.features[-1][0] = nn.Conv2d(16, 40, 1, bias=False)
    m.features[-1][1] = nn.BatchNorm2d(40)
    m.classifier[1] = nn.Linear(40, 10)
    return m, image()


@model()
def mobilenet_v3():
    from functools import partial

    from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3

    conf = partial(InvertedResidualConfig, width_mult=1.0)
    blocks = [conf(8, 3, 8, 8, True, "RE", 2, 1), conf(8, 3, 24, 16, False, "RE", 2, 1), conf(16, 5, 40, 16, True, "HS", 1, 1)]
    return MobileNetV3(blocks, last_channel=32, num_classes=10), image()


@model()
def resnet_basic():
    from timm.models.resnet import BasicBlock, ResNet

    return ResNet(BasicBlock, [1, 1, 1, 1], channels=(8, 12, 16, 20), stem_width=8, num_classes=10), image(48)


@model()
def resnet_bottleneck():
    from timm.models.resnet import Bottleneck, ResNet

    return ResNet(Bottleneck, [1, 1, 1, 1], channels=(4, 4, 6, 8), stem_width=8, num_classes=10), image(48)


@model()
def efficientnet():
    from torchvision.models.efficientnet import EfficientNet, MBConvConfig

    blocks = [MBConvConfig(1, 3, 1, 8, 8, 1), MBConvConfig(4, 3, 2, 8, 12, 2), MBConvConfig(4, 5, 2, 12, 16, 1)]
    return EfficientNet(blocks, dropout=0.2, num_classes=10, last_channel=32), image()


@model()
def densenet():
    from torchvision.models.densenet import DenseNet

    return DenseNet(growth_rate=6, block_config=(2, 6), num_init_features=8, bn_size=2, num_classes=10), image(32)


@model()
def shufflenet_v2():
    from torchvision.models.shufflenetv2 import ShuffleNetV2

    return ShuffleNetV2([2, 2, 1], [8, 16, 20, 24, 32], num_classes=10), image(32)


@model()
def squeezenet():
    from torchvision.models.squeezenet import Fire

    class SqueezeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(3, 16, 3, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True),
                Fire(16, 4, 12, 12), Fire(24, 4, 12, 12), nn.MaxPool2d(3, 2, ceil_mode=True),
                Fire(24, 6, 16, 16), Fire(32, 8, 20, 20))
            self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Conv2d(40, 10, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))

        def forward(self, x):
            return torch.flatten(self.classifier(self.features(x)), 1)

    return SqueezeNet(), image(64)


@model()
def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt([CNBlockConfig(16, 24, 1), CNBlockConfig(24, 32, 2), CNBlockConfig(32, None, 1)], num_classes=10), image(32)


@model()
def swin():
    from torchvision.models.swin_transformer import SwinTransformer

    return SwinTransformer(patch_size=[2, 2], embed_dim=12, depths=[2, 1], num_heads=[2, 3], window_size=[4, 4], num_classes=10), image(32)


@model()
def swin_v2():
    from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformer, SwinTransformerBlockV2

    return SwinTransformer(patch_size=[2, 2], embed_dim=12, depths=[2, 1], num_heads=[2, 3], window_size=[4, 4], num_classes=10,
                           block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2), image(32)


@model()
def regnet_y():
    from torchvision.models.regnet import BlockParams, RegNet

    params = BlockParams.from_init_params(depth=4, w_0=8, w_a=8.0, w_m=2.0, group_width=4, se_ratio=0.25)
    return RegNet(params, num_classes=10, stem_width=8), image(32)


@model()
def vgg_bn():
    from torchvision.models.vgg import VGG, make_layers

    m = VGG(make_layers([8, "M", 12, 12, "M", 16, "M"], batch_norm=True), num_classes=10, init_weights=False)
    m.avgpool = nn.AdaptiveAvgPool2d((2, 2))
    m.classifier = nn.Sequential(nn.Linear(64, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, 10))
    return m, image()


@model()
def inception_block():
    from torchvision.models.inception import InceptionA, InceptionB

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = InceptionA(16, pool_features=8)
            for b in ("branch1x1", "branch5x5_1"):
                setattr(self.a, b, narrow(getattr(self.a, b), 16, 8))
            self.a.branch5x5_2 = narrow(self.a.branch5x5_2, 8, 8)
            self.a.branch3x3dbl_1 = narrow(self.a.branch3x3dbl_1, 16, 8)
            self.a.branch3x3dbl_2 = narrow(self.a.branch3x3dbl_2, 8, 12)
            self.a.branch3x3dbl_3 = narrow(self.a.branch3x3dbl_3, 12, 12)
            self.b = InceptionB(36)
            self.b.branch3x3 = narrow(self.b.branch3x3, 36, 12)
            self.b.branch3x3dbl_1 = narrow(self.b.branch3x3dbl_1, 36, 8)
            self.b.branch3x3dbl_2 = narrow(self.b.branch3x3dbl_2, 8, 8)
            self.b.branch3x3dbl_3 = narrow(self.b.branch3x3dbl_3, 8, 8)
            self.fc = nn.Linear(56, 10)

        def forward(self, x):
            return self.fc(self.b(self.a(x)).mean([2, 3]))

    def narrow(block, cin, cout):
        c = block.conv
        block.conv = nn.Conv2d(cin, cout, c.kernel_size, c.stride, c.padding, bias=False)
        block.bn = nn.BatchNorm2d(cout, eps=0.001)
        return block

    return Net(), image(17, channels=16)


@model()
def mlp_mixer():
    from timm.models.mlp_mixer import MlpMixer

    return MlpMixer(num_classes=10, img_size=32, patch_size=8, num_blocks=2, embed_dim=32), image()


@model()
def repvgg_like():
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.c3 = nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c))
            self.c1 = nn.Sequential(nn.Conv2d(c, c, 1, bias=False), nn.BatchNorm2d(c))
            self.identity = nn.BatchNorm2d(c)

        def forward(self, x):
            return F.relu(self.c3(x) + self.c1(x) + self.identity(x))

    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), Block(8), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)), image()


@model()
def mobilevit_block():
    from timm.models.mobilevit import MobileVitBlock

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, 2, 1)
            self.block = MobileVitBlock(16, 16, transformer_dim=24, transformer_depth=1, num_heads=2, patch_size=2)
            self.head = nn.Linear(16, 10)

        def forward(self, x):
            return self.head(self.block(F.silu(self.stem(x))).mean((2, 3)))

    return Net(), image()


# ---------------------------------------------------------------- dense prediction, generators


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


@model()
def unet():
    class UNet(nn.Module):
        """Three levels: the first way up by a transposed convolution, the second by bilinear upsampling."""

        def __init__(self):
            super().__init__()
            self.inc, self.d1, self.d2 = DoubleConv(3, 8), DoubleConv(8, 12), DoubleConv(12, 16)
            self.up1 = nn.ConvTranspose2d(16, 12, 2, 2)
            self.u1 = DoubleConv(24, 12)
            self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.u2 = DoubleConv(20, 8)
            self.out = nn.Conv2d(8, 2, 1)

        def forward(self, x):
            a = self.inc(x)
            b = self.d1(F.max_pool2d(a, 2))
            c = self.d2(F.max_pool2d(b, 2))
            y = self.u1(torch.cat([b, self.up1(c)], 1))
            return self.out(self.u2(torch.cat([a, self.up2(y)], 1)))

    return UNet(), image()


@model()
def deeplab_head():
    from torchvision.models.segmentation.deeplabv3 import DeepLabHead

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU())
            head = DeepLabHead(16, 4, atrous_rates=(2, 4, 6))
            aspp = head[0]
            for i, c in enumerate(aspp.convs):
                for j, layer in enumerate(c):
                    if isinstance(layer, nn.Conv2d):
                        c[j] = nn.Conv2d(16, 8, layer.kernel_size, padding=layer.padding, dilation=layer.dilation, bias=False)
                    elif isinstance(layer, nn.BatchNorm2d):
                        c[j] = nn.BatchNorm2d(8)
            aspp.project[0], aspp.project[1] = nn.Conv2d(40, 12, 1, bias=False), nn.BatchNorm2d(12)
            head[1], head[2], head[4] = nn.Conv2d(12, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.Conv2d(12, 4, 1)
            self.head = head

        def forward(self, x):
            y = self.head(self.backbone(x))
            return {"out": F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)}

    return Net(), image(40)


@model()
def fpn():
    from torchvision.ops import FeaturePyramidNetwork

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.ModuleList([nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 12, 3, 2, 1), nn.Conv2d(12, 16, 3, 2, 1)])
            self.fpn = FeaturePyramidNetwork([8, 12, 16], 8)

        def forward(self, x):
            feats = {}
            for i, conv in enumerate(self.c):
                x = F.relu(conv(x))
                feats[f"p{i}"] = x
            return self.fpn(feats)

    return Net(), image(30)


@model()
def gan_generator():
    return nn.Sequential(
        nn.ConvTranspose2d(16, 24, 4, 1, 0, bias=False), nn.BatchNorm2d(24), nn.ReLU(True),
        nn.ConvTranspose2d(24, 12, 4, 2, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU(True),
        nn.ConvTranspose2d(12, 8, 3, 2, 1, output_padding=1), nn.BatchNorm2d(8), nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False), nn.Tanh()), (torch.randn(2, 16, 1, 1),)


@model()
def super_resolution():
    class ESPCN(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Conv2d(1, 12, 5, padding=2), nn.Conv2d(12, 8, 3, padding=1), nn.Conv2d(8, 9, 3, padding=1)
            self.shuffle = nn.PixelShuffle(3)

        def forward(self, x):
            y = torch.tanh(self.b(torch.tanh(self.a(x))))
            return torch.clamp(self.shuffle(self.c(y)) + F.interpolate(x, scale_factor=3.0, mode="nearest"), 0.0, 1.0)

    return ESPCN(), (torch.rand(1, 1, 20, 24),)


@model()
def vae():
    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.GroupNorm(2, 6), nn.SiLU(), nn.Conv2d(6, 12, 3, 2, 1), nn.GroupNorm(3, 12), nn.SiLU(), nn.Flatten())
            self.mu, self.logvar = nn.Linear(12 * 16, 8), nn.Linear(12 * 16, 8)
            self.dec_in = nn.Linear(8, 12 * 16)
            self.dec = nn.Sequential(nn.ConvTranspose2d(12, 6, 4, 2, 1), nn.SiLU(), nn.Upsample(scale_factor=2), nn.Conv2d(6, 1, 3, padding=1), nn.Sigmoid())

        def forward(self, x, noise):
            h = self.enc(x)
            mu, logvar = self.mu(h), self.logvar(h)
            z = mu + noise * torch.exp(0.5 * logvar)
            return self.dec(self.dec_in(z).view(-1, 12, 4, 4)), mu, logvar

    return VAE(), (torch.rand(2, 1, 16, 16), torch.randn(2, 8))


@model()
def detector_head():
    class Detector(nn.Module):
        """An SSD-like head: anchors are constants, boxes are decoded and clipped, the best classes are taken."""

        def __init__(self):
            super().__init__()
            self.c1, self.c2 = nn.Conv2d(3, 12, 3, 2, 1), nn.Conv2d(12, 16, 3, 2, 1)
            self.bn1, self.bn2 = nn.BatchNorm2d(12), nn.BatchNorm2d(16)
            self.c3 = nn.Conv2d(16, 16, 3, 2, 1)
            self.cls = nn.ModuleList([nn.Conv2d(16, 3 * 5, 3, 1, 1), nn.Conv2d(16, 3 * 5, 3, 1, 1)])
            self.box = nn.ModuleList([nn.Conv2d(16, 3 * 4, 3, 1, 1), nn.Conv2d(16, 3 * 4, 3, 1, 1)])
            anchors = []
            for n in (8, 4):
                for y in range(n):
                    for x in range(n):
                        for s in (1.0, 1.5, 2.0):
                            anchors.append([(x + 0.5) / n, (y + 0.5) / n, s / n, 1.0 / (n * s)])
            self.register_buffer("anchors", torch.tensor(anchors))

        def forward(self, x):
            f1 = F.relu6(self.bn2(self.c2(F.relu6(self.bn1(self.c1(x))))))
            f2 = F.relu6(self.c3(f1))
            scores, deltas = [], []
            for f, c, b in zip((f1, f2), self.cls, self.box):
                n = f.shape[0]
                scores.append(c(f).permute(0, 2, 3, 1).reshape(n, -1, 5))
                deltas.append(b(f).permute(0, 2, 3, 1).reshape(n, -1, 4))
            scores, deltas = torch.cat(scores, 1).softmax(-1), torch.cat(deltas, 1)
            cxy = deltas[..., :2] * 0.1 * self.anchors[:, 2:] + self.anchors[:, :2]
            wh = torch.exp(deltas[..., 2:] * 0.2) * self.anchors[:, 2:]
            boxes = torch.cat([cxy - wh / 2, cxy + wh / 2], -1).clamp(0, 1)
            best, label = scores[..., 1:].max(-1)
            area = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
            return {"boxes": boxes, "scores": best, "labels": label + 1, "keep": (best > 0.3) & (area > 0.01), "features": [f1, f2]}

    return Detector(), image(32)


@model()
def yolo_like():
    class Conv(nn.Module):
        def __init__(self, i, o, k=1, s=1):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o)

        def forward(self, x):
            return F.silu(self.bn(self.conv(x)))

    class C2f(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.c = Conv(c, c), Conv(c // 2, c // 2, 3), Conv(c + c // 2, c)

        def forward(self, x):
            y = list(self.a(x).chunk(2, 1))
            y.append(y[-1] + self.b(y[-1]))
            return self.c(torch.cat(y, 1))

    class Yolo(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.down, self.body = Conv(3, 8, 3, 2), Conv(8, 16, 3, 2), C2f(16)
            self.down2, self.pool = Conv(16, 16, 3, 2), nn.MaxPool2d(5, 1, 2)
            self.sppf, self.head = Conv(48, 16), nn.Conv2d(32, 4 * 4 + 3, 1)
            self.register_buffer("bins", torch.arange(4.0))

        def forward(self, x):
            p3 = self.body(self.down(self.stem(x)))
            p4 = self.down2(p3)
            a = self.pool(p4)
            p4 = self.sppf(torch.cat([p4, a, self.pool(a)], 1))
            y = self.head(torch.cat([F.interpolate(p4, scale_factor=2.0, mode="nearest"), p3], 1)).flatten(2)
            box, cls = y.split([16, 3], 1)
            b, _, n = box.shape
            dist = (box.view(b, 4, 4, n).transpose(2, 1).softmax(1) * self.bins.view(1, 4, 1, 1)).sum(1)
            lt, rb = dist.chunk(2, 1)
            grid = torch.stack(torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="xy"), 0).flatten(1) + 0.5
            return torch.cat([(grid - lt + grid + rb) / 2, lt + rb, cls.sigmoid()], 1)

    return Yolo(), image(32)


# ---------------------------------------------------------------- text


def tokens(vocabulary, length, batch=1):
    return torch.randint(1, vocabulary, (batch, length))


class Unwrap(nn.Module):
    """Gives the tensors of a transformers output as a tuple."""

    def __init__(self, m, *names, **fixed):
        super().__init__()
        self.m, self.names, self.fixed = m, names, fixed

    def forward(self, input_ids, attention_mask=None):
        kwargs = dict(self.fixed)
        if attention_mask is not None:
            kwargs["attention_mask"] = attention_mask
        out = self.m(input_ids, **kwargs)
        got = tuple(out[n] for n in self.names)
        return got[0] if len(got) == 1 else got


def padded(length, real):
    mask = torch.ones(1, length, dtype=torch.int64)
    mask[:, real:] = 0
    return mask


@model()
def mobilebert():
    from transformers import MobileBertConfig, MobileBertModel

    c = MobileBertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                         max_position_embeddings=32, embedding_size=16, true_hidden_size=16, intra_bottleneck_size=16, num_feedforward_networks=1)
    return Unwrap(MobileBertModel(c), "last_hidden_state", "pooler_output"), (tokens(64, 16), padded(16, 11))


@model()
def bert():
    from transformers import BertConfig, BertForSequenceClassification

    c = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=32, num_labels=3)
    return Unwrap(BertForSequenceClassification(c), "logits"), (tokens(64, 16), padded(16, 10))


@model()
def roberta():
    from transformers import RobertaConfig, RobertaModel

    c = RobertaConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, max_position_embeddings=40)
    return Unwrap(RobertaModel(c), "last_hidden_state", "pooler_output"), (tokens(64, 16), padded(16, 12))


@model()
def distilbert():
    from transformers import DistilBertConfig, DistilBertForTokenClassification

    c = DistilBertConfig(vocab_size=64, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=32, num_labels=5)
    return Unwrap(DistilBertForTokenClassification(c), "logits"), (tokens(64, 16), padded(16, 13))


@model()
def albert():
    from transformers import AlbertConfig, AlbertModel

    c = AlbertConfig(vocab_size=64, embedding_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, max_position_embeddings=32)
    return Unwrap(AlbertModel(c), "last_hidden_state", "pooler_output"), (tokens(64, 12), padded(12, 12))


@model()
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    c = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, use_cache=False)
    return Unwrap(GPT2LMHeadModel(c), "logits", use_cache=False), (tokens(64, 16),)


@model()
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    c = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                    max_position_embeddings=64, use_cache=False)
    return Unwrap(LlamaForCausalLM(c), "logits", use_cache=False), (tokens(64, 16),)


@model()
def gemma2():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    c = Gemma2Config(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                     max_position_embeddings=64, sliding_window=8, use_cache=False, attn_implementation="eager")
    return Unwrap(Gemma2ForCausalLM(c), "logits", use_cache=False), (tokens(64, 12),)


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class CachedAttention(nn.Module):
    def __init__(self, d, h, kv, length, style):
        super().__init__()
        self.h, self.kv, self.e, self.style = h, kv, d // h, style
        self.q, self.k, self.v, self.o = (nn.Linear(d, n, bias=False) for n in (d, kv * d // h, kv * d // h, d))
        self.register_buffer("k_cache", torch.zeros(1, kv, length, d // h))
        self.register_buffer("v_cache", torch.zeros(1, kv, length, d // h))

    def forward(self, x, pos, cos, sin, mask):
        b, t, _ = x.shape
        q = rotate(self.q(x).view(b, t, self.h, self.e).transpose(1, 2), cos, sin)
        k = rotate(self.k(x).view(b, t, self.kv, self.e).transpose(1, 2), cos, sin)
        v = self.v(x).view(b, t, self.kv, self.e).transpose(1, 2)
        if self.style == "index_copy":
            self.k_cache.index_copy_(2, pos, k)
            self.v_cache.index_copy_(2, pos, v)
        else:
            self.k_cache[:, :, pos] = k
            self.v_cache[:, :, pos] = v
        keys = self.k_cache.repeat_interleave(self.h // self.kv, 1)
        values = self.v_cache.repeat_interleave(self.h // self.kv, 1)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return self.o(y.transpose(1, 2).reshape(b, t, -1))


class CachedDecoder(nn.Module):
    """A Llama-style decoder that keeps its keys and values in buffers: one token a call, position as a tensor input."""

    def __init__(self, style="index_put", d=32, h=4, kv=2, layers=2, vocabulary=64, length=16):
        super().__init__()
        e = d // h
        self.embed = nn.Embedding(vocabulary, d)
        self.layers = nn.ModuleList([
            nn.ModuleDict({"n1": RMSNorm(d), "att": CachedAttention(d, h, kv, length, style), "n2": RMSNorm(d), "gate": nn.Linear(d, 2 * d, bias=False),
                           "up": nn.Linear(d, 2 * d, bias=False), "down": nn.Linear(2 * d, d, bias=False)}) for _ in range(layers)])
        self.norm = RMSNorm(d)
        angle = torch.outer(torch.arange(length).float(), 1.0 / 10000 ** (torch.arange(0, e, 2).float() / e))
        self.register_buffer("cos", torch.cat([angle.cos(), angle.cos()], -1), persistent=False)
        self.register_buffer("sin", torch.cat([angle.sin(), angle.sin()], -1), persistent=False)
        self.register_buffer("mask", torch.tril(torch.ones(length, length, dtype=torch.bool)), persistent=False)

    def forward(self, token, pos):
        x = self.embed(token)
        cos, sin, mask = self.cos[pos], self.sin[pos], self.mask[pos]
        for layer in self.layers:
            x = x + layer["att"](layer["n1"](x), pos, cos, sin, mask)
            y = layer["n2"](x)
            x = x + layer["down"](F.silu(layer["gate"](y)) * layer["up"](y))
        return F.linear(self.norm(x), self.embed.weight)


def decode_steps(count):
    return [(torch.tensor([[t]]), torch.tensor([i])) for i, t in enumerate([5, 17, 3, 40, 22][:count])]


@model()
def llama_kv_cache():
    s = decode_steps(4)
    return CachedDecoder("index_put"), s[0], dict(steps=s[1:])


@model()
def llama_kv_cache_index_copy():
    s = decode_steps(4)
    return CachedDecoder("index_copy"), s[0], dict(steps=s[1:])


@model()
def llama_kv_cache_prefill():
    """A dynamic number of tokens a call: a prompt first, then one by one."""
    seq = torch.export.Dim("seq", min=1, max=8)
    prompt = (torch.tensor([[5, 17, 3, 9]]), torch.tensor([0, 1, 2, 3]))
    more = [(torch.tensor([[7]]), torch.tensor([4])), (torch.tensor([[8, 2]]), torch.tensor([5, 6]))]
    example = (torch.tensor([[1, 2, 3]]), torch.tensor([0, 1, 2]))
    return CachedDecoder("index_put"), prompt, dict(steps=more, example=example, dynamic_shapes=({1: seq}, {0: seq}), dynamic={"seq": [1, 8]})


@model()
def llama_hf_static_cache():
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    c = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=16)
    m = LlamaForCausalLM(c).eval()
    m.generation_config = GenerationConfig(use_cache=True, cache_implementation="static", max_length=16, cache_config={"batch_size": 1, "max_cache_len": 16})
    s = decode_steps(3)
    return TorchExportableModuleWithStaticCache(m), s[0], dict(steps=s[1:], by_name=("input_ids", "cache_position"))


@model()
def t5_encoder():
    from transformers import T5Config, T5EncoderModel

    c = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu", use_cache=False)
    return Unwrap(T5EncoderModel(c), "last_hidden_state"), (tokens(64, 14), padded(14, 9))


@model()
def clip_text():
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection

    c = CLIPTextConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=16, projection_dim=24, eos_token_id=63)
    ids = tokens(63, 12)
    ids[0, 8:] = 63
    return Unwrap(CLIPTextModelWithProjection(c), "text_embeds"), (ids,)


# ---------------------------------------------------------------- speech and sequences


@model()
def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = WhisperEncoder(WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64, num_mel_bins=16, max_source_positions=24))

        def forward(self, mel):
            return self.m(mel).last_hidden_state

    return Net(), (torch.randn(1, 16, 48),)


@model()
def wav2letter():
    def conv(i, o, k, s=1, p=0):
        return [nn.Conv1d(i, o, k, s, p), nn.ReLU(inplace=True)]

    return nn.Sequential(*conv(1, 16, 24, 8, 11), *conv(16, 16, 12, 2, 5), *conv(16, 16, 7, 1, 3), *conv(16, 16, 7, 1, 3), *conv(16, 32, 9, 1, 4),
                         *conv(32, 32, 1), nn.Conv1d(32, 12, 1), nn.LogSoftmax(1)), (torch.randn(1, 1, 640),)


@model()
def wav2vec2_features():
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            c = Wav2Vec2Config(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48, conv_dim=(12, 12, 16), conv_stride=(5, 2, 2),
                               conv_kernel=(10, 3, 2), num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, mask_time_prob=0.0)
            self.m = Wav2Vec2Model(c)

        def forward(self, x):
            return self.m(x).last_hidden_state

    return Net(), (torch.randn(1, 600),)


@model()
def lstm_tagger():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.lstm, self.out = nn.Embedding(50, 16), nn.LSTM(16, 12, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(24, 7)

        def forward(self, x):
            y, (h, c) = self.lstm(self.embed(x))
            return F.log_softmax(self.out(y), -1), h, c

    return Tagger(), (tokens(50, 10, 2),)


@model()
def gru():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.out = nn.GRU(8, 16, num_layers=2), nn.Linear(16, 4)

        def forward(self, x, h):
            y, h = self.gru(x, h)
            return self.out(y[-1]), h

    return Net(), (torch.randn(9, 2, 8), torch.randn(2, 2, 16))


@model()
def crnn():
    class Net(nn.Module):
        """Text recognition: convolutions, columns as a sequence, a bidirectional LSTM."""

        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, 1, 1), nn.BatchNorm2d(12), nn.ReLU(True), nn.MaxPool2d((2, 2), (2, 1), (0, 1)),
                                     nn.Conv2d(12, 12, (4, 2)), nn.ReLU(True))
            self.rnn, self.out = nn.LSTM(12, 10, bidirectional=True), nn.Linear(20, 8)

        def forward(self, x):
            y = self.cnn(x).squeeze(2).permute(2, 0, 1)
            return self.out(self.rnn(y)[0]).log_softmax(2)

    return Net(), (torch.randn(1, 1, 16, 24),)


@model()
def tcn():
    class Block(nn.Module):
        def __init__(self, i, o, k, d):
            super().__init__()
            self.pad = (k - 1) * d
            self.a, self.b = nn.Conv1d(i, o, k, dilation=d), nn.Conv1d(o, o, k, dilation=d)
            self.skip = nn.Conv1d(i, o, 1) if i != o else None

        def forward(self, x):
            y = F.relu(self.a(F.pad(x, (self.pad, 0))))
            y = F.relu(self.b(F.pad(y, (self.pad, 0))))
            return F.relu(y + (x if self.skip is None else self.skip(x)))

    class TCN(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(Block(4, 12, 3, 1), Block(12, 12, 3, 2), Block(12, 16, 3, 4))
            self.out = nn.Linear(16, 5)

        def forward(self, x):
            return self.out(self.net(x)[:, :, -1])

    return TCN(), (torch.randn(2, 4, 40),)


@model()
def ds_cnn_keywords():
    def block(c):
        return [nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU()]

    return nn.Sequential(nn.Conv2d(1, 16, (10, 4), (2, 2), (5, 1), bias=False), nn.BatchNorm2d(16), nn.ReLU(), *block(16), *block(16), nn.AvgPool2d((25, 5)),
                         nn.Flatten(), nn.Linear(16, 12)), (torch.randn(1, 1, 49, 10),)


@model()
def conformer_block():
    class Conformer(nn.Module):
        def __init__(self, d=24, h=2):
            super().__init__()
            ff = lambda: nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(2 * d, d))  # noqa: E731
            self.f1, self.f2, self.n, self.att, self.nc, self.last = ff(), ff(), nn.LayerNorm(d), nn.MultiheadAttention(d, h, batch_first=True), nn.LayerNorm(d), nn.LayerNorm(d)
            self.p1, self.dw, self.bn, self.p2 = nn.Conv1d(d, 2 * d, 1), nn.Conv1d(d, d, 7, padding=3, groups=d), nn.BatchNorm1d(d), nn.Conv1d(d, d, 1)

        def forward(self, x):
            x = x + 0.5 * self.f1(x)
            y = self.n(x)
            x = x + self.att(y, y, y, need_weights=False)[0]
            y = self.p2(F.silu(self.bn(self.dw(F.glu(self.p1(self.nc(x).transpose(1, 2)), 1))))).transpose(1, 2)
            x = x + y
            return self.last(x + 0.5 * self.f2(x))

    return Conformer(), (torch.randn(1, 20, 24),)


@model()
def transformer_seq2seq():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.src, self.tgt = nn.Embedding(30, 16), nn.Embedding(30, 16)
            self.t = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)
            self.out = nn.Linear(16, 30)

        def forward(self, src, tgt):
            mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
            return self.out(self.t(self.src(src), self.tgt(tgt), tgt_mask=mask, tgt_is_causal=False))

    return Net(), (tokens(30, 9), tokens(30, 6))


# ---------------------------------------------------------------- other shapes of program


@model()
def cnn_dynamic_batch():
    m = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Hardswish(), nn.Conv2d(8, 12, 1), nn.MaxPool2d(2),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10), nn.Softmax(-1))
    batch = torch.export.Dim("batch", min=1, max=6)
    return m, image(16, batch=3), dict(example=image(16, batch=2), steps=[image(16, batch=1), image(16, batch=6)], dynamic_shapes=({0: batch},), dynamic={"batch": [1, 6]})


@model()
def encoder_dynamic_sequence():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(40, 24)
            layer = nn.TransformerEncoderLayer(24, 2, 32, batch_first=True, activation="gelu", norm_first=True)
            self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.out = nn.Linear(24, 5)

        def forward(self, x):
            return self.out(self.enc(self.embed(x)).mean(1))

    seq = torch.export.Dim("seq", min=2, max=24)
    return Net(), (tokens(40, 9, 2),), dict(example=(tokens(40, 6, 2),), steps=[(tokens(40, 2, 2),), (tokens(40, 24, 2),)], dynamic_shapes=({1: seq},), dynamic={"seq": [2, 24]})


@model()
def pointnet():
    class PointNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Conv1d(3, 12, 1), nn.BatchNorm1d(12), nn.ReLU(), nn.Conv1d(12, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1), nn.BatchNorm1d(32))
            self.t = nn.Linear(32, 9)
            self.b = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 6))

        def forward(self, x):
            transform = self.t(torch.max(self.a(x), 2)[0]).view(-1, 3, 3) + torch.eye(3)
            x = torch.bmm(x.transpose(2, 1), transform).transpose(2, 1)
            return F.log_softmax(self.b(torch.amax(self.a(x), 2)), 1)

    return PointNet(), (torch.randn(2, 3, 50),)


@model()
def two_towers():
    class Net(nn.Module):
        """Recommendation: embeddings of bags, dense features, crosses, outputs in nested containers."""

        def __init__(self):
            super().__init__()
            self.user, self.item = nn.Embedding(40, 8, padding_idx=0), nn.Embedding(60, 8)
            self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
            self.top = nn.Sequential(nn.Linear(8 + 3, 12), nn.ReLU(), nn.Linear(12, 1))

        def forward(self, batch):
            d = self.bottom(batch["dense"])
            ids = batch["sparse"]["user"]
            valid = (ids != 0).unsqueeze(-1).float()
            u = (self.user(ids) * valid).sum(1) / valid.sum(1).clamp(min=1.0)
            i = self.item(batch["sparse"]["item"])
            t = torch.stack([d, u, i], 1)
            z = torch.bmm(t, t.transpose(1, 2))
            row, col = torch.tril_indices(3, 3, -1).unbind(0)
            logit = self.top(torch.cat([d, z[:, row, col]], 1)).squeeze(1)
            return {"logit": logit, "towers": (F.normalize(u, dim=-1), {"item": F.normalize(i, dim=-1), "dense": [d, d.mean()]}), "probability": torch.sigmoid(logit)}

    ids = torch.randint(0, 40, (3, 5))
    ids[1, 2:] = 0
    return Net(), ({"dense": torch.randn(3, 6), "sparse": {"user": ids, "item": torch.randint(0, 60, (3,))}},)


@model()
def nested_outputs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.heads = nn.Conv2d(3, 8, 3, 2, 1), nn.ModuleDict({"a": nn.Linear(8, 3), "b": nn.Linear(8, 2)})
            self.register_buffer("scale", torch.tensor(0.5))

        def forward(self, x, extra):
            f = F.elu(self.stem(x))
            p = f.mean((2, 3))
            out = {k: h(p) for k, h in self.heads.items()}
            return {"heads": out, "aux": [f, (p * self.scale, extra["shift"])], "sum": p.sum() + extra["bias"], "input": x}

    return Net(), (torch.randn(1, 3, 8, 8), {"shift": torch.randn(4), "bias": torch.tensor(1.5)})


@model()
def mlp_f16():
    return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.Sigmoid(), nn.Linear(16, 4)).half(), (torch.randn(3, 12).half(),), dict(rtol=1e-2, atol=1e-2)


@model()
def conv_bf16():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).bfloat16(), (torch.randn(1, 3, 8, 8).bfloat16(),), dict(rtol=3e-2, atol=3e-2)


# ---------------------------------------------------------------- full size, for local measurements only


def torchvision_full(name):
    def build():
        import torchvision

        return getattr(torchvision.models, name)(weights=None), image(224)

    FULL[name] = (build, {})


for _name in ("mobilenet_v2", "resnet18", "efficientnet_b0", "convnext_tiny", "swin_t", "shufflenet_v2_x1_0", "densenet121", "squeezenet1_1", "mobilenet_v3_large", "regnet_y_400mf"):
    torchvision_full(_name)


@model(FULL)
def bert_tiny():
    from transformers import BertConfig, BertModel

    c = BertConfig(vocab_size=30522, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512)
    return Unwrap(BertModel(c), "last_hidden_state", "pooler_output"), (tokens(30000, 128), padded(128, 100))


@model(FULL)
def whisper_tiny_enc():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = WhisperEncoder(WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536))

        def forward(self, mel):
            return self.m(mel).last_hidden_state

    return Net(), (torch.randn(1, 80, 3000),)


@model(FULL)
def llama_kv_5m():
    s = decode_steps(4)
    return CachedDecoder("index_put", d=256, h=8, kv=4, layers=4, vocabulary=4096, length=128), s[0], dict(steps=s[1:])


@model(FULL)
def lstm():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.lstm, self.out = nn.Embedding(1000, 64), nn.LSTM(64, 128, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(256, 20)

        def forward(self, x):
            return self.out(self.lstm(self.embed(x))[0])

    return Net(), (tokens(1000, 24),)


# ---------------------------------------------------------------- kinds that once left something outside


@model(slim=True)
def poolformer_v2():
    """Group norms over whole images, averages without their centre, squared relu."""
    from timm.models.metaformer import MetaFormer, Pooling, StarReLU

    return MetaFormer(depths=(1, 1), dims=(8, 12), token_mixers=Pooling, mlp_act=StarReLU, res_scale_init_values=None, num_classes=5,
                      use_mlp_head=False), image(64)


@model(slim=True)
def volo():
    """Outlook attention: unfold, weights for every window, fold."""
    from timm.models.volo import VOLO

    return VOLO(layers=(1, 1), img_size=32, num_classes=5, patch_size=8, stem_hidden_dim=8, embed_dims=(16, 24), num_heads=(2, 2),
                downsamples=(True, False), outlook_attention=(True, False), use_aux_head=False), image(32)


@model(slim=True)
def fractional_upsampling():
    """A gate computed at a third of the size and taken back by the nearest element (ghostnet v2); a pyramid of odd sizes."""

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.gate = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=8)
            self.up = nn.Conv2d(8, 4, 1)

        def forward(self, x):
            x = F.relu(self.stem(x))
            small = torch.sigmoid(self.gate(F.avg_pool2d(x, 2)))
            x = x * F.interpolate(small, size=x.shape[-2:], mode="nearest")
            coarse = self.up(F.max_pool2d(x, 1, 2))
            return F.interpolate(coarse, size=(13, 7), mode="nearest"), F.adaptive_avg_pool2d(x, (3, 4)), coarse

    return Gate(), image(15)


@model(slim=True)
def detr_decoder():
    """Queries are parameters, so that the first self-attention depends on constants alone."""

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.query = nn.Parameter(torch.randn(5, 16))
            self.backbone = nn.Conv2d(3, 16, 8, 8)
            self.own, self.cross = (nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(2))
            self.norm, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
            self.boxes = nn.Linear(16, 4)

        def forward(self, x):
            memory = self.backbone(x).flatten(2).transpose(1, 2)
            position = self.query.expand(x.shape[0], -1, -1)
            y = torch.zeros_like(position)
            y = self.norm(y + self.own(y + position, y + position, y, need_weights=False)[0])
            y = self.norm2(y + self.cross(y + position, memory, memory, need_weights=False)[0])
            return self.boxes(y).sigmoid()

    return Decoder(), image()


@model(slim=True)
def lstm_dynamic_batch():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(6, 8, 2, batch_first=True), nn.Linear(8, 3)

        def forward(self, x):
            y, (h, _) = self.lstm(x)
            return self.head(y), h

    return (Tagger(), (torch.randn(2, 4, 6),),
            {"dynamic_shapes": ({0: torch.export.Dim("batch", min=1, max=6)},), "steps": ((torch.randn(5, 4, 6),),), "dynamic": {"batch": [1, 6]}})


@model(slim=True)
def rwkv_loop():
    """A recurrence written as a loop that fills its result."""

    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.key, self.value, self.gate = (nn.Linear(8, 8) for _ in range(3))
            self.decay = nn.Parameter(torch.rand(8))

        def forward(self, x):
            k, v, r = self.key(x), self.value(x), torch.sigmoid(self.gate(x))
            out, num, den = torch.zeros_like(v), torch.zeros(x.shape[0], 8), torch.zeros(x.shape[0], 8)
            for t in range(x.shape[1]):
                e = torch.exp(k[:, t])
                num, den = torch.exp(-self.decay) * num + e * v[:, t], torch.exp(-self.decay) * den + e
                out[:, t] = num / den
            return r * out

    return Loop(), (torch.randn(2, 6, 8),)


@model(slim=True)
def fnet():
    """Tokens mixed by a Fourier transform of two dims."""

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.inner, self.outer = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

        def forward(self, x):
            x = self.norm(x + torch.fft.fftn(x, dim=(1, 2)).real)
            return x + self.outer(F.gelu(self.inner(x)))

    return Mixer(), (torch.randn(1, 6, 16),)


@model(slim=True)
def causal_dynamic():
    """Causal attention, its mask and its length known at run time only; the mean of the tokens that a mask keeps."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x, keep):
            b, t, _ = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, 16)
            y = self.out(y)
            return y, (y * keep.unsqueeze(-1)).sum(1) / keep.sum(1, keepdim=True).clamp(min=1)

    t = torch.export.Dim("t", min=2, max=16)
    return (Block(), (torch.randn(1, 6, 16), torch.tensor([[1.0, 1, 1, 1, 0, 0]])),
            {"dynamic_shapes": ({1: t}, {1: t}), "steps": ((torch.randn(1, 9, 16), torch.ones(1, 9)),), "dynamic": {"t": [2, 16]}})


# ----------------------------------------------------------------


def folder_size(path):
    return sum(os.path.getsize(os.path.join(path, f)) for f in os.listdir(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--out", default=os.path.join(root, "tests", "models"))
    parser.add_argument("--only", default="", help="regular expression on the names")
    parser.add_argument("--full", metavar="DIR", help="record the full-size models into DIR instead")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table, out = (FULL, options.full) if options.full else (MODELS, options.out)
    failed = []
    for name, (build, options_of) in table.items():
        if not re.search(options.only, name):
            continue
        if options.list:
            print(name)
            continue
        start = time.time()
        torch.manual_seed(0)
        built = build()
        module, args, more = built if len(built) == 3 else (*built, {})
        rc.randomise(module)
        by_name = more.pop("by_name", None)
        more = {**options_of, **more}
        if by_name:
            module = ByName(module, by_name)
        folder = os.path.join(out, name)
        try:
            case, results = rc.record(folder, name, module, args, kind="model", **more)
        except Exception as error:  # a model that does not export is reported at the end
            failed.append(name)
            print(f"{name}: FAILED {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        floats = [x for x in rc.leaves(results[0]) if isinstance(x, torch.Tensor) and x.is_floating_point()]
        size = max((float(x.abs().max()) for x in floats), default=0.0)
        print(f"{name}: {folder_size(folder) // 1024} KiB, {len(case['ops'])} operators, max |out| {size:.3g}, {time.time() - start:.1f} s", flush=True)
    if failed:
        sys.exit("failed: " + ", ".join(failed))


class ByName(nn.Module):
    """Calls a module whose forward takes keywords."""

    def __init__(self, m, names):
        super().__init__()
        self.m, self.names = m, names

    def forward(self, *args):
        return self.m(**dict(zip(self.names, args)))


if __name__ == "__main__":
    main()
