import type { Services } from '../../services.ts'
import { listServedTags } from './engine-choice.ts'
import { findModelByName } from './store.ts'

/** What a model can do besides its type's main route; the tags of the catalog with these names. */
export const capabilityTags = ['reasoning', 'tools', 'vision'] as const
export type CapabilityTag = (typeof capabilityTags)[number]

/** What a model can do in each of these formats, according to the catalog; nothing for a removed model. */
export async function listCapabilities(
  { db, runtimes }: Pick<Services, 'db' | 'runtimes'>,
  organizationId: number,
  modelName: string,
  formats: readonly string[],
): Promise<CapabilityTag[]> {
  const model = await findModelByName(db, organizationId, modelName, false)
  if (model === undefined) return []
  const { tags, variants } = model.entry
  const served = formats.map((format) => {
    const ofFormat = variants.filter((variant) => variant.format === format)
    return listServedTags({ tags, variants: ofFormat }, runtimes.engines)
  })
  return capabilityTags.filter((tag) => served.every((each) => each.includes(tag)))
}
