import { expect, test } from 'vitest'
import type { InstanceType } from '../../../ports/model-runtime.ts'
import type { Gpu } from './gpus.ts'
import { listGpuOffers } from './host.ts'

function makeGpu(index: number, name: string, gibibytes = 22): Gpu {
  const memoryBytes = gibibytes * 2 ** 30
  return { uuid: `GPU-${index}`, name, memoryBytes, driverVersion: '570.86.15', computeCapability: 8.9 }
}

function makeType(name: string, gpuModel: string, product: string, gpuCount: number): InstanceType {
  return {
    name,
    region: 'default',
    vendor: 'nvidia',
    gpuModel,
    gpuCount,
    gpuMemoryBytes: 2 ** 30,
    computeCapability: 8,
    pricePerHour: '1.00',
    nodeSelector: { 'nvidia.com/gpu.product': product },
    tolerations: [],
  }
}

const engineLimits = { formats: ['ggufv2'], memoryShare: 0.9 }
const instanceTypes = [
  makeType('l4-x1', 'NVIDIA L4', 'NVIDIA-L4', 1),
  makeType('l4-x2', 'NVIDIA L4', 'NVIDIA-L4', 2),
  makeType('l4-x4', 'NVIDIA L4', 'NVIDIA-L4', 4),
  makeType('a100-x1', 'NVIDIA A100 40GB', 'NVIDIA-A100-SXM4-40GB', 1),
]

test('the instance type file names the GPUs, and nvidia-smi has their memory', () => {
  const offers = listGpuOffers(
    [makeGpu(0, 'NVIDIA L4'), makeGpu(1, 'NVIDIA L4')],
    instanceTypes,
    engineLimits,
  )
  expect(offers.map(({ offer }) => offer.instanceType)).toEqual(['l4-x1', 'l4-x2'])
  expect(offers[1]?.offer).toMatchObject({
    region: 'local',
    gpuCount: 2,
    gpuModel: 'NVIDIA L4',
    vendor: 'nvidia',
    computeCapability: 8,
    memoryBytes: Math.floor(44 * 2 ** 30 * 0.9),
  })
})

test('a GPU matches the file by the label of NVIDIA’s feature discovery, too', () => {
  const offers = listGpuOffers([makeGpu(0, 'NVIDIA A100-SXM4-40GB', 40)], instanceTypes, engineLimits)
  expect(offers.map(({ offer }) => offer.instanceType)).toEqual(['a100-x1'])
})

test('GPUs that the file does not have are local-gpu, with the memory of the smallest', () => {
  const gpus = [makeGpu(0, 'RTX 4090', 24), makeGpu(1, 'RTX 3060', 12), makeGpu(2, 'NVIDIA L4')]
  const offers = listGpuOffers(gpus, instanceTypes, engineLimits)
  expect(offers.map(({ offer, gpus: own }) => [offer.instanceType, own?.map(({ uuid }) => uuid)])).toEqual([
    ['l4-x1', ['GPU-2']],
    ['local-gpu', ['GPU-0', 'GPU-1']],
    ['local-gpu-x2', ['GPU-0', 'GPU-1']],
  ])
  expect(offers[2]?.offer).toMatchObject({
    gpuModel: 'RTX 4090, RTX 3060',
    memoryBytes: Math.floor(24 * 2 ** 30 * 0.9),
  })
})
