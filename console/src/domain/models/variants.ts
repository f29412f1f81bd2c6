import type { DeployableModel, Placement } from '../../contract.ts'

/** A deployable variant of a model: format, size and quantization. */
export type Variant = Pick<Placement, 'model_format' | 'model_size_in_billions' | 'quantization'>

/** Every variant of a model, in the catalog's order. */
export function listVariants({ variants }: Pick<DeployableModel, 'variants'>): Variant[] {
  return variants.flatMap(({ quantizations, model_format, model_size_in_billions }) =>
    quantizations.map((quantization) => ({ model_format, model_size_in_billions, quantization })),
  )
}

/** The sizes of a model in billions of parameters, smallest first. */
export function listSizes({ variants }: Pick<DeployableModel, 'variants'>): number[] {
  return [...new Set(variants.map((variant) => variant.model_size_in_billions))].toSorted((a, b) => a - b)
}

/** The formats of a model, with the default variant's format first. */
export function listFormats({ variants }: Pick<DeployableModel, 'variants'>): string[] {
  const inOrder = variants.toSorted((one, other) => Number(other.default) - Number(one.default))
  return [...new Set(inOrder.map((variant) => variant.model_format))]
}

export function isSameVariant(one: Variant, other: Variant): boolean {
  return (
    one.model_format === other.model_format &&
    one.model_size_in_billions === other.model_size_in_billions &&
    one.quantization.toLowerCase() === other.quantization.toLowerCase()
  )
}

export function findPlacement(placements: readonly Placement[], choice: Variant): Placement | undefined {
  return placements.find((placement) => isSameVariant(placement, choice))
}

/**
 * The variant that matches most preferences: size, then format, then quantization. Ties go to a variant that
 * fits, then to the model's default, then to the largest size.
 */
export function chooseVariant(
  model: Pick<DeployableModel, 'variants' | 'default_variant'>,
  preferred: Partial<Variant>,
  placements: readonly Placement[],
): Variant | undefined {
  const usual = model.default_variant
  const preferences: ((choice: Variant) => boolean)[] = [
    (choice) => choice.model_size_in_billions === preferred.model_size_in_billions,
    (choice) => choice.model_format === preferred.model_format,
    (choice) => choice.quantization.toLowerCase() === preferred.quantization?.toLowerCase(),
    (choice) => findPlacement(placements, choice)?.feasible === true,
    (choice) => choice.model_size_in_billions === usual.model_size_in_billions,
    (choice) => choice.model_format === usual.model_format,
    (choice) => choice.quantization === usual.quantization,
  ]
  let candidates = listVariants(model)
  for (const agrees of preferences) {
    const agreeing = candidates.filter(agrees)
    if (agreeing.length > 0) candidates = agreeing
  }
  const largest = Math.max(...candidates.map((choice) => choice.model_size_in_billions))
  return candidates.find((choice) => choice.model_size_in_billions === largest)
}
