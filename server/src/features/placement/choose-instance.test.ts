import { expect, test } from 'vitest'
import { makeOffering } from '../../../test/support/engines.ts'
import { readConfig } from '../../config/config.ts'
import type { ModelLora, ModelVariant } from '../../ports/model-variant.ts'
import type { RuntimeOffer } from '../../ports/model-runtime.ts'
import { chooseInstance, noRequirements } from './choose-instance.ts'

const GiB = 2 ** 30

/** Needs 10 × 1.2 + 2 = 14 GiB: the rule for an unknown architecture. */
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
  engines: {},
}

const lora: ModelLora = {
  modelId: 'lora',
  modelName: 'lora',
  format: 'lora-gguf',
  rank: 8,
  weightBytes: 4 * GiB,
  weights: { kind: 'file', path: '/lora.gguf' },
}

const offer: RuntimeOffer = {
  instanceType: 'l4-x1',
  region: 'r',
  gpuCount: 1,
  gpuModel: null,
  vendor: null,
  computeCapability: null,
  memoryBytes: 16 * GiB,
  formats: ['ggufv2'],
  runtime: makeOffering(undefined, { contextTokens: 4096, parallelSequences: 2 }),
}

test('the LoRAs of a deployment need memory beside its weights', async () => {
  const listOffers = async () => ({ offers: [offer], away: [] })
  const deps = {
    runtimes: { listOffers },
    prices: [],
    clock: () => new Date(),
    config: readConfig({}),
  } as unknown as Parameters<typeof chooseInstance>[0]
  const choose = (loras: ModelLora[]) => chooseInstance(deps, variant, noRequirements, [], loras)
  expect(await choose([])).toMatchObject({ outcome: 'selected' })
  expect(await choose([lora])).toMatchObject({ outcome: 'infeasible' })
})
