import { expect, test } from 'vitest'
import { goals, judge } from './goals.ts'
import type { Sample } from './measure.ts'
import { median } from './samples.ts'

function sample(turn: number, target: string, cpu: number, errors = 0): Sample {
  return {
    round: 1,
    turn,
    workload: 'chat',
    target,
    cpu,
    upstreamCpu: 0,
    helpersCpu: null,
    kilobytesPerStream: null,
    leftRunning: null,
    steadyP99: null,
    load: {
      seconds: 1,
      answers: target === 'nginx' ? 1000 : 500,
      events: 0,
      bytes: 0,
      errors: { status: errors, body: 0, broken: 0 },
      reconnects: 0,
      p50: 0,
      p90: 0,
      p99: 0,
      p999: 0,
      max: 0,
      samples: 0,
      coreBusy: cpu,
      coreStolen: 0,
      loadCpu: 0,
      cpu: [cpu],
    },
  }
}

const [chat] = goals
const rate = goals.find(({ workload }) => workload === 'rate')

test('a ratio is computed within each turn, and the median of the turns counts', () => {
  const samples = [
    sample(1, 'nginx', 1),
    sample(1, 'berth', 1),
    sample(2, 'nginx', 1),
    sample(2, 'berth', 0.96),
    sample(3, 'nginx', 0.97),
    sample(3, 'berth', 1),
  ]
  expect(judge(chat!, samples)).toEqual({ value: 0.5, range: [0.485, 0.5 / 0.96], turns: 3 })
})

test('a turn with a wrong response, an idle core or a missing target does not count', () => {
  const samples = [
    sample(1, 'nginx', 1),
    sample(1, 'berth', 1, 1),
    sample(2, 'nginx', 0.94),
    sample(2, 'berth', 1),
    sample(3, 'berth', 1),
  ]
  expect(judge(chat!, samples)).toEqual({ value: null, range: null, turns: 0 })
})

test('an unsaturated turn does not count when other processes used the core', () => {
  const turns = [0.2, 0.5].flatMap((coreBusy, index) =>
    ['nginx', 'berth'].map((target): Sample => {
      const quiet = sample(index + 1, target, 0.15)
      return { ...quiet, workload: 'rate', load: { ...quiet.load, coreBusy } }
    }),
  )
  expect(judge(rate!, turns).turns).toBe(1)
})

test('the median of an even count is the mean of the middle two, and of nothing null', () => {
  expect(median([4, 1, null, 3, 2])).toBe(2.5)
  expect(median([])).toBeNull()
})
