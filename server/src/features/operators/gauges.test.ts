import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { addGauge, shareReading } from './gauges.ts'

/** A registry with a gauge with labels and one without. `answers` are what its database reads, in turn. */
function openGauges(answers: (() => Promise<number>)[]) {
  const register = new Registry()
  let reads = 0
  // Each scrape has its own reading
  const read = () => shareReading(() => answers[Math.floor(reads++ / 2)]!())()
  addGauge(register, read, { name: 'plain', help: 'help', labelNames: [] }, (gauge, value) =>
    gauge.set(value),
  )
  addGauge(register, read, { name: 'labeled', help: 'help', labelNames: ['status'] }, (gauge, value) =>
    gauge.set({ status: 'running' }, value),
  )
  return async () => (await register.metrics()).split('\n').filter((line) => /^\w/.test(line))
}

test('gauges are absent, not 0, while the database does not respond', async () => {
  const scrape = openGauges([async () => 3, () => Promise.reject(new Error('away')), async () => 0])
  expect(await scrape()).toEqual(['plain 3', 'labeled{status="running"} 3'])
  expect(await scrape()).toEqual([])
  expect(await scrape()).toEqual(['plain 0', 'labeled{status="running"} 0'])
})

test('gauges that are read together share a reading', async () => {
  let count = 0
  const read = shareReading(async () => ++count)
  expect(await Promise.all([read(), read()])).toEqual([1, 1])
})
