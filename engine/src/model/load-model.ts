import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { getLlama, LlamaLogLevel, readGgufFileInfo } from 'node-llama-cpp'
import type {
  GgufFileInfo,
  Llama,
  LlamaEmbeddingContext,
  LlamaModel,
  LlamaModelOptions,
  LlamaRankingContext,
} from 'node-llama-cpp'
import type { Log } from '../base/log.ts'
import { writeMebibytes } from '../base/mebibytes.ts'
import type { Names, Settings } from '../base/settings.ts'
import { chooseAttention } from './attention.ts'
import { waitingPerSequence } from './limits.ts'
import { noGpu, toLoadError } from './load-error.ts'
import { checkRendering } from '../template/check-rendering.ts'
import { ModelTemplate } from '../template/model-template.ts'
import type { ChatMetadata } from '../template/model-template.ts'
import { LoadError } from '../base/load-error.ts'
import { createSequencePool } from './sequences.ts'
import type { SequencePool } from './sequences.ts'
import { createStateCache } from './state-cache.ts'
import { createThreads } from './threads.ts'
import type { Threads } from './threads.ts'

/** A loaded model with its contexts. */
export interface LoadedModel {
  aliases: Names
  llama: Llama
  model: LlamaModel
  threads: Threads
  /** Null for a model that generates no text */
  chat: { pool: SequencePool; contextSize: number; template: ModelTemplate | null } | null
  /** The embeddings context, which a chat model creates on first use */
  embeddings: () => Promise<LlamaEmbeddingContext>
  /** Null unless the model ranks texts */
  ranking: LlamaRankingContext | null
  /** The most tokens of one embeddings input, or of a query with a document */
  embeddingContextSize: number
  /** Requests for embeddings or rankings at the same time */
  maxEmbeddings: number
}

/** Loads the model, creates its context and runs one warm-up evaluation. Rejects only with a LoadError. */
export async function loadModel(settings: Settings, log: Log): Promise<LoadedModel> {
  const complaints: string[] = []
  try {
    const file = await checkFile(settings.modelPath)
    // Use only the binaries that npm installed: no download, no build.
    const llama = await getLlama({
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      gpu: settings.gpuLayers === 0 ? false : 'auto',
      maxThreads: availableParallelism(),
      logLevel: LlamaLogLevel.warn,
      logger: (level, message) => {
        if (level === LlamaLogLevel.error || level === LlamaLogLevel.fatal) complaints.push(message.trim())
        log(`llama.cpp ${level}: ${message}`)
      },
    })
    log(`llama.cpp uses ${llama.gpu === false ? 'the CPU' : llama.gpu}`)
    if (settings.requiresGpu && !(await findsGpu(llama))) throw noGpu(complaints)
    return await load(llama, settings, file, log)
  } catch (error) {
    throw toLoadError(error, complaints)
  }
}

/** False also if CUDA loads but sees no GPU. */
async function findsGpu(llama: Llama): Promise<boolean> {
  return llama.gpu !== false && (await llama.getGpuDeviceNames()).length > 0
}

