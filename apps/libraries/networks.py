"""Stable Diffusion's networks at their real size with random weights, and what PyTorch makes of them.

    pip install torch diffusers transformers
    python networks.py FOLDER      writes the folder of a pipeline for `cargo xtask run diffusion -- --weights FOLDER/1 "a text"`,
                                   and FOLDER/networks.json, which apps/libraries/goldens keeps

Weights are numbers of f16, in the layout of diffusers. Beside them lie inputs, and results in f32 of the same weights. All numbers
are functions of a tensor's name, so that a test makes them again from the names and shapes in networks.json.
"""

import json
import math
import sys
from pathlib import Path

import torch
from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel
from safetensors import safe_open
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
# Results of each part that goldens keep.
SAMPLES = 100


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


def split_mix(name, count):
    """The first numbers of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), whose state is the 64-bit FNV-1a hash of a name at first: 24
    bits of each."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    signed = lambda x: x - 2**64 if x >= 2**63 else x
    shifted = lambda z, bits: (z >> bits) & (2 ** (64 - bits) - 1)
    z = torch.arange(1, count + 1, device="cuda") * signed(0x9E3779B97F4A7C15) + signed(state)
    z = (z ^ shifted(z, 30)) * signed(0xBF58476D1CE4E5B9)
    z = (z ^ shifted(z, 27)) * signed(0x94D049BB133111EB)
    return shifted(z ^ shifted(z, 31), 40)


def uniform(name, shape, scale):
    """Numbers of f16 from -scale to scale."""
    numbers = split_mix(name, math.prod(shape)).float() / 2**23 - 1
    return (numbers * scale).half().float().reshape(shape)


def rounded(module):
    """Weights whose products are as large as what they are multiplied by."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            square = 1 / parameter[0].numel() if parameter.dim() > 1 else 0.25
            parameter.copy_(uniform(name, parameter.shape, math.sqrt(3 * square)))
    return module.eval()


def nhwc(images):
    return images.permute(0, 2, 3, 1) if images.dim() == 4 else images


def made(part, name, shape, **rule):
    """An input: images are numbered by pixels, as they lie on our side."""
    name = f"{part} {name}"
    if "below" in rule:
        return (split_mix(name, math.prod(shape)) % rule["below"]).int().reshape(shape)
    if "constant" in rule:
        return torch.full(shape, rule["constant"], device="cuda")
    x = uniform(name, shape, rule["scale"])
    return x.permute(0, 3, 1, 2) if x.dim() == 4 else x


def compact(value, depth=0):
    """JSON with a line for each value of the first levels."""
    if depth == 3 or not isinstance(value, dict):
        return json.dumps(value)
    inner = (f"{' ' * depth}{json.dumps(str(key))}: {compact(item, depth + 1)}" for key, item in value.items())
    return "{\n" + ",\n".join(inner) + "\n" + " " * depth + "}"


class Networks:
    """The networks of a pipeline, in its folder and in PyTorch."""

    def __init__(self, folder, version):
        self.folder = Path(folder) / str(version)
        with torch.device("cuda"):
            self.networks = {name: rounded(module) for name, module in models(version)}
        normal, context = math.sqrt(3), self.networks["unet"].config.cross_attention_dim
        # Shapes of inputs, and how their numbers are made.
        self.rules = {
            "unet": dict(x=dict(shape=[2, 64, 64, 4], scale=normal), times=dict(shape=[2], constant=981.0),
                         text=dict(shape=[2, 77, context], scale=normal)),
            "decoder": dict(x=dict(shape=[1, 64, 64, 4], scale=normal)),
            "encoder": dict(x=dict(shape=[1, 512, 512, 3], scale=1.0)),
            "text": dict(ids=dict(shape=[2, 77], below=WORDS - 2)),
        }
        for name, module in self.networks.items():
            module.half().save_pretrained(self.folder / name)
            module.float()
        tokenizer().save_pretrained(self.folder / "tokenizer")
        schedule = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1)
        DDIMScheduler(**schedule, set_alpha_to_one=False, clip_sample=False).save_pretrained(self.folder / "scheduler")
        self.exact, self.operations = {}, {}
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.rules |= self.rules_of_blocks()
        self.inputs = {part: {k: made(part, k, **rule) for k, rule in rules.items()} for part, rules in self.rules.items()}
        for part, inputs in self.inputs.items():
            with FlopCounterMode(display=False) as counter:
                y = self.compute(part, inputs)
            self.exact[part], self.operations[part] = y, counter.get_total_flops()
            images = {k: nhwc(x).contiguous().cpu() for k, x in {**inputs, "y": y}.items()}
            save_file(images, self.folder / f"{part}.safetensors")

    def rules_of_blocks(self):
        """Inputs in the shapes that the blocks are given when the whole network runs."""
        found, scale = {}, math.sqrt(3)

        def keep(name):
            def hook(module, arguments):
                found[name] = dict(x=dict(shape=list(nhwc(arguments[0]).shape), scale=scale))
                if "resnets" in name:
                    found[name]["time"] = dict(shape=list(arguments[1].shape), scale=scale)
                else:
                    found[name]["text"] = self.rules["unet"]["text"]

            return hook

        unet, inputs = self.networks["unet"], self.rules["unet"]
        hooks = [unet.get_submodule(name).register_forward_pre_hook(keep(name)) for name in BLOCKS]
        self.compute("unet", {k: made("unet", k, **rule) for k, rule in inputs.items()})
        for hook in hooks:
            hook.remove()
        return {name: found[name] for name in BLOCKS}

    def goldens(self):
        """What a test needs to make the networks again, and some of their results."""
        files = ["unet/config.json", "vae/config.json", "text_encoder/config.json", "scheduler/scheduler_config.json"]
        tensors = {}
        for folder in ("unet", "vae", "text_encoder"):
            (file,) = (self.folder / folder).glob("*.safetensors")
            with safe_open(file, "pt") as weights:
                tensors[folder] = {name: weights.get_slice(name).get_shape() for name in weights.keys()}
        return dict(
            files={file: json.loads((self.folder / file).read_text()) for file in files},
            tensors=tensors,
            parts={part: dict(inputs=rules, **self.sample(part)) for part, rules in self.rules.items()},
        )

    def sample(self, part):
        """Results at places that a function of the part's name chooses too."""
        y = nhwc(self.exact[part])
        places = split_mix(f"{part} y", SAMPLES) % y.numel()
        return dict(shape=list(y.shape), y=[float(f"{x:.7g}") for x in y.flatten()[places].tolist()])

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
    goldens = {version: Networks(sys.argv[1], version).goldens() for version in (1, 2)}
    (Path(sys.argv[1]) / "networks.json").write_text(compact(goldens) + "\n")
