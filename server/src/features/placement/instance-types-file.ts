import { z } from 'zod'
import type { InstanceType } from '../../ports/model-runtime.ts'
import { readYamlFile, toMistakes, yamlText } from '../../base/yaml-file.ts'
import type { Mistake } from '../../base/yaml-file.ts'

const text = yamlText.max(200, 'must have at most 200 characters')

const resource = z
  .string()
  .regex(
    /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?\/[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/,
    'must be a Kubernetes resource such as nvidia.com/mig-1g.10gb',
  )

const typeSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9]+([._-][a-z0-9]+)*$/, 'must be a lowercase slug such as l4-x2')
      .max(63, 'must have at most 63 characters'),
    gpu_count: z.int().min(1).max(64),
    region: text,
    price_per_hour: z
      .string('must be a decimal number in quotes')
      .regex(/^\d{1,9}(\.\d{1,6})?$/, 'must be a decimal such as "0.80", with at most 6 decimal places'),
    resource: resource.exactOptional(),
  })
  .refine(({ gpu_count, resource: named }) => gpu_count === 1 || named?.includes('/mig-') !== true, {
    path: ['gpu_count'],
    message: 'must be 1, because an engine uses one MIG slice',
  })

const tolerationSchema = z.strictObject({
  key: text.exactOptional(),
  operator: z.enum(['Exists', 'Equal']).exactOptional(),
  value: z.string().exactOptional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).exactOptional(),
})

const gpuSchema = z
  .strictObject({
    model: text,
    vendor: z.enum(['nvidia', 'amd', 'apple'], 'must be nvidia, amd or apple'),
    usable_gib: z.number().positive().max(4096),
    compute_capability: z.number().min(1).max(99).optional(),
    node_selector: z.record(text, z.string('must be in quotes')).default({}),
    tolerations: z.array(tolerationSchema).default([]),
    types: z.array(typeSchema).min(1, 'must contain at least one type'),
  })
  .refine(({ vendor, compute_capability }) => (vendor === 'nvidia') === (compute_capability !== undefined), {
    path: ['compute_capability'],
    message: 'is required for nvidia and not allowed for other vendors',
  })

const documentSchema = z.strictObject({
  currency: z.string().regex(/^[a-z]{3}$/, 'must be a lowercase currency code such as usd'),
  gpus: z.array(z.unknown()),
})

/** Reads an instance type file. Throws one Error with every mistake and its line, also duplicate names. */
export function readInstanceTypesFile(path: string): InstanceType[] {
  return readYamlFile(path, 'instance type', (content) => {
    const document = documentSchema.safeParse(content)
    if (!document.success) return { value: [], mistakes: toMistakes(document.error, []) }
    const value: InstanceType[] = []
    const mistakes: Mistake[] = []
    const names = new Set<string>()
    for (const [index, entry] of document.data.gpus.entries()) {
      const parsed = gpuSchema.safeParse(entry)
      if (!parsed.success) {
        mistakes.push(...toMistakes(parsed.error, ['gpus', index]))
        continue
      }
      for (const [typeIndex, { name }] of parsed.data.types.entries()) {
        if (names.has(name)) {
          const message = `duplicate name ${name}`
          mistakes.push({ path: ['gpus', index, 'types', typeIndex, 'name'], message })
        }
        names.add(name)
      }
      value.push(...toInstanceTypes(parsed.data))
    }
    return { value, mistakes }
  })
}

function toInstanceTypes(gpu: z.output<typeof gpuSchema>): InstanceType[] {
  return gpu.types.map((type) => ({
    name: type.name,
    region: type.region,
    vendor: gpu.vendor,
    gpuModel: gpu.model,
    gpuCount: type.gpu_count,
    gpuMemoryBytes: Math.floor(gpu.usable_gib * 2 ** 30),
    computeCapability: gpu.compute_capability ?? null,
    pricePerHour: type.price_per_hour,
    nodeSelector: gpu.node_selector,
    ...(type.resource !== undefined && { resource: type.resource }),
    tolerations: gpu.tolerations,
  }))
}

/** Picks the types in `KUBERNETES_INSTANCE_TYPES`; null selects all. Throws for an unknown name. */
export function pickInstanceTypes(
  types: readonly InstanceType[],
  names: readonly string[] | null,
): InstanceType[] {
  if (names === null) return [...types]
  const unknown = names.filter((name) => !types.some((type) => type.name === name))
  if (unknown.length > 0) {
    throw new Error(
      `KUBERNETES_INSTANCE_TYPES names types that the instance type file does not define: ${unknown.join(', ')}`,
    )
  }
  return types.filter(({ name }) => names.includes(name))
}
