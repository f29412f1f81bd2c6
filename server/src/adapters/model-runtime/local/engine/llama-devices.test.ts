import { expect, test } from 'vitest'
import { parseGpus } from '../gpus.ts'
import { chooseDevices, parseDevices } from './llama-devices.ts'

const gpus = parseGpus(
  [
    '0, GPU-a, NVIDIA L4, 23034, 580.159',
    '1, GPU-b, NVIDIA RTX A4000, 16376, 580.159',
    '2, GPU-c, NVIDIA L4, 23034, 580.159',
  ].join('\n'),
  '',
  undefined,
)
const list = (...lines: string[]) => parseDevices(`log\nAvailable devices:\n${lines.join('\n')}\n`)
const l4 = 'NVIDIA L4 (23034 MiB, 22000 MiB free)'
const vulkan = list(
  '  Vulkan0: NVIDIA RTX A4000 (16376 MiB, 16000 MiB free)',
  `  Vulkan1: ${l4}`,
  `  Vulkan2: ${l4}`,
)

test.each([
  ['Vulkan shows all GPUs: the one with the name', vulkan, ['GPU-b'], ['Vulkan0']],
  ['equal GPUs are taken in their order', vulkan, ['GPU-c'], ['Vulkan2']],
  ['several GPUs', vulkan, ['GPU-a', 'GPU-b'], ['Vulkan1', 'Vulkan0']],
  ['a variable hides the others from CUDA', list(`  CUDA0: ${l4}`), ['GPU-c'], undefined],
  [
    'CUDA and Vulkan in one program',
    list(`  CUDA0: ${l4}`, ...vulkan.map(({ name }) => `  ${name}: x`)),
    ['GPU-a'],
    ['CUDA0'],
  ],
  [
    'unknown names: the order of the host',
    list('  Vulkan0: a', '  Vulkan1: b', '  Vulkan2: c'),
    ['GPU-b'],
    ['Vulkan1'],
  ],
  ['no list', list(), ['GPU-a'], undefined],
])('%s', (_name, listed, uuids, expected) => {
  expect(chooseDevices(listed, gpus, uuids)).toEqual(expected)
})
