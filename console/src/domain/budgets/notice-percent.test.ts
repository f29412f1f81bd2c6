import { expect, test } from 'vitest'
import { findNoticePercent } from './notice-percent.ts'

const alertsAt = (...percents: number[]) =>
  percents.map((percent) => ({ percent, at: '2026-01-02T03:04:05.678Z' }))

test.each([
  { spent: '4.9', alerts: [], percent: undefined },
  { spent: '5', alerts: [50], percent: 50 },
  { spent: '9.99', alerts: [50, 80], percent: 80 },
  { spent: '10.1', alerts: [50, 80, 100], percent: 100 },
  { spent: '10', alerts: [80], percent: 100 },
  // 80 percent were reached since the last check.
  { spent: '8.1', alerts: [50], percent: 50 },
  // The limit was raised since.
  { spent: '6', alerts: [50, 80, 100], percent: 50 },
  { spent: '1', alerts: [50, 80, 100], percent: undefined },
])('$spent of 10 with alerts at $alerts: $percent', ({ spent, alerts, percent }) => {
  const budget = { spent, monthly_limit: '10', alerts: alertsAt(...alerts), exhausted: Number(spent) >= 10 }
  expect(findNoticePercent(budget)).toBe(percent)
})
