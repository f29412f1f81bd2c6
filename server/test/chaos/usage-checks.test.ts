import { expect, test } from 'vitest'
import { compareUsage } from './usage-checks.ts'

const engineId = 'one'
/** What the backend held, sampled every second for 60 s. */
const sample = (isHeld: (second: number) => boolean, isServing = isHeld) =>
  Array.from({ length: 60 }, (_, second) => ({
    at: second * 1000,
    holdings: isHeld(second) ? [{ engineId, isServing: isServing(second) }] : [],
  }))
const span = (from: number, to: number, deletedAt = Infinity) => ({
  engineId,
  from: from * 1000,
  to: to * 1000,
  deletedAt: deletedAt * 1000,
})

test.each([
  ['equal', [span(10, 50)], sample((at) => at >= 10 && at < 50), []],
  ['starting late', [span(10, 50)], sample((at) => at >= 20 && at < 50), ['billed without an engine']],
  ['lost', [span(10, 50)], sample((at) => at >= 10 && at < 40), ['billed without an engine']],
  ['lost during the release', [span(10, 50, 40)], sample((at) => at >= 10 && at < 40), []],
  ['lost and billed again', [span(10, 20), span(30, 50)], sample((at) => at >= 30 && at < 50), ['billed']],
  ['without a span', [], sample((at) => at >= 10 && at < 50), ['served without a bill']],
  ['a gap', [span(10, 20), span(30, 50)], sample((at) => at >= 10 && at < 50), ['served without a bill']],
  [
    'held but not serving',
    [],
    sample(
      (at) => at >= 10,
      () => false,
    ),
    [],
  ],
])('%s', (_name, spans, samples, expected) => {
  const { differences } = compareUsage(spans, samples, 5_000)
  expect(differences).toEqual(expected.map((text) => expect.stringContaining(text)))
})
