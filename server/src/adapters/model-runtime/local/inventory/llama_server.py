"""Runs llama-server's routes from the package xllamacpp, with the options of llama-server that Berth gives."""

import argparse
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

options = argparse.ArgumentParser(allow_abbrev=False)
for name in ("model", "mmproj", "lora", "alias", "pooling", "reasoning-format", "chat-template"):
    options.add_argument(f"--{name}")
for name in ("port", "ctx-size", "parallel", "n-gpu-layers", "threads", "batch-size", "ubatch-size", "cache-ram"):
    options.add_argument(f"--{name}", type=int)
for name in ("no-mmproj", "lora-init-without-apply", "metrics", "embeddings", "jinja"):
    options.add_argument(f"--{name}", action="store_true")
options.add_argument("--host", default="127.0.0.1")
given = options.parse_args()

params = xllamacpp.CommonParams()
params.model.path = given.model
params.model_alias = {given.alias or "model"}
params.hostnames = [given.host]
params.port = given.port
params.no_mmproj = given.no_mmproj
params.endpoint_metrics = given.metrics
params.use_jinja = given.jinja
params.lora_init_without_apply = given.lora_init_without_apply
for option, attribute in {
    "ctx_size": "n_ctx",
    "parallel": "n_parallel",
    "n_gpu_layers": "n_gpu_layers",
    "batch_size": "n_batch",
    "ubatch_size": "n_ubatch",
    "cache_ram": "cache_ram_mib",
    "chat_template": "chat_template",
}.items():
    value = getattr(given, option)
    if value is not None:
        setattr(params, attribute, value)
if given.threads is not None:
    params.cpuparams.n_threads = given.threads
    params.cpuparams_batch.n_threads = given.threads
if given.mmproj is not None:
    params.mmproj.path = given.mmproj
if given.embeddings:
    params.embedding = True
if given.pooling is not None:
    params.pooling_type = getattr(xllamacpp.llama_pooling_type, f"LLAMA_POOLING_TYPE_{given.pooling.upper()}")
if given.reasoning_format is not None:
    formats = xllamacpp.common_reasoning_format
    params.reasoning_format = getattr(formats, f"COMMON_REASONING_FORMAT_{given.reasoning_format.upper()}")
if given.lora is not None:
    adapters = []
    for path in given.lora.split(","):
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path = path
        adapter.scale = 0.0 if given.lora_init_without_apply else 1.0
        adapters.append(adapter)
    params.lora_adapters = adapters
key = os.environ.get("LLAMA_API_KEY")
if key:
    params.api_keys = [key]
server = xllamacpp.Server(params)
threading.Event().wait()
