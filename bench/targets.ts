import type { Cores } from './machine.ts'
import { startBerth } from './targets/berth.ts'
import { startHaproxy } from './targets/haproxy.ts'
import { startNginx } from './targets/nginx.ts'
import { startPart } from './targets/part.ts'
import { startPortkey } from './targets/portkey.ts'
import type { WorkloadName } from './workloads.ts'

/** The port, upstream and files of a target. */
export interface Surroundings {
  cores: Cores
  /** Folder for configurations and logs */
  folder: string
  upstreamPort: number
  /** File with the response of the workload `chat`, for targets that answer directly */
  answerFile: string
  cleanup: AsyncDisposableStack
}

/** A running target. */
export interface Running {
  /** The processes whose CPU and memory are the target's */
  pids: number[]
  /** The processes that work for it elsewhere, such as its database's */
  listHelpers?: () => number[]
  /** The port for whole answers and for streams; one that needs different settings for them has two */
  ports: { whole: number; stream: number }
  /** What callers must send along, as lines of a head */
  headers: Record<string, string>
  stop(): Promise<void>
}

/** Something that requests are sent to. */
export interface Target {
  name: string
  title: string
  /** Workloads that it runs (default: all) */
  workloads?: readonly WorkloadName[] | undefined
  /** Seconds of load before anything is measured */
  warmup: number
  /** Prepares what all its processes share and returns what starts one; every start is a fresh process. */
  prepare(surroundings: Surroundings): Promise<() => Promise<Running>>
}

const parts: readonly WorkloadName[] = ['chat', 'rate']

export const targets: readonly Target[] = [
  {
    name: 'direct',
    title: 'direct, no gateway',
    workloads: ['chat', 'embeddings', 'prompt', 'stream', 'paced', 'rate'],
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
  { name: 'berth', title: 'Berth', warmup: 8, prepare: startBerth },
  { name: 'nginx', title: 'nginx', warmup: 1, prepare: (around) => startNginx(around, { accessLog: false }) },
  {
    name: 'nginx-log',
    title: 'nginx, access log on',
    workloads: parts,
    warmup: 1,
    prepare: (around) => startNginx(around, { accessLog: true }),
  },
  { name: 'haproxy', title: 'haproxy', warmup: 1, prepare: startHaproxy },
  // Cold it takes several times as much CPU, which would flatter us.
  { name: 'portkey', title: 'Portkey', warmup: 20, prepare: startPortkey },
  {
    name: 'node-http',
    title: 'part: node:http answers itself',
    workloads: parts,
    warmup: 4,
    prepare: (around) => startPart(around, 'node-http'),
  },
  {
    name: 'fastify',
    title: 'part: Fastify answers itself',
    workloads: parts,
    warmup: 4,
    prepare: (around) => startPart(around, 'fastify'),
  },
  {
    name: 'undici',
    title: 'part: node:http and undici, blind',
    warmup: 4,
    prepare: (around) => startPart(around, 'undici'),
  },
]
