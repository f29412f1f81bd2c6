import { expect, test } from 'vitest'
import { chooseThreads, parseGpus } from './host.ts'

const TWO = '0, GPU-aaaa-1, NVIDIA L4, 23034\n1, GPU-bbbb-2, NVIDIA L4, 23034\n'
const L4 = { name: 'NVIDIA L4', memoryBytes: 23034 * 2 ** 20 }

test('CUDA_VISIBLE_DEVICES filters the GPUs', () => {
  expect(parseGpus(TWO, undefined)).toEqual([L4, L4])
  expect(parseGpus(TWO, '1')).toEqual([L4])
  expect(parseGpus(TWO, 'GPU-bbbb, 0')).toEqual([L4, L4])
  expect(parseGpus(TWO, '')).toEqual([])
  expect(parseGpus(TWO, '-1')).toEqual([])
  expect(parseGpus('0, GPU-cccc, NVIDIA GB10, [N/A]\n', undefined)).toEqual([])
  expect(parseGpus('No devices were found\n', undefined)).toEqual([])
})

test('busy engines together use no more threads than cores, but at least one each', () => {
  expect(chooseThreads(2, 2)).toBe(1)
  expect(chooseThreads(16, 2)).toBe(8)
  expect(chooseThreads(7, 3)).toBe(2)
  expect(chooseThreads(1, 4)).toBe(1)
})
