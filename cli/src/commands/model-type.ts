import type { DeployableModel, Model } from '../../../console/src/contract.ts'
import { ApiError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { CommandError } from '../base/errors.ts'

/** What a model does, as the catalog or the list of running models calls it */
type ModelType = DeployableModel['model_type'] | Model['type']

const chat = { kind: 'a chat model', use: (name: string) => `Try \`berth chat ${name}\`.` }
const types: Record<ModelType, typeof chat> = {
  LLM: chat,
  chat,
  embedding: { kind: 'an embedding model', use: (name) => `Try \`berth embed ${name} TEXT\`.` },
  rerank: { kind: 'a reranking model', use: () => 'Programs use it through `berth connect`.' },
}

/** How a person uses a running model. */
export function describeUse(name: string, type: ModelType): string {
  return types[type].use(name)
}

/** Throws unless a model of this type chats. */
export function requireChat(name: string, type: ModelType): void {
  if (types[type] === chat) return
  throw new CommandError(`${name} is ${types[type].kind} and can't chat. Choose another model.`)
}

/** Throws the error of a request, or which command works with a model of another type. */
export async function explainType(
  client: Client,
  name: string,
  wanted: Model['type'],
  error: unknown,
): Promise<never> {
  if (!(error instanceof ApiError && error.status === 400)) throw error
  const { data } = await client.call('GET', '/v1/models')
  const model = data.find(({ id, deployments }) => id === name || deployments.includes(name))
  if (model === undefined || model.type === wanted) throw error
  throw new CommandError(`${name} is ${types[model.type].kind}. ${describeUse(name, model.type)}`)
}
