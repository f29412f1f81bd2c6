import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RuntimeEngine } from '../../ports/runtime-engine.ts'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { engines, makeOffering, unknownModel as variant } from '../../../test/support/engines.ts'
import { selectInstance } from './instance-selection.ts'
import type { PricedOffer, RefusedOffer, SelectionRules } from './offers.ts'
import { noMinimums } from './serving-capacity.ts'

const GiB = 2 ** 30
const rules: SelectionRules = {
  ceilings: { contextTokens: 4096, parallelSequences: 2 },
  minimums: noMinimums,
}

function offer(instanceType: string, gibibytes: number, changes: Partial<PricedOffer> = {}): PricedOffer {
  return {
    instanceType,
    region: 'r',
    gpuCount: 1,
    gpuModel: null,
    vendor: null,
    computeCapability: null,
    pricePerHour: null,
    memoryBytes: gibibytes * GiB,
    formats: ['ggufv2'],
    runtime: makeOffering(undefined, { contextTokens: 4096, parallelSequences: 2 }),
    ...changes,
  }
}

/** The types that the runtime of the offers refused. */
const refuse = (names: readonly string[]): RefusedOffer[] =>
  names.map((name) => ({ runtime: 'test', instance_type: name }))

function choose(offers: PricedOffer[], refused: string[] = [], instanceType?: string): string | null {
  const result = selectInstance(variant, offers, { ...rules, instanceType }, refuse(refused))
  return result.outcome === 'selected' ? result.selection.offer.instanceType : null
}

test('the instance type that the owner asks for is chosen, or none', () => {
  const offers = [
    offer('cheap', 16, { pricePerHour: '1' }),
    offer('wanted', 16, { pricePerHour: '2' }),
    offer('too small', 13, { pricePerHour: '0.5' }),
  ]
  expect(choose(offers, [], 'wanted')).toBe('wanted')
  expect(choose(offers, ['wanted'], 'wanted')).toBeNull()
  expect(choose(offers, [], 'too small')).toBeNull()
  const reasonOf = (instanceType: string) => selectInstance(variant, offers, { ...rules, instanceType }, [])
  expect(reasonOf('wanted').considered.map(({ offer, fits }) => [offer.instanceType, fits])).toEqual([
    ['wanted', true],
    ['cheap', true],
    ['too small', false],
  ])
  expect(reasonOf('too small')).toMatchObject({
    reason: expect.stringMatching(/^too small can’t run this model\. .* Ruled out: too small \(13\.0 GiB\)/),
  })
  expect(reasonOf('other')).toMatchObject({
    reason: 'This server has no instance type other, but cheap, wanted, too small.',
  })
})

test('an offer with a limit of size takes no larger model', () => {
  const cpu = (maxBillions: number) => [offer('cpu', 16, { maxBillions })]
  expect(choose(cpu(5))).toBe('cpu')
  expect(selectInstance(variant, cpu(1), rules, [])).toMatchObject({
    outcome: 'infeasible',
    reason: expect.stringContaining('takes models of up to 1B, not 5B'),
  })
})

test('memory that others use rules an offer out, and both say which programs use it', () => {
  const programs = 'python (pid 4242, user kai) uses 21.3 GiB'
  const crowded = (left: number, all: number) =>
    offer('l4', left, { inUse: { memoryBytes: all * GiB, programs } })
  expect(selectInstance(variant, [crowded(10, 20), offer('t4', 8)], rules, [])).toMatchObject({
    outcome: 'infeasible',
    isInUse: true,
    reason: expect.stringMatching(
      /Ruled out: t4 \(8\.0 GiB\): 14\.0 GiB needed; l4 \(10\.0 GiB\): 14\.0 GiB needed, in use by others: python \(pid 4242, user kai\) uses 21\.3 GiB\.$/,
    ),
    considered: [
      { reason: '8.0 GiB usable, 14.0 GiB needed', isInUse: false },
      { reason: `10.0 GiB usable, 14.0 GiB needed; in use by others: ${programs}`, isInUse: true },
    ],
  })
  expect(selectInstance(variant, [crowded(10, 12)], rules, [])).toMatchObject({ isInUse: false })
  const others = [crowded(10, 20), offer('t4', 16)]
  expect(selectInstance(variant, others, { ...rules, instanceType: 't4' }, refuse(['t4']))).toMatchObject({
    outcome: 'infeasible',
    isInUse: false,
  })
  const fits = selectInstance(variant, [crowded(15, 20)], rules, [])
  expect(fits).toMatchObject({
    selection: { reason: expect.stringContaining(`Its memory is in use by others: ${programs}.`) },
  })
})

