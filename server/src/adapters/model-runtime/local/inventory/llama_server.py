"""Runs llama-server's routes from the package xllamacpp, with the options of llama-server that Berth gives."""

import argparse
import json
import os
import re
import sys
import threading

import xllamacpp

# The last number of the package's version is the build of llama.cpp.
build = re.search(r"\d+$", xllamacpp.__version__)
if "--version" in sys.argv:
    print(f"version: {build.group() if build else 0} (xllamacpp {xllamacpp.__version__})")
    sys.exit()
if "--list-devices" in sys.argv:
    print("Available devices:")
    for device in xllamacpp.get_device_info():
        if device["type"] != xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU:
            print(f"  {device['name']}: {device['description']} ({device['memory_total'] >> 20} MiB)")
    sys.exit()


class Options(argparse.ArgumentParser):
    def error(self, message):
        unknown = re.search(r"unrecognized arguments: (--\S+)", message)
        reason = f"it doesn't have the option {unknown.group(1)}" if unknown else message
        sys.exit(f"error: llama-server of the package xllamacpp can't start: {reason}.")


def member(enum, prefix):
    """Reads a name of an enumeration, such as q8_0 of GGML_TYPE_Q8_0."""
    return lambda text: getattr(enum, prefix + text.upper().replace("-", "_"))


def to_list(read):
    return lambda text: [read(each) for each in text.split(",")]


def to_template_values(text):
    return {name: json.dumps(value) for name, value in json.loads(text).items()}


flash_attention = {"auto": "auto", "on": "enabled", "off": "disabled"}
# Options with a value: where llama.cpp has it, and how it is read
values = {
    "alias": ("model_alias", lambda text: {text}),
    "batch-size": ("n_batch", int),
    "cache-ram": ("cache_ram_mib", int),
    "cache-reuse": ("n_cache_reuse", int),
    "cache-type-k": ("cache_type_k", member(xllamacpp.ggml_type, "GGML_TYPE_")),
    "cache-type-v": ("cache_type_v", member(xllamacpp.ggml_type, "GGML_TYPE_")),
    "chat-template": ("chat_template", str),
    "chat-template-kwargs": ("default_template_kwargs", to_template_values),
    "ctx-size": ("n_ctx", int),
    "draft-max": ("speculative.draft.n_max", int),
    "draft-min": ("speculative.draft.n_min", int),
    "draft-p-min": ("speculative.draft.p_min", float),
    "flash-attn": (
        "flash_attn_type",
        lambda text: member(xllamacpp.llama_flash_attn_type, "LLAMA_FLASH_ATTN_TYPE_")(flash_attention[text]),
    ),
    "frequency-penalty": ("sampling.penalty_freq", float),
    "host": ("hostnames", lambda text: [text]),
    "image-max-tokens": ("image_max_tokens", int),
    "image-min-tokens": ("image_min_tokens", int),
    "min-p": ("sampling.min_p", float),
    "mmproj": ("mmproj.path", str),
    "model": ("model.path", str),
    "n-gpu-layers": ("n_gpu_layers", int),
    "parallel": ("n_parallel", int),
    "pooling": ("pooling_type", member(xllamacpp.llama_pooling_type, "LLAMA_POOLING_TYPE_")),
    "port": ("port", int),
    "presence-penalty": ("sampling.penalty_present", float),
    "reasoning-budget": ("sampling.reasoning_budget_tokens", int),
    "reasoning-format": (
        "reasoning_format",
        member(xllamacpp.common_reasoning_format, "COMMON_REASONING_FORMAT_"),
    ),
    "repeat-penalty": ("sampling.penalty_repeat", float),
    "rope-freq-base": ("rope_freq_base", float),
    "rope-freq-scale": ("rope_freq_scale", float),
    "rope-scale": ("rope_freq_scale", lambda text: 1 / float(text)),
    "rope-scaling": ("rope_scaling_type", member(xllamacpp.llama_rope_scaling_type, "LLAMA_ROPE_SCALING_TYPE_")),
    "seed": ("sampling.seed", lambda text: int(text) % 2**32),
    "slot-prompt-similarity": ("slot_prompt_similarity", float),
    "spec-type": (
        "speculative.types",
        to_list(member(xllamacpp.common_speculative_type, "COMMON_SPECULATIVE_TYPE_")),
    ),
    "split-mode": ("split_mode", member(xllamacpp.llama_split_mode, "LLAMA_SPLIT_MODE_")),
    "temp": ("sampling.temp", float),
    "top-k": ("sampling.top_k", int),
    "top-p": ("sampling.top_p", float),
    "ubatch-size": ("n_ubatch", int),
    "yarn-attn-factor": ("yarn_attn_factor", float),
    "yarn-beta-fast": ("yarn_beta_fast", float),
    "yarn-beta-slow": ("yarn_beta_slow", float),
    "yarn-ext-factor": ("yarn_ext_factor", float),
    "yarn-orig-ctx": ("yarn_orig_ctx", int),
}
# Options without one, and the value that each stands for
switches = {
    "cont-batching": ("cont_batching", True),
    "no-cont-batching": ("cont_batching", False),
    "context-shift": ("ctx_shift", True),
    "no-context-shift": ("ctx_shift", False),
    "embeddings": ("embedding", True),
    "jinja": ("use_jinja", True),
    "kv-unified": ("kv_unified", True),
    "lora-init-without-apply": ("lora_init_without_apply", True),
    "metrics": ("endpoint_metrics", True),
    "no-mmap": ("load_mode", xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE),
    "no-mmproj": ("no_mmproj", True),
    "no-warmup": ("warmup", False),
}

options = Options(allow_abbrev=False)
for name in (*values, "lora", "device", "threads"):
    options.add_argument(f"--{name}")
for name in switches:
    options.add_argument(f"--{name}", action="store_true")
given = vars(options.parse_args())


def put(path, value):
    *parents, attribute = path.split(".")
    target = params
    for parent in parents:
        target = getattr(target, parent)
    setattr(target, attribute, value)


params = xllamacpp.CommonParams()
params.model_alias = {"model"}
params.hostnames = ["127.0.0.1"]
# Its default differs from llama-server's.
params.use_jinja = False
for name, (path, read) in values.items():
    text = given[name.replace("-", "_")]
    if text is None:
        continue
    try:
        put(path, read(text))
    except (AttributeError, KeyError, TypeError, ValueError):
        options.error(f"--{name} can't be {text}")
for name, (path, value) in switches.items():
    if given[name.replace("-", "_")]:
        put(path, value)
if given["threads"] is not None:
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(given["threads"])
if given["device"] is not None:
    wanted = given["device"].split(",")
    kinds = xllamacpp.ggml_backend_dev_type
    gpus = [each["name"] for each in xllamacpp.get_device_info() if each["type"] != kinds.GGML_BACKEND_DEVICE_TYPE_CPU]
    if wanted == ["none"]:
        params.n_gpu_layers = 0
        params.no_kv_offload = params.no_op_offload = True
    elif not set(wanted) <= set(gpus):
        options.error(f"it has no device {given['device']}")
    else:
        parts = [float(name in wanted) for name in gpus]
        params.tensor_split = parts + [0.0] * (len(params.tensor_split) - len(parts))
if given["lora"] is not None:
    adapters = []
    for path in given["lora"].split(","):
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path = path
        adapter.scale = 0.0 if params.lora_init_without_apply else 1.0
        adapters.append(adapter)
    params.lora_adapters = adapters
key = os.environ.get("LLAMA_API_KEY")
if key:
    params.api_keys = [key]
server = xllamacpp.Server(params)
threading.Event().wait()
