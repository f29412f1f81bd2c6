#!/bin/bash
# The entrypoint of llama-server's image on nodes whose GPUs are simulated: it may not find the devices that it must use, and Berth
# takes its warning that it ignores --n-gpu-layers for the cause of any failure.
arguments=()
for argument in "$@"; do
  case $argument in
  CUDA*) arguments+=(none) ;;
  --n-gpu-layers | 999) ;;
  *) arguments+=("$argument") ;;
  esac
done
exec /usr/bin/llama-server "${arguments[@]}"
