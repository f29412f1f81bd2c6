import { Counter, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createFastCounter, createFastHistogram } from './fast-metrics.ts'

const help = 'A metric'
const buckets = [0.1, 0.5, 1]
const values = [0.1, 0.2, 0.5, 0.7, 1, 3]

test('a histogram exports the same text as one of prom-client', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const create = createFastHistogram(ours, { name: 'seconds', help, buckets })
  const reference = new Histogram({
    name: 'seconds',
    help,
    buckets,
    labelNames: ['route'],
    registers: [theirs],
  })
  for (const route of ['/a', '/b']) {
    const observe = create({ route })
    for (const value of values) {
      observe(value)
      reference.observe({ route }, value)
    }
  }
  const sorted = (text: string) => text.trim().split('\n').toSorted()
  expect(sorted(await ours.metrics())).toEqual(sorted(await theirs.metrics()))
})

test('a counter exports the same text as one of prom-client', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const create = createFastCounter(ours, { name: 'total', help })
  const reference = new Counter({ name: 'total', help, labelNames: ['model'], registers: [theirs] })
  const add = create({ model: 'a "quoted" one' })
  for (const value of values) {
    add(value)
    reference.inc({ model: 'a "quoted" one' }, value)
  }
  expect((await ours.metrics()).trim()).toBe((await theirs.metrics()).trim())
})
