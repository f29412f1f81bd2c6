import { expect, test } from 'vitest'
import { parseGpus } from './gpus.ts'

const twoGpus = '0, GPU-aaaa-1, NVIDIA L4, 23034, 570.86.15\n1, GPU-bbbb-2, NVIDIA L4, 23034, 570.86.15\n'
const capabilities = 'GPU-aaaa-1, 8.9\nGPU-bbbb-2, 8.9\n'

function uuidsOf(lines: string, visible?: string): string[] {
  return parseGpus(lines, capabilities, visible).map(({ uuid }) => uuid)
}

test('each line of nvidia-smi is a GPU', () => {
  expect(parseGpus(twoGpus, capabilities, undefined)[1]).toEqual({
    uuid: 'GPU-bbbb-2',
    name: 'NVIDIA L4',
    memoryBytes: 23034 * 2 ** 20,
    driverVersion: '570.86.15',
    computeCapability: 8.9,
  })
})

test('CUDA_VISIBLE_DEVICES filters the GPUs', () => {
  expect(uuidsOf(twoGpus)).toEqual(['GPU-aaaa-1', 'GPU-bbbb-2'])
  expect(uuidsOf(twoGpus, '1')).toEqual(['GPU-bbbb-2'])
  expect(uuidsOf(twoGpus, 'GPU-bbbb, 0')).toEqual(['GPU-aaaa-1', 'GPU-bbbb-2'])
  expect(uuidsOf(twoGpus, '')).toEqual([])
  expect(uuidsOf(twoGpus, '-1')).toEqual([])
})

test('lines that describe no usable GPU are skipped', () => {
  expect(uuidsOf('0, GPU-cccc, NVIDIA GB10, [N/A], 580.1\n')).toEqual([])
  expect(uuidsOf('0, GPU,cccc, NVIDIA L4, 23034\n')).toEqual([])
  expect(uuidsOf('No devices were found\n')).toEqual([])
})

test('the compute capability is unknown when nvidia-smi rejects the field', () => {
  const answers = ['', 'Field "compute_cap" is not a valid field to query.\n', twoGpus, 'GPU-aaaa-1, [N/A]\n']
  for (const answer of answers) expect(parseGpus(twoGpus, answer, '0')[0]?.computeCapability).toBeNull()
})
