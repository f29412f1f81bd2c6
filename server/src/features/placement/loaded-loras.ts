import type { ModelLora, WeightSource } from '../../ports/model-variant.ts'

/** The LoRAs that an engine loads, each with those of other names that have the same file. */
export function groupByFile<Lora extends Pick<ModelLora, 'weights'>>(
  loras: readonly Lora[],
): readonly [Lora, ...Lora[]][] {
  const groups = Map.groupBy(loras, ({ weights }) => identify(weights))
  return [...groups.values()] as [Lora, ...Lora[]][]
}

function identify(weights: WeightSource): string {
  switch (weights.kind) {
    case 'file':
      return weights.path
    case 'url':
      return weights.url
    case 'upload':
      return weights.sha256
    case 'endpoint':
      return JSON.stringify([weights.endpoint, weights.model])
    case 'huggingface':
      return JSON.stringify([weights.repo, weights.revision, weights.files])
  }
}
