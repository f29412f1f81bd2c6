import { describe, expect, it } from 'vitest'
import type { DeployableModel, Placement } from '../../contract.ts'
import { describeModel, formatContext, listFilterOptions, listEntries, readFilters } from './filter.ts'

function createModel(id: string, sizes: number[], fields: Partial<DeployableModel> = {}): DeployableModel {
  return {
    id,
    model_name: id,
    display_name: id,
    provider: 'Ada',
    family: id,
    model_type: 'LLM',
    description: '',
    license: 'mit',
    context_tokens: 32_768,
    tags: [],
    suggested_prompts: [],
    enabled: true,
    sort_order: 1,
    owner: 'installation',
    base_model: null,
    managed_by: null,
    source: {
      kind: 'catalog',
      repository: null,
      commit: null,
      file_name: null,
      bytes: null,
      endpoint_id: null,
      prices: null,
    },
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    variants: sizes.map((size) => ({
      model_format: 'ggufv2',
      model_size_in_billions: size,
      quantizations: ['Q4_K_M'],
      default: false,
    })),
    default_variant: {
      model_format: 'ggufv2',
      model_size_in_billions: sizes[0] ?? 1,
      quantization: 'Q4_K_M',
    },
    ...fields,
  }
}

function place(id: string, size: number, memory: number, price: string | null, feasible = true): Placement {
  return {
    model_id: id,
    model_name: id,
    model_format: 'ggufv2',
    model_size_in_billions: size,
    quantization: 'Q4_K_M',
    memory_bytes: memory,
    feasible,
    obstacle: feasible ? null : 'memory',
    weight_bytes: null,
    instance_type: feasible ? 'here' : null,
    gpu_count: feasible ? 0 : null,
    price_per_hour: price,
    token_prices: null,
    context_tokens: null,
    parallel_sequences: null,
  }
}

const models = [
  createModel('ship', [0.5, 4], { tags: ['code'] }),
  createModel('harbour', [70], {
    provider: 'Bo',
    description: 'A harbour for Code',
    context_tokens: 131_072,
  }),
  createModel('vector', [0.1], { model_type: 'embedding', license: null }),
]
const placements = [
  place('ship', 0.5, 10, '10.5'),
  place('ship', 4, 40, '9'),
  place('harbour', 70, 700, null, false),
  place('vector', 0.1, 1, null),
]
const list = (filters: Parameters<typeof listEntries>[2], known: Placement[] | undefined = placements) =>
  listEntries(models, known, filters).map(({ model }) => model.id)

describe('matching models', () => {
  it('contain every search word, ignoring case', () => {
    expect(list({ q: ' CODE ' })).toEqual(['ship', 'harbour'])
    expect(list({ q: 'code ada' })).toEqual(['ship'])
    expect(list({ q: 'code nothing' })).toEqual([])
  })

  it('have the type, the provider and a size in the half-open range', () => {
    expect(list({ type: 'embedding' })).toEqual(['vector'])
    expect(list({ provider: 'Bo' })).toEqual(['harbour'])
    expect(list({ size: '1-4' })).toEqual([])
    expect(list({ size: '4-10' })).toEqual(['ship'])
  })

  it('have the license and at least the context', () => {
    expect(list({ license: 'mit' })).toEqual(['ship', 'harbour'])
    expect(list({ context: '32k' })).toEqual(['ship', 'harbour', 'vector'])
    expect(list({ context: '128k' })).toEqual(['harbour'])
  })

  it('fit in at least one of these sizes once placements are known', () => {
    expect(list({ fits: 'yes' })).toEqual(['ship', 'vector'])
    expect(list({ fits: 'yes', size: 'over-40' })).toEqual([])
    expect(listEntries(models, undefined, { fits: 'yes' })).toHaveLength(3)
  })
})

it.each([
  ['name', ['harbour', 'ship', 'vector']],
  ['size', ['vector', 'ship', 'harbour']],
  ['context', ['harbour', 'ship', 'vector']],
  ['price', ['ship', 'harbour', 'vector']],
] as const)('sorts by %s', (sort, sorted) => {
  expect(list({ sort })).toEqual(sorted)
})

it('summarizes fitting sizes, lowest numeric price and least memory', () => {
  const [ship, harbour] = listEntries(models, placements, {})
  expect(ship?.fit).toEqual({ sizes: 2, pricePerHour: '9', isOnePrice: false, memoryBytes: 10 })
  expect(harbour?.fit).toEqual({ sizes: 0, pricePerHour: null, isOnePrice: false, memoryBytes: 700 })
  expect(listEntries(models, placements, { size: 'under-1' })[0]?.fit).toMatchObject({
    pricePerHour: '10.5',
    isOnePrice: true,
  })
})

it('describes a model by its license and context without repeating its name and kind', () => {
  const tags = ['chat', 'coder', 'long-context', 'tools']
  const model = createModel('qwen', [1], { display_name: 'Qwen Coder', provider: 'Qwen', tags })
  expect(describeModel(model)).toEqual(['Qwen', 'mit', '32K context', 'tools'])
})

it('drops unknown filter values of the URL', () => {
  const search = {
    q: 'x',
    type: 'LLM',
    provider: 'Nobody',
    family: 'harbour',
    size: '__proto__',
    license: 'none',
    context: '1',
  }
  expect(readFilters(search, models)).toEqual({ q: 'x', type: 'LLM', family: 'harbour' })
  expect(listFilterOptions({ provider: 'Bo' }, models)).toEqual({
    providers: ['Ada', 'Bo'],
    families: ['harbour'],
    licenses: ['mit'],
  })
})

it('contexts count in powers of two, as the names of models do', () => {
  expect([512, 2_048, 40_960, 131_072, 202_752, 1_048_576].map(formatContext)).toEqual([
    '512',
    '2K',
    '40K',
    '128K',
    '198K',
    '1M',
  ])
})
