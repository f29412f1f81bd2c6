import { join } from 'node:path'
import { explainMissingPython } from '../tools/python.ts'
import { readVersion } from './machine.ts'
import type { Target } from './target.ts'
import { startBerth } from './targets/berth.ts'
import { startHaproxy } from './targets/haproxy.ts'
import { liteLlmVersion, startLiteLlm } from './targets/litellm.ts'
import { startNginx } from './targets/nginx.ts'
import { preparePeer } from './targets/peer.ts'
import { readPortkeyVersion, startPortkey } from './targets/portkey.ts'
import { smgVersion, startSmg } from './targets/smg.ts'
import { startVllmRouter, vllmRouterVersion } from './targets/vllm-router.ts'

const earlier = process.env['BENCH_EARLIER']

export const targets: readonly Target[] = [
  {
    name: 'direct',
    title: 'direct, no gateway',
    workloads: ['chat', 'embeddings', 'prompt', 'document', 'stream', 'paced', 'rate'],
    warmup: 1,
    prepare: async ({ upstreamPort }) => {
      const running = {
        pids: [],
        ports: { whole: upstreamPort, stream: upstreamPort },
        headers: {},
        stop: async () => {},
      }
      return async () => running
    },
  },
  { name: 'berth', title: 'Berth', warmup: 8, prepare: (around) => startBerth(around) },
  {
    name: 'berth-undici',
    title: 'Berth with undici',
    warmup: 8,
    prepare: (around) => startBerth(around, 'client'),
  },
  {
    name: 'berth-fastify',
    title: 'Berth without its fast path',
    warmup: 8,
    prepare: (around) => startBerth(around, 'fast-path'),
  },
  {
    name: 'berth-unlogged',
    title: 'Berth without its request log',
    warmup: 8,
    prepare: (around) => startBerth(around, 'request-log'),
  },
  {
    name: 'earlier',
    title: 'Berth, earlier',
    warmup: 8,
    explainMissing: () =>
      earlier === undefined ? 'Set BENCH_EARLIER to the folder of an earlier version.' : null,
    prepare: async (around) => {
      const { startBerth: startEarlier } = await import(join(earlier!, 'bench/targets/berth.ts'))
      const start = await startEarlier(around)
      // Early versions leave the engine's name of the model in responses.
      return async () => ({ ...(await start()), rewrites: 'model' as const })
    },
  },
  {
    name: 'nginx',
    title: 'nginx',
    warmup: 1,
    version: () => readVersion('nginx', ['-v']),
    prepare: startNginx,
  },
  {
    name: 'haproxy',
    title: 'haproxy',
    warmup: 1,
    version: () => readVersion('haproxy', ['-v']),
    prepare: startHaproxy,
  },
  {
    name: 'portkey',
    title: 'Portkey',
    // Cold it takes several times as much CPU, which would flatter us.
    warmup: 20,
    version: readPortkeyVersion,
    prepare: startPortkey,
  },
  {
    name: 'litellm',
    title: 'LiteLLM',
    // Within a minute, about 60 of the 500 streams of `paced` begin.
    workloads: ['chat', 'embeddings', 'prompt', 'document', 'stream', 'rate', 'idle'],
    warmup: 8,
    version: () => `litellm ${liteLlmVersion}`,
    explainMissing: explainMissingPython,
    prepare: startLiteLlm,
  },
  {
    name: 'smg',
    title: 'SMG',
    // Its OpenAI backend has no embeddings.
    workloads: ['chat', 'prompt', 'document', 'stream', 'paced', 'rate', 'idle'],
    warmup: 1,
    version: () => `smg ${smgVersion}`,
    explainMissing: explainMissingPython,
    prepare: startSmg,
  },
  {
    name: 'vllm-router',
    title: 'vLLM’s router',
    warmup: 1,
    version: () => `vllm-router ${vllmRouterVersion}`,
    explainMissing: explainMissingPython,
    prepare: startVllmRouter,
  },
  {
    name: 'undici',
    title: 'node:http and undici, blind',
    warmup: 4,
    prepare: async (around) =>
      preparePeer(around, {
        name: 'undici',
        command: process.execPath,
        args: (port) => [
          join(import.meta.dirname, 'targets/blind-proxy.ts'),
          String(port),
          String(around.upstreamPort),
        ],
      }),
  },
]
