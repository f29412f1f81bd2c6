import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import type { RuntimeEngine } from '../../../../ports/runtime-engine.ts'
import { engineRoutes } from '../../engines/engine-routes.ts'
import { listModelNames } from '../../engines/model-names.ts'
import { llamaCpp } from '../../engines/llama-cpp.ts'
import { defaultStateCacheBytes } from '../settings.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { chooseCache } from './containment.ts'
import { mebibyte } from './local-engine.ts'
import type { EngineCommand, EnginePlace, LocalEngine, LocalWeights } from './local-engine.ts'

/** Berth's own engine over llama.cpp, which sees no images. */
export const embedded: RuntimeEngine = {
  ...llamaCpp,
  name: 'embedded',
  title: "Berth's engine",
  images: 'none',
  options: null,
  counts: {
    inEvents: 'usage',
    afterAbort: 'report',
    totals: {
      input: ['berth_engine_prompt_tokens_total'],
      output: ['berth_engine_completion_tokens_total'],
    },
  },
  adaptsRoles: true,
  routes: engineRoutes.embedded,
  // It refuses what it doesn't honor.
  ignoredFields: {},
  chatForm: null,
  cacheSeparation: { by: 'salt' },
}

/** The engine's names of the types of models */
const typeNames = { LLM: 'chat', embedding: 'embedding', rerank: 'rerank' } as const

/** Needs no program of the operator. */
export function openEmbedded(settings: LocalRuntimeSettings): LocalEngine {
  return {
    facts: embedded,
    describe: () => null,
    build: (spec, weights, place) => buildEmbedded(settings, spec, weights, place),
  }
}

async function buildEmbedded(
  settings: LocalRuntimeSettings,
  spec: EngineSpec,
  { model }: LocalWeights,
  { gpus, hidesGpus, rights }: EnginePlace,
): Promise<EngineCommand> {
  const options = {
    model,
    alias: listModelNames(spec).join(','),
    type: typeNames[spec.variant.modelType],
    context: spec.contextTokens,
    parallel: spec.parallelSequences,
    device: gpus === null ? 'any' : 'gpu',
    'gpu-layers': hidesGpus ? 0 : 'auto',
    'state-cache-mib': (settings.stateCacheBytes ?? defaultStateCacheBytes) / mebibyte,
    // The operator's limit counts the planned states only.
    'state-cache-grows': settings.memoryBytes === undefined ? 'yes' : 'no',
  }
  return {
    args: Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    variables: {
      // Otherwise malloc keeps memory that the threads freed after the load, about 70 MB in total.
      MALLOC_ARENA_MAX: '1',
      MALLOC_MMAP_THRESHOLD_: '131072',
      // Saves later engines the compilation and the compiler's memory. Node's own variable has precedence.
      NODE_COMPILE_CACHE: await chooseCache(rights, 'node', settings.environment['NODE_COMPILE_CACHE']),
    },
  }
}
