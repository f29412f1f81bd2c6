import { validate as isUuid } from 'uuid'
import type { EndpointDirectory } from '../../ports/endpoint-directory.ts'
import type { Services } from '../../services.ts'
import { isAway } from './ask-endpoint.ts'
import { decryptEndpointKey } from './endpoint-keys.ts'

/** The endpoints of all organizations, for the runtime that reaches them. */
export function createEndpointDirectory({
  db,
  config,
  secretKey,
}: Pick<Services, 'db' | 'config' | 'secretKey'>): EndpointDirectory {
  return {
    isAway: (access) => isAway({ config }, access),
    async find(id) {
      if (!isUuid(id)) return null
      const row = await db
        .selectFrom('endpoints')
        .select(['base_url', 'header', 'key'])
        .where('id', '=', id)
        .executeTakeFirst()
      if (row === undefined) return null
      return { baseUrl: row.base_url, header: row.header, key: decryptEndpointKey(secretKey, id, row.key) }
    },
  }
}
