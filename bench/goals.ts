import type { Sample } from './measure.ts'
import { isValid, median } from './samples.ts'
import { workloads } from './workloads.ts'
import type { WorkloadName } from './workloads.ts'

/** A requirement: one row of the summary table. */
export interface Goal {
  title: string
  workload: WorkloadName
  better: 'more' | 'less'
  must: number
  aim: number
  decimals: number
  /** Targets that a turn must include */
  needs: string[]
  /** A workload of the same turn with which Berth's figure is compared */
  beside?: WorkloadName
  /** Berth's figure in one turn */
  of: (turn: Turn) => number
}

/** The samples of one turn by target, of the goal's workload or another one. A missing target throws. */
type Turn = (target: string, workload?: WorkloadName) => Sample

const berth = 'berth'
const cpuPerAnswer = ({ cpu, load }: Sample) => cpu / load.answers
const cpuPerEvent = ({ cpu, load }: Sample) => cpu / load.events
const rate = ({ load }: Sample) => load.answers / load.seconds
const milliseconds = (microseconds: number) => microseconds / 1000
const againstNginx = (of: (sample: Sample) => number) => (turn: Turn) => of(turn('nginx')) / of(turn(berth))
const addedP99 = (turn: Turn) => milliseconds(turn(berth).load.p99 - turn('direct').load.p99)

function ratioToNginx(workload: WorkloadName, title: string, must: number, aim: number): Goal {
  return {
    title: `${title}: CPU, nginx's ÷ ours`,
    workload,
    better: 'more',
    must,
    aim,
    decimals: 2,
    needs: [berth, 'nginx'],
    of: againstNginx(cpuPerAnswer),
  }
}

const others = { undici: 'a blind node:http and undici', earlier: 'that of the earlier version' } as const

/** CPU time beside a program of node:http and undici that forwards without looking, or an earlier Berth. */
function ratioTo(
  other: keyof typeof others,
  workload: WorkloadName,
  title: string,
  must: number,
  aim = must,
): Goal {
  return {
    title: `${title}: CPU, ours ÷ ${others[other]}`,
    workload,
    better: 'less',
    must,
    aim,
    decimals: 2,
    needs: [berth, other],
    of: (turn) => cpuPerAnswer(turn(berth)) / cpuPerAnswer(turn(other)),
  }
}

/** Requests beside the fastest of the other gateways for models. */
function ratioToPeers(workload: WorkloadName, title: string, peers: readonly string[]): Goal {
  return {
    title: `${title}: requests, ours ÷ those of the fastest of ${peers.join(', ')}`,
    workload,
    better: 'more',
    must: 1,
    aim: 1,
    decimals: 2,
    needs: [berth, ...peers],
    of: (turn) => rate(turn(berth)) / Math.max(...peers.map((peer) => rate(turn(peer)))),
  }
}

/** CPU time beside that of a chat whose request and answer have the same length. */
function ratioToChat(workload: WorkloadName, beside: WorkloadName, title: string): Goal {
  return {
    title: `${title}: CPU, ÷ that of a chat`,
    workload,
    beside,
    better: 'less',
    must: 1.15,
    aim: 1.15,
    decimals: 2,
    needs: [berth],
    of: (turn) => cpuPerAnswer(turn(berth)) / cpuPerAnswer(turn(berth, beside)),
  }
}

const peers = ['smg', 'vllm-router', 'portkey', 'litellm']

