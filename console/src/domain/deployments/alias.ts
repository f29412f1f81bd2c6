import type { Deployment } from '../../contract.ts'
import { text } from '../../text/index.ts'

/** Why the server would refuse an alias; undefined for a valid or empty one. */
export const findAliasError = (alias: string): string | undefined =>
  /^\s*[A-Za-z0-9._:/-]{0,128}\s*$/.test(alias) ? undefined : text.instances.aliasRange

/** Those among `callable` that the owner's requests by this alias would not reach. */
export function findShadowed(
  { id, user_id: ownerId }: Pick<Deployment, 'id' | 'user_id'>,
  alias: string,
  callable: readonly Deployment[],
): Deployment[] {
  const name = alias.trim()
  if (name === '') return []
  return callable.filter((other) => {
    if (other.id === id) return false
    return other.alias === name ? other.user_id !== ownerId : other.model_name === name
  })
}
