import { z } from 'zod'

export const modelBody = z
  .object({
    id: z.string().describe('Value for `model` in a request'),
    object: z.literal('model').describe('Always `model`'),
    created: z.int().describe('Unix time in seconds'),
    type: z.enum(['chat', 'embedding', 'rerank']).describe('What the model does'),
    base_model: z
      .string()
      .nullable()
      .describe('For a LoRA (low-rank adapter), the model that it changes; null for another model'),
    max_model_len: z
      .int()
      .nullable()
      .describe('The longest request that each of the deployments accepts, in tokens, as vLLM calls it'),
    capabilities: z
      .array(z.enum(['chat', 'embeddings', 'rerank', 'reasoning', 'tools', 'vision']))
      .describe('What each of the deployments can do, as far as the catalog says'),
    owned_by: z.string().describe('Name of the organization that pays for the deployments'),
    deployments: z
      .array(z.string())
      .describe(
        'Ids of the deployments that serve the model, in the order of their alias; a request wakes a sleeping one',
      ),
    shadowed_deployments: z
      .array(z.string())
      .describe('Ids of those with this model name or alias that requests by this name do not reach'),
  })
  .meta({ id: 'Model', description: 'A model that running and sleeping deployments serve' })

export const modelsBody = z
  .object({
    object: z.literal('list').describe('Always `list`'),
    data: z.array(modelBody).describe('The models'),
  })
  .meta({ id: 'Models', description: 'The models that you can use now' })

export const modelParams = z.object({
  model: z
    .string()
    .describe('A model name, an alias, a deployment id, an `inference_model_uid`, or `base:adapter`'),
})

/** A name with slashes that are not escaped */
export const slashedParams = z.object({ owner: z.string(), '*': z.string() })
