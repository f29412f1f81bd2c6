import type { DeployableModel } from '../../../console/src/contract.ts'
import type { Client } from './client.ts'

/** The types of models, in the order of lists */
const types = ['LLM', 'embedding', 'rerank']

/** Lists the models of the catalog, of one type or of all, that match a search; hidden ones if asked for. */
export async function listCatalog(
  client: Client,
  {
    type,
    search,
    disabled = false,
    signal,
  }: {
    type?: string | undefined
    search?: string | undefined
    disabled?: boolean
    signal?: AbortSignal
  } = {},
): Promise<DeployableModel[]> {
  const lists = await Promise.all(
    (type === undefined ? types : [type]).map((model_type) =>
      client.call('GET', '/api/v1/deployable-models', {
        query: { model_type, q: search, enabled_only: !disabled },
        signal,
      }),
    ),
  )
  return lists.flatMap(({ items }) => items)
}