export const goals: readonly Goal[] = [
  ratioToNginx('chat', '1 KB chat', 0.4, 0.55),
  ratioTo('undici', 'chat', '1 KB chat', 1),
  ratioToPeers('chat', '1 KB chat', peers),
  ratioTo('earlier', 'chat', '1 KB chat', 1.1, 1),
  ratioToNginx('embeddings', '100 KB embeddings answer', 0.6, 0.9),
  ratioToNginx('prompt', '33 KB prompt', 0.25, 0.35),
  ratioTo('undici', 'prompt', '33 KB prompt', 1),
  ratioToPeers('prompt', '33 KB prompt', peers),
  ratioTo('earlier', 'prompt', '33 KB prompt', 1.1, 1),
  ratioTo('undici', 'document', '1 MB prompt', 1),
  ratioToNginx('stream', 'unpaced streams', 0.45, 1),
  ratioTo('undici', 'stream', 'unpaced streams', 0.55),
  ratioToPeers('stream', 'unpaced streams', peers),
  ratioTo('earlier', 'stream', 'unpaced streams', 1.1, 1),
  {
    title: "500 requests/s: p50 over nginx's, ms",
    workload: 'rate',
    better: 'less',
    must: 0.1,
    aim: 0.05,
    decimals: 3,
    needs: [berth, 'nginx'],
    of: (turn) => milliseconds(turn(berth).load.p50 - turn('nginx').load.p50),
  },
  {
    title: '500 requests/s: added p99, ms',
    workload: 'rate',
    better: 'less',
    must: 2,
    aim: 0.8,
    decimals: 2,
    needs: [berth, 'direct'],
    of: addedP99,
  },
  {
    ...ratioToNginx('paced', '500 paced streams', 0.6, 0.8),
    title: "500 paced streams: CPU per event, nginx's ÷ ours",
    of: againstNginx(cpuPerEvent),
  },
  {
    title: '500 paced streams: added p99, ms',
    workload: 'paced',
    better: 'less',
    must: 8,
    aim: 3,
    decimals: 2,
    needs: [berth, 'direct'],
    of: addedP99,
  },
  {
    title: '1 KB chat after 12 s of silence: p99, ÷ before',
    workload: 'burst',
    better: 'less',
    must: 1.5,
    aim: 1.5,
    decimals: 2,
    needs: [berth],
    of: (turn) => turn(berth).load.p99 / (turn(berth).steadyP99 ?? Number.NaN),
  },
  {
    title: '2,000 idle streams: KB each',
    workload: 'idle',
    better: 'less',
    must: 24,
    aim: 18,
    decimals: 1,
    needs: [berth],
    of: (turn) => turn(berth).kilobytesPerStream ?? Number.NaN,
  },
  {
    title: '2,000 callers left: engine requests still running after 1 s',
    workload: 'idle',
    better: 'less',
    must: 0,
    aim: 0,
    decimals: 0,
    needs: [berth],
    of: (turn) => turn(berth).leftRunning ?? Number.NaN,
  },
  ratioToChat('responses', 'chat', '/v1/responses'),
  ratioToChat('responses-stream', 'stream', '/v1/responses, streamed'),
  ratioToChat('messages', 'chat', '/v1/messages'),
  ratioToChat('messages-stream', 'stream', '/v1/messages, streamed'),
]

function listValid(name: WorkloadName, samples: readonly Sample[]): Sample[] {
  const workload = workloads.find((each) => each.name === name)
  if (workload === undefined) throw new Error(`There is no workload ${name}.`)
  return samples.filter((sample) => sample.workload === name && isValid(sample, workload))
}

/** The median, range and number of the turns in which all samples of the goal are valid. */
export function judge(
  { workload: name, beside, needs, of }: Goal,
  samples: readonly Sample[],
): { value: number | null; range: [number, number] | null; turns: number } {
  const names = [name, ...(beside === undefined ? [] : [beside])]
  const valid = names.flatMap((each) => listValid(each, samples))
  const values = [...Map.groupBy(valid, ({ round, turn }) => `${round}.${turn}`).values()].flatMap((turn) => {
    const find = (target: string, of = name) =>
      turn.find((sample) => sample.target === target && sample.workload === of)
    if (!needs.every((target) => names.every((each) => find(target, each)))) return []
    const value = of((target, workload) => {
      const sample = find(target, workload)
      if (sample === undefined) throw new Error(`${target} is missing.`)
      return sample
    })
    return Number.isFinite(value) ? [value] : []
  })
  return {
    value: median(values),
    range: values.length === 0 ? null : [Math.min(...values), Math.max(...values)],
    turns: values.length,
  }
}