test('a share is the cheaper choice, and the reason says that compute is not divided', () => {
  const offers = [
    offer('l4-x1', 64, { pricePerHour: '0.8' }),
    offer('l4-x1/4', 16, { pricePerHour: '0.2', shares: 4 }),
  ]
  expect(selectInstance(variant, offers, rules, [])).toMatchObject({
    selection: {
      offer: { instanceType: 'l4-x1/4' },
      reason: expect.stringContaining(
        'It has one of 4 shares of the memory of a GPU, whose compute is not divided.',
      ),
    },
  })
  expect(choose(offers, ['l4-x1/4'])).toBe('l4-x1')
})

test('the cheapest offer that fits is chosen, regardless of order', () => {
  const offers = [
    offer('expensive', 16, { pricePerHour: '10' }),
    offer('cheap', 80, { pricePerHour: '9.5' }),
    offer('too small', 13, { pricePerHour: '1' }),
    offer('no price', 16),
  ]
  expect(choose(offers)).toBe('cheap')
  expect(choose(offers.toReversed())).toBe('cheap')
  expect(choose(offers, ['cheap'])).toBe('expensive')
  expect(choose(offers, ['cheap', 'expensive'])).toBe('no price')
})

test('ties go to fewer GPUs, then the newer GPU, then less memory, then the name', () => {
  const two = offer('two', 24, { gpuCount: 2, computeCapability: 9 })
  const old = offer('old', 24, { computeCapability: 8.9 })
  const large = offer('large', 32, { computeCapability: 10 })
  const b = offer('b', 24, { computeCapability: 10 })
  const a = offer('a', 24, { computeCapability: 10 })
  const tried = []
  for (let name = choose([two, old, large, b, a]); name !== null;) {
    tried.push(name)
    name = choose([two, old, large, b, a], tried)
  }
  expect(tried).toEqual(['a', 'b', 'large', 'old', 'two'])
  expect(
    choose([
      { ...two, pricePerHour: '1.10' },
      { ...old, pricePerHour: '1.1' },
    ]),
  ).toBe('old')
})

test('an offer fits if its memory is at least the estimate, to the byte', () => {
  expect(choose([offer('less', 0, { memoryBytes: 14 * GiB - 1 })])).toBeNull()
  expect(choose([offer('just', 14)])).toBe('just')
})

test('refused instance types are skipped, and the reason says so', () => {
  const result = selectInstance(variant, [offer('16', 16), offer('24', 24)], rules, refuse(['16']))
  expect(result).toMatchObject({
    outcome: 'selected',
    selection: {
      offer: { instanceType: '24' },
      memoryBytes: 14 * GiB,
      reason: expect.stringMatching(
        /^Needs at least 14\.0 GiB \(.*\)\. 24 provides 24\.0 GiB and is the only instance type that fits\. It serves requests of up to 4096 tokens, 2 at a time \(the default of this server\)\. Ruled out: 16: no capacity\.$/,
      ),
    },
  })
  expect(choose([offer('16', 16)], ['16'])).toBeNull()
})

