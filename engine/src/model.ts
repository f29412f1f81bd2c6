import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import {
  getLlama,
  InsufficientMemoryError,
  LlamaLogLevel,
  NoBinaryFoundError,
  readGgufFileInfo,
  resolveChatWrapper,
  type ChatWrapper,
  type GgufFileInfo,
  type Llama,
  type LlamaEmbeddingContext,
  type LlamaModel,
  type LlamaModelOptions,
} from 'node-llama-cpp'
import type { Log } from './log.ts'
import { createSequencePool, type SequencePool } from './sequences.ts'
import type { Settings } from './settings.ts'
import { createStateCache } from './state-cache.ts'
import type { FailureCode } from './state.ts'

/** Queue length per kind of request; further requests get a 503. */
export const MAX_WAITING = 64
const WEIGHTS_PER_THREAD = 32 * 2 ** 20
/** Values that llama.cpp's AVX-512 code for F16 takes at once. It takes fewer ones singly. */
const F16_STEP = 64
/**
 * Makes attention with small heads fast on the CPU: flash attention and F16 would take the values of a head singly. The cache of a chat
 * model is exact in F32 and has twice the bytes, which are few in such models; an embedding model reads its cache once.
 */
const smallHeadAttention = {
  embedding: { defaultContextFlashAttention: false },
  chat: {
    defaultContextFlashAttention: false,
    experimentalDefaultContextKvCacheKeyType: 'F32',
    experimentalDefaultContextKvCacheValueType: 'F32',
  },
} as const

/** A loaded model with its contexts. */
export interface LoadedModel {
  alias: string
  llama: Llama
  model: LlamaModel
  /** Null for an embedding model */
  chat: { wrapper: ChatWrapper; pool: SequencePool; contextSize: number; canCallTools: boolean } | null
  /** The embeddings context, which a chat model creates on first use */
  embeddings: () => Promise<LlamaEmbeddingContext>
  /** Exclusive upper bound on the tokens of one embeddings input */
  embeddingContextSize: number
}

/** A failed load: a code for the server and a message for people. */
export class LoadError extends Error {
  readonly code: FailureCode

  constructor(code: FailureCode, message: string) {
    super(message)
    this.name = 'LoadError'
    this.code = code
  }
}

/** Loads the model, creates its context and runs one warm-up evaluation. Rejects only with a LoadError. */
export async function loadModel(settings: Settings, log: Log): Promise<LoadedModel> {
  const complaints: string[] = []
  // llama.cpp's threads spin while they wait for each other, so more threads than cores slow each other down.
  const threads = Math.min(settings.threads, availableParallelism())
  try {
    const file = await checkFile(settings.modelPath)
    // Use only the binaries that npm installed: no download, no build.
    const llama = await getLlama({
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      gpu: settings.gpuLayers === 0 ? false : 'auto',
      maxThreads: threads,
      logLevel: LlamaLogLevel.warn,
      logger: (level, message) => {
        if (level === LlamaLogLevel.error || level === LlamaLogLevel.fatal) complaints.push(message.trim())
        log(`llama.cpp ${level}: ${message}`)
      },
    })
    log(`llama.cpp uses ${llama.gpu === false ? 'the CPU' : llama.gpu}`)
    const attention = llama.gpu === false && hasSmallHeads(file) ? smallHeadAttention[settings.type] : {}
    return await load(llama, { ...settings, threads }, attention, log)
  } catch (error) {
    throw toLoadError(error, complaints)
  }
}

