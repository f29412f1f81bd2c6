import { describe, expect, it } from 'vitest'
import type { Placement } from '../../contract.ts'
import { chooseVariant, listFormats, listSizes } from './variants.ts'
import type { Variant } from './variants.ts'

const model = {
  default_variant: { model_format: 'ggufv2', model_size_in_billions: 7, quantization: 'Q4_K_M' },
  variants: [
    {
      model_format: 'pytorch',
      model_size_in_billions: 7,
      quantizations: ['none'],
      default: false,
    },
    {
      model_format: 'ggufv2',
      model_size_in_billions: 7,
      quantizations: ['Q8_0', 'Q4_K_M'],
      default: true,
    },
    {
      model_format: 'ggufv2',
      model_size_in_billions: 0.5,
      quantizations: ['Q4_K_M', 'Q8_0'],
      default: false,
    },
  ],
}

const large = { model_format: 'ggufv2', model_size_in_billions: 7, quantization: 'Q4_K_M' }
const small = { ...large, model_size_in_billions: 0.5 }

function place(choice: Variant, feasible: boolean): Placement {
  return {
    ...choice,
    model_id: 'one',
    model_name: 'one',
    memory_bytes: 1,
    weight_bytes: 1,
    obstacle: null,
    feasible,
    instance_type: null,
    gpu_count: null,
    price_per_hour: null,
    token_prices: null,
    context_tokens: null,
    parallel_sequences: null,
  }
}

describe('the preselected variant', () => {
  it('is the default while placements are unknown', () => {
    expect(chooseVariant(model, {}, [])).toEqual(large)
  })

  it('is one that fits if the default does not', () => {
    expect(chooseVariant(model, {}, [place(large, false), place(small, true)])).toEqual(small)
  })

  it('is the preferred one even if it does not fit, ignoring the case of the quantization', () => {
    const preferred = { ...large, quantization: 'q8_0' }
    const placements = [place({ ...large, quantization: 'Q8_0' }, false), place(small, true)]
    expect(chooseVariant(model, preferred, placements)).toEqual({ ...large, quantization: 'Q8_0' })
  })

  it('keeps the preferred size if no variant matches all preferences', () => {
    const preferred = { model_format: 'pytorch', model_size_in_billions: 0.5, quantization: 'none' }
    expect(chooseVariant(model, preferred, [])).toEqual(small)
  })

  it('is undefined for a model without variants', () => {
    expect(chooseVariant({ ...model, variants: [] }, {}, [])).toBeUndefined()
  })
})

it('lists the smallest size and the default format first', () => {
  expect(listSizes(model)).toEqual([0.5, 7])
  expect(listFormats(model)).toEqual(['ggufv2', 'pytorch'])
})