test('the reason names the setting of a ceiling, on its own GPUs and on a shared host', () => {
  const named: SelectionRules = {
    ...rules,
    ceilings: { ...rules.ceilings, settings: { context: 'MOST_TOKENS', sequences: 'MOST_REQUESTS' } },
  }
  const reasonOn = (changes: Partial<PricedOffer>) => {
    const result = selectInstance(variant, [offer('24', 24, changes)], named, [])
    return result.outcome === 'selected' ? result.selection.reason : null
  }
  const bySettings = '4096 tokens (the setting MOST_TOKENS), 2 at a time (the setting MOST_REQUESTS).'
  expect(reasonOn({ gpuCount: 1 })).toContain(bySettings)
  expect(reasonOn({ gpuCount: 0 })).toContain(bySettings)
  // No setting changes the default of a runtime without a capacity of its own.
  expect(reasonOn({ gpuCount: 0, runtime: makeOffering() })).toContain(
    '4 at a time (the default of this server).',
  )

  const minimums = { contextTokens: 8192, parallelSequences: null }
  expect(selectInstance(variant, [offer('24', 24)], { ...named, minimums }, [])).toMatchObject({
    outcome: 'infeasible',
    reason: expect.stringContaining(
      'A context of 8192 tokens is more than the 4096 tokens that the operator allows with MOST_TOKENS.',
    ),
  })
})

test('an infeasible variant names why each instance type was ruled out, grouped by reason', () => {
  const other = { formats: ['pytorch', 'awq'] }
  const offers = [offer('8', 8), offer('x', 80, other), offer('also 8', 8), offer('y', 90, other)]
  expect(selectInstance(variant, offers, rules, [])).toMatchObject({
    outcome: 'infeasible',
    reason:
      'No instance type can run this model. It needs at least 14.0 GiB (weights 10.0 GiB + KV cache 2.0 GiB for 2 × 4096 tokens + ' +
      'overhead 2.0 GiB). Ruled out: 8 (8.0 GiB), also 8 (8.0 GiB): 14.0 GiB needed; x, y: runs PyTorch, AWQ models, not GGUF.',
    memoryBytes: 14 * 2 ** 30,
  })
  expect(selectInstance(variant, [], rules, [])).toEqual({
    outcome: 'infeasible',
    reason: 'No instance type can run this model. The compute backend offers no instance types.',
    isInUse: false,
    considered: [],
    memoryBytes: null,
  })
})

test('every offer is considered: first those that fit, in order of preference', () => {
  const offers = [
    offer('small', 8, { pricePerHour: '1' }),
    offer('expensive', 24, { pricePerHour: '3' }),
    offer('cheap', 16, { pricePerHour: '2' }),
  ]
  const { considered } = selectInstance(variant, offers, rules, [])
  expect(considered.map(({ offer, fits, reason }) => [offer.instanceType, fits, reason])).toEqual([
    ['cheap', true, '16.0 GiB usable, 14.0 GiB needed'],
    ['expensive', true, '24.0 GiB usable, 14.0 GiB needed'],
    ['small', false, '8.0 GiB usable, 14.0 GiB needed'],
  ])
})

test('the context never exceeds the length that the model was trained with', () => {
  const result = selectInstance({ ...variant, contextLength: 512 }, [offer('80', 80)], rules, [])
  expect(result).toMatchObject({
    selection: { sizing: { capacity: { contextTokens: 512, parallelSequences: 2 } } },
  })
})

test('llama.cpp serves embedding models with at most 2048 tokens, other engines with the configured context', () => {
  const embedding = { ...variant, modelType: 'embedding' as const }
  const contextOf = (format: string) => {
    const result = selectInstance(
      { ...embedding, format },
      [offer('80', 80, { formats: [format] })],
      rules,
      [],
    )
    return result.outcome === 'selected' ? result.selection.sizing.capacity.contextTokens : null
  }
  expect(contextOf('ggufv2')).toBe(2048)
  expect(contextOf('pytorch')).toBe(4096)
})

