import { expect, test } from 'vitest'
import { makeOffering, unknownModel } from '../../../test/support/engines.ts'
import { makeOffer } from '../../../test/support/scripted-runtime.ts'
import { readConfig } from '../../config/config.ts'
import type { ModelLora } from '../../ports/model-variant.ts'
import type { RuntimeOffer } from '../../ports/model-runtime.ts'
import { chooseInstance, noRequirements } from './choose-instance.ts'

const GiB = 2 ** 30

const lora: ModelLora = {
  modelId: 'lora',
  modelName: 'lora',
  format: 'lora-gguf',
  rank: 8,
  weightBytes: 4 * GiB,
  weights: { kind: 'file', path: '/lora.gguf' },
}

const offer: RuntimeOffer = {
  ...makeOffer('l4-x1', { gpuCount: 1, memoryBytes: 16 * GiB }),
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
  const choose = (loras: ModelLora[]) => chooseInstance(deps, unknownModel, noRequirements, [], loras)
  expect(await choose([])).toMatchObject({ outcome: 'selected' })
  expect(await choose([lora])).toMatchObject({ outcome: 'infeasible' })
})
