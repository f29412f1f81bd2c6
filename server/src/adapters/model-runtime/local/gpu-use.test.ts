import { expect, test } from 'vitest'
import type { GpuReading } from './gpu-reader.ts'
import { findUse, findUser } from './gpu-use.ts'
import type { HeldGpu, KnownProgram } from './gpu-use.ts'
import type { Gpu } from './gpus.ts'

const GiB = 2 ** 30
const uuid = 'GPU-a'
const gpu: Gpu = {
  uuid,
  name: 'NVIDIA L4',
  memoryBytes: 24 * GiB,
  vendor: 'nvidia' as const,
  driverVersion: '570.86.15',
  computeCapability: 8.9,
}

function program(gibibytes: number | null, changes: Partial<KnownProgram> = {}): KnownProgram {
  const bytes = gibibytes === null ? null : gibibytes * GiB
  return { uuid, pid: 4242, name: '/usr/bin/python', bytes, engineId: null, user: 'kai', ...changes }
}

function useOf(usedGibibytes: number, programs: KnownProgram[], held: Omit<HeldGpu, 'uuid'>[] = []) {
  const reading: GpuReading = { usedBytes: new Map([[uuid, usedGibibytes * GiB]]), programs }
  const find = findUse(
    reading,
    programs,
    [gpu],
    held.map((each) => ({ ...each, uuid })),
  )
  const { othersBytes, others } = find(uuid)
  return [othersBytes / GiB, others]
}

const engine = program(5, { engineId: 'e', pid: 7 })

test.each<[string, ReturnType<typeof useOf>, number, string]>([
  ['nothing', useOf(0, []), 0, ''],
  ['a program', useOf(21.3, [program(21.3)]), 21.3, 'python (pid 4242, user kai) uses 21.3 GiB'],
  ['an engine', useOf(5, [engine], [{ engineId: 'e', parts: 1 }]), 0, ''],
  [
    'an engine beside a program',
    useOf(8, [engine, program(3, { user: null, name: '[Not Found]' })], [{ engineId: 'e', parts: 4 }]),
    3,
    'a program (pid 4242) uses 3.0 GiB',
  ],
  ['processes that the driver hides', useOf(20, []), 20, 'other programs use 20.0 GiB'],
  [
    'programs whose memory the driver hides',
    useOf(20, [program(null), program(null, { pid: 5, name: 'train' })]),
    20,
    'python (pid 4242, user kai) and train (pid 5, user kai) use 20.0 GiB',
  ],
  ['a hidden engine on the whole GPU', useOf(20, [], [{ engineId: 'e', parts: 1 }]), 0, ''],
  [
    'hidden engines on two quarters, and more than they may use',
    useOf(
      20,
      [],
      [
        { engineId: 'e', parts: 4 },
        { engineId: 'f', parts: 4 },
      ],
    ),
    8,
    'other programs use 8.0 GiB',
  ],
  [
    'many programs, the largest first',
    useOf(
      15,
      [1, 2, 3, 4, 5].map((gibibytes) => program(gibibytes, { pid: gibibytes })),
    ),
    15,
    'python (pid 5, user kai) uses 5.0 GiB, python (pid 4, user kai) uses 4.0 GiB, ' +
      'python (pid 3, user kai) uses 3.0 GiB, other programs use 3.0 GiB',
  ],
  [
    'a hostile name',
    useOf(2, [program(2, { name: '/x/<b>py\u0007\u202Ethon</b>;rm' })]),
    2,
    'brm (pid 4242, user kai) uses 2.0 GiB',
  ],
])('%s', (_name, [othersGibibytes, others], expectedGibibytes, expected) => {
  expect(othersGibibytes).toBeCloseTo(expectedGibibytes, 9)
  expect(others).toBe(expected)
})

test('a GPU that a reading lacks has disappeared; without a reading nothing is known', () => {
  const without = findUse({ usedBytes: new Map(), programs: [] }, [], [gpu], [])
  expect(without(uuid)).toMatchObject({ isPresent: false, othersBytes: 0 })
  expect(findUse(null, [], [gpu], [])(uuid)).toMatchObject({ isPresent: true, othersBytes: 0 })
})

test('the user of a process has a name', async () => {
  if (process.platform === 'linux') expect(await findUser(process.pid)).toMatch(/^[a-z0-9_-]+$/)
  expect(await findUser(2 ** 30)).toBeNull()
})
