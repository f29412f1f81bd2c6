import { describe, expect, test } from 'vitest'
import type { DeploymentTotals } from './store.ts'
import { findWindowStart, summarize } from './summarize.ts'

const now = new Date('2026-03-01T10:42:30.500Z')

function minute(at: string, changes: Partial<DeploymentTotals> = {}): DeploymentTotals {
  return {
    deploymentId: 'd',
    at: new Date(at),
    requests: 1,
    errors: 0,
    failedByStatus: {},
    callerLeft: 0,
    retries: 0,
    inputTokens: 2,
    outputTokens: 3,
    inFlightSeconds: 0,
    waitingSeconds: 0,
    firstByteBuckets: { 10: 1 },
    durationBuckets: { 50: 1 },
    ...changes,
  }
}

describe('findWindowStart', () => {
  test.each([
    ['15m', '2026-03-01T10:28:00.000Z'],
    ['1h', '2026-03-01T09:43:00.000Z'],
    ['24h', '2026-02-28T11:00:00.000Z'],
  ] as const)('%s starts at %s', (window, start) => {
    expect(findWindowStart(window, now).toISOString()).toBe(start)
  })
})

describe('summarize', () => {
  test('without minutes: every step is present, with zeros and nulls', () => {
    for (const [window, steps, last] of [
      ['15m', 15, '2026-03-01T10:42:00.000Z'],
      ['1h', 60, '2026-03-01T10:42:00.000Z'],
      ['24h', 48, '2026-03-01T10:30:00.000Z'],
    ] as const) {
      const summary = summarize([], [], window, { from: findWindowStart(window, now), to: now })
      expect(summary).toMatchObject({ requests: 0, errors: 0, firstByte: null, duration: null })
      expect(summary.series).toHaveLength(steps)
      expect(summary.series.at(-1)).toEqual({
        at: new Date(last),
        requests: 0,
        errors: 0,
        outputTokens: 0,
        durationP50: null,
        durationP95: null,
        inFlight: 0,
        waiting: 0,
        instances: 0,
      })
    }
  })

  test('minutes count in their step, and minutes outside the window are ignored', () => {
    const rows = [
      minute('2026-03-01T09:59:00Z', { requests: 100 }),
      minute('2026-03-01T10:28:00Z', { errors: 1 }),
      minute('2026-03-01T10:42:00Z', { requests: 4, durationBuckets: { 50: 1, 100: 3 } }),
      minute('2026-03-01T10:43:00Z', { requests: 100 }),
    ]
    const summary = summarize(rows, [], '15m', { from: findWindowStart('15m', now), to: now })
    expect(summary).toMatchObject({ requests: 5, errors: 1, inputTokens: 4, outputTokens: 6 })
    expect(summary.series.map(({ requests }) => requests)).toEqual([1, ...Array(13).fill(0), 4])
    const [first, last] = [summary.series[0]!, summary.series.at(-1)!]
    expect(first.durationP50).toBe(first.durationP95)
    expect(last.durationP50).toBeGreaterThan(first.durationP50! * 10)
    expect(summary.duration).toEqual({ p50: last.durationP50, p95: last.durationP50, p99: last.durationP50 })
    expect(summary.firstByte!.p50).toBe(summary.firstByte!.p99)
  })

  test('the 24 hour window has steps of half an hour', () => {
    const rows = ['10:00', '10:29', '10:30', '10:59'].map((time) => minute(`2026-03-01T${time}:00Z`))
    const { series } = summarize(rows, [], '24h', { from: new Date('2026-02-28T11:00:00Z'), to: now })
    expect(series.slice(-2).map(({ requests, outputTokens }) => [requests, outputTokens])).toEqual([
      [2, 6],
      [2, 6],
    ])
  })

  test('load and instances are means over a step; the last one counts only what is over', () => {
    const rows = [
      minute('2026-03-01T10:41:00Z', { inFlightSeconds: 90, waitingSeconds: 30 }),
      minute('2026-03-01T10:42:00Z', { inFlightSeconds: 61, waitingSeconds: 0 }),
    ]
    const spans = [
      { startedAt: new Date('2026-03-01T10:40:30Z'), endedAt: null },
      { startedAt: new Date('2026-03-01T10:41:15Z'), endedAt: new Date('2026-03-01T10:41:45Z') },
    ]
    const { series } = summarize(rows, spans, '15m', { from: findWindowStart('15m', now), to: now })
    expect(series.slice(-3)).toMatchObject([
      { instances: 0.5, inFlight: 0, waiting: 0 },
      { instances: 1.5, inFlight: 1.5, waiting: 0.5 },
      { instances: 1, inFlight: 2, waiting: 0 },
    ])
  })
})
