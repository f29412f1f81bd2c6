import type { Deployment } from '../../contract.ts'
import { text } from '../../text/index.ts'

/** Why the server would refuse an alias; undefined for a valid or empty one. */
export const findAliasError = (alias: string): string | undefined =>
  /^\s*[A-Za-z0-9._:/-]{0,128}\s*$/.test(alias) ? undefined : text.instances.aliasRange

/** The order of an alias that a text names: null for an empty text, undefined for an invalid one. */
export function parseOrder(order: string): number | null | undefined {
  const trimmed = order.trim()
  if (trimmed === '') return null
  return /^\d{1,4}$/.test(trimmed) && Number(trimmed) >= 1 && Number(trimmed) <= 1000
    ? Number(trimmed)
    : undefined
}

/** The owner's deployments with this alias, in the order of requests; those without an order are last. */
export function listByOrder<Each extends Pick<Deployment, 'id' | 'user_id' | 'alias' | 'alias_order'>>(
  changed: Each,
  callable: readonly Each[],
): Each[] {
  const others = callable.filter(
    ({ id, alias, user_id: ownerId }) =>
      id !== changed.id && alias === changed.alias && ownerId === changed.user_id,
  )
  return [changed, ...others].toSorted((one, other) => placeOf(one) - placeOf(other))
}

const placeOf = ({ alias_order: order }: Pick<Deployment, 'alias_order'>) => order ?? Number.MAX_SAFE_INTEGER

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
