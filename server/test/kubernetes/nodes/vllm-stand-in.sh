#!/bin/sh
# Takes the place of vLLM on several nodes, for which there are no GPUs: the leader answers health checks, the others wait.
echo "arguments: $*"
env | grep ^LWS_ | sort
case " $* " in
*" --headless "*)
  trap exit TERM
  while true; do sleep 1; done
  ;;
*) exec llama-server --host 0.0.0.0 --port 8000 ;;
esac
