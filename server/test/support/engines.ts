import { llamaCpp } from '../../src/adapters/model-runtime/engines/llama-cpp.ts'
import { vllm } from '../../src/adapters/model-runtime/engines/vllm.ts'
import { embedded } from '../../src/adapters/model-runtime/local/engine/embedded.ts'
import type { ServedModel } from '../../src/features/placement/memory-estimate.ts'
import type { ModelVariant } from '../../src/ports/model-variant.ts'
import type { OfferingRuntime } from '../../src/ports/model-runtime.ts'
import type { RuntimeEngine, ServingCapacity } from '../../src/ports/runtime-engine.ts'

/** The engines that Berth knows. */
export const engines = {
  vllm: { ...vllm, version: '0.28.0' },
  llamaCpp: { ...llamaCpp, version: '10964' },
  embedded,
} satisfies Record<string, RuntimeEngine>

/** The variant on llama.cpp if that loads its format, otherwise on vLLM. */
export function serve(variant: ModelVariant): ServedModel {
  const isGguf = engines.llamaCpp.formats.some((format) => format === variant.format)
  return { variant, engine: isGguf ? engines.llamaCpp : engines.vllm }
}

/** A runtime with these engines, for offers. */
export function makeOffering(
  list: readonly RuntimeEngine[] = [engines.vllm, engines.llamaCpp],
  sharedCapacity: ServingCapacity | null = null,
): OfferingRuntime {
  return { name: 'test', engines: list, sharedCapacity }
}

/** A model that needs 10 × 1.2 + 2 = 14 GiB: the rule for an unknown architecture. */
export const unknownModel: ModelVariant = {
  modelName: 'model',
  modelType: 'LLM',
  format: 'ggufv2',
  sizeInBillions: 5,
  quantization: 'F16',
  contextLength: 32_768,
  architecture: null,
  weightBytes: 10 * 2 ** 30,
  weights: { kind: 'file', path: '/model.gguf' },
  engines: {},
}
