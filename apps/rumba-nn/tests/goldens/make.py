"""Writes the goldens: for each layer its weights, what it is given, and what PyTorch computes of that in f32.

    pip install torch diffusers transformers
    python make.py

All numbers but the results are numbers of f16, so that they are the same in each type. Images lie as `[images, rows, columns,
channels]`, as the layers have them.
"""

import math
from pathlib import Path

import torch
from diffusers import AutoencoderKL, Transformer2DModel, UNet2DConditionModel
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from transformers import BertConfig, BertModel, CLIPTextConfig, CLIPTextModel


def rounded(*shape, scale=1.0):
    return (scale * torch.randn(shape)).half().float()


def layer(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(rounded(*parameter.shape, scale=parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0.5))
    return module


def of_images(module):
    """A module that takes `[images, rows, columns, channels]`."""
    return lambda x: module(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


class Attention(nn.Module):
    def __init__(self, channels, context, heads, biased, causal=False):
        super().__init__()
        self.to_q = nn.Linear(channels, channels, biased)
        self.to_k = nn.Linear(context, channels, biased)
        self.to_v = nn.Linear(context, channels, biased)
        self.to_out = nn.ModuleList([nn.Linear(channels, channels)])
        self.heads, self.causal = heads, causal

    def forward(self, x, context=None):
        context = x if context is None else context
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.to_q(x)), split(self.to_k(context)), split(self.to_v(context))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.to_out[0](attended.transpose(1, 2).flatten(2))


def timesteps(times, columns):
    frequencies = torch.exp(-math.log(10000) * torch.arange(columns // 2) / (columns // 2))
    angles = times[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], -1)


def save(name, compute, module=None, **inputs):
    with torch.no_grad():
        result = compute(*inputs.values())
    tensors = {} if module is None else {f"layer.{key}": value.half() for key, value in module.state_dict().items()}
    tensors |= {key: value.half() for key, value in inputs.items() if value.is_floating_point()}
    tensors["y"] = result.float()
    tensors = {key: value.contiguous() for key, value in tensors.items()}
    save_file(tensors, Path(__file__).with_name(f"{name}.safetensors"))


def main():
    torch.manual_seed(0)
    matrix, images = rounded(5, 24), rounded(2, 6, 5, 12)

    linear = layer(nn.Linear(24, 40))
    save("linear", linear, linear, x=matrix)
    save("linear_silu", lambda x: F.silu(linear(x)), linear, x=matrix)
    save("linear_gelu", lambda x: F.gelu(linear(x)), linear, x=matrix)
    square = layer(nn.Linear(24, 24))
    save("linear_residual", lambda x: square(x) + x, square, x=matrix)

    for name, convolution in {
        "convolution_1": nn.Conv2d(12, 20, 1),
        "convolution_3": nn.Conv2d(12, 20, 3, padding=1),
        "convolution_halving": nn.Conv2d(12, 20, 3, stride=2, padding=1),
    }.items():
        save(name, of_images(layer(convolution)), convolution, x=images)

    # Away from zero, so that the mean counts.
    group = layer(nn.GroupNorm(3, 12, eps=1e-5))
    save("group_norm", of_images(group), group, x=(images + 3).half().float())
    save("group_norm_silu", lambda x: F.silu(of_images(group)(x)), group, x=images)
    norm = layer(nn.LayerNorm(24))
    save("layer_norm", norm, norm, x=matrix)

    tokens, context = rounded(2, 9, 32), rounded(2, 7, 24)
    attention = layer(Attention(32, 32, 4, biased=True))
    save("attention_self", attention, attention, x=tokens)
    attention = layer(Attention(32, 24, 2, biased=False))
    save("attention_cross", attention, attention, x=tokens, context=context)
    attention = layer(Attention(32, 32, 4, biased=True, causal=True))
    save("attention_causal", attention, attention, x=tokens)

    save("silu", F.silu, x=matrix)
    save("gelu", F.gelu, x=matrix)
    save("relu", F.relu, x=matrix)
    save("quick_gelu", lambda x: x * torch.sigmoid(1.702 * x), x=matrix)
    save("add", lambda x: x + x, x=matrix)
    save("upsample", of_images(nn.Upsample(scale_factor=2)), x=images)
    save("concatenate", lambda x, z: torch.cat([x, z], -1), x=images, z=rounded(2, 6, 5, 7))
    save("add_to_pixels", lambda x, rows: x + rows[:, None, None], x=images, rows=rounded(2, 12))

    embedding = layer(nn.Embedding(8, 12))
    save("embedding", embedding, embedding, ids=torch.tensor([3, 0, 7, 3]))
    save("timesteps", lambda times: timesteps(times, 16), times=torch.tensor([0.0, 1.0, 999.0, 500.5]))

    shape = dict(vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
    text = layer(CLIPTextModel(CLIPTextConfig(**shape, max_position_embeddings=9, eos_token_id=39)).eval())
    save("clip_text", lambda ids: text(ids).last_hidden_state, text, ids=torch.arange(14).reshape(2, 7) * 5 % 40)

    shape = dict(vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
    bert = layer(BertModel(BertConfig(**shape, max_position_embeddings=9), add_pooling_layer=False).eval())
    save("bert", lambda ids: bert(ids).last_hidden_state, bert, ids=torch.arange(14).reshape(2, 7) * 5 % 40)

    # Pixels of two images, and five words of a text for each.
    shape = dict(num_attention_heads=2, attention_head_dim=8, in_channels=16, norm_num_groups=4, cross_attention_dim=12)
    for name, is_matrix in [("transformer_1", False), ("transformer_2", True)]:
        transformer = layer(Transformer2DModel(**shape, use_linear_projection=is_matrix).eval())
        compute = lambda x, text: of_images(lambda x: transformer(x, text).sample)(x)
        save(name, compute, transformer, x=rounded(2, 4, 3, 16), text=rounded(2, 5, 12))

    # Stable Diffusion's U-Net with two levels, of which only the first looks at the text.
    unet = UNet2DConditionModel(
        in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(4, 4), cross_attention_dim=12,
        attention_head_dim=2, norm_num_groups=2, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    unet = layer(unet.eval())
    compute = lambda x, times, text: of_images(lambda x: unet(x, times, text).sample)(x)
    images, times = rounded(2, 4, 6, 4), torch.tensor([999.0, 20.0])
    save("unet_of_text", compute, unet, x=images, times=times, text=rounded(2, 5, 12))

    vae = AutoencoderKL(
        latent_channels=4, layers_per_block=1, block_out_channels=(4, 8), norm_num_groups=2,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )
    vae = layer(vae.eval())
    encoder, quantizer = vae.encoder, vae.quant_conv
    del vae.encoder, vae.quant_conv
    save("vae_decoder", of_images(lambda x: vae.decode(x).sample), vae, x=rounded(1, 3, 4, 4))
    vae.encoder, vae.quant_conv = encoder, quantizer
    del vae.decoder, vae.post_quant_conv
    save("vae_encoder", of_images(lambda x: vae.encode(x).latent_dist.parameters), vae, x=rounded(2, 6, 8, 3))
    save("padded", lambda x: F.pad(x, (0, 0, 0, 1, 0, 1)), x=rounded(2, 6, 5, 12))

    torch.manual_seed(1)
    compute = lambda x, times, text: of_images(lambda x: unet(x, times, text).sample)(x)
    save("unet_of_odd_images", compute, layer(unet), x=rounded(1, 9, 6, 4), times=torch.tensor([500.0]), text=rounded(1, 5, 12))


if __name__ == "__main__":
    main()
