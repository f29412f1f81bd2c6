import { join } from 'node:path'
import { playEndpoint } from './play-endpoint.ts'
import { observeEngine, refusesKeys, startProgram } from './real-server.ts'
import type { RealServer } from './real-server.ts'

/** The virtual environment with vLLM; absent if it is not installed */
const environment = process.env['TEST_VLLM']

async function startVllm(): Promise<RealServer> {
  const key = 'sk-vllm-0123456789'
  const options = ['--api-key', key, '--served-model-name', 'tiny', '--max-model-len', '512']
  const tools = ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes']
  const command = [join(environment!, 'bin/vllm'), 'serve', process.env['TEST_VLLM_MODEL']!]
  // Compiling takes minutes for the CPU.
  const vllm = await startProgram([...command, ...options, ...tools, '--enforce-eager'], '/health', {
    HF_HUB_OFFLINE: '1',
    VLLM_CPU_KVCACHE_SPACE: '1',
    VLLM_NO_USAGE_STATS: '1',
  })
  return {
    chat: { url: vllm.url, key, model: 'tiny' },
    embedding: null,
    unknownKey: refusesKeys,
    // One response of the tiny model could be complete before vLLM notices an abort. Greedy ones are alike,
    // so vLLM refuses several.
    long: { members: { n: 16, temperature: 1, max_tokens: 450, ignore_eos: true }, tokens: 16 * 450 },
    observe: () => observeEngine({ url: vllm.url, key }),
    kill: () => vllm.kill(),
    start: () => vllm.start(),
    close: () => vllm.kill(),
  }
}

playEndpoint('vLLM on the CPU', environment === undefined ? null : startVllm)
