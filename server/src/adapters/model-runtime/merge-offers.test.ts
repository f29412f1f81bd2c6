import { expect, test } from 'vitest'
import type { InstanceType } from '../../ports/model-runtime.ts'
import { mergeOffers } from './merge-offers.ts'

const l4: InstanceType = {
  name: 'l4-x2',
  region: 'default',
  vendor: 'nvidia',
  gpuModel: 'NVIDIA L4',
  gpuCount: 2,
  gpuMemoryBytes: 22.5 * 2 ** 30,
  computeCapability: 8.9,
  pricePerHour: '1.60',
  nodeSelector: {},
  tolerations: [],
}

test('what is there is offered with the facts of the file, 90 % of the memory of all its GPUs', () => {
  const offers = mergeOffers([l4, { ...l4, name: 'absent' }], [{ instanceType: 'l4-x2', formats: ['awq'] }])
  expect(offers).toEqual([
    {
      instanceType: 'l4-x2',
      region: 'default',
      gpuCount: 2,
      gpuModel: 'NVIDIA L4',
      vendor: 'nvidia',
      computeCapability: 8.9,
      memoryBytes: 40.5 * 2 ** 30,
      formats: ['awq'],
    },
  ])
})

test('the region is where the runtime found it', () => {
  const reported = [{ instanceType: 'l4-x2', formats: [], region: 'eu' }]
  expect(mergeOffers([l4], reported)).toMatchObject([{ region: 'eu' }])
})

test('a name that the file does not have is left out, one reported twice is one offer', () => {
  const report = (instanceType: string) => ({ instanceType, formats: [] })
  expect(mergeOffers([l4], [report('l4-x2'), report('unknown'), report('l4-x2')])).toHaveLength(1)
  expect(mergeOffers([], [report('l4-x2')])).toEqual([])
  expect(mergeOffers([l4], [])).toEqual([])
})
