import { compareVersions } from '../../base/compare-versions.ts'
import type { EngineProfiles, ModelVariant } from '../../ports/model-variant.ts'
import type { RuntimeEngine } from '../../ports/runtime-engine.ts'

/** The engine of a runtime that loads a format; undefined for unsupported formats. */
export function findEngine(
  { format }: Pick<ModelVariant, 'format'>,
  engines: readonly RuntimeEngine[],
): RuntimeEngine | undefined {
  return engines.find(({ formats }) => formats.includes(format))
}

/** The engines that load a format. Each runtime has at most one of them. */
export function listEnginesFor(
  { format }: Pick<ModelVariant, 'format'>,
  engines: readonly RuntimeEngine[],
): RuntimeEngine[] {
  return engines.filter(({ formats }) => formats.includes(format))
}

/** Why an engine can't load a variant; null if it can. Engines of unknown version count as new enough. */
export function findEngineIncompatibility(
  { engines: profiles }: ModelVariant,
  { title, profile, version, versionPrefix: prefix }: RuntimeEngine,
): string | null {
  const minimum = profiles[profile]?.minimumVersion
  if (version === null || minimum === undefined || compareVersions(version, minimum) >= 0) return null
  return `${title} ${prefix}${version} is too old for this model, which needs ${prefix}${minimum} or later`
}

/** Why an engine that serves LoRAs has no room for one of this rank, as a clause; null if it has. */
export function findRankObstacle({ title, loras }: RuntimeEngine, rank: number): string | null {
  const largest = loras?.ranks?.at(-1) ?? Infinity
  return rank > largest ? `${title} serves LoRAs up to rank ${largest}, and this one has ${rank}` : null
}

/** The tags of a model without those that these engines can't keep: `vision` if no variant accepts images. */
export function listServedTags(
  { tags, variants }: { tags: readonly string[]; variants: readonly ModelVariant[] },
  engines: readonly RuntimeEngine[],
): string[] {
  const seesImages = (variant: ModelVariant) =>
    listEnginesFor(variant, engines).some((engine) => acceptsImages(engine, variant.engines))
  return tags.filter((tag) => tag !== 'vision' || variants.some(seesImages))
}

/** True if an engine accepts images for a variant with these profiles, as far as the variant says. */
export function acceptsImages(
  { images, profile }: Pick<RuntimeEngine, 'images' | 'profile'>,
  profiles: EngineProfiles,
): boolean {
  return images === 'native' || (images === 'projector' && profiles[profile]?.projector !== undefined)
}
