import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readInstanceTypesFile } from './instance-types-file.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-instance-types-'))
})
afterAll(() => rm(folder, { recursive: true }))

const good = `currency: usd
gpus:
  - model: NVIDIA L4
    vendor: nvidia
    usable_gib: 22.5
    compute_capability: 8.9
    node_selector: { nvidia.com/gpu.product: NVIDIA-L4 }
    tolerations: [{ key: nvidia.com/gpu, operator: Exists, effect: NoSchedule }]
    types:
      - { name: l4-x1, gpu_count: 1, region: default, price_per_hour: "0.80" }
      - { name: l4-x2, gpu_count: 2, region: default, price_per_hour: "1.6" }
`

async function read(content: string) {
  const path = join(folder, 'instance-types.yaml')
  await writeFile(path, content)
  return readInstanceTypesFile(path)
}

test('each type inherits the facts of its GPU', async () => {
  const types = await read(good)
  expect(types).toHaveLength(2)
  expect(types[1]).toEqual({
    name: 'l4-x2',
    region: 'default',
    vendor: 'nvidia',
    gpuModel: 'NVIDIA L4',
    gpuCount: 2,
    gpuMemoryBytes: 22.5 * 2 ** 30,
    computeCapability: 8.9,
    pricePerHour: '1.6',
    nodeSelector: { 'nvidia.com/gpu.product': 'NVIDIA-L4' },
    tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
  })
})

test('a type may name its Kubernetes resource; an engine uses one MIG slice', async () => {
  const withResource = (resource: string, from = 'l4-x1, gpu_count: 1') =>
    read(good.replace(from, `${from}, resource: ${resource}`))
  expect((await withResource('nvidia.com/mig-1g.10gb')).map(({ resource }) => resource)).toEqual([
    'nvidia.com/mig-1g.10gb',
    undefined,
  ])
  for (const bad of ['gpu', 'Nvidia.com/gpu', 'nvidia.com/', 'nvidia.com/a/b', '"nvidia.com/gpu "', '7']) {
    await expect(withResource(bad), bad).rejects.toThrow('gpus[0].types[0].resource: ')
  }
  await expect(withResource('nvidia.com/mig-1g.10gb', 'l4-x2, gpu_count: 2')).rejects.toThrow(
    'gpus[0].types[1].gpu_count: must be 1, because an engine uses one MIG slice',
  )
})

test('the shipped file has eight GPUs in four sizes each', () => {
  const path = resolve(import.meta.dirname, '../../../../catalog/instance-types.yaml')
  const types = readInstanceTypesFile(path)
  const models = Map.groupBy(types, ({ gpuModel }) => gpuModel)
  expect([...models.keys()].map((model) => model.replace('NVIDIA ', ''))).toEqual([
    'T4',
    'L4',
    'A10G',
    'L40S',
    'A100 40GB',
    'A100 80GB',
    'H100 80GB',
    'H200',
  ])
  for (const sizes of models.values()) expect(sizes.map(({ gpuCount }) => gpuCount)).toEqual([1, 2, 4, 8])
})

test('every mistake is reported at once, with its line', async () => {
  const bad = good.replace('l4-x2, gpu_count: 2', 'l4-x1, gpu_count: 2').concat(
    `  - { model: T4, vendor: nvidia, usable_gib: 0, types: [{ name: T 4, gpu_count: 1.5, region: r, price_per_hour: 1 }] }
  - { model: M4, vendor: apple, usable_gib: 16, compute_capability: 9, color: red, types: [] }
`,
  )
  const message = await read(bad).then(
    () => '',
    (error: Error) => error.message,
  )
  for (const part of [
    'line 11, gpus[0].types[1].name: duplicate name l4-x1',
    'line 12, gpus[1].usable_gib: ',
    'line 12, gpus[1].types[0].name: must be a lowercase slug such as l4-x2',
    'line 12, gpus[1].types[0].gpu_count: ',
    'line 12, gpus[1].types[0].price_per_hour: must be a decimal number in quotes',
    'line 13, gpus[2].types: must contain at least one type',
    'line 13, gpus[2].color: is not a known field',
  ]) {
    expect(message).toContain(part)
  }
})

test('only NVIDIA GPUs have a compute capability', async () => {
  const message = 'compute_capability: is required for nvidia and not allowed for other vendors'
  await expect(read(good.replace('    compute_capability: 8.9\n', ''))).rejects.toThrow(message)
  await expect(read(good.replace('vendor: nvidia', 'vendor: amd'))).rejects.toThrow(message)
})

test.each([
  ['', 'line 1'],
  ['[]', 'line 1'],
  ['currency: usd\n', 'gpus'],
  ['currency: usd\ngpus: [1, null]\n', 'gpus[1]'],
  ['currency: [\n', 'line'],
])('the malformed file %j is rejected', async (content, part) => {
  await expect(read(content)).rejects.toThrow(part)
})

test('a missing file is reported by its path', () => {
  expect(() => readInstanceTypesFile('/nowhere/types.yaml')).toThrow(
    'The instance type file /nowhere/types.yaml could not be read',
  )
})
