import { invalidField } from '../../base/errors.ts'
import { literalAddress, mayReach } from '../../base/outgoing-addresses.ts'

const maxLength = 500

/**
 * Reads the address of an endpoint: without the slash and the `/v1` that it may end with. Null for anything
 * but a plain http or https URL without credentials, query and fragment.
 */
export function readBaseUrl(text: string): string | null {
  const url = text.length > maxLength || /[\s\\]/.test(text) ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '' || /[@?#]/.test(text)) return null
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '')
}

/**
 * Throws for an address that no name has to be resolved for. Names are checked when a connection is made,
 * because their addresses may change.
 */
export function requireReachable(baseUrl: string, networks: readonly string[]): void {
  const url = new URL(baseUrl)
  if (url.protocol === 'http:' && networks.length === 0) throw invalid('Must be an https address.')
  const literal = literalAddress(url)
  if (literal === null || mayReach(url, literal, networks)) return
  throw invalid('Must be a public https address, unless the operator allows its network.')
}

function invalid(message: string): Error {
  return invalidField('base_url', message, 'invalid_value')
}
