"""Stable Diffusion's networks at their real size with random weights, and what PyTorch makes of them.

    pip install torch diffusers transformers
    python networks.py FOLDER      writes the folder of a pipeline for `cargo xtask run diffusion -- --weights FOLDER/1 "a text"`

Weights are numbers of f16, in the layout of diffusers. Beside them lie inputs, and results in f32 of the same weights.
"""

import sys
from pathlib import Path

import torch
from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel
from safetensors.torch import save_file
from tokenizers.pre_tokenizers import ByteLevel
from torch.utils.flop_counter import FlopCounterMode
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

PARTS = ["unet", "decoder", "encoder", "text"]
# One of each kind and size of the U-Net's blocks.
BLOCKS = [
    "down_blocks.0.resnets.0",
    "down_blocks.0.attentions.0",
    "down_blocks.1.resnets.0",
    "down_blocks.1.attentions.0",
    "down_blocks.2.resnets.0",
    "down_blocks.2.attentions.0",
    "down_blocks.3.resnets.0",
    "mid_block.attentions.0",
    "up_blocks.1.resnets.0",
    "up_blocks.3.resnets.0",
]
WORDS = 49408


def tokenizer():
    """Pieces of one byte: a text of any words is read, by as many numbers as the published tokenizer has."""
    letters = sorted(ByteLevel.alphabet())
    words = letters + [letter + "</w>" for letter in letters]
    words += [f"<|unused {i}|>" for i in range(WORDS - 2 - len(words))] + ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer({word: i for i, word in enumerate(words)}, [], model_max_length=77)


def models(version):
    """Those of Stable Diffusion 1.5 and 2.1."""
    shape = [
        dict(cross_attention_dim=768, attention_head_dim=8),
        dict(cross_attention_dim=1024, attention_head_dim=[5, 10, 20, 20], use_linear_projection=True),
    ][version - 1]
    yield "unet", UNet2DConditionModel(sample_size=64, **shape)
    shape = dict(block_out_channels=(128, 256, 512, 512), layers_per_block=2, sample_size=512)
    kinds = dict(down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4)
    yield "vae", AutoencoderKL(latent_channels=4, **shape, **kinds)
    shape = [
        dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, hidden_act="quick_gelu"),
        dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=23, num_attention_heads=16, hidden_act="gelu"),
    ][version - 1]
    ids = dict(bos_token_id=WORDS - 2, eos_token_id=WORDS - 1, pad_token_id=WORDS - 1)
    yield "text_encoder", CLIPTextModel(CLIPTextConfig(vocab_size=WORDS, max_position_embeddings=77, **shape, **ids))


def rounded(module):
    with torch.no_grad():
        for parameter in module.parameters():
            scale = parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0.5
            parameter.copy_((scale * torch.randn_like(parameter)).half())
    return module.eval()


def nhwc(images):
    return images.permute(0, 2, 3, 1)


class Networks:
    """The networks of a pipeline, in its folder and in PyTorch."""

    def __init__(self, folder, version):
        torch.manual_seed(version)
        self.folder = Path(folder) / str(version)
        with torch.device("cuda"):
            self.networks = {name: rounded(module) for name, module in models(version)}
        self.inputs = {
            "unet": dict(x=torch.randn(2, 4, 64, 64), times=torch.tensor([981.0, 981.0]),
                         text=torch.randn(2, 77, self.networks["unet"].config.cross_attention_dim)),
            "decoder": dict(x=torch.randn(1, 4, 64, 64)),
            "encoder": dict(x=torch.rand(1, 3, 512, 512) * 2 - 1),
            "text": dict(ids=torch.randint(WORDS - 2, (2, 77), dtype=torch.int32)),
        }
        half = lambda x: x.half().float() if x.is_floating_point() else x
        self.inputs = {part: {k: half(x).cuda() for k, x in inputs.items()} for part, inputs in self.inputs.items()}
        for name, module in self.networks.items():
            module.half().save_pretrained(self.folder / name)
            module.float()
        tokenizer().save_pretrained(self.folder / "tokenizer")
        schedule = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1)
        DDIMScheduler(**schedule, set_alpha_to_one=False, clip_sample=False).save_pretrained(self.folder / "scheduler")
        self.exact, self.operations = {}, {}
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.inputs |= self.inputs_of_blocks()
        for part in self.inputs:
            inputs = self.inputs[part]
            with FlopCounterMode(display=False) as counter:
                y = self.compute(part, inputs)
            self.exact[part], self.operations[part] = y, counter.get_total_flops()
            images = {k: nhwc(x) if x.dim() == 4 else x for k, x in {**inputs, "y": y}.items()}
            save_file({k: x.contiguous().cpu() for k, x in images.items()}, self.folder / f"{part}.safetensors")

    def inputs_of_blocks(self):
        """What the blocks are given when the whole network runs."""
        found = {}
        text = self.inputs["unet"]["text"]

        def keep(name):
            def hook(module, arguments):
                x = arguments[0].half().float()
                if "resnets" in name:
                    found[name] = dict(x=x, time=torch.nn.functional.silu(arguments[1]).half().float())
                else:
                    found[name] = dict(x=x, text=text)

            return hook

        unet = self.networks["unet"]
        hooks = [unet.get_submodule(name).register_forward_pre_hook(keep(name)) for name in BLOCKS]
        self.compute("unet", self.inputs["unet"])
        for hook in hooks:
            hook.remove()
        return {name: found[name] for name in BLOCKS}

    def compute(self, part, inputs):
        networks = self.networks
        with torch.no_grad():
            if part in BLOCKS:
                block = networks["unet"].get_submodule(part)
                if "time" not in inputs:
                    return block(inputs["x"], inputs["text"]).sample
                # The time is activated already.
                block.skip_time_act = True
                try:
                    return block(inputs["x"], inputs["time"])
                finally:
                    block.skip_time_act = False
            if part == "unet":
                return networks["unet"](inputs["x"], inputs["times"], inputs["text"]).sample
            if part == "decoder":
                return networks["vae"].decode(inputs["x"]).sample
            if part == "encoder":
                return networks["vae"].encode(inputs["x"]).latent_dist.parameters
            return networks["text_encoder"](inputs["ids"]).last_hidden_state

    def library(self, part, numbers, channels_last):
        """PyTorch's side of a comparison: its error is the attribute `error` then, and what it holds of memory `bytes`."""
        torch.backends.cudnn.benchmark = True
        kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[numbers]
        torch.cuda.synchronize()
        layout = dict(memory_format=torch.channels_last) if channels_last else {}
        name = {"text": "text_encoder", "decoder": "vae", "encoder": "vae"}.get(part, "unet")
        self.networks[name].to(dtype=kind, **layout)
        inputs = {k: x.to(kind) if x.is_floating_point() else x for k, x in self.inputs[part].items()}
        inputs = {k: x.to(**layout) if x.dim() == 4 else x for k, x in inputs.items()}

        def work():
            return self.compute(part, inputs)

        work()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        y = work()
        work.bytes = torch.cuda.max_memory_allocated() - before
        work.bytes += sum(p.numel() * p.element_size() for p in self.networks[name].parameters())
        exact = self.exact[part]
        work.error = ((y.float() - exact).abs().max() / exact.square().mean().sqrt()).item()
        return work


if __name__ == "__main__":
    for version in (1, 2):
        Networks(sys.argv[1], version)