test('engines that share the memory of a host get the same capacity however much is free; others get all of it', () => {
  const ceilings = { contextTokens: null, parallelSequences: 256 }
  const architecture = {
    parameters: 5e9,
    layers: 32,
    attentionHeads: 32,
    kvHeads: 8,
    headDimension: 128,
    hiddenSize: 4096,
    vocabularySize: 128_000,
  }
  const capacityOn = (changes: Partial<PricedOffer>) => {
    const known = { ...variant, architecture }
    const result = selectInstance(known, [offer('80', 80, changes)], { ...rules, ceilings }, [])
    return result.outcome === 'selected' ? result.selection.sizing.capacity : result.reason
  }
  const shared = { contextTokens: 4096, parallelSequences: 2 }
  expect(capacityOn({ gpuCount: 0 })).toEqual(shared)
  expect(capacityOn({ vendor: 'apple' })).toEqual(shared)
  expect(capacityOn({ vendor: 'nvidia' })).toEqual({ contextTokens: 32_768, parallelSequences: 17 })
})

/** Random offers with unique names; some can't run the variant. */
const someOffers = fc
  .uniqueArray(
    fc.record({
      gibibytes: fc.integer({ min: 1, max: 64 }),
      gpuCount: fc.constantFrom(1, 2, 3, 4, 8),
      capability: fc.constantFrom(null, 7, 7.5, 8, 8.9, 10),
      cents: fc.option(fc.integer({ min: 0, max: 500 })),
      runs: fc.boolean(),
      refused: fc.boolean(),
    }),
    { selector: ({ gibibytes }) => gibibytes },
  )
  .map((given) =>
    given.map(({ gibibytes, gpuCount, capability, cents, runs, refused }) => ({
      refused,
      fits: runs && !refused && gibibytes >= 14 && gpuCount !== 3 && (capability ?? 8) >= 7.5,
      offer: offer(String(gibibytes), gibibytes, {
        gpuCount,
        vendor: 'nvidia',
        computeCapability: capability,
        formats: runs ? ['awq', 'fp8'] : ['ggufv2'],
        pricePerHour: cents === null ? null : (cents / 100).toFixed(2),
      }),
    })),
  )
const awq: ModelVariant = { ...variant, format: 'awq' }

function priceOf({ pricePerHour }: PricedOffer): number {
  return pricePerHour === null ? Infinity : Number(pricePerHour)
}

test('for any offers, the choice fits, was not refused, and is the cheapest that fits', () => {
  fc.assert(
    fc.property(someOffers, (given) => {
      const refused = given.filter((each) => each.refused).map(({ offer }) => offer.instanceType)
      const offers = given.map(({ offer }) => offer)
      const result = selectInstance(awq, offers, rules, refuse(refused))
      const fitting = given.filter(({ fits }) => fits).map(({ offer }) => offer)
      const found = result.considered.filter(({ fits }) => fits).map(({ offer }) => offer)
      expect(new Set(found)).toEqual(new Set(fitting))
      expect(result.considered).toHaveLength(offers.length)
      const chosen = result.outcome === 'selected' ? [result.selection.offer] : []
      expect(chosen).toHaveLength(Math.min(1, fitting.length))
      for (const offer of chosen) {
        expect(fitting).toContain(offer)
        expect(priceOf(offer)).toBe(Math.min(...fitting.map(priceOf)))
      }
    }),
  )
})

test('adding a cheaper offer that fits changes the choice to it', () => {
  fc.assert(
    fc.property(someOffers, (given) => {
      const offers = given.map(({ offer }) => ({
        ...offer,
        pricePerHour: offer.pricePerHour && `1${offer.pricePerHour}`,
      }))
      const cheaper = offer('cheaper', 64, {
        gpuCount: 8,
        formats: ['awq'],
        pricePerHour: '0.99',
        vendor: 'amd',
      })
      const result = selectInstance(awq, [...offers, cheaper], rules, [])
      expect(result).toMatchObject({ outcome: 'selected', selection: { offer: cheaper } })
    }),
  )
})

