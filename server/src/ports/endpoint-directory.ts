/** The port to the endpoints of organizations: servers that others run. */

/** How an endpoint is reached. */
export interface EndpointAccess {
  /** Without a trailing slash and without `/v1` */
  baseUrl: string
  /** The header that has the key; null for `Authorization`, with `Bearer` */
  header: string | null
  /** null for none */
  key: string | null
}

export interface EndpointDirectory {
  /** Finds an endpoint's current state; null after it was deleted. */
  find(endpointId: string): Promise<EndpointAccess | null>
  /** Asks an endpoint whether anything responds there. */
  isAway(access: EndpointAccess): Promise<boolean>
}

/** The value of the header with the key; null without a key. */
export function toAuthorization({ header, key }: Pick<EndpointAccess, 'header' | 'key'>): string | null {
  if (key === null) return null
  return header === null ? `Bearer ${key}` : key
}
