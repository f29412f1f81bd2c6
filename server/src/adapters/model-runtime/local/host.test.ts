import { expect, test } from 'vitest'
import type { InstanceType } from '../../../ports/model-runtime.ts'
import type { GpuUse } from './gpu-use.ts'
import { describeHost, limitOffer, listGpuOffers } from './host.ts'
import type { HostDevice } from './host.ts'

function makeGpu(index: number, name: string, gibibytes = 22): HostDevice {
  const memoryBytes = gibibytes * 2 ** 30
  const facts = { vendor: 'nvidia', driverVersion: '570.86.15', computeCapability: 8.9 } as const
  const gpu = { ...facts, uuid: `GPU-${index}`, name, memoryBytes }
  return { gpu, formats: ['ggufv2'], obstacle: null }
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

const memoryShare = 0.9
const instanceTypes = [
  makeType('l4-x1', 'NVIDIA L4', 'NVIDIA-L4', 1),
  makeType('l4-x2', 'NVIDIA L4', 'NVIDIA-L4', 2),
  makeType('l4-x4', 'NVIDIA L4', 'NVIDIA-L4', 4),
  makeType('a100-x1', 'NVIDIA A100 40GB', 'NVIDIA-A100-SXM4-40GB', 1),
]

test('the instance type file names the GPUs, and nvidia-smi has their memory', () => {
  const offers = listGpuOffers([makeGpu(0, 'NVIDIA L4'), makeGpu(1, 'NVIDIA L4')], instanceTypes, memoryShare)
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
  const offers = listGpuOffers([makeGpu(0, 'NVIDIA A100-SXM4-40GB', 40)], instanceTypes, memoryShare)
  expect(offers.map(({ offer }) => offer.instanceType)).toEqual(['a100-x1'])
})

test('GPUs that the file does not have are local-gpu, with the memory of the smallest', () => {
  const gpus = [makeGpu(0, 'RTX 4090', 24), makeGpu(1, 'RTX 3060', 12), makeGpu(2, 'NVIDIA L4')]
  const offers = listGpuOffers(gpus, instanceTypes, memoryShare)
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

const GiB = 2 ** 30

/** The use of GPUs by others, in GiB by UUID; null for one that has disappeared */
function useOthers(gibibytes: Record<string, number | null>) {
  return (uuid: string): GpuUse => {
    const used = gibibytes[uuid] ?? 0
    const others = used > 0 ? `python (pid 4242, user kai) uses ${used} GiB` : ''
    const isPresent = gibibytes[uuid] !== null
    const bytes = { usedBytes: used * GiB, othersBytes: used * GiB, engineBytes: new Map() }
    return { ...bytes, isPresent, others, utilization: null }
  }
}

test('an offer has the memory that others leave on its best GPUs, and names them', () => {
  const gpus = [makeGpu(0, 'NVIDIA L4', 20), makeGpu(1, 'NVIDIA L4', 20)]
  const [one, two] = listGpuOffers(gpus, instanceTypes, memoryShare)
  const limit = (host: typeof one, use: Record<string, number | null>) => {
    const offer = limitOffer(host!, useOthers(use))
    return offer && [offer.memoryBytes / GiB, offer.inUse]
  }
  expect(limit(one, {})).toEqual([18, undefined])
  // Half of the margin is free for others.
  expect(limit(one, { 'GPU-0': 1, 'GPU-1': 1 })).toEqual([18, undefined])
  expect(limit(one, { 'GPU-0': 15 })).toEqual([18, undefined])
  const programs = 'python (pid 4242, user kai) uses 15 GiB of GPU-0'
  expect(limit(two, { 'GPU-0': 15 })).toEqual([8, { memoryBytes: 36 * GiB, programs }])
  expect(limit(two, { 'GPU-0': null })).toBeNull()
  expect(limit(one, { 'GPU-0': null })).toEqual([18, undefined])
})

test('GPU_SHARES offers each GPU also in shares, the cheaper ones first', () => {
  const devices = ['NVIDIA L4', 'NVIDIA L4', 'RTX 4090'].map((name, index) => makeGpu(index, name, 20))
  const offersOf = (gpuShares: number | undefined) =>
    describeHost({ environment: {}, instanceTypes, gpuShares }, ['ggufv2'], devices)
  const shared = offersOf(3)
  expect(shared.map(({ offer, parts }) => [offer.instanceType, offer.shares, parts])).toEqual([
    ['l4-x1/3', 3, 3],
    ['l4-x1', undefined, 1],
    ['l4-x2', undefined, 1],
    ['local-gpu/3', 3, 3],
    ['local-gpu', undefined, 1],
    ['local-cpu', undefined, 1],
  ])
  const [share, whole] = shared.map(({ offer }) => offer)
  expect(share).toEqual({
    ...whole,
    instanceType: 'l4-x1/3',
    memoryBytes: Math.floor(whole!.memoryBytes / 3),
    shares: 3,
  })
  expect(limitOffer(shared[0]!, useOthers({ 'GPU-0': 19, 'GPU-1': 10 }))).toEqual(share)
  expect(limitOffer(shared[0]!, useOthers({ 'GPU-0': 19, 'GPU-1': 19 }))).toMatchObject({
    memoryBytes: 0,
    inUse: { memoryBytes: share!.memoryBytes },
  })
  expect(offersOf(1)).toEqual(offersOf(undefined))
})

test('GPUs that no engine can use are offered with the reason and without formats', () => {
  const obstacle = 'NVIDIA L4 (driver 470.1): not usable yet.'
  const offers = listGpuOffers(
    [makeGpu(0, 'NVIDIA L4'), { ...makeGpu(1, 'NVIDIA L4'), formats: [], obstacle }],
    instanceTypes,
    memoryShare,
  )
  expect(offers.map(({ offer }) => [offer.instanceType, offer.formats, offer.obstacle])).toEqual([
    ['l4-x1', [], obstacle],
    ['l4-x2', [], obstacle],
  ])
})