test('an engine that shares its host gets the context that leaves half of the memory, and more if its owner asks', () => {
  const architecture = {
    parameters: 0.6e9,
    layers: 28,
    attentionHeads: 16,
    kvHeads: 8,
    headDimension: 128,
    hiddenSize: 1024,
    vocabularySize: 151_936,
  }
  const qwen = { ...variant, architecture, weightBytes: GiB / 2, contextLength: 40_960 }
  const shared = { contextTokens: 32_768, parallelSequences: 4 }
  const sizeOn = (gibibytes: number, contextTokens: number | null = null, most: number | null = null) => {
    const minimums = { contextTokens, parallelSequences: null }
    const host = offer('cpu', gibibytes, { gpuCount: 0, runtime: makeOffering(undefined, shared) })
    const ceilings = { contextTokens: most, parallelSequences: 4 }
    const result = selectInstance(qwen, [host], { ...rules, ceilings, minimums }, [])
    return result.outcome === 'selected' ? result.selection.sizing : result.reason
  }
  expect(sizeOn(64)).toMatchObject({
    capacity: { contextTokens: 32_768, parallelSequences: 4 },
    limitedBy: { context: 'ceiling' },
  })
  // 112 KiB a token: 4 × 32,768 tokens take 14 GiB, 4 × 8,192 tokens 3.5 GiB.
  expect(sizeOn(16)).toMatchObject({
    capacity: { contextTokens: 8192, parallelSequences: 4 },
    limitedBy: { context: 'memory' },
  })
  expect(sizeOn(8)).toMatchObject({ capacity: { contextTokens: 4096, parallelSequences: 4 } })
  expect(sizeOn(8, 32_768)).toMatchObject({ capacity: { contextTokens: 32_768 } })
  expect(sizeOn(8, 40_960)).toMatchObject({ capacity: { contextTokens: 40_960, parallelSequences: 1 } })
  expect(sizeOn(4, 40_960)).toMatch(/No instance type can run this model/)
  expect(sizeOn(8, 40_960, 32_768)).toMatch(/A context of 40960 tokens is more than the 32768 tokens/)
})

test('of two runtimes with a type of the same name, the first wins a tie, and only the refusing one is ruled out', () => {
  const ofRuntime = (name: string) => ({
    ...makeOffering(undefined, { contextTokens: 4096, parallelSequences: 2 }),
    name,
    isOneOfSeveral: true,
  })
  const both = ['one', 'two'].map((name) =>
    offer('l4-x1', 24, { runtime: ofRuntime(name), title: `l4-x1 (${name})`, pricePerHour: '1' }),
  )
  const chosen = (refused: RefusedOffer[]) => {
    const result = selectInstance(variant, both, rules, refused)
    return result.outcome === 'selected' ? result.selection.offer.runtime.name : result.reason
  }
  expect(chosen([])).toBe('one')
  expect(chosen([{ runtime: 'one', instance_type: 'l4-x1' }])).toBe('two')
  expect(chosen(['one', 'two'].map((runtime) => ({ runtime, instance_type: 'l4-x1' })))).toContain(
    'l4-x1 (one), l4-x1 (two): no capacity',
  )
})

test('beside other runtimes, an engine without what the owner asks for is ruled out', () => {
  const plain = { ...engines.llamaCpp, options: null, cacheSeparation: null }
  const withEngine = (name: string, engine: RuntimeEngine) =>
    offer(name, 24, { runtime: { ...makeOffering([engine]), name, isOneOfSeveral: true } })
  const needs = { options: {}, version: null, separatesCache: false }
  const reasonOf = (more: Partial<SelectionRules>) => {
    const { considered } = selectInstance(variant, [withEngine('plain', plain)], { ...rules, ...more }, [])
    return considered[0]!.fits ? null : considered[0]!.reason
  }
  expect(reasonOf({ needs })).toBeNull()
  expect(reasonOf({ needs: { ...needs, options: { 'cache-reuse': 256 } } })).toMatch(/takes no options/)
  expect(reasonOf({ needs: { ...needs, version: '1' } })).toMatch(/has no version 1/)
  expect(reasonOf({ needs: { ...needs, separatesCache: true } })).toMatch(/can’t separate the cached prompts/)
})

test('what only a runtime that does not respond could run is unknown', () => {
  const result = selectInstance(variant, [offer('t4', 8)], { ...rules, away: ['kubernetes'] }, [])
  expect(result).toMatchObject({
    outcome: 'infeasible',
    away: ['kubernetes'],
    reason: expect.stringContaining('The instance types of kubernetes are unknown'),
  })
})
