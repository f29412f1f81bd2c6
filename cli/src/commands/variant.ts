import { parseEngineOptions } from '../../../console/src/engine-options.ts'
import type { EngineOptions } from '../../../console/src/engine-options.ts'
import { ApiError } from '../api/client.ts'
import { usageError } from '../base/errors.ts'

/** The options that choose a variant of a model. */
export interface VariantOptions {
  format?: string | undefined
  size?: string | undefined
  quantization?: string | undefined
  minContext?: number | undefined
  minParallel?: number | undefined
  instanceType?: string | undefined
  engineOption?: readonly string[] | undefined
}

/** The body of a plan or a deployment. */
export function toDeploymentRequest(model: string, options: VariantOptions) {
  return {
    model_name: model,
    model_format: options.format,
    model_size_in_billions: options.size?.replace(/b$/i, ''),
    quantization: options.quantization,
    min_context_tokens: options.minContext,
    min_parallel_sequences: options.minParallel,
    instance_type: options.instanceType,
    engine_options: options.engineOption && readEngineOptions(options.engineOption),
  }
}

/** Reads `name=value`. Throws a usage error for anything else. */
export function readEngineOptions(texts: readonly string[]): EngineOptions {
  try {
    return parseEngineOptions(texts)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw usageError(`“${error.message}” is no option. Write name=value, such as kv-cache-dtype=fp8.`)
  }
}

/** Adds to the refusal of a model or variant which command lists them. Throws other errors unchanged. */
export function adviseOnRefusal(error: unknown): never {
  if (error instanceof ApiError && error.code === 'model_not_deployable')
    error.message += ' `berth models` lists models, and `berth models NAME` the variants of one.'
  throw error
}