async function load(
  llama: Llama,
  settings: Settings,
  attention: Partial<LlamaModelOptions>,
  log: Log,
): Promise<LoadedModel> {
  const { contextTokens, parallel } = settings
  let told = 0
  const model = await llama.loadModel({
    modelPath: settings.modelPath,
    ...attention,
    gpuLayers:
      settings.gpuLayers === 'auto'
        ? { fitContext: { contextSize: contextTokens * parallel } }
        : settings.gpuLayers,
    onLoadProgress: (progress) => {
      if (progress < told) return
      log(`loading the model: ${Math.floor(progress * 100)} %`)
      told = Math.floor(progress * 10 + 1) / 10
    },
  })
  const trained = model.trainContextSize
  const threads = limitThreads(settings.threads, model.size)
  log(
    `loaded ${model.typeDescription}, ${model.size} bytes, trained on ${trained} tokens of context, threads ${threads}`,
  )
  if (contextTokens > trained)
    log(`warning: the context of ${contextTokens} tokens exceeds the model's training context`)

  let embeddings: Promise<LlamaEmbeddingContext> | null = null
  const contextSize = Math.min(contextTokens, trained)
  const loaded: LoadedModel = {
    alias: settings.alias,
    llama,
    model,
    chat: null,
    embeddingContextSize: contextSize,
    embeddings: () => {
      // Pooling is correct only if the whole input fits into one batch.
      embeddings ??= model.createEmbeddingContext({ contextSize, batchSize: contextSize, threads })
      embeddings.catch(() => (embeddings = null))
      return embeddings
    },
  }

  if (settings.type === 'embedding') {
    await (await loaded.embeddings()).getEmbeddingFor('warm')
    return loaded
  }
  const context = await model.createContext({ sequences: parallel, contextSize: contextTokens, threads })
  const warm = context.getSequence()
  await warm.evaluateWithoutGeneratingNewTokens(model.tokenize('warm'))
  await warm.dispose()
  const wrapper = resolveChatWrapper(model)
  const canCallTools = templateTakesTools(model, wrapper)
  log(
    `context of ${context.contextSize} tokens for each of ${parallel} sequences, chat template ` +
      `${wrapper.wrapperName}, tools ${canCallTools ? 'supported' : 'not supported'}`,
  )
  loaded.chat = {
    wrapper,
    pool: createSequencePool(context, {
      maxWaiting: MAX_WAITING,
      states: await createStateCache(settings.stateCacheBytes, log),
    }),
    contextSize: context.contextSize,
    canCallTools,
  }
  return loaded
}

/**
 * One thread per 32 MiB of weights, at most `threads`. node-llama-cpp creates the threads for each evaluation and ends them after it,
 * which takes longer than a thread's share of a small model.
 */
export function limitThreads(threads: number, weightBytes: number): number {
  return Math.min(threads, Math.max(1, Math.floor(weightBytes / WEIGHTS_PER_THREAD)))
}

function hasSmallHeads({ architectureMetadata }: GgufFileInfo): boolean {
  const { embedding_length: width, attention } = architectureMetadata
  return (attention?.key_length ?? width! / Number(attention?.head_count)) < F16_STEP
}

async function checkFile(path: string): Promise<GgufFileInfo> {
  const found = await stat(path).catch(() => null)
  if (found?.isFile() !== true) throw new LoadError('launch_rejected', 'The model file does not exist.')
  try {
    return await readGgufFileInfo(path, { sourceType: 'filesystem', logWarnings: false })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new LoadError('launch_rejected', `The model file is not a complete GGUF file: ${reason}`)
  }
}

/** True when the chat template renders tools in a form whose calls can be parsed. */
function templateTakesTools(model: LlamaModel, wrapper: ChatWrapper): boolean {
  const template = model.fileInfo.metadata.tokenizer.chat_template
  if (typeof template !== 'string' || !/\btools\b/.test(template)) return false
  return !('usingJinjaFunctionCallTemplate' in wrapper) || wrapper.usingJinjaFunctionCallTemplate === true
}

function toLoadError(error: unknown, complaints: readonly string[]): LoadError {
  if (error instanceof LoadError) return error
  const reason = error instanceof Error ? error.message : String(error)
  const detail = [reason, ...complaints.slice(-3)].join(' / ').slice(0, 1000)
  if (error instanceof NoBinaryFoundError) {
    return new LoadError('engine_crashed', 'None of the installed llama.cpp binaries runs on this machine.')
  }
  const memory = /out of memory|insufficient memory|failed to allocate|unable to allocate|bad_alloc/i
  if (error instanceof InsufficientMemoryError || memory.test(detail)) {
    return new LoadError('out_of_memory', `The model does not fit into memory: ${detail}`)
  }
  if (/failed to load model|unknown model architecture|unsupported|not supported/i.test(detail)) {
    return new LoadError('launch_rejected', `llama.cpp cannot load this model: ${detail}`)
  }
  return new LoadError('engine_crashed', `The model could not be loaded: ${detail}`)
}
