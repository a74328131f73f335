"""Writes two tiny pipelines with random weights, in the layout of diffusers, and what diffusers draws with them in f32.

    pip install torch diffusers transformers
    python make.py

`one` is built as Stable Diffusion 1.5, with weights in f16, and has the names of files and weights that published folders have, which
older versions wrote. `two` is built as 2.1, with weights in f32. All weights are numbers of f16.
"""

import json
import shutil
from pathlib import Path

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    PNDMScheduler,
    StableDiffusionImg2ImgPipeline,
    StableDiffusionPipeline,
    UNet2DConditionModel,
)
from safetensors.torch import load_file, save_file
from tokenizers.pre_tokenizers import ByteLevel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

HERE = Path(__file__).parent
SAMPLERS = {"ddim": DDIMScheduler, "euler": EulerDiscreteScheduler, "dpm": DPMSolverMultistepScheduler}
PROMPT, NEGATIVE = "A lighthouse in the storm, oil on canvas", "blurry"
HEIGHT, WIDTH = 16, 24
# What the words of the tokenizer are made of.
CORPUS = """
a photo of an astronaut riding a horse on mars; a lighthouse in the storm, oil on canvas; a red house by the sea at sunset, painting;
the cat sat on the mat; portrait of an old sailor, studio light; blurry, low quality; a castle in the mountains, morning light;
"""
TEXTS = [
    "",
    PROMPT,
    NEGATIVE,
    "  The\tCAT's  mat…  2024 isn't\n30% off!!",
    "naïve café, Ünïcödé — 東京 の夜 🌊🌊",
    "cafe\u0301",  # composed before it is looked up
    "a<|endoftext|>b <|startoftext|>",
    "It'll we're they've I'm he'd x's",
    "a lighthouse " * 60,  # longer than a text may be
]


def merges(count):
    """Byte-pair encoding (Sennrich, Haddow, Birch 2016) of the corpus: the pairs that are most frequent."""
    words = [[*word[:-1], word[-1] + "</w>"] for word in CORPUS.replace(",", " ,").replace(";", " ;").split()]
    pairs = []
    while len(pairs) < count:
        found = {}
        for word in words:
            for pair in zip(word, word[1:]):
                found[pair] = found.get(pair, 0) + 1
        best = max(found, key=lambda pair: (found[pair], pair))
        pairs.append(best)
        for word in words:
            for i in range(len(word) - 1, 0, -1):
                if tuple(word[i - 1 : i + 1]) == best:
                    word[i - 1 : i + 1] = ["".join(best)]
    return pairs


def tokenizer(pad):
    letters = sorted(ByteLevel.alphabet())
    pairs = merges(90)
    words = letters + [letter + "</w>" for letter in letters] + ["".join(pair) for pair in pairs]
    words += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer({word: i for i, word in enumerate(words)}, pairs, pad_token=pad, model_max_length=77)


def rounded(module):
    with torch.no_grad():
        for parameter in module.parameters():
            scale = parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0.5
            parameter.copy_((scale * torch.randn(parameter.shape)).half())
    return module.eval()


def pipeline(is_second):
    words = tokenizer("!" if is_second else "<|endoftext|>")
    text = CLIPTextConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=77, hidden_act="gelu" if is_second else "quick_gelu",
        bos_token_id=words.bos_token_id, eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
    )
    unet = UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(4, 8), norm_num_groups=2,
        cross_attention_dim=16, attention_head_dim=[2, 4] if is_second else 2, use_linear_projection=is_second,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    vae = AutoencoderKL(
        latent_channels=4, layers_per_block=1, block_out_channels=(4, 8), norm_num_groups=2, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )
    schedule = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1, set_alpha_to_one=False)
    if is_second:
        scheduler = DDIMScheduler(**schedule, clip_sample=False, prediction_type="v_prediction")
    else:
        scheduler = PNDMScheduler(**schedule, skip_prk_steps=True)
    parts = dict(
        vae=rounded(vae), text_encoder=rounded(CLIPTextModel(text)), tokenizer=words, unet=rounded(unet), scheduler=scheduler,
        safety_checker=None, feature_extractor=None,
    )
    return StableDiffusionPipeline(**parts, requires_safety_checker=False)


def write(pipe, folder, dtype):
    shutil.rmtree(folder, ignore_errors=True)
    pipe.to(dtype).save_pretrained(folder)
    words = folder / "tokenizer"
    if dtype == torch.float16:
        model = json.loads((words / "tokenizer.json").read_text())["model"]
        (words / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False))
        lines = ["#version: 0.2", *(" ".join(pair) for pair in model["merges"])]
        (words / "merges.txt").write_text("\n".join(lines) + "\n")
        (words / "tokenizer.json").unlink()
        rename(folder / "text_encoder/model.safetensors", lambda name: f"text_model.{name}")
        rename(folder / "vae/diffusion_pytorch_model.safetensors", older)


