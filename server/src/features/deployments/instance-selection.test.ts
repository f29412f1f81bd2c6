import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { InstanceOffer, ModelVariant } from '../../ports/model-runtime.ts'
import { selectInstance } from './instance-selection.ts'

const GiB = 2 ** 30
const serving = { contextTokens: 4096, parallelSequences: 2 }

/** Needs 10 × 1.2 + 2 = 14 GiB, as its architecture is not known. */
const variant: ModelVariant = {
  modelName: 'model',
  modelType: 'LLM',
  format: 'ggufv2',
  sizeInBillions: 5,
  quantization: 'F16',
  contextLength: 32_768,
  architecture: null,
  weightBytes: 10 * GiB,
  weights: { kind: 'file', path: '/model.gguf' },
}

function offer(instanceType: string, gibibytes: number, changes: Partial<InstanceOffer> = {}): InstanceOffer {
  return {
    instanceType,
    region: 'r',
    gpuCount: 1,
    gpuModel: null,
    memoryBytes: gibibytes * GiB,
    formats: ['ggufv2'],
    ...changes,
  }
}

function choose(offers: InstanceOffer[], refused: string[] = []): string | null {
  const result = selectInstance(variant, offers, serving, refused)
  return result.outcome === 'selected' ? result.selection.offer.instanceType : null
}

test('the smallest that fits is chosen, in whatever order they are offered', () => {
  const offers = [offer('24', 24), offer('80', 80), offer('16', 16), offer('8', 8)]
  expect(choose(offers)).toBe('16')
  expect(choose(offers.toReversed())).toBe('16')
})

test('of equal memory, fewer GPUs', () => {
  expect(choose([offer('two', 24, { gpuCount: 2 }), offer('one', 24)])).toBe('one')
})

test('what is needed may be all that there is, and no byte more', () => {
  expect(choose([offer('less', 0, { memoryBytes: 14 * GiB - 1 })])).toBeNull()
  expect(choose([offer('just', 14)])).toBe('just')
})

test('refused ones are passed over, and the reason says so', () => {
  const result = selectInstance(variant, [offer('16', 16), offer('24', 24)], serving, ['16'])
  expect(result).toMatchObject({
    outcome: 'selected',
    selection: {
      offer: { instanceType: '24' },
      memoryBytes: 14 * GiB,
      reason: expect.stringMatching(
        /^Needs about 14\.0 GiB \(.*\); 24 offers 24\.0 GiB\. Passed over: 16: no capacity\.$/,
      ),
    },
  })
  expect(choose([offer('16', 16)], ['16'])).toBeNull()
})

test('what can’t be run says why of each', () => {
  const result = selectInstance(
    variant,
    [offer('8', 8), offer('x', 80, { formats: ['pytorch', 'awq'] })],
    serving,
    [],
  )
  expect(result).toEqual({
    outcome: 'infeasible',
    reason:
      'No instance type can run this. 8: 8.0 GiB usable, 14.0 GiB needed; x: it runs pytorch, awq, not ggufv2.',
  })
  expect(selectInstance(variant, [], serving, [])).toMatchObject({
    reason: expect.stringContaining('offers none'),
  })
})

test('the context is never longer than the model was trained for', () => {
  const result = selectInstance({ ...variant, contextLength: 512 }, [offer('80', 80)], serving, [])
  expect(result).toMatchObject({ selection: { serving: { contextTokens: 512, parallelSequences: 2 } } })
})

test('an embedding model is served with 2048 tokens at most', () => {
  const result = selectInstance({ ...variant, modelType: 'embedding' }, [offer('80', 80)], serving, [])
  expect(result).toMatchObject({ selection: { serving: { contextTokens: 2048 } } })
})

test('of any offers the choice runs the format, fits, was not refused, and nothing smaller would do', () => {
  const someOffers = fc.uniqueArray(
    fc.record({ gibibytes: fc.integer({ min: 1, max: 64 }), runs: fc.boolean(), refused: fc.boolean() }),
    { selector: ({ gibibytes }) => gibibytes },
  )
  fc.assert(
    fc.property(someOffers, (given) => {
      const offers = given.map(({ gibibytes, runs }) =>
        offer(String(gibibytes), gibibytes, { formats: runs ? ['ggufv2'] : ['awq'] }),
      )
      const refused = given.filter((each) => each.refused).map(({ gibibytes }) => String(gibibytes))
      const possible = given.filter((each) => each.runs && !each.refused && each.gibibytes >= 14)
      const smallest = Math.min(...possible.map(({ gibibytes }) => gibibytes))
      expect(choose(offers, refused)).toBe(possible.length === 0 ? null : String(smallest))
    }),
  )
})
