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
  type Llama,
  type LlamaEmbeddingContext,
  type LlamaModel,
} from 'node-llama-cpp'
import type { Log } from './log.ts'
import { createSequencePool, type SequencePool } from './sequences.ts'
import type { Settings } from './settings.ts'
import type { FailureCode } from './state.ts'

/** Requests of a kind that may wait before further ones are refused. */
export const MAX_WAITING = 64

/** A loaded model, ready to answer. */
export interface Engine {
  alias: string
  llama: Llama
  model: LlamaModel
  /** Null for an embedding model. */
  chat: { wrapper: ChatWrapper; pool: SequencePool; contextSize: number; canCallTools: boolean } | null
  /** The context for embeddings; a chat model makes it when it is first asked for. */
  embeddings: () => Promise<LlamaEmbeddingContext>
  /** Tokens that one input of the embeddings may have, and one more. */
  embeddingContextSize: number
}

/** A load that failed: the code for the server, the sentence for a person. */
export class LoadError extends Error {
  readonly code: FailureCode

  constructor(code: FailureCode, message: string) {
    super(message)
    this.name = 'LoadError'
    this.code = code
  }
}

/** Loads the model, makes its context and runs it once. Rejects with a LoadError alone. */
export async function loadEngine(settings: Settings, log: Log): Promise<Engine> {
  const complaints: string[] = []
  // llama.cpp's threads wait for each other by spinning: more of them than cores only stand in their own way.
  const threads = Math.min(settings.threads, availableParallelism())
  try {
    await checkFile(settings.modelPath)
    // Never a download and never a build: the binaries are those that npm installed.
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
    log(`llama.cpp runs on ${llama.gpu === false ? 'the CPU' : llama.gpu} with ${threads} threads`)
    return await load(llama, { ...settings, threads }, log)
  } catch (error) {
    throw toLoadError(error, complaints)
  }
}

async function load(llama: Llama, settings: Settings, log: Log): Promise<Engine> {
  const { contextTokens, parallel, threads } = settings
  let told = 0
  const model = await llama.loadModel({
    modelPath: settings.modelPath,
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
  log(`loaded ${model.typeDescription}, ${model.size} bytes, trained on ${trained} tokens of context`)
  if (contextTokens > trained)
    log(`the context of ${contextTokens} tokens is more than the model was trained on`)

  let embeddings: Promise<LlamaEmbeddingContext> | null = null
  const contextSize = Math.min(contextTokens, trained)
  const engine: Engine = {
    alias: settings.alias,
    llama,
    model,
    chat: null,
    embeddingContextSize: contextSize,
    embeddings: () => {
      // A pooled embedding is right only when the whole input is in one batch.
      embeddings ??= model.createEmbeddingContext({ contextSize, batchSize: contextSize, threads })
      embeddings.catch(() => (embeddings = null))
      return embeddings
    },
  }

  if (settings.type === 'embedding') {
    await (await engine.embeddings()).getEmbeddingFor('warm')
    return engine
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
  engine.chat = {
    wrapper,
    pool: createSequencePool(context, MAX_WAITING),
    contextSize: context.contextSize,
    canCallTools,
  }
  return engine
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => null)
  if (found?.isFile() !== true)
    throw new LoadError('launch_rejected', 'There is no model file at the given path.')
  try {
    await readGgufFileInfo(path, { sourceType: 'filesystem', logWarnings: false })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new LoadError('launch_rejected', `The model file is no whole GGUF file: ${reason}`)
  }
}

/** True when the template renders tools itself, in a form from which the calls can be told apart again. */
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
    return new LoadError('engine_crashed', 'No llama.cpp binary is installed that runs on this machine.')
  }
  const memory = /out of memory|insufficient memory|failed to allocate|unable to allocate|bad_alloc/i
  if (error instanceof InsufficientMemoryError || memory.test(detail)) {
    return new LoadError('out_of_memory', `The model does not fit into the memory: ${detail}`)
  }
  if (/failed to load model|unknown model architecture|unsupported|not supported/i.test(detail)) {
    return new LoadError('launch_rejected', `llama.cpp can't load this model: ${detail}`)
  }
  return new LoadError('engine_crashed', `The model could not be loaded: ${detail}`)
}
