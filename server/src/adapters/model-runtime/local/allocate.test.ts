import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allocate } from './allocate.ts'
import type { Held } from './allocate.ts'
import { allFree } from './gpu-use.ts'
import type { GpuUse, UseOf } from './gpu-use.ts'
import type { Gpu } from './gpus.ts'
import type { HostOffer } from './host.ts'

const GiB = 2 ** 30
const memoryShare = 0.9
const gpus: Gpu[] = [0, 1, 2].map((index) => ({
  uuid: `GPU-${index}`,
  name: 'NVIDIA L4',
  memoryBytes: 24 * GiB,
  vendor: 'nvidia' as const,
  driverVersion: '570.86.15',
  computeCapability: 8.9,
}))

function makeHost(gpuCount: number, parts = 1): HostOffer {
  const offer = {
    instanceType: parts === 1 ? `l4-x${gpuCount}` : `l4-x1/${parts}`,
    region: 'local',
    gpuCount,
    gpuModel: 'NVIDIA L4',
    vendor: 'nvidia' as const,
    computeCapability: 8.9,
    memoryBytes: Math.floor((24 * GiB * memoryShare * gpuCount) / parts),
    formats: ['ggufv2'],
  }
  return { offer, gpus, hidesGpus: false, parts, memoryShare }
}

const hold = (parts: number, ...indexes: number[]): Held => ({
  memoryBytes: 0,
  gpus: indexes.map((index) => `GPU-${index}`),
  parts,
})

function useOthers(bytes: number[]): UseOf {
  return (uuid): GpuUse => {
    const others = bytes[Number(uuid.at(-1))] ?? 0
    return {
      isPresent: others !== Infinity,
      usedBytes: others,
      utilization: null,
      othersBytes: others,
      others: others > 0 ? 'python (pid 4242, user kai) uses memory' : '',
      engineBytes: new Map(),
    }
  }
}

test('a share goes to the fullest GPU with room, so that others stay whole', () => {
  const share = makeHost(1, 4)
  expect(allocate(share, GiB, [], allFree)).toEqual({ gpus: ['GPU-0'] })
  expect(allocate(share, GiB, [hold(1, 0), hold(4, 2)], allFree)).toEqual({ gpus: ['GPU-2'] })
  const full = [hold(1, 0), ...Array.from({ length: 4 }, () => hold(4, 2))]
  expect(allocate(share, GiB, full, allFree)).toEqual({ gpus: ['GPU-1'] })
  expect(allocate(share, GiB, [...full, hold(2, 1), hold(3, 1)], allFree)).toEqual({
    code: 'no_capacity',
    message:
      'l4-x1/4 needs a share of a GPU, but 0 of the 3 on this host have room. ' +
      'Terminate a deployment, or deploy again when another one has ended.',
  })
})

test('a whole GPU must be empty', () => {
  const whole = makeHost(2)
  expect(allocate(whole, GiB, [hold(16, 0)], allFree)).toEqual({ gpus: ['GPU-1', 'GPU-2'] })
  expect(allocate(whole, GiB, [hold(16, 0), hold(16, 1)], allFree)).toMatchObject({
    code: 'no_capacity',
    message: expect.stringMatching(/^l4-x2 needs 2 GPUs, but 1 of the 3 on this host are free/),
  })
})

test('memory that others use is in use, not a lack of capacity, unless deployments have the other GPUs', () => {
  const whole = makeHost(1)
  const busy = useOthers([20 * GiB, 20 * GiB, 20 * GiB])
  expect(allocate(whole, 10 * GiB, [], busy)).toEqual({
    code: 'in_use',
    message:
      'l4-x1 needs a GPU, but memory is in use by others: python (pid 4242, user kai) uses memory of GPU-0; ' +
      'python (pid 4242, user kai) uses memory of GPU-1; python (pid 4242, user kai) uses memory of GPU-2.',
  })
  expect(allocate(whole, 2 * GiB, [], busy)).toEqual({ gpus: ['GPU-0'] })
  expect(allocate(whole, 10 * GiB, [], useOthers([20 * GiB, 10 * GiB]))).toEqual({ gpus: ['GPU-2'] })
  expect(allocate(makeHost(1, 2), GiB, [hold(1, 1), hold(1, 2)], busy)).toMatchObject({ code: 'in_use' })
  const taken = [0, 1, 2].map((index) => hold(1, index))
  expect(allocate(whole, 10 * GiB, taken, busy)).toMatchObject({ code: 'no_capacity' })
  expect(allocate(whole, GiB, [], useOthers([Infinity, Infinity, Infinity]))).toMatchObject({
    code: 'no_capacity',
    message: expect.stringContaining('0 of the 0 on this host are free'),
  })
})

/** Hosts by GPU_SHARES, which an operator may change between two starts of the server */
const hosts = [makeHost(1), makeHost(2), makeHost(1, 2), makeHost(1, 3), makeHost(1, 4), makeHost(1, 16)]
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ start: fc.constantFrom(...hosts) }) },
    { weight: 2, arbitrary: fc.record({ end: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ gpu: fc.nat(2), others: fc.integer({ min: 0, max: 24 }) }) },
  ),
  { maxLength: 60 },
)

test('in 1,000 random histories of whole GPUs and shares, no GPU is promised more than it has', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const held: Held[] = []
      const others = [0, 0, 0]
      for (const step of history) {
        if ('end' in step) held.splice(step.end % Math.max(1, held.length), 1)
        else if ('gpu' in step) others[step.gpu] = step.others * GiB
        else {
          const { offer, parts } = step.start
          const assigned = allocate(step.start, offer.memoryBytes, held, useOthers(others))
          if ('code' in assigned) continue
          expect(assigned.gpus).toHaveLength(offer.gpuCount)
          held.push({ memoryBytes: offer.memoryBytes, gpus: assigned.gpus, parts })
        }
        for (const { uuid, memoryBytes } of gpus) {
          const here = held.filter(({ gpus: own }) => own?.includes(uuid) === true)
          const most = memoryBytes * memoryShare
          expect(here.reduce((sum, { parts }) => sum + Math.floor(most / parts), 0)).toBeLessThanOrEqual(most)
          if (here.some(({ parts }) => parts === 1)) expect(here).toHaveLength(1)
        }
      }
    }),
    { numRuns: 1_000 },
  )
})
