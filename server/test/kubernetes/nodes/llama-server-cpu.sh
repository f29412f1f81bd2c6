#!/bin/bash
# The entrypoint of llama-server's image on nodes whose GPUs are simulated: it may not find the devices that it must use.
exec /usr/bin/llama-server "${@/#CUDA*/none}"
