import type { Model } from '../../../../console/src/contract.ts'
import type { Client } from '../../api/client.ts'
import { CommandError } from '../../base/errors.ts'

/** The model that a program gets: the named one, or the first that chats. */
export async function chooseModel(client: Client, name: string | undefined): Promise<Model> {
  const { data } = await client.call('GET', '/v1/models')
  const model =
    name === undefined ? data.find(({ type }) => type === 'chat') : data.find(({ id }) => id === name)
  if (model) return model
  if (name === undefined)
    throw new CommandError('No model that chats is running. Run `berth deploy MODEL --wait` first.')
  const names = data.map(({ id }) => id).join(', ')
  throw new CommandError(`${name} is not running. Running models: ${names === '' ? 'none' : names}.`)
}
