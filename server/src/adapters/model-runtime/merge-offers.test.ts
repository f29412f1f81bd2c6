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

test('reported types become offers with the facts of the file and 90 % of the memory of all GPUs', () => {
  const offers = mergeOffers(
    [l4, { ...l4, name: 'absent' }],
    [{ instanceType: 'l4-x2', formats: ['awq'] }],
    0.9,
  )
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

test('a reported region takes precedence', () => {
  const reported = [{ instanceType: 'l4-x2', formats: [], region: 'eu' }]
  expect(mergeOffers([l4], reported, 0.9)).toMatchObject([{ region: 'eu' }])
})

test('unknown names are skipped, and duplicates result in one offer', () => {
  const report = (instanceType: string) => ({ instanceType, formats: [] })
  expect(mergeOffers([l4], [report('l4-x2'), report('unknown'), report('l4-x2')], 0.9)).toHaveLength(1)
  expect(mergeOffers([], [report('l4-x2')], 0.9)).toEqual([])
  expect(mergeOffers([l4], [], 0.9)).toEqual([])
})