def rename(file, change):
    save_file({change(name): tensor for name, tensor in load_file(file).items()}, file)


def older(name):
    for now, then in [("to_q", "query"), ("to_k", "key"), ("to_v", "value"), ("to_out.0", "proj_attn")]:
        name = name.replace(f"attentions.0.{now}.", f"attentions.0.{then}.")
    return name


def nhwc(images):
    return images.permute(0, 2, 3, 1).contiguous()


def draw(pipe, name, tensors):
    noise = torch.randn(1, 4, HEIGHT // 2, WIDTH // 2)
    tensors[f"{name}.noise"] = nhwc(noise)
    image = torch.rand(1, 3, HEIGHT, WIDTH)
    image = (image * 255).round() / 255
    tensors[f"{name}.image"] = nhwc(image)
    common = dict(prompt=PROMPT, negative_prompt=NEGATIVE)
    # What an image's distribution is sampled with, and what is added to it.
    generator = torch.Generator().manual_seed(7)
    for kind in ["sample", "added"]:
        tensors[f"{name}.{kind}"] = nhwc(torch.randn(noise.shape, generator=generator))
    plain = pipe.scheduler.config
    for sampler, scheduler in SAMPLERS.items():
        # The pipeline's constructor sets the scheduler right: nothing is clipped.
        parts = pipe.components | dict(scheduler=scheduler.from_config(plain))
        pipe = StableDiffusionPipeline(**parts, requires_safety_checker=False)
        pipe.set_progress_bar_config(disable=True)
        arguments = dict(**common, height=HEIGHT, width=WIDTH, num_inference_steps=6, guidance_scale=5.0)
        for kind, extra in {"latents": dict(output_type="latent"), "picture": dict(output_type="pt")}.items():
            result = pipe(**arguments, latents=noise, **extra).images
            tensors[f"{name}.{sampler}.{kind}"] = nhwc(result)
        of_image = StableDiffusionImg2ImgPipeline(**pipe.components, requires_safety_checker=False)
        of_image.set_progress_bar_config(disable=True)
        arguments = dict(**common, image=image, strength=0.6, num_inference_steps=10, guidance_scale=3.0)
        for kind, extra in {"latents": dict(output_type="latent"), "picture": dict(output_type="pt")}.items():
            result = of_image(**arguments, generator=torch.Generator().manual_seed(7), **extra).images
            tensors[f"{name}.{sampler}.of_image.{kind}"] = nhwc(result)


def tokens(pipe):
    one = lambda text: pipe.tokenizer(text, padding="max_length", max_length=77, truncation=True).input_ids
    return [{"text": text, "ids": one(text)} for text in TEXTS]


def schedules():
    """Each sampler in each setting, on numbers instead of images: what the network would say is a formula."""
    cases = []
    for sampler, scheduler in SAMPLERS.items():
        for spacing in ["leading", "linspace", "trailing"]:
            for prediction in ["epsilon", "v_prediction", "sample"]:
                for steps, first in [(1, 0), (2, 0), (7, 0), (20, 0), (20, 8)]:
                    config = dict(
                        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1,
                        timestep_spacing=spacing, prediction_type=prediction,
                    )
                    if sampler == "ddim":
                        config |= dict(set_alpha_to_one=False, clip_sample=False)
                    own = scheduler(**config)
                    own.set_timesteps(steps)
                    x = torch.tensor([0.7, -1.3, 0.1, 2.0])
                    if first == 0:
                        x = x * own.init_noise_sigma
                    else:
                        if sampler != "ddim":
                            own.set_begin_index(first)
                        original = torch.tensor([0.5, -0.5, 0.25, 1.0])
                        x = own.add_noise(original, x, own.timesteps[first : first + 1])
                    times = own.timesteps[first:]
                    for t in times:
                        given = own.scale_model_input(x, t)
                        x = own.step(torch.sin(3 * given + t / 500), t, x).prev_sample
                    case = {"sampler": sampler, "config": config, "steps": steps, "first": first}
                    cases.append(case | {"times": times.tolist(), "result": x.tolist()})
    return cases


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tensors, texts = {}, {}
    for name, dtype in [("one", torch.float16), ("two", torch.float32)]:
        write(pipeline(name == "two"), HERE / name, dtype)
        pipe = StableDiffusionPipeline.from_pretrained(HERE / name, torch_dtype=torch.float32)
        texts[name] = tokens(pipe)
        draw(pipe, name, tensors)
    save_file(tensors, HERE / "pictures.safetensors")
    (HERE / "tokens.json").write_text(json.dumps(texts, ensure_ascii=False, indent=1) + "\n")
    lines = ",\n".join(json.dumps(case) for case in schedules())
    (HERE / "schedules.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
