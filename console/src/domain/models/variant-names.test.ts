import { expect, test } from 'vitest'
import { findIdSuffixes } from './variant-names.ts'

test('only deployments of the same variant get an id suffix', () => {
  const variant = { model_format: 'ggufv2', model_size_in_billions: 0.5, quantization: 'Q4_K_M' }
  const names = findIdSuffixes([
    { ...variant, id: '0199-aaaa11', model_name: 'one' },
    { ...variant, id: '0199-bbbb22', model_name: 'one' },
    { ...variant, id: '0199-cccc33', model_name: 'one', quantization: 'Q8_0' },
    { ...variant, id: '0199-dddd44', model_name: 'other' },
  ])
  expect([...names.values()]).toEqual(['…aaaa11', '…bbbb22', '', ''])
})