async function load(llama: Llama, settings: Settings, file: GgufFileInfo, log: Log): Promise<LoadedModel> {
  const attention = llama.gpu === false ? chooseAttention(file, settings.type) : {}
  const checked = settings.type === 'chat' ? checkTemplate(file) : Promise.resolve()
  checked.catch(() => {})
  const model = await readModel(llama, settings, attention, log)
  const trained = model.trainContextSize
  log(
    `loaded ${describeModel(model)}, ${writeMebibytes(model.size)}, trained on ${trained} tokens of context`,
  )
  if (settings.contextTokens > trained)
    log(`warning: the context of ${settings.contextTokens} tokens exceeds the model's training context`)

  let embeddings: Promise<LlamaEmbeddingContext> | null = null
  const contextSize = Math.min(settings.contextTokens, trained)
  // Pooling is correct only if the whole input fits into one batch. node-llama-cpp reserves one token.
  const pooled = { contextSize: contextSize + 1, batchSize: contextSize + 1 }
  const threads = createThreads(llama, { weightBytes: model.size, stateDirectory: settings.stateDirectory })
  const loaded: LoadedModel = {
    aliases: settings.aliases,
    llama,
    model,
    threads,
    chat: null,
    ranking: null,
    embeddingContextSize: contextSize,
    maxEmbeddings: waitingPerSequence * settings.parallel,
    embeddings: () => {
      embeddings ??= model.createEmbeddingContext(pooled)
      embeddings.catch(() => (embeddings = null))
      return embeddings
    },
  }
  if (settings.type === 'embedding') await (await loaded.embeddings()).getEmbeddingFor('warm')
  else if (settings.type === 'chat') loaded.chat = await createChat(model, settings, threads, checked, log)
  else {
    loaded.ranking = await model.createRankingContext(pooled)
    await loaded.ranking.rank('warm', 'warm')
  }
  return loaded
}

/** Architecture and quantization. llama.cpp writes `?B` for sizes that it doesn't know. */
export function describeModel({ typeDescription }: { typeDescription: string }): string {
  return typeDescription.replace(' ?B', '')
}

function readModel(
  llama: Llama,
  settings: Settings,
  attention: Partial<LlamaModelOptions>,
  log: Log,
): Promise<LlamaModel> {
  let told = 0
  return llama.loadModel({
    modelPath: settings.modelPath,
    ...attention,
    gpuLayers: chooseGpuLayers(settings),
    onLoadProgress: (progress) => {
      if (progress < told) return
      log(`loading the model: ${Math.floor(progress * 100)} %`)
      told = Math.floor(progress * 10 + 1) / 10
    },
  })
}

/** An engine that requires a GPU puts all layers there, as Berth sized it. It fails on too little memory. */
function chooseGpuLayers({
  gpuLayers,
  requiresGpu,
  contextTokens,
  parallel,
}: Settings): NonNullable<LlamaModelOptions['gpuLayers']> {
  if (gpuLayers !== 'auto') return gpuLayers
  return requiresGpu ? 'max' : { fitContext: { contextSize: contextTokens * parallel } }
}

async function createChat(
  model: LlamaModel,
  { parallel, contextTokens, stateCacheBytes, stateCacheGrows }: Settings,
  threads: Threads,
  checked: Promise<void>,
  log: Log,
): Promise<LoadedModel['chat']> {
  const context = await model.createContext({ sequences: parallel, contextSize: contextTokens })
  const warm = context.getSequence()
  await warm.evaluateWithoutGeneratingNewTokens(model.tokenize('warm'))
  await warm.dispose()
  log(`context of ${context.contextSize} tokens for each of ${parallel} sequences`)
  await checked
  const template = readTemplate(model, log)
  const states = await createStateCache(stateCacheBytes, stateCacheGrows, log)
  const pool = createSequencePool(context, { maxWaiting: waitingPerSequence * parallel, states, threads })
  return { pool, contextSize: context.contextSize, template }
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

const readMetadata = ({ metadata }: GgufFileInfo) => metadata.tokenizer as unknown as ChatMetadata

/** Rejects with a LoadError for a template that would take the engine's time or memory. */
async function checkTemplate(file: GgufFileInfo): Promise<void> {
  const { chat_template: plain, 'chat_template.tool_use': forTools } = readMetadata(file)
  if (typeof plain !== 'string') return
  await checkRendering({ chat_template: plain, 'chat_template.tool_use': forTools })
}

/** The model's own chat template. Null, and a line in the log, if the file has none. */
function readTemplate(model: LlamaModel, log: Log): ModelTemplate | null {
  const metadata = readMetadata(model.fileInfo)
  if (typeof metadata.chat_template === 'string') return new ModelTemplate(metadata, log)
  log('the file has no chat template, so the model serves completions only')
  return null
}
