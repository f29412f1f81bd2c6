import { z } from 'zod'
import type { ModelType } from '../../ports/model-variant.ts'
import type { EndpointModel } from './tables.ts'

/** The most models of one endpoint */
export const maxModels = 2_000
/** The longest name of a model, in code points */
export const maxNameLength = 200

const listSchema = z.object({ data: z.array(z.unknown()) })

const tokens = z.int().positive().max(1e9).catch(0).optional()

const modelSchema = z.object({
  id: z.string(),
  type: z.string().optional().catch(undefined),
  // Berth and vLLM, OpenRouter, Together and others
  max_model_len: tokens,
  context_length: tokens,
  // llama-server
  meta: z.object({ n_ctx: tokens, n_ctx_train: tokens }).nullish().catch(null),
})

/**
 * Reads the list of `GET /v1/models`; null if it is none. Omits entries without a name that people can read,
 * repeated ones, and those beyond `maxModels`.
 */
export function readModelList(body: string): EndpointModel[] | null {
  const list = listSchema.safeParse(parseJson(body))
  if (!list.success) return null
  const models = new Map<string, EndpointModel>()
  for (const entry of list.data.data) {
    const { success, data: model } = modelSchema.safeParse(entry)
    if (!success || !isModelName(model.id) || models.has(model.id)) continue
    const context =
      model.max_model_len || model.context_length || model.meta?.n_ctx || model.meta?.n_ctx_train
    models.set(model.id, { name: model.id, type: readType(model), context_tokens: context || null })
    if (models.size === maxModels) break
  }
  return [...models.values()]
}

/** Whether a text can be the name of a model: visible characters without spaces. */
export function isModelName(text: string): boolean {
  return /^[^\s\p{C}]+$/u.test(text) && text.isWellFormed() && Array.from(text).length <= maxNameLength
}

/** What the endpoint says, otherwise what the name suggests. */
function readType({ id, type }: { id: string; type?: string | undefined }): ModelType {
  if (type === 'embedding' || type === 'rerank') return type
  if (type === 'chat') return 'LLM'
  return guessType(id)
}

/** What a model's name suggests that the model does. */
export function guessType(name: string): ModelType {
  if (/re-?rank/i.test(name)) return 'rerank'
  return /embed|\b(bge|e5|gte)\b/i.test(name) ? 'embedding' : 'LLM'
}

/** Parses JSON; null for other texts. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
