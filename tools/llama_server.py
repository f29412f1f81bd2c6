"""Runs llama-server's routes from the package xllamacpp, with the options that Berth's suites use."""

import argparse
import threading

import xllamacpp

options = argparse.ArgumentParser()
options.add_argument("--model", required=True)
options.add_argument("--alias", default="model")
options.add_argument("--host", default="127.0.0.1")
options.add_argument("--port", type=int, required=True)
options.add_argument("--ctx-size", type=int, default=4096)
options.add_argument("--parallel", type=int, default=1)
options.add_argument("--threads", type=int)
options.add_argument("--gpu-layers", type=int, default=0)
options.add_argument("--api-key")
options.add_argument("--embeddings", action="store_true")
options.add_argument("--metrics", action="store_true")
given = options.parse_args()

params = xllamacpp.CommonParams()
params.model.path = given.model
params.model_alias = {given.alias}
params.hostnames = [given.host]
params.port = given.port
params.n_ctx = given.ctx_size
params.n_parallel = given.parallel
params.n_gpu_layers = given.gpu_layers
params.use_jinja = True
params.embedding = given.embeddings
params.endpoint_metrics = given.metrics
if given.threads is not None:
    params.cpuparams.n_threads = given.threads
    params.cpuparams_batch.n_threads = given.threads
if given.api_key is not None:
    params.api_keys = [given.api_key]
server = xllamacpp.Server(params)
threading.Event().wait()
