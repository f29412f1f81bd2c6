import { expect, test } from 'vitest'
import { parseAmdGpus, parseAmdUse, parseRocmGpus, parseRocmUse } from './amd-gpus.ts'

const MiB = 2 ** 20

// As amd-smi of ROCm 6.4 prints it for two MI325X, and of ROCm 7 within `gpu_data`
const cards = [
  { gpu: 0, bdf: '0000:83:00.0', uuid: '9fff74b9-0000-1000-8044-4a2fb30adeb0', kfd_id: 43855, node_id: 9 },
  { gpu: 1, bdf: '0000:8b:00.0', uuid: 'b7ff74b9-0000-1000-80d1-81671a192e45', kfd_id: 27976, node_id: 8 },
]
const uuids = ['GPU-9f444a2fb30adeb0', 'GPU-b7d181671a192e45']
const facts = [0, 1].map((gpu) => ({
  gpu,
  asic: { market_name: 'AMD Instinct MI325X', vendor_id: '0x1002', target_graphics_version: 'gfx942' },
  vram: { type: 'HBM3E', vendor: 'N/A', size: { value: 262_128, unit: 'MB' }, bit_width: 8192 },
  driver: { name: 'amdgpu', version: '6.12.12' },
}))
const use = [
  {
    gpu: 0,
    mem_usage: { total_vram: { value: 262_128, unit: 'MB' }, used_vram: { value: 21_900, unit: 'MB' } },
  },
  {
    gpu: 1,
    mem_usage: { total_vram: { value: 262_128, unit: 'MB' }, used_vram: { value: 297, unit: 'MB' } },
  },
]
const makeProcess = (pid: number, bytes: number) => ({
  process_info: {
    name: 'python3',
    pid,
    memory_usage: {
      gtt_mem: { value: 2_097_152, unit: 'B' },
      cpu_mem: { value: 0, unit: 'B' },
      vram_mem: { value: bytes, unit: 'B' },
    },
    mem_usage: { value: bytes, unit: 'B' },
    usage: { gfx: { value: 0, unit: 'ns' }, enc: { value: 0, unit: 'ns' } },
  },
})
const programs = [
  { gpu: 0, process_list: [makeProcess(4242, 21_600 * MiB), makeProcess(7, 0)] },
  { gpu: 1, process_list: [{ process_info: 'No running processes detected' }] },
]

test('amd-smi tells the GPUs, by the UUIDs of ROCm’s runtime', () => {
  const expected = uuids.map((uuid) => ({
    uuid,
    vendor: 'amd',
    name: 'AMD Instinct MI325X',
    memoryBytes: 262_128 * MiB,
    driverVersion: '6.12.12',
    computeCapability: null,
  }))
  expect(parseAmdGpus(cards, facts)).toEqual(expected)
  expect(parseAmdGpus({ gpu_data: cards }, { gpu_data: facts })).toEqual(expected)
  const named = [{ ...cards[0], hip_uuid: 'GPU-de8287300da37c72' }]
  expect(parseAmdGpus(named, facts)[0]?.uuid).toBe('GPU-de8287300da37c72')
})

test('GPUs without a UUID or with too little memory are left out, as is nonsense', () => {
  expect(parseAmdGpus([{ gpu: 0, uuid: 'N/A' }], facts)).toEqual([])
  const small = [{ ...facts[0], vram: { size: { value: 512, unit: 'MB' } } }]
  expect(parseAmdGpus(cards, small)).toEqual([])
  for (const nonsense of [null, [], {}, [7], { gpu_data: 'N/A' }, 'x', [{ gpu: 0, vram: 'N/A' }]]) {
    expect(parseAmdGpus(cards, nonsense)).toEqual([])
    expect(parseAmdGpus(nonsense, facts)).toEqual([])
    expect(parseAmdUse(cards, nonsense, programs)).toBeNull()
    expect(parseAmdUse(cards, use, nonsense)?.programs).toEqual([])
    expect(parseRocmGpus(nonsense)).toEqual([])
    expect(parseRocmUse(nonsense)).toBeNull()
  }
})

test('amd-smi tells the memory in use and the programs that use it', () => {
  expect(parseAmdUse(cards, use, programs)).toEqual({
    usedBytes: new Map([
      [uuids[0], 21_900 * MiB],
      [uuids[1], 297 * MiB],
    ]),
    programs: [{ uuid: uuids[0], pid: 4242, name: 'python3', bytes: 21_600 * MiB }],
  })
  // A card that has disappeared
  expect([...parseAmdUse(cards.slice(1), use, programs)!.usedBytes.keys()]).toEqual([uuids[1]])
})

// As rocm-smi of ROCm 6.0 prints it
const rocm = {
  card0: {
    'Unique ID': '0x9f444a2fb30adeb',
    'VRAM Total Memory (B)': '25753026560',
    'VRAM Total Used Memory (B)': '1073741824',
    'Card Series': 'Radeon RX 7900 XTX',
    'Card Model': '0x744c',
  },
  card1: {
    'Unique ID': 'N/A',
    'VRAM Total Memory (B)': '536870912',
    'VRAM Total Used Memory (B)': '482263040',
    'Card Series': 'Rembrandt [Radeon 680M]',
  },
  system: { 'Driver version': '6.7.0' },
}

test('rocm-smi tells the GPUs and the memory in use where amd-smi is missing', () => {
  expect(parseRocmGpus(rocm)).toEqual([
    {
      uuid: 'GPU-09f444a2fb30adeb',
      vendor: 'amd',
      name: 'Radeon RX 7900 XTX',
      memoryBytes: 25_753_026_560,
      driverVersion: '6.7.0',
      computeCapability: null,
    },
  ])
  expect(parseRocmUse(rocm)?.usedBytes).toEqual(new Map([['GPU-09f444a2fb30adeb', 1_073_741_824]]))
})
