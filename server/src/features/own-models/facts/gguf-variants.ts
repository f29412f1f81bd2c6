/** The variants of a repository with GGUF files, by the names of the files. */

import type { HubFile } from '../../../ports/model-hub.ts'

export interface GgufVariant {
  quantization: string
  /** All parts, in order */
  files: HubFile[]
  bytes: number
  /** Why the files are no separate variant; null if they are */
  reason: string | null
}

export interface GgufListing {
  variants: GgufVariant[]
  /** The file with which the model sees images; null for none */
  projector: HubFile | null
}

const quantizationName =
  /(?:^|[-._/])((?:UD-)?(?:I?Q\d(?:_[A-Z0-9]{1,3}){0,2}|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|FP?16|FP?32)(?:_XL)?)(?=[-._/]|$)/gi
/** Of weights whose files don't say it */
export const unknownQuantization = 'unknown'
const splitName = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i
const projectorName = /(^|[-_./])mmproj/i
/** Importance matrices and draft models are no variants. */
const otherName = /(^|[-_./])(imatrix|vocab-only)/i
const projectorOrder = [/(?<!b)f16/i, /bf16/i, /q8_0/i]

/** Lists the variants, largest first. Split files are one variant. */
export function listGgufVariants(files: readonly HubFile[]): GgufListing {
  const ggufs = files.filter(({ path }) => /\.gguf$/i.test(path) && !otherName.test(path))
  const groups = Map.groupBy(
    ggufs.filter(({ path }) => !projectorName.test(path)),
    ({ path }) => splitName.exec(path)?.[1] ?? path,
  )
  const variants = [...groups].map(([stem, parts]) => toVariant(stem, parts))
  return {
    variants: markDuplicates(variants).toSorted((one, other) => other.bytes - one.bytes),
    projector: chooseProjector(ggufs.filter(({ path }) => projectorName.test(path))),
  }
}

function toVariant(stem: string, parts: readonly HubFile[]): GgufVariant {
  const files = parts.toSorted((one, other) => (one.path < other.path ? -1 : 1))
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const announced = Number(splitName.exec(files[0]!.path)?.[3] ?? 1)
  const reason =
    announced === files.length ? null : `The repository has ${files.length} of ${announced} parts`
  return { quantization: nameQuantization(stem) ?? unknownQuantization, files, bytes, reason }
}

/** The last quantization in a path, because a model's name may contain one too; else null. */
export function nameQuantization(stem: string): string | null {
  const path = stem.replace(/\.gguf$/i, '')
  const name = [...path.matchAll(quantizationName)].at(-1)?.[1]
  return name === undefined ? null : name.toUpperCase().replace(/^FP/, 'F')
}

function markDuplicates(variants: readonly GgufVariant[]): GgufVariant[] {
  const seen = new Set<string>()
  return variants.map((variant) => {
    const { quantization, files, reason } = variant
    const isSeen = seen.has(quantization)
    if (reason === null) seen.add(quantization)
    return isSeen && reason === null
      ? { ...variant, reason: `Another file is ${quantization} too, so ${files[0]!.path} is left out` }
      : variant
  })
}

function chooseProjector(files: readonly HubFile[]): HubFile | null {
  for (const pattern of projectorOrder) {
    const found = files.find(({ path }) => pattern.test(path))
    if (found !== undefined) return found
  }
  return files[0] ?? null
}
